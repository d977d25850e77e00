// RouteTable: the methods that an engine thread knows, by (listener, path), and the hosts that serve each.
//
// A route lives as long as its listener, so that a method whose host has died is not mistaken for an unknown one: its
// calls wait for the next host. Routes of a closed listener are kept while calls refer to them.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/base/status.h"
#include "engine/call/call.h"

namespace drover::engine {

class HostLink;
struct CallState;

struct Route {
  struct Target {
    HostLink* link;
    uint32_t method;  // its number at that host
  };
  std::string path;
  uint32_t listener = 0;
  uint64_t hash = 0;
  std::vector<Target> targets;
  uint32_t cursor = 0;  // round robin over all targets' workers
  MethodMetrics* metrics = nullptr;
  CallState* first_waiting = nullptr;  // WaitingCalls' list
  CallState* last_waiting = nullptr;
};

class RouteTable {
 public:
  static constexpr size_t kMaxRoutes = 1 << 20;

  explicit RouteTable(ThreadMetrics& metrics) : metrics_(metrics), slots_(64) {}
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  // Null if the method is not known. `memo`, if there is one, saves the look-up of a path that repeats.
  Route* find(uint32_t listener, std::string_view path, RouteMemo* memo = nullptr) {
    if (memo != nullptr && memo->version == version_) return static_cast<Route*>(memo->route);
    Route* route = look_up(listener, path);
    if (memo != nullptr && route != nullptr) *memo = {version_, route};
    return route;
  }
  // How a call to a method that find() does not know ends.
  Status unknown(uint32_t listener, std::string_view path) const;

  // The route of that listener and path, made now if there was none; null if there are too many.
  Route* add(uint32_t listener, const std::string& path);
  void remove_host(const HostLink* link);
  // The listener is closed and its id will not be used again. Its routes stay while `in_use` holds them, here and in
  // later calls.
  void forget_listener(uint32_t listener, const std::unordered_set<const Route*>& in_use);

  size_t size() const { return routes_.size(); }

 private:
  Route* look_up(uint32_t listener, std::string_view path);
  void insert(Route* route);

  ThreadMetrics& metrics_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::unique_ptr<Route>> retired_;  // of forgotten listeners, while calls refer to them
  std::vector<Route*> slots_;                    // open addressing over (listener, path); a power of two
  uint64_t version_ = 1;                         // of the memos: another one once routes have gone
  uint32_t last_forgotten_listener_ = 0;         // ids only grow
};

}  // namespace drover::engine
