#include "sim/platform/transfer.h"

namespace drover::sim {
namespace {

// f(member of a, member of b) for each counter.
template <typename F>
void each(LinkWaits& a, const LinkWaits& b, const F& f) {
  f(a.bandwidth, b.bandwidth), f(a.interval, b.interval), f(a.in_flight, b.in_flight), f(a.tlb, b.tlb);
}
template <typename F>
void each(LinkCounters& a, const LinkCounters& b, const F& f) {
  f(a.writes, b.writes), f(a.written_bytes, b.written_bytes);
  f(a.reads, b.reads), f(a.read_bytes, b.read_bytes);
  f(a.pushes, b.pushes), f(a.pushed_bytes, b.pushed_bytes);
  f(a.tlb_misses, b.tlb_misses);
  each(a.write_waits, b.write_waits, f);
  each(a.read_waits, b.read_waits, f);
}
template <typename F>
void each(Counters& a, const Counters& b, const F& f) {
  each(a.link, b.link, f);
  each(a.card, b.card, f);
  f(a.input_stalls, b.input_stalls), f(a.port_stalls, b.port_stalls), f(a.read_waits, b.read_waits);
}

}  // namespace

Counters operator-(const Counters& a, const Counters& b) {
  Counters difference = a;
  each(difference, b, [](uint64_t& x, uint64_t y) { x -= y; });
  return difference;
}

Counters& operator+=(Counters& sum, const Counters& more) {
  each(sum, more, [](uint64_t& x, uint64_t y) { x += y; });
  return sum;
}

}  // namespace drover::sim
