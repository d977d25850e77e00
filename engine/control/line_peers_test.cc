#include "engine/control/line_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drover::engine {
namespace {

using testing::HasSubstr;

LinePeers parse(std::string_view text) {
  LinePeers peers;
  EXPECT_EQ(LinePeers::parse(text, &peers), "");
  return peers;
}
std::string wrong(std::string_view text) {
  LinePeers peers;
  return LinePeers::parse(text, &peers);
}
uint16_t port(LinePeers& peers, std::string_view name) {
  auto address = peers.next(name);
  return address ? address->port : uint16_t{0};
}

TEST(LinePeers, AnExactNameCountsMoreThanALongPatternAndThatMoreThanAShortOne) {
  LinePeers peers = parse("*=10.0.0.1:1, shop.*=10.0.0.1:2,shop.Stock=10.0.0.1:3");
  EXPECT_EQ(port(peers, "shop.Stock"), 3);
  EXPECT_EQ(port(peers, "shop.Stocks"), 2);
  EXPECT_EQ(port(peers, "other"), 1);
}

TEST(LinePeers, EnginesOfOneNameTakeTurns) {
  LinePeers peers = parse("a=10.0.0.1:1,a=10.0.0.1:2");
  EXPECT_NE(port(peers, "a"), port(peers, "a"));
}

TEST(LinePeers, ANameThatNoEntryMatchesHasNoEngine) {
  LinePeers peers = parse("a=10.0.0.1:1,b=[fe00::2]:7");
  EXPECT_FALSE(peers.next("ab"));
  EXPECT_EQ(peers.next("b")->family, 6);
  EXPECT_TRUE(parse("").empty());
}

TEST(LinePeers, WhatIsWrongHasAName) {
  EXPECT_THAT(wrong("a"), HasSubstr("'a' is not NAME=ADDRESS:PORT"));
  EXPECT_THAT(wrong("=10.0.0.1:1"), HasSubstr("no name of 1 to 255 characters"));
  EXPECT_THAT(wrong("a*b=10.0.0.1:1"), HasSubstr("* that is not at the end"));
  EXPECT_THAT(wrong("a=elsewhere:1"), HasSubstr("is not an IP address"));
  EXPECT_THAT(wrong("a=10.0.0.1:0"), HasSubstr("no address of another engine"));
  EXPECT_THAT(wrong("a=*:4000"), HasSubstr("no address of another engine"));
  EXPECT_THAT(wrong("a=unix:/tmp/x"), HasSubstr("no address of another engine"));
}

}  // namespace
}  // namespace drover::engine
