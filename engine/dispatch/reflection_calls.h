// ReflectionCalls: calls of the server reflection service, which the engine answers itself from what its hosts describe
// (engine/reflection/). They are calls like others (CallState, Calls), but have no host:
//
//   open --> message --> input (wire bytes) --> answer, one at a time --> reply_sent --> the next
//                                               '-- a few a turn
//
// A call sees the hosts that ask for reflection and serve its listener at the time of each request. Without any, the
// service is unknown there.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/metrics.h"
#include "engine/base/queue.h"
#include "engine/call/call.h"
#include "engine/dispatch/calls.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

class ReflectionCalls {
 public:
  static constexpr uint32_t kMaxRequest = 64 << 10;  // bytes of a request: names are short
  static constexpr uint32_t kAnswersPerTurn = 32;    // of all calls together
  static constexpr int64_t kTurnNs = 300'000;        // after which a turn answers no more

  // All of them outlive it.
  ReflectionCalls(Calls& calls, const HostLinks& links, ReplySink& replies, ThreadMetrics& metrics);
  ~ReflectionCalls();
  ReflectionCalls(const ReflectionCalls&) = delete;
  ReflectionCalls& operator=(const ReflectionCalls&) = delete;

  // The route of a path that no host serves; null: it is not the service's, or no host asks for reflection.
  Route* route(uint32_t listener, std::string_view path);
  static bool has(const CallState& state) { return state.route->served_by_engine; }

  // ---- of a call that it has, as in CallSink
  void message(CallState& state, std::string_view wire, More more);
  void half_close(CallState& state);
  void answer_sent(CallState& state);

  // Once a poll, if it is busy. True if it did anything.
  bool serve();
  // serve() has something to do at once.
  bool busy() const { return !ready_.empty(); }

 private:
  struct Named {
    Route route;
    std::string_view path;
  };
  // A call whose input can be answered; the call may have ended.
  struct Ready {
    uint32_t call, generation;
  };
  bool describes(const HostLink& link, uint32_t listener) const;
  void ready(CallState& state);
  void go_on(CallState& state);
  bool answer(CallState& state, std::string_view wire);

  Calls& calls_;
  const HostLinks& links_;
  ReplySink& replies_;
  ThreadMetrics& metrics_;
  Named services_[2];
  Queue<Ready> ready_;
  Counter* requests_;
};

}  // namespace drover::engine
