// A translation buffer: which pages of host memory are translated without delay, and what a miss costs.
//
// It holds `entries` pages and replaces the least recently used. A miss takes `miss`; other accesses to that page wait
// for the end of the same walk, and walks of different pages overlap. With 0 entries nothing is translated and nothing
// waits. Deterministic. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "sim/platform/units.h"

namespace drover::sim {

struct TlbConfig {
  uint32_t entries = 0;  // 0: no translation
  uint32_t page = 4096;  // bytes
  Time miss = 330 * kNanosecond;
};

class Tlb {
 public:
  explicit Tlb(const TlbConfig& config) : config_(config) {}

  // When an access at `at` to `bytes` from `address` on has all its translations.
  Time translate(Time at, uint64_t address, uint64_t bytes);
  uint64_t misses() const { return misses_; }

 private:
  struct Entry {
    uint64_t page;
    Time ready;  // its walk's end
  };
  Time translate_page(Time at, uint64_t page);

  TlbConfig config_;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> places_;
  uint64_t misses_ = 0;
};

}  // namespace drover::sim
