// RouteChanges: what hosts' coming and going changes in an engine thread's RouteTable, in order, and a few routes at a
// time: a host may serve 16,384 routes, and the thread serves others meanwhile.
//
//   expect | attach | detach | forget --> queue of changes --> step(256 routes) each turn --> RouteTable
//
// A HostLink that a change refers to is pinned until the change is made.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/dispatch/host_link.h"
#include "engine/dispatch/route_table.h"

namespace drover::engine {

// A method that a host is about to serve.
struct ExpectedMethod {
  std::string path;
  uint32_t flags = 0;  // of MethodFlag
};

class RouteChanges {
 public:
  static constexpr uint32_t kRoutesPerTurn = 256;

  // `rules`: null, or outlive it.
  explicit RouteChanges(RouteTable& routes, const BalanceRules* rules = nullptr) : routes_(routes), rules_(rules) {}
  RouteChanges(const RouteChanges&) = delete;
  RouteChanges& operator=(const RouteChanges&) = delete;

  using Methods = std::shared_ptr<const std::vector<ExpectedMethod>>;
  // Calls of these methods wait for a host that is about to come.
  void expect(uint32_t listener, Methods methods) { queue_.push_back({Kind::kExpect, listener, std::move(methods)}); }
  // Its methods at its listeners.
  void attach(HostLink& link) { push(Kind::kAttach, link); }
  // Removes what attach added, however far it came. Nothing for a link that has no routes.
  void detach(HostLink& link) { push(Kind::kDetach, link); }
  void forget(uint32_t listener) { queue_.push_back({Kind::kForget, listener, nullptr}); }

  // A change that was made.
  struct Done {
    enum class Kind { kNothing, kAttached, kDetached } kind = Kind::kNothing;
    HostLink* link = nullptr;  // no longer pinned for it
  };
  bool pending() const { return !queue_.empty(); }
  // Goes on with the first change, by at most *most routes, which it counts down.
  Done step(uint32_t* most, int64_t now_ns);

  // For tests: routes touched so far.
  uint64_t touched() const { return touched_; }

 private:
  enum class Kind { kExpect, kAttach, kDetach, kForget };
  struct Change {
    Kind kind;
    uint32_t listener = 0;
    Methods methods;
    HostLink* link = nullptr;
    size_t listener_at = 0, method_at = 0;  // how far it came
  };
  void push(Kind kind, HostLink& link) {
    queue_.push_back({kind, 0, nullptr, &link});
    ++link.pins;
  }
  // True: the change is made.
  bool go_on(Change& change, uint32_t* most, int64_t now_ns);
  bool expect_some(Change& change, uint32_t* most, int64_t now_ns);
  void balance(Route& route, const HostMethod& method) const;
  bool attach_some(Change& change, uint32_t* most, int64_t now_ns);
  bool detach_some(HostLink& link, uint32_t* most, int64_t now_ns);
  bool forget_some(uint32_t listener, uint32_t* most);

  RouteTable& routes_;
  const BalanceRules* const rules_;
  std::deque<Change> queue_;
  uint64_t touched_ = 0;
};

}  // namespace drover::engine
