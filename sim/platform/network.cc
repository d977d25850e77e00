#include "sim/platform/network.h"

#include <algorithm>

namespace drover::sim {

void NetworkConfig::add_keys(Keys* keys) {
  keys->choice("network.kind", "loopback (on one card), switch (at the top of a rack)", &kind,
               {{"loopback", NetworkKind::kLoopback}, {"switch", NetworkKind::kSwitch}});
  keys->time("network.delay", "of the loop-back, or of the switch", &delay);
  keys->time("network.one_way", "of a link between NIC and switch", &one_way);
  keys->bandwidth("network.bandwidth", "of such a link, each way", &bandwidth);
  keys->number("network.loss", "of packets, 0 to 1", &loss);
  keys->number("network.reorder", "of packets that are held back, so that others overtake them, 0 to 1", &reorder);
  keys->time("network.reorder_delay", "how long these are held back at the most", &reorder_delay);
  keys->flag("network.reorder_keys", "packets of one connection may overtake each other too", &reorder_keys);
  keys->count("network.seed", "of losses and delays", &seed, 0, UINT64_MAX);
}

Network::Sent Network::send(Time now, uint32_t from, uint32_t to, uint64_t bytes, uint64_t key) {
  ++counters_.packets;
  counters_.bytes += bytes;
  Time there = now;
  if (config_.kind == NetworkKind::kLoopback) {
    there += config_.delay;
  } else {
    there = cross(up_[from], there, bytes) + config_.one_way + config_.delay;
  }
  if (chance(config_.loss)) return ++counters_.lost, Sent{true, there};
  if (config_.kind == NetworkKind::kSwitch) there = cross(down_[to], there, bytes) + config_.one_way;
  if (chance(config_.reorder)) {
    ++counters_.held_back;
    there += std::uniform_int_distribution<Time>(0, config_.reorder_delay)(random_);
  }
  if (!config_.reorder_keys) {
    Time& last = last_[key * up_.size() + to];
    there = last = std::max(last, there);
  }
  return {false, there};
}

Time Network::cross(Wire& wire, Time now, uint64_t bytes) const {
  Time takes = static_cast<Time>(static_cast<double>(bytes) * 1e12 / config_.bandwidth);
  wire.free = std::max(now, wire.free) + takes;
  wire.busy += takes;
  return wire.free;
}

NetworkCounters Network::counters() const {
  NetworkCounters all = counters_;
  for (const auto* wires : {&up_, &down_}) {
    for (const Wire& wire : *wires) all.busiest = std::max(all.busiest, wire.busy);
  }
  return all;
}

}  // namespace drover::sim
