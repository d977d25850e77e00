#include "sim/platform/tlb.h"

#include <algorithm>

namespace drover::sim {

Time Tlb::translate_page(Time at, uint64_t page) {
  auto known = places_.find(page);
  if (known != places_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return std::max(at, known->second->ready);
  }
  ++misses_;
  if (entries_.size() == config_.entries) {
    places_.erase(entries_.back().page);
    entries_.pop_back();
  }
  entries_.push_front({page, at + config_.miss});
  places_[page] = entries_.begin();
  return at + config_.miss;
}

Time Tlb::translate(Time at, uint64_t address, uint64_t bytes) {
  Time ready = at;
  if (config_.entries == 0) return ready;
  uint64_t last = (address + std::max<uint64_t>(bytes, 1) - 1) / config_.page;
  for (uint64_t page = address / config_.page; page <= last; ++page) {
    ready = std::max(ready, translate_page(at, page));
  }
  return ready;
}

}  // namespace drover::sim
