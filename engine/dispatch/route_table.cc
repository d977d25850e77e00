#include "engine/dispatch/route_table.h"

#include <algorithm>
#include <cstring>

namespace drover::engine {
namespace {

uint64_t mix(uint64_t a) {
  a ^= a >> 32;
  a *= 0x9fb21c651e98df25u;
  a ^= a >> 28;
  return a;
}

uint64_t hash_of(uint32_t listener, std::string_view path) {
  uint64_t hash = mix(listener * uint64_t{0x9e3779b97f4a7c15} + path.size());
  const char* at = path.data();
  size_t left = path.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word) * 0xd6e8feb86659fd93u;
  }
  uint64_t word = 0;
  std::memcpy(&word, at, left);
  return mix(hash ^ word);
}

}  // namespace

Route* RouteTable::look_up(uint32_t listener, std::string_view path) {
  uint64_t hash = hash_of(listener, path);
  size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Route* route = slots_[i];
    if (route == nullptr) return nullptr;
    if (route->hash == hash && route->listener == listener && route->path == path) return route;
  }
}

Route* RouteTable::add(uint32_t listener, const std::string& path) {
  if (Route* known = find(listener, path)) return known;
  if (routes_.size() >= kMaxRoutes) return nullptr;
  routes_.push_back(std::make_unique<Route>());
  Route* route = routes_.back().get();
  route->path = path;
  route->listener = listener;
  route->hash = hash_of(listener, path);
  route->metrics = metrics_.method(path);
  if (routes_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, nullptr);
    for (const auto& one : routes_) insert(one.get());
  } else {
    insert(route);
  }
  return route;
}

void RouteTable::insert(Route* route) {
  size_t mask = slots_.size() - 1, i = route->hash & mask;
  while (slots_[i] != nullptr) i = (i + 1) & mask;
  slots_[i] = route;
}

Status RouteTable::unknown(uint32_t listener, std::string_view path) const {
  size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0) {
    return {StatusCode::kUnimplemented, "malformed method name: \"" + std::string(path) + "\""};
  }
  std::string_view prefix = path.substr(0, slash + 1);
  bool any = false;
  for (const auto& route : routes_) {
    any |= route->listener == listener;
    if (route->listener == listener && std::string_view(route->path).starts_with(prefix)) {
      return {StatusCode::kUnimplemented, "unknown method " + std::string(path.substr(slash + 1)) + " for service " +
                                              std::string(path.substr(1, slash - 1))};
    }
  }
  // The connection was accepted before its listener closed; whether the method exists is no longer known.
  if (!any && listener <= last_forgotten_listener_) {
    return {StatusCode::kUnavailable, "the service no longer listens at this address"};
  }
  return {StatusCode::kUnimplemented, "unknown service " + std::string(path.substr(1, slash - 1))};
}

void RouteTable::remove_host(const HostLink* link) {
  for (const auto& route : routes_) {
    std::erase_if(route->targets, [link](const Route::Target& target) { return target.link == link; });
  }
}

void RouteTable::forget_listener(uint32_t listener, const std::unordered_set<const Route*>& in_use) {
  last_forgotten_listener_ = std::max(last_forgotten_listener_, listener);
  ++version_;
  for (auto& route : routes_) {
    if (route->listener != listener) continue;
    route->targets.clear();
    retired_.push_back(std::move(route));
  }
  std::erase(routes_, nullptr);
  std::fill(slots_.begin(), slots_.end(), nullptr);
  for (const auto& route : routes_) insert(route.get());
  std::erase_if(retired_, [&in_use](const auto& route) { return !in_use.contains(route.get()); });
}

}  // namespace drover::engine
