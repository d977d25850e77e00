// The heap: room that is made before a step that must not fail, and freed memory that goes back to the system after a
// burst. Thread-safe, but for reserve.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace drover::engine::heap {

inline std::atomic<bool> trim_wanted{false};

// Large buffers are mapped one by one, so that free() gives them back at once. Of small ones some MiB are kept, so that
// memory which comes and goes is not faulted in again each time. Call before the first thread.
inline void configure() {
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

// Makes push_back succeed until `vector` has `size` elements. Throws std::bad_alloc.
template <typename Vector>
void reserve(Vector& vector, size_t size) {
  if (vector.capacity() < size) vector.reserve(std::max(size, 2 * vector.capacity()));
}

// What is left in the pages of freed small ones goes back with HeapTrim's next look.
inline void want_trim() { trim_wanted.store(true, std::memory_order_relaxed); }

// For HeapTrim: whether somebody wants one since it was last asked.
inline bool take_trim_wish() { return trim_wanted.exchange(false, std::memory_order_relaxed); }

}  // namespace drover::engine::heap
