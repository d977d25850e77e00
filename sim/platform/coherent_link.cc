#include "sim/platform/coherent_link.h"

#include <algorithm>
#include <cstring>

namespace drover::sim {

uint64_t CoherentLink::read(Time now, uint64_t address, bool cached) {
  advance(now);
  uint64_t ticket = tickets_++;
  ++counters_.reads;
  if (auto held = held_.find(address); cached && held != held_.end()) {
    ++counters_.hits;
    at(now + config_.hit, [this, ticket, bytes = held->second.bytes] { lines_[ticket] = bytes; });
    return ticket;
  }
  while (!ends_.empty() && ends_.begin()->first <= now) ends_.erase(ends_.begin());
  Time may = now;
  if (ends_.size() >= config_.reads_in_flight)
    may = std::next(ends_.begin(), static_cast<std::ptrdiff_t>(ends_.size() - config_.reads_in_flight))->first;
  counters_.in_flight_waits += may - now;
  Time begins = endpoint_.pass(may);
  counters_.interval_waits += begins - may;
  Time sampled = begins + config_.one_way + config_.access;
  // The data's place in the order to the NIC is taken when it is sampled; this is when it ends without other traffic.
  ends_.emplace(sampled + config_.one_way, 0);
  at(sampled, [this, ticket, address, cached, sampled] {
    Line bytes = sample(sampled, address);
    if (cached) shared_[address] = true;
    at(to_nic(sampled, static_cast<Time>(64e12 / config_.bandwidth)), [this, ticket, address, cached, bytes] {
      if (cached) hold(address, bytes);
      lines_[ticket] = bytes;
    });
  });
  return ticket;
}

CoherentLink::Line CoherentLink::take(uint64_t ticket) {
  auto found = lines_.find(ticket);
  Line line = found->second;
  lines_.erase(found);
  return line;
}

bool CoherentLink::store(Time now, uint64_t address) {
  advance(now);
  auto shared = shared_.find(address);
  if (shared == shared_.end()) return false;
  shared_.erase(shared);
  Line bytes = sample(now, address);
  old_[address] = {now + 2 * config_.one_way, bytes};
  at(to_nic(now, 0), [this, address] {
    ++counters_.invalidations;
    drop(address);
    snoop_(address);
  });
  return true;
}

void CoherentLink::advance(Time now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    auto what = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    what();
  }
}

CoherentLink::Line CoherentLink::sample(Time now, uint64_t address) {
  if (auto old = old_.find(address); old != old_.end()) {
    if (now < old->second.until) return old->second.bytes;
    old_.erase(old);
  }
  Line line;
  std::memcpy(line.data(), memory_.data() + address, line.size());
  return line;
}

Time CoherentLink::to_nic(Time now, Time wire) {
  down_free_ = std::max(down_free_, now) + wire;
  arrived_ = std::max(arrived_, down_free_ + config_.one_way);
  return arrived_;
}

void CoherentLink::hold(uint64_t address, const Line& bytes) {
  drop(address);
  if (held_.size() >= config_.cache_lines) {
    uint64_t oldest = ages_.front();
    drop(oldest);
    shared_.erase(oldest);
    ++counters_.evictions;
    snoop_(oldest);
  }
  held_[address] = {bytes, ages_.insert(ages_.end(), address)};
}

void CoherentLink::drop(uint64_t address) {
  auto held = held_.find(address);
  if (held == held_.end()) return;
  ages_.erase(held->second.age);
  held_.erase(held);
}

}  // namespace drover::sim
