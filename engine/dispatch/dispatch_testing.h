// For the dispatcher's tests: the echo schema, and a transport that keeps the answers.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "channel/ring.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "engine/dispatch/dispatcher.h"
#include "schema/proto_text.h"

namespace drover::engine {

inline constexpr const char* kEchoProto = R"(
  syntax = "proto3"; package test;
  message Echo { string text = 1; bytes blob = 2; int32 number = 3; Echo inner = 4; repeated Echo items = 5; }
)";

inline const schema::OwnedImage& echo_image() {
  static const schema::OwnedImage image = schema::image_of(kEchoProto);
  return image;
}
inline schema::MessageType echo_type() {
  return {&echo_image().image(), static_cast<uint32_t>(echo_image().image().find_message("test.Echo", 9))};
}
// test.Echo with that `text`, as wire bytes.
inline std::string echo_wire(std::string_view text, int field = 1) {
  std::string wire(1, static_cast<char>(field << 3 | 2));
  for (size_t n = text.size();; n >>= 7) {
    wire.push_back(static_cast<char>(n >= 128 ? (n & 127) | 128 : n));
    if (n < 128) break;
  }
  return wire.append(text);
}

struct Answer {
  GrpcCode code;
  std::string message;
  bool has_body;
  std::string body;
  std::vector<Header> initial, trailing;
};

// Takes replies. With `send_at_once`, each is "sent" before reply() returns; otherwise sent(call) says when.
class FakeTransport final : public ReplySink {
 public:
  void reply(Call& call, const Reply& reply) override {
    ASSERT_EQ(answers.count(&call), 0u) << "answered twice";
    Answer& answer = answers[&call];
    answer = {reply.code, std::string(reply.message), reply.has_body, {}, {}, {}};
    for (const Piece& piece : reply.body) answer.body.append(piece.data, piece.size);
    EXPECT_EQ(answer.body.size(), reply.body_size);
    answer.initial.assign(reply.initial.begin(), reply.initial.end());
    answer.trailing.assign(reply.trailing.begin(), reply.trailing.end());
    if (send_at_once) sink->reply_sent(call);
  }
  bool answered(const Call& call) const { return answers.count(&call) != 0; }
  const Answer& answer(const Call& call) { return answers.at(&call); }

  CallSink* sink = nullptr;
  bool send_at_once = true;
  std::map<const Call*, Answer> answers;
};

}  // namespace drover::engine
