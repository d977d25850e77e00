#include "engine/net/event_loop.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "engine/base/log.h"

namespace drover::engine {

namespace {

log::Limit g_memory_limit;

constexpr int64_t kLongestSleepNs = 60'000'000'000;

// What asks for memory that is not there fails; the thread goes on.
template <typename Work>
bool without_fail(Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    log::error(g_memory_limit, "an engine thread has no memory for a piece of its work");
    return true;
  }
}

void drain_eventfd(int fd) {
  uint64_t count;
  while (::read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

std::unique_ptr<Io> make_io_or_epoll(IoKind kind) {
  std::string why;
  if (std::unique_ptr<Io> io = make_io(kind, &why)) return io;
  log::warn("no io_uring for this engine thread: it uses epoll", {{"why", why}});
  return make_epoll_io();
}

}  // namespace

EventLoop::EventLoop(Options options)
    : options_(std::move(options)),
      io_(make_io_or_epoll(options_.io)),
      now_ns_(monotonic_ns()),
      last_work_ns_(now_ns_),
      spin_ns_(options_.spin_ns) {
  wake_.fd = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  io_->add(wake_.fd.get(), EPOLLIN, &wake_);
}

void EventLoop::Wake::on_ready(uint32_t) { drain_eventfd(fd.get()); }

void EventLoop::post(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> lock(mailbox_mutex_);
    mailbox_.push_back(std::move(work));
  }
  mail_waiting_.store(true, std::memory_order_release);
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(wake_.fd.get(), &one, sizeof(one));
}

void EventLoop::stop() {
  stop_.store(true, std::memory_order_release);
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(wake_.fd.get(), &one, sizeof(one));
}

void EventLoop::run(Pollable* pollable, TurnEnd* turn_end, ThreadMetrics* metrics) {
  metrics_ = metrics;
  pin_and_name_thread();
  while (!stop_.load(std::memory_order_acquire)) turn(pollable, turn_end, kLongestSleepNs);
  metrics_ = nullptr;
}

void EventLoop::turn(Pollable* pollable, TurnEnd* turn_end, int64_t max_wait_ns) {
  if (pollable && !doorbell_added_) {
    // Each ring is an edge; the descriptor is never read.
    doorbell_.pollable = pollable;
    doorbell_added_ = io_->add(pollable->wake_fd(), EPOLLIN | EPOLLET, &doorbell_);
  }
  bool worked = wait_for_events(pollable, turn_end, max_wait_ns);
  if (mail_waiting_.load(std::memory_order_acquire)) {
    run_mailbox();
    worked = true;
  }
  if (pollable) worked |= without_fail([&] { return pollable->poll(now_ns_); });
  more_ = turn_end && turn_end->end_turn(now_ns_);
  if (worked) last_work_ns_ = now_ns_;
  if (metrics_) metrics_->loop_iterations->add();
}

// Waits, and calls the handlers. True if a descriptor was ready.
bool EventLoop::wait_for_events(Pollable* pollable, TurnEnd* turn_end, int64_t max_wait_ns) {
  bool slept = false;
  int64_t wait_ns = 0;
  if (!more_ && now_ns_ - last_work_ns_ >= spin_ns_ && !mail_waiting_.load(std::memory_order_acquire)) {
    int64_t next =
        std::min(pollable ? pollable->next_timer_ns() : kNoDeadline, turn_end ? turn_end->next_turn_ns() : kNoDeadline);
    int64_t now = monotonic_ns();
    wait_ns = next == kNoDeadline ? max_wait_ns : std::clamp<int64_t>(next - now, 0, max_wait_ns);
    if (wait_ns > 0) {
      slept = true;
      if (pollable && pollable->prepare_to_sleep()) wait_ns = 0;
      if (metrics_ && wait_ns > 0) metrics_->loop_sleeps->add();
    }
  }

  const size_t count = io_->wait(wait_ns);
  if (slept && pollable) pollable->woke_up();
  int64_t before = now_ns_;
  now_ns_ = monotonic_ns();
  if (slept) {
    // Work that comes soon after the loop slept could have been found by spinning; work that comes late could not.
    bool soon = count > 0 && now_ns_ - before < options_.spin_ns;
    spin_ns_ = soon ? std::min(options_.spin_ns, spin_ns_ * 2 + 1) : std::max(options_.spin_ns / 16, spin_ns_ / 2);
  }
  io_->dispatch();
  return count > 0;
}

void EventLoop::run_mailbox() {
  {
    std::lock_guard<std::mutex> lock(mailbox_mutex_);
    mail_in_hand_.swap(mailbox_);
    mail_waiting_.store(false, std::memory_order_relaxed);
  }
  for (std::function<void()>& work : mail_in_hand_) {
    without_fail([&] { return work(), true; });
  }
  mail_in_hand_.clear();
}

void EventLoop::pin_and_name_thread() {
  if (!options_.name.empty()) pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
  if (options_.cpu < 0) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(options_.cpu), &cpus);
  if (::sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {  // 0, this thread: the sandbox allows no other number
    log::warn("cannot pin engine thread", {{"cpu", options_.cpu}, {"why", std::strerror(errno)}});
  }
}

}  // namespace drover::engine
