// HostAttachment: one attached host, shared by all engine threads. HostLink: one engine thread's side of it: a lane to
// each of its workers, the rx memory of those lanes, and the doorbells.
//
//   HostAttachment (immutable, shared)        region | layout | images | methods | listeners | bells
//     HostLink, engine thread 0               Lane 0 .. Lane workers-1 | ChunkPool over the thread's rx chunks
//     HostLink, engine thread 1               ...
//
// What arrives from the host is hostile. A HostLink that finds something that no working host does *fails*: it
// takes and gives nothing more, `failure` says why, and the dispatcher detaches the host.
// Thread-safety: HostAttachment is read-only once shared; a HostLink belongs to its engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "channel/chunk_pool.h"
#include "channel/doorbell.h"
#include "channel/layout.h"
#include "channel/ring.h"
#include "engine/base/metrics.h"
#include "object/region.h"
#include "object/unique_fd.h"
#include "schema/image_load.h"
#include "schema/message_type.h"

namespace drover::engine {

struct HostMethod {
  std::string path;  // "/package.Service/Method"
  schema::MessageType request;
  schema::MessageType response;
};

struct HostAttachment {
  uint64_t id = 0;  // unique in this engine process
  std::string name;
  int pid = 0;
  std::optional<Region> region;        // always there once shared
  std::optional<RegionLayout> layout;  // always there once shared; the engine's own, never read back
  std::vector<schema::OwnedImage> images;
  std::vector<HostMethod> methods;
  std::vector<uint32_t> listeners;
  std::vector<UniqueFd> bells;  // eventfd, one an engine thread
};

class HostLink {
 public:
  // The engine thread's state for one worker.
  struct Lane {
    RingProducer requests;
    RingConsumer responses;
    const ConsumerPosition* taken = nullptr;  // of requests, in tx
    WorkerShared* worker = nullptr;
    uint32_t outstanding = 0;      // calls that the worker has not completed
    bool ring_bell = false;        // something was pushed that the worker must see now
    ReleaseSlot releases{};        // being collected
    uint64_t release_bytes = 0;    // covered by releases that the worker was not woken for
    int64_t release_since_ns = 0;  // when the first of them came; 0: none
    std::vector<Slot> backlog;     // slots that found the ring full, in order
    size_t backlog_done = 0;
  };

  HostLink(std::shared_ptr<const HostAttachment> host, uint32_t engine_thread, ThreadMetrics& metrics);
  ~HostLink();
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  const HostAttachment& host() const { return *host_; }
  const Region& region() const { return *host_->region; }
  ChunkPool& rx() { return rx_; }
  uint32_t workers() const { return static_cast<uint32_t>(lanes_.size()); }
  Lane& lane(uint32_t worker) { return lanes_[worker]; }

  // True if one CALL can be pushed to that worker now.
  bool has_room(uint32_t worker);
  // Only after has_room.
  void push_call(uint32_t worker, const CallSlot& slot);
  void cancel(uint32_t worker, uint32_t call, uint32_t generation, CancelReason reason);
  // Gives the host's memory back soon: a RELEASE slot goes out when it has 14 entries, is old or covers many bytes.
  void release(uint32_t worker, uint32_t tx_call, uint64_t bytes, int64_t now_ns);
  // No new calls will come: tells every worker.
  void push_drain();
  // Once a poll: pushes the backlog and old releases, rings doorbells. True if it pushed or rang anything.
  bool flush(int64_t now_ns);
  // When flush is due because of a release; INT64_MAX: no release is pending.
  int64_t next_flush_ns() const { return next_flush_ns_; }

  void announce_sleep() { sleeper_.announce(); }
  void awake() { sleeper_.awake(); }
  bool any_response_ready() const;

  // Marks the link as broken; the first reason stays.
  void fail(const char* why) {
    if (failure_ == nullptr) failure_ = why;
  }
  const char* failure() const { return failure_; }  // a static string; null while all is well

  // For the dispatcher.
  uint32_t pins = 0;     // calls that use this host or its memory
  uint32_t running = 0;  // calls that it has not completed
  uint64_t completed = 0;
  bool draining = false;  // no new calls
  bool drain_reported = false;
  bool failure_reported = false;
  bool gone = false;  // detached; deleted when pins reaches 0
  int64_t gone_since_ns = 0;

  void update_metrics();

  static constexpr int64_t kReleaseDelayNs = 5'000'000;

 private:
  void push(Lane& lane, const Slot& slot);
  void push_releases(Lane& lane);
  bool flush_backlog(Lane& lane);

  std::shared_ptr<const HostAttachment> host_;
  std::vector<Lane> lanes_;
  ChunkPool rx_;
  EngineSleeper sleeper_;
  const uint64_t release_bytes_limit_;
  int64_t next_flush_ns_ = INT64_MAX;
  const char* failure_ = nullptr;
  ThreadMetrics& metrics_;
  Gauge* running_gauge_;
  Gauge* ring_depth_gauge_;
  Gauge* rx_used_gauge_;
  Gauge* rx_size_gauge_;
};

}  // namespace drover::engine
