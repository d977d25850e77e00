#include "sim/platform/inbox.h"

#include <algorithm>

namespace drover::sim {

std::vector<Time>* Inbox::reserve(uint64_t owner, uint64_t at, uint64_t bytes) {
  uint64_t lines = (bytes + kLine - 1) / kLine;
  if (lines * kLine > free_) return nullptr;
  free_ -= lines * kLine;
  held_.push_back({owner, at, std::vector<Time>(lines, 0)});
  return &held_.back().lines;
}

void Inbox::release(uint64_t owner) {
  for (auto it = held_.begin(); it != held_.end();) {
    if (it->owner != owner) {
      ++it;
      continue;
    }
    free_ += it->lines.size() * kLine;
    it = held_.erase(it);
  }
}

bool Inbox::read(Time now, uint64_t at, uint64_t bytes, Link::Read* out) {
  for (const Held& held : held_) {
    if (at < held.at || at + bytes > held.at + held.lines.size() * kLine) continue;
    uint64_t first = (at - held.at) / kLine, last = (at + bytes - 1 - held.at) / kLine;
    *out = sram_.read(now, bytes, at);
    out->first = std::max(out->first, held.lines[first]);
    for (uint64_t line = first; line <= last; ++line) out->done = std::max(out->done, held.lines[line]);
    return true;
  }
  return false;
}

}  // namespace drover::sim
