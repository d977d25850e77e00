// Answers: a worker's part in a call from the return of its handler to its end: initial metadata that go first,
// COMPLETE, what reactors and interceptors are told behind it, FINISHED.
//
//   after_handler -> (initial metadata) -> complete -> [waits for room in tx] -> COMPLETE
//                 -> interceptors of the end -> OnDone -> FINISHED -> CallPool::end
//
// Reactions and interceptors are the application's code, in which the lead may be lost; the event that is posted then
// leads to the next step. Interceptors that proceed later hold no thread: their event comes when they do.
//
// Thread-safety: the leader. Functions that return bool return false if the lead was lost.
#pragma once

#include <cstdint>
#include <deque>

#include "host/async_calls.h"
#include "host/call.h"
#include "host/call_pool.h"
#include "host/engine_channels.h"
#include "host/engine_link.h"
#include "host/lead_phase.h"
#include "host/streams.h"

namespace drover::host {

class Answers {
 public:
  // In tx_call: the initial metadata of a call, in front of its COMPLETE.
  static constexpr uint32_t kHeadersBit = uint32_t{1} << 30;

  // What it works with; all outlive it.
  struct Parts {
    StreamWorker& worker;
    EngineLink& link;
    EngineChannels& channels;
    CallPool& calls;
    CallInbox& inbox;
    LeadPhase& lead;
    Streams& streams;
    AsyncCalls& asynchronous;
  };
  explicit Answers(const Parts& parts) : p_(parts) {}
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  bool after_handler(Call* call);
  // StartSendInitialMetadata of a call without a stream.
  bool after_initial_metadata(Call* call);
  bool headers_intercepted(Call* call);
  bool cancel(Call* call);
  // OnCancel or OnSendInitialMetadataDone of a call without a stream has returned.
  bool reaction_returned(Call* call);
  // The status is known.
  bool complete(Call* call);
  bool close_intercepted(Call* call);
  bool run_done(Call* call);
  // OnDone has returned.
  void end_call(Call* call);
  // The engine has released what tx_call names, of a call without a stream.
  void release(uint32_t tx_call);
  void recycle_if_over(Call* call);

  // Some call waits for room in tx.
  bool waits_for_memory() const { return !waiting_for_memory_.empty(); }
  bool retry_waiting(bool* worked);

 private:
  bool gone() const { return p_.link.gone.load(std::memory_order_relaxed); }
  void send_headers(Call* call);
  bool send_answer(Call* call);
  static void forget_request(Call* call);
  static bool finishes_later(const Call& call);
  void push_finished(const Call& call);
  bool completed(Call* call);
  void end(Call* call);

  const Parts p_;
  std::deque<Call*> waiting_for_memory_;
};

}  // namespace drover::host
