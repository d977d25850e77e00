// Clients and servers on two rings in memory: calls of all sizes, windows, time-outs, and lines that no sender makes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <numeric>
#include <string>

#include "host/lines/completion_queue.h"
#include "host/lines/ring_port.h"
#include "host/lines/rpc_server.h"

namespace drover::lines {
namespace {

constexpr uint16_t kEcho = 7, kReverse = 8, kRefuse = 9;
constexpr uint16_t kConnection = 3;

// Two ports that face each other.
class Pair {
 public:
  explicit Pair(uint32_t slots) : slots_{Memory(slots), Memory(slots)}, capacity_(slots) {}
  RingPort client() { return port(0, 1); }
  RingPort server() { return port(1, 0); }
  // Puts a line where the client reads, beside the server.
  RingProducer to_client() { return producer(1); }
  RingProducer to_server() { return producer(0); }

 private:
  struct Memory {
    explicit Memory(uint32_t count) : slots(count) {}
    std::vector<Slot> slots;
    ConsumerPosition position{};
  };
  RingProducer producer(int i) { return {slots_[i].slots.data(), capacity_, &slots_[i].position}; }
  RingConsumer consumer(int i) { return {slots_[i].slots.data(), capacity_, &slots_[i].position}; }
  RingPort port(int out, int in) { return {producer(out), consumer(in)}; }

  Memory slots_[2];
  uint32_t capacity_;
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RpcThreadedServer test_server() {
  RpcThreadedServer server;
  server.handle(kEcho, [](const Request& request, Response& response) {
    response.copy(request.arguments);
    return kStatusOk;
  });
  server.handle(kReverse, [](const Request& request, Response& response) {
    std::byte* to = response.reserve(request.arguments.size());
    std::reverse_copy(request.arguments.begin(), request.arguments.end(), to);
    return kStatusOk;
  });
  server.handle(kRefuse, [](const Request&, Response& response) {
    response.copy(bytes_of("not sent"));
    return kStatusResourceExhausted;
  });
  return server;
}

class LinesTest : public ::testing::Test {
 protected:
  explicit LinesTest(uint32_t slots = 64) : pair_(slots) {}
  // Serves until nothing comes.
  void serve() {
    while (thread_.serve(4) != 0) {
    }
  }
  CompletedCall one_call(uint16_t function, const std::string& request) {
    CompletedCall done;
    EXPECT_EQ(client_.begin(function, bytes_of(request), 1), BeginResult::kOk);
    serve();
    queue_.poll(&client_, 64);
    EXPECT_TRUE(queue_.pop(&done));
    return done;
  }

  Pair pair_;
  RpcThreadedServer server_ = test_server();
  RingPort client_port_ = pair_.client(), server_port_ = pair_.server();
  BasicRpcClient<RingPort> client_{&client_port_, kConnection, {.window = 16}};
  BasicServerThread<RingPort> thread_{&server_, &server_port_};
  CompletionQueue queue_;
};

TEST_F(LinesTest, CallsOfOneLineComeBackWithTheirTag) {
  for (uint64_t tag = 0; tag < 1000; ++tag) {
    std::string request = "request " + std::to_string(tag);
    ASSERT_EQ(client_.begin(kEcho, bytes_of(request), tag), BeginResult::kOk);
    client_.flush();
    serve();
    uint32_t ended = client_.poll(8, [&](const Completion& done) {
      EXPECT_EQ(done.tag, tag);
      EXPECT_EQ(done.status, kStatusOk);
      EXPECT_EQ(text_of(done.response), request);
    });
    ASSERT_EQ(ended, 1u);
  }
  EXPECT_EQ(client_.counters().completed, 1000u);
  EXPECT_EQ(thread_.counters().calls, 1000u);
}

TEST_F(LinesTest, MessagesOfAnySizeTravelAsLines) {
  for (size_t size : {0u, 1u, 47u, 48u, 49u, 96u, 97u, 1000u}) {
    std::string request(size, 'x');
    std::iota(request.begin(), request.end(), 'a');
    CompletedCall done = one_call(kReverse, request);
    EXPECT_EQ(done.status(), kStatusOk);
    EXPECT_EQ(text_of(done.response()), std::string(request.rbegin(), request.rend())) << size;
  }
}

TEST_F(LinesTest, AStatusTakesTheResponsesPlace) {
  CompletedCall refused = one_call(kRefuse, "please");
  EXPECT_EQ(refused.status(), kStatusResourceExhausted);
  EXPECT_EQ(refused.response().size(), 0u);
  EXPECT_EQ(one_call(1234, "unknown").status(), kStatusUnimplemented);
}

TEST_F(LinesTest, TheWindowIsTheMostOutstanding) {
  for (int i = 0; i < 16; ++i) ASSERT_EQ(client_.begin(kEcho, {}, 0), BeginResult::kOk);
  EXPECT_EQ(client_.begin(kEcho, {}, 0), BeginResult::kWindowFull);
  serve();
  EXPECT_EQ(queue_.poll(&client_, 1), 1u);
  EXPECT_EQ(client_.begin(kEcho, {}, 0), BeginResult::kOk);
}

TEST_F(LinesTest, AMessageBeginsOnlyIfAllItsLinesFindRoom) {
  std::string large(40 * kLineArguments, 'l');
  ASSERT_EQ(client_.begin(kEcho, bytes_of(large), 0), BeginResult::kOk);
  EXPECT_EQ(client_.begin(kEcho, bytes_of(large), 0), BeginResult::kNoRoom);
  EXPECT_EQ(client_.outstanding(), 1u);
  EXPECT_EQ(client_.begin(kEcho, bytes_of(std::string(kMaxMessageBytes + 1, 'l')), 0), BeginResult::kTooLong);
}

TEST_F(LinesTest, AResponseWaitsForRoomAndNoRequestIsTakenMeanwhile) {
  std::string large(20 * kLineArguments, 'l');
  for (int i = 0; i < 3; ++i) ASSERT_EQ(client_.begin(kEcho, bytes_of(large), 0), BeginResult::kOk);
  uint32_t ended = 0;
  for (int round = 0; round < 100 && ended < 3; ++round) {
    thread_.serve(64);
    ended += client_.poll(2, [&](const Completion& done) { EXPECT_EQ(text_of(done.response), large); });
  }
  EXPECT_EQ(ended, 3u);
}

TEST_F(LinesTest, ASynchronousCallWaitsForItsResponse) {
  RpcThreadedServer& server = server_;
  BasicServerThread<RingPort> thread(&server, &server_port_);
  // A port whose idle() lets the server run.
  struct Turns : RingPort {
    Turns(RingPort port, std::function<void()> other) : RingPort(port), other(std::move(other)) {}
    void idle() { other(); }
    std::function<void()> other;
  } port(pair_.client(), [&] { thread.serve(1); });
  BasicRpcClient<Turns> client(&port, kConnection);
  std::byte response[4];
  size_t size = 0;
  EXPECT_EQ(client.call(kEcho, bytes_of("synchronous"), response, &size), kStatusOk);
  EXPECT_EQ(size, 11u);
  EXPECT_EQ(text_of(response), "sync");
}

TEST_F(LinesTest, ACallWithoutAnAnswerExpires) {
  BasicRpcClient<RingPort> client(&client_port_, kConnection, {.window = 4, .timeout_ns = 1});
  ASSERT_EQ(client.begin(kEcho, bytes_of("late"), 5), BeginResult::kOk);
  int64_t then = client_port_.now_ns();
  while (client_port_.now_ns() <= then + 1) {
  }
  uint32_t ended = client.expire([](const Completion& done) {
    EXPECT_EQ(done.tag, 5u);
    EXPECT_EQ(done.status, kStatusDeadlineExceeded);
  });
  EXPECT_EQ(ended, 1u);
  serve();  // its answer comes late, and belongs to no call
  EXPECT_EQ(client.poll(8, [](const Completion&) { FAIL(); }), 0u);
  EXPECT_EQ(client.counters().unknown, 1u);
}

// A server on a NIC without positions frees its ring by these numbers (rtl/driver/nic_answers.h).
TEST_F(LinesTest, ANumberSaysWhetherTheCallBeforeItWasAnswered) {
  BasicRpcClient<RingPort> client(&client_port_, kConnection, {.window = 1});
  auto number = [&](int64_t timeout_ns) {
    EXPECT_EQ(client.begin(kEcho, {}, 0, timeout_ns), BeginResult::kOk);
    Slot request;
    EXPECT_TRUE(server_port_.try_pop(request));
    return slot_as<LineSlot>(request).call;
  };
  auto answer = [&](uint32_t call, uint32_t line, size_t bytes) {
    server_port_.try_push(
        to_slot(line_of({kConnection, kEcho, call, kLineResponse}, bytes_of(std::string(bytes, 'x')), line)));
    return client.poll(8, [](const Completion&) {});
  };
  const uint32_t first = number(0);
  EXPECT_EQ(answer(first, 0, 8), 1u);
  const uint32_t second = number(1);
  EXPECT_EQ(second, first + 1);
  EXPECT_TRUE(shows_answered(second, first));
  while (client.expire([](const Completion&) {}) == 0) {
  }
  const uint32_t third = number(0);
  EXPECT_FALSE(shows_answered(third, second)) << "it was given up";
  EXPECT_EQ(answer(second, 0, 8), 0u) << "too late";
  EXPECT_EQ(answer(third, 1, 100), 1u) << "without its first line: DATA_LOSS";
  const uint32_t fourth = number(0);
  EXPECT_FALSE(shows_answered(fourth, third));
  EXPECT_EQ(answer(fourth, 0, 8), 1u);
  EXPECT_TRUE(shows_answered(number(0), fourth));
}

TEST_F(LinesTest, AClientBeginsNoMoreCallsThanItsPortKeepsResponsesFor) {
  struct Small : RingPort {
    explicit Small(const RingPort& port) : RingPort(port) {}
    uint32_t lines_kept() const { return 5; }
  } port(pair_.client());
  BasicRpcClient<Small> client(&port, kConnection, {.window = 16});
  EXPECT_EQ(client.window(), 5u);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t tag = 0; tag < 5; ++tag) ASSERT_EQ(client.begin(kEcho, {}, tag), BeginResult::kOk);
    EXPECT_EQ(client.begin(kEcho, {}, 5), BeginResult::kWindowFull);
    EXPECT_EQ(client.outstanding(), 5u);
    serve();
    EXPECT_EQ(client.poll(16, [](const Completion& done) { EXPECT_EQ(done.status, kStatusOk); }), 5u);
    EXPECT_EQ(client.outstanding(), 0u);
  }
}

// Whichever of its lines a transport loses: counted, and the call ends as one that is late does.
TEST_F(LinesTest, AResponseWithoutOneOfItsLinesEndsAtTheCallsDeadline) {
  const std::string large(4 * kLineArguments, 'l');
  for (uint32_t lost = 0; lost < 4; ++lost) {
    SCOPED_TRACE(lost);
    BasicRpcClient<RingPort> client(&client_port_, kConnection, {.window = 4});
    constexpr int64_t kTimeoutNs = 20'000'000;
    const int64_t begun_ns = client_port_.now_ns();
    ASSERT_EQ(client.begin(kEcho, {}, 5, kTimeoutNs), BeginResult::kOk);
    Slot request;
    ASSERT_TRUE(server_port_.try_pop(request));
    const LineHead head{kConnection, kEcho, slot_as<LineSlot>(request).call, kLineResponse};
    for (uint32_t i = 0; i < 4; ++i) {
      if (i != lost) server_port_.try_push(to_slot(line_of(head, bytes_of(large), i)));
    }
    uint16_t status = kStatusOk;
    auto ended = [&](const Completion& done) { status = done.status; };
    EXPECT_EQ(client.poll(8, ended), 0u);
    EXPECT_EQ(client.outstanding(), 1u);
    EXPECT_EQ(client.counters().incomplete, lost == 3 ? 0u : 1u) << "without its last line it may still come";
    EXPECT_EQ(client.counters().malformed, 0u);
    while (client.expire(ended) == 0) {
    }
    EXPECT_EQ(status, kStatusDeadlineExceeded);
    EXPECT_GE(client_port_.now_ns() - begun_ns, kTimeoutNs);
    EXPECT_EQ(client.begin(kEcho, {}, 6), BeginResult::kOk);
    serve();
    EXPECT_EQ(client.poll(8, ended), 1u);
    EXPECT_EQ(status, kStatusOk) << "a call in the same place of the window";
  }
}

TEST_F(LinesTest, WithoutADeadlineAResponseWithoutALineEndsInDataLoss) {
  ASSERT_EQ(client_.begin(kEcho, {}, 5), BeginResult::kOk);
  Slot request;
  ASSERT_TRUE(server_port_.try_pop(request));
  const LineHead head{kConnection, kEcho, slot_as<LineSlot>(request).call, kLineResponse};
  server_port_.try_push(to_slot(line_of(head, bytes_of(std::string(100, 'l')), 1)));
  EXPECT_EQ(client_.poll(8, [](const Completion& done) { EXPECT_EQ(done.status, kStatusDataLoss); }), 1u);
  EXPECT_EQ(client_.counters().incomplete, 1u);
}

TEST_F(LinesTest, ARequestWithoutOneOfItsLinesIsDroppedAndNeverRuns) {
  const std::string large(4 * kLineArguments, 'l');
  for (uint32_t lost = 0; lost < 4; ++lost) {
    const LineHead head{kConnection, kEcho, lost, 0};
    for (uint32_t i = 0; i < 4; ++i) {
      if (i != lost) client_port_.try_push(to_slot(line_of(head, bytes_of(large), i)));
    }
    serve();
  }
  EXPECT_EQ(thread_.counters().incomplete, 3u) << "of the last one more may come";
  EXPECT_EQ(text_of(one_call(kEcho, large).response()), large);
  EXPECT_EQ(thread_.counters().incomplete, 4u);
  EXPECT_EQ(thread_.counters().calls, 1u);
  EXPECT_EQ(thread_.counters().malformed, 0u);
}

TEST_F(LinesTest, ARepeatedResponseMatchesNoCall) {
  ASSERT_EQ(client_.begin(kEcho, bytes_of("once"), 1), BeginResult::kOk);
  Slot request, response;
  ASSERT_TRUE(server_port_.try_pop(request));
  LineSlot line = slot_as<LineSlot>(request);
  line.flags |= kLineResponse;
  response = to_slot(line);
  RingProducer to_client = pair_.to_client();
  for (int i = 0; i < 3; ++i) to_client.try_push(response);
  EXPECT_EQ(client_.poll(8, [](const Completion&) {}), 1u);
  EXPECT_EQ(client_.counters().unknown, 2u);
}

TEST_F(LinesTest, LinesOfDifferentConnectionsMayInterleave) {
  std::string a(100, 'a'), b(150, 'b');
  RingProducer to_server = pair_.to_server();
  LineHead head_a{1, kEcho, 1, 0}, head_b{2, kEcho, 2, 0};
  for (uint32_t i = 0; i < lines_of(b.size()); ++i) {
    if (i < lines_of(a.size())) to_server.try_push(to_slot(line_of(head_a, bytes_of(a), i)));
    to_server.try_push(to_slot(line_of(head_b, bytes_of(b), i)));
  }
  serve();
  EXPECT_EQ(thread_.counters().calls, 2u);
  EXPECT_EQ(thread_.counters().malformed, 0u);
}

// A server's thread with room for two messages under way, and a client that is no RpcClient: it sends single lines.
class AssembliesTest : public LinesTest {
 protected:
  // Line `index` of the message of `lines` lines that is call `call` of that connection.
  void send(uint16_t connection, uint32_t call, uint32_t index, uint32_t lines) {
    const std::string message(lines * kLineArguments, 'm');
    ASSERT_TRUE(client_port_.try_push(slot_view(line_of({connection, kEcho, call, 0}, bytes_of(message), index))));
    few_.serve(1);
  }
  uint64_t served() const { return few_.counters().calls; }

  BasicServerThread<RingPort> few_{&server_, &server_port_, {.max_assemblies = 2}};
};

TEST_F(AssembliesTest, StrayLinesHoldNoPlace) {
  for (uint16_t stray = 10; stray < 15; ++stray) send(stray, 1, 1, 4);
  send(1, 1, 0, 2);
  send(1, 1, 1, 2);
  EXPECT_EQ(served(), 1u);
  EXPECT_EQ(few_.counters().incomplete, 5u);
  EXPECT_EQ(few_.counters().too_many, 0u);
}

TEST_F(AssembliesTest, StrayLinesDisplaceNoMessageThatIsUnderWay) {
  send(1, 1, 0, 2);
  send(2, 1, 0, 2);
  for (uint16_t stray = 10; stray < 15; ++stray) send(stray, 1, 1, 4);
  send(1, 1, 1, 2);
  send(2, 1, 1, 2);
  EXPECT_EQ(served(), 2u);
  EXPECT_EQ(few_.counters().incomplete, 5u);
}

TEST_F(AssembliesTest, MessagesThatNeverEndGiveWayToThoseThatGoOn) {
  send(1, 1, 0, 3);
  send(10, 1, 0, 4);
  send(1, 1, 1, 3);  // of the two, connection 10's has waited longer now
  send(2, 1, 0, 2);
  EXPECT_EQ(few_.counters().too_many, 1u);
  send(1, 1, 2, 3);
  send(2, 1, 1, 2);
  EXPECT_EQ(served(), 2u);
  send(10, 1, 1, 4);  // the rest of what gave way is dropped
  send(10, 1, 2, 4);
  send(10, 1, 3, 4);
  EXPECT_EQ(served(), 2u);
  EXPECT_EQ(few_.counters().malformed, 0u);
}

TEST_F(AssembliesTest, AConnectionThatIsClosedLeavesItsPlace) {
  send(10, 1, 0, 4);
  send(11, 1, 1, 4);
  for (uint16_t closed : {10, 11}) {
    ASSERT_TRUE(client_port_.try_push(to_slot(line_close(closed))));
    few_.serve(1);
  }
  for (uint16_t connection : {1, 2}) send(connection, 1, 0, 2);
  for (uint16_t connection : {1, 2}) send(connection, 1, 1, 2);
  EXPECT_EQ(served(), 2u);
  EXPECT_EQ(few_.counters().too_many, 0u);
}

TEST_F(AssembliesTest, WithoutPlacesOnlyMessagesOfOneLineAreServed) {
  BasicServerThread<RingPort> none(&server_, &server_port_, {.max_assemblies = 0});
  const std::string message(2 * kLineArguments, 'm');
  for (uint32_t i : {0, 1}) client_port_.try_push(slot_view(line_of({1, kEcho, 1, 0}, bytes_of(message), i)));
  client_port_.try_push(slot_view(line_of({1, kEcho, 2, 0}, bytes_of("short"), 0)));
  none.serve(8);
  EXPECT_EQ(none.counters().calls, 1u);
  EXPECT_EQ(none.counters().too_many, 1u);
}

// Whatever one connection sends, another's message runs: over random lines of many connections.
TEST(Lines, AnHonestMessageRunsAmongAnyLinesOfOthers) {
  EXPECT_TRUE(rc::check("honest among strays", [] {
    Pair pair(256);
    RpcThreadedServer server = test_server();
    RingPort client_port = pair.client(), server_port = pair.server();
    BasicServerThread<RingPort> thread(&server, &server_port, {.max_assemblies = 4});
    const std::string message(6 * kLineArguments, 'h');
    uint64_t calls = 0;
    server.handle(kEcho, [&](const Request& request, Response&) {
      if (request.connection == 1 && text_of(request.arguments) == message) ++calls;
      return kStatusOk;
    });
    for (uint32_t index = 0; index < 6; ++index) {
      const int most = index == 0 ? 20 : 3;
      for (int others = *rc::gen::inRange(0, most); others != 0; --others) {
        const auto connection = *rc::gen::inRange<uint16_t>(2, 40);
        const LineHead head{connection, kEcho, *rc::gen::inRange<uint32_t>(0, 3), 0};
        client_port.try_push(slot_view(line_of(head, bytes_of(message), *rc::gen::inRange<uint32_t>(0, 6))));
      }
      client_port.try_push(slot_view(line_of({1, kEcho, 9, 0}, bytes_of(message), index)));
    }
    while (thread.serve(64) != 0) {
    }
    RC_ASSERT(calls == 1u);
  }));
}

// Any bytes for lines: no crash, no call for what no sender makes, and honest calls behind them are served.
TEST(Lines, HostileLinesCostNobodyElse) {
  EXPECT_TRUE(rc::check("hostile lines", [] {
    Pair pair(256);
    RpcThreadedServer server = test_server();
    RingPort client_port = pair.client(), server_port = pair.server();
    BasicRpcClient<RingPort> client(&client_port, kConnection, {.window = 4});
    BasicServerThread<RingPort> thread(&server, &server_port, {.max_assemblies = 2});
    auto count = *rc::gen::inRange(0, 60);
    for (bool to_server : {true, false}) {
      RingPort& from = to_server ? client_port : server_port;
      for (int i = 0; i < count; ++i) {
        LineSlot line{};
        line.type = *rc::gen::weightedElement<uint8_t>({{9, kLineType}, {1, 0}, {1, 255}});
        line.flags = *rc::gen::inRange<uint8_t>(0, 16);
        line.function = *rc::gen::elementOf(std::vector<uint16_t>{kEcho, kReverse, 0, 65535});
        line.call = *rc::gen::inRange<uint32_t>(0, 8);
        line.connection = *rc::gen::inRange<uint16_t>(0, 5);
        line.index = *rc::gen::elementOf(std::vector<uint8_t>{0, 1, 2, 255});
        line.length = *rc::gen::elementOf(std::vector<uint8_t>{0, 1, 47, 48, 49, 255});
        from.try_push(to_slot(line));
      }
      if (!to_server) client.poll(1000, [](const Completion&) {});
    }
    // The client has no call outstanding, so that no line can end one; answers to the lines above are dropped likewise.
    for (int i = 0; i < 1000 && thread.serve(64) != 0; ++i) client.poll(1000, [](const Completion&) {});
    client.poll(1000, [](const Completion&) {});
    RC_ASSERT(client.counters().completed == 0u);
    RC_ASSERT(client.begin(kEcho, bytes_of("honest"), 9) == BeginResult::kOk);
    thread.serve(64);
    uint32_t ended = client.poll(64, [](const Completion& done) { RC_ASSERT(text_of(done.response) == "honest"); });
    RC_ASSERT(ended == 1u);
  }));
}

// split and assemble: any message comes back; and the assembly takes nothing else.
TEST(LineAssembly, TakesExactlyTheLinesOfAMessage) {
  EXPECT_TRUE(rc::check("round trip", [] {
    std::string message(*rc::gen::inRange<size_t>(0, 2000), '\0');
    for (char& c : message) c = *rc::gen::arbitrary<char>();
    LineHead head{1, 2, 3, 0};
    LineAssembly assembly;
    uint32_t lines = lines_of(message.size());
    for (uint32_t i = 0; i < lines; ++i) {
      LineSlot line = line_of(head, bytes_of(message), i);
      RC_ASSERT(well_formed(line));
      LineSlot other = line;
      other.call ^= 1;
      LineAssembly copy = assembly;
      if (i != 0) RC_ASSERT(copy.take(other) == LineAssembly::Taken::kIncomplete);
      RC_ASSERT(assembly.take(line) == (i + 1 == lines ? LineAssembly::Taken::kWhole : LineAssembly::Taken::kMore));
    }
    RC_ASSERT(text_of(assembly.message()) == message);
  }));
}

TEST(LineAssembly, AMessageWithAGapIsGivenUpOnce) {
  using Taken = LineAssembly::Taken;
  const std::string message(200, 'm');
  auto line = [&](uint32_t call, uint32_t index) { return line_of({1, 2, call, 0}, bytes_of(message), index); };
  LineAssembly assembly;
  EXPECT_EQ(assembly.take(line(3, 0)), Taken::kMore);
  EXPECT_EQ(assembly.take(line(3, 2)), Taken::kIncomplete);
  EXPECT_EQ(assembly.take(line(3, 3)), Taken::kDropped);
  EXPECT_FALSE(assembly.under_way());
  EXPECT_EQ(assembly.take(line(4, 1)), Taken::kIncomplete) << "without its first line";
  EXPECT_EQ(assembly.take(line(4, 2)), Taken::kDropped);
  EXPECT_EQ(assembly.take(line(4, 1)), Taken::kDropped) << "the line in its turn comes too late";
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(assembly.take(line(5, i)), i == 4 ? Taken::kWhole : Taken::kMore);
  EXPECT_EQ(text_of(assembly.message()), message);
}

}  // namespace
}  // namespace drover::lines
