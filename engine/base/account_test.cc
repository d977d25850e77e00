// Accounts: charges count on every level or on none, limits and shares hold, references keep what is charged.
#include "engine/base/account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace drover::engine {
namespace {

LedgerLimits small_limits() {
  LedgerLimits limits;
  limits[Level::kThread] = {1000, 10};
  limits[Level::kAddress] = {500, 6};
  limits[Level::kConnection] = {300, 4};
  limits.decoding_rate = 256'000;
  return limits;
}

class AccountTest : public testing::Test {
 protected:
  uint64_t refused(const std::string& resource, const std::string& principal) {
    uint64_t value = 0;
    metrics.visit([](const MethodMetrics&) {},
                  [&](const ThreadMetrics::Series& series) {
                    auto has = [&](const std::string& name, const std::string& text) {
                      return std::count(series.labels.begin(), series.labels.end(), std::pair(name, text)) != 0;
                    };
                    if (series.name == "drover_client_refused_total" && has("resource", resource) &&
                        has("principal", principal)) {
                      value = series.counter->value();
                    }
                  });
    return value;
  }
  size_t held(const AccountRef& account) { return account->held(Resource::kMemory); }

  ThreadMetrics metrics{0};
  Ledger ledger{small_limits(), metrics};
};

TEST_F(AccountTest, AChargeCountsOnEveryLevelUntilItIsReleased) {
  AccountRef one = ledger.open_connection("192.0.2.1"), two = ledger.open_connection("192.0.2.1");
  AccountRef other = ledger.open_connection("192.0.2.2");
  ASSERT_TRUE(one->charge(Resource::kMemory, 100));
  ASSERT_TRUE(two->charge(Resource::kMemory, 20));
  ASSERT_TRUE(other->charge(Resource::kMemory, 3));
  EXPECT_EQ(held(one), 100u);
  EXPECT_EQ(one->parent(), two->parent());
  EXPECT_EQ(one->parent()->name(), "192.0.2.1");
  EXPECT_EQ(one->parent()->held(Resource::kMemory), 120u);
  EXPECT_EQ(ledger.thread().held(Resource::kMemory), 123u);
  one->release(Resource::kMemory, 100);
  EXPECT_EQ(ledger.thread().held(Resource::kMemory), 23u);
  two->release(Resource::kMemory, 20);
  other->release(Resource::kMemory, 3);
}

TEST_F(AccountTest, WhatIsOverALimitOfAnyLevelIsRefusedAndCountsNowhere) {
  std::vector<AccountRef> all;
  for (const char* address : {"a", "a", "b", "b"}) all.push_back(ledger.open_connection(address));
  EXPECT_FALSE(all[0]->charge(Resource::kMemory, 301));
  EXPECT_EQ(refused("memory", "connection"), 1u);
  EXPECT_TRUE(all[0]->charge(Resource::kMemory, 300));
  EXPECT_FALSE(all[1]->charge(Resource::kMemory, 201));  // address a: 501
  EXPECT_EQ(refused("memory", "address"), 1u);
  EXPECT_EQ(held(all[1]), 0u);
  EXPECT_EQ(ledger.thread().held(Resource::kMemory), 300u);
  EXPECT_TRUE(all[1]->charge(Resource::kMemory, 200));
  EXPECT_TRUE(all[2]->charge(Resource::kMemory, 300));
  EXPECT_TRUE(all[3]->charge(Resource::kMemory, 200));
  AccountRef late = ledger.open_connection("c");
  EXPECT_FALSE(late->charge(Resource::kMemory, 1));
  EXPECT_EQ(refused("memory", "thread"), 1u);
  EXPECT_FALSE(late->charge(Resource::kMemory, SIZE_MAX));
  size_t charged[] = {300, 200, 300, 200};
  for (size_t i = 0; i < all.size(); ++i) all[i]->release(Resource::kMemory, charged[i]);
  EXPECT_EQ(ledger.thread().held(Resource::kMemory), 0u);
}

TEST_F(AccountTest, CallsThatOutliveTheirConnectionStayCharged) {
  Account* call;
  {
    AccountRef connection = ledger.open_connection("a");
    call = connection.get();
    ASSERT_TRUE(call->enter_call());
  }
  EXPECT_EQ(ledger.addresses(), 1u);
  std::vector<AccountRef> more;
  for (int i = 0; i < 3; ++i) more.push_back(ledger.open_connection("a"));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(more[0]->enter_call());
  EXPECT_FALSE(more[0]->enter_call());
  EXPECT_TRUE(more[1]->enter_call());
  EXPECT_FALSE(more[2]->enter_call());  // 7 of the address
  EXPECT_EQ(refused("calls", "connection"), 1u);
  EXPECT_EQ(refused("calls", "address"), 1u);
  call->leave_call();
  EXPECT_TRUE(more[2]->enter_call());
  for (int i = 0; i < 4; ++i) more[0]->leave_call();
  more[1]->leave_call();
  more[2]->leave_call();
  EXPECT_EQ(ledger.thread().held(Resource::kCalls), 0u);
  more.clear();
  EXPECT_EQ(ledger.addresses(), 0u);
}

TEST_F(AccountTest, AnAddressIsForgottenWithItsLastReference) {
  AccountRef one = ledger.open_connection("a"), two = one;
  AccountRef other = ledger.open_connection("b");
  EXPECT_EQ(ledger.addresses(), 2u);
  one.reset();
  EXPECT_EQ(ledger.addresses(), 2u);
  two.reset();
  EXPECT_EQ(ledger.addresses(), 1u);
  other = AccountRef();
  EXPECT_EQ(ledger.addresses(), 0u);
}

TEST_F(AccountTest, AConnectionMayTakeHalfOfAMemoryAndAnAddressThreeQuarters) {
  AccountRef one = ledger.open_connection("a"), two = ledger.open_connection("a"), other = ledger.open_connection("b");
  EXPECT_FALSE(one->charge_share(Resource::kLent, 4001, 8000));
  EXPECT_TRUE(one->charge_share(Resource::kLent, 4000, 8000));
  EXPECT_FALSE(two->charge_share(Resource::kLent, 2001, 8000));
  EXPECT_TRUE(two->charge_share(Resource::kLent, 2000, 8000));
  EXPECT_TRUE(other->charge_share(Resource::kLent, 4000, 8000));  // the memory itself is the limit of all
  EXPECT_EQ(refused("lent", "connection"), 1u);
  EXPECT_EQ(refused("lent", "address"), 1u);
  one->release(Resource::kLent, 4000);
  two->release(Resource::kLent, 2000);
  other->release(Resource::kLent, 4000);
}

TEST_F(AccountTest, WhatIsMeasuredIsNeverRefusedAndShowsWhoIsOver) {
  AccountRef one = ledger.open_connection("a"), two = ledger.open_connection("a");
  one->measure(250);
  EXPECT_EQ(one->over(), nullptr);
  one->measure(301);
  EXPECT_EQ(one->over(), one.get());
  two->measure(200);
  EXPECT_EQ(two->over(), one->parent());
  EXPECT_FALSE(two->charge(Resource::kMemory, 1));
  AccountRef other = ledger.open_connection("b");
  other->measure(500);
  EXPECT_EQ(other->over(), &ledger.thread());
  other->measure(0);
  one->measure(10);
  EXPECT_EQ(two->over(), nullptr);
  two.reset();  // what is measured goes with the connection
  EXPECT_EQ(ledger.thread().held(Resource::kMemory), 10u);
}

TEST_F(AccountTest, WhatIsHeldHasASeriesEachAndWorkHasNone) {
  AccountRef one = ledger.open_connection("a");
  ASSERT_TRUE(one->charge(Resource::kMemory, 7));
  ASSERT_TRUE(one->charge(Resource::kCalls, 2));
  ledger.update();
  std::map<std::string, int64_t> held;
  metrics.visit([](const MethodMetrics&) {},
                [&](const ThreadMetrics::Series& series) {
                  if (series.name == "drover_client_held") held[series.labels.at(0).second] = series.gauge->value();
                });
  EXPECT_EQ(held, (std::map<std::string, int64_t>{{"memory", 7}, {"calls", 2}, {"arriving", 0}, {"lent", 0}}));
  one->release(Resource::kMemory, 7);
  one->release(Resource::kCalls, 2);
}

TEST_F(AccountTest, DecodingIsBoundedByTheSecondForAllConnectionsOfAnAddress) {
  constexpr int64_t kSecond = 1'000'000'000;
  AccountRef one = ledger.open_connection("a"), two = ledger.open_connection("a"), other = ledger.open_connection("b");
  EXPECT_TRUE(one->spend_decoding(600, 0));
  EXPECT_TRUE(two->spend_decoding(400, 0));
  EXPECT_FALSE(one->spend_decoding(1, 0));
  EXPECT_EQ(refused("decoding", "connection"), 1u);
  EXPECT_TRUE(other->spend_decoding(1000, 0));
  EXPECT_TRUE(two->spend_decoding(2560, kSecond / 100));
  EXPECT_FALSE(two->spend_decoding(1, kSecond / 100));
  EXPECT_FALSE(two->spend_decoding(16'001, kSecond)) << "more than may come at once";
  EXPECT_TRUE(two->spend_decoding(16'000, kSecond));
}

}  // namespace
}  // namespace drover::engine
