// Streams: a worker's part in calls that stream: messages that come in, messages that go out, and the application's
// reactions to both.
//
//   leader:  MESSAGE, RELEASE -> the stream's queues -> list of streams to look at -> settle: reactions, and what they
//            ask for, until nothing more can be done; then CONSUMED for what was read
//
// Reactions run inline on the leader, as handlers do (host/worker.h). What a reaction asks for (StartRead, StartWrite,
// Finish) is a bit in its reactor, which the leader finds when the reaction returns; another thread sets the bit and
// posts an event. A leader that takes over from a thread that is stuck in a reaction looks at that call first.
//
// A synchronous handler reads and writes its queues itself. It makes the leader look by an event; as long as it has the
// lead itself, it enters the worker for a moment (phase odd -> even -> odd) and does the leader's part. When it has to
// wait, it goes on leading as long as what comes needs no application code, then gives the lead to another thread at
// once, and waits at the stream's Parking.
//
// Thread-safety: as each function says.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <grpcpp/support/server_callback.h>

#include "channel/ring.h"
#include "host/call_inbox.h"
#include "host/call_interception.h"
#include "host/stream.h"

namespace drover::host {

class Call;
class Streams;

// What Streams needs of its worker. Functions that return bool return false if the lead was lost, unless they say else.
class StreamWorker {
 public:
  // ---- the leader
  virtual void push(uint32_t engine_thread, const Slot& slot) = 0;
  virtual bool complete(Call* call) = 0;
  virtual bool run_done(Call* call) = 0;
  virtual void recycle_if_over(Call* call) = 0;
  // Serves the slot that lead_while has left.
  virtual bool serve_deferred() = 0;
  // Around the application's code for that call; `begin` gives the phase for the other functions.
  virtual uint64_t begin_application(Call* call) = 0;
  virtual bool end_application(uint64_t phase) = 0;
  // Runs interceptors of that call by `run`, a function of CallInterception. Unless all have proceeded and the lead is
  // kept, the call goes on with `event`, which comes when they have: the caller leaves the call alone.
  Intercepted intercept(Call* call, CallEvent& event, CallEvent::Kind kind, const std::function<bool(Resume)>& run);

  // ---- a thread in the application's code
  // It has the lead still.
  virtual bool leads(uint64_t phase) const = 0;
  // It becomes the leader for a moment, between these two; false: it has lost the lead.
  virtual bool enter(uint64_t phase) = 0;
  virtual void leave(uint64_t phase) = 0;
  // Inside of that: leads until `ready`, or the deadline; false: something needs the application's code.
  virtual bool lead_while(const std::function<bool()>& ready, int64_t deadline_ns) = 0;
  virtual void ring_bells() = 0;
  // Gives the lead to another thread, if there is one and it has the lead.
  virtual void hand_over(uint64_t phase) = 0;
  virtual Streams& streams() = 0;

 protected:
  ~StreamWorker() = default;
};

class Streams {
 public:
  Streams(StreamWorker& worker, EngineLink& link) : worker_(worker), link_(link) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // ---- the leader. Functions that return bool return false if the lead was lost.
  // Gives the call a stream, before its handler starts.
  void attach(Call* call);
  bool start(Call* call);
  // The same behind its interceptors.
  bool run_handler(Call* call);
  bool after_handler(Call* call);
  // OnCancel, and the end of what waits.
  bool cancel(Call* call);
  bool reaction_returned(Call* call, CallEvent& event);
  bool looked_for(Call* call);
  // Behind COMPLETE, of a call with a reactor.
  bool after_complete(Call* call) { return settle(call); }
  // A leader has taken over from a thread that is stuck in this call's code.
  bool resume(Call* call);

  void arrive(Call* call, const RequestMessageSlot& slot);
  // tx_call has kMessageBit. False: no such message is with the engine.
  bool release(uint32_t tx_call);
  // Settles the streams that something has come for.
  bool serve(bool* worked);
  bool has_work() const { return !listed_.empty(); }
  // Some write waits for room in tx.
  bool waits_for_memory() const { return !waiting_for_memory_.empty(); }
  bool retry_memory(bool* worked);
  // Pushes what a synchronous handler has written, and says what it has read.
  void flush(Call* call);
  // The call is over: its stream goes back to the pool. False: messages are still with the engine.
  bool detach(Call* call);

  // ---- any thread
  static void ask(grpc::internal::StreamReactor& reactor, uint32_t what);

  // ---- a synchronous handler's threads
  // The leader learns of messages written or read.
  static void announce(Call* call);
  // The same of one message read; not at once while there are more.
  static void announce_read(Call* call);
  // Returns once `ready` does or `longest_ns` have passed (negative: no limit).
  static void wait(Call* call, const std::function<bool()>& ready, int64_t longest_ns);
  // Gives the lead to another thread, if this one has it: it is about to wait.
  static void give_up_lead(Call* call);
  static constexpr uint32_t kSilentReads = 8;
  // The status that the call ends in, whatever the handler returns.
  static grpc::Status failure_of(ReplyQueue::Put result);

  // In tx_call: a message of a stream, not a call.
  static constexpr uint32_t kMessageBit = uint32_t{1} << 31;

 private:
  template <typename Code>
  bool run(Call* call, Code&& code, CallEvent& event, CallEvent::Kind kind);
  bool react(Call* call, bool* running, CallEvent& event, void (*code)(grpc::internal::StreamReactor&, bool), bool ok);
  bool intercept(Call* call, bool* running, CallEvent& event, const std::function<bool(Resume)>& run);

  bool settle(Call* call);
  bool settle_metadata(Call* call, bool* moved);
  bool settle_read(Call* call, bool* moved);
  bool settle_write(Call* call, bool* moved);
  bool intercept_write(Call* call);
  bool do_write(Call* call, bool* ok);
  void take_asked(Call* call, bool from_event);
  void push_replies(Call* call);
  void push_consumed(Call* call);
  bool finish_sync(Call* call);
  void list(Call* call);

  StreamWorker& worker_;
  EngineLink& link_;
  std::vector<std::unique_ptr<Stream>> streams_;  // by index
  std::vector<Call*> calls_;                      // of each
  std::vector<Stream*> free_;
  std::deque<Call*> listed_;
  std::deque<Call*> waiting_for_memory_;
};

}  // namespace drover::host
