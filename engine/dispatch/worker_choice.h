// WorkerChoice: which worker of which host takes a call, among those that serve its method and have room.
//
//   round robin         each worker of all hosts of the route after the other
//   least outstanding   the worker with the fewest uncompleted calls; with more than 16 workers, the best of the next
//   16
//
// The counts are the engine thread's own. Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <span>

#include "engine/dispatch/host_link.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

class WorkerChoice {
 public:
  enum class Policy { kRoundRobin, kLeastOutstanding };
  enum class Found { kWorker, kNoHost, kNoRoom };
  struct Choice {
    HostLink* link = nullptr;
    uint32_t method = 0;  // the route's number at that host
    uint32_t worker = 0;
    Found found = Found::kWorker;
  };

  explicit WorkerChoice(Policy policy) : policy_(policy) {}

  // A worker whose ring has room, and whose host has `wanted_chunks` of rx memory. `preferred`, if not null: the host
  // in whose region the request lies already, where it is decoded without copying its strings.
  Choice choose(Route& route, const HostLink* preferred, uint32_t wanted_chunks) const;
  // The same of one host.
  Choice choose_at(Route::Target& target, uint32_t wanted_chunks) const;
  // A worker of that host whose ring has room: `first`, or one of the next 16. UINT32_MAX: none of them.
  static uint32_t with_room(HostLink& link, uint32_t first);

 private:
  Choice pick(uint32_t& cursor, std::span<const Route::Target> targets, uint32_t wanted_chunks) const;

  const Policy policy_;
};

}  // namespace drover::engine
