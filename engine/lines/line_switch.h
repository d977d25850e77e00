// LineSwitch: the connections of one engine thread that carry RPC lines between hosts. A line comes out of one worker's
// responses ring and goes into another worker's requests ring, with the number that its receiver knows the connection
// by. One of the two may be a link to another engine, whose lines come and go in datagrams.
//
//   client's worker --responses ring--> take_line: LineLane[index] -> (host, worker, number) --requests ring-->
//   server's
//                  <--requests ring---                  ...                 <--responses ring---
//
// Nothing waits here: a request that finds its server's ring full is answered by a failed response RESOURCE_EXHAUSTED,
// a response that finds its client's ring full is dropped and counted, and so is what a host sends before it has heard
// that its connection is closed. A host, or a link, that sends what no working one sends *fails* (Link::fail).
//
// `Link` is a host on this engine thread, as HostLink has it:
//   lines(worker)                        a std::unique_ptr<Lane>&, null while no connection ends there
//   push_line(worker, slot, word) -> bool   false: no room now; `word` is the slot's bytes 8 to 15
//   push_close(worker, LineCloseSlot)    as soon as there is room, in order with the lines
//   keeps_up(worker) -> bool             false: something waits for room in its ring
//   connection_opened(worker), connection_closed(worker)
//   workers(), fail(why), and the members connections (ends here), opened (of them as a client), gone, next_line_end
// `Remote` is a link to another engine, with the same; it has one worker (RemoteLink).
// Thread-safety: none; one engine thread. A line allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "channel/layout.h"
#include "channel/line.h"
#include "engine/base/metrics.h"
#include "engine/base/status.h"
#include "engine/lines/line_lane.h"

namespace drover::engine {

struct LineSwitchOptions {
  uint32_t engine_threads = 1;
  uint32_t engine_thread = 0;
  uint32_t max_connections = 1024;  // that one host may have opened, on this thread; it serves at most kServed times
                                    // as many
};
inline constexpr uint32_t kServed = 16;

// Where leave() goes on with a host that is gone.
struct LineEndCursor {
  uint32_t worker = 0;
  uint32_t index = 0;
};

template <typename Link, typename Remote>
class LineSwitch {
 public:
  using Lane = LineLane<Link, Remote>;
  using End = LineEnd<Link, Remote>;

  LineSwitch(const LineSwitchOptions& options, ThreadMetrics& metrics)
      : options_(options),
        metrics_(metrics),
        forwarded_(metrics.counter("drover_lines_total", "RPC lines handed from one host to another, or to a link")),
        refused_(metrics.counter("drover_lines_dropped_total", "RPC lines that were not handed on",
                                 {{"why", "request_without_room"}})),
        lost_(metrics.counter("drover_lines_dropped_total", "RPC lines that were not handed on",
                              {{"why", "response_without_room"}})),
        late_(metrics.counter("drover_lines_dropped_total", "RPC lines that were not handed on", {{"why", "closed"}})),
        connections_(metrics.gauge("drover_line_connections", "Open connections of RPC lines")) {}
  ~LineSwitch() {
    for (const Counter* counter : {forwarded_, refused_, lost_, late_}) metrics_.remove(counter);
    metrics_.remove(connections_);
  }
  LineSwitch(const LineSwitch&) = delete;
  LineSwitch& operator=(const LineSwitch&) = delete;

  // The client's number of a new connection; nothing: `why` says what is used up. Workers are those of their hosts.
  // May throw bad_alloc, and has done nothing then.
  std::optional<uint16_t> open(Link& client, uint32_t client_worker, Link& server, uint32_t server_worker,
                               const char** why) {
    if (!may_open(client, why) || !may_serve(server, why)) return std::nullopt;
    std::optional<Ends> ends = take_ends(client, client_worker, server, server_worker, why);
    if (!ends) return std::nullopt;
    const uint16_t number = number_of(ends->client);
    join(client, client_worker, ends->client, number, server, server_worker, ends->server, number_of(ends->server),
         End::State::kOpen);
    return number;
  }

  // ---- connections through links

  // Asks nothing yet: the link's number of a connection that its other end is to be asked for; opened() or refused()
  // follows, or the end of the link. May throw bad_alloc, and has done nothing then.
  std::optional<uint16_t> begin(Link& client, uint32_t client_worker, Remote& remote, const char** why) {
    if (!may_open(client, why)) return std::nullopt;
    std::optional<Ends> ends = take_ends(client, client_worker, remote, 0, why);
    if (!ends) return std::nullopt;
    join(client, client_worker, ends->client, number_of(ends->client), remote, 0, ends->server, 0,
         End::State::kOpening);
    return static_cast<uint16_t>(ends->server);
  }
  // The other engine has opened it, with that number. The client's number; nothing: the client is gone, or the link has
  // failed, because no client had asked for that connection.
  std::optional<uint16_t> opened(Remote& remote, uint16_t index, uint16_t far_name) {
    End* end = opening(remote, index);
    if (end == nullptr) return std::nullopt;
    end->name = far_name;
    if (end->state == End::State::kAbandoned) {
      end->state = End::State::kClosing;
      remote.push_close(0, line_close(far_name));
      return std::nullopt;
    }
    End& client = (*end->peer->lines(end->peer_worker))[end->peer_index];
    client.peer_name = far_name;
    client.state = end->state = End::State::kOpen;
    return end->peer_name;
  }
  void refused(Remote& remote, uint16_t index) {
    End* end = opening(remote, index);
    if (end == nullptr) return;
    if (end->state == End::State::kOpening) {
      connections_->set(--open_);
      free(*end->peer, end->peer_worker, end->peer_index);
    }
    free(remote, 0, index);
  }
  // A connection that the other engine asks for, with its number there. Its number here; nothing: `why`. May throw
  // bad_alloc, and has done nothing then.
  std::optional<uint16_t> accept(Remote& remote, uint16_t far_name, Link& server, uint32_t server_worker,
                                 const char** why) {
    if (!may_serve(server, why)) return std::nullopt;
    std::optional<Ends> ends = take_ends(remote, 0, server, server_worker, why);
    if (!ends) return std::nullopt;
    join(remote, 0, ends->client, far_name, server, server_worker, ends->server, number_of(ends->server),
         End::State::kOpen);
    return static_cast<uint16_t>(ends->client);
  }

  // ---- what hosts and links send

  // A slot of LineType that came from that worker.
  template <typename From>
  void take_line(From& from, uint32_t worker, const Slot& slot) {
    const LineSlot& line = line_view(slot);
    End* end = find(from, worker, line.connection);
    if (end == nullptr) [[unlikely]]
      return from.fail("it sent a line of a connection that its worker does not have");
    const bool request = (line.flags & kLineResponse) == 0;
    if (!well_formed(line) || request != end->client) [[unlikely]]
      return from.fail("it sent a line that no end of that connection sends");
    if (end->state != End::State::kOpen) [[unlikely]]
      return late_->add();
    if (end->dropping && goes_on_dropping(*end, line)) [[unlikely]]
      return refused_->add();
    if (hand_on(*end, slot)) [[likely]]
      return forwarded_->add();
    if (!request) return lost_->add();
    refused_->add();
    end->dropping = (line.flags & kLineLast) == 0;
    end->dropped_call = line.call;
    refuse(from, worker, end->name, line.call);
  }

  // A slot of LineCloseType that came from that worker: it closes, or answers to having been told.
  template <typename From>
  void take_close(From& from, uint32_t worker, const Slot& slot) {
    auto close = slot_as<LineCloseSlot>(slot);
    End* end = find(from, worker, close.connection);
    if (end == nullptr || is_opening(*end)) return from.fail("it closed a connection that its worker does not have");
    if (end->state == End::State::kOpen) {
      close_peer(*end);
      from.push_close(worker, line_close(end->name));
      connections_->set(--open_);
    }
    free(from, worker, index_of<From>(close.connection));
  }

  // The host is gone: tells the other ends, at most *left of them, which is counted down. True: all have been told, and
  // nothing here refers to the host.
  template <typename From>
  bool leave(From& link, uint32_t* left) {
    LineEndCursor& at = link.next_line_end;
    for (; link.connections != 0 && at.worker < link.workers(); ++at.worker, at.index = 0) {
      Lane* lane = link.lines(at.worker).get();
      for (; lane != nullptr && at.index < lane->size(); ++at.index) {
        if (*left == 0) return false;
        --*left;
        End* end = lane->find(at.index);
        if (end == nullptr) continue;
        if (end->state == End::State::kOpen || end->state == End::State::kOpening) {
          end_peer(*end);
          connections_->set(--open_);
        }
        free(link, at.worker, at.index);
      }
    }
    return link.connections == 0;
  }

  uint64_t connections() const { return static_cast<uint64_t>(open_); }

 private:
  struct Ends {
    uint32_t client, server;  // indices
  };

  bool may_open(const Link& client, const char** why) const {
    if (client.opened < options_.max_connections) return true;
    *why = "the host has as many connections as it may have open (lines.max_connections)";
    return false;
  }
  bool may_serve(const Link& server, const char** why) const {
    if (server.connections < kServed * options_.max_connections) return true;
    *why = "the server has as many connections as it may have (16 times lines.max_connections)";
    return false;
  }

  template <typename From>
  std::optional<uint32_t> take_end(From& from, uint32_t worker) {
    std::unique_ptr<Lane>& lane = from.lines(worker);
    if (lane == nullptr) lane = std::make_unique<Lane>();
    if constexpr (std::is_same_v<From, Remote>) {
      return lane->take(from.most_connections());
    } else {
      return lane->take(kMaxConnectionNumbers / options_.engine_threads);
    }
  }
  template <typename Client, typename Server>
  std::optional<Ends> take_ends(Client& client, uint32_t client_worker, Server& server, uint32_t server_worker,
                                const char** why) {
    // Bounds what waits for room: at most one LINE_CLOSE for each connection that was open when the ring became full.
    if (!client.keeps_up(client_worker) || !server.keeps_up(server_worker)) {
      *why = "one of the two workers does not keep up with its ring";
      return std::nullopt;
    }
    std::optional<uint32_t> own = take_end(client, client_worker);
    std::optional<uint32_t> theirs;
    try {
      if (own) theirs = take_end(server, server_worker);
    } catch (...) {
      client.lines(client_worker)->free(*own);
      throw;
    }
    if (own && theirs) return Ends{*own, *theirs};
    if (own) client.lines(client_worker)->free(*own);
    *why = own ? "the server's worker has no connection number left" : "the worker has no connection number left";
    return std::nullopt;
  }
  template <typename Client, typename Server>
  void join(Client& client, uint32_t client_worker, uint32_t client_index, uint16_t client_name, Server& server,
            uint32_t server_worker, uint32_t server_index, uint16_t server_name, typename End::State state) {
    auto lead = [state](End& end, auto& to, uint32_t worker, uint32_t index, uint16_t name, uint16_t own_name) {
      end = End{};
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(to)>, Remote>) {
        end.remote = &to;
      } else {
        end.peer = &to;
      }
      end.peer_worker = worker;
      end.peer_index = static_cast<uint16_t>(index);
      end.peer_name = name;
      end.name = own_name;
      end.state = state;
    };
    End& own = (*client.lines(client_worker))[client_index];
    lead(own, server, server_worker, server_index, server_name, client_name);
    own.client = true;
    lead((*server.lines(server_worker))[server_index], client, client_worker, client_index, client_name, server_name);
    ++client.opened;
    client.connection_opened(client_worker);
    server.connection_opened(server_worker);
    connections_->set(++open_);
  }

  uint16_t number_of(uint32_t index) const {
    return static_cast<uint16_t>(connection_number(index, options_.engine_threads, options_.engine_thread));
  }
  // A link's numbers are its own; a host's are shared out to the engine threads.
  template <typename From>
  uint32_t index_of(uint16_t number) const {
    return std::is_same_v<From, Remote> ? number : connection_index(number, options_.engine_threads);
  }
  template <typename From>
  End* find(From& from, uint32_t worker, uint16_t number) {
    Lane* lane = from.lines(worker).get();
    if (lane == nullptr) [[unlikely]]
      return nullptr;
    if constexpr (!std::is_same_v<From, Remote>) {
      if (connection_thread(number, options_.engine_threads) != options_.engine_thread) [[unlikely]]
        return nullptr;
    }
    return lane->find(index_of<From>(number));
  }
  static bool is_opening(const End& end) {
    return end.state == End::State::kOpening || end.state == End::State::kAbandoned;
  }
  // Of a link, one that it was asked for; null: the link has failed.
  End* opening(Remote& remote, uint16_t index) {
    End* end = find(remote, 0, index);
    if (end != nullptr && is_opening(*end)) return end;
    remote.fail("it answered for a connection that it was not asked for");
    return nullptr;
  }

  static bool hand_on(End& end, const Slot& slot) {
    const LineSlot& line = line_view(slot);
    const uint64_t word = line_word1(line.call, end.peer_name, line.index, line.length);
    if (end.peer != nullptr) [[likely]]
      return end.peer->push_line(end.peer_worker, slot, word);
    return end.remote->push_line(0, slot, word);
  }

  // Whether the line belongs to the message that is being dropped; a line of another message ends that.
  static bool goes_on_dropping(End& end, const LineSlot& line) {
    bool same = line.index != 0 && line.call == end.dropped_call;
    end.dropping = same && (line.flags & kLineLast) == 0;
    return same;
  }

  // Answers a request that goes nowhere. With a full ring its client is behind, and has time-outs for that.
  template <typename From>
  void refuse(From& from, uint32_t worker, uint16_t name, uint32_t call) {
    LineSlot answer{};
    answer.type = kLineType;
    answer.flags = kLineResponse | kLineLast | kLineFailed;
    answer.function = static_cast<uint16_t>(StatusCode::kResourceExhausted);
    if (!from.push_line(worker, to_slot(answer), line_word1(call, name, 0, 0))) lost_->add();
  }

  // The other end of one that ends. What is gone is not told; its own leave() frees what is left here.
  void close_peer(End& end) {
    if (end.peer != nullptr) return tell_closed(*end.peer, end.peer_worker, end.peer_index);
    tell_closed(*end.remote, 0, end.peer_index);
  }
  template <typename To>
  void tell_closed(To& to, uint32_t worker, uint32_t index) {
    End& end = (*to.lines(worker))[index];
    end.state = End::State::kClosing;
    end.peer = nullptr;
    end.remote = nullptr;
    if (!to.gone) to.push_close(worker, line_close(end.name));
  }
  // As close_peer, also of one that is being opened: its host does not know of it, and a link's answer may follow.
  void end_peer(End& end) {
    if (end.state == End::State::kOpen) return close_peer(end);
    if (end.peer != nullptr) return free(*end.peer, end.peer_worker, end.peer_index);
    End& asked = (*end.remote->lines(0))[end.peer_index];
    asked.state = End::State::kAbandoned;
    asked.peer = nullptr;
  }

  template <typename From>
  void free(From& from, uint32_t worker, uint32_t index) {
    End& end = (*from.lines(worker))[index];
    if (end.client) --from.opened;
    from.lines(worker)->free(index);
    from.connection_closed(worker);
  }

  const LineSwitchOptions options_;
  ThreadMetrics& metrics_;
  int64_t open_ = 0;
  Counter* forwarded_;
  Counter* refused_;
  Counter* lost_;
  Counter* late_;
  Gauge* connections_;
};

}  // namespace drover::engine
