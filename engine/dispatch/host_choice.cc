#include "engine/dispatch/host_choice.h"

#include <algorithm>

namespace drover::engine {
namespace {

using Choice = WorkerChoice::Choice;
using Found = WorkerChoice::Found;

constexpr size_t kMostCompared = 16;  // hosts; of more, two at random

// The finalizer of MurmurHash3: each bit of a secret word changes half of the others.
uint64_t mix(uint64_t word) {
  word = (word ^ word >> 33) * 0xff51afd7ed558ccd;
  word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53;
  return word ^ word >> 33;
}

bool able(HostLink& link, uint32_t wanted_chunks) {
  return !link.leaving && link.failure() == nullptr && link.rx().free_chunks() >= wanted_chunks;
}

// The most calls that one host may have before it takes a further one.
uint64_t bound_of(std::span<const Route::Target> targets, uint32_t percent) {
  uint64_t running = 1;  // with the one that comes
  for (const Route::Target& target : targets) running += target.link->running;
  const uint64_t parts = uint64_t{100} * targets.size();
  return (running * percent + parts - 1) / parts;
}

}  // namespace

HostChoice::HostChoice(const WorkerChoice& workers, const HashSeed& seed, ThreadMetrics& metrics)
    : workers_(workers),
      seed_(seed),
      metrics_(metrics),
      without_key_(metrics.counter("drover_calls_without_key_total",
                                   "Calls whose rule of dispatch.balance names a key that they do not have")),
      moved_on_(metrics.counter("drover_calls_moved_on_total",
                                "Calls that another host took than their key's first: it had no room, or more than "
                                "its bound")) {}

HostChoice::~HostChoice() {
  metrics_.remove(without_key_);
  metrics_.remove(moved_on_);
}

Choice HostChoice::choose(Route& route, const Request& request, const HostLink* preferred, uint32_t wanted_chunks) {
  if (route.targets.size() < 2) return workers_.choose(route, preferred, wanted_chunks);
  const BalanceRule::Policy policy = route.balance->rule.policy;
  if (policy == BalanceRule::Policy::kHash) {
    if (!any_room(route, wanted_chunks)) return {.found = Found::kNoRoom};  // before the key is looked for each time
    if (const auto key = key_of(route, request)) return by_hash(route, *key, wanted_chunks, request.arriving);
    if (!request.arriving) without_key_->add();
  }
  for (Route::Target& target : route.targets) {
    if (target.link != preferred) continue;
    Choice choice = workers_.choose_at(target, wanted_chunks);
    if (choice.found == Found::kWorker) return choice;
  }
  return policy == BalanceRule::Policy::kLeastOutstanding ? least_outstanding(route, wanted_chunks)
                                                          : in_turn(route, wanted_chunks);
}

bool HostChoice::any_room(const Route& route, uint32_t wanted_chunks) const {
  return std::any_of(route.targets.begin(), route.targets.end(), [wanted_chunks](const Route::Target& target) {
    return able(*target.link, wanted_chunks) && WorkerChoice::with_room(*target.link, target.cursor) != UINT32_MAX;
  });
}

// All values of a metadata key together: a client may send several.
std::optional<uint64_t> HostChoice::key_of(const Route& route, const Request& request) const {
  const RouteBalance& balance = *route.balance;
  if (balance.rule.metadata.empty()) {
    const auto value = balance.field.find(request.wire);
    if (!value) return std::nullopt;
    return value->is_text ? bounded_key_hash(seed_, value->text) : key_hash(seed_, value->number);
  }
  std::optional<uint64_t> key;
  for (const Header& header : request.call.metadata) {
    if (header.first != balance.rule.metadata || header.second.empty()) continue;
    const uint64_t hash = bounded_key_hash(seed_, header.second);
    key = key ? mix(*key) ^ hash : hash;
  }
  return key;
}

Choice HostChoice::in_turn(Route& route, uint32_t wanted_chunks) const {
  uint32_t& cursor = route.balance->cursor;
  const auto hosts = static_cast<uint32_t>(route.targets.size());
  for (uint32_t tries = 0; tries < hosts; ++tries) {
    cursor = cursor + 1 < hosts ? cursor + 1 : 0;
    Choice choice = workers_.choose_at(route.targets[cursor], wanted_chunks);
    if (choice.found == Found::kWorker) return choice;
  }
  return {.found = Found::kNoRoom};
}

Choice HostChoice::least_outstanding(Route& route, uint32_t wanted_chunks) const {
  uint32_t& cursor = route.balance->cursor;
  const Targets targets(route.targets);
  const size_t hosts = targets.size();
  ++cursor;  // equals take turns
  if (hosts > kMostCompared) {
    const uint64_t random = mix(seed_.first + cursor);
    Route::Target* one = &targets[(random & UINT32_MAX) % hosts];
    Route::Target* two = &targets[(random >> 32) % hosts];
    if (two->link->running < one->link->running) std::swap(one, two);
    for (Route::Target* target : {one, two}) {
      Choice choice = workers_.choose_at(*target, wanted_chunks);
      if (choice.found == Found::kWorker) return choice;
    }
  }
  Choice best{.found = Found::kNoRoom};
  uint32_t fewest = UINT32_MAX;
  for (size_t i = 0; i < hosts; ++i) {
    Route::Target& target = targets[(cursor + i) % hosts];
    if (target.link->running >= fewest) continue;
    Choice choice = workers_.choose_at(target, wanted_chunks);
    if (choice.found != Found::kWorker) continue;
    fewest = target.link->running;
    best = choice;
  }
  return best;
}

// Goes on to the next weight where a host is full. The bound is dropped before the call would have to wait.
Choice HostChoice::by_hash(Route& route, uint64_t key, uint32_t wanted_chunks, bool arriving) {
  const uint32_t percent = route.balance->rule.bound_percent;
  const uint64_t bound = percent != 0 ? bound_of(route.targets, percent) : UINT64_MAX;
  for (const uint64_t most : {bound, uint64_t{UINT64_MAX}}) {
    Route::Target* last = nullptr;
    uint64_t below = UINT64_MAX;
    for (size_t tries = 0; tries < route.targets.size(); ++tries) {
      Route::Target* best = nullptr;
      uint64_t weight = 0;
      for (Route::Target& target : route.targets) {
        const uint64_t of_target = mix(key ^ target.link->host().node);
        if ((last != nullptr && of_target >= below) || (best != nullptr && of_target <= weight)) continue;
        best = &target;
        weight = of_target;
      }
      if (best == nullptr) break;
      if (best->link->running < most) {
        Choice choice = workers_.choose_at(*best, wanted_chunks);
        if (choice.found == Found::kWorker) {
          if (!arriving && (last != nullptr || most != bound)) moved_on_->add();
          return choice;
        }
      }
      last = best;
      below = weight;
    }
    if (most == UINT64_MAX) break;
  }
  return {.found = Found::kNoRoom};
}

}  // namespace drover::engine
