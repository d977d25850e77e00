#include "engine/control/listener_registry.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/control/control_testing.h"

namespace drover::engine {
namespace {

constexpr uid_t kUser = 1000;

class ListenerRegistryTest : public testing::Test {
 protected:
  ListenerRegistry::Listener open(const std::string& address) {
    ListenerRegistry::Listener listener;
    ControlError error;
    EXPECT_TRUE(registry_.open(address, kUser, {{"/a.A/Say"}}, {}, &listener, &error)) << error.message;
    return listener;
  }

  TestThreads threads_;
  std::set<uint32_t> used_;  // by hosts that are there
  ListenerRegistry registry_{threads_, 2, [this](uint32_t id) { return used_.contains(id); }};
};

TEST_F(ListenerRegistryTest, AnAddressIsOpenedOnceForAllWhoNameIt) {
  ListenerRegistry::Listener first = open("0.0.0.0:80"), second = open("0.0.0.0:80");
  EXPECT_TRUE(first.opened);
  EXPECT_FALSE(second.opened);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(threads_.open_listeners(), 1u);
}

TEST_F(ListenerRegistryTest, AbstractNamesDifferBehindANul) {
  const std::string first("unix-abstract:a\0b", 17), second("unix-abstract:a\0c", 17);
  EXPECT_NE(open(first).id, open(second).id);
  EXPECT_EQ(open(first).id, open(first).id);
}

TEST_F(ListenerRegistryTest, APortThatWasChosenIsFoundAgainByItsNumber) {
  ListenerRegistry::Listener chosen = open("127.0.0.1:0");
  EXPECT_EQ(open("127.0.0.1:" + std::to_string(chosen.port)).id, chosen.id);
  EXPECT_NE(open("127.0.0.1:0").id, chosen.id) << "port 0 asks for another one";
}

TEST_F(ListenerRegistryTest, WhatCannotBeOpenedIsRefusedAndLeavesNothing) {
  ListenerRegistry::Listener listener;
  ControlError error;
  EXPECT_FALSE(registry_.open("bad address", kUser, {}, {}, &listener, &error));
  EXPECT_EQ(error.code, ControlCode::kAddressInvalid);
  EXPECT_EQ(registry_.size(), 0u);
  used_ = {open("0.0.0.0:80").id, open("0.0.0.0:81").id};
  EXPECT_FALSE(registry_.open("0.0.0.0:82", kUser, {}, {}, &listener, &error));
  EXPECT_EQ(error.code, ControlCode::kResourceExhausted);
}

TEST_F(ListenerRegistryTest, AUserWhosePathDidNotAnswerOpensNoPathsForAWhile) {
  ListenerRegistry::Listener listener;
  ControlError error;
  threads_.late = {"unix:/slow/socket"};
  EXPECT_FALSE(registry_.open("unix:/slow/socket", kUser, {}, {}, &listener, &error));
  EXPECT_EQ(error.code, ControlCode::kTimeout);
  EXPECT_FALSE(registry_.open("unix:/tmp/socket", kUser, {}, {}, &listener, &error));
  EXPECT_EQ(error.code, ControlCode::kTimeout);
  EXPECT_TRUE(registry_.open("0.0.0.0:80", kUser, {}, {}, &listener, &error)) << "TCP is not concerned";
  EXPECT_TRUE(registry_.open("unix:/tmp/socket", kUser + 1, {}, {}, &listener, &error)) << "other users are not";
}

TEST_F(ListenerRegistryTest, OnlyUnusedListenersCloseAndIdsAreNotUsedAgain) {
  uint32_t used = open("0.0.0.0:80").id, unused = open("0.0.0.0:81").id;
  used_ = {used};
  registry_.close_unused({used, unused});
  EXPECT_EQ(threads_.open_listeners(), 1u);
  EXPECT_GT(open("0.0.0.0:81").id, unused);
}

TEST_F(ListenerRegistryTest, TheAddressesOfHostsThatAreGoneMakeRoomForNewOnes) {
  uint32_t oldest = open("0.0.0.0:80").id, used = open("0.0.0.0:81").id;
  used_ = {used};
  EXPECT_GT(open("0.0.0.0:82").id, used);
  EXPECT_FALSE(threads_.opened.contains(oldest));
  EXPECT_TRUE(threads_.opened.contains(used));
  EXPECT_EQ(registry_.size(), 2u);
}

}  // namespace
}  // namespace drover::engine
