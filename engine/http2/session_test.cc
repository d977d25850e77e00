#include "engine/http2/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/http2/session_testing.h"

namespace drover::engine::http2 {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const TestFields kRequest = {{":method", "POST"}, {":scheme", "http"}, {":path", "/a/b"}, {":authority", "host"}};

SessionOptions client_options() {
  SessionOptions options;
  options.role = Role::kClient;
  return options;
}

std::string u32(uint32_t value) {
  std::string bytes(4, '\0');
  put_u32(bytes.data(), value);
  return bytes;
}

struct Pair {
  explicit Pair(SessionOptions server_options = {}, SessionOptions options_of_client = client_options())
      : client(options_of_client), server(server_options) {
    server.echo = true;
    Endpoint::pump(client, server);
  }
  Endpoint client;
  Endpoint server;
};

TEST(Session, ClientAndServerExchangeHeadersBodiesAndTrailers) {
  Pair pair;
  TestStream* stream = pair.client.request(kRequest, "hello", {{"x-sent", "all"}});
  ASSERT_NE(stream, nullptr);
  Endpoint::pump(pair.client, pair.server);
  EXPECT_EQ(pair.server.received[1].headers, kRequest);
  EXPECT_EQ(pair.server.received[1].trailers, (TestFields{{"x-sent", "all"}}));
  EXPECT_EQ(pair.client.received[1].headers, (TestFields{{":status", "200"}, {"x-echo", "yes"}}));
  EXPECT_EQ(pair.client.received[1].body, "hello");
  EXPECT_EQ(pair.client.received[1].trailers, (TestFields{{"x-end", "yes"}}));
  EXPECT_EQ(pair.client.received[1].code, ErrorCode::kNoError);
  EXPECT_TRUE(pair.client.received[1].closed);
  EXPECT_THAT(pair.server.events, ElementsAre("1 headers", "1 end", "1 closed NO_ERROR"));
  EXPECT_EQ(pair.server.session->open_streams(), 0u);
}

TEST(Session, WithoutTimeItStopsBehindAFrameAndGoesOnThere) {
  Pair pair;
  for (int i = 0; i < 100; ++i) ASSERT_NE(pair.client.request(kRequest, "hello"), nullptr);
  const std::string bytes = pair.client.take();
  int steps = 0;
  for (size_t at = 0; at < bytes.size(); ++steps) {
    pair.server.scratch.pace.run_until(1);  // long ago
    const size_t taken = pair.server.session->receive(bytes.data() + at, bytes.size() - at);
    ASSERT_GT(taken, 0u);
    at += taken;
    if (at == bytes.size()) break;
    FrameHeader next = FrameHeader::read(bytes.data() + at);
    EXPECT_TRUE(next.type == FrameType::kHeaders || next.type == FrameType::kData) << "at " << at;
  }
  EXPECT_GE(steps, 10);
  Endpoint::pump(pair.client, pair.server);
  for (uint32_t id = 1; id < 200; id += 2) EXPECT_EQ(pair.client.received[id].body, "hello") << id;
}

TEST(Session, BytesMayBeCutAnywhere) {
  for (size_t step : {1u, 2u, 3u, 7u, 8u, 9u, 10u, 17u, 100u}) {
    Endpoint client(client_options());
    Endpoint server;
    server.echo = true;
    for (int i = 0; i < 5; ++i) client.request(kRequest, std::string(static_cast<size_t>(i) * 400, 'b'));
    Endpoint::pump(client, server, step);
    for (uint32_t id = 1; id < 10; id += 2) {
      EXPECT_TRUE(client.received[id].closed) << step;
      EXPECT_EQ(client.received[id].body, server.received[id].body) << step;
      EXPECT_EQ(server.received[id].body.size(), (id - 1) / 2 * 400u);
    }
  }
}

TEST(Session, BodiesOfEverySizePassThroughEveryWindow) {
  std::mt19937 random(5);
  for (uint32_t window : {1u, 100u, 65'535u, 1u << 20}) {
    SessionOptions options;
    options.stream_window = options.max_stream_window = window;
    Pair pair(options);
    std::vector<std::pair<uint32_t, std::string>> sent;
    for (size_t size : {0u, 1u, 16'384u, 16'385u, 100'000u}) {
      if (window == 1 && size > 20'000) continue;
      std::string body(size, '\0');
      for (char& c : body) c = static_cast<char>(random());
      sent.emplace_back(pair.client.request(kRequest, body)->id(), body);
    }
    Endpoint::pump(pair.client, pair.server, 10'007);
    for (const auto& [id, body] : sent) {
      EXPECT_EQ(pair.client.received[id].body, body) << window;
      EXPECT_TRUE(pair.client.received[id].closed);
    }
  }
}

TEST(Session, WindowsFollowTheBandwidthDelayProduct) {
  SessionOptions options;
  options.stream_window = 64 << 10;
  options.max_stream_window = 1 << 20;
  Pair pair(options);
  pair.client.request(kRequest, std::string(8 << 20, 'x'));
  size_t largest_flight = 0;
  for (int turn = 0; turn < 10'000 && !pair.client.received[1].closed; ++turn) {
    std::string bytes = pair.client.take();
    largest_flight = std::max(largest_flight, bytes.size());
    pair.server.session->receive(bytes.data(), bytes.size());
    pair.server.send_to(pair.client);
  }
  EXPECT_TRUE(pair.client.received[1].closed);
  EXPECT_GT(largest_flight, 900u << 10);
  EXPECT_LT(largest_flight, 1100u << 10) << "no more than the largest window";
}

TEST(Session, DataBeyondTheWindowIsAnError) {
  SessionOptions options;
  options.stream_window = options.max_stream_window = 1000;
  Endpoint server(options);
  server.hold = true;
  std::string bytes = client_start() + frame(FrameType::kHeaders, kFlagEndHeaders, 1, kRequestBlock) +
                      frame(FrameType::kData, 0, 1, std::string(1001, 'x'));
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_EQ(server.received[1].code, ErrorCode::kFlowControlError);
  EXPECT_FALSE(server.session->failed());
}

TEST(Session, ABlockThatRepeatsIsDecodedOnce) {
  SessionOptions options;
  options.variable_field = "grpc-timeout";
  Pair pair(options);
  std::string block(kRequestBlock);
  block += std::string("\x0f\x2b\x05hello", 8);  // a literal without indexing, its name from the static table
  auto request = [&](uint32_t id, std::string_view timeout) {
    std::string with_timeout = block + std::string("\0\x0cgrpc-timeout", 14) + static_cast<char>(timeout.size());
    with_timeout.append(timeout);
    std::string bytes = frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, id, with_timeout);
    pair.server.session->receive(bytes.data(), bytes.size());
  };
  request(1, "1S");
  request(3, "20S");
  request(5, "");
  EXPECT_EQ(pair.server.heads_made, 1);
  EXPECT_EQ(pair.server.received[1].variable, "1S");
  EXPECT_EQ(pair.server.received[3].variable, "20S");
  EXPECT_EQ(pair.server.received[5].variable, "");
  EXPECT_EQ(pair.server.received[3].headers, pair.server.received[1].headers);
}

TEST(Session, ABlockIsDecodedAgainAfterTheTableHasChanged) {
  Pair pair;
  const std::string indexed = std::string(kRequestBlock) + "\xbe";  // the youngest entry
  auto receive = [&](uint32_t id, const std::string& block) {
    std::string bytes = frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, id, block);
    pair.server.session->receive(bytes.data(), bytes.size());
  };
  receive(1, std::string(kRequestBlock) +
                 "\x40\x01"
                 "a"
                 "\x01"
                 "1");
  receive(3, indexed);
  receive(5, indexed);
  receive(7, std::string(kRequestBlock) +
                 "\x40\x01"
                 "a"
                 "\x01"
                 "2");
  receive(9, indexed);
  EXPECT_THAT(pair.server.received[3].headers, Contains(std::pair<std::string, std::string>("a", "1")));
  EXPECT_THAT(pair.server.received[5].headers, Contains(std::pair<std::string, std::string>("a", "1")));
  EXPECT_THAT(pair.server.received[9].headers, Contains(std::pair<std::string, std::string>("a", "2")));
  EXPECT_EQ(pair.server.heads_made, 2) << "blocks with the same fields share a head";
}

TEST(Session, BlocksOfTheSameFieldsShareAHeadWhereverTheirVariableFieldGoes) {
  SessionOptions options;
  options.variable_field = "grpc-timeout";
  Pair pair(options);
  auto receive = [&](uint32_t id, const std::string& block) {
    std::string bytes =
        frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, id, std::string(kRequestBlock) + block);
    pair.server.session->receive(bytes.data(), bytes.size());
  };
  auto indexed = [](std::string_view name, std::string_view value) {
    std::string field = "\x40";
    for (std::string_view text : {name, value}) field.append(1, static_cast<char>(text.size())).append(text);
    return field;
  };
  receive(1, indexed("a", "1") + indexed("grpc-timeout", "1S"));
  receive(3, indexed("a", "1") + indexed("grpc-timeout", "2S"));
  EXPECT_EQ(pair.server.heads_made, 1);
  EXPECT_EQ(pair.server.received[3].variable, "2S");
  receive(5, indexed("a", "1"));
  EXPECT_EQ(pair.server.heads_made, 2) << "without the variable field";
  receive(7, indexed("a", "1") + indexed("grpc-timeout", "3S") + indexed("grpc-timeout", "4S"));
  EXPECT_EQ(pair.server.heads_made, 3) << "two of them";
  receive(9, indexed("a", "12") + indexed("grpc-timeout", "2S"));
  receive(11, indexed("a1", "2") + indexed("grpc-timeout", "2S"));
  EXPECT_EQ(pair.server.heads_made, 5) << "the same bytes, cut elsewhere";
  const int before = pair.server.heads_made;
  receive(13, indexed("a", "1") + indexed("grpc-timeout", "2\nS"));
  EXPECT_EQ(pair.server.received.count(13), 0u) << "the variable field's value is checked all the same";
  EXPECT_EQ(pair.server.heads_made, before);
}

TEST(Session, LongHeaderBlocksTravelInContinuations) {
  Pair pair;
  TestFields headers = kRequest;
  for (int i = 0; i < 10; ++i) headers.emplace_back("x-long", std::string(1200, static_cast<char>('a' + i)));
  pair.client.request(headers, "");
  pair.server.options.max_header_bytes = 64 << 10;
  Endpoint::pump(pair.client, pair.server, 1000);
  EXPECT_EQ(pair.server.received[1].headers, headers);
}

TEST(Session, AHeaderBlockThatDoesNotEndIsBounded) {
  Endpoint server;
  std::string start = client_start() + frame(FrameType::kHeaders, 0, 1, kRequestBlock);
  server.session->receive(start.data(), start.size());
  EXPECT_NE(server.session->header_block_since_ns(), 0);
  size_t most = 0;
  const std::string more = frame(FrameType::kContinuation, 0, 1, std::string(10'000, '\x82'));
  for (int i = 0; i < 100 && !server.session->failed(); ++i) {
    server.session->receive(more.data(), more.size());
    most = std::max(most, server.session->memory());
  }
  EXPECT_EQ(server.failure, ErrorCode::kEnhanceYourCalm);
  EXPECT_LT(most, 100u << 10);
}

TEST(Session, HeadersOfOpenStreamsAreBounded) {
  SessionOptions options;
  options.max_open_header_bytes = 20'000;
  Endpoint server(options);
  std::string start = client_start();
  server.session->receive(start.data(), start.size());
  for (uint32_t id = 1; id < 100; id += 2) {
    std::string value(1000, 'v');
    value[0] = static_cast<char>('!' + id / 2);  // equal blocks share their meaning
    std::string block = std::string(kRequestBlock) + std::string("\0\x01x\x7f\xe9\x06", 6) + value;
    std::string bytes = frame(FrameType::kHeaders, kFlagEndHeaders, id, block);
    server.session->receive(bytes.data(), bytes.size());
    ASSERT_LT(server.session->memory(), 40'000u);
  }
  EXPECT_LT(server.session->open_streams(), 20u);
  EXPECT_GT(server.session->open_streams(), 10u);
  EXPECT_FALSE(server.session->failed());
  while (!server.streams.empty()) server.session->reset(*server.streams.begin()->second, ErrorCode::kCancel);
  server.take();
  server.closed.clear();
  EXPECT_LT(server.session->memory(), 12'000u) << "memory goes back, but for four remembered heads";
}

TEST(Session, StreamsThatShareAHeadAreChargedForItOnce) {
  SessionOptions options;
  options.max_open_header_bytes = 20'000;
  Endpoint server(options);
  std::string bytes = client_start();
  const std::string block = std::string(kRequestBlock) + std::string("\0\x01x\x7f\xe9\x06", 6) + std::string(1000, 'v');
  for (uint32_t id = 1; id < 1000; id += 2) bytes += frame(FrameType::kHeaders, kFlagEndHeaders, id, block);
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_EQ(server.session->open_streams(), 500u);
}

TEST(Session, APeerThatDoesNotReadItsAnswersIsCutOff) {
  Endpoint server;
  std::string start = client_start();
  server.session->receive(start.data(), start.size());
  const std::string ping = frame(FrameType::kPing, 0, 0, "12345678");
  int sent = 0;
  while (!server.session->failed() && sent < 100'000) {
    server.session->receive(ping.data(), ping.size());
    ++sent;
  }
  EXPECT_EQ(server.failure, ErrorCode::kEnhanceYourCalm);
  EXPECT_LT(server.session->memory(), 200u << 10);
  EXPECT_LT(sent, 5000);
}

TEST(Session, AClientThatPingsTooOftenIsToldSo) {
  SessionOptions options;
  options.pings.max_strikes = 2;
  Endpoint server(options);
  const std::string ping = frame(FrameType::kPing, 0, 0, "12345678");
  const std::string start = client_start() + ping + ping + ping;
  server.session->receive(start.data(), start.size());
  EXPECT_FALSE(server.session->failed());
  server.session->receive(ping.data(), ping.size());
  EXPECT_TRUE(server.session->failed());
  EXPECT_EQ(server.failure, ErrorCode::kEnhanceYourCalm);
}

TEST(Session, StreamsOverTheLimitAreRefusedAndCounted) {
  SessionOptions options;
  options.max_concurrent_streams = 3;
  options.reset_burst = 10;
  options.reset_rate = 1;
  Endpoint server(options);
  std::string bytes = client_start();
  for (uint32_t id = 1; id < 12; id += 2) bytes += frame(FrameType::kHeaders, kFlagEndHeaders, id, kRequestBlock);
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_EQ(server.session->open_streams(), 3u);
  EXPECT_FALSE(server.session->failed());
  bytes.clear();
  for (uint32_t id = 13; id < 60; id += 2) bytes += frame(FrameType::kHeaders, kFlagEndHeaders, id, kRequestBlock);
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_EQ(server.failure, ErrorCode::kEnhanceYourCalm);
}

TEST(Session, AStreamMayBeResetFromWithinItsEvents) {
  for (bool on_headers : {true, false}) {
    Pair pair;
    (on_headers ? pair.server.reset_on_headers : pair.server.reset_on_data) = true;
    pair.server.echo = false;
    pair.client.request(kRequest, std::string(300'000, 'x'));
    Endpoint::pump(pair.client, pair.server, 5000);
    EXPECT_EQ(pair.client.received[1].code, ErrorCode::kCancel);
    EXPECT_EQ(pair.server.session->open_streams(), 0u);
    pair.server.reset_on_headers = pair.server.reset_on_data = false;
    pair.server.echo = true;
    for (uint32_t id = 3; id < 30; id += 2) {
      pair.client.request(kRequest, std::string(300'000, 'y'));
      Endpoint::pump(pair.client, pair.server);
      EXPECT_EQ(pair.client.received[id].body.size(), 300'000u) << "the connection's window was given back";
    }
  }
}

TEST(Session, FramesOfStreamsThatWeResetAreIgnored) {
  Endpoint server;
  server.reset_on_headers = true;
  std::string bytes = client_start() + frame(FrameType::kHeaders, kFlagEndHeaders, 1, kRequestBlock) +
                      frame(FrameType::kData, 0, 1, "late") + frame(FrameType::kWindowUpdate, 0, 1, u32(5)) +
                      frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, 1, "\x82");
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_FALSE(server.session->failed()) << server.failure_text;
}

// What RFC 9113 says of each: the connection's error code.
TEST(Session, BrokenRulesEndTheConnectionWithTheirCode) {
  const std::string headers = frame(FrameType::kHeaders, kFlagEndHeaders, 1, kRequestBlock);
  const std::string setting_push("\0\2\0\0\0\2", 6), setting_window("\0\4\x80\0\0\0", 6),
      setting_frame("\0\5\0\0\1\0", 6);
  struct {
    const char* what;
    std::string bytes;
    ErrorCode code;
  } cases[] = {
      {"DATA of stream 0", frame(FrameType::kData, 0, 0, "x"), ErrorCode::kProtocolError},
      {"DATA of an idle stream", frame(FrameType::kData, 0, 1, "x"), ErrorCode::kProtocolError},
      {"padding as long as the frame", headers + frame(FrameType::kData, kFlagPadded, 1, "\x02x"),
       ErrorCode::kProtocolError},
      {"padded and empty", headers + frame(FrameType::kData, kFlagPadded, 1, ""), ErrorCode::kFrameSizeError},
      {"HEADERS of an even stream", frame(FrameType::kHeaders, 4, 2, kRequestBlock), ErrorCode::kProtocolError},
      {"HEADERS of a lower stream",
       frame(FrameType::kHeaders, 4, 5, kRequestBlock) + frame(FrameType::kHeaders, 4, 3, kRequestBlock),
       ErrorCode::kProtocolError},
      {"HEADERS with a padding too long", frame(FrameType::kHeaders, 12, 1, "\x09\x82"), ErrorCode::kProtocolError},
      {"HEADERS without its priority", frame(FrameType::kHeaders, 0x24, 1, "abcd"), ErrorCode::kFrameSizeError},
      {"HEADERS whose padding takes of its priority",
       frame(FrameType::kHeaders, 0x2c, 1, std::string("\x04\0\0\0\0\0\x82\x82\x82", 9)), ErrorCode::kProtocolError},
      {"a malformed block", frame(FrameType::kHeaders, 4, 1, "\xff\xff"), ErrorCode::kCompressionError},
      {"an interrupted block",
       frame(FrameType::kHeaders, 0, 1, kRequestBlock) + frame(FrameType::kPing, 0, 0, "12345678"),
       ErrorCode::kProtocolError},
      {"CONTINUATION of another stream",
       frame(FrameType::kHeaders, 0, 1, kRequestBlock) + frame(FrameType::kContinuation, 4, 3, ""),
       ErrorCode::kProtocolError},
      {"CONTINUATION alone", frame(FrameType::kContinuation, 4, 1, ""), ErrorCode::kProtocolError},
      {"RST_STREAM of an idle stream", frame(FrameType::kRstStream, 0, 1, u32(8)), ErrorCode::kProtocolError},
      {"a short RST_STREAM", headers + frame(FrameType::kRstStream, 0, 1, "x"), ErrorCode::kFrameSizeError},
      {"SETTINGS of a stream", frame(FrameType::kSettings, 0, 1, ""), ErrorCode::kProtocolError},
      {"an acknowledgement with settings", frame(FrameType::kSettings, kFlagAck, 0, setting_push),
       ErrorCode::kFrameSizeError},
      {"half a setting", frame(FrameType::kSettings, 0, 0, "xxx"), ErrorCode::kFrameSizeError},
      {"ENABLE_PUSH 2", frame(FrameType::kSettings, 0, 0, setting_push), ErrorCode::kProtocolError},
      {"a window of 2^31", frame(FrameType::kSettings, 0, 0, setting_window), ErrorCode::kFlowControlError},
      {"frames of 256 bytes", frame(FrameType::kSettings, 0, 0, setting_frame), ErrorCode::kProtocolError},
      {"PUSH_PROMISE", headers + frame(FrameType::kPushPromise, 4, 1, u32(2)), ErrorCode::kProtocolError},
      {"PING of a stream", frame(FrameType::kPing, 0, 1, "12345678"), ErrorCode::kProtocolError},
      {"a short PING", frame(FrameType::kPing, 0, 0, "1234567"), ErrorCode::kFrameSizeError},
      {"GOAWAY of a stream", frame(FrameType::kGoaway, 0, 1, "12345678"), ErrorCode::kProtocolError},
      {"a short GOAWAY", frame(FrameType::kGoaway, 0, 0, "1234567"), ErrorCode::kFrameSizeError},
      {"WINDOW_UPDATE of 0", frame(FrameType::kWindowUpdate, 0, 0, u32(0)), ErrorCode::kProtocolError},
      {"WINDOW_UPDATE of an idle stream", frame(FrameType::kWindowUpdate, 0, 1, u32(1)), ErrorCode::kProtocolError},
      {"a window above 2^31 - 1", frame(FrameType::kWindowUpdate, 0, 0, u32(kMaxWindow)), ErrorCode::kFlowControlError},
      {"PRIORITY of no stream", frame(FrameType::kPriority, 0, 0, "12345"), ErrorCode::kProtocolError},
      {"a frame above the limit", headers + frame(FrameType::kData, 0, 1, std::string(16'385, 'x')),
       ErrorCode::kFrameSizeError},
  };
  for (const auto& one : cases) {
    for (size_t step : {SIZE_MAX, size_t{1}}) {
      Endpoint server;
      std::string bytes = client_start() + one.bytes;
      for (size_t at = 0; at < bytes.size(); at += std::min(step, bytes.size() - at)) {
        server.session->receive(bytes.data() + at, std::min(step, bytes.size() - at));
      }
      EXPECT_EQ(error_name(server.failure), error_name(one.code)) << one.what << ": " << server.failure_text;
      EXPECT_TRUE(server.session->failed()) << one.what;
    }
  }
}

TEST(Session, MalformedRequestsResetTheirStreamAlone) {
  const std::string_view blocks[] = {
      "\x83\x86",                             // no :path
      "\x83\x86\x84\x01\x01h\x84",            // two
      "\x83\x86\x84\x01\x01h\x88",            // :status
      "\x83\x86\x84\x01\x01h\x40\x01X\x01y",  // an upper-case name
      "\x83\x86\x84\x01\x01h\x40\x0a"
      "connection"
      "\x01y",                                    // a connection's field
      "\x83\x86\x84\x01\x01h\x40\x02te\x04gzip",  // te but trailers
      "\x83\x86\x84\x01\x01h\x40\x01y\x02\r\n",   // a line break in a value
      "\x83\x86\x01\x01h\x40\x01y\x01z\x84",      // a pseudo-header field behind another
  };
  Endpoint server;
  std::string bytes = client_start();
  uint32_t id = 1;
  for (std::string_view block : blocks) {
    bytes += frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, id, block);
    id += 2;
  }
  bytes += frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, id, kRequestBlock);
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_FALSE(server.session->failed()) << server.failure_text;
  EXPECT_EQ(server.session->open_streams(), 1u);
  EXPECT_EQ(server.received.size(), 1u);
}

TEST(Session, ABodyMustBeAsLongAsItsContentLengthSays) {
  for (std::string_view body : {"ab", "abc", "abcd"}) {
    Pair pair;
    TestFields headers = kRequest;
    headers.emplace_back("content-length", "3");
    pair.client.request(headers, std::string(body));
    Endpoint::pump(pair.client, pair.server);
    EXPECT_EQ(pair.client.received[1].code, body.size() == 3 ? ErrorCode::kNoError : ErrorCode::kProtocolError) << body;
  }
}

TEST(Session, ExtensionFramesAndUnknownSettingsAreIgnored) {
  Endpoint server;
  server.echo = true;
  std::string bytes = client_start() + frame(static_cast<FrameType>(0x2a), 0xff, 77, std::string(100, 'x')) +
                      frame(FrameType::kSettings, 0, 0, std::string("\x0f\x0f\0\0\0\1", 6)) +
                      frame(FrameType::kPriority, 0, 9, "12345") +
                      frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, 1, kRequestBlock);
  server.session->receive(bytes.data(), bytes.size());
  EXPECT_FALSE(server.session->failed());
  EXPECT_TRUE(server.received[1].ended);
}

TEST(Session, AfterGoawayNewStreamsAreIgnoredAndOpenOnesGoOn) {
  Pair pair;
  pair.server.echo = false;
  pair.client.request(kRequest, "first");
  Endpoint::pump(pair.client, pair.server);
  TestStream* late = pair.client.request(kRequest, "late");
  pair.server.session->goaway(ErrorCode::kNoError);
  Endpoint::pump(pair.client, pair.server);
  ASSERT_EQ(pair.client.goaways.size(), 1u);
  EXPECT_EQ(pair.client.goaways[0].first, 1u);
  EXPECT_NE(late, nullptr);
  EXPECT_EQ(pair.server.received.count(3), 0u);
  EXPECT_EQ(pair.client.request(kRequest, "too late"), nullptr);
  pair.server.respond(1, {{":status", "200"}}, "answer", {});
  Endpoint::pump(pair.client, pair.server);
  EXPECT_EQ(pair.client.received[1].body, "answer");
}

TEST(Session, TheClientKeepsToThePeersStreamLimit) {
  SessionOptions options;
  options.max_concurrent_streams = 2;
  Pair pair(options);
  pair.server.echo = false;
  EXPECT_NE(pair.client.request(kRequest, "1"), nullptr);
  EXPECT_NE(pair.client.request(kRequest, "2"), nullptr);
  EXPECT_EQ(pair.client.request(kRequest, "3"), nullptr);
  Endpoint::pump(pair.client, pair.server);
  pair.server.respond(1, {{":status", "200"}}, "", {});
  Endpoint::pump(pair.client, pair.server);
  EXPECT_NE(pair.client.request(kRequest, "3"), nullptr);
}

TEST(Session, InformationalResponsesAreDropped) {
  Endpoint client(client_options());
  client.request(kRequest, "");
  client.take();
  std::string bytes = frame(FrameType::kSettings, 0, 0, "") +
                      frame(FrameType::kHeaders, kFlagEndHeaders, 1, std::string("\x08\x03", 2) + "103") +
                      frame(FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, 1, "\x88");
  client.session->receive(bytes.data(), bytes.size());
  EXPECT_EQ(client.received[1].headers, (TestFields{{":status", "200"}}));
  EXPECT_EQ(client.received[1].code, ErrorCode::kNoError);
  EXPECT_TRUE(client.received[1].closed);
}

TEST(Session, LargeRepliesTakeTurnsAndSmallOnesPassThem) {
  SessionOptions small = client_options();
  small.connection_window = small.max_connection_window = kDefaultWindow;
  Pair pair({}, small);
  pair.server.echo = false;
  for (int i = 0; i < 3; ++i) pair.client.request(kRequest, "");
  Endpoint::pump(pair.client, pair.server);
  pair.server.respond(1, {{":status", "200"}}, std::string(60'000, 'a'), {});
  pair.server.respond(3, {{":status", "200"}}, std::string(60'000, 'b'), {});
  pair.server.respond(5, {{":status", "200"}}, "small", {});
  pair.server.send_to(pair.client);
  EXPECT_TRUE(pair.client.received[5].closed) << "the connection's window ends inside the large ones";
  EXPECT_FALSE(pair.client.received[1].closed && pair.client.received[3].closed);
  Endpoint::pump(pair.client, pair.server);
  EXPECT_EQ(pair.client.received[1].body.size(), 60'000u);
  EXPECT_EQ(pair.client.received[3].body.size(), 60'000u);
}

TEST(Session, AnIdleConnectionIsSmall) {
  Pair pair;
  for (int i = 0; i < 100; ++i) {
    TestFields headers = kRequest;
    headers.emplace_back("user-agent", "grpc-c++/1.51.1 grpc-c/29.0.0 (linux; chttp2)");
    headers.emplace_back("grpc-accept-encoding", "identity, deflate, gzip");
    pair.client.request(headers, "body");
    Endpoint::pump(pair.client, pair.server);
  }
  pair.server.session->shrink();
  EXPECT_LT(sizeof(Session) + pair.server.session->memory(), 3u << 10);
}

// Streams open, send, and end in random order, with random cuts; every body arrives, and nothing is left.
TEST(Session, RandomTrafficArrivesWholeWhateverTheOrder) {
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round) {
    SessionOptions options;
    options.max_concurrent_streams = 20;
    options.stream_window = options.max_stream_window = static_cast<uint32_t>(random() % 100'000 + 1);
    Endpoint client(client_options());
    Endpoint server(options);
    server.echo = true;
    std::map<uint32_t, std::string> sent;
    Endpoint::pump(client, server);
    for (int step = 0; step < 200; ++step) {
      switch (random() % 4) {
        case 0: {
          std::string body(random() % 3 ? random() % 100 : random() % 50'000, static_cast<char>('a' + step % 26));
          if (TestStream* stream = client.request(kRequest, body)) sent[stream->id()] = body;
          break;
        }
        case 1:
          client.send_to(server, random() % 3000 + 1);
          break;
        case 2:
          server.send_to(client, random() % 3000 + 1);
          break;
        default:
          if (random() % 10 || client.streams.empty()) break;
          sent.erase(client.streams.begin()->first);
          client.session->reset(*client.streams.begin()->second, ErrorCode::kCancel);
          break;
      }
    }
    Endpoint::pump(client, server);
    for (const auto& [id, body] : sent) {
      const Endpoint::Received& got = client.received[id];
      ASSERT_TRUE(got.body == body) << round << ": stream " << id << " got " << got.body.size() << " of " << body.size()
                                    << " bytes, " << error_name(got.code);
    }
    EXPECT_FALSE(client.session->failed()) << client.failure_text;
    EXPECT_FALSE(server.session->failed()) << server.failure_text;
    EXPECT_EQ(client.session->open_streams(), 0u);
    EXPECT_EQ(server.session->open_streams(), 0u);
  }
}

}  // namespace
}  // namespace drover::engine::http2
