#include "engine/base/heap_trim.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "engine/base/heap.h"

namespace drover::engine {

bool TrimTimes::due(size_t resident, bool wanted, int64_t now_ns) {
  const bool grown = least_ < resident && resident - least_ >= std::max(kGrowth, least_ / 8);
  least_ = std::min(least_, resident);
  if (wanted || grown) {
    began_ns_ = now_ns;
    follow_up_ = 0;
    return true;
  }
  if (follow_up_ == kFollowUps.size() || now_ns - began_ns_ < kFollowUps[follow_up_]) return false;
  ++follow_up_;
  return true;
}

void TrimTimes::trimmed(size_t resident) { least_ = resident; }

HeapTrim::HeapTrim() : statm_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

void HeapTrim::look(int64_t now_ns) {
  if (!times_.due(resident(), heap::take_trim_wish(), now_ns)) return;
  malloc_trim(0);
  times_.trimmed(resident());
}

size_t HeapTrim::resident() const {
  char text[128];
  const ssize_t size = statm_ ? ::pread(statm_.get(), text, sizeof(text) - 1, 0) : -1;
  if (size <= 0) return 0;
  text[size] = 0;
  size_t all = 0, shared = 0;  // pages
  if (std::sscanf(text, "%*u %zu %zu", &all, &shared) != 2) return 0;
  return (all - std::min(all, shared)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace drover::engine
