// EngineService: a service whose calls the engine answers itself, without a host. Its calls are calls like others
// (CallState, Calls) that stream both ways, and their routes are in no table.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/call/call.h"

namespace drover::engine {

struct CallState;
struct Route;

class EngineService {
 public:
  // The route of a path that no host serves; null: it is not the service's, or the service is not offered at that
  // listener. Throws std::bad_alloc.
  virtual Route* route(uint32_t listener, std::string_view path) = 0;
  // Of one request message, at most.
  virtual uint32_t max_request_bytes() const = 0;
  // ---- of a call that it has, as in CallSink
  virtual void message(CallState& state, std::string_view wire, More more) = 0;
  virtual void half_close(CallState& state) = 0;
  virtual void answer_sent(CallState& state) = 0;

 protected:
  ~EngineService() = default;
};

}  // namespace drover::engine
