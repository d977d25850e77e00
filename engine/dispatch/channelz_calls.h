// ChannelzCalls: calls of gRPC's channelz service, v1, which the engine answers itself.
//
//   request --> what is asked (ChannelzWant) --> each engine thread's part (ChannelzFound) --> added up --> answer
//                      '-- posted to the other threads ----------'
//
// The service is offered at the listeners of hosts that ask for it. What a client sees there are servers (hosts) and
// sockets of users: by default of the users of those hosts at its listener, whose servers elsewhere at this engine are
// seen, too (ChannelzScope). A server's sockets are the connections of its listeners.
//
// Work is bounded: kMostQueries at a time ask other threads, further calls wait; kAnswersPerTurn or kTurnNs of a turn;
// kMostServers and kMostSockets in an answer. A thread that does not answer in kPatienceNs ends the call in
// UNAVAILABLE. Thread-safety: none; one engine thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/metrics.h"
#include "engine/base/queue.h"
#include "engine/call/socket_view.h"
#include "engine/channelz/channelz_answer.h"
#include "engine/channelz/channelz_request.h"
#include "engine/dispatch/calls.h"
#include "engine/dispatch/engine_service.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

// What clients see where the service is offered.
enum class ChannelzScope : uint8_t {
  kUsers,   // of the users whose hosts ask for channelz at the client's listener
  kEngine,  // everything
};

// What one query asks each engine thread. Immutable once posted.
struct ChannelzWant {
  std::vector<uint64_t> hosts;      // whose calls are counted
  std::vector<uint32_t> listeners;  // whose connections are seen, each once; sorted
  int64_t first_socket = 0;         // id
  size_t most_sockets = 0;          // 0: none is listed
  uint64_t connection = 0;          // number on that thread; 0: none is asked for
};

// What one engine thread knows of it.
struct ChannelzFound {
  struct Calls {
    uint64_t started = 0, completed = 0, failed = 0;
    int64_t last_ns = 0;
  };
  std::vector<Calls> hosts;  // as in ChannelzWant; of a host that the thread does not have: zero
  std::vector<ChannelzAnswer::Ref> sockets;
  std::optional<SocketFacts> connection;
  bool no_memory = false;  // it has nothing of all this
};

class ChannelzCalls;

// How the engine threads' ChannelzCalls reach each other. Thread-safe.
class ChannelzThreads {
 public:
  virtual uint32_t count() const = 0;
  // Runs `work` on that thread; dropped if the thread has ended. Throws std::bad_alloc.
  virtual void post(uint32_t thread, std::function<void(ChannelzCalls&)> work) = 0;

 protected:
  ~ChannelzThreads() = default;
};

class ChannelzCalls final : public EngineService {
 public:
  static constexpr uint32_t kMaxRequest = 4096;    // bytes
  static constexpr size_t kMostServers = 100;      // in an answer, as in gRPC C++
  static constexpr size_t kMostSockets = 500;      // likewise
  static constexpr size_t kMostQueries = 4;        // that wait for other threads
  static constexpr uint32_t kAnswersPerTurn = 16;  // of all calls together
  static constexpr int64_t kTurnNs = 300'000;      // after which a turn answers no more
  static constexpr int64_t kPatienceNs = 5'000'000'000;

  // All of them outlive it. `threads`: null, there is this one alone.
  ChannelzCalls(uint32_t thread, ChannelzScope scope, Calls& calls, const HostLinks& links, ReplySink& replies,
                const SocketView& sockets, ChannelzThreads* threads, ThreadMetrics& metrics);
  ~ChannelzCalls();
  ChannelzCalls(const ChannelzCalls&) = delete;
  ChannelzCalls& operator=(const ChannelzCalls&) = delete;

  // ---- EngineService
  Route* route(uint32_t listener, std::string_view path) override;
  uint32_t max_request_bytes() const override { return kMaxRequest; }
  void message(CallState& state, std::string_view wire, More more) override;
  void half_close(CallState& state) override;
  void answer_sent(CallState& state) override;
  // Whether hosts ask for the service at that listener.
  bool offered(uint32_t listener) const;

  // Once a poll, if it is busy. True if it did anything.
  bool serve(int64_t now_ns);
  // serve() has something to do at once.
  bool busy(int64_t now_ns) const {
    return done_ != 0 || (!ready_.empty() && asking_ < kMostQueries) || now_ns >= next_ns();
  }
  // When it has at the latest.
  int64_t next_ns() const { return asking_ == 0 ? kNoDeadline : oldest_ns_ + kPatienceNs; }

  // ---- between engine threads
  // This thread's part of another's query. Never throws.
  ChannelzFound find(const ChannelzWant& want) const;
  // Another thread's part of a query of this one.
  void found(size_t query, uint64_t serial, const ChannelzFound& part);

 private:
  struct Named {
    Route route;
    ChannelzMethod method;
  };
  // A call whose request has come; the call may have ended.
  struct Ready {
    uint32_t call = 0, generation = 0;
    ChannelzRequest request;
  };
  struct Query {
    Ready ready;
    uint64_t serial = 0;   // which query it is; 0: none
    uint32_t awaited = 0;  // threads that have not answered
    int64_t since_ns = 0;
    bool end = true;                   // of a list of servers
    std::vector<ServerFacts> servers;  // whose calls are counted, in order
    ChannelzWant want;
    ChannelzFound sum;
  };

  bool sees(const HostLink& link, std::span<const uint32_t> users) const;
  std::vector<const HostLink*> visible(uint32_t listener) const;
  std::vector<uint32_t> listeners_of(std::span<const HostLink* const> hosts) const;
  ServerFacts describe(const HostLink& link) const;
  void begin(CallState& state, const Ready& ready);
  bool prepare(CallState& state, Query& query);
  bool prepare_socket(CallState& state, Query& query, std::span<const HostLink* const> hosts);
  void ask(Query& query);
  static void add(ChannelzFound& sum, const ChannelzFound& part);
  void finish(Query& query);
  void answer(CallState& state, Query& query);
  void send(CallState& state, std::string wire);
  void end(Query& query);
  void give_up(int64_t now_ns);

  const uint32_t thread_;
  const ChannelzScope scope_;
  Calls& calls_;
  const HostLinks& links_;
  ReplySink& replies_;
  const SocketView& sockets_;
  ChannelzThreads* const threads_;
  ThreadMetrics& metrics_;
  std::array<Named, kChannelzPaths.size()> methods_;
  Queue<Ready> ready_;
  std::array<Query, kMostQueries> queries_;
  size_t asking_ = 0;  // of queries_
  size_t done_ = 0;    // of those: all threads have answered
  uint64_t last_serial_ = 0;
  int64_t oldest_ns_ = 0;  // of those that ask; at most the time of the oldest
  Counter* requests_;
};

}  // namespace drover::engine
