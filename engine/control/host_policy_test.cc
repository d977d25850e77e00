#include "engine/control/host_policy.h"

#include <gtest/gtest.h>

namespace drover::engine {
namespace {

HostPolicy parsed(std::string_view rules) {
  HostPolicy policy;
  EXPECT_EQ(HostPolicy::parse(rules, &policy), "");
  return policy;
}

TEST(HostPolicy, WithoutRulesEverythingIsAllowed) {
  HostPolicy policy = parsed(" ");
  EXPECT_TRUE(policy.may_attach(4711));
  EXPECT_TRUE(policy.may_serve(4711, "/a.A/Say"));
  EXPECT_TRUE(policy.may_listen(4711, "0.0.0.0:80"));
}

TEST(HostPolicy, EachUserMayServeWhatItsRulesName) {
  HostPolicy policy = parsed("1001=/a.A/*, 0.0.0.0:80 ; 1002=/b.B/Say,unix:/run/b/*; 1001=/c.C/Say;");
  EXPECT_TRUE(policy.may_attach(1001));
  EXPECT_TRUE(policy.may_attach(1002));
  EXPECT_FALSE(policy.may_attach(0));
  EXPECT_TRUE(policy.may_serve(1001, "/a.A/Say"));
  EXPECT_TRUE(policy.may_serve(1001, "/c.C/Say"));
  EXPECT_FALSE(policy.may_serve(1001, "/c.C/SayMore"));
  EXPECT_FALSE(policy.may_serve(1001, "/b.B/Say"));
  EXPECT_FALSE(policy.may_serve(1002, "/a.A/Say"));
  EXPECT_TRUE(policy.may_listen(1001, "0.0.0.0:80"));
  EXPECT_FALSE(policy.may_listen(1001, "0.0.0.0:8080"));
  EXPECT_TRUE(policy.may_listen(1002, "unix:/run/b/sock"));
  EXPECT_FALSE(policy.may_listen(1002, "0.0.0.0:80"));
  EXPECT_EQ(policy.users(), (std::vector<uid_t>{1001, 1002, 1001}));
}

TEST(HostPolicy, EverybodyIsAStar) {
  HostPolicy policy = parsed("*=/a.A/*;0=*");
  EXPECT_TRUE(policy.may_serve(7, "/a.A/Say"));
  EXPECT_FALSE(policy.may_listen(7, "0.0.0.0:80"));
  EXPECT_TRUE(policy.may_listen(0, "0.0.0.0:80"));
}

TEST(HostPolicy, WhatIsNoRuleIsToldByName) {
  HostPolicy policy;
  EXPECT_EQ(HostPolicy::parse("1001", &policy), "hosts.allow: '1001' is not a rule; expected USER=PATTERN,PATTERN...");
  EXPECT_NE(HostPolicy::parse("1=*;joe=*", &policy).find("'joe=*' begins with no user id"), std::string::npos);
  EXPECT_NE(HostPolicy::parse("1=", &policy).find("allows nothing"), std::string::npos);
  EXPECT_NE(HostPolicy::parse("1=/a,,/b", &policy).find("an empty pattern"), std::string::npos);
  EXPECT_NE(HostPolicy::parse("1=/*/Say", &policy).find("not at the end"), std::string::npos);
}

}  // namespace
}  // namespace drover::engine
