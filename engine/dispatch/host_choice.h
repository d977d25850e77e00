// HostChoice: which of several hosts takes a call of a method that has a rule (engine/balance/balance_rules.h). The
// worker at that host is WorkerChoice's, as everywhere.
//
//   round robin         the hosts take turns, however many workers each has
//   least outstanding   the host with the fewest uncompleted calls, equals in turn; of more than 16 hosts, the better
//                       one of two at random
//   hash                rendezvous hashing (Thaler, Ravishankar: "Using name-based mappings to increase hit rates",
//                       1998): the host whose node has the highest weight with the key. One that comes or goes moves
//                       its own share of the keys and no other. With a bound, a host that has more than its part of the
//                       calls under way is passed over (Mirrokni, Thorup, Zadimoghaddam: "Consistent hashing with
//                       bounded loads", 2018).
//
// A host without room is passed over, too: the next one in the key's order takes the call, so that one full host does
// not hold up the keys of the others. Calls without a key go to the hosts in turn. A stream's key is in its metadata:
// its worker is chosen before its first message.
//
// At most 64 hosts are attached (ControlOptions::max_hosts), so that a choice among all of them is bounded. The counts
// are the engine thread's own. Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/balance/balance_rules.h"
#include "engine/balance/field_path.h"
#include "engine/base/metrics.h"
#include "engine/call/call.h"
#include "engine/dispatch/route_table.h"
#include "engine/dispatch/worker_choice.h"

namespace drover::engine {

class HostChoice {
 public:
  using Choice = WorkerChoice::Choice;
  struct Request {
    const Call& call;
    std::string_view wire;  // of a request that is whole; empty: of a stream, or one that is still arriving
    bool arriving = false;  // it is chosen again once the request is whole: the counters wait for that
  };

  // Both outlive it.
  HostChoice(const WorkerChoice& workers, const HashSeed& seed, ThreadMetrics& metrics);
  ~HostChoice();
  HostChoice(const HostChoice&) = delete;
  HostChoice& operator=(const HostChoice&) = delete;

  // As WorkerChoice::choose, of a route with `balance`.
  Choice choose(Route& route, const Request& request, const HostLink* preferred, uint32_t wanted_chunks);
  // The host is known before the request is whole, so that the request may arrive in its memory.
  static bool known_early(const Route& route) { return route.targets.size() == 1 || route.balance->rule.field.empty(); }

 private:
  using Targets = std::span<Route::Target>;

  bool any_room(const Route& route, uint32_t wanted_chunks) const;
  std::optional<uint64_t> key_of(const Route& route, const Request& request) const;
  Choice in_turn(Route& route, uint32_t wanted_chunks) const;
  Choice least_outstanding(Route& route, uint32_t wanted_chunks) const;
  Choice by_hash(Route& route, uint64_t key, uint32_t wanted_chunks, bool arriving);

  const WorkerChoice& workers_;
  const HashSeed& seed_;
  ThreadMetrics& metrics_;
  Counter* without_key_;
  Counter* moved_on_;
};

}  // namespace drover::engine
