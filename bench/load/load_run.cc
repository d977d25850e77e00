// The event loop. Connections are looked after (lost ones replaced, hung calls counted) a few times a second.

#include "bench/load/load_run.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace drover::bench {
namespace {

constexpr size_t kReceiveSize = 1 << 20;
constexpr int kEventsATurn = 256;
constexpr int64_t kLookInterval = 100'000'000;
constexpr int64_t kRetryDelay = 20'000'000;
constexpr int64_t kConnectTimeout = 10'000'000'000;

int64_t to_ns(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

double thread_cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void announce(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

}  // namespace

LoadRun::LoadRun(const LoadPlan* plan, const LoadSchedule& schedule)
    : plan_(plan), schedule_(schedule), scratch_(kReceiveSize), retry_at_ns_(schedule.connections) {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
}

LoadRun::~LoadRun() {
  connections_.clear();
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

void LoadRun::run() {
  if (schedule_.requests > 0) tally_.calls_left = schedule_.requests;
  if (!connect_all()) return;
  if (schedule_.requests > 0) {
    begin_measuring();
    for (auto& connection : connections_) connection->on_event(0);
    while (!must_stop() && (tally_.calls_left > 0 || in_flight() > 0)) turn(INT64_MAX);
    end_measuring();
    return;
  }
  const int64_t begin = now_ns() + to_ns(schedule_.warmup_s);
  for (auto& connection : connections_) connection->on_event(0);
  while (!must_stop() && now_ns() < begin) turn(begin);
  begin_measuring();
  const int64_t end = begin_ns_ + to_ns(schedule_.duration_s);
  while (!must_stop() && now_ns() < end) turn(end);
  end_measuring();
  while (!must_stop() && in_flight() > 0) turn(INT64_MAX);
}

// True once every connection is open. Calls are held back until then, so that all begin together.
bool LoadRun::connect_all() {
  if (epoll_fd_ < 0) {
    ++tally_.failures[std::string("epoll_create1: ") + std::strerror(errno)];
    return false;
  }
  tally_.issuing = false;
  for (uint64_t i = 0; i < schedule_.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(plan_, &tally_, &scratch_));
    connections_.back()->start(epoll_fd_, i);
  }
  const int64_t give_up = now_ns() + kConnectTimeout;
  const auto all_open = [this] {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const auto& connection) { return connection->state() == Connection::State::kOpen; });
  };
  while (!all_open()) {
    if (must_stop()) return false;
    if (now_ns() >= give_up) {
      ++tally_.failures["connection: not open after 10 s"];
      return false;
    }
    turn(give_up);
  }
  tally_.issuing = true;
  return true;
}

void LoadRun::turn(int64_t until_ns) {
  int64_t now = now_ns();
  const int64_t wake = std::min(until_ns, std::max(now, next_look_ns_));
  const int timeout_ms = static_cast<int>(std::max<int64_t>(0, (wake - now + 999'999) / 1'000'000));
  epoll_event events[kEventsATurn];
  const int count = epoll_wait(epoll_fd_, events, kEventsATurn, timeout_ms);
  for (int i = 0; i < count; ++i) {
    Connection& connection = *connections_[events[i].data.u64];
    if (connection.state() != Connection::State::kClosed) connection.on_event(events[i].events);
  }
  now = now_ns();
  if (now >= next_look_ns_) {
    next_look_ns_ = now + kLookInterval;
    look_after_connections(now);
  }
}

void LoadRun::look_after_connections(int64_t now) {
  const int64_t oldest_allowed = now - to_ns(schedule_.call_timeout_s);
  for (size_t i = 0; i < connections_.size(); ++i) {
    Connection& connection = *connections_[i];
    if (connection.oldest_start() < oldest_allowed) connection.fail("a call hung");
    if (connection.state() != Connection::State::kClosed || !schedule_.tolerate_errors) continue;
    if (retry_at_ns_[i] == 0) retry_at_ns_[i] = now + kRetryDelay;
    if (now < retry_at_ns_[i]) continue;
    retry_at_ns_[i] = 0;
    connections_[i] = std::make_unique<Connection>(plan_, &tally_, &scratch_);
    connections_[i]->start(epoll_fd_, i);
  }
}

void LoadRun::begin_measuring() {
  begin_ns_ = now_ns();
  begin_cpu_s_ = thread_cpu_seconds();
  tally_.measuring = true;
  if (schedule_.announce) announce("begin");
}

void LoadRun::end_measuring() {
  tally_.measuring = false;
  tally_.issuing = false;
  measured_seconds_ = static_cast<double>(now_ns() - begin_ns_) * 1e-9;
  client_cpu_seconds_ = thread_cpu_seconds() - begin_cpu_s_;
  if (schedule_.announce) announce("end");
}

uint64_t LoadRun::in_flight() const {
  uint64_t calls = 0;
  for (const auto& connection : connections_) calls += connection->in_flight();
  return calls;
}

}  // namespace drover::bench
