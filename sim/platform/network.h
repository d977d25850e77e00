// The network between the NICs of a run of calls: a loop-back on one card, or a switch at the top of a rack.
//
//   loop-back   sent -> delay -> there
//   switch      sent -> the sender's link, `bandwidth` -> one_way -> switch `delay` -> the receiver's link -> one_way
//
// A packet may be lost, or held back by a random time so that others overtake it (`reorder`, never one of the same key:
// flows stay in order, as hashing of flows to paths does; `reorder_keys` lets those too). Deterministic for a seed.
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "sim/platform/keys.h"
#include "sim/platform/units.h"

namespace drover::sim {

enum class NetworkKind { kLoopback, kSwitch };

struct NetworkConfig {
  NetworkKind kind = NetworkKind::kLoopback;
  Time delay = 0;                           // of the loop-back or of the switch
  Time one_way = 0;                         // of a link to the switch
  double bandwidth = 1e12;                  // bytes/s of a link
  double loss = 0;                          // of packets, 0 to 1
  double reorder = 0;                       // of packets that are held back
  Time reorder_delay = 1000 * kNanosecond;  // by at most so long
  bool reorder_keys = false;
  uint64_t seed = 1;
  void add_keys(Keys* keys);
};

struct NetworkCounters {
  uint64_t packets = 0, bytes = 0, lost = 0, held_back = 0;
  Time busiest = 0;  // time that the busiest link was in use
};

class Network {
 public:
  struct Sent {
    bool lost;
    Time there;
  };
  Network(const NetworkConfig& config, uint32_t nodes)
      : config_(config), random_(config.seed), up_(nodes), down_(nodes) {}
  // A packet from one node to another; `now` does not go back.
  Sent send(Time now, uint32_t from, uint32_t to, uint64_t bytes, uint64_t key);
  NetworkCounters counters() const;

 private:
  struct Wire {
    Time free = 0, busy = 0;
  };
  Time cross(Wire& wire, Time now, uint64_t bytes) const;
  bool chance(double of) { return of > 0 && std::uniform_real_distribution<>(0, 1)(random_) < of; }

  const NetworkConfig config_;
  std::mt19937_64 random_;
  std::vector<Wire> up_, down_;
  std::unordered_map<uint64_t, Time> last_;  // arrival of each key's last packet
  NetworkCounters counters_;
};

}  // namespace drover::sim
