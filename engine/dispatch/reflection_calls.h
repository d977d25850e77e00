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
#include "engine/dispatch/channelz_calls.h"
#include "engine/dispatch/engine_service.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

class ReflectionCalls final : public EngineService {
 public:
  static constexpr uint32_t kMaxRequest = 64 << 10;  // bytes of a request: names are short
  static constexpr uint32_t kAnswersPerTurn = 32;    // of all calls together
  static constexpr int64_t kTurnNs = 300'000;        // after which a turn answers no more

  // All of them outlive it.
  ReflectionCalls(Calls& calls, const HostLinks& links, ReplySink& replies, ThreadMetrics& metrics);
  ~ReflectionCalls();
  ReflectionCalls(const ReflectionCalls&) = delete;
  ReflectionCalls& operator=(const ReflectionCalls&) = delete;

  // Also describes channelz, where it is offered. It outlives the calls of this thread.
  void describe(const ChannelzCalls& channelz) { channelz_ = &channelz; }

  // ---- EngineService
  Route* route(uint32_t listener, std::string_view path) override;
  uint32_t max_request_bytes() const override { return kMaxRequest; }
  void message(CallState& state, std::string_view wire, More more) override;
  void half_close(CallState& state) override;
  void answer_sent(CallState& state) override;

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
  const ChannelzCalls* channelz_ = nullptr;
  Named services_[2];
  Queue<Ready> ready_;
  Counter* requests_;
};

}  // namespace drover::engine
