// Records the memory that the heap returns: operator new of the whole program (protobuf's library included) logs its
// results while a log is open. Thread-safety: none; one log at a time.
#pragma once

#include "bench/sim/touched_memory.h"

namespace drover::bench {

class AllocationLog {
 public:
  // Open during its lifetime. `memory` must outlive it.
  explicit AllocationLog(TouchedMemory* memory);
  ~AllocationLog();
  AllocationLog(const AllocationLog&) = delete;
  AllocationLog& operator=(const AllocationLog&) = delete;
};

}  // namespace drover::bench
