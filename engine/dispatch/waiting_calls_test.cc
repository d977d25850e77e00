#include "engine/dispatch/waiting_calls.h"

#include <gtest/gtest.h>

#include <map>

namespace drover::engine {
namespace {

using Offered = WaitingCalls::Offered;

class WaitingCallsTest : public testing::Test {
 protected:
  CallState& call(Route& route) {
    CallState& state = table_.take();
    state.route = &route;
    waiting_.push(state);
    return state;
  }
  // Starts at most `limit` calls; their indices in the order of starting.
  std::vector<uint32_t> start(size_t limit) {
    std::vector<uint32_t> started;
    waiting_.serve(kNoDeadline, [&](CallState& state) {
      if (started.size() == limit) return Offered::kNoSlot;
      started.push_back(state.index);
      waiting_.remove(state);
      return Offered::kTaken;
    });
    return started;
  }

  CallTable table_;
  WaitingCalls waiting_;
  Route route_, other_;
};

TEST_F(WaitingCallsTest, CallsOfARouteStartInTheOrderOfArrival) {
  std::vector<uint32_t> order;
  for (int i = 0; i < 5; ++i) order.push_back(call(route_).index);
  EXPECT_EQ(waiting_.size(), 5u);
  EXPECT_EQ(start(2), (std::vector<uint32_t>{order[0], order[1]}));
  EXPECT_EQ(start(99), (std::vector<uint32_t>{order[2], order[3], order[4]}));
  EXPECT_EQ(waiting_.size(), 0u);
  EXPECT_EQ(route_.waiting, nullptr);
  EXPECT_EQ(route_.waiting_lines, 0u);
}

TEST_F(WaitingCallsTest, ACallMayLeaveFromTheMiddleAndFromBothEnds) {
  CallState &first = call(route_), &second = call(route_), &third = call(route_), &fourth = call(route_);
  waiting_.remove(second);
  waiting_.remove(fourth);
  waiting_.remove(first);
  EXPECT_EQ(start(99), std::vector<uint32_t>{third.index});
}

TEST_F(WaitingCallsTest, ARouteThatCannotGoOnDoesNotHoldUpAnother) {
  call(route_);
  CallState& free = call(other_);
  EXPECT_TRUE(waiting_.serve(kNoDeadline, [&](CallState& state) {
    if (state.route == &route_) return Offered::kNoSlot;
    waiting_.remove(state);
    return Offered::kTaken;
  }));
  EXPECT_EQ(waiting_.size(), 1u);
  EXPECT_EQ(other_.waiting, nullptr);
  EXPECT_EQ(free.next_waiting, nullptr);
}

// Calls of several connections.
class WaitingLinesTest : public WaitingCallsTest {
 protected:
  CallState& of(const AccountRef& client) {
    CallState& state = table_.take();
    state.route = &route_;
    state.payer = client.get();
    return state;
  }
  CallState& waiting(const AccountRef& client) {
    CallState& state = of(client);
    waiting_.push(state);
    return state;
  }

  ThreadMetrics metrics_{0};
  Ledger ledger_{{}, metrics_};
  const AccountRef one_ = ledger_.open_connection("a"), two_ = ledger_.open_connection("a");
};

TEST_F(WaitingLinesTest, ACallThatWaitsForMemoryHoldsUpItsOwnConnectionOnly) {
  CallState& large = waiting(one_);
  EXPECT_FALSE(waiting_.may_start(of(two_))) << "for all that is known, the other waits for a slot";
  waiting(one_);
  CallState &other = waiting(two_), &last = waiting(two_);
  std::vector<CallState*> started;
  const auto refuse_large = [&](CallState& state) {
    if (&state == &large) return state.wanted_chunks = 9, Offered::kNoMemory;
    waiting_.remove(state);
    started.push_back(&state);
    return Offered::kTaken;
  };
  EXPECT_TRUE(waiting_.serve(kNoDeadline, refuse_large));
  EXPECT_EQ(started, (std::vector{&other, &last}));
  EXPECT_TRUE(waiting_.may_start(of(two_)));
  EXPECT_FALSE(waiting_.may_start(of(one_)));
  EXPECT_FALSE(waiting_.serve(kNoDeadline, refuse_large));

  // Now it waits for a slot.
  EXPECT_FALSE(waiting_.serve(kNoDeadline, [](CallState&) { return Offered::kNoSlot; }));
  EXPECT_FALSE(waiting_.may_start(of(two_)));
}

TEST_F(WaitingLinesTest, ConnectionsTakeTurns) {
  for (const AccountRef* client : {&one_, &one_, &one_, &two_, &two_}) waiting(*client);
  std::vector<const Account*> order;
  waiting_.serve(kNoDeadline, [&](CallState& state) {
    order.push_back(state.payer);
    waiting_.remove(state);
    return Offered::kTaken;
  });
  EXPECT_EQ(order, (std::vector<const Account*>{one_.get(), two_.get(), one_.get(), two_.get(), one_.get()}));
}

TEST_F(WaitingLinesTest, ATurnOffersAFewOfManyThatWaitForMemory) {
  std::vector<AccountRef> clients;
  for (int i = 0; i < 200; ++i) waiting(clients.emplace_back(ledger_.open_connection(std::to_string(i))));
  std::map<const Account*, int> offered;
  for (int turn = 0; turn < 4; ++turn) {
    int now = 0;
    waiting_.serve(kNoDeadline, [&](CallState& state) {
      ++now;
      ++offered[state.payer];
      state.wanted_chunks = 9;
      return Offered::kNoMemory;
    });
    EXPECT_LE(now, 64);
  }
  EXPECT_EQ(offered.size(), 200u);
}

TEST_F(WaitingCallsTest, ATurnOffersTheCallsOfSixtyFourRoutesAndAllHaveTheirTurn) {
  std::vector<Route> many(200);
  for (Route& route : many) call(route);
  std::map<Route*, int> offered;
  for (int turn = 0; turn < 4; ++turn) {
    size_t before = offered.size();
    waiting_.serve(kNoDeadline, [&](CallState& state) { return ++offered[state.route], Offered::kNoSlot; });
    EXPECT_LE(offered.size() - before, WaitingCalls::kRoutesPerTurn);
  }
  EXPECT_EQ(offered.size(), 200u);
  size_t started = 0;
  for (int turn = 0; turn < 4; ++turn) {
    waiting_.serve(kNoDeadline, [&](CallState& state) { return waiting_.remove(state), ++started, Offered::kTaken; });
  }
  EXPECT_EQ(started, 200u);
  EXPECT_EQ(waiting_.size(), 0u);
}

TEST_F(WaitingCallsTest, ATurnThatIsOverStartsNoMoreAndRoutesTakeTurns) {
  for (int i = 0; i < 500; ++i) call(i % 2 == 0 ? route_ : other_);
  std::map<Route*, size_t> started;
  size_t turns = 0;
  for (; waiting_.size() != 0; ++turns) {
    const size_t before = waiting_.size();
    waiting_.serve(0,
                   [&](CallState& state) { return ++started[state.route], waiting_.remove(state), Offered::kTaken; });
    ASSERT_LT(before - waiting_.size(), size_t{Pace::kUnits}) << "the clock is read every few calls";
    if (turns == 1) EXPECT_EQ(started[&route_], started[&other_]);
  }
  EXPECT_GE(turns, 500u / Pace::kUnits);
}

TEST_F(WaitingCallsTest, CallsWaitForRoomOnlyWhereAHostServesTheirRoute) {
  call(route_);
  EXPECT_FALSE(waiting_.any_with_host());
  other_.targets.push_back({nullptr, 0});
  EXPECT_FALSE(waiting_.any_with_host());
  call(other_);
  EXPECT_TRUE(waiting_.any_with_host());
}

}  // namespace
}  // namespace drover::engine
