// RouteTable: the methods that an engine thread knows, by (listener, path), and the hosts that serve each.
//
//   add ------> served by hosts ------ last host gone ------> orphan -- wait_ns over, or room needed --> removed
//                    ^--------------------- a host comes back ---'
//
// Routes belong to hosts. A route whose last host is gone stays for wait_ns, in which its calls wait for the next host;
// then it goes, with its method's metrics. A route that is removed while calls refer to it is retired: it is found no
// more and ends with the last of them.
//
// What hosts name is hostile: look-ups are hashed with a secret, and every function but grow's rehashing costs what it
// touches, not what the table holds.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "channel/control_format.h"
#include "engine/balance/balance_rules.h"
#include "engine/balance/field_path.h"
#include "engine/base/metrics.h"
#include "engine/base/status.h"
#include "engine/call/call.h"

namespace drover::engine {

class EngineService;
class HostLink;
struct CallState;
struct WaitingLine;

// How HostChoice spreads a route's calls over its hosts.
struct RouteBalance {
  const BalanceRule& rule;
  FieldPath field;      // of rule.field, by the schema of the host that came last; empty: it has no such field
  uint32_t cursor = 0;  // over the hosts
};

struct Route {
  struct Target {
    HostLink* link;
    uint32_t method;      // its number at that host
    uint32_t cursor = 0;  // round robin over its workers, where the host is chosen first
  };
  std::string_view path;  // its metrics'
  uint32_t listener = 0;
  uint64_t hash = 0;
  uint32_t flags = 0;  // of MethodFlag: its targets', or its last targets'; the compressions that the last one refuses
  std::vector<Target> targets;
  std::unique_ptr<RouteBalance> balance;  // null: no rule fits its path
  uint32_t cursor = 0;                    // round robin over all targets' workers
  uint32_t calls = 0;                     // that refer to it
  MethodMetrics* metrics = nullptr;
  EngineService* service = nullptr;  // has its calls, and it is in no table; null: hosts have them

  // ---- WaitingCalls' own
  WaitingLine* waiting = nullptr;  // a circle of lines, from that whose turn is next; null: no call waits
  uint32_t waiting_lines = 0;
  bool slots_wait = false;   // any call waits for a slot or a host
  size_t index_waiting = 0;  // among the routes with waiting calls

  // ---- RouteTable's own
  int64_t kept_until_ns = kNoDeadline;  // of an orphan: its calls wait until then; otherwise kNoDeadline
  Route* older_orphan = nullptr;
  Route* newer_orphan = nullptr;
  size_t index = 0;              // among the routes of the table, or the retired ones
  size_t index_at_listener = 0;  // among its listener's
  bool retired = false;
};

class RouteTable {
 public:
  // On one thread, of all hosts and listeners. Hosts together are held below it by their limits
  // (engine/control/host_limits.h), so that only orphans meet it: the oldest of them go first.
  static constexpr size_t kMaxRoutes = 1 << 17;

  // `wait_ns`: how long an orphan stays.
  explicit RouteTable(ThreadMetrics& metrics, int64_t wait_ns = 0, size_t max_routes = kMaxRoutes);
  ~RouteTable();
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  // Null if the method is not known. `memo`, if there is one, saves the look-up of a path that repeats.
  Route* find(uint32_t listener, std::string_view path, RouteMemo* memo = nullptr) {
    if (memo != nullptr && memo->version == version_) return static_cast<Route*>(memo->route);
    Route* route = look_up(listener, path);
    if (memo != nullptr && route != nullptr) *memo = {version_, route};
    return route;
  }
  // The route of the listener's calls that find() does not know (kAnyPath); null: it has none.
  Route* any(uint32_t listener) const {
    auto at = listeners_.find(listener);
    return at == listeners_.end() ? nullptr : at->second.any;
  }
  // How a call to a method that neither knows ends.
  Status unknown(uint32_t listener, std::string_view path) const;

  // A call refers to the route, until leave().
  static void enter(Route& route) { ++route.calls; }
  void leave(Route& route) {
    if (--route.calls == 0 && route.retired) [[unlikely]]
      end_retired(route);
  }

  // ---- changes; `now_ns` begins an orphan's time
  // A host serves the listener, or no longer does: without any, its unknown methods are unavailable.
  void host_came(uint32_t listener) { ++listeners_[listener].hosts; }
  void host_left(uint32_t listener);
  // The listener is known from now on, though it may have no method.
  void add_listener(uint32_t listener) { listeners_.try_emplace(listener); }
  // The route of that listener and path, made now, as an orphan, if there was none; null if there are too many.
  Route* add(uint32_t listener, std::string_view path, int64_t now_ns);
  void add_target(Route& route, Route::Target target);
  void remove_target(Route& route, const HostLink* link, int64_t now_ns);
  // Removes orphans whose time is over, at most so many; how many it removed.
  uint32_t remove_orphans(int64_t now_ns, uint32_t most);
  // When remove_orphans has something to do; kNoDeadline: there are no orphans.
  int64_t next_orphan_ns() const {
    return oldest_orphan_ == nullptr ? kNoDeadline : oldest_orphan_->kept_until_ns + kOrphanSlackNs;
  }
  // The listener is closed, its id will not be used again, and no host serves it. Removes at most `most` of its routes;
  // how many. It is forgotten once that is fewer than `most`.
  uint32_t forget_listener(uint32_t listener, uint32_t most);

  size_t size() const { return routes_.size(); }
  size_t retired() const { return retired_.size(); }

  // The waiting calls of an orphan end at kept_until_ns, by a timer that may be a tick late.
  static constexpr int64_t kOrphanSlackNs = 3'000'000;

 private:
  struct Listener {
    uint32_t hosts = 0;
    Route* any = nullptr;
    std::vector<Route*> routes;
  };
  struct Slot {
    uint64_t hash;
    Route* route;  // null: free
  };
  struct ServiceHash {
    const RouteTable* table;
    size_t operator()(const std::string& key) const { return table->hash_of(0, key); }
  };
  using Services = std::unordered_map<std::string, uint32_t, ServiceHash>;

  uint64_t hash_of(uint32_t listener, std::string_view path) const;
  Route* look_up(uint32_t listener, std::string_view path);
  void insert(Route* route);
  void grow();
  void erase_slot(const Route& route);
  void count_service(const Route& route, int by);
  void make_orphan(Route& route, int64_t now_ns);
  void unlink_orphan(Route& route);
  void remove(Route& route);
  void end_retired(Route& route);

  ThreadMetrics& metrics_;
  const int64_t wait_ns_;
  const size_t max_routes_;
  const uint64_t secret_, multiplier_;  // of hash_of
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::unique_ptr<Route>> retired_;
  std::vector<Slot> slots_;  // open addressing over (listener, path); a power of two
  std::unordered_map<uint32_t, Listener> listeners_;
  Services services_;  // by listener and "/package.Service/": routes
  Route* oldest_orphan_ = nullptr;
  Route* newest_orphan_ = nullptr;
  uint64_t version_ = 1;                  // of the memos: another one once routes have gone
  uint32_t last_forgotten_listener_ = 0;  // ids only grow
};

}  // namespace drover::engine
