// From an engine's AXI4 ports to a Link and the memory behind it (rtl/model/axi_memory.h names the ports).
//
//   write   AW, W beats -> one transaction of the bytes from the burst's first strobed to its last -> Link::write, or a
//           WritePath
//           B when the transaction has left (posted: the link keeps order) or, of the engine's own memory, has arrived;
//           the bytes are in the memory once it has arrived
//   read    AR -> Link::read, or a ReadPath -> R beats as they come, with the memory's content at that time. Bursts of
//   one id
//           are answered in order; those of other ids may overtake, burst by burst
//
// At most kBurstsWaiting bursts wait for the link: then the port is not ready. A burst that leaves the memory, or
// breaks the protocol, is counted, writes nothing and reads 0xee. `now` points to the engine's time, which the engine
// advances before each cycle.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "rtl/model/axi_memory.h"
#include "sim/platform/link.h"

namespace drover::sim {

inline constexpr size_t kBurstsWaiting = 16;
inline constexpr size_t kBeat = 64;

struct PortStalls {
  uint64_t cycles = 0;  // in which the engine had something to hand over and the port was not ready
};

enum class Ordering { kPosted, kArrived };

// When a write of `bytes` bytes to the memory's offset `at` leaves and arrives. Arrivals keep the order of the calls.
using WritePath = std::function<Link::Write(Time now, uint64_t at, uint64_t bytes)>;

class AxiWriteBridge final : public rtl::Part {
 public:
  AxiWriteBridge(rtl::AxiWritePort port, WritePath path, std::span<char> memory, uint64_t base, const Time* now,
                 Ordering ordering)
      : port_(port), path_(std::move(path)), memory_(memory), base_(base), now_(*now), ordering_(ordering) {}
  AxiWriteBridge(rtl::AxiWritePort port, Link* link, std::span<char> memory, uint64_t base, const Time* now,
                 Ordering ordering)
      : AxiWriteBridge(
            port, [link, base](Time time, uint64_t at, uint64_t bytes) { return link->write(time, bytes, base + at); },
            memory, base, now, ordering) {}

  void drive() override {
    size_t waiting = bursts_.size();
    for (const Response& response : responses_) waiting += response.left > now_ ? 1 : 0;
    *port_.awready = waiting < kBurstsWaiting;
    *port_.wready = !bursts_.empty();
    *port_.bvalid = !responses_.empty() && responses_.front().due <= now_;
    if (*port_.bvalid) {
      *port_.bid = responses_.front().id;
      *port_.bresp = responses_.front().ok ? 0 : 2;
    }
  }
  void sample() override {
    if ((*port_.awvalid && !*port_.awready) || (*port_.wvalid && !*port_.wready)) ++stalls_.cycles;
    if (*port_.bvalid && *port_.bready) responses_.pop_front();
    if (*port_.wvalid && *port_.wready) take_beat();
    if (*port_.awvalid && *port_.awready) {
      uint32_t beats = *port_.awlen + 1u;
      bool ok = rtl::axi_burst_ok(*port_.awaddr, beats, base_, memory_.size());
      violations_ += ok ? 0 : 1;
      bursts_.push_back({*port_.awaddr - base_, beats, *port_.awid, ok, {}, {}});
    }
  }

  // Drops unfinished bursts; complete ones are on the link and still arrive.
  void reset() override {
    bursts_.clear();
    responses_.clear();
    *port_.awready = *port_.wready = *port_.bvalid = 0;
  }

  // Puts into the memory what has arrived by `time`.
  void deliver(Time time) {
    for (; !arrivals_.empty() && arrivals_.front().at <= time; arrivals_.pop_front()) {
      const Arrival& arrival = arrivals_.front();
      for (size_t beat = 0; beat < arrival.strobes.size(); ++beat) {
        char* to = memory_.data() + arrival.offset + beat * kBeat;
        const char* from = arrival.bytes.data() + beat * kBeat;
        for (size_t i = 0; i < kBeat; ++i) {
          if ((arrival.strobes[beat] >> i & 1) != 0) to[i] = from[i];
        }
      }
    }
  }
  const PortStalls& stalls() const { return stalls_; }
  uint64_t violations() const { return violations_; }

 private:
  struct Burst {
    uint64_t offset;
    uint32_t beats_left;
    CData id;
    bool ok;
    std::vector<char> bytes;
    std::vector<uint64_t> strobes;
  };
  struct Response {
    Time left, due;
    CData id;
    bool ok;
  };
  struct Arrival {
    Time at;
    uint64_t offset;
    std::vector<char> bytes;
    std::vector<uint64_t> strobes;
  };

  void take_beat() {
    Burst& burst = bursts_.front();
    const char* data = reinterpret_cast<const char*>(port_.wdata);
    burst.bytes.insert(burst.bytes.end(), data, data + kBeat);
    burst.strobes.push_back(*port_.wstrb);
    bool last = --burst.beats_left == 0;
    if (last != (*port_.wlast != 0)) ++violations_;
    if (!last) return;
    Link::Write write = path_(now_, burst.offset, extent(burst.strobes));
    responses_.push_back({write.left, ordering_ == Ordering::kPosted ? write.left : write.arrived, burst.id, burst.ok});
    if (burst.ok) arrivals_.push_back({write.arrived, burst.offset, std::move(burst.bytes), std::move(burst.strobes)});
    bursts_.pop_front();
  }
  // Bytes from the first strobed one to the last.
  static uint64_t extent(const std::vector<uint64_t>& strobes) {
    uint64_t first = UINT64_MAX, end = 0;
    for (size_t beat = 0; beat < strobes.size(); ++beat) {
      if (strobes[beat] == 0) continue;
      first = std::min<uint64_t>(first, beat * kBeat + static_cast<uint64_t>(__builtin_ctzll(strobes[beat])));
      end = beat * kBeat + 64 - static_cast<uint64_t>(__builtin_clzll(strobes[beat]));
    }
    return end == 0 ? 0 : end - first;
  }

  rtl::AxiWritePort port_;
  WritePath path_;
  std::span<char> memory_;
  uint64_t base_;
  const Time& now_;
  Ordering ordering_;
  std::deque<Burst> bursts_;
  std::deque<Response> responses_;
  std::deque<Arrival> arrivals_;
  PortStalls stalls_;
  uint64_t violations_ = 0;
};

// When the bytes of a read come: of `bytes` from the memory's offset `at` on.
using ReadPath = std::function<Link::Read(Time now, uint64_t at, uint64_t bytes)>;

class AxiReadBridge final : public rtl::Part {
 public:
  AxiReadBridge(rtl::AxiReadPort port, ReadPath path, std::span<const char> memory, uint64_t base, const Time* now)
      : port_(port), path_(std::move(path)), memory_(memory), base_(base), now_(*now) {}
  AxiReadBridge(rtl::AxiReadPort port, Link* link, std::span<const char> memory, uint64_t base, const Time* now)
      : AxiReadBridge(
            port, [link, base](Time time, uint64_t at, uint64_t bytes) { return link->read(time, bytes, base + at); },
            memory, base, now) {}

  void drive() override {
    size_t waiting = 0;
    for (const Burst& burst : bursts_) waiting += burst.read.begins > now_ ? 1 : 0;
    *port_.arready = waiting < kBurstsWaiting;
    if (!answering_) answering_ = choose();
    const Burst& burst = answering_ ? bursts_[chosen_] : kNone;
    *port_.rvalid = answering_ && beat_at(burst) <= now_;
    if (!*port_.rvalid) return;
    if (burst.ok) {
      std::memcpy(port_.rdata, memory_.data() + burst.offset + size_t{burst.beat} * kBeat, kBeat);
    } else {
      std::memset(port_.rdata, 0xee, kBeat);
    }
    *port_.rid = burst.id;
    *port_.rresp = burst.ok ? 0 : 2;
    *port_.rlast = burst.beat + 1 == burst.beats;
  }
  void sample() override {
    if (*port_.arvalid && !*port_.arready) ++stalls_.cycles;
    if (!bursts_.empty() && !*port_.rvalid) ++waiting_cycles_;
    if (*port_.rvalid && *port_.rready && ++bursts_[chosen_].beat == bursts_[chosen_].beats) {
      bursts_.erase(bursts_.begin() + static_cast<std::ptrdiff_t>(chosen_));
      answering_ = false;
    }
    if (*port_.arvalid && *port_.arready) {
      uint32_t beats = *port_.arlen + 1u;
      bool ok = rtl::axi_burst_ok(*port_.araddr, beats, base_, memory_.size());
      violations_ += ok ? 0 : 1;
      uint64_t at = *port_.araddr - base_;
      bursts_.push_back({at, beats, 0, *port_.arid, ok, path_(now_, at, beats * kBeat)});
    }
  }
  void reset() override {
    bursts_.clear();
    answering_ = false;
    *port_.arready = *port_.rvalid = 0;
  }

  const PortStalls& stalls() const { return stalls_; }
  // Cycles in which reads were under way and no beat was there.
  uint64_t waiting_cycles() const { return waiting_cycles_; }
  uint64_t violations() const { return violations_; }

 private:
  struct Burst {
    uint64_t offset;
    uint32_t beats, beat;
    CData id;
    bool ok;
    Link::Read read;
  };
  // The beats of a burst come evenly between its first byte and its last.
  static Time beat_at(const Burst& burst) {
    return burst.read.first + (burst.read.done - burst.read.first) * (burst.beat + 1) / burst.beats;
  }

  // The oldest burst of any id whose first beat is there.
  bool choose() {
    uint64_t ids = 0;  // of older bursts
    for (size_t i = 0; i < bursts_.size(); ++i) {
      bool older = (ids >> bursts_[i].id & 1) != 0;
      ids |= uint64_t{1} << bursts_[i].id;
      if (older || beat_at(bursts_[i]) > now_) continue;
      chosen_ = i;
      return true;
    }
    return false;
  }
  static constexpr Burst kNone = {};

  rtl::AxiReadPort port_;
  ReadPath path_;
  std::span<const char> memory_;
  uint64_t base_;
  const Time& now_;
  std::deque<Burst> bursts_;
  size_t chosen_ = 0;  // while `answering_`: the burst whose beats come
  bool answering_ = false;
  PortStalls stalls_;
  uint64_t waiting_cycles_ = 0, violations_ = 0;
};

}  // namespace drover::sim
