// LanePort: a port on one of a host's workers (a *lane*): its rings to and from every engine thread. A connection's
// number says which thread carries it (channel/line.h).
//
//   try_push --responses ring of the line's thread--> engine      flush: rings the engine threads that sleep
//   try_pop <--requests rings, in turn-- engine                   idle: spins for a while, then sleeps on the worker's
//   futex
//
// A connection that its other end has closed shows as a LineCloseSlot among the lines, behind the last of them; the
// port has answered it then. When the engine is gone, each connection that was opened here shows as one.
//
// What the engine writes is checked: a slot that no engine sends ends the port (failure()).
//
// Thread-safety: one thread, the lane's. Lifetime: the memory, the eventfds and `gone` outlive the port.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "channel/doorbell.h"
#include "channel/layout.h"
#include "channel/line.h"
#include "channel/ring.h"
#include "host/lines/port.h"
#include "object/unique_fd.h"

namespace drover::lines {

class LanePort {
 public:
  // `gone`: set, and the worker woken, when the engine has gone.
  LanePort(const Region& region, const RegionLayout& layout, std::span<const UniqueFd> bells, uint32_t worker,
           const SpinPolicy::Options& spin, const std::atomic<bool>& gone)
      : gone_(gone), waiter_(reinterpret_cast<WorkerShared*>(region.base() + layout.worker_shared(worker)), spin) {
    for (uint32_t thread = 0; thread < layout.options().engine_threads; ++thread) {
      const auto* shared =
          reinterpret_cast<const EngineThreadShared*>(region.base() + layout.engine_thread_shared(thread));
      channels_.push_back({HostChannel::open(region, layout, layout.channel(thread, worker)),
                           EngineBell(shared, bells[thread].get()), false});
    }
  }

  // ---- Port
  bool try_push(const Slot& line) {
    Channel& channel = channel_of(line_view(line).connection);
    if (channel.ends.responses.try_push(line) != PushResult::kOk) [[unlikely]]
      return behind_ = true, false;
    return channel.unrung = true;
  }
  // The engine drops a response that finds the ring full, as it knows it: a consumer tells its position a quarter of
  // the ring late. One less than fits then, since a DRAIN may lie between the lines.
  uint32_t lines_kept() const {
    const uint32_t slots = channels_.front().ends.requests.capacity();
    return slots - slots / 4;
  }
  // On every thread: a client does not say which its lines are for.
  bool has_room(uint32_t count) {
    for (Channel& channel : channels_) {
      if (channel.ends.responses.room(count) < count) [[unlikely]]
        return behind_ = true, false;
    }
    return true;
  }
  bool try_pop(Slot& taken) {
    if (!answers_.empty() && !push_answers()) [[unlikely]]
      return false;
    for (size_t looks = channels_.size(); looks != 0; --looks) {
      Channel& channel = channels_[next_];
      if (channel.ends.requests.try_pop(taken)) {
        if (taken.type == kLineType && closing_.empty()) [[likely]]
          return true;
        return take_other(taken);
      }
      next_ = next_ + 1 == channels_.size() ? 0 : next_ + 1;
    }
    return gone_.load(std::memory_order_relaxed) && take_gone(taken);
  }
  void flush() {
    for (Channel& channel : channels_) {
      if (!channel.unrung) continue;
      channel.unrung = false;
      channel.bell.ring();
    }
  }
  // At most kLongestIdleNs, so that time-outs are noticed; while there was no room, kRetryNs.
  void idle() {
    flush();
    bool behind = behind_ || !answers_.empty();
    behind_ = false;
    waiter_.wait([this] { return anything(); }, monotonic_ns() + (behind ? kRetryNs : kLongestIdleNs));
  }
  int64_t now_ns() const { return monotonic_ns(); }

  // ---- connections
  // The engine has opened a connection for a client here.
  void opened(uint16_t connection) { open_.push_back(connection); }
  // No line of it will be pushed again; those that still come are dropped. False: no room now, try again later.
  bool close(uint16_t connection) {
    auto at = std::find(open_.begin(), open_.end(), connection);
    if (at == open_.end()) return true;
    if (!try_push(to_slot(line_close(connection)))) return false;
    open_.erase(at);
    closing_.push_back(connection);
    flush();
    return true;
  }

  bool gone() const { return gone_.load(std::memory_order_acquire); }
  // What the engine sent that no engine sends: a static string, or null.
  const char* failure() const { return failure_; }
  uint64_t sleeps() const { return waiter_.sleeps(); }  // system calls made to sleep

  static constexpr int64_t kLongestIdleNs = 10'000'000;
  static constexpr int64_t kRetryNs = 100'000;

 private:
  struct Channel {
    HostChannel ends;
    EngineBell bell;
    bool unrung;  // something was pushed that no bell has been rung for
  };

  Channel& channel_of(uint16_t connection) {
    return channels_[connection_thread(connection, static_cast<uint32_t>(channels_.size()))];
  }
  bool anything() const {
    for (const Channel& channel : channels_) {
      if (channel.ends.requests.ready()) return true;
    }
    return gone_.load(std::memory_order_relaxed);
  }

  // A slot that is no line, or comes while a connection is being closed. True: the caller takes it.
  bool take_other(Slot& slot) {
    const uint16_t connection = line_view(slot).connection;
    auto closing = std::find(closing_.begin(), closing_.end(), connection);
    if (slot.type == kLineType) return closing == closing_.end();
    if (slot.type == static_cast<uint8_t>(RequestSlotType::kDrain)) return false;  // connections go on
    if (slot.type != kLineCloseType) {
      if (failure_ == nullptr) failure_ = "the engine sent a slot of an unknown type";
      return false;
    }
    if (closing != closing_.end()) {
      closing_.erase(closing);
      return false;  // who closed it knows, and the number may be another connection's already
    }
    std::erase(open_, connection);
    answers_.push_back(connection);
    push_answers();
    return true;
  }
  // In order with the lines: behind all responses to what came before.
  bool push_answers() {
    while (!answers_.empty()) {
      if (!try_push(to_slot(line_close(answers_.back())))) return false;
      answers_.pop_back();
    }
    flush();
    return true;
  }
  bool take_gone(Slot& slot) {
    if (open_.empty()) return false;
    slot = to_slot(line_close(open_.back()));
    open_.pop_back();
    return true;
  }

  const std::atomic<bool>& gone_;
  WorkerWaiter waiter_;
  std::vector<Channel> channels_;
  size_t next_ = 0;      // the channel whose turn it is
  bool behind_ = false;  // there was no room lately
  const char* failure_ = nullptr;
  std::vector<uint16_t> open_;     // clients' connections
  std::vector<uint16_t> closing_;  // closed here, and not yet by the engine
  std::vector<uint16_t> answers_;  // closed by the engine, and not yet answered
};
static_assert(Port<LanePort>);

}  // namespace drover::lines
