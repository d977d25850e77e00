// The card's inbox: SRAM in front of the serializer's host port and, for pushed records, behind its engine port. It
// holds parts of host memory that the processor has pushed into it with a send command, or that are read ahead when the
// command comes. A read whose bytes are all here, or on their way, is answered from here; any other by the link.
//
//   serializer --- read ---> inbox, by address ---> link ---> host memory
//                              ^  pushed lines, lines read ahead, each with its time of arrival
//
// A model, not RTL: a table of a few extents, each contiguous, beside an SRAM whose latency and bandwidth are those of
// `inbox.*`. A line has 64 bytes. An extent that does not fit is refused: the sender falls back to plain DMA.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "sim/platform/link.h"

namespace drover::sim {

class Inbox {
 public:
  static constexpr uint64_t kLine = 64;

  Inbox(const LinkConfig& sram, uint64_t size) : sram_(sram), free_(size) {}

  // Room for `bytes` of host memory from `at` on (a multiple of kLine), until release(owner); null if there is none.
  // The caller fills in each line's time of arrival.
  std::vector<Time>* reserve(uint64_t owner, uint64_t at, uint64_t bytes);
  void release(uint64_t owner);
  uint64_t free_bytes() const { return free_; }

  // True, and when the bytes come, if all of [at, at + bytes) is here.
  bool read(Time now, uint64_t at, uint64_t bytes, Link::Read* out);
  const LinkCounters counters() const { return sram_.counters(); }

 private:
  struct Held {
    uint64_t owner, at;
    std::vector<Time> lines;  // when each arrives
  };

  Link sram_;
  uint64_t free_;
  std::list<Held> held_;
};

}  // namespace drover::sim
