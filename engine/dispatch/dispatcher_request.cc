// From (listener, path) and wire bytes to a CALL slot: routes, the choice of a worker, decoding into rx.
#include <algorithm>
#include <cstring>

#include "engine/dispatch/dispatcher.h"
#include "message/operations.h"
#include "object/owner.h"

namespace drover::engine {
namespace {

constexpr size_t kMaxRoutes = 1 << 20;
constexpr uint32_t kSampleWorkers = 16;  // up to here least-outstanding looks at all, beyond at so many
constexpr uint32_t kMaxFirstRun = 256;   // chunks; a request that needs more grows by further runs
constexpr uint32_t kPlentyFactor = 8;    // objects are rarely that much larger than their wire bytes

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

// ---- routes

Route* Dispatcher::find_route(uint32_t listener, std::string_view path) {
  // Often it is the method of the call before.
  if (last_route_ != nullptr && last_route_->listener == listener && last_route_->path == path) return last_route_;
  uint64_t hash = hash_of(listener, path);
  size_t mask = route_table_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    Route* route = route_table_[i];
    if (route == nullptr) return nullptr;
    if (route->hash == hash && route->listener == listener && route->path == path) return last_route_ = route;
  }
}

// The route of that listener and path, made now if there was none; null if there are too many.
Route* Dispatcher::make_route(uint32_t listener, const std::string& path) {
  if (Route* known = find_route(listener, path)) return known;
  if (routes_.size() >= kMaxRoutes) return nullptr;
  routes_.push_back(std::make_unique<Route>());
  Route* route = routes_.back().get();
  route->path = path;
  route->listener = listener;
  route->hash = hash_of(listener, path);
  route->metrics = metrics_.method(path);
  if (routes_.size() * 2 > route_table_.size()) {
    route_table_.assign(route_table_.size() * 2, nullptr);
    for (const auto& one : routes_) insert_route(one.get());
  } else {
    insert_route(route);
  }
  return route;
}

void Dispatcher::insert_route(Route* route) {
  size_t mask = route_table_.size() - 1, i = route->hash & mask;
  while (route_table_[i] != nullptr) i = (i + 1) & mask;
  route_table_[i] = route;
}

CallSink::Start Dispatcher::unknown_method(std::string_view path, uint32_t listener) const {
  size_t slash = path.rfind('/');
  if (path.empty() || path[0] != '/' || slash == 0) {
    return {GrpcCode::kUnimplemented, "malformed method name: \"" + std::string(path) + "\""};
  }
  std::string_view prefix = path.substr(0, slash + 1);
  bool any = false;
  for (const auto& route : routes_) {
    any |= route->listener == listener;
    if (route->listener == listener && std::string_view(route->path).starts_with(prefix)) {
      return {GrpcCode::kUnimplemented, "unknown method " + std::string(path.substr(slash + 1)) + " for service " +
                                            std::string(path.substr(1, slash - 1))};
    }
  }
  // A connection that was taken before its listener closed: whether the method exists is no longer known here.
  if (!any && listener <= last_forgotten_listener_) {
    return {GrpcCode::kUnavailable, "the service no longer listens at this address"};
  }
  return {GrpcCode::kUnimplemented, "unknown service " + std::string(path.substr(1, slash - 1))};
}

// ---- the choice of a worker

namespace {

bool usable(HostLink& link, uint32_t worker, uint32_t wanted_chunks) {
  return link.failure() == nullptr && link.rx().free_chunks() >= wanted_chunks && link.has_room(worker);
}

// The n-th worker of all targets' workers, counted through.
std::pair<const Route::Target*, uint32_t> nth_worker(std::span<const Route::Target> targets, uint32_t n) {
  for (const Route::Target& target : targets) {
    if (n < target.link->workers()) return {&target, n};
    n -= target.link->workers();
  }
  return {&targets.front(), 0};
}

uint32_t count_workers(std::span<const Route::Target> targets) {
  uint32_t workers = 0;
  for (const Route::Target& target : targets) workers += target.link->workers();
  return workers;
}

}  // namespace

Dispatcher::Choice Dispatcher::choose(Route& route, const CallState& state, uint32_t wanted_chunks) {
  std::span<const Route::Target> targets = route.targets;
  if (targets.empty()) return {.outcome = Outcome::kNoHost};
  auto pick = [&](std::span<const Route::Target> among) {
    return options_.balance == DispatchOptions::Balance::kRoundRobin ? round_robin(route, among, wanted_chunks)
                                                                     : least_outstanding(route, among, wanted_chunks);
  };
  // A request that lies in a host's region already is decoded there without copying its strings.
  if (state.host != nullptr && targets.size() > 1) {
    for (const Route::Target& target : targets) {
      if (target.link != state.host) continue;
      Choice choice = pick({&target, 1});
      if (choice.outcome == Outcome::kDone) return choice;
    }
  }
  return pick(targets);
}

Dispatcher::Choice Dispatcher::round_robin(Route& route, std::span<const Route::Target> targets,
                                           uint32_t wanted_chunks) {
  bool single = targets.size() == 1;
  uint32_t workers = single ? targets.front().link->workers() : count_workers(targets);
  if (route.cursor >= workers) route.cursor %= workers;
  for (uint32_t tries = 0; tries < workers; ++tries) {
    auto [target, worker] = single ? std::pair(&targets.front(), route.cursor) : nth_worker(targets, route.cursor);
    route.cursor = route.cursor + 1 == workers ? 0 : route.cursor + 1;
    if (usable(*target->link, worker, wanted_chunks)) return {target->link, target->method, worker, Outcome::kDone};
  }
  return {.outcome = Outcome::kNoRoom};
}

Dispatcher::Choice Dispatcher::least_outstanding(Route& route, std::span<const Route::Target> targets,
                                                 uint32_t wanted_chunks) {
  uint32_t workers = count_workers(targets);
  uint32_t looks = std::min(workers, kSampleWorkers), best = UINT32_MAX;
  if (route.cursor >= workers) route.cursor %= workers;
  Choice choice{.outcome = Outcome::kNoRoom};
  for (uint32_t tries = 0; tries < workers && (tries < looks || choice.link == nullptr); ++tries) {
    auto [target, worker] = nth_worker(targets, (route.cursor + tries) % workers);
    uint32_t outstanding = target->link->lane(worker).outstanding;
    if (outstanding >= best || !usable(*target->link, worker, wanted_chunks)) continue;
    best = outstanding;
    choice = {target->link, target->method, worker, Outcome::kDone};
  }
  ++route.cursor;  // the next one begins elsewhere, so that equals take turns
  return choice;
}

// ---- the request's bytes

// False: more requests than allowed lie on the heap, or there is no memory.
bool Dispatcher::heap_buffer(CallState& state, size_t size) {
  if (heap_bytes_ + size + 1 > options_.max_waiting_bytes) return false;
  state.heap_message.reset(static_cast<char*>(std::malloc(size + 1)));
  if (state.heap_message == nullptr) return false;
  state.message = state.heap_message.get();
  state.message_size = size;
  state.message_capacity = size + 1;
  heap_bytes_ += size + 1;
  return true;
}

char* Dispatcher::message_buffer(Call& call, size_t size) {
  CallState& state = state_of(call);
  if (state.message != nullptr) let_go_of_message(state);
  uint32_t chunks = ChunkPool::chunks_for(size + 1);
  Route& route = *state.route;
  if (state.phase == CallState::Phase::kReceiving && state.host == nullptr && !route.targets.empty()) {
    uint32_t cursor = route.cursor;
    Choice choice = choose(route, state, chunks);
    route.cursor = cursor;  // the worker is chosen when the request is whole
    ChunkPool* pool = choice.link != nullptr ? &choice.link->rx() : nullptr;
    // A quarter stays free for objects, or requests that wait for room would hold all of it.
    if (pool != nullptr && pool->free_chunks() >= chunks + pool->total_chunks() / 4) {
      uint64_t offset = pool->allocate(chunks);
      if (offset != ChunkPool::kNone) {
        pin(state, *choice.link);
        state.runs.push({offset, chunks});
        state.message = choice.link->region().base() + offset;
        state.message_size = size;
        state.message_capacity = chunks * kChunkSize;
        return state.message;
      }
    }
  }
  return heap_buffer(state, size) ? state.message : nullptr;
}

bool Dispatcher::hold_window(const Call& call) const {
  if (call.dispatch == nullptr) return false;
  // Never of a request that is still being received: what it needs to end, and give its memory back, is window.
  return state_of(call).phase == CallState::Phase::kWaiting;
}

// ---- from bytes to an object

// Decodes `wire` and writes the metadata into new memory of the link's rx: *run, and *more if that was not enough.
// Fills in `slot`'s request and metadata. On any failure nothing stays allocated.
Dispatcher::Built Dispatcher::build_request(CallState& state, HostLink& link, const HostMethod& method,
                                            std::string_view wire, ChunkRun* run, RunList* more, CallSlot* slot) {
  ChunkPool& pool = link.rx();
  const Call& call = *state.call;
  bool alias = state.host == &link && state.message != nullptr && state.heap_message == nullptr;
  size_t object_size = method.request.entry().object_size;
  size_t estimate = 64 + object_size + metadata_size(call) + (alias ? wire.size() / 4 : wire.size() * 2);
  uint32_t chunks = std::min(ChunkPool::chunks_for(estimate), kMaxFirstRun);
  Built built;
  uint64_t offset = pool.allocate(chunks);
  if (offset == ChunkPool::kNone && chunks > 1) offset = pool.allocate(chunks = 1);
  if (offset == ChunkPool::kNone) {
    built.no_memory = built.try_again = true;
    return built;
  }
  char* base = link.region().base();
  ChunkBlockSource source(pool, base);
  Arena arena(source, base + offset, chunks * kChunkSize);
  char* memory = static_cast<char*>(arena.allocate_zeroed(object_size));
  DecodeOptions options;
  options.received = true;
  options.alias = alias;
  // NULs behind the strings spoil the wire bytes for a second try: only where it will hardly come to one.
  options.terminate_aliases =
      alias && pool.free_chunks() >= kPlentyFactor * ChunkPool::chunks_for(wire.size() + object_size);
  const CallMetadata* metadata = nullptr;
  auto* object = reinterpret_cast<Message*>(memory);
  if (memory == nullptr) {
    built.decoded.error = DecodeError::out_of_memory;
  } else {
    reinterpret_cast<MessageHeader*>(memory)->owner = kReceived;
    built.decoded = decode(method.request, object, wire, arena, options);
  }
  if (built.decoded.ok() && (method.request.entry().flags & schema::kMessageFlagRequiredBelow) != 0 &&
      !message::is_initialized(method.request, *object)) {
    built.missing_required = true;
    pool.free(offset, chunks);
    return built;
  }
  if (built.decoded.ok()) {
    metadata = write_metadata(call, arena);
    if (metadata == nullptr) built.decoded.error = DecodeError::out_of_memory;
  }
  if (!built.decoded.ok()) {
    built.no_memory = built.decoded.error == DecodeError::out_of_memory;
    built.try_again = built.no_memory && !options.terminate_aliases;
    pool.free(offset, chunks);
    return built;  // the source frees its own
  }
  run->offset = offset;
  run->chunks = chunks;
  if (!source.runs().empty()) [[unlikely]]
    *more = source.take_runs();
  slot->request = link.region().offset_of(memory);
  slot->metadata = link.region().offset_of(metadata);
  return built;
}

// Chooses a worker and gives it the call. kDone: it has it, or the call was answered with an error.
Dispatcher::Outcome Dispatcher::try_start(CallState& state, std::string_view wire) {
  Choice choice = choose(*state.route, state, std::max(1u, state.wanted_chunks));
  if (choice.outcome != Outcome::kDone) return choice.outcome;
  HostLink& link = *choice.link;
  const HostMethod& method = link.host().methods[choice.method];
  CallSlot slot{};
  ChunkRun run;
  RunList more;
  Built built = build_request(state, link, method, wire, &run, &more, &slot);
  if (built.decoded.ok() && !built.no_memory && !built.missing_required) [[likely]] {
    started(state, choice, run, more, slot);
    return Outcome::kDone;
  }
  if (built.missing_required) {
    fail(state, GrpcCode::kInternal, "the request could not be decoded: a required field is missing");
    return Outcome::kDone;
  }
  if (!built.no_memory) {
    fail(state, GrpcCode::kInternal, "the request could not be decoded: " + to_string(built.decoded));
    return Outcome::kDone;
  }
  uint32_t own = 0;
  if (state.host == &link) {
    for (size_t i = 0; i < state.runs.size(); ++i) own += state.runs[i].chunks;
  }
  ChunkPool& pool = link.rx();
  if (!built.try_again || pool.free_chunks() + own == pool.total_chunks()) {
    fail(state, GrpcCode::kResourceExhausted, "the request is larger than the service's request memory");
    return Outcome::kDone;
  }
  // Not before more is free than was found too little.
  state.wanted_chunks = pool.free_chunks() + 1;
  return Outcome::kNoRoom;
}

void Dispatcher::started(CallState& state, const Choice& choice, ChunkRun run, const RunList& more, CallSlot& slot) {
  if (state.phase == CallState::Phase::kWaiting) {
    stop_waiting(state);
    timers_.disarm(state.timer);
    arm(state, state.call->deadline_ns);
  }
  if (state.host == choice.link) {  // its message lies there, and strings may refer to it
    state.message = nullptr;
    state.message_size = 0;
  } else {
    if (state.message != nullptr) let_go_of_message(state);
    pin(state, *choice.link);
  }
  state.runs.push(run);
  for (size_t i = 0; i < more.size(); ++i) state.runs.push(more[i]);
  // The host may let its response refer to one run: the largest is the one worth it.
  ChunkRun largest = run;
  for (size_t i = 0; i < state.runs.size(); ++i) {
    if (state.runs[i].chunks > largest.chunks) largest = state.runs[i];
  }
  state.phase = CallState::Phase::kRunning;
  state.lane = choice.worker;
  state.method = choice.method;
  state.owes_complete = state.owes_finished = true;
  slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
  slot.method = static_cast<uint16_t>(choice.method);
  slot.call = state.index;
  slot.generation = state.generation;
  slot.deadline_ns = state.call->deadline_ns;
  slot.rx_begin = largest.offset;
  slot.rx_chunks = largest.chunks;
  choice.link->push_call(choice.worker, slot);
}

}  // namespace drover::engine
