#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/grpc/grpc_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string pattern(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + i / 997);
  return out;
}

TEST(GrpcConnection, AUnaryCallIsAnsweredWithHeadersMessageAndTrailers) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/echo.Echo/Call", "hello");
  client.pump();
  EXPECT_EQ(client[id].header(":status"), "200");
  EXPECT_EQ(client[id].header("content-type"), "application/grpc");
  EXPECT_EQ(client[id].header("grpc-status"), "(none)");
  EXPECT_EQ(client[id].body, TestClient::framed("hello"));
  EXPECT_EQ(client[id].trailers, (HeaderList{{"grpc-status", "0"}}));
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(client[id].error, 0u);
  EXPECT_EQ(rig.sink.sent, 1);
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(rig.sink.last_authority, "drover.test");
  EXPECT_EQ(rig.sink.last_peer, "ipv4:192.0.2.1:4711");
}

TEST(GrpcConnection, AnErrorWithoutInitialMetadataIsTrailersOnly) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/echo.Echo/Call", "x", {{"x-status", "5"}, {"y-why", "gone"}});
  client.pump();
  EXPECT_EQ(client[id].header_blocks, 1);
  EXPECT_EQ(client[id].header("grpc-status"), "5");
  EXPECT_EQ(client[id].header("grpc-message"), "status 5");
  EXPECT_EQ(client[id].header("y-why"), "gone");
  EXPECT_EQ(client[id].body, "");
}

TEST(GrpcConnection, AnErrorWithInitialMetadataHasHeadersAndTrailers) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/echo.Echo/Call", "x", {{"x-status", "7"}, {"x-init", "i"}, {"y-end", "t"}});
  client.pump();
  EXPECT_EQ(client[id].header_blocks, 2);
  EXPECT_EQ(client[id].header("x-init"), "i");
  EXPECT_EQ(client[id].trailer("grpc-status"), "7");
  EXPECT_EQ(client[id].trailer("y-end"), "t");
}

TEST(GrpcConnection, MetadataPassesBothWaysAndBinaryValuesAreDecoded) {
  Rig rig;
  TestClient client(rig);
  // "AAH/" is 00 01 ff; the comma joins two values.
  int32_t id = client.call("/hold", "m", {{"x-a", "plain"}, {"x-b-bin", "AAH/,aGk"}, {"user-agent", "ua/1"}});
  client.pump();
  ASSERT_EQ(rig.sink.held.size(), 1u);
  const std::span<const Header> metadata = rig.sink.held[0]->metadata;
  EXPECT_EQ(std::vector<Header>(metadata.begin(), metadata.end()),
            (std::vector<Header>{
                {"x-a", "plain"}, {"x-b-bin", std::string("\0\1\xff", 3)}, {"x-b-bin", "hi"}, {"user-agent", "ua/1"}}));
  rig.sink.answer(*rig.sink.held[0]);
  client.pump();
  EXPECT_EQ(client[id].header("x-a"), "plain");
  EXPECT_EQ(client[id].header("x-b-bin"), "AAH/");
}

TEST(GrpcConnection, IllegalResponseMetadataIsLeftOut) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/hold", "m");
  client.pump();
  Header initial[] = {{"Upper", "v"}, {"grpc-status", "3"}, {":status", "500"}, {"ok", "v"}, {"nl", "a\nb"}};
  Reply reply;
  reply.has_message = true;
  reply.initial = initial;
  GrpcConnection::reply(static_cast<CallStream&>(*rig.sink.held[0]), reply);
  client.pump();
  EXPECT_EQ(client[id].headers, (HeaderList{{":status", "200"}, {"content-type", "application/grpc"}, {"ok", "v"}}));
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
}

TEST(GrpcConnection, TheTimeoutBecomesADeadline) {
  Rig rig;
  TestClient client(rig);
  client.call("/hold", "m", {{"grpc-timeout", "250m"}});
  client.pump();
  EXPECT_EQ(rig.sink.last_deadline_ns, rig.now + 250'000'000);
  client.call("/hold", "m");
  client.pump();
  EXPECT_EQ(rig.sink.last_deadline_ns, kNoDeadline);
  int32_t bad = client.call("/echo.Echo/Call", "m", {{"grpc-timeout", "soon"}});
  client.pump();
  EXPECT_EQ(client[bad].trailer("grpc-status"), "13");
}

TEST(GrpcConnection, OtherContentTypesGet415AndOtherMethods405) {
  Rig rig;
  TestClient client(rig);
  int32_t text = client.call("/echo.Echo/Call", "m", {{"content-type", "text/plain"}});
  int32_t none = client.call("/echo.Echo/Call", "m", {{"content-type", ""}});
  int32_t get = client.call("/echo.Echo/Call", "m", {{":method", "PUT"}});
  int32_t good = client.call("/echo.Echo/Call", "m", {{"content-type", "application/grpc+proto"}, {"te", ""}});
  client.pump();
  EXPECT_EQ(client[text].header(":status"), "415");
  EXPECT_EQ(client[none].header(":status"), "415");
  EXPECT_EQ(client[get].header(":status"), "405");
  EXPECT_EQ(client[good].trailer("grpc-status"), "0");
}

TEST(GrpcConnection, UnknownMethodsAreUnimplementedAndTheRestOfTheRequestIsDropped) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/missing", pattern(300'000));
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "12");
  EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr("/missing"));
  int32_t next = client.call("/echo.Echo/Call", pattern(3'000'000));
  client.pump();
  EXPECT_EQ(client[next].trailer("grpc-status"), "0") << "the connection's window was given back";
}

TEST(GrpcConnection, BrokenFramingOfTheMessageEndsInInternal) {
  Rig rig;
  TestClient client(rig);
  struct {
    std::string body;
    const char* says;
  } cases[] = {{"", "no message"},
               {std::string(3, '\0'), "inside the message prefix"},
               {TestClient::framed("abcdef").substr(0, 8), "inside a message (3 of 6 bytes)"},
               {TestClient::framed("abc") + "x", "more than one message"},
               {TestClient::framed("a") + TestClient::framed("b"), "more than one message"},
               {TestClient::framed("abc", 1), "compressed flag"},
               {TestClient::framed("abc", 9), "invalid compressed flag 9"}};
  for (const auto& one : cases) {
    int32_t id = client.request("/echo.Echo/Call", one.body);
    client.pump();
    EXPECT_EQ(client[id].trailer("grpc-status"), "13") << one.says;
    EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr(one.says));
    EXPECT_TRUE(client[id].closed);
  }
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(rig.sink.completed, 0);
}

TEST(GrpcConnection, InitialMetadataMayComeBeforeTheReply) {
  for (Compress wish : {Compress::kNo, Compress::kGzip}) {
    Rig rig;
    rig.sink.wish = wish;
    TestClient client(rig);
    const int32_t id =
        client.request("/early", TestClient::framed("reply"), {{"y-last", "1"}, {"grpc-accept-encoding", "gzip"}});
    client.pump();
    EXPECT_EQ(client[id].header_blocks, 1);
    EXPECT_EQ(client[id].header("early"), "bird");
    EXPECT_EQ(client[id].header("grpc-encoding"), wish == Compress::kGzip ? "gzip" : "(none)");
    EXPECT_FALSE(client[id].closed);
    rig.sink.answer(*rig.sink.held[0]);
    client.pump();
    EXPECT_EQ(client[id].header_blocks, 2);
    EXPECT_EQ(client[id].body, TestClient::framed("reply"));
    EXPECT_EQ(client[id].trailer("grpc-status"), "0");
    EXPECT_EQ(client[id].trailer("y-last"), "1");
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(rig.sink.sent, 1);
  }
}

TEST(GrpcConnection, AnErrorBehindInitialMetadataIsInTheTrailers) {
  Rig rig;
  TestClient client(rig);
  const int32_t id = client.request("/early", TestClient::framed("x"), {{"x-status", "5"}});
  client.pump();
  rig.sink.answer(*rig.sink.held[0]);
  const int32_t gone = client.request("/early", TestClient::framed("x"));
  client.pump();
  EXPECT_EQ(client[id].header_blocks, 2);
  EXPECT_EQ(client[id].body, "");
  EXPECT_EQ(client[id].trailer("grpc-status"), "5");
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, gone, NGHTTP2_CANCEL);
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(rig.sink.abandoned, 1);
}

TEST(GrpcConnection, AnUnsupportedEncodingIsUnimplementedAndSaysWhatIs) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/echo.Echo/Call", TestClient::framed("abc", 1), {{"grpc-encoding", "snappy"}});
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "12");
  EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr("snappy"));
  EXPECT_EQ(client[id].trailer("grpc-accept-encoding"), "identity, deflate, gzip");
}

TEST(GrpcConnection, ATooLargeMessageIsRefusedBeforeItArrives) {
  Rig rig;
  rig.sink.max_request_bytes = 1000;
  TestClient client(rig);
  int32_t id = client.call("/echo.Echo/Call", pattern(500'000));
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "8");
  EXPECT_EQ(client[id].trailer("grpc-message"), "Received message larger than max (500000 vs. 1000)");
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(rig.sink.buffered, 0);
}

TEST(GrpcConnection, TooManyHeaderBytesAreResourceExhausted) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/echo.Echo/Call", "m", {{"x-big", std::string(20'000, 'v')}});
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "8");
}

TEST(GrpcConnection, AWholeMessageIsHandedOverWithoutACopyAndASplitOneIsAssembled) {
  Rig rig;
  TestClient client(rig);
  int32_t whole = client.call("/echo.Echo/Call", "in one piece");
  client.pump();
  EXPECT_EQ(rig.sink.buffered, 0);
  int32_t split = client.call("/echo.Echo/Call", "in many pieces");
  client.pump(3);
  EXPECT_EQ(rig.sink.buffered, 1);
  int32_t late_end = client.request("/echo.Echo/Call", TestClient::framed("end comes late"), {}, true);
  client.pump();
  EXPECT_EQ(rig.sink.buffered, 2) << "the receive buffer is reused, so the message moved";
  EXPECT_EQ(client[whole].body, TestClient::framed("in one piece"));
  EXPECT_EQ(client[split].body, TestClient::framed("in many pieces"));
  EXPECT_FALSE(client[late_end].closed);
}

TEST(GrpcConnection, MessagesOfEverySizeComeBackThroughSmallAndLargeWindows) {
  for (uint32_t window : {1u, 1000u, 65'535u, 8u << 20}) {
    Rig rig(small_windows());
    TestClient client(rig, window);
    std::vector<std::pair<int32_t, size_t>> calls;
    for (size_t size : {0, 1, 2043, 2044, 2048, 16'379, 16'384, 40'000, 300'000}) {
      if (window == 1 && size > 3000) continue;
      calls.emplace_back(client.call("/echo.Echo/Call", pattern(size)), size);
    }
    client.pump(window == 1000 ? 977 : SIZE_MAX);
    for (auto [id, size] : calls) {
      EXPECT_EQ(client[id].trailer("grpc-status"), "0") << size << " window " << window;
      EXPECT_EQ(client[id].body, TestClient::framed(pattern(size))) << size << " window " << window;
    }
    EXPECT_EQ(rig.sink.open_calls, 0);
  }
}

TEST(GrpcConnection, AThousandStreamsAtOnceGetTheirOwnAnswers) {
  Rig rig;
  TestClient client(rig);
  std::map<int32_t, std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    std::string message = "message " + std::to_string(i) + std::string(static_cast<size_t>(i), '.');
    expected[client.call("/echo.Echo/Call", message)] = message;
  }
  client.pump(10'007);
  for (const auto& [id, message] : expected) EXPECT_EQ(client[id].body, TestClient::framed(message));
  EXPECT_EQ(rig.sink.sent, 1000);
  EXPECT_EQ(rig.sink.abandoned, 0);
}

TEST(GrpcConnection, ManyRepliesLeaveInOneWrite) {
  Rig rig;
  TestClient client(rig);
  client.pump();
  for (int i = 0; i < 100; ++i) client.call("/echo.Echo/Call", "32 bytes of message, more or less");
  rig.receive(client.take_bytes());
  int before = rig.writes;
  rig.flush();
  EXPECT_EQ(rig.writes - before, 1);
}

TEST(GrpcConnection, AStreamOverTheLimitIsRefusedAndTheOthersLive) {
  TransportOptions options;
  options.max_concurrent_streams = 4;
  Rig rig(options);
  TestClient client(rig);
  std::vector<int32_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(client.call("/hold", "m"));
  client.pump();
  EXPECT_EQ(rig.sink.held.size(), 4u);
  while (!rig.sink.held.empty()) {
    Call* call = rig.sink.held.back();
    rig.sink.held.pop_back();
    rig.sink.answer(*call);
  }
  client.pump();
  int good = 0, refused = 0;
  for (int32_t id : ids) {
    good += client[id].trailer("grpc-status") == "0";
    refused += client[id].closed && client[id].error == NGHTTP2_REFUSED_STREAM;
  }
  EXPECT_EQ(good, 4);
  EXPECT_EQ(refused, 2);
}

TEST(GrpcConnection, ACancelledCallIsAbandonedOnce) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/hold", "m");
  int32_t receiving = client.request("/hold", TestClient::framed("half of it").substr(0, 7), {}, true);
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 2);
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, receiving, NGHTTP2_CANCEL);
  client.pump();
  EXPECT_EQ(rig.sink.abandoned, 2);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcConnection, AReplyCutOffByTheClientKeepsItsMemoryUntilTheKernelHasWhatItWasGiven) {
  Rig rig;
  TestClient client(rig, 1 << 20);
  client.pump();
  int32_t id = client.call("/echo.Echo/Call", pattern(200'000));
  rig.receive(client.take_bytes());  // up to the client's send window
  rig.flush();
  client.pump();
  rig.writable = 0;
  int32_t blocked = client.call("/echo.Echo/Call", pattern(50'000));
  rig.receive(client.take_bytes());
  EXPECT_EQ(rig.flush(), GrpcConnection::Flushed::kBlocked);
  int open = rig.sink.open_calls;
  ASSERT_GE(open, 1);
  nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, blocked, NGHTTP2_CANCEL);
  rig.receive(client.take_bytes());
  rig.flush();
  EXPECT_EQ(rig.sink.open_calls, open) << "the socket queue still refers to the reply";
  rig.writable = SIZE_MAX;
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(rig.sink.sent + rig.sink.abandoned, 2);
  EXPECT_EQ(client[id].body.size(), 200'005u);
}

TEST(GrpcConnection, ASlowSocketGetsEveryByteInOrder) {
  Rig rig;
  TestClient client(rig, 4 << 20);
  client.pump();
  std::vector<int32_t> ids;
  for (size_t i = 0; i < 5; ++i) ids.push_back(client.call("/echo.Echo/Call", pattern(i * 9000 + 10)));
  rig.writable = 0;
  rig.receive(client.take_bytes());
  std::mt19937 random(4);
  for (int turn = 0; turn < 100'000 && rig.sink.open_calls > 0; ++turn) {
    rig.writable = random() % 700 + 1;
    rig.flush();
  }
  rig.writable = SIZE_MAX;
  client.pump();
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(client[ids[i]].body, TestClient::framed(pattern(i * 9000 + 10)));
    EXPECT_EQ(client[ids[i]].trailer("grpc-status"), "0");
  }
}

TEST(GrpcConnection, BytesThatAreReceivedWhereTheyBelongMakeTheSameMessages) {
  for (size_t step : {size_t{1}, size_t{700}, size_t{9000}, size_t{1} << 20}) {
    Rig rig;
    rig.use_places = true;
    TestClient client(rig, 8u << 20);
    std::vector<std::pair<int32_t, size_t>> calls;
    for (size_t size : {10, 16'379, 40'000, 300'000, 70'000}) {
      calls.emplace_back(client.call("/echo.Echo/Call", pattern(size)), size);
    }
    client.pump(step);
    for (auto [id, size] : calls) {
      EXPECT_EQ(client[id].trailer("grpc-status"), "0");
      EXPECT_TRUE(client[id].body == TestClient::framed(pattern(size))) << size << " in steps of " << step;
    }
    if (step < 100'000) EXPECT_GT(rig.placed, 100'000u) << step;
  }
}

TEST(GrpcConnection, ACallThatIsRefusedWhileItArrivesHasNoPlace) {
  Rig rig;
  TestClient client(rig, 8u << 20);
  client.call("/echo.Echo/Call", pattern(100'000));
  rig.receive(std::string_view(client.take_bytes()).substr(0, 40'000));
  EXPECT_FALSE(rig.connection->receive_into().empty());
  Rig other;
  TestClient limited(other, 8u << 20);
  other.sink.max_request_bytes = 1000;
  limited.call("/echo.Echo/Call", pattern(100'000));
  other.receive(std::string_view(limited.take_bytes()).substr(0, 40'000));
  EXPECT_TRUE(other.connection->receive_into().empty()) << "refused: too large";
}

// How much of the connection's window the client has left to send.
int32_t window_left(TestClient& client) { return nghttp2_session_get_remote_window_size(client.session); }

TEST(GrpcConnection, ACallThatWaitsKeepsItsPartOfTheWindowUntilItStartsOrEnds) {
  for (const char* end : {"started", "answered", "cancelled"}) {
    Rig rig(small_windows());
    TestClient client(rig);
    client.pump();
    rig.sink.hold = true;
    std::vector<int32_t> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(client.call("/hold", pattern(15'000)));  // each in one frame
    client.pump();
    const int32_t held = window_left(client);
    EXPECT_LE(held, 65'535 - 45'000) << end;
    rig.sink.hold = false;
    const std::vector<Call*> calls = rig.sink.held;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (end[0] == 's') rig.started(*calls[i]);
      if (end[0] == 'a') rig.sink.answer(*calls[i]);
      if (end[0] == 'c') nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, ids[i], NGHTTP2_CANCEL);
    }
    client.pump();
    EXPECT_GE(window_left(client), held + 45'000) << end;
    int32_t next = client.call("/echo.Echo/Call", pattern(500'000));
    client.pump();
    EXPECT_EQ(client[next].trailer("grpc-status"), "0") << end;
  }
}

TEST(GrpcConnection, WindowUpdatesAreBatched) {
  Rig rig;
  TestClient client(rig);
  client.pump();
  client.window_updates = 0;
  int32_t id = client.call("/echo.Echo/Call", pattern(4'000'000));
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_LE(client.window_updates, 12) << "the windows grow, and are given back in large pieces";
}

TEST(GrpcConnection, AReplyMayComeBeforeTheRequestHasEnded) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/hold", TestClient::framed("half").substr(0, 7), {}, true);
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 1);
  // The dispatcher knows the call from open; here, from the connection's only stream.
  Call* call = rig.sink.last_begun;
  Reply reply;
  reply.code = StatusCode::kDeadlineExceeded;
  reply.status_message = "too late";
  GrpcConnection::reply(static_cast<CallStream&>(*call), reply);
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "4");
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(client[id].error, 0u);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcConnection, StatusMessagesArePercentEncodedAndBounded) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/hold", "m");
  client.pump();
  Reply reply;
  reply.code = StatusCode::kAborted;
  std::string message = "caf\xc3\xa9 100%" + std::string(100'000, '\n');
  reply.status_message = message;
  GrpcConnection::reply(static_cast<CallStream&>(*rig.sink.held[0]), reply);
  client.pump();
  std::string got = client[id].trailer("grpc-message");
  EXPECT_THAT(got, StartsWith("caf%C3%A9 100%25%0A"));
  EXPECT_LE(got.size(), 8192u);
  EXPECT_EQ(got.substr(got.size() - 3), "%0A");
}

TEST(GrpcConnection, MetadataThatCannotBeSentResetsTheStream) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/hold", "m");
  client.pump();
  std::vector<Header> trailing(20, {"y-big", std::string(10'000, 'v')});
  Reply reply;
  reply.code = StatusCode::kAborted;
  reply.trailing = trailing;
  GrpcConnection::reply(static_cast<CallStream&>(*rig.sink.held[0]), reply);
  client.pump();
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(client[id].error, uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcConnection, DrainingSaysGoAwayTwiceAndLetsCallsEnd) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.call("/hold", "m");
  client.pump();
  rig.connection->drain();
  client.pump();
  ASSERT_EQ(client.goaways.size(), 2u);
  EXPECT_EQ(client.goaways[0], (std::pair<int32_t, uint32_t>{INT32_MAX, 0}));
  EXPECT_EQ(client.goaways[1], (std::pair<int32_t, uint32_t>{id, 0}));
  EXPECT_FALSE(rig.connection->finished());
  rig.sink.answer(*rig.sink.held[0]);
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcConnection, APeerThatDoesNotAnswerThePingIsDrainedAfterASecond) {
  Rig rig;
  TestClient client(rig);
  client.pump();
  rig.connection->drain();
  rig.flush();
  rig.now += 2'000'000'000;
  rig.connection->sweep();
  rig.flush();
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcConnection, ARequestThatCrossesTheGoAwayNoticeIsServed) {
  Rig rig;
  TestClient client(rig);
  client.pump();
  int32_t id = client.call("/echo.Echo/Call", "just in time");
  rig.connection->drain();
  rig.flush();
  EXPECT_FALSE(rig.connection->finished());
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcConnection, ClosingTheConnectionAbandonsWhatIsOpen) {
  Rig rig;
  {
    TestClient client(rig);
    for (int i = 0; i < 10; ++i) client.call("/hold", "m");
    client.pump();
  }
  EXPECT_EQ(rig.sink.open_calls, 10);
  rig.connection.reset();
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(rig.sink.abandoned, 10);
}

TEST(GrpcConnection, SilentConnectionsAreClosedAfterTheHandshakeTimeout) {
  Rig rig;
  rig.flush();
  rig.now += rig.context.options.handshake_timeout_ns + 1;
  rig.connection->sweep();
  rig.flush();
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcConnection, AnUnreadReplyIsResetAfterTheStallTimeout) {
  Rig rig;
  TestClient client(rig, 10, false);  // a window of ten bytes that is never opened again
  int32_t id = client.call("/echo.Echo/Call", pattern(1000));
  client.pump();
  rig.connection->sweep();
  EXPECT_EQ(rig.sink.open_calls, 1);
  rig.now += rig.context.options.stall_timeout_ns + 1;
  rig.connection->sweep();
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(client[id].error, uint32_t{NGHTTP2_CANCEL});
}

TEST(GrpcConnection, ARequestThatFindsNoMemoryIsResourceExhaustedAndTheRestOfItIsDropped) {
  Rig rig;
  TestClient client(rig);
  rig.sink.no_memory = true;
  int32_t split = client.call("/echo.Echo/Call", std::string(60'000, 'x'));
  int32_t half = client.request("/echo.Echo/Call", TestClient::framed("half").substr(0, 7), {}, true);
  client.pump(1000);
  EXPECT_EQ(client[split].trailer("grpc-status"), "8");
  EXPECT_EQ(client[half].trailer("grpc-status"), "8");
  // A message that lies whole in the receive buffer has to move too, if its stream has not ended.
  int32_t spilled = client.request("/echo.Echo/Call", TestClient::framed("whole"), {}, true);
  client.pump();
  EXPECT_EQ(client[spilled].trailer("grpc-status"), "8");
  EXPECT_EQ(rig.sink.open_calls, 0);
  rig.sink.no_memory = false;
  int32_t next = client.call("/echo.Echo/Call", std::string(60'000, 'y'));
  client.pump(1000);
  EXPECT_EQ(client[next].trailer("grpc-status"), "0");
}

TEST(GrpcConnection, ARequestThatStopsArrivingEndsAfterTheStallTimeout) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/echo.Echo/Call", TestClient::framed("half").substr(0, 7), {}, true);
  client.pump();
  rig.now += rig.context.options.stall_timeout_ns / 2;
  rig.connection->sweep();
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 1);
  rig.now += rig.context.options.stall_timeout_ns;
  rig.connection->sweep();
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "1");
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcConnection, TheAuthorityStaysWhileTheCallLives) {
  Rig rig;
  TestClient client(rig);
  client.call("/hold", "m");
  client.pump();
  ASSERT_EQ(rig.sink.held.size(), 1u);
  EXPECT_EQ(rig.sink.held[0]->authority, "drover.test");
}

TEST(GrpcConnection, AClientThatVanishesUnderASilentStreamIsNoticed) {
  TransportOptions options;
  options.keepalive_ns = 10'000'000'000;
  options.keepalive_timeout_ns = 5'000'000'000;
  Rig rig(options);
  TestClient client(rig);
  client.request("/stream", "", {}, true);
  client.pump();
  rig.now += 11'000'000'000;
  rig.connection->sweep();
  client.pump();  // answers the PING
  rig.now += 6'000'000'000;
  rig.connection->sweep();
  EXPECT_FALSE(rig.connection->finished());
  rig.now += 11'000'000'000;
  rig.connection->sweep();
  rig.flush();
  rig.now += 6'000'000'000;
  rig.connection->sweep();
  EXPECT_TRUE(rig.connection->finished());
  rig.connection.reset();
  EXPECT_EQ(rig.sink.abandoned, 1);
}

TEST(GrpcConnection, AnOldConnectionLetsItsCallsEndWithinTheGrace) {
  TransportOptions options;
  options.max_age_ns = 100'000'000'000;
  options.max_age_grace_ns = 50'000'000'000;
  Rig rig(options);
  TestClient client(rig);
  int32_t id = client.request("/stream", "", {}, true);
  client.pump();
  rig.now += 111'000'000'000;
  rig.connection->sweep();
  client.pump();
  EXPECT_GE(client.goaways.size(), 1u);
  EXPECT_FALSE(client[id].closed);
  client.send(id, TestClient::framed("still served"));
  client.pump();
  EXPECT_EQ(client[id].body, TestClient::framed("still served"));
  rig.now += 60'000'000'000;
  rig.connection->sweep();
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcConnection, AnIdleConnectionIsDrainedIfSoConfigured) {
  TransportOptions options;
  options.idle_timeout_ns = 5'000'000'000;
  Rig rig(options);
  TestClient client(rig);
  client.call("/echo.Echo/Call", "m");
  client.pump();
  rig.now += 4'000'000'000;
  rig.connection->sweep();
  client.pump();
  EXPECT_TRUE(client.goaways.empty());
  rig.now += 2'000'000'000;
  rig.connection->sweep();
  client.pump();
  EXPECT_EQ(client.goaways.size(), 1u);
  rig.now += 2'000'000'000;  // a client without calls need not answer the ping
  rig.connection->sweep();
  rig.flush();
  EXPECT_TRUE(rig.connection->finished());
}

TEST(GrpcContext, PooledStreamsThatNoCallHasNeededLatelyAreFreed) {
  Rig rig;
  auto calls = [&](size_t count) {
    std::vector<CallStream*> taken;
    for (size_t i = 0; i < count; ++i) taken.push_back(rig.context.take_stream());
    for (CallStream* stream : taken) rig.context.recycle(stream);
  };
  calls(10);
  rig.context.shrink();
  EXPECT_EQ(rig.context.spare_streams(), 10u);
  calls(3);
  rig.context.shrink();
  EXPECT_EQ(rig.context.spare_streams(), 3u);
  rig.context.shrink();
  EXPECT_EQ(rig.context.spare_streams(), 0u);
}

}  // namespace
}  // namespace drover::engine
