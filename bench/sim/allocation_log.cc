#include "bench/sim/allocation_log.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace drover::bench {
namespace {

// Of a fixed size: the log must not allocate. The largest message of the workload makes some thousands.
struct Entries {
  struct Entry {
    void* at;
    size_t size;
  };
  std::array<Entry, 1 << 18> entries;
  size_t count = 0;
  TouchedMemory* memory = nullptr;
};
Entries& log() {
  static Entries entries;
  return entries;
}
bool open = false;

}  // namespace

AllocationLog::AllocationLog(TouchedMemory* memory) {
  log().memory = memory;
  log().count = 0;
  open = true;
}

AllocationLog::~AllocationLog() {
  open = false;
  constexpr size_t kHeader = 16;  // the heap's own, in front of each piece
  for (size_t i = 0; i < log().count; ++i) {
    const auto& [at, size] = log().entries[i];
    log().memory->add(static_cast<char*>(at) - kHeader, size + kHeader);
  }
}

static void* allocate(size_t size) {
  void* at = std::malloc(size);
  if (at == nullptr) throw std::bad_alloc();
  if (open) {
    if (log().count == log().entries.size()) {
      std::fprintf(stderr, "cpu_costs: a message makes more than %zu allocations\n", log().entries.size());
      std::abort();
    }
    log().entries[log().count++] = {at, size};
  }
  return at;
}

}  // namespace drover::bench

void* operator new(size_t size) { return drover::bench::allocate(size); }
void* operator new[](size_t size) { return drover::bench::allocate(size); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, size_t) noexcept { std::free(at); }
void operator delete[](void* at, size_t) noexcept { std::free(at); }
