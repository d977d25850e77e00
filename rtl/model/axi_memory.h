// A memory behind a 512-bit AXI4 port: bytes in an array of the caller's, with a latency, a limit on transactions in
// flight, and hooks that hold channels back or answer wrongly. Writes take effect when their beats arrive; responses
// come in order, `latency` cycles later. A burst that breaks the protocol or leaves the array is counted and answered
// with SLVERR; it writes nothing and reads 0xee.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <utility>

#include "rtl/model/simulation.h"

namespace drover::rtl {

struct AxiWritePort {
  const QData* awaddr;
  const CData* awlen;
  const CData* awid;
  const CData* awvalid;
  CData* awready;
  const VlWide<16>* wdata;
  const QData* wstrb;
  const CData* wlast;
  const CData* wvalid;
  CData* wready;
  CData* bid;
  CData* bresp;
  CData* bvalid;
  const CData* bready;
};
struct AxiReadPort {
  const QData* araddr;
  const CData* arlen;
  const CData* arid;
  const CData* arvalid;
  CData* arready;
  VlWide<16>* rdata;
  CData* rid;
  CData* rresp;
  CData* rlast;
  CData* rvalid;
  const CData* rready;
};
#define DROVER_AXI_WRITE_PORT(top, name)                                                              \
  ::drover::rtl::AxiWritePort {                                                                       \
    &(top).name##_awaddr_o, &(top).name##_awlen_o, &(top).name##_awid_o, &(top).name##_awvalid_o,     \
        &(top).name##_awready_i, &(top).name##_wdata_o, &(top).name##_wstrb_o, &(top).name##_wlast_o, \
        &(top).name##_wvalid_o, &(top).name##_wready_i, &(top).name##_bid_i, &(top).name##_bresp_i,   \
        &(top).name##_bvalid_i, &(top).name##_bready_o                                                \
  }
#define DROVER_AXI_READ_PORT(top, name)                                                             \
  ::drover::rtl::AxiReadPort {                                                                      \
    &(top).name##_araddr_o, &(top).name##_arlen_o, &(top).name##_arid_o, &(top).name##_arvalid_o,   \
        &(top).name##_arready_i, &(top).name##_rdata_i, &(top).name##_rid_i, &(top).name##_rresp_i, \
        &(top).name##_rlast_i, &(top).name##_rvalid_i, &(top).name##_rready_o                       \
  }

inline constexpr CData kAxiOkay = 0, kAxiSlaveError = 2, kAxiDecodeError = 3;

// What goes wrong with one burst that is sound in itself. An error response to a write writes nothing.
struct AxiFault {
  CData response = kAxiOkay;
  uint32_t from_beat = 0;     // read: the first beat with this response
  bool last_missing = false;  // read: the last beat has no RLAST
  bool last_early = false;    // read: every beat has RLAST
};
// Asked for each burst as its address comes. Empty: nothing goes wrong.
using AxiFaults = std::function<AxiFault(uint64_t address, uint32_t beats)>;

struct AxiWriteBehaviour {
  uint32_t latency = 1;  // cycles from the last beat to the response
  uint32_t in_flight = 64;
  Stall address = {}, data = {}, response = {};
  AxiFaults faults = {};
  Stall unasked = {};  // true: a response to no write comes in this cycle, where no write is under way
};
struct AxiReadBehaviour {
  uint32_t latency = 1;  // cycles from the request to the first beat
  uint32_t in_flight = 64;
  Stall address = {}, data = {};
  AxiFaults faults = {};
};
struct AxiCounts {
  uint64_t transactions = 0, beats = 0, bytes = 0;
  uint64_t violations = 0;  // of the protocol, by the engine
  uint64_t refused = 0;     // bursts that a fault answered with an error
};

inline bool axi_burst_ok(uint64_t address, uint32_t beats, uint64_t base, size_t size) {
  return address % 64 == 0 && address % 4096 + beats * 64 <= 4096 && address >= base && beats * 64 <= size &&
         address - base <= size - beats * 64;
}

// `base` is the bus address of bytes[0].
class AxiWriteMemory final : public Part {
 public:
  AxiWriteMemory(AxiWritePort port, std::span<char> bytes, AxiWriteBehaviour behaviour = {}, uint64_t base = 0)
      : port_(port), bytes_(bytes), base_(base), behaviour_(std::move(behaviour)) {}

  const AxiCounts& counts() const { return counts_; }
  bool idle() const { return bursts_.empty() && responses_.empty() && !b_valid_; }

  void drive() override {
    *port_.awready = bursts_.size() + responses_.size() < behaviour_.in_flight && !held_back(behaviour_.address);
    *port_.wready = !bursts_.empty() && !held_back(behaviour_.data);
    if (!b_valid_ && !responses_.empty() && responses_.front().due <= now_ && !held_back(behaviour_.response)) {
      b_valid_ = true;
      *port_.bid = responses_.front().id;
      *port_.bresp = responses_.front().response;
    }
    // Not beside writes under way: no engine could tell it from an answer.
    if (!b_valid_ && bursts_.empty() && responses_.empty() && held_back(behaviour_.unasked)) {
      responses_.push_back({now_, static_cast<CData>(now_ % 16), kAxiOkay});
    }
    *port_.bvalid = b_valid_;
  }
  void sample() override {
    ++now_;
    if (*port_.wvalid && *port_.wready) take_beat();
    if (*port_.awvalid && *port_.awready) {
      uint32_t beats = *port_.awlen + 1u;
      bool ok = axi_burst_ok(*port_.awaddr, beats, base_, bytes_.size());
      counts_.violations += ok ? 0 : 1;
      ++counts_.transactions;
      AxiFault fault = behaviour_.faults ? behaviour_.faults(*port_.awaddr, beats) : AxiFault{};
      if (fault.response != kAxiOkay) ++counts_.refused;
      bursts_.push_back({*port_.awaddr, beats, *port_.awid, ok ? fault.response : kAxiSlaveError});
    }
    if (b_valid_ && *port_.bready) {
      b_valid_ = false;
      responses_.pop_front();
    }
  }
  void reset() override {
    bursts_.clear();
    responses_.clear();
    b_valid_ = false;
    *port_.awready = *port_.wready = *port_.bvalid = 0;
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats;
    CData id;
    CData response;
  };
  struct Response {
    uint64_t due;
    CData id;
    CData response;
  };

  void take_beat() {
    Burst& burst = bursts_.front();
    ++counts_.beats;
    uint64_t strobes = *port_.wstrb;
    counts_.bytes += static_cast<uint64_t>(__builtin_popcountll(strobes));
    const char* data = reinterpret_cast<const char*>(port_.wdata);
    if (burst.response == kAxiOkay) {
      char* to = bytes_.data() + (burst.address - base_);
      for (int i = 0; i < 64; ++i) {
        if ((strobes >> i & 1) != 0) to[i] = data[i];
      }
    }
    burst.address += 64;
    bool last = --burst.beats == 0;
    if (last != (*port_.wlast != 0)) ++counts_.violations;
    if (!last) return;
    responses_.push_back({now_ + behaviour_.latency, burst.id, burst.response});
    bursts_.pop_front();
  }

  AxiWritePort port_;
  std::span<char> bytes_;
  uint64_t base_;
  AxiWriteBehaviour behaviour_;
  std::deque<Burst> bursts_;
  std::deque<Response> responses_;
  uint64_t now_ = 0;
  bool b_valid_ = false;
  AxiCounts counts_;
};

class AxiReadMemory final : public Part {
 public:
  AxiReadMemory(AxiReadPort port, std::span<const char> bytes, AxiReadBehaviour behaviour = {}, uint64_t base = 0)
      : port_(port), bytes_(bytes), base_(base), behaviour_(std::move(behaviour)) {}

  const AxiCounts& counts() const { return counts_; }
  bool idle() const { return bursts_.empty(); }

  void drive() override {
    *port_.arready = bursts_.size() < behaviour_.in_flight && !held_back(behaviour_.address);
    if (!r_valid_ && !bursts_.empty() && bursts_.front().due <= now_ && !held_back(behaviour_.data)) {
      r_valid_ = true;
      const Burst& burst = bursts_.front();
      if (burst.ok) {
        std::memcpy(port_.rdata, bytes_.data() + (burst.address - base_), 64);
      } else {
        std::memset(port_.rdata, 0xee, 64);
      }
      *port_.rid = burst.id;
      *port_.rresp = !burst.ok ? kAxiSlaveError : burst.beat >= burst.fault.from_beat ? burst.fault.response : kAxiOkay;
      *port_.rlast = burst.fault.last_early || (burst.beat + 1 == burst.beats && !burst.fault.last_missing);
    }
    *port_.rvalid = r_valid_;
  }
  void sample() override {
    ++now_;
    if (r_valid_ && *port_.rready) {
      r_valid_ = false;
      ++counts_.beats;
      counts_.bytes += 64;
      Burst& burst = bursts_.front();
      burst.address += 64;
      if (++burst.beat == burst.beats) bursts_.pop_front();
    }
    if (*port_.arvalid && *port_.arready) {
      uint32_t beats = *port_.arlen + 1u;
      bool ok = axi_burst_ok(*port_.araddr, beats, base_, bytes_.size());
      counts_.violations += ok ? 0 : 1;
      ++counts_.transactions;
      AxiFault fault = behaviour_.faults ? behaviour_.faults(*port_.araddr, beats) : AxiFault{};
      if (fault.response != kAxiOkay) ++counts_.refused;
      bursts_.push_back({*port_.araddr, beats, 0, *port_.arid, ok, fault, now_ + behaviour_.latency});
    }
  }
  void reset() override {
    bursts_.clear();
    r_valid_ = false;
    *port_.arready = *port_.rvalid = 0;
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats, beat;
    CData id;
    bool ok;  // the burst is sound
    AxiFault fault;
    uint64_t due;
  };

  AxiReadPort port_;
  std::span<const char> bytes_;
  uint64_t base_;
  AxiReadBehaviour behaviour_;
  std::deque<Burst> bursts_;
  uint64_t now_ = 0;
  bool r_valid_ = false;
  AxiCounts counts_;
};

}  // namespace drover::rtl
