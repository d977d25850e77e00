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

TEST(GrpcHostile, SomethingElseThanHttp2IsClosed) {
  Rig rig;
  rig.receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  rig.flush();
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcHostile, BrokenFramesEndTheConnectionWithTheirErrorCode) {
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

TEST(GrpcHostile, FloodsOfEmptyAndControlFramesEndTheConnection) {
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

TEST(GrpcHostile, AFloodOfEmptyDataFramesEndsTheConnection) {
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

TEST(GrpcHostile, OpeningAndResettingStreamsForEverEndsTheConnection) {
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

TEST(GrpcHostile, HttpMessagingRulesAreKept) {
  Rig rig;
  TestClient client(rig);
  int32_t length = client.call("/echo.Echo/Call", "m", {{"content-length", "3"}});
  client.pump();
  EXPECT_TRUE(client[length].closed);
  EXPECT_EQ(client[length].error, uint32_t{NGHTTP2_PROTOCOL_ERROR});
  EXPECT_EQ(rig.sink.open_calls, 0);
}

// A literal field that leaves the table alone; sizes below 127.
std::string literal(std::string_view name, std::string_view value) {
  std::string out(1, '\0');
  for (std::string_view text : {name, value}) {
    if (text.size() < 0x7f) {
      out.push_back(static_cast<char>(text.size()));
    } else {
      out.push_back('\x7f');
      size_t rest = text.size() - 0x7f;
      for (; rest >= 0x80; rest >>= 7) out.push_back(static_cast<char>(rest | 0x80));
      out.push_back(static_cast<char>(rest));
    }
    out.append(text);
  }
  return out;
}
std::string call_block(std::string_view path) {
  return std::string("\x83\x86") + literal(":path", path) + literal(":authority", "h") +
         literal("content-type", "application/grpc");
}
constexpr uint8_t kEndHeaders = NGHTTP2_FLAG_END_HEADERS;
constexpr uint8_t kEndStream = NGHTTP2_FLAG_END_STREAM;

// A whole call: its headers, and its message in one frame.
std::string request(uint32_t stream, std::string_view path, std::string_view message) {
  return frame(NGHTTP2_HEADERS, kEndHeaders, stream, call_block(path)) +
         frame(NGHTTP2_DATA, kEndStream, stream, TestClient::framed(message));
}

TEST(GrpcHostile, AFloodingPeerThatDoesNotReadIsClosedAndItsCallsEnd) {
  Rig rig;
  rig.receive(kPreface + request(1, "/hold", "m"));
  EXPECT_EQ(rig.sink.open_calls, 1);
  rig.writable = 0;
  rig.flush();
  for (int i = 0; i < 30'000; ++i) rig.receive(frame(NGHTTP2_PING, 0, 0, "12345678"));
  EXPECT_EQ(rig.sink.open_calls, 0) << "the connection is over";
  rig.flush();
  for (int second = 0; second < 10; ++second) {
    rig.now += 1'000'000'000;
    rig.connection->sweep();
  }
  EXPECT_TRUE(rig.connection->finished());
  EXPECT_TRUE(rig.connection->broken());
}

TEST(GrpcHostile, RepliesThatWereNotProducedDoNotWaitForASlowReader) {
  Rig rig;
  rig.receive(kPreface);
  rig.flush();
  rig.writable = 0;
  const std::string body = TestClient::framed(std::string(10'000, 'x'));
  rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders, 1, call_block("/echo")) + frame(NGHTTP2_DATA, kEndStream, 1, body));
  rig.flush();
  for (uint32_t id = 3; id < 6000; id += 2) {
    rig.receive(request(id, "/echo", "m") + frame(NGHTTP2_RST_STREAM, 0, id, std::string("\0\0\0\x08", 4)));
    rig.flush();
  }
  EXPECT_EQ(rig.sink.open_calls, 1) << "the one whose bytes wait for the socket";
}

TEST(GrpcHostile, AFieldOfManyValuesCountsLikeManyFields) {
  Rig rig;
  rig.receive(kPreface);
  const std::string name = std::string(8000 - 4, 'n') + "-bin";
  rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders, 1, call_block("/hold") + literal(name, std::string(7900, ','))));
  rig.flush();
  EXPECT_EQ(rig.sink.open_calls, 0) << "RESOURCE_EXHAUSTED";
  EXPECT_FALSE(rig.connection->finished());
  EXPECT_LT(rig.connection->memory(), 40'000u);
}

TEST(GrpcHostile, ResetsThatThePeerDoesNotReadAreBounded) {
  Rig rig;
  rig.receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, std::string("\0\6\0\0\0\0", 6)));
  rig.flush();
  rig.writable = 0;
  size_t most = 0;
  for (uint32_t id = 1; id < 40'000 && !rig.connection->broken(); id += 2) {
    rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, id, call_block("/missing")));
    most = std::max(most, rig.connection->memory());
  }
  EXPECT_LT(most, 300'000u);
}

TEST(GrpcHostile, ACachedBlockIsHeldToTheSameRules) {
  Rig rig;
  rig.receive(kPreface);
  auto call = [&](uint32_t id, std::string_view timeout) {
    rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders, id, call_block("/hold") + literal("grpc-timeout", timeout)));
  };
  call(1, "1S");
  call(3, "2S");
  EXPECT_EQ(rig.sink.open_calls, 2);
  call(5, "2S\x01");
  EXPECT_EQ(rig.sink.open_calls, 2) << "an illegal value";
  const std::string twice = call_block("/hold") + literal("grpc-timeout", "1S") + literal("grpc-timeout", "5S");
  for (uint32_t id : {7u, 9u}) {
    rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders, id, twice));
    EXPECT_EQ(rig.sink.last_deadline_ns, rig.now + 5'000'000'000) << id;
  }
}

TEST(GrpcHostile, ManySettingsInOneFrameCostOneChange) {
  Rig rig;
  std::string bytes = kPreface;
  for (uint32_t id = 1; id < 2000; id += 2) bytes += frame(NGHTTP2_HEADERS, kEndHeaders, id, call_block("/hold"));
  rig.receive(bytes);
  EXPECT_EQ(rig.sink.open_calls, 1000);
  std::string settings;
  for (int i = 0; i < 2700; ++i)
    settings += i % 2 ? std::string("\0\4\0\0\xff\xff", 6) : std::string("\0\4\0\1\0\0", 6);
  int frames = 0;
  for (; frames < 20'000 && !rig.connection->finished(); ++frames) {
    rig.receive(frame(NGHTTP2_SETTINGS, 0, 0, settings));
    rig.flush();
    settings.resize(6);
    settings = settings == std::string("\0\4\0\0\xff\xff", 6) ? std::string("\0\4\0\1\0\0", 6)
                                                              : std::string("\0\4\0\0\xff\xff", 6);
  }
  EXPECT_LT(frames, 3000) << "a change costs tokens by the streams that it touches";
}

TEST(GrpcHostile, WindowUpdatesThatNothingPaidForEndTheConnection) {
  Rig rig;
  rig.receive(kPreface + request(1, "/hold", "m"));
  for (int i = 0; i < 30'000 && !rig.connection->finished(); ++i) {
    rig.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, std::string("\0\0\0\1", 4)));
    rig.flush();
  }
  EXPECT_TRUE(rig.connection->finished());
  EXPECT_EQ(goaway_code(rig.sent), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST(GrpcHostile, AReaderThatTricklesIsCutOff) {
  Rig rig;
  rig.receive(kPreface);
  rig.flush();
  rig.writable = 0;
  rig.receive(request(1, "/echo", std::string(16'000, 'x')));
  int seconds = 0;
  for (; seconds < 200 && !rig.connection->finished(); ++seconds) {
    rig.writable = 100;  // a second; 256 are due
    rig.flush();
    rig.now += 1'000'000'000;
    rig.connection->sweep();
  }
  EXPECT_TRUE(rig.connection->broken());
  EXPECT_NEAR(seconds, 62, 2);
}

TEST(GrpcHostile, AReaderThatIsFastEnoughIsNotCutOff) {
  Rig rig;
  rig.receive(kPreface);
  rig.flush();
  rig.writable = 0;
  rig.receive(request(1, "/echo", std::string(16'000, 'x')) +
              frame(NGHTTP2_WINDOW_UPDATE, 0, 0, std::string("\0\1\0\0", 4)));
  for (int seconds = 0; seconds < 60; ++seconds) {
    rig.writable = 300;
    rig.flush();
    rig.now += 1'000'000'000;
    rig.connection->sweep();
  }
  EXPECT_FALSE(rig.connection->finished());
  EXPECT_EQ(rig.sink.sent, 1);
}

TEST(GrpcHostile, AWindowThatOpensByTheByteEndsItsStream) {
  Rig rig;
  const std::string small_window("\0\4\0\0\0\1", 6);
  rig.receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, small_window));
  rig.receive(request(1, "/echo", std::string(16'000, 'x')));
  int seconds = 0;
  for (; seconds < 200 && rig.sink.open_calls > 0; ++seconds) {
    rig.receive(frame(NGHTTP2_WINDOW_UPDATE, 0, 1, std::string("\0\0\0\1", 4)));
    rig.flush();
    rig.now += 1'000'000'000;
    rig.connection->sweep();
  }
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_NEAR(seconds, 62, 2);
  EXPECT_FALSE(rig.connection->finished()) << "the stream's fault, not the connection's";
}

TEST(GrpcHostile, ARequestThatTricklesIsEnded) {
  Rig rig;
  rig.receive(kPreface + frame(NGHTTP2_HEADERS, kEndHeaders, 1, call_block("/echo")));
  rig.receive(frame(NGHTTP2_DATA, 0, 1, TestClient::framed(std::string(100'000, 'x')).substr(0, 5)));
  EXPECT_EQ(rig.sink.buffered, 0) << "a length alone takes no memory";
  int seconds = 0;
  for (; seconds < 200 && rig.sink.open_calls > 0; ++seconds) {
    rig.receive(frame(NGHTTP2_DATA, 0, 1, std::string(100, 'x')));
    rig.flush();
    rig.now += 1'000'000'000;
    rig.connection->sweep();
  }
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_NEAR(seconds, 62, 2);
}

TEST(GrpcHostile, AConnectionThatIsCutOffEndsItsCallsAndSaysWhy) {
  Rig rig;
  rig.receive(kPreface + request(1, "/hold", "m"));
  rig.flush();
  EXPECT_EQ(rig.sink.open_calls, 1);
  rig.connection->cut_off("too much");
  EXPECT_EQ(rig.sink.open_calls, 0);
  rig.flush();
  EXPECT_TRUE(rig.connection->finished());
  EXPECT_TRUE(rig.connection->broken());
  EXPECT_EQ(goaway_code(rig.sent), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST(GrpcHostile, AReplyIsCutOffInTheSessionOrWithItsConnection) {
  for (bool produced : {false, true}) {
    Rig rig;
    rig.receive(kPreface);
    rig.flush();
    rig.writable = 0;
    rig.receive(request(1, "/echo", std::string(10'000, 'x')));
    Call& call = *rig.sink.last_begun;
    if (produced) rig.flush();
    rig.cut_off(call);
    EXPECT_EQ(rig.connection->broken(), produced);
    if (produced) rig.connection.reset();
    EXPECT_EQ(rig.sink.open_calls, 0) << produced;
  }
}

TEST(GrpcHostile, WhatAPeerMakesAConnectionHoldIsMeasured) {
  Rig rig;
  rig.receive(kPreface);
  rig.flush();
  const size_t before = rig.connection->memory();
  rig.writable = 0;
  for (uint32_t id = 1; id < 200; id += 2) {
    rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders, id, call_block("/echo") + literal("x-a", std::string(100, 'y'))) +
                frame(NGHTTP2_DATA, kEndStream, id, TestClient::framed(std::string(100, 'x'))));
    rig.flush();
  }
  EXPECT_GT(rig.connection->memory(), before + 100 * 100) << "replies' metadata, streams, bytes that were not taken";
  rig.writable = SIZE_MAX;
  rig.flush();
  EXPECT_LT(rig.connection->memory(), before + 8'000);
  EXPECT_EQ(rig.connection->account().held(Resource::kCalls), 0u);
}

TEST(GrpcHostile, HeaderBlocksThatTheTableExpandsAreBoundedByTheSecond) {
  TransportOptions options;
  options.ledger.decoding_rate = 64e6;
  Rig rig(options);
  rig.receive(kPreface);
  // The first block puts a large field into the table; each further one names it four times.
  std::string first = call_block("/echo") + std::string("\x40", 1) + literal("name", std::string(3'900, 'v')).substr(1);
  rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, 1, first));
  uint32_t id = 3;
  for (; id < 500 && !rig.connection->finished(); id += 2) {
    rig.receive(frame(NGHTTP2_HEADERS, kEndHeaders | kEndStream, id, call_block("/echo") + "\xbe\xbe\xbe\xbe"));
    rig.flush();
  }
  EXPECT_TRUE(rig.connection->finished());
  EXPECT_EQ(goaway_code(rig.sent), NGHTTP2_ENHANCE_YOUR_CALM);
  EXPECT_NEAR(id / 2, 250'000 / 16'000, 3);
}

}  // namespace
}  // namespace drover::engine
