#include "engine/dispatch/request_builder.h"

#include <gtest/gtest.h>

#include "engine/dispatch/call_records.h"
#include "engine/dispatch/dispatch_testing.h"
#include "message/extensions.h"

namespace drover::engine {
namespace {

class RequestBuilderTest : public testing::Test {
 protected:
  RequestBuilderTest() {
    call_.peer = &peer_;
    call_.authority = "test.example";
    call_.metadata = metadata_;
  }
  BuiltRequest build(HostLink& link, std::string_view wire) {
    return build_request(call_, link, link.host().methods[0], wire, false);
  }
  std::string encoded(HostLink& link, const BuiltRequest& built) {
    Encoded out;
    auto* object = reinterpret_cast<const Message*>(link.region().base() + built.object);
    EXPECT_TRUE(encode(echo_type(), object, {}, &out).ok());
    std::string wire(out.size(), 0);
    out.copy_to(wire.data());
    return wire;
  }

  const Peer peer_{"ipv4:127.0.0.1:4711", {}};
  const std::vector<Header> metadata_ = {{"key", "value"}};
  Call call_;
  ThreadMetrics metrics_{0};
};

TEST_F(RequestBuilderTest, TheObjectAndTheMetadataLieInTheRunsThatItNames) {
  HostLink link(make_attachment(1, {"/test.Echo/Say"}, {1}), 0, metrics_);
  BuiltRequest built = build(link, echo_wire("hello"));
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(encoded(link, built), echo_wire("hello"));
  auto* metadata = reinterpret_cast<const CallMetadata*>(link.region().base() + built.metadata);
  EXPECT_EQ(metadata->count, 1u);
  EXPECT_STREQ(metadata->peer.c_str(), "ipv4:127.0.0.1:4711");
  for (uint64_t at : {built.object, built.metadata}) {
    EXPECT_GE(at, built.run.offset);
    EXPECT_LT(at, built.run.offset + built.run.chunks * kChunkSize);
  }
  EXPECT_EQ(link.rx().free_chunks() + built.run.chunks, link.rx().total_chunks());
}

// A search for required fields decodes extensions, and in one piece, if generated classes or the JSON printer have
// installed a decoder. The engine has neither.
TEST_F(RequestBuilderTest, ExtensionsAreNotDecodedHere) { EXPECT_EQ(message::installed_decoder.load(), nullptr); }

TEST_F(RequestBuilderTest, WhatCannotBeDecodedLeavesNoMemoryBehind) {
  HostLink link(make_attachment(1, {"/test.Echo/Say"}, {1}), 0, metrics_);
  BuiltRequest built = build(link, "\x0a\x05hi");
  EXPECT_FALSE(built.ok());
  EXPECT_FALSE(built.no_memory);
  EXPECT_EQ(link.rx().free_chunks(), link.rx().total_chunks());
}

TEST_F(RequestBuilderTest, AFullRegionIsWorthAnotherTryAndKeepsWhatItHad) {
  HostLink link(make_attachment(1, {"/test.Echo/Say"}, {1}, 64 << 10), 0, metrics_);
  while (link.rx().free_chunks() > 2) ASSERT_NE(link.rx().allocate(1), ChunkPool::kNone);
  uint32_t free = link.rx().free_chunks();
  BuiltRequest built = build(link, echo_wire(std::string(60'000, 'x')));
  EXPECT_FALSE(built.ok());
  EXPECT_TRUE(built.no_memory);
  EXPECT_TRUE(built.try_again);
  EXPECT_EQ(link.rx().free_chunks(), free);
}

}  // namespace
}  // namespace drover::engine
