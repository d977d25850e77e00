// EngineChannels: a worker's rings, one pair for each engine thread, and the doorbells of those threads.
//
// Engine threads are rung once a round of slots, and within a round as soon as the first unannounced answer is older
// than kBellDelayUs because a handler took long. For a leader whose handler blocks, the Crew's monitor rings.
//
// Thread-safety: the leader, but for ring_for_stuck_leader().
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "channel/doorbell.h"
#include "channel/ring.h"
#include "host/cycle_clock.h"
#include "host/engine_link.h"

namespace drover::host {

class EngineChannels {
 public:
  static constexpr uint64_t kBellDelayUs = 50;

  // The link outlives it.
  EngineChannels(EngineLink& link, uint32_t worker);
  EngineChannels(const EngineChannels&) = delete;
  EngineChannels& operator=(const EngineChannels&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(channels_.size()); }
  bool try_pop(uint32_t engine_thread, Slot& slot) { return channels_[engine_thread].ends.requests.try_pop(slot); }
  bool anything_to_pop() const {
    for (const Channel& channel : channels_) {
      if (channel.ends.requests.ready()) return true;
    }
    return false;
  }

  void push(uint32_t engine_thread, const Slot& slot) {
    Channel& channel = channels_[engine_thread];
    if (!unannounced_) {
      unannounced_ = true;
      unannounced_since_ = cycle_now();
    } else if (cycle_now() - unannounced_since_ > kBellDelayUs * cycles_per_us()) {
      ring_bells();
      unannounced_ = true;
      unannounced_since_ = cycle_now();
    }
    channel.rung = false;
    if (channel.backlog.empty()) [[likely]] {
      PushResult result = channel.ends.responses.try_push(slot);
      if (result == PushResult::kOk) [[likely]]
        return;
      if (result == PushResult::kPeerInvalid) return link_.report_broken("a ring position that cannot be");
    }
    channel.backlog.push_back(slot);
    backlogged_ = true;
  }
  // Some ring was full.
  bool backlogged() const { return backlogged_; }
  void flush_backlogs();
  void ring_bells() {
    if (unannounced_) ring_all();
  }

  // One thread at a time: the Crew's monitor. Rings for what a leader has pushed, but not announced before its handler
  // blocked.
  void ring_for_stuck_leader();

 private:
  struct Channel {
    HostChannel ends;
    EngineBell bell;
    bool rung = true;          // false: an answer was pushed without ringing
    std::deque<Slot> backlog;  // answers that found the ring full
  };

  void ring_all();

  EngineLink& link_;
  std::vector<Channel> channels_;
  uint64_t unannounced_since_ = 0;  // cycles, of the first answer that no bell has been rung for
  bool unannounced_ = false;
  bool backlogged_ = false;
  std::vector<EngineBell> monitor_bells_;
};

}  // namespace drover::host
