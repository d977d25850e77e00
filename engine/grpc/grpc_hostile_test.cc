// What a connection does with frames that no honest client sends.
#include <gtest/gtest.h>

#include "engine/grpc/grpc_testing.h"

namespace drover::engine {
namespace {

std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string out;
  for (int shift : {16, 8, 0}) out.push_back(static_cast<char>(payload.size() >> shift));
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  for (int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(stream >> shift));
  return out.append(payload);
}
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, "");

// The error code of the last GOAWAY among what the server sent; -1 if there was none.
int goaway_code(const std::string& sent) {
  int code = -1;
  for (size_t at = 0; at + 9 <= sent.size();) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(sent[at + i]); };
    size_t size = byte(0) << 16 | byte(1) << 8 | byte(2);
    if (byte(3) == NGHTTP2_GOAWAY) code = byte(9 + 4) << 24 | byte(9 + 5) << 16 | byte(9 + 6) << 8 | byte(9 + 7);
    at += 9 + size;
  }
  return code;
}

TEST(Http2Hostile, SomethingElseThanHttp2IsClosed) {
  Rig rig;
  rig.receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  rig.flush();
  EXPECT_TRUE(rig.connection->finished());
}

TEST(Http2Hostile, BrokenFramesEndTheConnectionWithTheirErrorCode) {
  struct {
    std::string bytes;
    int code;
  } cases[] = {{frame(NGHTTP2_DATA, 0, 0, "x"), NGHTTP2_PROTOCOL_ERROR},
               {frame(NGHTTP2_HEADERS, 4, 2, "\x82"), NGHTTP2_PROTOCOL_ERROR},
               {frame(NGHTTP2_HEADERS, 4, 1, std::string(1, '\xff')), NGHTTP2_COMPRESSION_ERROR},
               {frame(NGHTTP2_PING, 0, 0, "short"), NGHTTP2_FRAME_SIZE_ERROR},
               {frame(NGHTTP2_SETTINGS, 0, 0, "12345"), NGHTTP2_FRAME_SIZE_ERROR},
               {frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string(4, '\0')), NGHTTP2_PROTOCOL_ERROR},
               {frame(NGHTTP2_PUSH_PROMISE, 4, 1, std::string(4, '\2')), NGHTTP2_PROTOCOL_ERROR},
               {frame(NGHTTP2_CONTINUATION, 4, 1, "\x82"), NGHTTP2_PROTOCOL_ERROR},
               {frame(NGHTTP2_DATA, 0, 1, std::string(20'000, 'x')), NGHTTP2_FRAME_SIZE_ERROR}};
  for (const auto& one : cases) {
    Rig rig;
    rig.receive(kPreface + one.bytes);
    rig.flush();
    EXPECT_EQ(goaway_code(rig.sent), one.code);
    EXPECT_TRUE(rig.connection->finished());
  }
}

TEST(Http2Hostile, FloodsOfEmptyAndControlFramesEndTheConnection) {
  for (const std::string& one : {frame(NGHTTP2_PING, 0, 0, "12345678"), frame(NGHTTP2_SETTINGS, 0, 0, "")}) {
    Rig rig;
    rig.receive(kPreface);
    for (int i = 0; i < 30'000 && !rig.connection->finished(); ++i) {
      rig.receive(one);
      if (i % 100 == 0) rig.flush();
    }
    rig.flush();
    EXPECT_TRUE(rig.connection->finished());
    EXPECT_EQ(goaway_code(rig.sent), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

TEST(Http2Hostile, AFloodOfEmptyDataFramesEndsTheConnection) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/hold", "", {}, true);
  client.pump();
  for (int i = 0; i < 30'000 && !rig.connection->finished(); ++i) {
    rig.receive(frame(NGHTTP2_DATA, 0, static_cast<uint32_t>(id), ""));
    if (i % 100 == 0) rig.flush();
  }
  EXPECT_TRUE(rig.connection->finished());
}

TEST(Http2Hostile, OpeningAndResettingStreamsForEverEndsTheConnection) {
  TransportOptions options;
  options.reset_burst = 500;
  options.reset_rate = 1;
  Rig rig(options);
  TestClient client(rig);
  client.pump();
  for (int i = 0; i < 2000 && !rig.connection->finished(); ++i) {
    int32_t id = client.call("/hold", "m");
    rig.receive(client.take_bytes());
    nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    rig.receive(client.take_bytes());
    rig.flush();
  }
  EXPECT_TRUE(rig.connection->finished());
  rig.connection.reset();
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(Http2Hostile, HttpMessagingRulesAreKept) {
  Rig rig;
  TestClient client(rig);
  int32_t length = client.call("/echo.Echo/Call", "m", {{"content-length", "3"}});
  client.pump();
  EXPECT_TRUE(client[length].closed);
  EXPECT_EQ(client[length].error, uint32_t{NGHTTP2_PROTOCOL_ERROR});
  EXPECT_EQ(rig.sink.open_calls, 0);
}

}  // namespace
}  // namespace drover::engine
