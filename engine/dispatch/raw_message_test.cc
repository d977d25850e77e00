// Raw methods: bytes of any content, from the client to the host's memory and back.
#include "engine/dispatch/raw_message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "channel/control.h"
#include "engine/dispatch/dispatch_testing.h"
#include "message/raw.h"

namespace drover::engine {
namespace {

std::string random_bytes(size_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

schema::MessageType type_of(const schema::OwnedImage& image) { return {&image.image(), 0}; }

TEST(RawMessage, OnlyOneOptionalBytesFieldWithNumberOneIsRaw) {
  EXPECT_TRUE(is_raw_type(raw_type()));
  EXPECT_FALSE(is_raw_type(echo_type()));
  for (const char* body :
       {"bytes data = 1;", "optional string data = 1;", "optional bytes data = 2;", "repeated bytes data = 1;",
        "oneof o { bytes data = 1; }", "", "optional bytes data = 1; int32 more = 2;"}) {
    const std::string proto = std::string("syntax = \"proto3\"; message M { ") + body + " }";
    const schema::OwnedImage image = schema::image_of(proto.c_str());
    EXPECT_FALSE(is_raw_type(type_of(image))) << body;
  }
}

TEST(RawMessage, ABrokenWrapperIsNotUnwrapped) {
  struct Case {
    std::string wire;
    bool fine;
  };
  for (const Case& one : {Case{"", true}, Case{std::string("\x0a\0", 2), true}, Case{"\x0a\x01x", true},
                          Case{"\x0a\x01xy", false}, Case{"\x0a\x02x", false}, Case{"\x12\x01x", false},
                          Case{"\x0a", false}, Case{"\x0a\xff\xff\xff\xff\xff\xff", false}}) {
    // An Echo whose unknown field is the wire: it goes out as it is.
    Encoded encoded;
    Arena arena;
    auto* object = reinterpret_cast<Message*>(static_cast<char*>(arena.allocate_zeroed(64)));
    String unknown_bytes;
    unknown_bytes.borrow(one.wire.data(), one.wire.size(), false);
    object->drover_set_unknown_string(&unknown_bytes);
    ASSERT_TRUE(encode(raw_type(), object, {}, &encoded).ok());
    ASSERT_EQ(encoded.size(), one.wire.size());
    EXPECT_EQ(unwrap_raw(&encoded), one.fine) << one.wire.size();
  }
}

class RawMethods : public testing::TestWithParam<size_t> {
 protected:
  static DispatchOptions slices() {
    DispatchOptions options;
    options.parses = {.at_once_ns = 0, .serve_ns = 1'000};
    options.max_request_bytes = 64 << 20;
    return options;
  }
  FakeHost::Options raw(uint32_t flags = 0) const {
    return {.rx_bytes = 32 << 20, .tx_bytes = 64 << 20, .flags = kMethodRaw | flags};
  }
  Call& call(std::string_view wire, bool in_region) {
    Call& call = engine_.begin();
    EXPECT_EQ(engine_.opened.code, StatusCode::kOk) << engine_.opened.message;
    EXPECT_FALSE(call.request_streams || call.reply_streams);
    if (!in_region) {
      engine_.dispatcher.message(call, wire, More::kLast);
      return call;
    }
    std::span<char> buffer = engine_.dispatcher.message_buffer(call, wire.size(), 0);
    EXPECT_EQ(buffer.size(), wire.size());
    if (!wire.empty()) std::memcpy(buffer.data(), wire.data(), std::min(wire.size(), buffer.size()));
    engine_.dispatcher.message(call, {}, More::kLast);
    return call;
  }

  TestThread engine_{slices()};
};

TEST_P(RawMethods, BytesOfAnyContentComeAndGoUnchanged) {
  const std::string bytes = random_bytes(GetParam());
  FakeHost host(engine_, raw());
  for (bool in_region : {false, true}) {
    Call& asked = call(bytes, in_region);
    ASSERT_TRUE(engine_.pump_until([&] {
      host.take();
      return !host.calls.empty();
    }));
    EXPECT_TRUE(host.calls.front().wire == echo_wire(bytes)) << "not the request's bytes";
    host.answer(host.calls.front(), host.calls.front().wire, host.next_tx_call++);
    host.calls.pop_front();
    ASSERT_TRUE(engine_.pump_until([&] { return engine_.transport.answered(asked); }));
    const Answer& answer = engine_.transport.answer(asked);
    EXPECT_EQ(answer.code, StatusCode::kOk) << answer.message;
    EXPECT_TRUE(answer.has_body && answer.body == bytes);
  }
  engine_.pump();
  EXPECT_EQ(engine_.dispatcher.calls(), 0u);
}

TEST_P(RawMethods, SoDoTheMessagesOfAStream) {
  const std::string bytes = random_bytes(GetParam());
  FakeHost host(engine_, raw(kMethodStreams));
  Call& call = engine_.begin();
  engine_.dispatcher.start(call);
  for (int i = 0; i < 3; ++i) engine_.dispatcher.message(call, bytes, i == 2 ? More::kLast : More::kMay);
  ASSERT_TRUE(engine_.pump_until([&] {
    host.take();
    return host.messages.size() == 3;
  }));
  FakeHost::Taken taken = host.calls.front();
  for (const auto& message : host.messages) {
    EXPECT_TRUE(message.wire == echo_wire(bytes));
    host.reply(taken, message.wire, {.consumed = 1});
  }
  host.end(taken, StatusCode::kOk);
  ASSERT_TRUE(engine_.pump_until([&] { return engine_.transport.answered(call); }));
  ASSERT_EQ(engine_.transport.steps[&call].size(), 3u);
  for (const auto& step : engine_.transport.steps[&call]) EXPECT_TRUE(step.has_message && step.body == bytes);
  EXPECT_EQ(engine_.transport.consumed_bytes[&call], 3 * bytes.size());
}

INSTANTIATE_TEST_SUITE_P(Sizes, RawMethods, testing::Values(0, 1, 127, 128, 255, 256, 5000, 40'000, 3'000'000));

class HostileRaw : public RawMethods {
 protected:
  // What the client gets for an object that `scribble` has been at.
  Answer answer_to(const std::function<void(FakeHost&, char*)>& scribble) {
    FakeHost host(engine_, raw());
    Call& asked = call("victim", false);
    host.take();
    const uint64_t offset = host.build(echo_wire(std::string(300, 'x')));
    scribble(host, host.region->base() + offset);
    CompleteSlot slot = FakeHost::completion(host.calls.front());
    slot.response = offset;
    host.push(0, to_slot(slot));
    EXPECT_TRUE(engine_.pump_until([&] { return engine_.transport.answered(asked); }));
    EXPECT_EQ(engine_.dispatcher.hosts(), 1u);
    host.die();
    engine_.pump();
    return engine_.transport.answer(asked);
  }
};

TEST_F(HostileRaw, BytesOutsideTheRegionCostTheCall) {
  for (int64_t far : {int64_t{1} << 40, -(int64_t{1} << 40), INT64_MAX, INT64_MIN}) {
    Answer answer = answer_to(
        [far](FakeHost&, char* object) { std::memcpy(object + raw_type().find_field(1)->offset, &far, sizeof far); });
    EXPECT_EQ(answer.code, StatusCode::kInternal);
    EXPECT_NE(answer.message.find("out_of_bounds"), std::string::npos) << answer.message;
  }
}

TEST_F(HostileRaw, OtherFieldsCostTheCall) {
  Answer answer = answer_to([](FakeHost& host, char* object) {
    const uint64_t more = host.build(echo_wire(std::string("\x12\x01y")));  // its bytes, as unknown fields of the other
    auto* bytes = reinterpret_cast<String*>(host.region->base() + more + raw_type().find_field(1)->offset);
    reinterpret_cast<Message*>(object)->drover_set_unknown_string(bytes);
  });
  EXPECT_EQ(answer.code, StatusCode::kInternal);
  EXPECT_NE(answer.message.find("a raw message with other fields"), std::string::npos) << answer.message;
}

TEST_F(HostileRaw, AMessageWithoutBytesIsAnEmptyOne) {
  Answer answer = answer_to([](FakeHost&, char* object) { raw::clear_has_bit(object, 0); });
  EXPECT_EQ(answer.code, StatusCode::kOk);
  EXPECT_TRUE(answer.has_body && answer.body.empty());
}

TEST_F(HostileRaw, AHostThatServesARawMethodOtherwiseIsDetached) {
  FakeHost host(engine_, raw());
  FakeHost other(engine_);
  engine_.pump();
  ASSERT_TRUE(engine_.pump_until([&] { return engine_.events.failed.count(other.id) == 1; }));
  EXPECT_NE(engine_.events.failed[other.id].find("raw"), std::string::npos);
}

}  // namespace
}  // namespace drover::engine
