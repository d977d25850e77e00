// A coherent link between a NIC and a processor: single lines of 64 bytes that the NIC reads, through a cache of its
// own or past it, from memory that the processor's caches hold.
//
//   NIC                      endpoint                      processor
//   cached read, held        hit                                                        no transaction
//   cached read              interval -> one_way -> access: sampled, shared -> one_way -> held: done
//   direct read              interval -> one_way -> access: sampled         -> one_way -> done
//   the processor stores     a line that is shared: invalidation -> one_way -> NIC: snoop, no longer held
//                                                   -> one_way -> owned: only now other readers see the store
//
// Each read carries the bytes that memory held when it was sampled, so that a NIC sees a store as late as hardware
// would. Messages to the NIC keep their order: data that was sampled before an invalidation is there before it. The
// endpoint's transaction rate is a limit of its own, which two NICs on one FPGA share (Dagger's paper, section 4).
// Reads that hit and the processor's stores to lines that are not shared cost no transaction. Writes by the NIC go
// another way (a Link).
//
// The model is deterministic and knows no SystemC: its owner calls advance() with times that do not go back.
// Thread-safety: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/platform/units.h"

namespace drover::sim {

struct CoherentConfig {
  Time one_way = 0;
  Time access = 0;                // of the processor's cache, from a request's arrival to its data
  Time hit = 0;                   // of the NIC's cache
  Time interval = 0;              // between two transactions at the endpoint
  double bandwidth = 1e12;        // bytes/s of lines to the NIC
  uint32_t reads_in_flight = 64;  // beyond, reads wait
  uint32_t cache_lines = 1024;    // that the NIC's cache holds; the oldest leave
};

struct CoherentCounters {
  uint64_t reads = 0, hits = 0, invalidations = 0, evictions = 0;
  Time interval_waits = 0, in_flight_waits = 0;  // sums over reads
};

// The transaction rate of an endpoint.
class Endpoint {
 public:
  explicit Endpoint(Time interval) : interval_(interval) {}
  Time pass(Time now) {
    Time begins = now > next_ ? now : next_;
    next_ = begins + interval_;
    ++passed_;
    busy_ += interval_;
    return begins;
  }
  uint64_t passed() const { return passed_; }
  Time busy() const { return busy_; }

 private:
  Time interval_, next_ = 0, busy_ = 0;
  uint64_t passed_ = 0;
};

class CoherentLink {
 public:
  using Line = std::array<char, 64>;
  // `memory`: what the processor has; addresses count from its beginning. `snoop` hears of each line that leaves the
  // NIC's cache, when it does.
  CoherentLink(const CoherentConfig& config, std::span<const char> memory, Endpoint* endpoint,
               std::function<void(uint64_t address)> snoop)
      : config_(config), memory_(memory), endpoint_(*endpoint), snoop_(std::move(snoop)) {}

  // Begins to read the line at `address`, a multiple of 64 inside the memory. Returns the read's ticket.
  uint64_t read(Time now, uint64_t address, bool cached);
  // Whether the read has its line by the time of the last advance().
  bool done(uint64_t ticket) const { return lines_.contains(ticket); }
  // The line of a read that is done; forgets it.
  Line take(uint64_t ticket);

  // The processor is about to store into the line; the memory has the old bytes yet. True if the NIC shared the line,
  // so that the store waits for its ownership.
  bool store(Time now, uint64_t address);

  // Does everything that is due by `now`.
  void advance(Time now);

  const CoherentCounters& counters() const { return counters_; }

 private:
  struct Read {
    uint64_t ticket, address;
    bool cached;
  };
  struct Old {
    Time until;  // the store is visible
    Line bytes;
  };
  struct Held {
    Line bytes;
    std::list<uint64_t>::iterator age;
  };

  Line sample(Time now, uint64_t address);
  void at(Time when, std::function<void()> what) { due_.emplace(when, std::move(what)); }
  // When a message that leaves the processor at `now` and takes `wire` on the link is at the NIC.
  Time to_nic(Time now, Time wire);
  void hold(uint64_t address, const Line& bytes);
  void drop(uint64_t address);

  const CoherentConfig config_;
  std::span<const char> memory_;
  Endpoint& endpoint_;
  std::function<void(uint64_t)> snoop_;
  std::multimap<Time, std::function<void()>> due_;
  std::unordered_map<uint64_t, Line> lines_;   // of reads that are done, by ticket
  std::unordered_map<uint64_t, Held> held_;    // the NIC's cache, by address
  std::list<uint64_t> ages_;                   // of its lines, the oldest first
  std::unordered_map<uint64_t, bool> shared_;  // lines that the processor knows the NIC to share
  std::unordered_map<uint64_t, Old> old_;      // lines with a store that is not yet visible
  std::multimap<Time, int> ends_;              // of reads in flight
  Time down_free_ = 0, arrived_ = 0;
  uint64_t tickets_ = 0;
  CoherentCounters counters_;
};

}  // namespace drover::sim
