// Which calls of a connection move more slowly than a client must make them: requests that stop arriving, replies that
// are not taken. A stream on which both sides are silent is not stalled.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/grpc/call_stream.h"
#include "engine/http2/session.h"

namespace drover::engine {

struct StallRules {
  int64_t now_ns;
  int64_t limit_ns;         // for a call that does not move
  uint32_t least_rate;      // bytes a second: slower than that is not moving
  bool connection_stalled;  // nothing has been sent for that time
};

// As fast as a client must be.
inline bool moves(uint64_t bytes, int64_t ns, uint32_t least_rate) {
  return static_cast<double>(bytes) * 1e9 >= static_cast<double>(ns) * least_rate;
}

struct StalledCalls {
  std::vector<CallStream*> requests;  // to be answered with a status
  std::vector<CallStream*> replies;   // to be reset
};
// Also notes how far each call has come. Call about once a second.
StalledCalls find_stalled(const http2::Session& session, const StallRules& rules);

}  // namespace drover::engine
