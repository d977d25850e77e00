#include "engine/dispatch/worker_choice.h"

#include <algorithm>
#include <utility>

namespace drover::engine {
namespace {

using Choice = WorkerChoice::Choice;
using Found = WorkerChoice::Found;

constexpr uint32_t kSampleWorkers = 16;  // least-outstanding compares at most this many

bool usable(HostLink& link, uint32_t worker, uint32_t wanted_chunks) {
  return !link.leaving && link.failure() == nullptr && link.rx().free_chunks() >= wanted_chunks &&
         link.has_room(worker);
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

Choice round_robin(uint32_t& cursor, std::span<const Route::Target> targets, uint32_t wanted_chunks) {
  bool single = targets.size() == 1;
  uint32_t workers = single ? targets.front().link->workers() : count_workers(targets);
  if (cursor >= workers) cursor %= workers;
  for (uint32_t tries = 0; tries < workers; ++tries) {
    auto [target, worker] = single ? std::pair(&targets.front(), cursor) : nth_worker(targets, cursor);
    cursor = cursor + 1 == workers ? 0 : cursor + 1;
    if (usable(*target->link, worker, wanted_chunks)) return {target->link, target->method, worker, Found::kWorker};
  }
  return {.found = Found::kNoRoom};
}

Choice least_outstanding(uint32_t& cursor, std::span<const Route::Target> targets, uint32_t wanted_chunks) {
  uint32_t workers = count_workers(targets);
  uint32_t looks = std::min(workers, kSampleWorkers), best = UINT32_MAX;
  if (cursor >= workers) cursor %= workers;
  Choice choice{.found = Found::kNoRoom};
  for (uint32_t tries = 0; tries < workers && (tries < looks || choice.link == nullptr); ++tries) {
    auto [target, worker] = nth_worker(targets, (cursor + tries) % workers);
    uint32_t outstanding = target->link->lane(worker).outstanding;
    if (outstanding >= best || !usable(*target->link, worker, wanted_chunks)) continue;
    best = outstanding;
    choice = {target->link, target->method, worker, Found::kWorker};
  }
  ++cursor;  // the next one begins elsewhere, so that equals take turns
  return choice;
}

}  // namespace

Choice WorkerChoice::pick(uint32_t& cursor, std::span<const Route::Target> targets, uint32_t wanted_chunks) const {
  return policy_ == Policy::kRoundRobin ? round_robin(cursor, targets, wanted_chunks)
                                        : least_outstanding(cursor, targets, wanted_chunks);
}

uint32_t WorkerChoice::with_room(HostLink& link, uint32_t first) {
  for (uint32_t tries = 0; tries <= kSampleWorkers; ++tries) {
    const uint32_t worker = (first + tries) % link.workers();
    if (link.has_room(worker)) return worker;
  }
  return UINT32_MAX;
}

Choice WorkerChoice::choose_at(Route::Target& target, uint32_t wanted_chunks) const {
  return pick(target.cursor, {&target, 1}, wanted_chunks);
}

// The worker of a preferred host is chosen by that host's own cursor: the route's counts all hosts' workers.
Choice WorkerChoice::choose(Route& route, const HostLink* preferred, uint32_t wanted_chunks) const {
  if (route.targets.empty()) return {.found = Found::kNoHost};
  if (preferred != nullptr && route.targets.size() > 1) {
    for (Route::Target& target : route.targets) {
      if (target.link != preferred) continue;
      Choice choice = choose_at(target, wanted_chunks);
      if (choice.found == Found::kWorker) return choice;
    }
  }
  return pick(route.cursor, route.targets, wanted_chunks);
}

}  // namespace drover::engine
