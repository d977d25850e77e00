#include "engine/dispatch/hosts.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/heap.h"
#include "engine/dispatch/remote_link.h"

namespace drover::engine {
namespace {

constexpr size_t kTrimRoutes = 1000;                // so many that went leave memory behind
constexpr int64_t kGonePatienceNs = 5'000'000'000;  // replies may refer to the memory of a host that has gone
constexpr uint32_t kIdleLanesPerPeriod = 16;        // of each host
constexpr int64_t kTellAgainNs = 100'000'000;

}  // namespace

Hosts::Hosts(uint32_t thread, HostLinks& links, RouteTable& routes, Calls& calls, HostLines& lines,
             ThreadMetrics& metrics, HostEvents* events, const BalanceRules* rules)
    : thread_(thread),
      links_(links),
      routes_(routes),
      calls_(calls),
      lines_(lines),
      metrics_(metrics),
      events_(events),
      changes_(routes, rules),
      failures_(metrics.counter("drover_failures_total", "Hosts detached because they broke the channel")),
      routes_gauge_(metrics.gauge("drover_routes", "Methods that hosts serve or served lately, at each address")) {}

Hosts::~Hosts() {
  metrics_.remove(failures_);
  metrics_.remove(routes_gauge_);
}

// Makes the changes of routes that this turn has left; further ones follow in the next turns.
void Hosts::change_routes() {
  while (changes_.pending() && changes_left_ != 0) {
    RouteChanges::Done done = changes_.step(&changes_left_, calls_.now_ns());
    if (done.kind == RouteChanges::Done::Kind::kNothing) continue;
    HostLink& link = *done.link;
    if (done.kind == RouteChanges::Done::Kind::kAttached && !link.leaving && events_ != nullptr) {
      events_->host_attached(link.host().id, thread_);
    }
    links_.unpinned(link);
  }
}

// A method that is not known may be one that a host brings: its methods are taken in over several turns.
Status Hosts::unknown(uint32_t listener, std::string_view path) const {
  Status status = routes_.unknown(listener, path);
  if (status.code == StatusCode::kUnimplemented && changes_.pending()) {
    return {StatusCode::kUnavailable, "methods of a service are being taken in"};
  }
  return status;
}

void Hosts::expect(uint32_t listener, RouteChanges::Methods methods) {
  calls_.set_now(monotonic_ns());
  changes_.expect(listener, std::move(methods));
  change_routes();
}

// Routes with waiting or running calls stay until these are over.
void Hosts::forget_listener(uint32_t listener) {
  changes_.forget(listener);
  change_routes();
}

void Hosts::attach(std::shared_ptr<const HostAttachment> host) {
  HostLink& link = links_.attach(std::move(host));
  changes_.attach(link);
  change_routes();
  if (!draining_) return;
  link.draining = true;
  link.drain_reported = true;  // reported only after the host's own Drain
  link.push_drain();
}

// No new calls go to it from now on, and its routes are removed.
void Hosts::leave_routes(HostLink& link) {
  if (link.leaving) return;
  calls_.set_now(monotonic_ns());
  changes_.detach(link);
  link.leaving = true;
  change_routes();
}

void Hosts::drain(uint64_t host) {
  HostLink* link = links_.find(host);
  if (link == nullptr) return;
  leave_routes(*link);
  link->drain_reported = false;  // asked for now, even if the engine's own drain began before
  if (link->draining) return;
  link->draining = true;
  link->push_drain();
}

void Hosts::drain_all() {
  draining_ = true;
  for (const auto& link : links_.attached()) {
    if (!link->draining) link->push_drain();
  }
}

// May be called again for the same host, and goes on where it ended for want of memory.
void Hosts::detach(uint64_t host) {
  HostLink* link = links_.find(host);
  if (link == nullptr) {
    if (!links_.is_gone(host) && events_ != nullptr) events_->host_let_go(host, thread_);
    return;
  }
  leave_routes(*link);
  links_.detach(*link);
  link->gone_since_ns = calls_.now_ns();
  link->told_again_ns = link->gone_since_ns + kGonePatienceNs;
  link->long_answer.reset();
  link->long_copy.reset();
  link->postponed.clear();
  link->running = 0;
  tell_calls_of(*link);
}

// Tells calls that their host is gone, as many as this turn has left; further ones follow in the next turns.
void Hosts::tell_calls_of(HostLink& link) {
  const bool cut_off = calls_.now_ns() - link.gone_since_ns >= kGonePatienceNs;
  ++link.pins;  // so that it stays while its calls end
  for (; tell_left_ != 0 && !link.calls.empty(); --tell_left_) {
    CallState& state = link.calls.front();
    HostCalls::remove(state);
    link.told.push(state);
    calls_.host_gone(state, cut_off);
  }
  links_.unpin(link);
}

// Clients that do not take the replies which refer to its memory would keep the region for as long as they like. After
// kGonePatienceNs they are cut off, and again until the transport has let go of them.
void Hosts::tell_calls_of_gone() {
  for (size_t i = links_.gone().size(); i-- != 0;) {
    if (i >= links_.gone().size()) continue;  // the end of one host's calls may have ended another host
    HostLink& link = *links_.gone()[i];
    if (link.calls.empty() && calls_.now_ns() >= link.told_again_ns) {
      link.told_again_ns = calls_.now_ns() + kTellAgainNs;
      link.calls.take(link.told);
    }
    if (!link.calls.empty()) tell_calls_of(link);
  }
}

void Hosts::close_connections_of_gone() {
  uint32_t left = kClosedPerTurn;
  for (size_t i = links_.gone().size(); i-- != 0 && left != 0;) {
    HostLink& link = *links_.gone()[i];
    if (link.connections != 0 && lines_.leave(link, &left)) links_.unpinned(link);
  }
}

bool Hosts::busy() const {
  return changes_.pending() || std::any_of(links_.gone().begin(), links_.gone().end(), [](const auto& link) {
           return !link->calls.empty() || link->connections != 0;
         });
}

void Hosts::report_failed_and_drained() {
  for (const auto& link : links_.attached()) {
    if (link->failure() != nullptr && !link->failure_reported) [[unlikely]] {
      link->failure_reported = true;
      failures_->add();
      leave_routes(*link);
      if (events_ != nullptr) events_->host_failed(link->host().id, thread_, link->failure());
    }
    if (link->draining && !link->drain_reported && !link->pinned()) {
      link->drain_reported = true;
      if (events_ != nullptr) events_->host_drained(link->host().id, thread_, link->completed);
    }
  }
}

bool Hosts::turn() {
  const int64_t now_ns = calls_.now_ns();
  bool did = busy();
  changes_left_ = RouteChanges::kRoutesPerTurn;
  tell_left_ = kToldPerTurn;
  if (changes_.pending()) change_routes();
  if (!links_.gone().empty()) [[unlikely]] {
    close_connections_of_gone();
    tell_calls_of_gone();
  }
  if (now_ns >= routes_.next_orphan_ns()) did |= routes_.remove_orphans(now_ns, changes_left_) != 0;
  report_failed_and_drained();
  return did;
}

int64_t Hosts::next_ns() const {
  int64_t next = routes_.next_orphan_ns();
  for (const auto& link : links_.gone()) {
    next = std::min(next, link->told_again_ns);
  }
  return next;
}

void Hosts::update_metrics() {
  routes_gauge_->set(static_cast<int64_t>(routes_.size()));
  most_routes_ = std::max(most_routes_, routes_.size());
  if (most_routes_ - routes_.size() >= kTrimRoutes) {
    most_routes_ = routes_.size();
    heap::want_trim();
  }
  for (const auto& link : links_.attached()) {
    link->update_metrics();
    if (link->failure() == nullptr) link->look_at_idle_lanes(kIdleLanesPerPeriod);
  }
}

}  // namespace drover::engine
