// Calls that stream, over HTTP/2: messages in any pieces, windows, slow readers, ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/grpc/grpc_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

std::string text(size_t size, int seed) {
  std::string out(size, 0);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + static_cast<size_t>(seed));
  return out;
}

TEST(GrpcStream, MessagesComeBackOneByOneWhileTheCallIsOpen) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", "", {}, true);
  client.pump();
  EXPECT_EQ(rig.sink.started, 1);
  EXPECT_EQ(client[id].header_blocks, 0);
  std::string expected;
  for (int i = 0; i < 3; ++i) {
    const std::string framed = TestClient::framed("message " + std::to_string(i));
    client.send(id, framed);
    expected += framed;
    client.pump();
    EXPECT_EQ(client[id].body, expected);
    EXPECT_EQ(client[id].header_blocks, 1);
  }
  EXPECT_FALSE(client[id].closed);
  client.half_close(id);
  client.pump();
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(client[id].error, 0u);
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_EQ(rig.sink.open_calls, 0);
  EXPECT_EQ(rig.sink.sent, 1);
}

TEST(GrpcStream, AStreamWithoutMessagesHasHeadersAndTrailers) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", "");
  client.pump();
  EXPECT_EQ(client[id].header_blocks, 2);
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
  EXPECT_EQ(rig.sink.sent, 1);
}

TEST(GrpcStream, MessagesOfAllSizesArriveInAnyPieces) {
  for (size_t step : {size_t{1}, size_t{3}, size_t{7}, size_t{100}, size_t{16'000}, SIZE_MAX}) {
    Rig rig;
    rig.use_places = step == 16'000;
    TestClient client(rig);
    std::string all;
    std::vector<std::string> sent;
    int seed = 0;
    for (size_t size : {0, 1, 5, 0, 100, 4096, 4097, 20'000, 0, 60'000, 3}) {
      sent.push_back(text(step < 7 ? size / 10 : size, ++seed));
      all += TestClient::framed(sent.back());
    }
    int32_t id = client.request("/stream", all);
    client.pump(step);
    EXPECT_EQ(rig.sink.messages, sent) << step;
    EXPECT_EQ(client[id].body, all) << step;
    EXPECT_EQ(client[id].trailer("grpc-status"), "0") << step;
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(rig.connection->account().held(Resource::kMemory), 0u);
  }
}

TEST(GrpcStream, AHandlerThatDoesNotReadStopsItsClientAndNoOther) {
  TransportOptions options = small_windows();
  options.connection_window = 1 << 20;
  Rig rig(options);
  rig.sink.consumes = rig.sink.echoes = false;
  TestClient client(rig);
  std::string all;
  for (int i = 0; i < 100; ++i) all += TestClient::framed(text(5000, i));
  int32_t slow = client.request("/stream", all);
  client.pump();
  EXPECT_LT(rig.sink.messages.size(), 14u);  // as many as the stream's window holds
  EXPECT_GT(rig.sink.messages.size(), 11u);
  Call* slow_call = rig.sink.last_begun;
  int32_t unary = client.call("/echo", text(30'000, 1));
  client.pump();
  EXPECT_EQ(client[unary].body, TestClient::framed(text(30'000, 1)));
  for (size_t i = 0; rig.sink.messages.size() < 100; ++i) {
    ASSERT_GT(rig.sink.messages.size(), i);
    rig.sink.consume(*slow_call, 1);
    client.pump();
  }
  EXPECT_EQ(rig.sink.messages.size(), 100u);
  EXPECT_EQ(rig.sink.half_closed, 1);
  EXPECT_TRUE(client[slow].closed);
}

TEST(GrpcStream, AMessageLargerThanTheWindowArrives) {
  Rig rig(small_windows());
  TestClient client(rig);
  const std::string large = text(1 << 20, 1);
  int32_t id = client.request("/stream", TestClient::framed(large) + TestClient::framed("x"));
  client.pump();
  EXPECT_EQ(rig.sink.messages, (std::vector<std::string>{large, "x"}));
  EXPECT_EQ(client[id].body.size(), large.size() + 11);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, AClientThatDoesNotReadMakesTheTransportKeepLittle) {
  Rig rig;
  TestClient client(rig, 1000, false);
  int32_t id = client.request("/stream", "", {}, true);
  client.pump();
  const size_t before = rig.connection->memory();
  for (int i = 0; i < 1000; ++i) rig.sink.send(*rig.sink.last_begun, text(1000, i));
  client.pump();
  EXPECT_LT(rig.connection->memory() - before, 100u << 10);
  EXPECT_EQ(rig.sink.steps_sent, 0);
  // Reads at last.
  for (int i = 0; i < 2000 && client[id].body.size() < 1'005'000; ++i) {
    nghttp2_session_consume(client.session, id, client[id].body.size());
    nghttp2_submit_window_update(client.session, 0, 0, 65'535);
    nghttp2_submit_window_update(client.session, 0, id, 65'535);
    client.pump();
  }
  ASSERT_EQ(client[id].body.size(), 1'005'000u);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(client[id].body.substr(static_cast<size_t>(i) * 1005, 1005), TestClient::framed(text(1000, i))) << i;
  }
  EXPECT_GT(rig.sink.steps_sent, 800);
  EXPECT_LE(rig.connection->memory(), before + 1024);
  client.half_close(id);
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "0");
}

TEST(GrpcStream, LargeMessagesAreSentByReferenceAndReportedWhenTheKernelHasThem) {
  Rig rig;
  rig.writable = 0;
  TestClient client(rig, 1 << 20);
  int32_t id = client.request("/stream", "", {}, true);
  rig.receive(client.take_bytes());
  rig.sink.send(*rig.sink.last_begun, text(50'000, 1));
  rig.flush();
  EXPECT_EQ(rig.sink.steps_sent, 0);
  rig.writable = SIZE_MAX;
  client.pump();
  EXPECT_EQ(rig.sink.steps_sent, 1);
  EXPECT_EQ(client[id].body, TestClient::framed(text(50'000, 1)));
  client.half_close(id);
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, AClientThatCancelsEndsTheCallInTheDispatcher) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", TestClient::framed("x"), {}, true);
  client.pump();
  nghttp2_submit_rst_stream(client.session, 0, id, NGHTTP2_CANCEL);
  client.pump();
  EXPECT_EQ(rig.sink.abandoned, 1);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, ACancelledStreamKeepsWhatTheKernelHasNotTaken) {
  Rig rig;
  TestClient client(rig, 1 << 20);
  int32_t id = client.request("/stream", "", {}, true);
  client.pump();
  rig.writable = 10'000;
  rig.sink.send(*rig.sink.last_begun, text(50'000, 1));
  rig.flush();
  nghttp2_submit_rst_stream(client.session, 0, id, NGHTTP2_CANCEL);
  rig.receive(client.take_bytes());
  EXPECT_EQ(rig.sink.abandoned, 0);  // the bytes are still referred to
  rig.sink.send(*rig.sink.last_begun, "too late");
  rig.writable = SIZE_MAX;
  client.pump();
  EXPECT_EQ(rig.sink.abandoned, 1);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, ABrokenMessageEndsTheCallWithAStatusBehindWhatWasSent) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", TestClient::framed("fine") + TestClient::framed("bad", 7), {}, true);
  client.pump();
  EXPECT_EQ(client[id].body, TestClient::framed("fine"));
  EXPECT_EQ(client[id].trailer("grpc-status"), "13");
  EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr("compressed flag 7"));
  EXPECT_EQ(rig.sink.abandoned, 1);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, AMessageThatIsTooLargeIsRefusedByName) {
  Rig rig;
  rig.sink.max_request_bytes = 1000;
  TestClient client(rig);
  int32_t id = client.request("/stream", TestClient::framed(text(1001, 1)), {}, true);
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "8");
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, ARequestThatEndsInsideAMessageIsAnError) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", TestClient::framed("hello").substr(0, 7));
  client.pump();
  EXPECT_EQ(client[id].trailer("grpc-status"), "13");
  EXPECT_THAT(client[id].trailer("grpc-message"), HasSubstr("inside a message"));
  EXPECT_EQ(rig.sink.open_calls, 0);
}

// ---- time

TEST(GrpcStream, ASilentStreamIsNotStalled) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", TestClient::framed("x"), {}, true);
  client.pump();
  rig.now += 3'600'000'000'000;
  rig.connection->sweep();
  client.pump();
  EXPECT_FALSE(client[id].closed);
  EXPECT_EQ(rig.sink.open_calls, 1);
}

TEST(GrpcStream, AMessageThatStopsArrivingEndsTheCall) {
  Rig rig;
  TestClient client(rig);
  int32_t id = client.request("/stream", TestClient::framed(text(1000, 1)).substr(0, 500), {}, true);
  client.pump();
  for (int i = 0; i < 3; ++i) {
    rig.now += rig.context.options.stall_timeout_ns;
    rig.connection->sweep();
  }
  client.pump();
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, AClientThatNeverOpensItsWindowIsCutOff) {
  Rig rig;
  TestClient client(rig, 100, false);
  int32_t id = client.request("/stream", "", {}, true);
  client.pump();
  rig.sink.send(*rig.sink.last_begun, text(1000, 1));
  client.pump();
  for (int i = 0; i < 3; ++i) {
    rig.now += rig.context.options.stall_timeout_ns;
    rig.connection->sweep();
  }
  client.pump();
  EXPECT_TRUE(client[id].closed);
  EXPECT_EQ(rig.sink.open_calls, 0);
}

TEST(GrpcStream, AnUnreadReplyToAStreamOfRequestsIsResetAfterTheStallTimeout) {
  Rig rig;
  TestClient client(rig, 10, false);
  int32_t id = client.request("/collect", TestClient::framed(text(1000, 1)));
  client.pump();
  EXPECT_EQ(rig.sink.open_calls, 1);
  for (int i = 0; i < 3; ++i) {
    rig.now += rig.context.options.stall_timeout_ns;
    rig.connection->sweep();
  }
  client.pump();
  EXPECT_EQ(client[id].error, uint32_t{NGHTTP2_CANCEL});
  EXPECT_EQ(rig.sink.open_calls, 0);
}

// ---- anything

TEST(GrpcStream, RandomStreamsOnOneConnectionCarryEveryByteAndLeaveNothing) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    Rig rig(round % 2 == 0 ? small_windows() : TransportOptions());
    TestClient client(rig, 1000 + random() % 100'000);
    std::map<int32_t, std::string> sent;
    std::map<int32_t, bool> open;
    for (int turn = 0; turn < 150; ++turn) {
      if (open.size() < 8) {
        int32_t id = client.request("/stream", "", {}, true);
        open[id] = true;
      }
      for (auto it = open.begin(); it != open.end();) {
        const int32_t id = it->first;
        if (random() % 3 == 0) {
          std::string framed = TestClient::framed(text(random() % 4 == 0 ? random() % 50'000 : random() % 200, turn));
          sent[id] += framed;
          client.send(id, framed);
        }
        if (random() % 20 == 0) {
          client.half_close(id);
          it = open.erase(it);
        } else if (random() % 60 == 0) {
          nghttp2_submit_rst_stream(client.session, 0, id, NGHTTP2_CANCEL);
          sent.erase(id);
          it = open.erase(it);
        } else {
          ++it;
        }
      }
      rig.writable = random() % 3 == 0 ? random() % 30'000 : SIZE_MAX;
      client.pump(1 + random() % 40'000);
    }
    rig.writable = SIZE_MAX;
    for (auto& [id, unused] : open) client.half_close(id);
    for (int i = 0; i < 20; ++i) client.pump();
    EXPECT_EQ(client.broken, "");
    for (auto& [id, bytes] : sent) {
      EXPECT_EQ(client[id].body, bytes) << id;
      EXPECT_TRUE(client[id].closed) << id;
    }
    EXPECT_EQ(rig.sink.open_calls, 0);
    EXPECT_EQ(rig.connection->account().held(Resource::kMemory), 0u);
  }
}

}  // namespace
}  // namespace drover::engine
