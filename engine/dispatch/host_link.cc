// HostLink: pushing, releasing and ringing; see host_link.h.
#include "engine/dispatch/host_link.h"

#include <algorithm>
#include <new>

namespace drover::engine {
namespace {

std::vector<HostLink::Lane> open_lanes(const HostAttachment& host, uint32_t engine_thread) {
  const RegionLayout& layout = *host.layout;
  std::vector<HostLink::Lane> lanes(layout.options().workers);
  for (uint32_t worker = 0; worker < lanes.size(); ++worker) {
    uint32_t index = layout.channel(engine_thread, worker);
    EngineChannel channel = EngineChannel::open(*host.region, layout, index);
    char* base = host.region->base();
    HostLink::Lane& lane = lanes[worker];
    lane.requests = channel.requests;
    lane.responses = channel.responses;
    lane.taken = reinterpret_cast<const ConsumerPosition*>(base + layout.requests_position(index));
    lane.worker = reinterpret_cast<WorkerShared*>(base + layout.worker_shared(worker));
  }
  return lanes;
}

EngineThreadShared* shared_words(const HostAttachment& host, uint32_t engine_thread) {
  return reinterpret_cast<EngineThreadShared*>(host.region->base() + host.layout->engine_thread_shared(engine_thread));
}

ThreadMetrics::Labels labels_of(const HostAttachment& host) {
  return {{"host", host.name}, {"host_id", std::to_string(host.id)}, {"pid", std::to_string(host.pid)}};
}

}  // namespace

HostLink::HostLink(std::shared_ptr<const HostAttachment> host, uint32_t engine_thread, ThreadMetrics& metrics)
    : replies(new ReplyAccount),
      host_(std::move(host)),
      lanes_(open_lanes(*host_, engine_thread)),
      active_(workers()),
      bells_(workers()),
      backlogs_(workers()),
      releasing_(workers()),
      rx_(host_->layout->rx_chunks_of_thread(engine_thread)),
      sleeper_(shared_words(*host_, engine_thread)),
      release_bytes_limit_(host_->layout->options().tx_bytes / 16),
      metrics_(metrics),
      running_gauge_(metrics.gauge("drover_host_calls_in_flight", "Calls that a host has and has not completed",
                                   labels_of(*host_))),
      ring_depth_gauge_(metrics.gauge(
          "drover_ring_depth", "Request slots not known to be taken, of the host's fullest ring", labels_of(*host_))),
      rx_used_gauge_(metrics.gauge("drover_region_rx_used_bytes", "Request memory in use", labels_of(*host_))),
      rx_size_gauge_(metrics.gauge("drover_region_rx_bytes", "Request memory of the host", labels_of(*host_))),
      reply_bytes_gauge_(metrics.gauge("drover_host_reply_bytes",
                                       "Engine memory of the host's replies that their clients have not read",
                                       labels_of(*host_))) {
  update_metrics();
}

HostLink::~HostLink() {
  long_answer.reset();  // before what it is charged to
  ReplyMemory::end(replies);
  for (const Gauge* gauge : {running_gauge_, ring_depth_gauge_, rx_used_gauge_, rx_size_gauge_, reply_bytes_gauge_}) {
    metrics_.remove(gauge);
  }
}

bool HostLink::has_room(uint32_t worker) {
  Lane& lane = lanes_[worker];
  if (!lane.backlog.empty()) return false;
  if (lane.requests.room() != 0) [[likely]]
    return true;
  // A position beyond the last push means a broken host, not a full ring.
  if (lane.taken->position.load(std::memory_order_relaxed) > lane.requests.pushed()) {
    fail("it published a position in its requests ring that cannot be");
  }
  return false;
}

void HostLink::push(uint32_t worker, const Slot& slot) {
  Lane& lane = lanes_[worker];
  if (lane.backlog.empty()) {
    PushResult result = lane.requests.try_push(slot);
    if (result == PushResult::kOk) [[likely]]
      return;
    if (result == PushResult::kPeerInvalid) return fail("it published a position in its requests ring that cannot be");
  }
  // Bounded: cancels and releases come at most once for each call that the worker has been given, LINE_CLOSEs once for
  // each connection that was open when the ring became full.
  try {
    lane.backlog.push_back(slot);
  } catch (const std::bad_alloc&) {
    fail("there is no memory for what its full ring does not take");
    return;
  }
  if (lane.backlogged) return;
  lane.backlogged = true;
  backlogs_.push(worker);
}

void HostLink::ring(uint32_t worker) {
  Lane& lane = lanes_[worker];
  if (lane.ring_bell) return;
  lane.ring_bell = true;
  bells_.push(worker);
}

inline void HostLink::activate(Lane& lane, uint32_t worker) {
  if (lane.active) return;
  lane.active = true;
  active_.push(worker);
}

void HostLink::push_call(uint32_t worker, const CallSlot& slot) {
  Lane& lane = lanes_[worker];
  push(worker, to_slot(slot));
  ++lane.outstanding;
  ++lane.open;
  ++running;
  activate(lane, worker);
  ring(worker);
}

bool HostLink::push_line(uint32_t worker, const Slot& slot, uint64_t second_word) {
  Lane& lane = lanes_[worker];
  if (!lane.backlog.empty()) return false;
  PushResult result = lane.requests.try_push_with(slot, second_word);
  if (result == PushResult::kOk) [[likely]]
    return ring(worker), true;
  if (result == PushResult::kPeerInvalid) fail("it published a position in its requests ring that cannot be");
  return false;
}

void HostLink::push_close(uint32_t worker, const LineCloseSlot& slot) {
  push(worker, to_slot(slot));
  ring(worker);
}

void HostLink::connection_opened(uint32_t worker) {
  Lane& lane = lanes_[worker];
  ++lane.open;
  ++connections;
  activate(lane, worker);
}

void HostLink::connection_closed(uint32_t worker) {
  --lanes_[worker].open;
  --connections;
}

void HostLink::call_completed(uint32_t worker) {
  --lanes_[worker].outstanding;
  --running;
  ++completed;
}

void HostLink::cancel(uint32_t worker, uint32_t call, uint32_t generation, CancelReason reason) {
  CancelSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCancel);
  slot.call = call;
  slot.generation = generation;
  slot.reason = static_cast<uint8_t>(reason);
  push(worker, to_slot(slot));
  ring(worker);
}

void HostLink::push_releases(uint32_t worker) {
  Lane& lane = lanes_[worker];
  if (lane.releases.count == 0) return;
  lane.releases.type = static_cast<uint8_t>(RequestSlotType::kRelease);
  push(worker, to_slot(lane.releases));
  lane.releases = ReleaseSlot{};
}

void HostLink::release(uint32_t worker, uint32_t tx_call, uint64_t bytes, int64_t now_ns) {
  Lane& lane = lanes_[worker];
  lane.releases.tx_call[lane.releases.count++] = tx_call;
  if (lane.releases.count == kMaxReleases) push_releases(worker);
  lane.release_bytes += bytes;
  // A worker is not woken for a few released bytes: it reads its ring at the next call, or soon.
  if (lane.release_bytes >= release_bytes_limit_) {
    push_releases(worker);
    ring(worker);
  } else if (lane.release_since_ns == 0) {
    await_release(worker, now_ns);
  }
}

void HostLink::release_now(uint32_t worker, uint32_t tx_call, int64_t now_ns) {
  Lane& lane = lanes_[worker];
  lane.releases.tx_call[lane.releases.count++] = tx_call;
  if (lane.releases.count == kMaxReleases) push_releases(worker);
  await_release(worker, now_ns - kReleaseDelayNs);
}

void HostLink::await_release(uint32_t worker, int64_t since_ns) {
  Lane& lane = lanes_[worker];
  lane.release_since_ns = since_ns;
  next_flush_ns_ = std::min(next_flush_ns_, since_ns + kReleaseDelayNs);
  if (lane.releasing) return;
  lane.releasing = true;
  releasing_.push(worker);
}

void HostLink::push_drain() {
  Slot slot;
  slot.type = static_cast<uint8_t>(RequestSlotType::kDrain);
  for (uint32_t worker = 0; worker < workers(); ++worker) {
    push(worker, slot);
    ring(worker);
  }
}

bool HostLink::flush_backlog(Lane& lane) {
  bool moved = false;
  while (lane.backlog_done < lane.backlog.size()) {
    PushResult result = lane.requests.try_push(lane.backlog[lane.backlog_done]);
    if (result == PushResult::kPeerInvalid) fail("it published a position in its requests ring that cannot be");
    if (result != PushResult::kOk) return moved;
    ++lane.backlog_done;
    moved = true;
  }
  lane.backlog.clear();
  lane.backlog_done = 0;
  return moved;
}

void HostLink::flush_backlogs() {
  for (uint32_t left = std::min(backlogs_.size(), kLanesPerTurn); left != 0; --left) {
    uint32_t worker = backlogs_.pop();
    Lane& lane = lanes_[worker];
    if (flush_backlog(lane)) ring(worker);
    lane.backlogged = !lane.backlog.empty();
    if (lane.backlogged) backlogs_.push(worker);
  }
}

// The queue is in order of the times at which releases came, as of their lanes' entry: a lane that was rung meanwhile
// has a later time, and goes to the end.
void HostLink::flush_releases(int64_t now_ns) {
  // Those that are not looked at now are in the next turn.
  next_flush_ns_ = releasing_.size() > kLanesPerTurn ? now_ns : INT64_MAX;
  for (uint32_t left = std::min(releasing_.size(), kLanesPerTurn); left != 0; --left) {
    Lane& lane = lanes_[releasing_.front()];
    int64_t due = lane.release_since_ns + kReleaseDelayNs;
    uint32_t worker = releasing_.pop();
    if (lane.release_since_ns != 0 && now_ns >= due) {
      push_releases(worker);
      ring(worker);
      lane.release_since_ns = 0;
    }
    lane.releasing = lane.release_since_ns != 0;
    if (!lane.releasing) continue;
    releasing_.push(worker);
    next_flush_ns_ = std::min(next_flush_ns_, due);
  }
}

bool HostLink::flush(int64_t now_ns) {
  if (!backlogs_.empty()) [[unlikely]]
    flush_backlogs();
  if (now_ns >= next_flush_ns_) flush_releases(now_ns);
  if (bells_.empty()) return false;
  for (uint32_t left = std::min(bells_.size(), kLanesPerTurn); left != 0; --left) {
    uint32_t worker = bells_.pop();
    Lane& lane = lanes_[worker];
    lane.ring_bell = false;
    wake_worker(*lane.worker);
    // The worker sees all slots pushed before the bell; releases that are still being collected wait for their time.
    lane.release_bytes = 0;
    lane.release_since_ns = 0;
    if (lane.releases.count != 0) await_release(worker, now_ns);
  }
  return true;
}

uint32_t HostLink::next_active() {
  uint32_t worker = active_.pop();
  Lane& lane = lanes_[worker];
  lane.active = lane.open != 0;
  if (!lane.active) return kNoLane;
  active_.push(worker);
  return worker;
}

void HostLink::look_at_idle_lanes(uint32_t count) {
  for (count = std::min(count, workers()); count != 0; --count) {
    const Lane& lane = lanes_[next_idle_];
    next_idle_ = next_idle_ + 1 == workers() ? 0 : next_idle_ + 1;
    if (lane.open == 0 && lane.responses.ready())
      return fail("it sent a slot from a worker that has no call and no connection");
  }
}

// By number and not in turn, since lanes take turns meanwhile. A lane that became active after it was looked at has had
// its call after the announcement, so that its worker rings.
HostLink::Look HostLink::look_before_sleep() {
  if (active_.size() <= kLanesPerTurn) {
    for (uint32_t i = 0; i < active_.size(); ++i) {
      if (lanes_[active_[i]].responses.ready()) return Look::kReady;
    }
    return Look::kQuiet;
  }
  for (uint32_t left = kLanesPerTurn; left != 0 && looked_at_ != workers(); --left, ++looked_at_) {
    const Lane& lane = lanes_[looked_at_];
    if (lane.active && lane.responses.ready()) return Look::kReady;
  }
  return looked_at_ == workers() ? Look::kQuiet : Look::kMore;
}

// The depth is that of the fullest of the lanes that one turn looks at.
void HostLink::update_metrics() {
  uint64_t depth = 0;
  for (uint32_t i = 0; i < lanes_this_turn(); ++i) {
    Lane& lane = lanes_[active_[i]];
    lane.requests.room(lane.requests.capacity());  // reads the worker's position
    depth = std::max(depth, lane.requests.depth());
  }
  running_gauge_->set(running);
  reply_bytes_gauge_->set(static_cast<int64_t>(replies->bytes));
  ring_depth_gauge_->set(static_cast<int64_t>(depth));
  rx_size_gauge_->set(int64_t{rx_.total_chunks()} * static_cast<int64_t>(kChunkSize));
  rx_used_gauge_->set(int64_t{rx_.total_chunks() - rx_.free_chunks()} * static_cast<int64_t>(kChunkSize));
}

}  // namespace drover::engine
