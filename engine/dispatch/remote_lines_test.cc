// RPC lines between hosts of two engine threads that are linked over UDP, and what a hostile engine at the other end of
// a link can do.
#include "engine/dispatch/remote_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "engine/dispatch/lines_testing.h"

namespace drover::engine {
namespace {

using ::testing::HasSubstr;

RemoteOptions listening(uint32_t max_connections = 4096) {
  RemoteOptions options;
  options.listen = parse_listen_address("127.0.0.1:0").candidates.at(0);
  options.max_connections = max_connections;
  options.peers.cookie_key = {1, 2};
  options.peers.timeout_ns = 1'000'000'000;
  return options;
}

struct OwnIo {
  const std::unique_ptr<Io> io = make_epoll_io();  // outlives the sockets
};

// An engine thread with sockets.
class NetThread final : private OwnIo, public TestThread {
 public:
  explicit NetThread(const RemoteOptions& options = listening()) {
    std::string error;
    EXPECT_TRUE(dispatcher.open_network(options, *io, &error)) << error;
  }
  bool pump() override {
    io->wait(0);
    io->dispatch();
    return TestThread::pump();
  }
  UdpAddress address() const { return dispatcher.network()->listening(); }
  // Asks for a connection; its answer is in events.connections.
  uint32_t ask(const LineHost& host, const UdpAddress& remote, const std::string& name) {
    static uint32_t question = 0;
    dispatcher.connect({.client = host.id(), .request = ++question, .remote = remote, .name = name});
    return question;
  }
};

class RemoteLinesTest : public ::testing::Test {
 protected:
  bool pump_until(const std::function<bool()>& done, std::vector<TestThread*> threads) {
    for (int64_t end = monotonic_ns() + 5'000'000'000; !done();) {
      for (TestThread* thread : threads) thread->pump();
      if (monotonic_ns() > end) return false;
    }
    return true;
  }
  bool pump_until(const std::function<bool()>& done) { return pump_until(done, {&here, &there}); }
  HostEvents::Opened open(LineHost& host, const std::string& name) {
    const uint32_t question = here.ask(host, there.address(), name);
    EXPECT_TRUE(pump_until([&] { return here.events.connections.contains(question); }));
    return here.events.connections[question];
  }
  LineSlot pop(LineHost& host) {
    std::optional<LineSlot> line;
    EXPECT_TRUE(pump_until([&] { return (line = host.pop()).has_value(); }));
    return line.value_or(LineSlot{});
  }
  bool all_closed() {
    return pump_until(
        [&] { return here.dispatcher.line_connections() == 0 && there.dispatcher.line_connections() == 0; });
  }

  NetThread here, there{listening(4)};
  LineHost client{here};
};

TEST_F(RemoteLinesTest, ARequestAndItsResponseGetTheirReceiversNumbers) {
  LineHost server(there, 1, {"shop.Stock"});
  open(client, "shop.Stock");
  const HostEvents::Opened opened = open(client, "shop.Stock");
  ASSERT_EQ(opened.code, ControlCode::kNone);
  client.push(request(opened.connection, 42));
  const LineSlot got = pop(server);
  EXPECT_EQ(got.call, 42u);
  EXPECT_EQ(std::memcmp(got.arguments, request(0, 42).arguments, kLineArguments), 0);
  server.push(response(got));
  const LineSlot answer = pop(client);
  EXPECT_EQ(answer.connection, opened.connection);
  EXPECT_EQ(answer.call, 42u);
}

TEST_F(RemoteLinesTest, ANameOfAnyLengthIsFoundAndOneThatNobodyServesIsNot) {
  const std::string longest(255, 'n');
  LineHost server(there, 1, {longest, std::string(48, 'n')});
  EXPECT_EQ(open(client, longest).code, ControlCode::kNone);
  EXPECT_EQ(open(client, std::string(48, 'n')).code, ControlCode::kNone);
  const HostEvents::Opened refused = open(client, std::string(49, 'n'));
  EXPECT_EQ(refused.code, ControlCode::kNotServed);
  EXPECT_THAT(refused.why, HasSubstr("no host of the other engine serves the name"));
  EXPECT_EQ(here.dispatcher.line_connections(), 2u);
}

TEST_F(RemoteLinesTest, ACloseOfEitherSideReachesTheOtherAndFreesTheNumbers) {
  LineHost server(there, 1, {"a"});
  for (int i = 0; i < 10; ++i) {  // the link has room for four
    const HostEvents::Opened opened = open(client, "a");
    ASSERT_EQ(opened.code, ControlCode::kNone) << opened.why;
    if (i % 2 == 0) {
      client.close(opened.connection);
      const LineSlot told = pop(server);
      EXPECT_EQ(told.type, kLineCloseType);
      server.close(told.connection);
      EXPECT_EQ(pop(client).type, kLineCloseType);
    } else {
      client.push(request(opened.connection, 1));
      server.close(pop(server).connection);
      EXPECT_EQ(pop(server).type, kLineCloseType);
      const LineSlot told = pop(client);
      EXPECT_EQ(told.type, kLineCloseType);
      client.close(told.connection);
    }
    EXPECT_TRUE(all_closed());
  }
  EXPECT_FALSE(client.failed() || server.failed());
}

TEST_F(RemoteLinesTest, AConnectionBeyondTheLinksLimitIsRefused) {
  LineHost server(there, 1, {"a"});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(open(client, "a").code, ControlCode::kNone);
  const HostEvents::Opened refused = open(client, "a");
  EXPECT_EQ(refused.code, ControlCode::kResourceExhausted);
  EXPECT_THAT(refused.why, HasSubstr("the other engine has no room"));
}

TEST_F(RemoteLinesTest, ARequestThatFindsTheServersRingFullIsAnsweredResourceExhausted) {
  LineHost server(there, 1, {"a"});
  const uint16_t connection = open(client, "a").connection;
  for (uint32_t call = 0; call < kSlots; ++call) {
    client.push(request(connection, call));
    here.pump();
  }
  client.push(request(connection, 99));
  const LineSlot answer = pop(client);
  EXPECT_EQ(answer.call, 99u);
  EXPECT_EQ(answer.flags, kLineResponse | kLineLast | kLineFailed);
  EXPECT_EQ(answer.connection, connection);
}

TEST_F(RemoteLinesTest, AClientThatDiesWhileItsConnectionIsOpenedLeavesNothing) {
  LineHost server(there, 1, {"a"});
  open(client, "a");
  LineHost dying(here);
  here.ask(dying, there.address(), "a");
  dying.host().die();
  client.host().die();
  EXPECT_TRUE(pump_until([&] { return server.pop().has_value(); }));  // told of at least one
  EXPECT_TRUE(pump_until([&] { return here.dispatcher.line_connections() == 0; }));
  EXPECT_TRUE(pump_until([&] { return here.events.let_go == 2; }));
}

TEST_F(RemoteLinesTest, AServerThatDiesClosesItsConnections) {
  LineHost server(there, 1, {"a"});
  const uint16_t connection = open(client, "a").connection;
  server.host().die();
  const LineSlot told = pop(client);
  EXPECT_EQ(told.type, kLineCloseType);
  EXPECT_EQ(told.connection, connection);
  client.close(connection);
  EXPECT_TRUE(all_closed());
  EXPECT_EQ(open(client, "a").code, ControlCode::kNotServed);
}

TEST_F(RemoteLinesTest, AnEngineThatEndsClosesItsConnectionsAndEndsWhatIsBeingOpened) {
  auto other = std::make_unique<NetThread>();
  LineHost server(*other, 1, {"a"});
  const uint32_t question = here.ask(client, other->address(), "a");
  ASSERT_TRUE(pump_until([&] { return here.events.connections.contains(question); }, {&here, other.get()}));
  const uint32_t late = here.ask(client, other->address(), "a");
  other.reset();
  EXPECT_EQ(pop(client).type, kLineCloseType);
  EXPECT_TRUE(pump_until([&] { return here.events.connections.contains(late); }));
  EXPECT_EQ(here.events.connections[late].code, ControlCode::kNotServed);
}

// ---- a hostile engine at the other end

// An engine that sends any slots.
class RawEngine final : public PeerEvents {
 public:
  explicit RawEngine(const UdpAddress& to) : io_(make_epoll_io()), batch_(ports_), table_(options(), *this, metrics_) {
    std::string error;
    ports_[0] = UdpPort::open(
        parse_listen_address("127.0.0.1:0").candidates.at(0), false, *io_, buffers_,
        [this](UdpPort& port) {
          port.receive([this](const UdpAddress& from, std::span<const std::byte> bytes, bool truncated) {
            table_.datagram(0, false, from, bytes, truncated, monotonic_ns(), batch_);
          });
        },
        &error);
    link = table_.open(to, 0, monotonic_ns());
  }
  void pump() {
    io_->wait(0);
    io_->dispatch();
    table_.turn(monotonic_ns(), batch_);
    batch_.finish();
  }
  template <typename T>
  void push(const T& typed) {
    const Slot slot = to_slot(typed);
    uint64_t second;
    std::memcpy(&second, reinterpret_cast<const char*>(&slot) + 8, sizeof second);
    link->push(slot, second, 8);
  }
  void on_slot(PeerLink&, const std::byte* bytes) override {
    Slot slot;
    std::memcpy(&slot, bytes, sizeof slot);
    came.push_back(slot);
  }
  bool on_link(PeerLink&) override { return false; }
  void on_ended(PeerLink&, const char* why) override { ended = why, link = nullptr; }

  PeerLink* link;
  std::string ended;
  std::deque<Slot> came;

 private:
  static PeerOptions options() {
    PeerOptions options;
    options.cookie_key = {3, 4};
    options.seed = 5;
    return options;
  }
  std::unique_ptr<Io> io_;
  ThreadMetrics metrics_{0};
  UdpBuffers buffers_;
  std::array<std::unique_ptr<UdpPort>, 1> ports_;
  UdpBatch batch_;
  PeerTable table_;
};

LineOpenSlot part_of_open(uint16_t connection, const std::string& name, uint8_t index = 0, uint8_t flags = kLineLast) {
  LineOpenSlot slot{};
  slot.type = kLineOpenType;
  slot.connection = connection;
  slot.index = index;
  slot.flags = flags;
  slot.length = static_cast<uint8_t>(name.size());
  std::memcpy(slot.name, name.data(), std::min(name.size(), sizeof slot.name));
  return slot;
}

class RemoteLinesHostile : public RemoteLinesTest {
 protected:
  // How the link ends that sends it; "" after half a second.
  std::string end_after(const std::function<void(RawEngine&)>& send) {
    RawEngine raw(there.address());
    send(raw);
    for (int64_t end = monotonic_ns() + 500'000'000; raw.ended.empty() && monotonic_ns() < end;) {
      there.pump();
      raw.pump();
    }
    return raw.ended;
  }
};

TEST_F(RemoteLinesHostile, ALinkThatSendsWhatNoEngineSendsEnds) {
  LineHost server(there, 1, {"a"});
  const std::string ended = "the other engine ended the link";
  LineOpenedSlot opened{};
  opened.type = kLineOpenedType;
  Slot unknown{};
  unknown.type = 77;
  LineSlot malformed = request(0, 1);
  malformed.length = 49;
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(unknown); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(opened); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(request(3, 1)); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(line_close(3)); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(part_of_open(1, "")); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(part_of_open(1, std::string(49, 'x'))); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(part_of_open(1, "short", 0, 0)); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(part_of_open(1, "x", 1)); }), ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) {
              for (uint8_t i = 0; i < 6; ++i) raw.push(part_of_open(1, std::string(48, 'x'), i, 0));
            }),
            ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) {
              raw.push(part_of_open(1, std::string(48, 'x'), 0, 0));
              raw.push(request(0, 1));
            }),
            ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) {
              raw.push(part_of_open(1, "a"));
              raw.push(malformed);
            }),
            ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) {
              raw.push(part_of_open(1, "a"));
              raw.push(response(request(0, 1)));  // a client answers nothing
            }),
            ended);
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(part_of_open(1, "a")); }), "");
  EXPECT_FALSE(server.failed());
  EXPECT_TRUE(pump_until([&] {
    while (auto line = server.pop()) server.close(line->connection);
    return there.dispatcher.line_connections() == 0;
  }));
}

TEST_F(RemoteLinesHostile, ALinkThatAnswersForAConnectionThatWasNotAskedForEnds) {
  LineHost server(there, 1, {"a"});
  const HostEvents::Opened opened = open(client, "a");
  ASSERT_EQ(opened.code, ControlCode::kNone);
  LineOpenedSlot again{};
  again.type = kLineOpenedType;
  EXPECT_EQ(end_after([&](RawEngine& raw) { raw.push(again); }), "the other engine ended the link");
  client.push(request(opened.connection, 7));  // others go on
  EXPECT_EQ(pop(server).call, 7u);
}

}  // namespace
}  // namespace drover::engine
