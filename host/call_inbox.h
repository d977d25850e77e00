// CallInbox: events about calls, from any thread to a worker's leader.
//
// Events form a stack that posters push with one exchange and the leader takes whole. A poster may find that its event
// has already ended the last call: `posting` counts threads inside post and request_cancel_scan, and the worker stays
// until that count is zero.
//
//   any thread:   post(event), request_cancel_scan()          the leader:   take(), take_scan()
//
// Thread-safety: any thread may call the functions in the first group, the leader alone those in the second.
#pragma once

#include <atomic>
#include <cstdint>

#include "channel/doorbell.h"
#include "channel/layout.h"

namespace drover::host {

class Call;

// Who serves the inbox if no leader sleeps at the doorbell.
class InboxOwner {
 public:
  // Serves what was posted, on this thread, unless another thread does so already.
  virtual void kick() = 0;

 protected:
  ~InboxOwner() = default;
};

// An event about a call, from another thread to the leader.
struct CallEvent {
  enum class Kind : uint8_t {
    kHandlerReturned,       // on a thread that had lost the lead
    kFinished,              // Finish was called
    kInitialMetadataAsked,  // StartSendInitialMetadata was called
    kReactionReturned,    // OnCancel or OnSendInitialMetadataDone, on a thread that had lost the lead; of a stream also
                          // interceptors that have proceeded later
    kDoneReturned,        // OnDone, on a thread that had lost the lead
    kMatched,             // the application has asked for this call
    kCallIntercepted,     // interceptors have seen a call before its handler: later, or on a thread without the lead
    kReceiveIntercepted,  // the same of a call that a completion queue waits for
    kHeadersIntercepted,  // the same of its initial metadata, in front of the answer
    kEndIntercepted,      // the same of its answer
    kCloseIntercepted,    // the same of its end
    kLookAsked,           // another thread than the leader has done something with the call's stream
  };
  CallEvent* next = nullptr;
  Call* call = nullptr;
  Kind kind = Kind::kHandlerReturned;
};

class CallInbox {
 public:
  // `shared` has the doorbell of the worker.
  explicit CallInbox(WorkerShared& shared) : shared_(shared) {}
  CallInbox(const CallInbox&) = delete;
  CallInbox& operator=(const CallInbox&) = delete;

  // From now on `owner` is told of events, in place of the leader that sleeps at the doorbell.
  void set_owner(InboxOwner* owner) { owner_.store(owner, std::memory_order_seq_cst); }

  // ---- any thread
  // Hands an event to the leader, and wakes the leader if it sleeps.
  void post(CallEvent& event);
  // The leader will look at all calls for cancelled ones.
  void request_cancel_scan() {
    hold();
    request_held_scan();
  }
  // The same in two steps: the worker stays from the first to the end of the second.
  void hold() { posting_.fetch_add(1, std::memory_order_relaxed); }
  void request_held_scan();

  // ---- the leader
  // All events posted so far, oldest first, linked by `next`; null: none.
  CallEvent* take();
  bool has_events() const { return events_.load(std::memory_order_relaxed) != nullptr; }
  bool scan_requested() const { return scan_.load(std::memory_order_relaxed); }
  // Forgets the request for a scan, and makes everything visible that was written before it.
  void begin_scan();
  // Something to do; seen no later than the wake-up that announces it.
  bool ready() const {
    return events_.load(std::memory_order_seq_cst) != nullptr || scan_.load(std::memory_order_seq_cst);
  }
  // A thread is inside post or request_cancel_scan.
  bool posting() const { return posting_.load(std::memory_order_acquire) != 0; }

 private:
  void announce();

  WorkerShared& shared_;
  std::atomic<InboxOwner*> owner_{nullptr};
  std::atomic<CallEvent*> events_{nullptr};
  std::atomic<bool> scan_{false};
  std::atomic<uint32_t> posting_{0};
};

}  // namespace drover::host
