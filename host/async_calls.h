// AsyncCalls: a worker's part in calls that the application serves through completion queues: from the CALL to the
// event of RequestX, and back to the end of the call.
//
//   CALL -> start: matched with a RequestX, waits for one (host/call_requests.h), or is refused
//        -> bound: the application has the call; its operations reach the leader as a reactor's do (host/async_call.h)
//        -> ended
//
// Thread-safety: the leader, but for bound_calls().
#pragma once

#include <atomic>
#include <cstdint>

#include "host/call.h"
#include "host/call_requests.h"
#include "host/engine_link.h"
#include "host/streams.h"

namespace drover::host {

class AsyncCalls {
 public:
  AsyncCalls(StreamWorker& worker, EngineLink& link) : worker_(worker), link_(link) {}

  // Each returns false if the lead was lost.
  bool start(Call* call);
  // The event of a call that has waited: a RequestX has come, or none will.
  bool matched(Call* call);
  // The interceptors of a matched call have let it go on: later, or on a thread that had lost the lead.
  bool intercepted(Call* call);
  bool cancel(Call* call);
  // The call is completed.
  void ended(Call* call);

  // That the application has and has not ended. Any thread.
  uint32_t bound_calls() const { return bound_.load(std::memory_order_acquire); }

 private:
  // How many may wait for a RequestX.
  uint32_t most_waiting() const;
  bool bind(Call* call, const CallRequest& request);
  bool refuse(Call* call, grpc::StatusCode code, const char* why);

  StreamWorker& worker_;
  EngineLink& link_;
  std::atomic<uint32_t> bound_{0};
};

}  // namespace drover::host
