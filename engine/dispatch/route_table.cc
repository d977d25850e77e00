#include "engine/dispatch/route_table.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <random>

#include "channel/control.h"
#include "engine/base/heap.h"
#include "engine/dispatch/host_link.h"

namespace drover::engine {
namespace {

uint64_t random_word() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

// The product's two halves, folded: without the multiplier, no one can choose words that meet.
uint64_t fold(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// "/package.Service/", with the listener in front.
std::string service_key(uint32_t listener, std::string_view path) {
  std::string key(sizeof listener, '\0');
  std::memcpy(key.data(), &listener, sizeof listener);
  return key.append(path.substr(0, path.rfind('/') + 1));
}

}  // namespace

RouteTable::RouteTable(ThreadMetrics& metrics, int64_t wait_ns, size_t max_routes)
    : metrics_(metrics),
      wait_ns_(wait_ns),
      max_routes_(max_routes),
      secret_(random_word()),
      multiplier_(random_word() | 1),
      slots_(64),
      services_(64, ServiceHash{this}) {}

RouteTable::~RouteTable() {
  for (const auto& route : routes_) metrics_.release(route->metrics);
  for (const auto& route : retired_) metrics_.release(route->metrics);
}

uint64_t RouteTable::hash_of(uint32_t listener, std::string_view path) const {
  uint64_t hash = secret_ ^ (uint64_t{listener} << 32 | path.size());
  const char* at = path.data();
  size_t left = path.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = fold(hash ^ word, multiplier_) + secret_;
  }
  uint64_t word = 0;
  std::memcpy(&word, at, left);
  return fold(fold(hash ^ word, multiplier_) ^ secret_, multiplier_);
}

Route* RouteTable::look_up(uint32_t listener, std::string_view path) {
  uint64_t hash = hash_of(listener, path);
  size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Route* route = slots_[i].route;
    if (route == nullptr) return nullptr;
    if (slots_[i].hash == hash && route->listener == listener && route->path == path) return route;
  }
}

Status RouteTable::unknown(uint32_t listener, std::string_view path) const {
  size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0) {
    return {StatusCode::kUnimplemented, "malformed method name: \"" + std::string(path) + "\""};
  }
  // The connection was accepted before its listener closed; whether the method exists is no longer known.
  auto known = listeners_.find(listener);
  if (known == listeners_.end() && listener <= last_forgotten_listener_) {
    return {StatusCode::kUnavailable, "the service no longer listens at this address"};
  }
  std::string service(path.substr(1, slash - 1));
  if (services_.contains(service_key(listener, path))) {
    return {StatusCode::kUnimplemented,
            "unknown method " + std::string(path.substr(slash + 1)) + " for service " + service};
  }
  if (known != listeners_.end() && known->second.hosts == 0) {
    return {StatusCode::kUnavailable, "no process of the service is attached"};
  }
  return {StatusCode::kUnimplemented, "unknown service " + service};
}

// ---- the table

Route* RouteTable::add(uint32_t listener, std::string_view path, int64_t now_ns) {
  if (Route* known = look_up(listener, path)) return known;
  if (routes_.size() >= max_routes_ && oldest_orphan_ != nullptr && oldest_orphan_->waiting == nullptr) {
    remove(*oldest_orphan_);
  }
  if (routes_.size() >= max_routes_) return nullptr;
  auto made = std::make_unique<Route>();
  Route& route = *made;
  std::vector<Route*>& of_listener = listeners_[listener].routes;
  // Whatever may fail for want of memory comes first.
  heap::reserve(routes_, routes_.size() + 1);
  heap::reserve(of_listener, of_listener.size() + 1);
  if ((routes_.size() + 1) * 2 > slots_.size()) grow();
  route.path = path;
  route.listener = listener;
  route.hash = hash_of(listener, path);
  count_service(route, 1);
  try {
    route.metrics = metrics_.method(path);
  } catch (const std::bad_alloc&) {
    count_service(route, -1);
    throw;
  }
  route.path = route.metrics->path();
  route.index = routes_.size();
  routes_.push_back(std::move(made));
  route.index_at_listener = of_listener.size();
  of_listener.push_back(&route);
  if (path == kAnyPath) listeners_[listener].any = &route;
  make_orphan(route, now_ns);
  insert(&route);
  return &route;
}

void RouteTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const auto& route : routes_) insert(route.get());
}

void RouteTable::insert(Route* route) {
  size_t mask = slots_.size() - 1, i = route->hash & mask;
  while (slots_[i].route != nullptr) i = (i + 1) & mask;
  slots_[i] = {route->hash, route};
}

// Moves those behind it forward that a look-up would no longer reach.
void RouteTable::erase_slot(const Route& route) {
  size_t mask = slots_.size() - 1, hole = route.hash & mask;
  while (slots_[hole].route != &route) hole = (hole + 1) & mask;
  for (size_t i = (hole + 1) & mask; slots_[i].route != nullptr; i = (i + 1) & mask) {
    size_t home = slots_[i].hash & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;  // its home lies behind the hole
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = {};
}

void RouteTable::count_service(const Route& route, int by) {
  std::string key = service_key(route.listener, route.path);
  if (by > 0) {
    ++services_[std::move(key)];
    return;
  }
  auto at = services_.find(key);
  if (--at->second == 0) services_.erase(at);
}

// ---- hosts

void RouteTable::host_left(uint32_t listener) {
  auto at = listeners_.find(listener);
  if (at != listeners_.end() && at->second.hosts != 0) --at->second.hosts;
}

void RouteTable::add_target(Route& route, Route::Target target) {
  heap::reserve(route.targets, route.targets.size() + 1);
  if (route.targets.empty()) unlink_orphan(route);
  route.targets.push_back(target);
}

void RouteTable::remove_target(Route& route, const HostLink* link, int64_t now_ns) {
  if (route.targets.empty()) return;
  std::erase_if(route.targets, [link](const Route::Target& target) { return target.link == link; });
  if (route.targets.empty() && !route.retired) make_orphan(route, now_ns);
}

// ---- orphans

void RouteTable::make_orphan(Route& route, int64_t now_ns) {
  route.kept_until_ns = now_ns + wait_ns_;
  route.older_orphan = newest_orphan_;
  route.newer_orphan = nullptr;
  (newest_orphan_ != nullptr ? newest_orphan_->newer_orphan : oldest_orphan_) = &route;
  newest_orphan_ = &route;
}

void RouteTable::unlink_orphan(Route& route) {
  (route.older_orphan != nullptr ? route.older_orphan->newer_orphan : oldest_orphan_) = route.newer_orphan;
  (route.newer_orphan != nullptr ? route.newer_orphan->older_orphan : newest_orphan_) = route.older_orphan;
  route.older_orphan = route.newer_orphan = nullptr;
  route.kept_until_ns = kNoDeadline;
}

uint32_t RouteTable::remove_orphans(int64_t now_ns, uint32_t most) {
  uint32_t removed = 0;
  while (removed < most && now_ns >= next_orphan_ns() && oldest_orphan_->waiting == nullptr) {
    remove(*oldest_orphan_);
    ++removed;
  }
  return removed;
}

uint32_t RouteTable::forget_listener(uint32_t listener, uint32_t most) {
  last_forgotten_listener_ = std::max(last_forgotten_listener_, listener);
  auto at = listeners_.find(listener);
  if (at == listeners_.end()) return 0;
  std::vector<Route*>& routes = at->second.routes;
  uint32_t removed = 0;
  for (; removed < most && !routes.empty(); ++removed) {
    Route& route = *routes.back();
    for (const Route::Target& target : route.targets) std::erase(target.link->routes, &route);
    if (!route.targets.empty()) make_orphan(route, 0);
    route.targets.clear();
    remove(route);
  }
  if (removed < most) listeners_.erase(at);
  return removed;
}

// An orphan leaves the table.
void RouteTable::remove(Route& route) {
  ++version_;
  unlink_orphan(route);
  erase_slot(route);
  count_service(route, -1);
  Listener& listener = listeners_[route.listener];
  if (listener.any == &route) listener.any = nullptr;
  std::vector<Route*>& of_listener = listener.routes;
  of_listener.back()->index_at_listener = route.index_at_listener;
  of_listener[route.index_at_listener] = of_listener.back();
  of_listener.pop_back();
  std::unique_ptr<Route> owner = std::move(routes_[route.index]);
  if (route.index + 1 != routes_.size()) {
    routes_[route.index] = std::move(routes_.back());
    routes_[route.index]->index = route.index;
  }
  routes_.pop_back();
  if (route.calls == 0) return metrics_.release(route.metrics);
  route.retired = true;
  route.kept_until_ns = 0;  // nothing will come for calls that wait on
  route.index = retired_.size();
  retired_.push_back(std::move(owner));
}

void RouteTable::end_retired(Route& route) {
  metrics_.release(route.metrics);
  if (route.index + 1 != retired_.size()) {
    retired_.back()->index = route.index;
    std::swap(retired_[route.index], retired_.back());
  }
  retired_.pop_back();
}

}  // namespace drover::engine
