// RPC lines between hosts on one engine thread, with raw hosts that read and write the rings themselves: where lines
// go, full rings, the end of connections and of hosts, and what no working host sends.
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "engine/dispatch/lines_testing.h"

namespace drover::engine {
namespace {

class DispatcherLines : public ::testing::Test {
 protected:
  DispatcherLines() : DispatcherLines(DispatchOptions{}) {}
  explicit DispatcherLines(const DispatchOptions& options) : thread(options), client(thread), server(thread, 2) {}

  // The client's number of a new connection to a worker of the server.
  uint16_t connect(uint32_t server_worker = 0) { return connect(client, server, server_worker).connection; }
  HostEvents::Opened connect(LineHost& from, LineHost& to, uint32_t to_worker = 0) {
    thread.dispatcher.connect({from.id(), to.id(), 0, to_worker, ++question_});
    thread.pump();
    return thread.events.connections.at(question_);
  }
  void pump() {
    for (int i = 0; i < 5; ++i) thread.pump();
  }
  // What came to the host, all of it.
  std::deque<LineSlot> taken(LineHost& host, uint32_t worker = 0) {
    pump();
    std::deque<LineSlot> lines;
    while (auto line = host.pop(worker)) lines.push_back(*line);
    return lines;
  }

  TestThread thread;
  LineHost client, server;

 private:
  uint32_t question_ = 0;
};

TEST_F(DispatcherLines, ARequestAndItsResponseGetTheirReceiversNumbers) {
  uint16_t first = connect(1), second = connect(1);
  ASSERT_NE(first, second);
  client.push(request(second, 42));
  auto requests = taken(server, 1);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].call, 42u);
  EXPECT_EQ(requests[0].function, 7);
  EXPECT_EQ(std::memcmp(requests[0].arguments, request(second, 42).arguments, kLineArguments), 0);
  server.push(response(requests[0]), 1);
  auto responses = taken(client);
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].connection, second);
  EXPECT_EQ(responses[0].flags, kLineLast | kLineResponse);
  EXPECT_TRUE(taken(server, 0).empty());
}

TEST_F(DispatcherLines, AHostMayCallItself) {
  HostEvents::Opened opened = connect(server, server, 0);
  server.push(request(opened.connection, 1));
  auto requests = taken(server);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_NE(requests[0].connection, opened.connection);
  server.push(response(requests[0]));
  ASSERT_EQ(taken(server).size(), 1u);
  server.host().die();
  pump();
  EXPECT_EQ(thread.dispatcher.line_connections(), 0u);
  EXPECT_EQ(thread.events.let_go, 1);
}

TEST_F(DispatcherLines, ARequestThatFindsAFullRingIsAnsweredResourceExhausted) {
  uint16_t connection = connect();
  for (uint32_t call = 0; call < kSlots; ++call) client.push(request(connection, call));
  pump();
  client.push(request(connection, 99));
  auto answers = taken(client);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].call, 99u);
  EXPECT_EQ(answers[0].connection, connection);
  EXPECT_EQ(answers[0].flags, kLineResponse | kLineLast | kLineFailed);
  EXPECT_EQ(answers[0].function, static_cast<uint16_t>(StatusCode::kResourceExhausted));
  EXPECT_EQ(taken(server).size(), kSlots);
  client.push(request(connection, 100));
  EXPECT_EQ(taken(server).size(), 1u);
}

// The rest of a message whose beginning found no room is dropped with it, and its call fails once.
TEST_F(DispatcherLines, AMessageThatFindsAFullRingIsDroppedToItsEnd) {
  uint16_t connection = connect();
  for (uint32_t call = 0; call < kSlots - 2; ++call) client.push(request(connection, call));
  pump();
  for (uint8_t index = 0; index < 4; ++index) client.push(part(connection, 50, index, 6));
  pump();
  EXPECT_EQ(taken(server).size(), kSlots);
  for (uint8_t index = 4; index < 6; ++index) client.push(part(connection, 50, index, 6));
  EXPECT_TRUE(taken(server).empty());
  client.push(part(connection, 51, 0, 2));
  client.push(part(connection, 51, 1, 2));
  EXPECT_EQ(taken(server).size(), 2u);
  auto answers = taken(client);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].call, 50u);
}

TEST_F(DispatcherLines, AResponseThatFindsAFullRingIsDroppedAndHoldsNobodyUp) {
  uint16_t connection = connect();
  LineHost other(thread);
  uint16_t others = connect(other, server).connection;
  LineSlot served{};
  for (uint32_t call = 0; call < kSlots + 5; ++call) {
    client.push(request(connection, call));
    auto requests = taken(server);
    ASSERT_EQ(requests.size(), 1u);
    served = requests[0];
    server.push(response(served));
    pump();
  }
  other.push(request(others, 1));
  auto requests = taken(server);
  ASSERT_EQ(requests.size(), 1u);
  server.push(response(requests[0]));
  EXPECT_EQ(taken(other).size(), 1u);
  EXPECT_EQ(taken(client).size(), kSlots);
  EXPECT_FALSE(server.failed());
}

TEST_F(DispatcherLines, ACloseIsAnsweredToItsHostAndToldToTheOtherOne) {
  uint16_t connection = connect();
  client.push(request(connection, 1));
  client.close(connection);
  auto requests = taken(server);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].type, kLineCloseType);
  EXPECT_EQ(requests[1].connection, requests[0].connection);
  auto answers = taken(client);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, kLineCloseType);
  EXPECT_EQ(answers[0].connection, connection);
  EXPECT_EQ(thread.dispatcher.line_connections(), 0u);
  // The server answers late, and then the close.
  server.push(response(requests[0]));
  server.close(requests[1].connection);
  EXPECT_TRUE(taken(client).empty());
  EXPECT_FALSE(server.failed());
  EXPECT_FALSE(client.failed());
}

// The server's number goes to another connection only once the server has said that it sends nothing more for the
// first.
TEST_F(DispatcherLines, ANumberIsNotUsedAgainBeforeItsHostHasClosedItToo) {
  uint16_t connection = connect();
  client.push(request(connection, 1));
  auto first = taken(server);
  client.close(connection);
  taken(client);
  EXPECT_EQ(connect(), connection);  // the client has closed, and was answered
  client.push(request(connection, 1));
  auto second = taken(server);
  ASSERT_EQ(second.size(), 2u);  // LINE_CLOSE and the request
  EXPECT_NE(second[1].connection, first[0].connection);
  server.push(response(first[0]));  // late: must not answer the new connection's call of the same number
  EXPECT_TRUE(taken(client).empty());
  server.close(first[0].connection);
  pump();
  connect();
  client.push(request(connection, 2));
  EXPECT_EQ(taken(server).size(), 1u);
  EXPECT_FALSE(server.failed());
}

TEST_F(DispatcherLines, BothHostsMayCloseAtOnce) {
  uint16_t connection = connect();
  client.push(request(connection, 1));
  auto requests = taken(server);
  server.close(requests[0].connection);
  client.close(connection);
  EXPECT_EQ(taken(client).size(), 1u);
  EXPECT_EQ(taken(server).size(), 1u);
  EXPECT_FALSE(client.failed());
  EXPECT_FALSE(server.failed());
  EXPECT_EQ(thread.dispatcher.line_connections(), 0u);
}

TEST_F(DispatcherLines, TheEndOfAServerClosesItsConnectionsAndTheRegionIsFree) {
  for (int i = 0; i < 600; ++i) {
    connect(i % 2 == 0 ? 0 : 1);
    if (i == 299) thread.pump();
  }
  server.host().die();
  EXPECT_EQ(thread.events.let_go, 0);  // its connections refer to it still
  int closed = 0;
  for (int i = 0; i < 200; ++i) {
    for (const LineSlot& line : taken(client)) {
      closed += line.type == kLineCloseType ? 1 : 0;
      client.close(line.connection);
    }
  }
  EXPECT_EQ(closed, 600);
  EXPECT_EQ(thread.events.let_go, 1);
  EXPECT_EQ(thread.dispatcher.line_connections(), 0u);
  EXPECT_FALSE(client.failed());
}

TEST_F(DispatcherLines, RequestsToAServerThatHasEndedAreDroppedUntilTheClientHasHeardOfIt) {
  LineHost other(thread);
  connect(client, other);  // so that the client's worker goes on being looked at
  uint16_t connection = connect();
  server.host().die();
  pump();
  client.push(request(connection, 1));
  auto lines = taken(client);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].type, kLineCloseType);
  EXPECT_FALSE(client.failed());
  client.close(connection);
  pump();
  client.push(request(connection, 2));
  pump();
  EXPECT_TRUE(client.failed());  // after its own close no working host sends
}

TEST_F(DispatcherLines, TheEndOfAClientIsToldToItsServer) {
  uint16_t connection = connect();
  client.push(request(connection, 1));
  auto requests = taken(server);
  client.host().die();
  server.push(response(requests[0]));
  auto lines = taken(server);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].type, kLineCloseType);
  server.close(lines[0].connection);
  pump();
  EXPECT_FALSE(server.failed());
  EXPECT_EQ(thread.events.let_go, 1);
}

TEST_F(DispatcherLines, ManyConnectionsAreOpenAtMost) {
  DispatchOptions options;
  options.max_line_connections = 3;
  TestThread few(options);
  LineHost from(few), to(few);
  for (uint32_t i = 0; i < 4; ++i) few.dispatcher.connect({from.id(), to.id(), 0, 0, i});
  EXPECT_EQ(few.events.connections.at(2).code, ControlCode::kNone);
  EXPECT_EQ(few.events.connections.at(3).code, ControlCode::kResourceExhausted);
  from.close(few.events.connections.at(0).connection);
  for (int i = 0; i < 3; ++i) few.pump();
  few.dispatcher.connect({from.id(), to.id(), 0, 0, 4});
  EXPECT_EQ(few.events.connections.at(4).code, ControlCode::kNone);
}

// What waits for room in a ring is bounded by the connections that were open when it became full.
TEST_F(DispatcherLines, AWorkerThatDoesNotReadItsRingGetsNoFurtherConnection) {
  for (uint32_t i = 0; i < 10'000; ++i) {
    HostEvents::Opened opened = connect(client, server);
    if (opened.code != ControlCode::kNone) {
      EXPECT_EQ(opened.code, ControlCode::kResourceExhausted);
      EXPECT_LE(i, kSlots + 1);
      return;
    }
    client.close(opened.connection);
    pump();
  }
  FAIL() << "10,000 connections were opened and closed though no ring was read";
}

TEST_F(DispatcherLines, AConnectionToAHostThatHasLeftIsRefused) {
  LineHost gone(thread);
  gone.host().die();
  pump();
  EXPECT_EQ(connect(client, gone).code, ControlCode::kNotServed);
}

struct Hostile {
  const char* name;
  std::function<LineSlot(uint16_t connection)> line;
};

class HostileLines : public DispatcherLines, public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileLines, EndTheHostThatSendsThemAndNothingElse) {
  uint16_t connection = connect();
  client.push(GetParam().line(connection));
  pump();
  EXPECT_TRUE(client.failed());
  auto lines = taken(server);
  ASSERT_EQ(lines.size(), 1u);  // only that the connection has ended
  EXPECT_EQ(lines[0].type, kLineCloseType);
  EXPECT_FALSE(server.failed());
}

LineSlot changed(LineSlot line, const std::function<void(LineSlot&)>& change) {
  change(line);
  return line;
}

INSTANTIATE_TEST_SUITE_P(
    Lines, HostileLines,
    ::testing::Values(
        Hostile{"another_connection", [](uint16_t c) { return request(static_cast<uint16_t>(c + 1), 1); }},
        Hostile{"last_connection", [](uint16_t) { return request(65'535, 1); }},
        Hostile{"a_response", [](uint16_t c) { return response(request(c, 1)); }},
        Hostile{"a_failed_request", [](uint16_t c) { return request(c, 1, kLineLast | kLineFailed, 0, 0); }},
        Hostile{"an_unknown_flag", [](uint16_t c) { return request(c, 1, kLineLast | 0x80); }},
        Hostile{"too_long", [](uint16_t c) { return changed(request(c, 1), [](auto& l) { l.length = 49; }); }},
        Hostile{"short_and_not_last", [](uint16_t c) { return request(c, 1, 0); }},
        Hostile{"an_empty_tail", [](uint16_t c) { return request(c, 1, kLineLast, 3, 0); }},
        Hostile{"no_end", [](uint16_t c) { return request(c, 1, 0, 255, kLineArguments); }},
        Hostile{"a_close_of_another",
                [](uint16_t c) { return slot_as<LineSlot>(to_slot(line_close(static_cast<uint16_t>(c + 1)))); }}),
    [](const auto& param) { return param.param.name; });

TEST_F(DispatcherLines, ALineFromAHostWithoutConnectionsBreaksTheChannel) {
  server.push(request(0, 1), 1);
  for (int i = 0; i < 20 && !server.failed(); ++i) {
    pump();
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
  }
  EXPECT_TRUE(server.failed());
}

// A server that answers what it was not asked reaches only clients that have opened a connection to it, and those look
// for the call's number (host/lines/rpc_client.h).
TEST_F(DispatcherLines, AServerMaySendResponsesOfAnyCallOnItsConnections) {
  uint16_t connection = connect();
  client.push(request(connection, 1));
  auto requests = taken(server);
  for (uint32_t call = 0; call < 5; ++call) {
    LineSlot line = response(requests[0]);
    line.call = call;
    server.push(line);
  }
  EXPECT_EQ(taken(client).size(), 5u);
}

// The engine thread that is about to sleep sees a line that came after it was announced.
TEST_F(DispatcherLines, ALineIsSeenBeforeSleep) {
  uint16_t connection = connect();
  pump();
  EXPECT_FALSE(thread.dispatcher.prepare_to_sleep());
  thread.dispatcher.woke_up();
  client.push(request(connection, 1));
  EXPECT_TRUE(thread.dispatcher.prepare_to_sleep());
  thread.dispatcher.woke_up();
  EXPECT_EQ(taken(server).size(), 1u);
}

}  // namespace
}  // namespace drover::engine
