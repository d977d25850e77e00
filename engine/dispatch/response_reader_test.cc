#include "engine/dispatch/response_reader.h"

#include <gtest/gtest.h>

#include "engine/dispatch/dispatch_testing.h"

namespace drover::engine {
namespace {

// A call that a host runs, without a dispatcher.
class ResponseReaderTest : public testing::Test {
 protected:
  ResponseReaderTest()
      : link_(make_attachment(1, {"/test.Echo/Say"}, {1}), 0, metrics_),
        host_(host_side(link_.region())),
        tx_(link_.host().layout->tx_chunks_of_host()),
        source_(tx_, host_.base()),
        arena_(source_) {
    state_.host = &link_;
  }
  ~ResponseReaderTest() override {
    if (state_.reply != nullptr) memory_.let_go(state_);
  }
  CompleteSlot slot(std::string_view wire) {
    auto* object = static_cast<char*>(arena_.allocate_zeroed(echo_type().entry().object_size));
    EXPECT_TRUE(decode(echo_type(), reinterpret_cast<Message*>(object), wire, arena_).ok());
    CompleteSlot made{};
    made.response = host_.offset_of(object);
    return made;
  }
  static Region host_side(const Region& engine) {
    RegionError error;
    auto host = Region::attach(UniqueFd(::dup(engine.rx_fd())), UniqueFd(::dup(engine.tx_fd())), &error);
    EXPECT_TRUE(host) << error.message;
    return std::move(*host);
  }
  static std::string bytes(const Reply& reply) {
    std::string all;
    for (const Piece& piece : reply.message) all.append(piece.data, piece.size);
    return all;
  }

  ThreadMetrics metrics_{0};
  HostLink link_;
  Region host_;  // as the host has it
  ChunkPool tx_;
  ChunkBlockSource source_;
  Arena arena_;
  CallState state_;
  ReplyMemory memory_{128 << 20};
  ResponseReader reader_{{.max_response_bytes = 1 << 20}, memory_};
};

TEST_F(ResponseReaderTest, ASmallResponseIsCopiedAndTheHostMayHaveItsMemoryBack) {
  ResponseReader::Answer answer = reader_.read(state_, slot(echo_wire("hello")));
  EXPECT_EQ(answer.reply.code, StatusCode::kOk);
  EXPECT_TRUE(answer.reply.has_message);
  EXPECT_TRUE(answer.reply.ends);
  EXPECT_EQ(bytes(answer.reply), echo_wire("hello"));
  EXPECT_FALSE(answer.lent);
}

TEST_F(ResponseReaderTest, ALargeStringIsLentFromTheRegion) {
  std::string wire = echo_wire(std::string(100'000, 'l'));
  ResponseReader::Answer answer = reader_.read(state_, slot(wire));
  EXPECT_EQ(bytes(answer.reply), wire);
  EXPECT_TRUE(answer.lent);
}

TEST_F(ResponseReaderTest, NoResponseObjectIsAnEmptyMessage) {
  ResponseReader::Answer answer = reader_.read(state_, CompleteSlot{});
  EXPECT_TRUE(answer.reply.has_message);
  EXPECT_EQ(answer.reply.message_size, 0u);
  EXPECT_EQ(state_.reply, nullptr);
}

TEST_F(ResponseReaderTest, AnErrorCarriesNoMessageAndAStrangeCodeIsUnknown) {
  CompleteSlot made = slot(echo_wire("hello"));
  made.status = static_cast<uint32_t>(StatusCode::kNotFound);
  ResponseReader::Answer answer = reader_.read(state_, made);
  EXPECT_EQ(answer.reply.code, StatusCode::kNotFound);
  EXPECT_FALSE(answer.reply.has_message);
  made.status = 4711;
  EXPECT_EQ(reader_.read(state_, made).reply.code, StatusCode::kUnknown);
}

TEST_F(ResponseReaderTest, WhatLeadsOutOfTxIsInternalAndKeepsNoBuffer) {
  CompleteSlot made{};
  made.response = uint64_t{1} << 40;
  ResponseReader::Answer answer = reader_.read(state_, made);
  EXPECT_EQ(answer.reply.code, StatusCode::kInternal);
  EXPECT_EQ(answer.reply.status_message,
            "the service's response could not be encoded: the response object is not in tx memory");
  made = CompleteSlot{};
  made.trailer = link_.region().size() - 8;
  EXPECT_EQ(reader_.read(state_, made).reply.code, StatusCode::kInternal);
  EXPECT_EQ(state_.reply, nullptr);
}

TEST_F(ResponseReaderTest, AResponseOverTheLimitIsInternal) {
  ResponseReader small({.max_response_bytes = 10}, memory_);
  ResponseReader::Answer answer = small.read(state_, slot(echo_wire("more than ten bytes")));
  EXPECT_EQ(answer.reply.code, StatusCode::kInternal);
  EXPECT_FALSE(answer.reply.has_message);
  EXPECT_EQ(state_.reply, nullptr);
}

}  // namespace
}  // namespace drover::engine
