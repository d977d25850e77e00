// LeadPhase: whether a Worker's leader is in the application's code, and whether it is the leader still.
//
//   leader:   begin() ; handler ... ; end()         true: still the leader
//   Crew:     take_over(the odd phase that it saw)  true: another thread leads from here on, and end() gives false
//
// The phase is odd while the application's code runs. On the hot path this costs one store and one exchange on a line
// that no other thread touches.
//
// Thread-safety: now() and take_over() from any thread, the others as they say.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "host/call_inbox.h"

namespace drover::host {

class LeadPhase {
 public:
  explicit LeadPhase(CallInbox& inbox) : inbox_(inbox) {}
  LeadPhase(const LeadPhase&) = delete;
  LeadPhase& operator=(const LeadPhase&) = delete;

  // ---- any thread
  uint64_t now() const { return phase_.load(std::memory_order_acquire); }
  // Takes the lead away from a thread that is still in the same piece of application code as when `odd` was read.
  bool take_over(uint64_t odd) { return phase_.compare_exchange_strong(odd, odd + 1, std::memory_order_acq_rel); }

  // ---- the leader, around the application's code; `begin` gives the phase for `end`
  uint64_t begin() {
    const uint64_t odd = phase_.load(std::memory_order_relaxed) + 1;
    phase_.store(odd, std::memory_order_release);
    return odd;
  }
  // False: the lead was lost.
  bool end(uint64_t odd) { return phase_.compare_exchange_strong(odd, odd + 1, std::memory_order_acq_rel); }
  // Runs the application's code; false: the lead was lost meanwhile, and `event` has been posted with `kind`.
  template <typename Code>
  bool run(Code&& code, CallEvent& event, CallEvent::Kind kind) {
    const uint64_t odd = begin();
    code();
    if (end(odd)) [[likely]]
      return true;
    event.kind = kind;
    inbox_.post(event);
    return false;
  }

  // ---- a thread in the application's code, which becomes the leader for a moment between these two
  // False: it has lost the lead.
  bool enter(uint64_t odd) { return end(odd); }
  void leave(uint64_t odd) { phase_.store(odd, std::memory_order_release); }

 private:
  CallInbox& inbox_;
  alignas(64) std::atomic<uint64_t> phase_{0};
};

}  // namespace drover::host
