// Hosts: how hosts come to one engine thread, drain, fail and go, and what that means for routes and calls.
//
//   attach --> methods are taken in, 256 a turn --> host_attached --> drain --> its last call ends --> host_drained
//     '----------------- failed: host_failed ------------'---> detach --> nothing refers to it --> host_let_go
//
// The calls of a host that is gone are told so, 256 a turn: running ones end in UNAVAILABLE. Answers that refer to its
// memory are cut off after five seconds. Its connections of RPC lines are closed, 256 a turn.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/metrics.h"
#include "engine/base/status.h"
#include "engine/dispatch/calls.h"
#include "engine/dispatch/host_events.h"
#include "engine/dispatch/host_link.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/route_changes.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

class Hosts {
 public:
  static constexpr uint32_t kToldPerTurn = 256;    // calls that are told that their host is gone
  static constexpr uint32_t kClosedPerTurn = 256;  // ends of connections, of hosts that are gone

  // All of them outlive it; `events` and `rules` may be null.
  Hosts(uint32_t thread, HostLinks& links, RouteTable& routes, Calls& calls, HostLines& lines, ThreadMetrics& metrics,
        HostEvents* events, const BalanceRules* rules);
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  // ---- as Dispatcher has them
  void expect(uint32_t listener, RouteChanges::Methods methods);
  void forget_listener(uint32_t listener);
  void attach(std::shared_ptr<const HostAttachment> host);
  void detach(uint64_t host);
  void drain(uint64_t host);
  void drain_all();

  // How a call to a method without a route ends.
  Status unknown(uint32_t listener, std::string_view path) const;
  const RouteChanges& changes() const { return changes_; }

  // Once a poll: goes on with what changes, and tells of hosts that failed or have drained. True if it did anything.
  bool turn();
  // turn() has something to do at once.
  bool busy() const;
  // When it has at the latest.
  int64_t next_ns() const;
  // Ten times a second.
  void update_metrics();

 private:
  void leave_routes(HostLink& link);
  void change_routes();
  void tell_calls_of(HostLink& link);
  void tell_calls_of_gone();
  void close_connections_of_gone();
  void report_failed_and_drained();

  const uint32_t thread_;
  HostLinks& links_;
  RouteTable& routes_;
  Calls& calls_;
  HostLines& lines_;
  ThreadMetrics& metrics_;
  HostEvents* const events_;
  RouteChanges changes_;
  uint32_t changes_left_ = RouteChanges::kRoutesPerTurn;  // of this turn
  uint32_t tell_left_ = kToldPerTurn;                     // the same
  bool draining_ = false;
  size_t most_routes_ = 0;  // lately
  Counter* failures_;
  Gauge* routes_gauge_;
};

}  // namespace drover::engine
