// What hosts send, read as hostile bytes, and hosts coming and going.
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "engine/dispatch/dispatcher.h"

namespace drover::engine {
namespace {

GrpcCode code_of(uint32_t status) {
  return status <= static_cast<uint32_t>(GrpcCode::kUnauthenticated) ? static_cast<GrpcCode>(status)
                                                                     : GrpcCode::kUnknown;
}

// The widest that wire bytes get: an int32 of 4 bytes takes 10, and its tag one to five.
constexpr uint64_t kWirePerMemory = 4;
// Oneofs share memory, so that an object may have more fields than bytes; the thread is not given away for longer.
constexpr uint64_t kWorkPerMemory = 4, kLeastWork = 1 << 20, kMostWork = 128 << 20;

}  // namespace

// ---- responses

// Everything that lies in the link's rings, at most one ringful each, so that no host keeps the thread to itself.
bool Dispatcher::take_responses(HostLink& link) {
  bool did = false;
  for (uint32_t worker = 0; worker < link.workers(); ++worker) {
    RingConsumer& ring = link.lane(worker).responses;
    Slot slot;
    for (uint32_t left = ring.capacity(); left != 0 && link.failure() == nullptr && ring.try_pop(slot); --left) {
      take_slot(link, worker, slot);
      did = true;
    }
  }
  return did;
}

void Dispatcher::take_slot(HostLink& link, uint32_t worker, const Slot& slot) {
  switch (static_cast<ResponseSlotType>(slot.type)) {
    case ResponseSlotType::kComplete:
      return complete(link, worker, slot_as<CompleteSlot>(slot));
    case ResponseSlotType::kFinished:
      return finished(link, worker, slot_as<FinishedSlot>(slot));
  }
  link.fail("it sent a slot of an unknown type");
}

void Dispatcher::complete(HostLink& link, uint32_t worker, const CompleteSlot& slot) {
  CallState* state = table_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || !state->owes_complete) {
    return link.fail("it completed a call that this worker does not have");
  }
  state->owes_complete = false;
  --link.lane(worker).outstanding;
  --link.running;
  ++link.completed;
  if ((slot.flags & kCompleteFinished) != 0) state->owes_finished = false;
  if (state->phase == CallState::Phase::kRunning) return answer(*state, slot);
  // Too late: the client has had its answer, or has gone.
  link.release(worker, slot.tx_call, 0, now_ns_);
  settle(*state);
}

void Dispatcher::finished(HostLink& link, uint32_t worker, const FinishedSlot& slot) {
  CallState* state = table_.find(slot.call, slot.generation);
  if (state == nullptr || state->host != &link || state->lane != worker || state->owes_complete ||
      !state->owes_finished) {
    return link.fail("it finished a call that this worker does not have");
  }
  state->owes_finished = false;
  settle(*state);
}

// The client's answer out of what the host says: status, trailer, and with OK the response.
void Dispatcher::answer(CallState& state, const CompleteSlot& slot) {
  HostLink& link = *state.host;
  const Region& region = link.region();
  Reply reply;
  std::string text;
  auto broken = [&](std::string why) {
    text = "the service's response could not be encoded: " + std::move(why);
    reply = Reply{};
    reply.code = GrpcCode::kInternal;
    reply.message = text;
    send_answer(state, slot.tx_call, reply, false);
  };
  reply.code = code_of(slot.status);
  if ((slot.flags & kCompleteNoRoom) != 0) {
    reply.message = "the service's reply found no room in its shared memory (channel.tx_bytes)";
  }
  if (slot.trailer != 0) {
    if (const char* wrong = read_trailer(region, slot.trailer, &trailer_)) return broken(wrong);
    reply.message = trailer_.message;
    reply.initial = trailer_.initial;
    reply.trailing = trailer_.trailing;
  }
  if (reply.code != GrpcCode::kOk) return send_answer(state, slot.tx_call, reply, false);
  reply.has_body = true;
  if (slot.response == 0) return send_answer(state, slot.tx_call, reply, false);  // an empty message

  const schema::MessageType& type = link.host().methods[state.method].response;
  const char* object = region.at_tx(slot.response, type.entry().object_size);
  if (object == nullptr || slot.response % 8 != 0) return broken("the response object is not in tx memory");
  Bounds bounds{region.base(), region.size()};
  EncodeOptions options;
  options.bounds = &bounds;
  // The response lies in its channel's tx and rx, and in the request's memory: one that is much longer than all of it
  // shows the same objects again and again, and would keep the thread from other hosts' calls.
  const ChannelOptions& channel = link.host().layout->options();
  uint64_t memory = channel.tx_bytes + channel.rx_bytes;
  for (size_t i = 0; i < state.runs.size(); ++i) memory += state.runs[i].chunks * uint64_t{kChunkSize};
  options.max_bytes = std::min<uint64_t>(options_.max_response_bytes, kWirePerMemory * memory);
  options.work_allowance = std::clamp(kWorkPerMemory * memory, kLeastWork, kMostWork);
  state.reply = take_encoded();
  EncodeResult result = encode(type, reinterpret_cast<const Message*>(object), options, state.reply);
  if (!result.ok()) {
    give_encoded(state.reply);
    state.reply = nullptr;
    return broken(to_string(result));
  }
  bool lent = false;
  for (const Piece& piece : state.reply->pieces()) lent |= region.contains(piece.data);
  reply.body = state.reply->pieces();
  reply.body_size = result.size;
  send_answer(state, slot.tx_call, reply, lent);
}

// `lent`: the reply refers to the region, which must stay as it is until the transport is done.
void Dispatcher::send_answer(CallState& state, uint32_t tx_call, const Reply& reply, bool lent) {
  timers_.disarm(state.timer);
  state.phase = CallState::Phase::kReplied;
  if (lent) {
    state.owes_release = true;
    state.tx_call = tx_call;
    state.tx_bytes = reply.body_size;
  } else {
    state.host->release(state.lane, tx_call, reply.body_size, now_ns_);
    settle(state);
  }
  replies_.reply(*state.call, reply);  // `state` may be free now
}

// ---- hosts

void Dispatcher::expect(uint32_t listener, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) make_route(listener, path);
}

// Calls may still wait behind a route, or run: those routes stay aside until their calls are over.
void Dispatcher::forget_listener(uint32_t listener) {
  last_forgotten_listener_ = std::max(last_forgotten_listener_, listener);
  last_route_ = nullptr;
  for (auto& route : routes_) {
    if (route->listener != listener) continue;
    route->targets.clear();
    retired_routes_.push_back(std::move(route));
  }
  std::erase(routes_, nullptr);
  std::fill(route_table_.begin(), route_table_.end(), nullptr);
  for (const auto& route : routes_) insert_route(route.get());
  std::unordered_set<const Route*> used;
  for (uint32_t i = 0; i < table_.size(); ++i) {
    if (table_.at(i)->phase != CallState::Phase::kFree) used.insert(table_.at(i)->route);
  }
  std::erase_if(retired_routes_, [&used](const auto& route) { return !used.contains(route.get()); });
}

void Dispatcher::attach(std::shared_ptr<const HostAttachment> host) {
  int bell = host->bells[thread_].get();
  auto link = std::make_unique<HostLink>(host, thread_, metrics_);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(wake_.get(), EPOLL_CTL_ADD, bell, &event) != 0) link->fail("its doorbell cannot be watched");
  for (uint32_t listener : host->listeners) {
    for (uint32_t method = 0; method < host->methods.size(); ++method) {
      Route* route = make_route(listener, host->methods[method].path);
      if (route == nullptr) {
        link->fail("the engine serves too many methods already");
        break;
      }
      route->targets.push_back({link.get(), method});
    }
  }
  if (draining_) {
    link->draining = true;
    link->drain_reported = true;  // nobody asks before the host's own Drain
    link->push_drain();
  }
  links_.push_back(std::move(link));
}

HostLink* Dispatcher::find_link(uint64_t host) {
  for (const auto& link : links_) {
    if (link->host().id == host) return link.get();
  }
  return nullptr;
}

namespace {

void remove_targets(std::vector<std::unique_ptr<Route>>& routes, const HostLink* link) {
  for (const auto& route : routes) {
    std::erase_if(route->targets, [link](const Route::Target& target) { return target.link == link; });
  }
}

}  // namespace

void Dispatcher::drain(uint64_t host) {
  HostLink* link = find_link(host);
  if (link == nullptr) return;
  remove_targets(routes_, link);
  link->drain_reported = false;  // asked for now, even if the engine's own drain began before
  if (link->draining) return;
  link->draining = true;
  link->push_drain();
}

void Dispatcher::drain_all() {
  draining_ = true;
  for (const auto& link : links_) {
    if (!link->draining) link->push_drain();
  }
}

void Dispatcher::detach(uint64_t host) {
  HostLink* link = find_link(host);
  if (link == nullptr) return;
  remove_targets(routes_, link);
  ::epoll_ctl(wake_.get(), EPOLL_CTL_DEL, link->host().bells[thread_].get(), nullptr);
  auto at = std::find_if(links_.begin(), links_.end(), [link](const auto& one) { return one.get() == link; });
  gone_.push_back(std::move(*at));
  links_.erase(at);
  link->gone = true;
  ++link->pins;  // so that it stays while its calls end
  end_calls_of(*link);
  if (--link->pins == 0) drop_link(link);
}

// Nothing will come from this host any more: running calls are answered, and what waited for its word is over.
void Dispatcher::end_calls_of(HostLink& link) {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    CallState& state = *table_.at(i);
    if (state.phase == CallState::Phase::kFree || state.host != &link) continue;
    bool running = state.phase == CallState::Phase::kRunning;
    bool given = state.owes_complete || state.owes_finished || state.owes_release;
    state.owes_complete = state.owes_finished = false;
    if (running) {
      timers_.disarm(state.timer);
      fail(state, GrpcCode::kUnavailable, "the service's process ended");
    } else if (given) {
      settle(state);
    }
  }
  link.running = 0;
}

void Dispatcher::report_failed_and_drained() {
  for (const auto& link : links_) {
    if (link->failure() != nullptr && !link->failure_reported) [[unlikely]] {
      link->failure_reported = true;
      host_failures_->add();
      remove_targets(routes_, link.get());
      if (events_ != nullptr) events_->host_failed(link->host().id, thread_, link->failure());
    }
    if (link->draining && !link->drain_reported && link->pins == 0) {
      link->drain_reported = true;
      if (events_ != nullptr) events_->host_drained(link->host().id, thread_, link->completed);
    }
  }
}

}  // namespace drover::engine
