// The transport over real sockets: the limit of connections, and the graceful end.
#include "engine/grpc/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "engine/grpc/echo_sink.h"
#include "engine/net/listeners.h"
#include "engine/net/net_testing.h"
#include "engine/tls/tls_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

struct Thread {
  Thread(uint32_t index, IoKind io, TransportShared& shared, const TransportOptions& options)
      : metrics(index), loop({0, -1, "t", io}), transport(loop, metrics, options, shared), sink(transport, metrics) {
    transport.set_sink(&sink);
  }
  void start() {
    thread = std::thread([this] { loop.run(nullptr, &transport, &metrics); });
  }
  ThreadMetrics metrics;
  EventLoop loop;
  Transport transport;
  EchoSink sink;
  std::thread thread;
};

struct Engine {
  Engine(IoKind io, uint32_t threads, TransportOptions options = {}) {
    std::vector<Listeners::Thread> refs;
    for (uint32_t i = 0; i < threads; ++i) {
      all.push_back(std::make_unique<Thread>(i, io, shared, options));
      refs.push_back({&all.back()->loop, &all.back()->transport.acceptor()});
    }
    listeners = std::make_unique<Listeners>(refs);
    for (auto& one : all) one->start();
  }
  ~Engine() {
    for (auto& one : all) one->loop.stop();
    for (auto& one : all) one->thread.join();
    for (auto& one : all) one->transport.close_all();
  }
  uint64_t accepted() const {
    uint64_t sum = 0;
    for (auto& one : all) sum += one->metrics.connections_accepted->value();
    return sum;
  }
  // Of the first thread.
  uint64_t postponed() const {
    uint64_t found = 0;
    all[0]->metrics.visit([](const MethodMetrics&) {},
                          [&](const ThreadMetrics::Series& series) {
                            if (series.name == "drover_work_postponed_total") found = series.counter->value();
                          });
    return found;
  }
  TransportShared shared;
  std::vector<std::unique_ptr<Thread>> all;
  std::unique_ptr<Listeners> listeners;
};

class TransportTest : public testing::TestWithParam<IoKind> {};
// Where there is no io_uring, its tests run on epoll as well.
INSTANTIATE_TEST_SUITE_P(Kinds, TransportTest, testing::Values(IoKind::kEpoll, IoKind::kUring),
                         [](const auto& p) { return p.param == IoKind::kEpoll ? "epoll" : "uring"; });

TEST_P(TransportTest, ConnectionsOverTheLimitAreClosedAtOnce) {
  TransportOptions options;
  options.max_connections = 2;
  Engine engine(GetParam(), 1, options);
  std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  UniqueFd first = connect_to(address), second = connect_to(address);
  EXPECT_NE(hello(first), "");
  EXPECT_NE(hello(second), "");
  EXPECT_EQ(hello(connect_to(address)), "");
  first.reset();
  EXPECT_TRUE(eventually([&] { return !hello(connect_to(address)).empty(); }));
}

TEST_P(TransportTest, OneAddressMayNotTakeAllConnections) {
  TransportOptions options;
  options.max_connections_per_address = 2;
  Engine engine(GetParam(), 2, options);
  std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  UniqueFd first = connect_to(address), second = connect_to(address);
  EXPECT_NE(hello(first), "");
  EXPECT_NE(hello(second), "");
  EXPECT_EQ(hello(connect_to(address)), "");
  UniqueFd other = connect_to(address, "127.0.0.2");
  EXPECT_NE(hello(other), "");
}

TEST_P(TransportTest, IdleConnectionsMakeRoomForNewOnes) {
  TransportOptions options;
  options.max_connections = 3;
  Engine engine(GetParam(), 1, options);
  std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  UniqueFd idle[3];
  for (UniqueFd& one : idle) EXPECT_NE(hello(one = connect_to(address)), "");
  EXPECT_TRUE(eventually([&] { return !hello(connect_to(address)).empty(); }));
}

// What a thread's sockets are, asked on its own thread.
template <typename Ask>
auto on_thread(Thread& thread, Ask ask) {
  std::promise<decltype(ask(thread.transport.sockets()))> answer;
  thread.loop.post([&] { answer.set_value(ask(thread.transport.sockets())); });
  return answer.get_future().get();
}

TEST_P(TransportTest, ItsSocketsAreListedByListenerAndNumberUntilTheyClose) {
  Engine engine(GetParam(), 1);
  std::string addresses[2];
  for (uint32_t i = 0; i < 2; ++i) {
    addresses[i] = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 7 + i).port);
  }
  UniqueFd sockets[4];
  for (uint32_t i = 0; i < 4; ++i) EXPECT_NE(hello(sockets[i] = connect_to(addresses[i % 2])), "");
  auto list = [&](std::vector<uint32_t> listeners, uint64_t from, size_t most) {
    return on_thread(*engine.all[0], [=](const SocketView& view) {
      std::vector<SocketName> names;
      view.list(listeners, from, most, &names);
      std::vector<uint64_t> numbers;
      for (const SocketName& name : names) numbers.push_back(name.number);
      return numbers;
    });
  };
  auto find = [&](uint32_t listener, uint64_t number) {
    return on_thread(*engine.all[0], [=](const SocketView& view) {
      SocketFacts facts;
      return view.find(std::vector<uint32_t>{listener}, number, &facts) ? facts.local : "none";
    });
  };
  EXPECT_THAT(list({7}, 0, 10), testing::ElementsAre(1, 3));
  EXPECT_THAT(list({7, 8}, 0, 10), testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(list({8, 7}, 2, 2), testing::ElementsAre(2, 3));
  EXPECT_THAT(list({7, 8}, 5, 10), testing::IsEmpty());
  EXPECT_THAT(list({6, 9}, 0, 10), testing::IsEmpty());
  EXPECT_THAT(list({}, 0, 10), testing::IsEmpty());
  EXPECT_EQ(find(8, 2), "ipv4:" + addresses[1]);
  EXPECT_EQ(find(7, 2), "none") << "it is another listener's";
  EXPECT_EQ(on_thread(*engine.all[0], [](const SocketView& view) { return view.listener_address(7); }),
            "ipv4:" + addresses[0]);
  EXPECT_EQ(on_thread(*engine.all[0], [](const SocketView& view) { return view.listener_address(9); }), "");
  sockets[1].reset();
  EXPECT_TRUE(eventually([&] { return list({7, 8}, 0, 10) == std::vector<uint64_t>{1, 3, 4}; }));
  UniqueFd another = connect_to(addresses[0]);
  EXPECT_NE(hello(another), "");
  EXPECT_THAT(list({7, 8}, 4, 10), testing::ElementsAre(4, 5)) << "numbers are never used again";
}

TEST_P(TransportTest, AConnectionThatHoldsTooMuchIsCutOff) {
  TransportOptions options;
  options.ledger[Level::kConnection].memory = 40'000;
  Engine engine(GetParam(), 1, options);
  std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  UniqueFd greedy = connect_to(address), modest = connect_to(address);
  EXPECT_NE(hello(greedy), "");
  EXPECT_NE(hello(modest), "");
  std::string bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 24 + 9);
  auto call = [](uint8_t id, std::string_view path, size_t metadata) {
    std::string block("\x83\x86\x44", 3);  // POST, http, :path
    block.append(1, static_cast<char>(path.size())).append(path);
    block += std::string("\x41\x01h\x5f\x10", 5) + "application/grpc";
    for (; metadata > 0; --metadata)
      block += std::string("\0\1x\x64", 4) + std::string(100, static_cast<char>('0' + id));
    std::string out{
        0, static_cast<char>(block.size() >> 8), static_cast<char>(block.size()), 1, 4, 0, 0, 0, static_cast<char>(id)};
    return out + block;
  };
  std::string flood = bytes;
  for (uint8_t id = 1; id < 40; id += 2) flood += call(id, "/hold", 80);
  ASSERT_GT(::send(greedy.get(), flood.data(), flood.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(closes(greedy));
  ASSERT_GT(::send(modest.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  EXPECT_NE(hello(modest), "");
}

// Frames that take time and have no answer; the last one is a PING.
std::string flood_of_window_updates(size_t frames) {
  const std::string one("\0\0\4\10\0\0\0\0\0\0\0\0\1", 13), ping("\0\0\10\6\0\0\0\0\0drovers!", 17);
  std::string flood("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 24 + 9);
  for (; frames > 0; --frames) flood += one;
  return flood + ping;
}

struct Flood {
  Flood(const std::string& address, const std::string& bytes) : fd(connect_to(address, "127.0.0.2")) {
    sender = std::thread([this, &bytes] {
      sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    });
  }
  ~Flood() {
    if (sender.joinable()) sender.join();
  }
  // Until the answer to the PING.
  bool answered() {
    std::string all, some;
    while (all.find("drovers!") == std::string::npos && !(some = hello(fd)).empty()) all += some;
    return !some.empty();
  }
  UniqueFd fd;
  std::thread sender;
  bool sent = false;
};

TEST_P(TransportTest, AFloodThatFindsNoTimeIsPostponedAndNothingOfItIsLost) {
  TransportOptions options;
  options.control_frame_rate = 100'000'000;
  Engine engine(GetParam(), 1, options);
  const std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  const std::string bytes = flood_of_window_updates(400'000);
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 4; ++i) floods.push_back(std::make_unique<Flood>(address, bytes));
  EXPECT_NE(hello(connect_to(address)), "") << "others are served meanwhile";
  for (auto& flood : floods) {
    EXPECT_TRUE(flood->answered());
    flood->sender.join();
    EXPECT_TRUE(flood->sent);
  }
  EXPECT_EQ(engine.all[0]->metrics.received_bytes->value(), 4 * bytes.size());
  EXPECT_GT(engine.postponed(), 0u);
}

// The same under TLS.
struct SecureFlood {
  SecureFlood(const std::string& address, const std::string& bytes) : fd(connect_to(address, "127.0.0.2")) {
    while (!client.shake_hands()) {
      send(client.take());
      const std::string answer = hello(fd);
      if (answer.empty()) return;
      client.give(answer);
    }
    constexpr size_t kRecord = 4000;  // short: the bytes that come at once hold several
    for (size_t at = 0; at < bytes.size(); at += kRecord) client.write(bytes.substr(at, kRecord));
    sender = std::thread([this] { send(client.take()); });
  }
  ~SecureFlood() {
    if (sender.joinable()) sender.join();
  }
  void send(const std::string& bytes) const { (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  bool answered() {
    sender.join();
    std::string all, some;
    while (all.find("drovers!") == std::string::npos && !(some = hello(fd)).empty()) {
      client.give(some);
      all += client.read();
    }
    return !some.empty();
  }
  UniqueFd fd;
  tls::TestClient client;
  std::thread sender;
};

std::shared_ptr<const tls::Server> secure_server() {
  const tls::TestCertificate certificate("localhost");
  tls::Credentials credentials;
  credentials.pairs.push_back(certificate.pair());
  return std::make_shared<const tls::Server>(tls::context_of(std::move(credentials)));
}

TEST_P(TransportTest, AHandshakeThatDoesNotEndIsChargedToItsClient) {
  TransportOptions options;
  options.ledger[Level::kConnection].memory = 40'000;
  Engine engine(GetParam(), 1, options);
  const std::string address =
      "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1, secure_server()).port);
  tls::TestClient client;
  client.shake_hands();
  const std::string hello = client.take();
  for (size_t size : {size_t{1}, hello.size()}) {
    const UniqueFd fd = connect_to(address);
    ASSERT_GT(::send(fd.get(), hello.data(), size, MSG_NOSIGNAL), 0);
    EXPECT_TRUE(closes(fd)) << size << " bytes: a session is over the budget";
  }
}

TEST_P(TransportTest, AFloodUnderTlsIsPostponedAndNothingOfItIsLost) {
  const std::shared_ptr<const tls::Server> server = secure_server();
  TransportOptions options;
  options.control_frame_rate = 100'000'000;
  Engine engine(GetParam(), 1, options);
  const std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1, server).port);
  const std::string bytes = flood_of_window_updates(100'000);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<SecureFlood>> floods;
    for (int i = 0; i < 4; ++i) floods.push_back(std::make_unique<SecureFlood>(address, bytes));
    for (auto& flood : floods) ASSERT_TRUE(flood->answered());
  }
  EXPECT_EQ(engine.all[0]->metrics.received_bytes->value(), 20 * bytes.size());
  EXPECT_GT(engine.postponed(), 0u);
}

TEST_P(TransportTest, ConnectionsThatEndWhileTheirInputWaitsAreClosed) {
  TransportOptions options;
  options.control_frame_rate = 100'000'000;
  Engine engine(GetParam(), 1, options);
  const std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  const std::string bytes = flood_of_window_updates(200'000);
  // The clients may be gone before the engine has read enough to postpone it.
  for (int round = 0; round < 50 && engine.postponed() == 0; ++round) {
    std::vector<std::unique_ptr<Flood>> floods;
    for (int i = 0; i < 8; ++i) floods.push_back(std::make_unique<Flood>(address, bytes));
  }
  EXPECT_TRUE(eventually([&] { return engine.all[0]->metrics.connections->value() == 0; }));
  EXPECT_GT(engine.postponed(), 0u);
}

// An engine thread whose turns the test makes.
struct Turns {
  explicit Turns(IoKind io, const TransportOptions& options) : thread(0, io, shared, options) {}
  ~Turns() { thread.transport.close_all(); }
  // The other end of a new connection.
  UniqueFd connect(const std::string& address) {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    thread.transport.adopt_connection({UniqueFd(fds[0]), "ipv4:" + address + ":4711", 1, nullptr});
    return UniqueFd(fds[1]);
  }
  void turn() { thread.loop.turn(nullptr, &thread.transport, 0); }
  TransportShared shared;
  Thread thread;
};

// Connections whose bytes fill all receive buffers of the thread over and over: another address's bytes do not stand
// behind all of theirs.
TEST_P(TransportTest, BytesThatFindNoBufferWaitForAShareOfTimeAndNotForAllOthers) {
  TransportOptions options;
  options.control_frame_rate = 100'000'000;
  Turns engine(GetParam(), options);
  const std::string flood = flood_of_window_updates(7'000), ping = flood_of_window_updates(0);
  std::vector<UniqueFd> flooding;
  for (int i = 0; i < 400; ++i) flooding.push_back(engine.connect("127.0.0.2"));
  UniqueFd other = engine.connect("127.0.0.3");
  for (int i = 0; i < 3; ++i) engine.turn();
  for (const UniqueFd& fd : flooding) ASSERT_GT(::send(fd.get(), flood.data(), flood.size(), MSG_NOSIGNAL), 0);
  ASSERT_GT(::send(other.get(), ping.data(), ping.size(), MSG_NOSIGNAL), 0);
  std::string got;
  int turns = 0;
  for (; got.find("drovers!") == std::string::npos && turns < 1000; ++turns) {
    engine.turn();
    char bytes[200];
    const ssize_t n = ::recv(other.get(), bytes, sizeof bytes, 0);
    if (n > 0) got.append(bytes, static_cast<size_t>(n));
  }
  EXPECT_LE(turns, 8);
  for (turns = 0; engine.thread.transport.end_turn(monotonic_ns()) && turns < 10'000; ++turns) engine.turn();
  EXPECT_LT(turns, 10'000) << "a connection that has waited rests once its bytes are read";
  EXPECT_EQ(engine.thread.metrics.received_bytes->value(), 400 * flood.size() + ping.size());
}

TEST_P(TransportTest, ConnectionsOfAClosedListenerAreAskedToGoAndThoseOfOthersStay) {
  Engine engine(GetParam(), 1);
  const std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  const std::string other = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 2).port);
  UniqueFd client = connect_to(address), neighbour = connect_to(other);
  EXPECT_NE(hello(client), "");
  EXPECT_NE(hello(neighbour), "");
  engine.listeners->close(1);
  EXPECT_TRUE(eventually([&] { return engine.all[0]->metrics.connections->value() == 1; }));
  // The address is free again, and the new listener's connections stay.
  EXPECT_EQ(engine.listeners->listen(address, 3).error, "");
  UniqueFd again = connect_to(address);
  EXPECT_NE(hello(again), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // two sweeps
  EXPECT_EQ(engine.all[0]->metrics.connections->value(), 2);
}

TEST_P(TransportTest, DrainingClosesListenersAndIdleConnections) {
  std::atomic<bool> drained{false};
  Engine engine(GetParam(), 1);
  std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  UniqueFd client = connect_to(address);
  EXPECT_NE(hello(client), "");
  Thread& thread = *engine.all[0];
  thread.loop.post([&] { thread.transport.drain(); });
  EXPECT_TRUE(eventually([&] {
    thread.loop.post([&] { drained = thread.transport.drained(); });
    return drained.load();
  }));
  EXPECT_FALSE(connect_to(address));
}

}  // namespace
}  // namespace drover::engine
