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
  return {{"host", host.name}, {"host_id", std::to_string(host.id)}};
}

}  // namespace

HostLink::HostLink(std::shared_ptr<const HostAttachment> host, uint32_t engine_thread, ThreadMetrics& metrics)
    : host_(std::move(host)),
      lanes_(open_lanes(*host_, engine_thread)),
      rx_(host_->layout->rx_chunks_of_thread(engine_thread)),
      sleeper_(shared_words(*host_, engine_thread)),
      release_bytes_limit_(host_->layout->options().tx_bytes / 16),
      metrics_(metrics),
      running_gauge_(metrics.gauge("drover_host_calls_in_flight", "Calls that a host has and has not completed",
                                   labels_of(*host_))),
      ring_depth_gauge_(metrics.gauge(
          "drover_ring_depth", "Request slots not known to be taken, of the host's fullest ring", labels_of(*host_))),
      rx_used_gauge_(metrics.gauge("drover_region_rx_used_bytes", "Request memory in use", labels_of(*host_))),
      rx_size_gauge_(metrics.gauge("drover_region_rx_bytes", "Request memory of the host", labels_of(*host_))) {
  update_metrics();
}

HostLink::~HostLink() {
  for (const Gauge* gauge : {running_gauge_, ring_depth_gauge_, rx_used_gauge_, rx_size_gauge_}) {
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

void HostLink::push(Lane& lane, const Slot& slot) {
  if (lane.backlog.empty()) {
    PushResult result = lane.requests.try_push(slot);
    if (result == PushResult::kOk) [[likely]]
      return;
    if (result == PushResult::kPeerInvalid) return fail("it published a position in its requests ring that cannot be");
  }
  // Bounded: cancels and releases come at most once for each call that the worker has been given.
  try {
    lane.backlog.push_back(slot);
  } catch (const std::bad_alloc&) {
    fail("there is no memory for what its full ring does not take");
  }
}

void HostLink::push_call(uint32_t worker, const CallSlot& slot) {
  Lane& lane = lanes_[worker];
  push(lane, to_slot(slot));
  ++lane.outstanding;
  ++running;
  lane.ring_bell = true;
}

void HostLink::cancel(uint32_t worker, uint32_t call, uint32_t generation, CancelReason reason) {
  CancelSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCancel);
  slot.call = call;
  slot.generation = generation;
  slot.reason = static_cast<uint8_t>(reason);
  Lane& lane = lanes_[worker];
  push(lane, to_slot(slot));
  lane.ring_bell = true;
}

void HostLink::push_releases(Lane& lane) {
  if (lane.releases.count == 0) return;
  lane.releases.type = static_cast<uint8_t>(RequestSlotType::kRelease);
  push(lane, to_slot(lane.releases));
  lane.releases = ReleaseSlot{};
}

void HostLink::release(uint32_t worker, uint32_t tx_call, uint64_t bytes, int64_t now_ns) {
  Lane& lane = lanes_[worker];
  lane.releases.tx_call[lane.releases.count++] = tx_call;
  if (lane.releases.count == kMaxReleases) push_releases(lane);
  lane.release_bytes += bytes;
  // A worker is not woken for a few released bytes: it reads its ring at the next call, or soon.
  if (lane.release_bytes >= release_bytes_limit_) {
    push_releases(lane);
    lane.ring_bell = true;
  } else if (lane.release_since_ns == 0) {
    lane.release_since_ns = now_ns;
    next_flush_ns_ = std::min(next_flush_ns_, now_ns + kReleaseDelayNs);
  }
}

void HostLink::push_drain() {
  Slot slot;
  slot.type = static_cast<uint8_t>(RequestSlotType::kDrain);
  for (Lane& lane : lanes_) {
    push(lane, slot);
    lane.ring_bell = true;
  }
}

bool HostLink::flush_backlog(Lane& lane) {
  bool moved = false;
  while (lane.backlog_done < lane.backlog.size()) {
    PushResult result = lane.requests.try_push(lane.backlog[lane.backlog_done]);
    if (result == PushResult::kPeerInvalid) fail("it published a position in its requests ring that cannot be");
    if (result != PushResult::kOk) return moved;
    ++lane.backlog_done;
    moved = lane.ring_bell = true;
  }
  lane.backlog.clear();
  lane.backlog_done = 0;
  return moved;
}

bool HostLink::flush(int64_t now_ns) {
  bool did = false;
  bool releases_due = now_ns >= next_flush_ns_;
  if (releases_due) next_flush_ns_ = INT64_MAX;
  for (Lane& lane : lanes_) {
    if (!lane.backlog.empty()) [[unlikely]]
      did |= flush_backlog(lane);
    if (releases_due && lane.release_since_ns != 0) {
      if (now_ns - lane.release_since_ns >= kReleaseDelayNs) {
        push_releases(lane);
        lane.ring_bell = true;
      } else {
        next_flush_ns_ = std::min(next_flush_ns_, lane.release_since_ns + kReleaseDelayNs);
      }
    }
    if (!lane.ring_bell) continue;
    lane.ring_bell = false;
    wake_worker(*lane.worker);
    did = true;
    // The worker sees all slots pushed before the bell; releases that are still being collected wait for their time.
    lane.release_bytes = 0;
    lane.release_since_ns = lane.releases.count != 0 ? now_ns : 0;
    if (lane.release_since_ns != 0) next_flush_ns_ = std::min(next_flush_ns_, now_ns + kReleaseDelayNs);
  }
  return did;
}

bool HostLink::any_response_ready() const {
  for (const Lane& lane : lanes_) {
    if (lane.responses.ready()) return true;
  }
  return false;
}

void HostLink::update_metrics() {
  uint64_t depth = 0;
  for (Lane& lane : lanes_) {
    lane.requests.room(lane.requests.capacity());  // reads the worker's position
    depth = std::max(depth, lane.requests.depth());
  }
  running_gauge_->set(running);
  ring_depth_gauge_->set(static_cast<int64_t>(depth));
  rx_size_gauge_->set(int64_t{rx_.total_chunks()} * static_cast<int64_t>(kChunkSize));
  rx_used_gauge_->set(int64_t{rx_.total_chunks() - rx_.free_chunks()} * static_cast<int64_t>(kChunkSize));
}

}  // namespace drover::engine
