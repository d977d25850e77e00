#include "host/call_inbox.h"

#include <utility>

namespace drover::host {

// As soon as the event is in the inbox the leader may complete the last call and be done. Lowering posting_ is the
// poster's last access.
void CallInbox::post(CallEvent& event) {
  posting_.fetch_add(1, std::memory_order_relaxed);
  CallEvent* first = events_.load(std::memory_order_relaxed);
  do {
    event.next = first;
  } while (!events_.compare_exchange_weak(first, &event, std::memory_order_seq_cst, std::memory_order_relaxed));
  // The poster of the first event has rung already: the leader does not sleep while the inbox holds an event.
  if (first == nullptr) announce();
  posting_.fetch_sub(1, std::memory_order_release);
}

void CallInbox::announce() {
  if (InboxOwner* owner = owner_.load(std::memory_order_seq_cst)) [[unlikely]]
    return owner->kick();
  wake_worker(shared_);
}

void CallInbox::request_held_scan() {
  scan_.store(true, std::memory_order_seq_cst);
  wake_worker_always(shared_);  // what ends calls does not depend on a word that the engine may write
  if (InboxOwner* owner = owner_.load(std::memory_order_seq_cst)) owner->kick();
  posting_.fetch_sub(1, std::memory_order_release);
}

CallEvent* CallInbox::take() {
  CallEvent* taken = events_.exchange(nullptr, std::memory_order_acquire);
  CallEvent* in_order = nullptr;
  while (taken != nullptr) in_order = std::exchange(taken, std::exchange(taken->next, in_order));
  return in_order;
}

void CallInbox::begin_scan() {
  scan_.store(false, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace drover::host
