// Texts of errors are those of gRPC C++'s channelz service, where it has them.
#include "engine/dispatch/channelz_calls.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <string>
#include <utility>

#include "channel/control.h"

namespace drover::engine {
namespace {

// Listening sockets of a list of servers, whose addresses are looked up: it ends before the server that passes them.
constexpr size_t kMostListening = 256;
constexpr std::string_view kNoSocket = "No object found for that SocketId";

bool over(const CallState& state) {
  return state.phase == CallState::Phase::kReplied || state.phase == CallState::Phase::kOver;
}

// CLOCK_REALTIME minus CLOCK_MONOTONIC.
int64_t wall_offset_ns() {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  return wall.tv_sec * int64_t{1'000'000'000} + wall.tv_nsec - monotonic_ns();
}

// How many results a list has at most.
size_t most_results(int64_t asked, size_t most) {
  return asked == 0 ? most : static_cast<size_t>(std::min<int64_t>(asked, static_cast<int64_t>(most)));
}

bool serves(const HostLink& link, uint32_t listener) {
  const auto& at = link.host().listeners;
  return std::find(at.begin(), at.end(), listener) != at.end();
}

const HostLink* find_host(std::span<const HostLink* const> hosts, int64_t id) {
  const EntityId entity = EntityId::of(id);
  if (entity.kind != EntityKind::kServer) return nullptr;
  for (const HostLink* link : hosts) {
    if (link->host().id == entity.number) return link;
  }
  return nullptr;
}

}  // namespace

ChannelzCalls::ChannelzCalls(uint32_t thread, ChannelzScope scope, Calls& calls, const HostLinks& links,
                             ReplySink& replies, const SocketView& sockets, ChannelzThreads* threads,
                             ThreadMetrics& metrics)
    : thread_(thread),
      scope_(scope),
      calls_(calls),
      links_(links),
      replies_(replies),
      sockets_(sockets),
      threads_(threads),
      metrics_(metrics),
      requests_(metrics.counter("drover_channelz_requests_total", "Requests of channelz that were answered")) {
  for (size_t i = 0; i < methods_.size(); ++i) methods_[i].method = static_cast<ChannelzMethod>(i);
}

ChannelzCalls::~ChannelzCalls() {
  for (Named& method : methods_) {
    if (method.route.metrics != nullptr) metrics_.release(method.route.metrics);
  }
  metrics_.remove(requests_);
}

// ---- calls

bool ChannelzCalls::offered(uint32_t listener) const {
  const auto attached = links_.attached();
  return std::any_of(attached.begin(), attached.end(), [&](const auto& link) {
    return link->host().channelz && !link->leaving && serves(*link, listener);
  });
}

Route* ChannelzCalls::route(uint32_t listener, std::string_view path) {
  const auto known = std::find(kChannelzPaths.begin(), kChannelzPaths.end(), path);
  if (known == kChannelzPaths.end() || !offered(listener)) return nullptr;
  Route& route = methods_[static_cast<size_t>(known - kChannelzPaths.begin())].route;
  if (route.metrics == nullptr) {
    route.metrics = metrics_.method(*known);
    route.path = route.metrics->path();
    route.flags = kMethodStreams;
    route.service = this;
  }
  return &route;
}

void ChannelzCalls::message(CallState& state, std::string_view wire, More) {
  if (over(state)) return;
  StreamState& stream = *state.stream;
  replies_.consumed(*state.call, 1, wire.size());
  if (stream.stalled) return calls_.fail(state, StatusCode::kInternal, "more than one message in a unary request");
  stream.stalled = true;
  const auto method =
      std::find_if(methods_.begin(), methods_.end(), [&](const Named& named) { return &named.route == state.route; });
  const auto request = parse_channelz(method->method, wire);
  if (!request) return calls_.fail(state, StatusCode::kInternal, "the request is no channelz request");
  if (request->start < 0 || request->max_results < 0) {
    return calls_.fail(state, StatusCode::kInvalidArgument, "a request for a list has a negative start or max_results");
  }
  try {
    ready_.push({state.index, state.generation, *request});
  } catch (const std::bad_alloc&) {
    calls_.fail(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  }
}

void ChannelzCalls::half_close(CallState& state) {
  if (over(state) || state.stream->stalled) return;
  calls_.fail(state, StatusCode::kInternal, "no message in a unary request");
}

void ChannelzCalls::answer_sent(CallState& state) { calls_.drop_answer(state); }

// ---- turns

bool ChannelzCalls::serve(int64_t now_ns) {
  if (asking_ != 0) {
    for (Query& query : queries_) {
      if (query.serial == 0 || query.awaited != 0) continue;
      --done_;
      finish(query);
    }
    if (now_ns >= next_ns()) give_up(now_ns);
  }
  const int64_t end_ns = monotonic_ns() + kTurnNs;
  for (uint32_t left = kAnswersPerTurn; left != 0 && !ready_.empty() && asking_ < kMostQueries; --left) {
    const Ready next = ready_.pop();
    CallState* state = calls_.find(next.call, next.generation);
    if (state != nullptr && !over(*state)) begin(*state, next);
    if (monotonic_ns() >= end_ns) break;
  }
  return true;
}

// A query in a free place; asking_ < kMostQueries.
void ChannelzCalls::begin(CallState& state, const Ready& ready) {
  Query& query = *std::find_if(queries_.begin(), queries_.end(), [](const Query& one) { return one.serial == 0; });
  query.ready = ready;
  query.serial = ++last_serial_;
  query.since_ns = calls_.now_ns();
  if (asking_++ == 0) oldest_ns_ = query.since_ns;
  try {
    if (!prepare(state, query)) return end(query);
    ask(query);
    if (query.awaited == 0) finish(query);
  } catch (const std::bad_alloc&) {
    end(query);
    calls_.fail(state, StatusCode::kResourceExhausted, Calls::kNoMemory);
  }
}

void ChannelzCalls::end(Query& query) {
  query = Query();
  --asking_;
  oldest_ns_ = INT64_MAX - kPatienceNs;
  for (const Query& one : queries_) {
    if (one.serial != 0) oldest_ns_ = std::min(oldest_ns_, one.since_ns);
  }
}

void ChannelzCalls::give_up(int64_t now_ns) {
  for (Query& query : queries_) {
    if (query.serial == 0 || now_ns < query.since_ns + kPatienceNs) continue;
    CallState* state = calls_.find(query.ready.call, query.ready.generation);
    end(query);
    if (state != nullptr && !over(*state)) {
      calls_.fail(*state, StatusCode::kUnavailable, "an engine thread did not answer in time");
    }
  }
}

// ---- what a client sees

bool ChannelzCalls::sees(const HostLink& link, std::span<const uint32_t> users) const {
  return !link.leaving &&
         (scope_ == ChannelzScope::kEngine || std::find(users.begin(), users.end(), link.host().user) != users.end());
}

// By id.
std::vector<const HostLink*> ChannelzCalls::visible(uint32_t listener) const {
  std::vector<uint32_t> users;
  for (const auto& link : links_.attached()) {
    if (link->host().channelz && !link->leaving && serves(*link, listener)) users.push_back(link->host().user);
  }
  std::vector<const HostLink*> hosts;
  for (const auto& link : links_.attached()) {
    if (sees(*link, users)) hosts.push_back(link.get());
  }
  std::sort(hosts.begin(), hosts.end(),
            [](const HostLink* a, const HostLink* b) { return a->host().id < b->host().id; });
  return hosts;
}

std::vector<uint32_t> ChannelzCalls::listeners_of(std::span<const HostLink* const> hosts) const {
  std::vector<uint32_t> all;
  for (const HostLink* link : hosts)
    all.insert(all.end(), link->host().listeners.begin(), link->host().listeners.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

ServerFacts ChannelzCalls::describe(const HostLink& link) const {
  const HostAttachment& host = link.host();
  ServerFacts facts;
  facts.host = host.id;
  facts.name = host.name + " (pid " + std::to_string(host.pid) + ")";
  for (const uint32_t listener : host.listeners)
    facts.listen.push_back({listener, sockets_.listener_address(listener)});
  return facts;
}

// What the query asks for. False: its call has been answered.
bool ChannelzCalls::prepare(CallState& state, Query& query) {
  const ChannelzRequest& request = query.ready.request;
  const std::vector<const HostLink*> hosts = visible(state.call->listener);
  const auto not_found = [&](std::string_view why) { return calls_.fail(state, StatusCode::kNotFound, why), false; };
  switch (request.method) {
    case ChannelzMethod::kTopChannels:
      return send(state, ChannelzAnswer::top_channels()), false;
    case ChannelzMethod::kChannel:
      return not_found("No object found for that ChannelId");
    case ChannelzMethod::kSubchannel:
      return not_found("No object found for that SubchannelId");
    case ChannelzMethod::kServers: {
      const size_t most = most_results(request.max_results, kMostServers);
      size_t listening = 0;
      for (const HostLink* link : hosts) {
        if (EntityId{EntityKind::kServer, link->host().id, 0}.value() < request.start) continue;
        listening += link->host().listeners.size();
        query.end = query.servers.size() < most && (query.servers.empty() || listening <= kMostListening);
        if (!query.end) break;
        query.servers.push_back(describe(*link));
      }
      break;
    }
    case ChannelzMethod::kServer: {
      const HostLink* link = find_host(hosts, request.id);
      if (link == nullptr) return not_found("No object found for that ServerId");
      query.servers.push_back(describe(*link));
      break;
    }
    case ChannelzMethod::kServerSockets: {
      const HostLink* link = find_host(hosts, request.id);
      if (link == nullptr) return not_found("No object found for that ServerId");
      query.want.listeners = listeners_of({&link, 1});
      query.want.first_socket = request.start;
      query.want.most_sockets = most_results(request.max_results, kMostSockets) + 1;  // one more tells whether more are
      break;
    }
    case ChannelzMethod::kSocket:
      return prepare_socket(state, query, hosts);
  }
  for (const ServerFacts& server : query.servers) query.want.hosts.push_back(server.host);
  query.sum.hosts.resize(query.servers.size());
  return true;
}

bool ChannelzCalls::prepare_socket(CallState& state, Query& query, std::span<const HostLink* const> hosts) {
  const EntityId entity = EntityId::of(query.ready.request.id);
  std::vector<uint32_t> listeners = listeners_of(hosts);
  if (entity.kind == EntityKind::kListener && entity.number <= UINT32_MAX) {
    const auto id = static_cast<uint32_t>(entity.number);
    const bool seen = std::binary_search(listeners.begin(), listeners.end(), id);
    std::string address = seen ? sockets_.listener_address(id) : std::string();
    if (!address.empty()) return send(state, ChannelzAnswer::listener({id, std::move(address)})), false;
  }
  if (entity.kind != EntityKind::kConnection || entity.number == 0) {
    return calls_.fail(state, StatusCode::kNotFound, kNoSocket), false;
  }
  query.want.listeners = std::move(listeners);
  query.want.connection = entity.number;
  return true;
}

// ---- gathering

// This thread's part at once, the others' by post.
void ChannelzCalls::ask(Query& query) {
  const uint32_t threads = threads_ == nullptr ? 1 : threads_->count();
  const bool one = query.want.connection != 0;
  const uint32_t wanted = one ? EntityId::of(query.ready.request.id).thread : 0;
  auto asks = [&](uint32_t thread) { return !one || thread == wanted; };
  if (asks(thread_)) add(query.sum, find(query.want));
  if (threads == 1) return;
  const auto want = std::make_shared<const ChannelzWant>(query.want);
  const size_t place = static_cast<size_t>(&query - queries_.data());
  for (uint32_t thread = 0; thread < threads; ++thread) {
    if (thread == thread_ || !asks(thread)) continue;
    threads_->post(thread, [want, place, serial = query.serial, home = thread_, threads = threads_](auto& there) {
      auto part = std::make_shared<const ChannelzFound>(there.find(*want));
      threads->post(home, [place, serial, part](auto& here) { here.found(place, serial, *part); });
    });
    ++query.awaited;
  }
}

ChannelzFound ChannelzCalls::find(const ChannelzWant& want) const {
  ChannelzFound found;
  try {
    found.hosts.resize(want.hosts.size());
    for (const auto& link : links_.attached()) {
      const auto at = std::find(want.hosts.begin(), want.hosts.end(), link->host().id);
      if (at == want.hosts.end()) continue;
      found.hosts[static_cast<size_t>(at - want.hosts.begin())] = {link->completed + link->running, link->completed,
                                                                   link->failed, link->last_call_ns};
    }
    if (want.most_sockets != 0) {
      std::vector<SocketName> names;
      sockets_.list(want.listeners, EntityId::first_connection(want.first_socket, thread_), want.most_sockets, &names);
      for (SocketName& name : names) {
        found.sockets.push_back(
            {EntityId{EntityKind::kConnection, name.number, thread_}.value(), std::move(name.remote)});
      }
    }
    SocketFacts facts;
    if (want.connection != 0 && sockets_.find(want.listeners, want.connection, &facts)) {
      found.connection = std::move(facts);
    }
  } catch (const std::bad_alloc&) {
    found = {};
    found.no_memory = true;
  }
  return found;
}

void ChannelzCalls::add(ChannelzFound& sum, const ChannelzFound& part) {
  sum.no_memory |= part.no_memory;
  for (size_t i = 0; i < std::min(sum.hosts.size(), part.hosts.size()); ++i) {
    sum.hosts[i].started += part.hosts[i].started;
    sum.hosts[i].completed += part.hosts[i].completed;
    sum.hosts[i].failed += part.hosts[i].failed;
    sum.hosts[i].last_ns = std::max(sum.hosts[i].last_ns, part.hosts[i].last_ns);
  }
  sum.sockets.insert(sum.sockets.end(), part.sockets.begin(), part.sockets.end());
  if (part.connection) sum.connection = part.connection;
}

void ChannelzCalls::found(size_t place, uint64_t serial, const ChannelzFound& part) {
  Query& query = queries_[place];
  if (query.serial != serial || query.awaited == 0) return;  // it was given up
  try {
    add(query.sum, part);
  } catch (const std::bad_alloc&) {
    query.sum.no_memory = true;
  }
  if (--query.awaited == 0) ++done_;
}

// ---- answers

// All threads have answered. The place is free afterwards.
void ChannelzCalls::finish(Query& query) {
  CallState* state = calls_.find(query.ready.call, query.ready.generation);
  if (state != nullptr && !over(*state)) {
    try {
      if (query.sum.no_memory) throw std::bad_alloc();
      answer(*state, query);
    } catch (const std::bad_alloc&) {
      calls_.fail(*state, StatusCode::kResourceExhausted, Calls::kNoMemory);
    }
  }
  end(query);
}

// `state` may be free when this returns.
void ChannelzCalls::answer(CallState& state, Query& query) {
  const int64_t wall_ns = wall_offset_ns();
  const ChannelzRequest& request = query.ready.request;
  for (size_t i = 0; i < query.servers.size(); ++i) {
    const ChannelzFound::Calls& calls = query.sum.hosts[i];
    ServerFacts& server = query.servers[i];
    server.started = calls.started;
    server.failed = std::min(calls.failed, calls.completed);
    server.succeeded = calls.completed - server.failed;
    server.last_call_ns = calls.last_ns;
  }
  switch (request.method) {
    case ChannelzMethod::kServers:
      return send(state, ChannelzAnswer::servers(query.servers, query.end, wall_ns));
    case ChannelzMethod::kServer:
      return send(state, ChannelzAnswer::server(query.servers.front(), wall_ns));
    case ChannelzMethod::kServerSockets: {
      auto& sockets = query.sum.sockets;
      std::sort(sockets.begin(), sockets.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
      const size_t most = query.want.most_sockets - 1;
      const bool all = sockets.size() <= most;
      return send(state, ChannelzAnswer::sockets({sockets.data(), all ? sockets.size() : most}, all));
    }
    default:
      if (query.sum.connection) {
        return send(state, ChannelzAnswer::connection(request.id, *query.sum.connection, wall_ns));
      }
      return calls_.fail(state, StatusCode::kNotFound, kNoSocket);
  }
}

// Answers the call, and ends it. `state` may be free when this returns. Throws std::bad_alloc before anything is sent.
void ChannelzCalls::send(CallState& state, std::string wire) {
  const uint32_t call = state.index, generation = state.generation;
  requests_->add();
  if (!calls_.send_answer(state, std::make_unique<ChannelzAnswer>(std::move(wire)))) return;
  if (CallState* still = calls_.find(call, generation); still != nullptr && !over(*still)) {
    calls_.fail(*still, StatusCode::kOk, {});
  }
}

}  // namespace drover::engine
