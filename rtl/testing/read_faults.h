// Stands between an AXI memory and the serializer, and breaks the answers for chosen lines as a faulty interconnect
// does: error responses, RLAST too early, no RLAST. While nothing is asked for it can also send beats that answer
// nothing.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "rtl/model/axi_memory.h"

namespace drover::rtl {

enum class ReadFault : uint8_t {
  kExclusiveOkay,  // RRESP 1, which no read here asks for
  kSlaveError,     // RRESP 2
  kDecodeError,    // RRESP 3
  kCut,            // RLAST comes with this line, and the rest of its burst never; no fault on a burst's last line
  kNoLast,         // the burst's last line, without RLAST; no fault on any other line
};
inline constexpr ReadFault kReadFaults[] = {ReadFault::kExclusiveOkay, ReadFault::kSlaveError, ReadFault::kDecodeError,
                                            ReadFault::kCut, ReadFault::kNoLast};

// The memory is added to the simulation before it.
class ReadFaults final : public Part {
 public:
  explicit ReadFaults(AxiReadPort port) : port_(port) {}

  void at(uint64_t line_address, ReadFault fault) { faults_[line_address / 64 * 64] = fault; }
  // While nothing is asked for, a beat a cycle of every id in turn.
  void answer_nothing(bool on) { answers_nothing_ = on; }
  uint64_t beats_for_nothing() const { return beats_for_nothing_; }
  // Whether an answer for a line of these bytes was broken.
  bool hit(uint64_t address, uint64_t bytes) const {
    auto line = hit_.lower_bound(address / 64 * 64);
    return line != hit_.end() && *line < address + bytes;
  }

  void drive() override {
    real_ = *port_.rvalid != 0;
    if (!real_) {
      if (answers_nothing_ && bursts_.empty() && !*port_.arvalid) answer_nothing();
      return;
    }
    if (cutting_) {
      *port_.rvalid = 0;
      return;
    }
    fault_ = find();
    if (fault_ == faults_.end()) return;
    std::memset(port_.rdata, 0xee, 64);
    switch (fault_->second) {
      case ReadFault::kExclusiveOkay:
        *port_.rresp = 1;
        break;
      case ReadFault::kSlaveError:
        *port_.rresp = 2;
        break;
      case ReadFault::kDecodeError:
        *port_.rresp = 3;
        break;
      case ReadFault::kCut:
        *port_.rlast = 1;
        break;
      case ReadFault::kNoLast:
        *port_.rlast = 0;
        break;
    }
  }
  void sample() override {
    if (real_ && *port_.rready) {
      if (!cutting_ && fault_ != faults_.end()) {
        hit_.insert(fault_->first);
        cutting_ = fault_->second == ReadFault::kCut;
      }
      Burst& burst = bursts_.front();
      burst.address += 64;
      if (--burst.beats == 0) {
        bursts_.pop_front();
        cutting_ = false;
      }
    }
    if (*port_.arvalid && *port_.arready) bursts_.push_back({*port_.araddr, *port_.arlen + 1u});
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats;
  };
  using Faults = std::map<uint64_t, ReadFault>;

  Faults::iterator find() {
    const Burst& burst = bursts_.front();
    auto found = faults_.find(burst.address);
    if (found == faults_.end()) return found;
    bool last = burst.beats == 1;
    if (found->second == ReadFault::kCut && last) return faults_.end();
    if (found->second == ReadFault::kNoLast && !last) return faults_.end();
    return found;
  }
  void answer_nothing() {
    *port_.rvalid = 1;
    *port_.rid = beats_for_nothing_ % 4;
    *port_.rlast = beats_for_nothing_ % 3 == 0;
    *port_.rresp = beats_for_nothing_ % 5 == 0 ? 2 : 0;
    std::memset(port_.rdata, 0x08, 64);
    ++beats_for_nothing_;
  }

  AxiReadPort port_;
  Faults faults_;
  Faults::iterator fault_ = faults_.end();
  std::set<uint64_t> hit_;
  std::deque<Burst> bursts_;
  bool real_ = false, cutting_ = false, answers_nothing_ = false;
  uint64_t beats_for_nothing_ = 0;
};

}  // namespace drover::rtl
