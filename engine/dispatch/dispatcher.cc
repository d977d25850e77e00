// A request's way to a worker, and the turns of the thread; see dispatcher.h.
#include "engine/dispatch/dispatcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "codec/compiler.h"
#include "engine/base/clock.h"
#include "engine/dispatch/remote_lines.h"

namespace drover::engine {
namespace {

constexpr int64_t kMetricsPeriodNs = 100'000'000;
constexpr std::string_view kOtherKind = "the method is another one at the service's new process";
constexpr uint32_t kLooksForLines = 64;       // at lanes, in a turn without work
constexpr size_t kFirstHeapBytes = 16 << 10;  // of a message that is still arriving; doubled as it comes

constexpr uint32_t kSmallChunks = RxShares::kSmallBytes / kChunkSize;

// Of the link's rx, what the call will hold while the host runs it.
DROVER_NOINLINE uint64_t rx_bytes(const CallState& state, const HostLink& link, const BuiltRequest& built) {
  return ((state.host == &link ? state.runs.chunks() : 0) + built.chunks()) * kChunkSize;
}

}  // namespace

Dispatcher::Dispatcher(uint32_t thread, ReplySink& replies, ThreadMetrics& metrics, const DispatchOptions& options,
                       HostEvents* events)
    : thread_(thread),
      events_(events),
      replies_(replies),
      metrics_(metrics),
      max_request_bytes_(options.max_request_bytes),
      wait_ns_(options.wait_ns),
      balance_(options.balance),
      routes_(metrics, options.wait_ns),
      workers_(options.policy),
      host_choice_(workers_, balance_->seed(), metrics),
      reply_memory_(options.max_reply_bytes),
      links_(thread, metrics, events),
      calls_({options.wait_ns, options.max_waiting, options.max_waiting_bytes, options.parses}, replies, routes_,
             links_, reply_memory_),
      requests_(calls_, replies, options.wait_ns),
      reflection_(calls_, links_, replies, metrics),
      lines_({options.engine_threads, thread, options.max_line_connections}, metrics),
      responses_({options.responses, options.wait_ns}, calls_, requests_, replies, reply_memory_, lines_, metrics),
      hosts_(thread, links_, routes_, calls_, lines_, metrics, events, balance_.get()),
      waiting_gauge_(metrics.gauge("drover_waiting_calls", "Calls that wait for a host or for room")),
      reply_bytes_gauge_(metrics.gauge("drover_reply_bytes", "Engine memory of replies that clients have not read")),
      long_requests_(metrics.counter("drover_long_requests_total",
                                     "Requests and messages that were parsed in slices of many turns")) {}

Dispatcher::~Dispatcher() {
  for (const Gauge* gauge : {waiting_gauge_, reply_bytes_gauge_}) metrics_.remove(gauge);
  metrics_.remove(long_requests_);
}

void Dispatcher::connect(const LineRequest& request) {
  HostLink* client = links_.find(request.client);
  HostLink* server = links_.find(request.server);
  if (client == nullptr || events_ == nullptr) return;
  HostEvents::Opened opened{request.request, ControlCode::kResourceExhausted, 0, "no memory"};
  try {
    if (request.remote) {
      if (remote_ != nullptr) return remote_->connect(*client, request);
      opened.code = ControlCode::kNotServed;
      opened.why = "the engine has no links to other engines";
    } else if (server == nullptr || server->leaving) {
      opened.code = ControlCode::kNotServed;
      opened.why = "the host that serves the name has left";
    } else if (auto number = lines_.open(*client, request.client_worker, *server, request.server_worker, &opened.why)) {
      opened = {request.request, ControlCode::kNone, *number, ""};
    }
  } catch (const std::bad_alloc&) {
  }
  events_->connection_opened(request.client, thread_, opened);
}

bool Dispatcher::open_network(const RemoteOptions& options, Io& io, std::string* error) {
  remote_ = std::make_unique<RemoteLines>(options, thread_, io, links_, lines_, metrics_, events_);
  return remote_->listen(error);
}

void ChannelzPosts::post(uint32_t thread, std::function<void(ChannelzCalls&)> work) {
  threads_.post(thread, [work = std::move(work)](Dispatcher& there) {
    if (there.channelz() != nullptr) work(*there.channelz());
  });
}

void Dispatcher::offer_channelz(ChannelzScope scope, const SocketView& sockets, EngineThreads* threads) {
  if (threads != nullptr) channelz_posts_ = std::make_unique<ChannelzPosts>(*threads);
  channelz_ = std::make_unique<ChannelzCalls>(thread_, scope, calls_, links_, replies_, sockets, channelz_posts_.get(),
                                              metrics_);
  reflection_.describe(*channelz_);
}

// The service that answers calls of that path itself, and its route; null: none does.
EngineService* Dispatcher::engine_service(uint32_t listener, std::string_view path, Route** route) {
  if (Route* found = reflection_.route(listener, path)) return *route = found, &reflection_;
  if (channelz_ == nullptr) return nullptr;
  if (Route* found = channelz_->route(listener, path)) return *route = found, channelz_.get();
  return nullptr;
}

// ---- CallSink

Status Dispatcher::open(Call& call) {
  call.max_request_bytes = max_request_bytes_;
  Route* route = routes_.find(call.listener, call.path, call.memo);
  if (route == nullptr) [[unlikely]] {
    if (const EngineService* service = engine_service(call.listener, call.path, &route)) {
      call.max_request_bytes = std::min(max_request_bytes_, service->max_request_bytes());
    } else {
      route = routes_.any(call.listener);
    }
    if (route == nullptr) return hosts_.unknown(call.listener, call.path);
  }
  call.metrics = route->metrics;
  if (call.deadline_ns <= call.start_ns) return {StatusCode::kDeadlineExceeded, "the deadline has passed"};
  CallState* state = calls_.begin(call, *route);
  if (state == nullptr) [[unlikely]] {
    return {StatusCode::kResourceExhausted, "too many calls of this client are in progress"};
  }
  if (route->flags == 0) [[likely]]
    return {};
  call.refuses_deflate = (route->flags & kMethodRefusesDeflate) != 0;
  call.refuses_gzip = (route->flags & kMethodRefusesGzip) != 0;
  if ((route->flags & kMethodKind) == 0) return {};
  try {
    calls_.begin_stream(*state);
    if ((route->flags & kMethodAny) == 0 || calls_.keep_path(*state, call.path)) return {};
  } catch (const std::bad_alloc&) {
  }
  abandon(call);
  return {StatusCode::kResourceExhausted, std::string(Calls::kNoMemory)};
}

void Dispatcher::start(Call& call) {
  CallState& state = state_of(call);
  if (state.phase != CallState::Phase::kReceiving) return;  // its time is over
  if (state.route->service != nullptr) return;
  if (calls_.may_start(state) && try_start_stream(state)) return;
  calls_.wait(state, {});
}

// `wire`: the request, if it is whole.
DROVER_INLINE WorkerChoice::Choice Dispatcher::choose(CallState& state, std::string_view wire, uint32_t wanted_chunks,
                                                      bool arriving) {
  Route& route = *state.route;
  if (route.balance == nullptr) [[likely]]
    return workers_.choose(route, state.host, wanted_chunks);
  return host_choice_.choose(route, {*state.call, wire, arriving}, state.host, wanted_chunks);
}

std::span<char> Dispatcher::message_buffer(Call& call, size_t size, size_t received) {
  CallState& state = state_of(call);
  if (received != 0) {
    if (received >= size || state.heap_message == nullptr) return {};
    return calls_.heap_buffer(state, size, std::min(size, 2 * received));
  }
  if (state.message != nullptr) calls_.let_go_of_message(state);
  Route& route = *state.route;
  const bool known = !route.targets.empty() && (route.balance == nullptr || HostChoice::known_early(route));
  if (state.phase == CallState::Phase::kReceiving && state.host == nullptr && known) {
    uint32_t cursor = route.cursor;
    WorkerChoice::Choice choice = choose(state, {}, ChunkPool::chunks_for(size + 1), true);
    // The worker is chosen when the request is whole; a host of several, now.
    if (route.targets.size() == 1) route.cursor = cursor;
    if (choice.link != nullptr && RequestMemory::in_region(state, *choice.link, size)) {
      calls_.pin(state, *choice.link);
      return {state.message, size};
    }
  }
  return calls_.heap_buffer(state, size, std::min(size, kFirstHeapBytes));
}

bool Dispatcher::waits(const Call& call) const {
  if (call.dispatch == nullptr) return false;
  const CallState::Phase phase = state_of(call).phase;
  return phase == CallState::Phase::kWaiting || phase == CallState::Phase::kParsing;
}

void Dispatcher::message(Call& call, std::string_view wire, More more) {
  CallState& state = state_of(call);
  if (call.request_streams) [[unlikely]] {
    if (EngineService* service = state.route->service) return service->message(state, wire, more);
    return requests_.message(state, wire, more);
  }
  // Answered while it was being received (deadline passed, host failed): drop the rest.
  if (state.phase != CallState::Phase::kReceiving) return;
  if (more != More::kLast) [[unlikely]] {
    return calls_.fail(state, StatusCode::kInternal,
                       "more than one message, or bytes behind the message, in a unary request");
  }
  if (state.stream_flags != (state.route->flags & kMethodKind)) [[unlikely]] {
    return calls_.fail(state, StatusCode::kUnavailable, kOtherKind);
  }
  if (state.message != nullptr) {
    wire = {state.message, state.message_size};
  }
  if (calls_.may_start(state) && try_start(state, wire)) return;
  calls_.wait(state, wire);
}

void Dispatcher::half_close(Call& call) {
  CallState& state = state_of(call);
  if (EngineService* service = state.route->service) return service->half_close(state);
  if (call.request_streams) return requests_.half_close(state);
  calls_.fail(state, StatusCode::kInternal, "no message in a unary request");
}

void Dispatcher::abandon(Call& call) {
  CallState& state = state_of(call);
  call.dispatch = nullptr;
  calls_.abandon(state);
}

void Dispatcher::reply_sent(Call& call) {
  CallState& state = state_of(call);
  if (state.stream != nullptr) [[unlikely]] {
    if (state.stream->answer != nullptr) return state.route->service->answer_sent(state);
    if (!state.stream->steps.empty()) return calls_.step_sent(state);
  }
  call.dispatch = nullptr;
  calls_.over(state);
}

// ---- from a request to a worker

DROVER_INLINE void Dispatcher::take_over(CallState& state, const WorkerChoice::Choice& choice,
                                         const BuiltRequest& built) {
  const bool waited = calls_.started(state, *choice.link);
  choice.link->last_call_ns = calls_.now_ns();
  state.runs.push(built.run);
  for (size_t i = 0; i < built.more.size(); ++i) state.runs.push(built.more[i]);
  // The host's response may refer to one run: offer the largest.
  ChunkRun largest = built.run;
  for (size_t i = 0; i < state.runs.size(); ++i) {
    if (state.runs[i].chunks > largest.chunks) largest = state.runs[i];
  }
  state.lane = choice.worker;
  state.method = choice.method;
  CallSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
  slot.flags = state.call->request_streams ? kCallStreams : 0;
  slot.method = static_cast<uint16_t>(choice.method);
  slot.call = state.index;
  slot.generation = state.generation;
  slot.deadline_ns = state.call->deadline_ns;
  slot.request = built.object;
  slot.metadata = built.metadata;
  slot.rx_begin = largest.offset;
  slot.rx_chunks = largest.chunks;
  choice.link->push_call(choice.worker, slot);
  if (waited) replies_.started(*state.call);
}

DROVER_INLINE bool Dispatcher::start_built(CallState& state, const WorkerChoice::Choice& choice, BuiltRequest built) {
  HostLink& link = *choice.link;
  if (!built.ok()) [[unlikely]]
    return refuse(state, link, built);
  try {
    state.runs.reserve(state.runs.size() + 1 + built.more.size());
    if (built.run.chunks > kSmallChunks || link.rx_is_scarce() || !built.more.empty() || !state.runs.empty() ||
        state.rx_holder != nullptr) [[unlikely]] {
      Calls::hold_rx(state, link, rx_bytes(state, link, built));
      RequestMemory::arrived(state);  // it lay in one of the runs
    }
  } catch (const std::bad_alloc&) {
    built.free(link.rx());
    throw;
  }
  take_over(state, choice, built);
  return true;
}

bool Dispatcher::try_start(CallState& state, std::string_view wire) {
  WorkerChoice::Choice choice = choose(state, wire, std::max(1u, state.wanted_chunks));
  if (choice.found != WorkerChoice::Found::kWorker) return false;
  if (Calls::holds_its_share(state, *choice.link, wire.size())) [[unlikely]] {
    if (!choose_elsewhere(state, wire.size(), &choice)) return false;
  }
  HostLink& link = *choice.link;
  bool alias = state.host == &link && state.message != nullptr && state.heap_message == nullptr;
  if (wire.size() >= LongParses::kLeastBytes) [[unlikely]]
    return start_long(state, choice, wire, alias);
  return start_built(state, choice, build_request(*state.call, link, link.host().methods[choice.method], wire, alias));
}

// As try_start, of a large request. What it holds of rx stays charged until it is parsed.
DROVER_NOINLINE bool Dispatcher::start_long(CallState& state, const WorkerChoice::Choice& choice, std::string_view wire,
                                            bool alias) {
  if (!calls_.keep_message(state, wire)) {
    calls_.fail(state, StatusCode::kResourceExhausted, "too many bytes of requests wait for the service");
    return true;
  }
  LongParse::Request request{&state, false, choice.link, choice.method, choice.worker, wire, alias};
  request.wire = {state.message, state.message_size};
  BuiltRequest built;
  switch (calls_.parses().begin(request, &built)) {
    case LongParses::Begun::kOver:
      return start_built(state, choice, std::move(built));
    case LongParses::Begun::kLater:
      calls_.parsing(state);
      Calls::hold_rx(state, *choice.link, LongParse::least_rx(request));
      return true;
    case LongParses::Begun::kNoMemory:
      break;
  }
  calls_.fail(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  return true;
}

bool Dispatcher::finish_long(CallState& state, LongParse& parse) {
  try {
    return state.stream != nullptr && state.call->request_streams ? requests_.parsed(state, parse)
                                                                  : parsed(state, parse);
  } catch (const std::bad_alloc&) {
    calls_.fail_running(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
    return true;
  }
}

// The request is an object now, or its host is gone. False: its worker has no room for the call.
bool Dispatcher::parsed(CallState& state, LongParse& parse) {
  const LongParse::Request& request = parse.request();
  HostLink& link = *request.link;
  if (link.gone || link.failure() != nullptr) {
    parse.stop();
    if (parse.built().wire_changed) {
      calls_.fail(state, StatusCode::kUnavailable, "the service's process ended");
    } else {
      calls_.wait(state, {});
    }
    return true;
  }
  WorkerChoice::Choice choice{&link, request.method, request.worker};
  if (parse.built().ok()) {
    choice.worker = WorkerChoice::with_room(link, request.worker);
    if (choice.worker == UINT32_MAX) {
      if (calls_.now_ns() - parse.over_since_ns <= wait_ns_) return false;
      calls_.fail(state, StatusCode::kResourceExhausted, "the service had no room for the call in time");
      return true;
    }
  }
  if (!start_built(state, choice, std::exchange(parse.built(), BuiltRequest()))) calls_.wait(state, {});
  return true;
}

DROVER_NOINLINE bool Dispatcher::try_start_stream(CallState& state) {
  WorkerChoice::Choice choice = choose(state, {}, std::max(1u, state.wanted_chunks));
  if (choice.found != WorkerChoice::Found::kWorker) return false;
  if (Calls::holds_its_share(state, *choice.link, 0) && !choose_elsewhere(state, 0, &choice)) return false;
  BuiltRequest built = build_metadata(*state.call, *choice.link, state.stream->path);
  if (!built.ok()) return refuse(state, *choice.link, built);
  try {
    state.runs.reserve(1 + built.more.size());
    if (built.run.chunks > kSmallChunks || choice.link->rx_is_scarce()) {
      Calls::hold_rx(state, *choice.link, built.chunks() * kChunkSize);
    }
  } catch (const std::bad_alloc&) {
    built.free(choice.link->rx());
    throw;
  }
  take_over(state, choice, built);
  calls_.drop_path(state);
  requests_.started(state);
  return true;
}

// The client holds its share at the host that was chosen: another one of the route, where it does not. False: none.
DROVER_NOINLINE bool Dispatcher::choose_elsewhere(CallState& state, size_t bytes, WorkerChoice::Choice* choice) {
  for (Route::Target& target : state.route->targets) {
    if (target.link == choice->link || Calls::holds_its_share(state, *target.link, bytes)) continue;
    const WorkerChoice::Choice other = workers_.choose_at(target, std::max(1u, state.wanted_chunks));
    if (other.found == WorkerChoice::Found::kWorker) return *choice = other, true;
  }
  return false;
}

// The method may have another kind at a host that came while the call waited.
WaitingCalls::Offered Dispatcher::start_waiting(CallState& state) {
  using Offered = WaitingCalls::Offered;
  if (state.stream_flags != (state.route->flags & kMethodKind)) {
    calls_.fail(state, StatusCode::kUnavailable, kOtherKind);
    return Offered::kTaken;
  }
  const bool taken =
      state.call->request_streams ? try_start_stream(state) : try_start(state, {state.message, state.message_size});
  if (taken) return Offered::kTaken;
  if (state.wanted_chunks == 0) return Offered::kNoSlot;
  // It waits for memory if a smaller call would find a worker.
  Route& route = *state.route;
  const uint32_t cursor = route.cursor;
  const bool any_slot = workers_.choose(route, nullptr, 1).found == WorkerChoice::Found::kWorker;
  route.cursor = cursor;
  return any_slot ? Offered::kNoMemory : Offered::kNoSlot;
}

// As try_start: false if the call may wait for more room.
bool Dispatcher::refuse(CallState& state, HostLink& link, const BuiltRequest& built) {
  const Status why = built.error();
  if (!built.no_memory) return calls_.fail(state, why.code, why.message), true;
  const uint64_t own = state.host == &link ? state.runs.chunks() : 0;
  ChunkPool& pool = link.rx();
  if (!built.try_again || pool.free_chunks() + own == pool.total_chunks()) {
    return calls_.fail(state, why.code, why.message), true;
  }
  // Not before more memory is free than the amount that was too little.
  state.wanted_chunks = pool.free_chunks() + 1;
  return false;
}

// ---- Pollable

bool Dispatcher::poll(int64_t now_ns) {
  calls_.set_now(now_ns);
  bool did = serve_hosts();
  if (!did && lines_.connections() != 0 && line_comes()) did = serve_hosts();
  did |= calls_.expire();
  did |= calls_.serve_waiting([this](CallState& state) { return start_waiting(state); });
  did |= requests_.serve();
  if (reflection_.busy()) [[unlikely]]
    did |= reflection_.serve();
  if (channelz_ != nullptr && channelz_->busy(now_ns)) [[unlikely]]
    did |= channelz_->serve(now_ns);
  did |= calls_.parses().serve([this](CallState& state, LongParse& parse) { return finish_long(state, parse); });
  if (remote_ != nullptr) did |= remote_->turn(now_ns);
  for (const auto& link : links_.attached()) did |= link->flush(now_ns);
  did |= hosts_.turn();
  if (now_ns >= next_metrics_ns_) update_metrics(now_ns);
  if (did && looking_) awake();
  return did;
}

// A reply may make the transport end other calls, but attach and detach come through closures only.
bool Dispatcher::serve_hosts() {
  return turns_.run(links_.attached(),
                    [this](HostLink& link, int64_t budget_ns) { return responses_.serve(link, budget_ns); });
}

// A turn without work costs as much as a line's way between two CPUs, and a line that comes in it waits for its end.
// So most of the time between lines goes to looks at the lanes alone, which cost a load each.
bool Dispatcher::line_comes() const {
  for (uint32_t left = kLooksForLines; left != 0;) {
    const uint32_t before = left;
    for (const auto& link : links_.attached()) {
      if (link->connections != 0 && link->has_slot(&left)) return true;
    }
    if (left == before) return false;
    cpu_relax();
  }
  return false;
}

void Dispatcher::update_metrics(int64_t now_ns) {
  next_metrics_ns_ = now_ns + kMetricsPeriodNs;
  waiting_gauge_->set(calls_.waiting());
  reply_bytes_gauge_->set(static_cast<int64_t>(reply_bytes()));
  long_requests_->add(calls_.parses().suspended() - long_requests_->value());
  responses_.update_metrics();
  calls_.shrink();
  hosts_.update_metrics();
}

// A host without calls is not told: it has nothing to send, and its end comes by the control socket. The lanes of a
// host with many active ones are looked at in several turns, during which sleep stays announced. A worker rings once
// for an announcement, and the event loop may have taken that ring: then sleep is announced anew, and all lanes are
// looked at.
bool Dispatcher::prepare_to_sleep() {
  if (std::exchange(looking_, false) && rung_) awake();
  rung_ = false;
  if (calls_.parses().busy() || hosts_.busy() || reflection_.busy() || (remote_ != nullptr && remote_->busy()) ||
      (channelz_ != nullptr && channelz_->busy(calls_.now_ns())))
    return true;
  for (const auto& link : links_.attached()) {
    if (link->active()) link->announce_sleep();
  }
  bool more = false;
  for (const auto& link : links_.attached()) {
    if (responses_.can_go_on(*link)) return true;
    if (link->failure() != nullptr) continue;
    HostLink::Look look = link->look_before_sleep();
    if (look == HostLink::Look::kReady) return true;
    more |= look == HostLink::Look::kMore;
  }
  looking_ = more;
  return more;
}

void Dispatcher::woke_up() {
  if (!looking_) awake();
}

void Dispatcher::awake() {
  looking_ = false;
  for (const auto& link : links_.attached()) link->awake();
}

int64_t Dispatcher::next_timer_ns() const {
  int64_t next = std::min({calls_.next_ns(), hosts_.next_ns(), requests_.next_ns()});
  if (remote_ != nullptr) next = std::min(next, remote_->next_ns());
  if (channelz_ != nullptr) next = std::min(next, channelz_->next_ns());
  for (const auto& link : links_.attached()) {
    next = std::min(next, link->next_flush_ns());
    if (!link->postponed.empty()) next = std::min(next, link->postponed.front().until_ns);
  }
  return next;
}

}  // namespace drover::engine
