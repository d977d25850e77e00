// The Dispatcher's hosts: how they come, drain and go; see dispatcher.h.
#include <algorithm>

#include "engine/dispatch/dispatcher.h"

namespace drover::engine {

// Makes the changes of routes that this turn has left; further ones follow in the next turns.
void Dispatcher::change_routes() {
  while (changes_.pending() && changes_left_ != 0) {
    RouteChanges::Done done = changes_.step(&changes_left_, now_ns_);
    if (done.kind == RouteChanges::Done::Kind::kNothing) continue;
    HostLink& link = *done.link;
    if (done.kind == RouteChanges::Done::Kind::kAttached && !link.leaving && events_ != nullptr) {
      events_->host_attached(link.host().id, thread_);
    }
    unpinned(link);
  }
}

// A method that is not known may be one that a host brings: its methods are taken in over several turns.
Status Dispatcher::unknown(const Call& call) const {
  Status status = routes_.unknown(call.listener, call.path);
  if (status.code == StatusCode::kUnimplemented && changes_.pending()) {
    return {StatusCode::kUnavailable, "methods of a service are being taken in"};
  }
  return status;
}

void Dispatcher::expect(uint32_t listener, RouteChanges::Paths paths) {
  now_ns_ = monotonic_ns();
  changes_.expect(listener, std::move(paths));
  change_routes();
}

// Routes with waiting or running calls stay until these are over.
void Dispatcher::forget_listener(uint32_t listener) {
  changes_.forget(listener);
  change_routes();
}

void Dispatcher::attach(std::shared_ptr<const HostAttachment> host) {
  HostLink& link = links_.attach(std::move(host));
  changes_.attach(link);
  change_routes();
  if (!draining_) return;
  link.draining = true;
  link.drain_reported = true;  // reported only after the host's own Drain
  link.push_drain();
}

// No new calls go to it from now on, and its routes are removed.
void Dispatcher::leave_routes(HostLink& link) {
  if (link.leaving) return;
  now_ns_ = monotonic_ns();
  changes_.detach(link);
  link.leaving = true;
  change_routes();
}

void Dispatcher::drain(uint64_t host) {
  HostLink* link = links_.find(host);
  if (link == nullptr) return;
  leave_routes(*link);
  link->drain_reported = false;  // asked for now, even if the engine's own drain began before
  if (link->draining) return;
  link->draining = true;
  link->push_drain();
}

void Dispatcher::drain_all() {
  draining_ = true;
  for (const auto& link : links_.attached()) {
    if (!link->draining) link->push_drain();
  }
}

// May be called again for the same host, and goes on where it ended for want of memory.
void Dispatcher::detach(uint64_t host) {
  HostLink* link = links_.find(host);
  if (link == nullptr) {
    if (!links_.is_gone(host) && events_ != nullptr) events_->host_let_go(host, thread_);
    return;
  }
  leave_routes(*link);
  links_.detach(*link);
  link->gone_since_ns = now_ns_;
  ++link->pins;  // so that it stays while its calls end
  end_calls_of(*link);
  --link->pins;
  unpinned(*link);
}

// The host sends nothing any more: its running calls are answered, and calls that waited only for its slots are over.
void Dispatcher::end_calls_of(HostLink& link) {
  link.long_answer.reset();
  link.postponed.clear();
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    if (state.phase == CallState::Phase::kFree || state.host != &link) continue;
    bool running = state.phase == CallState::Phase::kRunning;
    bool given = state.owes_complete || state.owes_finished || state.owes_release;
    state.owes_complete = state.owes_finished = false;
    if (running) {
      state.owes_release = false;  // of an answer that was put off
      timers_.disarm(state.timer);
      fail(state, StatusCode::kUnavailable, "the service's process ended");
    } else if (given) {
      settle(state);
    }
  }
  link.running = 0;
}

// Clients that do not take the replies which refer to its memory would keep the region for as long as they like.
void Dispatcher::cut_off_replies_of_gone() {
  std::vector<Call*> calls;
  for (const auto& link : links_.gone()) {
    if (now_ns_ - link->gone_since_ns < kGonePatienceNs) continue;
    for (uint32_t i = 0; i < table_.size(); ++i) {
      CallState& state = *table_.at(i);
      if (state.phase == CallState::Phase::kReplied && state.host == link.get()) calls.push_back(state.call);
    }
  }
  for (Call* call : calls) replies_.cut_off(*call);
}

// Ends a host that is gone once nothing refers to it.
void Dispatcher::unpinned(HostLink& link) {
  if (!link.gone || link.pins != 0) return;
  uint64_t id = link.host().id;
  links_.drop(link);
  if (events_ != nullptr) events_->host_let_go(id, thread_);
}

void Dispatcher::report_failed_and_drained() {
  for (const auto& link : links_.attached()) {
    if (link->failure() != nullptr && !link->failure_reported) [[unlikely]] {
      link->failure_reported = true;
      host_failures_->add();
      leave_routes(*link);
      if (events_ != nullptr) events_->host_failed(link->host().id, thread_, link->failure());
    }
    if (link->draining && !link->drain_reported && link->pins == 0) {
      link->drain_reported = true;
      if (events_ != nullptr) events_->host_drained(link->host().id, thread_, link->completed);
    }
  }
}

}  // namespace drover::engine
