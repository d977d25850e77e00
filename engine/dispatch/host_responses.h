// HostResponses: what hosts send to one engine thread, taken from their rings and answered to the clients.
//
//   serve(host, time) --> the host's lanes in turn --> COMPLETE --> ResponseReader --> kReady --> the reply
//                                                  |                               '-> kLong, kNoRoom: put off
//                                                  |-> MESSAGE: the same, a step of a reply that streams
//                                                  |-> CONSUMED: StreamRequests
//                                                  |-> FINISHED: the request's memory is free
//                                                  '-> LINE, LINE_CLOSE: LineSwitch
//
// An answer that takes long to encode or to copy, or finds no room, is put off: the call goes on running and owes the
// host its memory, and each further serve() of the host begins with it. The host's answers behind a long one wait, and
// so do those of the same stream behind one that found no room.
//
// A slot that no working host sends makes its HostLink fail; it has no other effect.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>

#include "channel/layout.h"
#include "engine/base/metrics.h"
#include "engine/call/call.h"
#include "engine/dispatch/calls.h"
#include "engine/dispatch/host_link.h"
#include "engine/dispatch/host_turns.h"
#include "engine/dispatch/reply_memory.h"
#include "engine/dispatch/response_reader.h"
#include "engine/dispatch/stream_requests.h"

namespace drover::engine {

class HostResponses {
 public:
  struct Options {
    ResponseReader::Options reader;
    int64_t wait_ns;  // how long a reply waits for room
  };
  // All of them outlive it.
  HostResponses(const Options& options, Calls& calls, StreamRequests& requests, ReplySink& replies, ReplyMemory& memory,
                HostLines& lines, ThreadMetrics& metrics);
  ~HostResponses();
  HostResponses(const HostResponses&) = delete;
  HostResponses& operator=(const HostResponses&) = delete;

  // Takes what the host has sent until that time is spent.
  Served serve(HostLink& link, int64_t budget_ns);
  // Whether serve() has something to do although the host has sent nothing.
  bool can_go_on(const HostLink& link) const {
    if (link.has_long()) return true;
    return !link.postponed.empty() && reader_.room(link) >= link.postponed.front().wanted_bytes;
  }
  void update_metrics() { refused_->add(reader_.refused() - refused_->value()); }

 private:
  // The functions that take a slot return since when its answer took long, or 0 (ResponseReader::Answer).
  bool take_from(HostLink& link, uint32_t worker, TurnBudget& budget, bool* did);
  int64_t take_slot(HostLink& link, uint32_t worker, const Slot& slot);
  int64_t take_other_slot(HostLink& link, uint32_t worker, const Slot& slot);
  int64_t complete(HostLink& link, uint32_t worker, const CompleteSlot& slot);
  void finished(HostLink& link, uint32_t worker, const FinishedSlot& slot);
  int64_t message(HostLink& link, uint32_t worker, const ReplyMessageSlot& slot);
  int64_t headers(CallState& state, const ReplyMessageSlot& slot);
  void consumed(HostLink& link, uint32_t worker, const ConsumedSlot& slot);
  int64_t answer(CallState& state, const CompleteSlot& slot);
  int64_t give(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer, int64_t until_ns);
  void deliver(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer);
  void hand_over(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer);
  void hand_over_step(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer);
  void fail_for_memory(CallState& state, const CompleteSlot& slot);

  // ---- what the client is charged with
  enum class Charge {
    kDone,
    kRefused,  // over a budget
    kNotYet,   // the reply must be copied first, which goes on in later turns
  };
  static bool charge_step(CallState& state);
  static Charge charge_reply(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer);
  static Charge copy_reply(CallState& state, const CompleteSlot& slot, ResponseReader::Answer& answer);
  ResponseReader::Answer refuse_reply(CallState& state);

  // ---- answers that were put off
  static void put_off(CallState& state, const CompleteSlot& slot);
  CallState* put_off_call(HostLink& link, const CompleteSlot& slot);
  bool go_on_with_long(HostLink& link, TurnBudget& budget);
  bool go_on_encoding(HostLink& link, TurnBudget& budget);
  bool go_on_copying(HostLink& link, TurnBudget& budget);
  bool retry_postponed(HostLink& link, TurnBudget& budget);
  void retry(CallState& state, const HostLink::Postponed& postponed, bool late);
  void go_on_with_stream(HostLink& link, uint32_t call, uint32_t generation);

  const int64_t wait_ns_;
  Calls& calls_;
  StreamRequests& requests_;
  ReplySink& replies_;
  ResponseReader reader_;
  HostLines& lines_;
  ThreadMetrics& metrics_;
  Counter* long_answers_;
  Counter* postponed_;
  Counter* refused_;
};

}  // namespace drover::engine
