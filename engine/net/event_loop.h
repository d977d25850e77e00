// The event loop of one engine thread: sockets through an Io (epoll or io_uring), hosts through a Pollable (the
// dispatcher), and a mailbox for closures from other threads.
//
//   each turn:  Io::wait -> Io::dispatch -> dispatcher.poll -> flush of what became sendable -> Io::submit
//
// While the dispatcher has work, or had some within the bounded spin, the Io is polled without waiting. Otherwise the
// loop announces that it sleeps, sleeps until a socket, a doorbell, a closure or the next timer, and announces that it
// woke.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/metrics.h"
#include "engine/net/io.h"
#include "engine/net/pollable.h"
#include "object/unique_fd.h"

namespace drover::engine {

class EventLoop {
 public:
  struct Options {
    int64_t spin_ns = 100'000;  // how long to poll after the last piece of work before sleeping
    int cpu = -1;               // pin run()'s thread to this core; -1: do not
    std::string name;           // the thread's name (at most 15 bytes shown)
    IoKind io = IoKind::kAuto;
  };

  explicit EventLoop(Options options);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Any thread: runs `work` on the loop's thread, in order of posting. Work posted after the loop ended is dropped.
  void post(std::function<void()> work);
  // Any thread, also a signal handler's thread: ends run() after the current turn.
  void stop();

  // Loop's thread, or before run(). An Io of kUring that cannot be made is replaced by epoll, with a warning.
  Io& io() { return *io_; }

  // CLOCK_MONOTONIC, read at the start of the turn.
  int64_t now_ns() const { return now_ns_; }
  const int64_t* clock() const { return &now_ns_; }

  // Runs until stop(). `pollable` and `turn_end` may be null (tests).
  void run(Pollable* pollable, TurnEnd* turn_end, ThreadMetrics* metrics);
  // One turn; waits at most `max_wait_ns`. For tests and for run().
  void turn(Pollable* pollable, TurnEnd* turn_end, int64_t max_wait_ns);

 private:
  bool wait_for_events(Pollable* pollable, TurnEnd* turn_end, int64_t max_wait_ns);
  void run_mailbox();
  void pin_and_name_thread();

  const Options options_;
  // Woken by post() and stop().
  struct Wake final : FdHandler {
    void on_ready(uint32_t) override;
    UniqueFd fd;  // eventfd
  };
  struct Doorbell final : FdHandler {
    void on_ready(uint32_t) override { pollable->rung(); }
    Pollable* pollable = nullptr;
  };

  std::unique_ptr<Io> io_;
  Wake wake_;
  Doorbell doorbell_;
  int64_t now_ns_ = 0;
  int64_t last_work_ns_ = 0;
  int64_t spin_ns_;  // adapts between spin_ns / 16 and spin_ns: spins that find nothing shorten it
  bool more_ = false;
  bool doorbell_added_ = false;
  ThreadMetrics* metrics_ = nullptr;
  std::atomic<bool> stop_{false};
  std::atomic<bool> mail_waiting_{false};
  std::mutex mailbox_mutex_;
  std::vector<std::function<void()>> mailbox_;
  std::vector<std::function<void()>> mail_in_hand_;
};

}  // namespace drover::engine
