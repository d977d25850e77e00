// What a peer may make a connection hold and do. Everything that a session stores or queues on a peer's behalf is
// charged here; what would pass a limit is refused, and a peer that goes on ends the connection (ENHANCE_YOUR_CALM).
//
// Bytes: held while something lives. Events: frames that carry no call, and streams that end early, a second.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/token_bucket.h"

namespace drover::engine::http2 {

// Bytes of one kind, with a limit.
class ByteBudget {
 public:
  explicit ByteBudget(size_t limit) : limit_(limit) {}
  bool fits(size_t bytes) const { return held_ <= limit_ && bytes <= limit_ - held_; }
  // Charges even past the limit: the caller has asked, or ends the connection.
  void charge(size_t bytes) { held_ += bytes; }
  void release(size_t bytes) { held_ -= bytes; }
  size_t held() const { return held_; }
  bool over() const { return held_ > limit_; }

 private:
  const size_t limit_;
  size_t held_ = 0;
};

}  // namespace drover::engine::http2
