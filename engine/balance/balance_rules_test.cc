#include "engine/balance/balance_rules.h"

#include <gtest/gtest.h>

namespace drover::engine {
namespace {

using Policy = BalanceRule::Policy;

BalanceRules parsed(std::string_view text, std::string_view seed = "") {
  BalanceRules rules;
  EXPECT_EQ(BalanceRules::parse(text, seed, &rules), "");
  return rules;
}
std::string error_of(std::string_view text, std::string_view seed = "") {
  BalanceRules rules;
  return BalanceRules::parse(text, seed, &rules);
}

TEST(BalanceRules, TheFirstRuleThatFitsCounts) {
  BalanceRules rules = parsed(
      "/shop.Carts/Get,/shop.Carts/Put hash=metadata:user-id bound=125 ;\n/shop.Carts/* least-outstanding;"
      "/shop.* hash=field:customer.id; * round-robin;");
  const BalanceRule* put = rules.find("/shop.Carts/Put");
  ASSERT_NE(put, nullptr);
  EXPECT_EQ(put, rules.find("/shop.Carts/Get"));
  EXPECT_EQ(put->policy, Policy::kHash);
  EXPECT_EQ(put->metadata, "user-id");
  EXPECT_EQ(put->bound_percent, 125u);
  EXPECT_EQ(rules.find("/shop.Carts/List")->policy, Policy::kLeastOutstanding);
  EXPECT_EQ(rules.find("/shop.Orders/Get")->field, "customer.id");
  EXPECT_EQ(rules.find("/other.Service/Get")->policy, Policy::kRoundRobin);
}

TEST(BalanceRules, WithoutARuleThatFitsThereIsNone) {
  EXPECT_EQ(parsed("").find("/a.B/C"), nullptr);
  EXPECT_TRUE(parsed(" ; ").empty());
  BalanceRules rules = parsed("/a.B/C least-outstanding");
  EXPECT_EQ(rules.find("/a.B/CC"), nullptr);
  EXPECT_EQ(rules.find("/a.B/"), nullptr);
}

TEST(BalanceRules, EveryMistakeIsNamed) {
  EXPECT_EQ(error_of("/a.B/* fastest"),
            "dispatch.balance: '/a.B/* fastest': 'fastest' is not one of: round-robin, least-outstanding, "
            "hash=metadata:KEY, hash=field:PATH");
  EXPECT_NE(error_of("a.B/C round-robin").find("'a.B/C' is no method"), std::string::npos);
  EXPECT_NE(error_of("/a.*/C round-robin").find("has a * that is not at its end"), std::string::npos);
  EXPECT_NE(error_of("/a.B/*").find("has no policy"), std::string::npos);
  EXPECT_NE(error_of("* hash=metadata:User").find("not a metadata key"), std::string::npos);
  EXPECT_NE(error_of("* hash=metadata:grpc-timeout").find("not a metadata key"), std::string::npos);
  for (const char* path : {"", ".a", "a.", "a..b", "a b", "a-b", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q"}) {
    EXPECT_NE(error_of("* hash=field:" + std::string(path)), "") << path;
  }
  EXPECT_NE(error_of("* least-outstanding bound=125").find("option of hash= only"), std::string::npos);
  for (const char* bound : {"99", "10001", "1.25", "", "-1", "4294967396"}) {
    EXPECT_NE(error_of("* hash=field:a bound=" + std::string(bound)).find("100 to 10000"), std::string::npos) << bound;
  }
  EXPECT_NE(error_of("* hash=field:a weight=3").find("no option"), std::string::npos);
}

TEST(BalanceRules, WrongRulesLeaveTheOldOnes) {
  BalanceRules rules = parsed("* least-outstanding");
  EXPECT_NE(BalanceRules::parse("* round-robin; /x", "", &rules), "");
  EXPECT_EQ(rules.find("/a.B/C")->policy, Policy::kLeastOutstanding);
}

TEST(BalanceRules, ASeedGivesTheSameNodesEachTime) {
  const char* seed = "000102030405060708090a0b0c0d0e0f";
  EXPECT_EQ(parsed("", seed).seed().first, 0x0001020304050607u);
  EXPECT_EQ(parsed("", seed).seed().second, 0x08090a0b0c0d0e0fu);
  EXPECT_EQ(parsed("", seed).node("shop", 1), parsed("", seed).node("shop", 1));
  EXPECT_NE(parsed("", seed).node("shop", 1), parsed("", seed).node("shop", 2));
  EXPECT_NE(parsed("", seed).node("shop1", 1), parsed("", seed).node("shop", 11));
  EXPECT_NE(parsed("").node("shop", 1), parsed("").node("shop", 1)) << "without a seed, each engine has its own";
  for (const char* wrong : {"0", "000102030405060708090a0b0c0d0e0g", "000102030405060708090a0b0c0d0e0f00"}) {
    EXPECT_NE(error_of("", wrong).find("32 hexadecimal digits"), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace drover::engine
