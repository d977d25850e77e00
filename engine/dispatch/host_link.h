// HostAttachment: one attached host, shared by all engine threads. HostLink: one engine thread's side of it: a lane to
// each of its workers, the rx memory of those lanes, and the doorbells.
//
//   HostAttachment (immutable, shared)        region | layout | images | methods | listeners | bells
//     HostLink, engine thread 0               Lane 0 .. Lane workers-1 | ChunkPool over the thread's rx chunks
//     HostLink, engine thread 1               ...
//
// A lane costs a turn of the thread something only while it is *active*: its worker has calls that it has not completed
// or not finished, or connections of RPC lines, or it awaits slots or a bell. Any other lane has nothing to send; a
// slot there is a violation, which is looked for slowly. One turn looks at kLanesPerTurn lanes of a host at most, which
// take turns.
//
// What arrives from the host is hostile. A HostLink that finds something that no working host does *fails*: it
// takes and gives nothing more, `failure` says why, and the dispatcher detaches the host.
// Thread-safety: HostAttachment is read-only once shared; a HostLink belongs to its engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/chunk_pool.h"
#include "channel/control.h"
#include "channel/doorbell.h"
#include "channel/layout.h"
#include "channel/ring.h"
#include "engine/base/metrics.h"
#include "engine/dispatch/host_calls.h"
#include "engine/dispatch/lane_queue.h"
#include "engine/dispatch/long_answer.h"
#include "engine/dispatch/long_copy.h"
#include "engine/dispatch/reply_memory.h"
#include "engine/dispatch/rx_shares.h"
#include "engine/lines/line_lane.h"
#include "engine/lines/line_switch.h"
#include "engine/reflection/reflection_answer.h"
#include "object/region.h"
#include "object/unique_fd.h"
#include "schema/image_load.h"
#include "schema/message_type.h"

namespace drover::engine {

struct Route;
class RemoteLink;

struct HostMethod {
  HostMethod(std::string method_path, const schema::MessageType& request_type, const schema::MessageType& response_type,
             uint32_t method_flags = 0)
      : path(std::move(method_path)),
        request(request_type),
        response(response_type),
        flags(method_flags),
        plain((flags & kMethodRaw) == 0 && (request.entry().flags & schema::kMessageFlagRequiredBelow) == 0) {}

  std::string path;  // "/package.Service/Method"
  schema::MessageType request;
  schema::MessageType response;
  uint32_t flags;  // of MethodFlag
  bool plain;      // its requests are decoded, and have no required fields
};

struct HostAttachment {
  uint64_t id = 0;  // unique in this engine process
  std::string name;
  uint32_t seat = 0;  // tells hosts of one name apart
  uint64_t node = 0;  // BalanceRules::node of both
  int pid = 0;
  uint32_t user = 0;                   // its uid
  bool channelz = false;               // it asks for channelz at its listeners
  std::optional<Region> region;        // always there once shared
  std::optional<RegionLayout> layout;  // always there once shared; the engine's own, never read back
  std::vector<schema::OwnedImage> images;
  std::vector<HostMethod> methods;
  std::vector<uint32_t> listeners;
  std::vector<std::string> line_names;                 // that connections of RPC lines may be opened to
  std::shared_ptr<const ReflectionSource> reflection;  // of a host that asks for server reflection; else null
  std::vector<UniqueFd> bells;                         // eventfd, one an engine thread
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
    uint32_t open = 0;             // calls that it has not completed or not finished, and ends of connections
    bool active = false;           // in active_: it may send something
    bool ring_bell = false;        // in bells_: something was pushed that the worker must see now
    bool backlogged = false;       // in backlogs_
    bool releasing = false;        // in releasing_
    ReleaseSlot releases{};        // being collected
    uint64_t release_bytes = 0;    // covered by releases that the worker was not woken for
    int64_t release_since_ns = 0;  // when the first of them came; 0: none
    std::vector<Slot> backlog;     // slots that found the ring full, in order
    size_t backlog_done = 0;
    std::unique_ptr<LineLane<HostLink, RemoteLink>> lines;  // connections that end here; null until there is one
  };

  HostLink(std::shared_ptr<const HostAttachment> host, uint32_t engine_thread, ThreadMetrics& metrics);
  ~HostLink();
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  const HostAttachment& host() const { return *host_; }
  const Region& region() const { return *host_->region; }
  ChunkPool& rx() { return rx_; }
  // More than an eighth is in use: small requests count, too (RxShares).
  bool rx_is_scarce() const { return rx_.free_chunks() < rx_.total_chunks() - rx_.total_chunks() / 8; }
  uint32_t workers() const { return static_cast<uint32_t>(lanes_.size()); }
  Lane& lane(uint32_t worker) { return lanes_[worker]; }

  // True if one CALL can be pushed to that worker now.
  bool has_room(uint32_t worker);
  // Only after has_room.
  void push_call(uint32_t worker, const CallSlot& slot);
  void push_message(uint32_t worker, const RequestMessageSlot& slot) {
    push(worker, to_slot(slot));
    ring(worker);
  }
  // The worker completed a call; it has said, or will say, that it is finished with it.
  void call_completed(uint32_t worker);
  void call_finished(uint32_t worker) { --lanes_[worker].open; }
  void cancel(uint32_t worker, uint32_t call, uint32_t generation, CancelReason reason);
  // Gives the host's memory back soon: a RELEASE slot goes out when it has 14 entries, is old or covers many bytes.
  void release(uint32_t worker, uint32_t tx_call, uint64_t bytes, int64_t now_ns);
  // The same, at the end of the turn: the host may wait for it.
  void release_now(uint32_t worker, uint32_t tx_call, int64_t now_ns);
  // No new calls will come: tells every worker.
  void push_drain();

  // ---- connections of RPC lines, for LineSwitch
  std::unique_ptr<LineLane<HostLink, RemoteLink>>& lines(uint32_t worker) { return lanes_[worker].lines; }
  // False: the worker's ring is full, and nothing was done.
  bool push_line(uint32_t worker, const Slot& slot, uint64_t second_word);
  void push_close(uint32_t worker, const LineCloseSlot& slot);
  bool keeps_up(uint32_t worker) const { return lanes_[worker].backlog.empty(); }
  void connection_opened(uint32_t worker);
  void connection_closed(uint32_t worker);
  uint32_t connections = 0;     // ends of connections, also those that the host has not answered a LINE_CLOSE for
  uint32_t opened = 0;          // of them: ends of clients
  LineEndCursor next_line_end;  // once it is gone

  // Once a poll: pushes backlogs and old releases, rings doorbells, of kLanesPerTurn lanes each. True if it pushed or
  // rang anything.
  bool flush(int64_t now_ns);
  // When flush is due again; INT64_MAX: nothing is pending. A backlog waits for the worker and sets no time.
  int64_t next_flush_ns() const { return bells_.empty() ? next_flush_ns_ : 0; }

  // ---- responses
  static constexpr uint32_t kLanesPerTurn = 64;
  static constexpr uint32_t kNoLane = UINT32_MAX;
  // True if any lane may send something.
  bool active() const { return !active_.empty(); }
  // How many lanes one turn looks at, and the next of them in turn; kNoLane: its calls are over, it is active no more.
  uint32_t lanes_this_turn() const { return std::min(active_.size(), kLanesPerTurn); }
  uint32_t next_active();
  // Whether an active lane has a slot; looks at *left of them at most, which is counted down, and changes nothing.
  bool has_slot(uint32_t* left) const {
    for (uint32_t i = 0; i < active_.size() && *left != 0; ++i) {
      --*left;
      if (lanes_[active_[i]].responses.ready()) return true;
    }
    return false;
  }
  // A few of the idle lanes, in turn: a slot there breaks the channel.
  void look_at_idle_lanes(uint32_t lanes);

  // From now on until awake() the host rings when it sends.
  void announce_sleep() {
    if (announced_) return;
    announced_ = true;
    looked_at_ = 0;
    sleeper_.announce();
  }
  void awake() {
    if (announced_) sleeper_.awake();
    announced_ = false;
  }
  // Whether a lane had a response when it was looked at after announce_sleep. kLanesPerTurn are looked at in one call.
  enum class Look {
    kReady,
    kMore,   // none so far; go on with the others
    kQuiet,  // none
  };
  Look look_before_sleep();

  // Marks the link as broken; the first reason stays.
  void fail(const char* why) {
    if (failure_ == nullptr) failure_ = why;
  }
  const char* failure() const { return failure_; }  // a static string; null while all is well

  // ---- answers that are not done
  // A completion whose reply finds no room in the engine: tried again when `wanted_bytes` are free, refused at that
  // time.
  struct Postponed {
    CompleteSlot slot;
    size_t wanted_bytes;
    int64_t until_ns;
  };
  std::unique_ptr<LongAnswer> long_answer;  // being encoded, or null
  std::unique_ptr<LongCopy> long_copy;      // being copied, or null
  int64_t long_until_ns = 0;                // of a long answer that was postponed before; otherwise 0
  std::deque<Postponed> postponed;          // in order of until_ns; at most one for each call
  ReplyAccount* const replies;              // what its replies hold of the engine's memory
  bool has_long() const { return long_answer != nullptr || long_copy != nullptr; }
  bool has_put_off() const { return has_long() || !postponed.empty(); }
  // HostTurns: whether it may have sent something, or has answers that are not done; its time in hand.
  bool waits_for_service() const { return active() || has_put_off(); }
  int64_t credit_ns = 0;

  // ---- RouteChanges
  std::vector<Route*> routes;   // that it is a target of
  size_t listeners_served = 0;  // how many of its listeners know that it serves them
  bool leaving = false;         // it gets no new calls: it drains, failed or is gone

  // ---- what refers to this host or its memory
  HostCalls calls;
  HostCalls told;  // once it is gone: those of its calls that have been told
  RxShares rx_shares;
  uint32_t pins = 0;  // changes of routes, and functions that go on with it
  bool pinned() const { return !calls.empty() || !told.empty() || pins != 0 || connections != 0; }

  // For the dispatcher.
  uint32_t running = 0;  // calls that it has not completed
  uint64_t completed = 0;
  // Of those: ended otherwise than with the OK that the host gave; what was put off counts once it is over.
  uint64_t failed = 0;
  int64_t last_call_ns = 0;  // when it was last given one, as of that turn
  bool draining = false;     // the host was told that no new calls will come
  bool drain_reported = false;
  bool failure_reported = false;
  bool gone = false;  // detached; deleted when nothing pins it
  int64_t gone_since_ns = 0;
  int64_t told_again_ns = 0;  // once it is gone: when its calls are told again

  void update_metrics();

  static constexpr int64_t kReleaseDelayNs = 5'000'000;

 private:
  void push(uint32_t worker, const Slot& slot);
  void activate(Lane& lane, uint32_t worker);
  void push_releases(uint32_t worker);
  void ring(uint32_t worker);
  void flush_backlogs();
  bool flush_backlog(Lane& lane);
  void flush_releases(int64_t now_ns);
  void await_release(uint32_t worker, int64_t since_ns);

  std::shared_ptr<const HostAttachment> host_;
  std::vector<Lane> lanes_;
  LaneQueue active_;
  LaneQueue bells_;
  LaneQueue backlogs_;
  LaneQueue releasing_;
  uint32_t next_idle_ = 0;  // look_at_idle_lanes goes on there
  ChunkPool rx_;
  EngineSleeper sleeper_;
  bool announced_ = false;
  uint32_t looked_at_ = 0;  // lanes, since the announcement
  const uint64_t release_bytes_limit_;
  int64_t next_flush_ns_ = INT64_MAX;
  const char* failure_ = nullptr;
  ThreadMetrics& metrics_;
  Gauge* running_gauge_;
  Gauge* ring_depth_gauge_;
  Gauge* rx_used_gauge_;
  Gauge* rx_size_gauge_;
  Gauge* reply_bytes_gauge_;
};

// With engine/dispatch/remote_link.h, where its functions are called.
using HostLines = LineSwitch<HostLink, RemoteLink>;

}  // namespace drover::engine
