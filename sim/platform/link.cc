#include "sim/platform/link.h"

#include <algorithm>
#include <cmath>

namespace drover::sim {

Link::Link(const LinkConfig& config)
    : config_(config),
      picoseconds_a_byte_(1e12 / config.bandwidth * config.payload_limit / (config.payload_limit + config.header)),
      tlb_(config.tlb) {}

LinkCounters Link::counters() const {
  LinkCounters counters = counters_;
  counters.tlb_misses = tlb_.misses();
  return counters;
}

Time Link::wire_time(uint64_t bytes) const {
  uint64_t packets = bytes == 0 ? 1 : (bytes + config_.payload_limit - 1) / config_.payload_limit;
  return static_cast<Time>(std::llround(static_cast<double>(bytes + packets * config_.header) * picoseconds_a_byte_));
}

Time Link::header_time() const { return static_cast<Time>(std::llround(config_.header * picoseconds_a_byte_)); }

// The earliest time from `now` on at which all gates are open; counts the delay of each.
Time Link::pass(Gate& gate, Time now, Time free, uint32_t in_flight, LinkWaits* waits) const {
  Time at = now;
  auto until = [&at](Time open, Time* wait) {
    if (open <= at) return;
    *wait += open - at;
    at = open;
  };
  while (!gate.ends.empty() && gate.ends.front() <= now) gate.ends.pop_front();
  if (gate.ends.size() >= in_flight) until(gate.ends[gate.ends.size() - in_flight], &waits->in_flight);
  until(gate.next, &waits->interval);
  until(free, &waits->bandwidth);
  gate.next = at + config_.interval;
  return at;
}

Link::Write Link::write(Time now, uint64_t bytes, uint64_t address) {
  Write write{};
  write.begins = pass(write_gate_, now, up_free_, config_.writes_in_flight, &counters_.write_waits);
  write.left = write.begins + wire_time(bytes);
  Time there = write.left + config_.one_way;
  write.arrived = written_ = std::max(tlb_.translate(there, address, bytes), written_);
  counters_.write_waits.tlb += write.arrived - there;
  up_free_ = write.left;
  write_gate_.ends.push_back(write.arrived);
  ++counters_.writes;
  counters_.written_bytes += bytes;
  return write;
}

Link::Read Link::read(Time now, uint64_t bytes, uint64_t address) {
  Read read{};
  read.begins = pass(read_gate_, now, up_free_, config_.reads_in_flight, &counters_.read_waits);
  up_free_ = read.begins + header_time();
  Time there = up_free_ + config_.one_way;
  Time translated = tlb_.translate(there, address, bytes);
  counters_.read_waits.tlb += translated - there;
  Time at_memory = translated + config_.access;
  Time starts = std::max(at_memory, down_free_);
  counters_.read_waits.bandwidth += starts - at_memory;
  down_free_ = starts + wire_time(bytes);
  // The first bytes are there a packet's header after they started.
  read.first = starts + header_time() + config_.one_way;
  read.done = down_free_ + config_.one_way;
  read_gate_.ends.push_back(read.done);
  ++counters_.reads;
  counters_.read_bytes += bytes;
  return read;
}

Link::Write Link::push(Time now, uint64_t bytes) {
  Write push{};
  push.begins = std::max(now, push_free_);
  push.left = push_free_ = push.begins + wire_time(bytes);
  // Later reads queue behind these bytes; reads whose requests are under way already do not wait.
  down_free_ = std::max(down_free_, push.begins) + wire_time(bytes);
  push.arrived = push.left + config_.one_way;
  ++counters_.pushes;
  counters_.pushed_bytes += bytes;
  return push;
}

}  // namespace drover::sim
