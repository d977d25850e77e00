// When freed memory goes back to the system. The C library keeps what is freed below the top of its heaps; giving it
// back (malloc_trim) takes some milliseconds, in which other threads wait for their heap. So it is done
//   where resident memory has grown since it was least: by kGrowth, or an eighth if that is more;
//   where the code that freed much says so (heap::want_trim);
//   and again at kFollowUps: what a burst held is freed over seconds, as time-outs end its connections.
// Not thread-safe: one thread looks, about once a second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "object/unique_fd.h"

namespace drover::engine {

// The decision, without a heap.
class TrimTimes {
 public:
  static constexpr size_t kGrowth = 8 << 20;
  static constexpr std::array<int64_t, 2> kFollowUps = {2'000'000'000, 6'000'000'000};  // nanoseconds

  // `resident`: private bytes that are in memory; `wanted`: much was freed. True: trim now, then say so.
  bool due(size_t resident, bool wanted, int64_t now_ns);
  // `resident` after a trim.
  void trimmed(size_t resident);

 private:
  size_t least_ = std::numeric_limits<size_t>::max();
  int64_t began_ns_ = 0;  // of the trim that was not a follow-up
  size_t follow_up_ = kFollowUps.size();
};

class HeapTrim {
 public:
  HeapTrim();

  // Takes some milliseconds where it trims: not on an engine thread.
  void look(int64_t now_ns);

  // Private bytes of this process that are in memory; 0 where /proc does not say: then wishes alone lead to a trim.
  size_t resident() const;

 private:
  TrimTimes times_;
  UniqueFd statm_;
};

}  // namespace drover::engine
