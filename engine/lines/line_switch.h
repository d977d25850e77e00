// LineSwitch: the connections of one engine thread that carry RPC lines between hosts. A line comes out of one worker's
// responses ring and goes into another worker's requests ring, with the number that its receiver knows the connection
// by.
//
//   client's worker --responses ring--> take_line: LineLane[index] -> (host, worker, number) --requests ring-->
//   server's
//                  <--requests ring---                  ...                 <--responses ring---
//
// Nothing waits here: a request that finds its server's ring full is answered by a failed response RESOURCE_EXHAUSTED,
// a response that finds its client's ring full is dropped and counted, and so is what a host sends before it has heard
// that its connection is closed. A host that sends what no working host sends *fails* (Link::fail).
//
// `Link` is a host on this engine thread, as HostLink has it:
//   lines(worker)                        a std::unique_ptr<LineLane<Link>>&, null while no connection ends there
//   push_line(worker, slot, word) -> bool   false: no room now; `word` is the slot's bytes 8 to 15
//   push_close(worker, LineCloseSlot)    as soon as there is room, in order with the lines
//   keeps_up(worker) -> bool             false: something waits for room in its ring
//   connection_opened(worker), connection_closed(worker)
//   workers(), fail(why), and the members connections (ends here), opened (of them as a client), gone, next_line_end
// Thread-safety: none; one engine thread. A line allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

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

template <typename Link>
class LineSwitch {
 public:
  using Lane = LineLane<Link>;
  using End = LineEnd<Link>;

  LineSwitch(const LineSwitchOptions& options, ThreadMetrics& metrics)
      : options_(options),
        metrics_(metrics),
        forwarded_(metrics.counter("drover_lines_total", "RPC lines handed from one host to another")),
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
    if (client.opened >= options_.max_connections) {
      *why = "the host has as many connections as it may have open (lines.max_connections)";
      return std::nullopt;
    }
    if (server.connections >= kServed * options_.max_connections) {
      *why = "the server has as many connections as it may have (16 times lines.max_connections)";
      return std::nullopt;
    }
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
    if (!theirs) {
      if (own) client.lines(client_worker)->free(*own);
      *why = own ? "the server's worker has no connection number left" : "the worker has no connection number left";
      return std::nullopt;
    }
    const uint16_t own_number = number_of(*own), their_number = number_of(*theirs);
    (*client.lines(client_worker))[*own] = {&server, server_worker, their_number, End::State::kOpen, true};
    (*server.lines(server_worker))[*theirs] = {&client, client_worker, own_number, End::State::kOpen, false};
    ++client.opened;
    client.connection_opened(client_worker);
    server.connection_opened(server_worker);
    connections_->set(++open_);
    return own_number;
  }

  // A slot of LineType that came from that worker.
  void take_line(Link& from, uint32_t worker, const Slot& slot) {
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
    if (end->peer->push_line(end->peer_worker, slot, line_word1(line.call, end->peer_number, line.index, line.length)))
        [[likely]] {
      return forwarded_->add();
    }
    if (!request) return lost_->add();
    refused_->add();
    end->dropping = (line.flags & kLineLast) == 0;
    end->dropped_call = line.call;
    refuse(from, worker, line.connection, line.call);
  }

  // A slot of LineCloseType that came from that worker: it closes, or answers to having been told.
  void take_close(Link& from, uint32_t worker, const Slot& slot) {
    auto close = slot_as<LineCloseSlot>(slot);
    End* end = find(from, worker, close.connection);
    if (end == nullptr) return from.fail("it closed a connection that its worker does not have");
    if (end->state == End::State::kOpen) {
      close_peer(*end);
      from.push_close(worker, line_close(close.connection));
      connections_->set(--open_);
    }
    free(from, worker, connection_index(close.connection, options_.engine_threads));
  }

  // The host is gone: tells the other ends, at most *left of them, which is counted down. True: all have been told, and
  // nothing here refers to the host.
  bool leave(Link& link, uint32_t* left) {
    LineEndCursor& at = link.next_line_end;
    for (; link.connections != 0 && at.worker < link.workers(); ++at.worker, at.index = 0) {
      Lane* lane = link.lines(at.worker).get();
      for (; lane != nullptr && at.index < lane->size(); ++at.index) {
        if (*left == 0) return false;
        --*left;
        End* end = lane->find(at.index);
        if (end == nullptr) continue;
        if (end->state == End::State::kOpen) {
          close_peer(*end);
          connections_->set(--open_);
        }
        free(link, at.worker, at.index);
      }
    }
    return link.connections == 0;
  }

  uint64_t connections() const { return static_cast<uint64_t>(open_); }

 private:
  std::optional<uint32_t> take_end(Link& link, uint32_t worker) {
    std::unique_ptr<Lane>& lane = link.lines(worker);
    if (lane == nullptr) lane = std::make_unique<Lane>();
    return lane->take(kMaxConnectionNumbers / options_.engine_threads);
  }
  uint16_t number_of(uint32_t index) const {
    return static_cast<uint16_t>(connection_number(index, options_.engine_threads, options_.engine_thread));
  }

  End* find(Link& link, uint32_t worker, uint16_t number) {
    Lane* lane = link.lines(worker).get();
    if (lane == nullptr || connection_thread(number, options_.engine_threads) != options_.engine_thread) [[unlikely]]
      return nullptr;
    return lane->find(connection_index(number, options_.engine_threads));
  }

  // Whether the line belongs to the message that is being dropped; a line of another message ends that.
  static bool goes_on_dropping(End& end, const LineSlot& line) {
    bool same = line.index != 0 && line.call == end.dropped_call;
    end.dropping = same && (line.flags & kLineLast) == 0;
    return same;
  }

  // Answers a request that goes nowhere. With a full ring its client is behind, and has time-outs for that.
  void refuse(Link& from, uint32_t worker, uint16_t number, uint32_t call) {
    LineSlot answer{};
    answer.type = kLineType;
    answer.flags = kLineResponse | kLineLast | kLineFailed;
    answer.function = static_cast<uint16_t>(StatusCode::kResourceExhausted);
    if (!from.push_line(worker, to_slot(answer), line_word1(call, number, 0, 0))) lost_->add();
  }

  // The other end of one that ends. A host that is gone is not told; its own leave() frees what is left here.
  void close_peer(End& end) {
    Link& peer = *end.peer;
    uint32_t index = connection_index(end.peer_number, options_.engine_threads);
    End& other = (*peer.lines(end.peer_worker))[index];
    other.state = End::State::kClosing;
    other.peer = nullptr;
    if (!peer.gone) peer.push_close(end.peer_worker, line_close(end.peer_number));
  }

  void free(Link& link, uint32_t worker, uint32_t index) {
    End& end = (*link.lines(worker))[index];
    if (end.client) --link.opened;
    link.lines(worker)->free(index);
    link.connection_closed(worker);
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
