#include "sim/link.h"

#include <algorithm>
#include <cmath>

namespace drover::sim {

Link::Link(const LinkConfig& config)
    : config_(config),
      picoseconds_a_byte_(1e12 / config.bandwidth * config.payload_limit / (config.payload_limit + config.header)) {}

Time Link::wire_time(uint64_t bytes) const {
  uint64_t packets = bytes == 0 ? 1 : (bytes + config_.payload_limit - 1) / config_.payload_limit;
  return static_cast<Time>(std::llround(static_cast<double>(bytes + packets * config_.header) * picoseconds_a_byte_));
}

Time Link::header_time() const { return static_cast<Time>(std::llround(config_.header * picoseconds_a_byte_)); }

// The earliest time from `now` on at which all gates are open; what each of them added is counted.
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

Link::Write Link::write(Time now, uint64_t bytes) {
  Write write{};
  write.begins = pass(write_gate_, now, up_free_, config_.writes_in_flight, &counters_.write_waits);
  write.left = write.begins + wire_time(bytes);
  write.arrived = write.left + config_.one_way;
  up_free_ = write.left;
  write_gate_.ends.push_back(write.arrived);
  ++counters_.writes;
  counters_.written_bytes += bytes;
  return write;
}

Link::Read Link::read(Time now, uint64_t bytes) {
  Read read{};
  read.begins = pass(read_gate_, now, up_free_, config_.reads_in_flight, &counters_.read_waits);
  up_free_ = read.begins + header_time();
  Time at_memory = up_free_ + config_.one_way + config_.access;
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

}  // namespace drover::sim
