// Host memory as a NIC reads it, with the NIC's coherent cache beside the port: a read that may be cached leaves its
// lines there, and later ones are served from there until the host writes the line. The host's write is in memory at
// once; the line leaves the cache, and the NIC hears of it (snoop), some cycles later, and until then the cache has the
// old line. Other reads see memory as it is when their beat goes out.
//
// The order is AXI's for one id; positions (id 1) may overtake lines.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "rtl/model/axi_memory.h"
#include "rtl/testing/stalls.h"

namespace drover::rtl {

struct NicMemoryTiming {
  uint32_t latency = 20;  // cycles from the address to the first beat
  uint32_t cached = 4;    // the same, of lines in the cache
  uint32_t snoop = 10;    // from the host's write to the snoop; random up to twice that with stalls
  uint32_t in_flight = 64;
  uint32_t stalls_of_256 = 0;  // on each channel
  uint64_t seed = 1;
};

class NicMemory final : public Part {
 public:
  NicMemory(AxiReadPort port, const CData* cached, std::span<const char> bytes, NicMemoryTiming timing,
            std::function<void(uint64_t)> snoop)
      : port_(port),
        cached_(cached),
        bytes_(bytes),
        timing_(timing),
        address_stall_(timing.stalls_of_256, timing.seed),
        data_stall_(timing.stalls_of_256, timing.seed + 1),
        delay_(128, timing.seed + 2),
        snoop_(std::move(snoop)) {}

  // The host has written the line at `address`.
  void wrote(uint64_t address) {
    if (!lines_.contains(address)) return;
    uint32_t cycles = timing_.snoop;
    if (timing_.stalls_of_256 != 0) {
      for (uint32_t i = 0; i < timing_.snoop; ++i) cycles += delay_();
    }
    leaving_.emplace(now_ + cycles, address);
  }
  // Reads of addresses for which this is true are answered with an error.
  void refuse(std::function<bool(uint64_t)> address) { refuse_ = std::move(address); }
  uint64_t violations() const { return violations_; }
  uint64_t beats() const { return beats_; }
  uint64_t from_cache() const { return from_cache_; }

  void drive() override {
    *port_.arready = queues_[0].size() + queues_[1].size() < timing_.in_flight && !address_stall_();
    if (!valid_) {
      for (int i : {1, 0}) {  // positions first
        if (valid_ || queues_[i].empty() || queues_[i].front().due > now_ || (burst_ >= 0 && burst_ != i)) continue;
        if (data_stall_()) continue;
        serve(i);
      }
    }
    *port_.rvalid = valid_;
  }
  void sample() override {
    ++now_;
    while (!leaving_.empty() && leaving_.begin()->first <= now_) {
      if (lines_.erase(leaving_.begin()->second) != 0) snoop_(leaving_.begin()->second);
      leaving_.erase(leaving_.begin());
    }
    if (valid_ && *port_.rready) {
      valid_ = false;
      ++beats_;
      std::deque<Read>& queue = queues_[burst_];
      Read& read = queue.front();
      read.address += 64;
      if (--read.beats == 0) {
        queue.pop_front();
        burst_ = -1;
      }
    }
    if (*port_.arvalid && *port_.arready) take_address();
  }
  void reset() override {
    for (auto& queue : queues_) queue.clear();
    lines_.clear();
    leaving_.clear();
    valid_ = false;
    burst_ = -1;
    *port_.arready = *port_.rvalid = 0;
  }

 private:
  struct Read {
    uint64_t address;
    uint32_t beats;
    bool cached, sound;
    uint64_t due;
  };

  void take_address() {
    uint32_t beats = *port_.arlen + 1u;
    bool sound = axi_burst_ok(*port_.araddr, beats, 0, bytes_.size()) && *port_.arid < 2;
    if (!sound) ++violations_;
    bool here = *cached_ != 0;
    for (uint32_t i = 0; i < beats; ++i) here = here && lines_.contains(*port_.araddr + 64 * i);
    queues_[*port_.arid & 1].push_back(
        {*port_.araddr, beats, *cached_ != 0, sound, now_ + (here ? timing_.cached : timing_.latency)});
  }
  void serve(int id) {
    const Read& read = queues_[id].front();
    valid_ = true;
    burst_ = id;
    bool ok = read.sound && !(refuse_ && refuse_(read.address));
    std::memset(port_.rdata, 0xee, 64);
    if (ok) {
      const char* line = bytes_.data() + read.address;
      if (read.cached) {
        auto [held, added] = lines_.try_emplace(read.address);
        if (added) std::memcpy(held->second.data(), line, 64);
        from_cache_ += !added;
        line = held->second.data();
      }
      std::memcpy(port_.rdata, line, 64);
    }
    *port_.rid = static_cast<CData>(id);
    *port_.rresp = ok ? kAxiOkay : kAxiSlaveError;
    *port_.rlast = read.beats == 1;
  }

  AxiReadPort port_;
  const CData* cached_;
  std::span<const char> bytes_;
  NicMemoryTiming timing_;
  Stalls address_stall_, data_stall_, delay_;
  std::function<void(uint64_t)> snoop_;
  std::function<bool(uint64_t)> refuse_;
  std::array<std::deque<Read>, 2> queues_;                    // by id
  std::unordered_map<uint64_t, std::array<char, 64>> lines_;  // the coherent cache
  std::multimap<uint64_t, uint64_t> leaving_;                 // when, which
  uint64_t now_ = 0, violations_ = 0, beats_ = 0, from_cache_ = 0;
  int burst_ = -1;  // the queue whose burst is under way
  bool valid_ = false;
};

}  // namespace drover::rtl
