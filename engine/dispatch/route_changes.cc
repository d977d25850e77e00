#include "engine/dispatch/route_changes.h"

#include <new>

#include "engine/base/heap.h"

namespace drover::engine {

RouteChanges::Done RouteChanges::step(uint32_t* most, int64_t now_ns) {
  if (queue_.empty() || *most == 0) return {};
  uint32_t before = *most;
  bool made = go_on(queue_.front(), most, now_ns);
  touched_ += before - *most;
  if (!made) return {};
  Change change = std::move(queue_.front());
  queue_.pop_front();
  if (*most != 0) --*most;  // so that many small changes end a turn, too
  if (change.link == nullptr) return {};
  --change.link->pins;
  return {change.kind == Kind::kAttach ? Done::Kind::kAttached : Done::Kind::kDetached, change.link};
}

bool RouteChanges::go_on(Change& change, uint32_t* most, int64_t now_ns) {
  switch (change.kind) {
    case Kind::kExpect:
      try {
        return expect_some(change, most, now_ns);
      } catch (const std::bad_alloc&) {  // calls of the others do not wait
        return true;
      }
    case Kind::kAttach:
      try {
        return attach_some(change, most, now_ns);
      } catch (const std::bad_alloc&) {
        change.link->fail("there is no memory for its methods");
        return true;
      }
    case Kind::kDetach:
      return detach_some(*change.link, most, now_ns);
    case Kind::kForget:
      return forget_some(change.listener, most);
  }
  return true;
}

bool RouteChanges::expect_some(Change& change, uint32_t* most, int64_t now_ns) {
  routes_.add_listener(change.listener);
  for (; change.method_at < change.methods->size(); ++change.method_at) {
    if (*most == 0) return false;
    --*most;
    const ExpectedMethod& method = (*change.methods)[change.method_at];
    Route* route = routes_.add(change.listener, method.path, now_ns);
    if (route != nullptr && route->targets.empty()) route->flags = method.flags;
  }
  return true;
}

// The control thread has told what is wrong with a rule's field (HostRegistration).
void RouteChanges::balance(Route& route, const HostMethod& method) const {
  const BalanceRule* rule = rules_ != nullptr ? rules_->find(method.path) : nullptr;
  if (rule == nullptr) return;
  if (route.balance == nullptr) route.balance = std::make_unique<RouteBalance>(RouteBalance{*rule, {}, 0});
  if (rule->field.empty() || (method.flags & kMethodRaw) != 0) return;
  std::string ignored;
  route.balance->field = FieldPath::compile(method.request, rule->field, &ignored).value_or(FieldPath());
}

bool RouteChanges::attach_some(Change& change, uint32_t* most, int64_t now_ns) {
  HostLink& link = *change.link;
  const HostAttachment& host = link.host();
  for (; change.listener_at < host.listeners.size(); ++change.listener_at, change.method_at = 0) {
    uint32_t listener = host.listeners[change.listener_at];
    if (link.listeners_served == change.listener_at && !link.leaving) {
      routes_.host_came(listener);
      ++link.listeners_served;
    }
    for (; change.method_at < host.methods.size(); ++change.method_at) {
      if (link.leaving) return true;
      if (*most == 0) return false;
      --*most;
      Route* route = routes_.add(listener, host.methods[change.method_at].path, now_ns);
      if (route == nullptr) {
        link.fail("the engine serves too many methods already");
        return true;
      }
      const uint32_t flags = host.methods[change.method_at].flags;
      if (((route->flags ^ flags) & kMethodKind) != 0 && !route->targets.empty()) {
        link.fail("one of its methods streams, or is raw, otherwise than at another host");
        return true;
      }
      route->flags = flags;
      balance(*route, host.methods[change.method_at]);
      heap::reserve(link.routes, link.routes.size() + 1);  // a target must be known to its host
      routes_.add_target(*route, {&link, static_cast<uint32_t>(change.method_at)});
      link.routes.push_back(route);
    }
  }
  return true;
}

bool RouteChanges::detach_some(HostLink& link, uint32_t* most, int64_t now_ns) {
  for (; link.listeners_served != 0; --link.listeners_served) {
    routes_.host_left(link.host().listeners[link.listeners_served - 1]);
  }
  while (!link.routes.empty()) {
    if (*most == 0) return false;
    --*most;
    routes_.remove_target(*link.routes.back(), &link, now_ns);
    link.routes.pop_back();
  }
  return true;
}

bool RouteChanges::forget_some(uint32_t listener, uint32_t* most) {
  uint32_t removed = routes_.forget_listener(listener, *most);
  bool all = removed < *most;
  *most -= removed;
  return all;
}

}  // namespace drover::engine
