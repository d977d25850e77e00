#include "host/event_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "channel/doorbell.h"

namespace drover::host {
namespace {

// How long a thread that has the turn may be in the application's code until another one takes it.
constexpr int64_t kStandbyLookNs = 1'000'000;
// After so many looks at which nothing had changed, the thread that stands by waits to be woken.
constexpr int kQuietLooks = 20;

}  // namespace

EventQueue::~EventQueue() {
  for (auto& [at, alarm] : alarms_) {
    alarm->pending = false;
    alarm->queue = nullptr;
  }
}

EventQueue::Next EventQueue::next(void** tag, bool* ok, int64_t deadline_ns) {
  int quiet_looks = 0;
  for (;;) {
    int64_t until = deadline_ns;
    uint32_t seen_pokes = 0;
    TurnWork* work = work_.load(std::memory_order_acquire);
    bool turn = false;
    {
      std::lock_guard lock(mutex_);
      if (!alarms_.empty()) until = std::min(until, fire_alarms());
      if (take(tag, ok)) return Next::kEvent;
      if (over()) return Next::kShutdown;
      seen_pokes = pokes();
      turn = work != nullptr && !has_turn_ && work->take_turn();
      has_turn_ = has_turn_ || turn;
    }
    if (turn) {
      work->serve(*this, until, seen_pokes);
      {
        std::lock_guard lock(mutex_);
        has_turn_ = false;
      }
      work->end_turn();
      if (deadline_ns == kNoDeadline || ready() || monotonic_ns() < deadline_ns) continue;
      return Next::kTimeout;
    }
    if (deadline_ns != kNoDeadline && !ready() && monotonic_ns() >= deadline_ns) return Next::kTimeout;
    wait(until, seen_pokes, &quiet_looks);
  }
}

void EventQueue::wait(int64_t until_ns, uint32_t seen_pokes, int* quiet_looks) {
  TurnWork* work = work_.load(std::memory_order_acquire);
  bool standby = work != nullptr && work->begin_wait(*this);
  int64_t wake_at = until_ns;
  if (standby) {
    *quiet_looks = work->quiet() ? *quiet_looks + 1 : 0;
    if (*quiet_looks < kQuietLooks || !work->stand_by_deeply()) {
      wake_at = std::min(until_ns, monotonic_ns() + kStandbyLookNs);
    }
  }
  {
    std::unique_lock lock(mutex_);
    ++waiting_;
    auto woken = [&] { return !events_.empty() || over() || pokes() != seen_pokes; };
    if (wake_at == kNoDeadline) {
      wake_.wait(lock, woken);
    } else {
      wake_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(wake_at - monotonic_ns(), 0)), woken);
    }
    --waiting_;
  }
  if (work != nullptr) work->end_wait(*this, standby);
}

bool EventQueue::take(void** tag, bool* ok) {
  if (events_.empty()) return false;
  *tag = events_.front().tag;
  *ok = events_.front().ok;
  events_.pop_front();
  pending_.fetch_sub(1, std::memory_order_acq_rel);
  note_ready();
  if (over()) [[unlikely]]
    wake_all();
  return true;
}

void EventQueue::push(void* tag, bool ok) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    events_.push_back({tag, ok});
    ready_.store(true, std::memory_order_seq_cst);
    // The thread that has the turn takes the first one.
    wake = waiting_ > 0 && (!has_turn_ || events_.size() > 1);
    if (wake) wake_.notify_one();  // with the lock: the queue may be destroyed once its last event was taken
    wake_sleeper();
  }
}

void EventQueue::shutdown() {
  std::lock_guard lock(mutex_);
  shutdown_ = true;
  note_ready();
  wake_all();
}

void EventQueue::wake_all() {
  wake_.notify_all();
  wake_sleeper();
}

void EventQueue::wake_sleeper() {
  if (sleeps_.load(std::memory_order_seq_cst)) work_.load(std::memory_order_acquire)->wake();
}

void EventQueue::poke() {
  std::lock_guard lock(mutex_);
  pokes_.fetch_add(1, std::memory_order_seq_cst);
  wake_all();
}

void EventQueue::join(const std::shared_ptr<TurnWork>& work) {
  if (work_.load(std::memory_order_acquire) != nullptr) return;
  {
    std::lock_guard lock(mutex_);
    if (work_owner_ != nullptr) return;
    work_owner_ = work;
    work_.store(work_owner_.get(), std::memory_order_release);
  }
  poke();
}

// ---- alarms

void EventQueue::set_alarm(AlarmState& alarm, int64_t at_ns, void* tag) {
  begin();
  {
    std::lock_guard lock(mutex_);
    alarm.queue.store(this, std::memory_order_release);
    alarm.tag = tag;
    alarm.pending = true;
    alarm.place = alarms_.emplace(at_ns, &alarm);
    if (alarm.place != alarms_.begin()) return;
  }
  poke();  // threads in next() recompute how long they may sleep
}

void EventQueue::cancel_alarm(AlarmState& alarm) {
  void* tag;
  {
    std::lock_guard lock(mutex_);
    if (!alarm.pending) return;
    alarm.pending = false;
    tag = alarm.tag;
    alarms_.erase(alarm.place);
    alarm.queue.store(nullptr, std::memory_order_release);  // the last look at it: it may be freed now
  }
  push(tag, false);
}

// Moves those that are due to the events; when the next one is.
int64_t EventQueue::fire_alarms() {
  int64_t now = monotonic_ns();
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    AlarmState* alarm = alarms_.begin()->second;
    alarms_.erase(alarms_.begin());
    alarm->pending = false;
    events_.push_back({alarm->tag, true});
    alarm->queue.store(nullptr, std::memory_order_release);  // the last look at it: it may be freed now
    note_ready();
  }
  if (events_.size() > 1 && waiting_ > 0) wake_.notify_one();
  return alarms_.empty() ? kNoDeadline : alarms_.begin()->first;
}

}  // namespace drover::host
