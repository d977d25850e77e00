// The share of a replay's payloads that an engine in RTL has to do itself, and what it may leave to software at most.
#pragma once

#include <cstddef>
#include <string>

namespace drover::conformance {

struct ShareBound {
  size_t least_done = 0;
  size_t most_left = 0;
};

// What is outside the bound; empty: nothing.
inline std::string outside(const ShareBound& bound, size_t done, size_t left) {
  std::string text;
  if (done < bound.least_done) {
    text = std::to_string(done) + " done by the hardware, expected at least " + std::to_string(bound.least_done);
  }
  if (left > bound.most_left) {
    if (!text.empty()) text += "; ";
    text += std::to_string(left) + " left to software, expected at most " + std::to_string(bound.most_left);
  }
  return text;
}

}  // namespace drover::conformance
