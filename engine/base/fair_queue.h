// FairQueue: work that found no time in its turn, and how later turns are shared between those who asked for it.
//
//   FairQueue --+-- Share (a principal) ---+-- Member (what has work: a connection)
//               |                          +-- Member
//               +-- Share ------------------- Member
//
// Shares take turns; so do the members of a share. A share is served while it has credit: it earns kQuantumNs a round,
// also while nothing of it waits, but never has more than that; and it pays the time that its members took, as
// measured. What it took beyond its credit is a debt, and it is passed over until that is paid back. So whatever one
// principal asks, and in however many connections, the work of another one waits for a quantum of each principal before
// it.
//
// A share that begins to wait and has credit is fresh: it is served before those that have waited longer, until its
// credit is spent. So who asks for less than his share hardly waits at all. Fresh shares get half of a run at the most
// while others wait, so that ever new principals do not stop the old ones.
//
// Members and shares belong to others. Thread-safety: none. Nothing allocates.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "engine/base/clock.h"

namespace drover::engine {

class FairQueue {
 public:
  static constexpr int64_t kQuantumNs = 100'000;
  static constexpr int64_t kMostDebtNs = 20'000'000;

  class Share;

  // Must be removed before its memory goes.
  class Member {
   public:
    bool waits() const { return share_ != nullptr; }

   private:
    friend class FairQueue;
    Share* share_ = nullptr;
    Member* next_ = nullptr;
    Member* prev_ = nullptr;
  };

  // Must have no member that waits when its memory goes.
  class Share {
   public:
    // Has members that wait.
    bool waits() const { return first_ != nullptr; }

   private:
    friend class FairQueue;
    Member* first_ = nullptr;  // a circle
    Share* next_ = nullptr;
    Share* prev_ = nullptr;
    int64_t credit_ns_ = kQuantumNs;
    uint64_t passed_ = 0;  // FairQueue::passed_ when it waited last
    bool fresh_ = false;
  };

  bool empty() const { return fresh_ == nullptr && waiting_ == nullptr; }

  // Behind the other members of its share. Nothing happens if it waits already.
  void add(Member& member, Share& share) {
    if (member.waits()) return;
    if (!share.waits()) enter(share);
    append(share.first_, member);
    member.share_ = &share;
  }
  void remove(Member& member) {
    if (!member.waits()) return;
    Share& share = *member.share_;
    member.share_ = nullptr;
    unlink(share.first_, member);
    if (!share.waits()) leave(share);
  }

  // Calls serve(member, until_ns) -> bool for one member after the other, until `end_ns` or until none is left. True:
  // it has more to do, and waits again. serve() must stop at about `until_ns`. It may add and remove any member.
  template <typename Serve, typename Clock = int64_t (*)()>
  void run(int64_t end_ns, Serve serve, Clock clock = monotonic_ns) {
    int64_t now = clock();
    const int64_t half_ns = now + (end_ns - now) / 2;
    while (!empty() && now < end_ns) {
      Share& share = waiting_ == nullptr || (fresh_ != nullptr && now < half_ns) ? *fresh_ : *waiting_;
      if (share.credit_ns_ <= 0) {
        pass(share);
        continue;
      }
      Member& member = *share.first_;
      const int64_t began = now;
      share.first_ = member.next_;  // its turn is over, also if serve() ends early or removes others
      const bool more = serve(member, std::min(end_ns, began + share.credit_ns_));
      now = clock();
      share.credit_ns_ = std::max(share.credit_ns_ - (now - began), -kMostDebtNs);
      if (!more) remove(member);
    }
  }

 private:
  void enter(Share& share) {
    const uint64_t earned = (passed_ - share.passed_) * kQuantumNs / std::max<uint64_t>(shares_, 1);
    const int64_t most = kQuantumNs - share.credit_ns_;
    share.credit_ns_ += std::min(static_cast<int64_t>(std::min<uint64_t>(earned, INT64_MAX)), most);
    share.fresh_ = share.credit_ns_ > 0;
    append(share.fresh_ ? fresh_ : waiting_, share);
    ++shares_;
  }
  void leave(Share& share) {
    unlink(share.fresh_ ? fresh_ : waiting_, share);
    share.passed_ = passed_;
    --shares_;
  }
  // It has spent its credit: the next one.
  void pass(Share& share) {
    share.credit_ns_ += kQuantumNs;
    ++passed_;
    if (!share.fresh_) {
      waiting_ = share.next_;
      return;
    }
    unlink(fresh_, share);
    share.fresh_ = false;
    append(waiting_, share);
  }

  template <typename Node>
  static void append(Node*& first, Node& node) {
    if (first == nullptr) {
      first = node.next_ = node.prev_ = &node;
      return;
    }
    node.next_ = first;
    node.prev_ = first->prev_;
    node.prev_->next_ = node.next_->prev_ = &node;
  }
  template <typename Node>
  static void unlink(Node*& first, Node& node) {
    node.prev_->next_ = node.next_;
    node.next_->prev_ = node.prev_;
    if (first == &node) first = node.next_ == &node ? nullptr : node.next_;
    node.next_ = node.prev_ = nullptr;
  }

  Share* fresh_ = nullptr;    // a circle
  Share* waiting_ = nullptr;  // another one
  uint64_t shares_ = 0;       // in both
  uint64_t passed_ = 0;       // quanta that were given out
};

}  // namespace drover::engine
