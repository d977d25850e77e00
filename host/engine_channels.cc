#include "host/engine_channels.h"

namespace drover::host {

EngineChannels::EngineChannels(EngineLink& link, uint32_t worker)
    : link_(link), channels_(link.layout.options().engine_threads) {
  for (uint32_t e = 0; e < size(); ++e) {
    channels_[e].ends = HostChannel::open(link.region, link.layout, link.layout.channel(e, worker));
    const auto* engine_thread =
        reinterpret_cast<const EngineThreadShared*>(link.region.base() + link.layout.engine_thread_shared(e));
    channels_[e].bell = EngineBell(engine_thread, link.bells[e].get());
    monitor_bells_.emplace_back(engine_thread, link.bells[e].get());
  }
  cycles_per_us();  // measured now rather than in the first call
}

void EngineChannels::flush_backlogs() {
  backlogged_ = false;
  for (Channel& channel : channels_) {
    if (link_.gone.load(std::memory_order_relaxed)) channel.backlog.clear();
    while (!channel.backlog.empty() && channel.ends.responses.try_push(channel.backlog.front()) == PushResult::kOk) {
      channel.backlog.pop_front();
      channel.rung = false;
      unannounced_ = true;
    }
    backlogged_ = backlogged_ || !channel.backlog.empty();
  }
}

void EngineChannels::ring_all() {
  for (Channel& channel : channels_) {
    if (channel.rung) continue;
    channel.rung = true;
    channel.bell.ring();
  }
  unannounced_ = false;
}

void EngineChannels::ring_for_stuck_leader() {
  for (EngineBell& bell : monitor_bells_) bell.ring();
}

}  // namespace drover::host
