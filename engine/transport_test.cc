// The transport over real sockets: listening on several engine threads, limits, and the graceful end.
#include "engine/transport.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <thread>

#include "engine/echo_sink.h"
#include "engine/socket_address.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

struct Thread {
  explicit Thread(uint32_t index, TransportShared& shared, const TransportOptions& options)
      : metrics(index), loop({0, -1, "t"}), transport(loop, metrics, options, shared), sink(transport, metrics) {
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
  explicit Engine(uint32_t threads, TransportOptions options = {}) {
    std::vector<EngineThreadRef> refs;
    for (uint32_t i = 0; i < threads; ++i) {
      all.push_back(std::make_unique<Thread>(i, shared, options));
      refs.push_back({&all.back()->loop, &all.back()->transport});
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
  TransportShared shared;
  std::vector<std::unique_ptr<Thread>> all;
  std::unique_ptr<Listeners> listeners;
};

UniqueFd connect_to(const std::string& address) {
  ParsedAddress parsed = parse_listen_address(address);
  if (!parsed.error.empty()) return UniqueFd();
  const SocketAddress& to = parsed.candidates.front();
  UniqueFd fd(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.size) != 0) return UniqueFd();
  timeval timeout{5, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  return fd;
}

// What the server says first: its SETTINGS; empty if it closed.
std::string hello(const UniqueFd& fd) {
  char bytes[200];
  ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, 0);
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

bool eventually(const std::function<bool()>& what) {
  for (int i = 0; i < 500; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST(Listeners, AllThreadsShareThePortThatTheKernelPicked) {
  Engine engine(3);
  Listening first = engine.listeners->listen("127.0.0.1:0", 1);
  ASSERT_EQ(first.error, "");
  EXPECT_NE(first.port, 0);
  EXPECT_EQ(engine.listeners->listen("127.0.0.1:0", 1).port, first.port) << "the same id is the same listener";
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(connect_to("127.0.0.1:" + std::to_string(first.port)));
    ASSERT_TRUE(clients.back());
  }
  for (auto& client : clients) EXPECT_NE(hello(client), "");
  for (auto& thread : engine.all) EXPECT_GT(thread->metrics.connections_accepted->value(), 0u);
  EXPECT_EQ(engine.accepted(), 60u);
}

TEST(Listeners, TheWildcardTakesIpv4AndIpv6) {
  Engine engine(1);
  Listening listening = engine.listeners->listen("0.0.0.0:0", 1);
  ASSERT_EQ(listening.error, "");
  EXPECT_NE(hello(connect_to("127.0.0.1:" + std::to_string(listening.port))), "");
  UniqueFd six = connect_to("[::1]:" + std::to_string(listening.port));
  if (six) {
    EXPECT_NE(hello(six), "");
  }
}

TEST(Listeners, AnAddressThatSomebodyListensOnIsAnError) {
  Engine one(2), other(2);
  Listening listening = one.listeners->listen("127.0.0.1:0", 1);
  ASSERT_EQ(listening.error, "");
  Listening second = other.listeners->listen("127.0.0.1:" + std::to_string(listening.port), 1);
  EXPECT_THAT(second.error, HasSubstr("Address already in use"));
  one.listeners->close(1);
  EXPECT_TRUE(eventually(
      [&] { return other.listeners->listen("127.0.0.1:" + std::to_string(listening.port), 1).error.empty(); }));
}

TEST(Listeners, WrongAddressesAreRefusedWithAReason) {
  Engine engine(1);
  for (const char* bad : {"", "nonsense", "127.0.0.1", "127.0.0.1:99999", "[::1", "::1:80", "unix:", "1.2.3.4:x"}) {
    EXPECT_NE(engine.listeners->listen(bad, 9).error, "") << bad;
  }
  EXPECT_THAT(engine.listeners->listen("192.0.2.1:0", 9).error, HasSubstr("bind"));
}

TEST(Listeners, UnixSocketsWorkAndAreRemoved) {
  std::string path = testing::TempDir() + "/drover_transport_" + std::to_string(getpid());
  Engine engine(2);
  ASSERT_EQ(engine.listeners->listen("unix:" + path, 1).error, "");
  EXPECT_NE(hello(connect_to("unix:" + path)), "");
  engine.listeners->close(1);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(Transport, ConnectionsOverTheLimitAreClosedAtOnce) {
  TransportOptions options;
  options.max_connections = 2;
  Engine engine(1, options);
  std::string address = "127.0.0.1:" + std::to_string(engine.listeners->listen("127.0.0.1:0", 1).port);
  UniqueFd first = connect_to(address), second = connect_to(address);
  EXPECT_NE(hello(first), "");
  EXPECT_NE(hello(second), "");
  EXPECT_EQ(hello(connect_to(address)), "");
  first.reset();
  EXPECT_TRUE(eventually([&] { return !hello(connect_to(address)).empty(); }));
}

TEST(Transport, DrainingClosesListenersAndIdleConnections) {
  std::atomic<bool> drained{false};
  Engine engine(1);
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

TEST(SocketAddress, NamesAreNotResolvedButForLocalhost) {
  ParsedAddress local = parse_listen_address("localhost:80");
  ASSERT_EQ(local.candidates.size(), 2u);
  EXPECT_EQ(describe_peer(local.candidates[0].storage, local.candidates[0].size), "ipv4:127.0.0.1:80");
  EXPECT_EQ(describe_peer(local.candidates[1].storage, local.candidates[1].size), "ipv6:%5B::1%5D:80");
  for (const char* name : {"example.invalid:80", "dns:///example.invalid:80", "127.1:80"}) {
    EXPECT_THAT(parse_listen_address(name).error, HasSubstr("names are not resolved here")) << name;
  }
}

TEST(SocketAddress, PeersAreSpelledAsGrpcDoes) {
  ParsedAddress four = parse_listen_address("127.0.0.1:80");
  EXPECT_EQ(describe_peer(four.candidates[0].storage, four.candidates[0].size), "ipv4:127.0.0.1:80");
  ParsedAddress six = parse_listen_address("[::1]:80");
  EXPECT_EQ(describe_peer(six.candidates[0].storage, six.candidates[0].size), "ipv6:%5B::1%5D:80");
  ParsedAddress mapped = parse_listen_address("[::ffff:10.0.0.1]:80");
  EXPECT_EQ(describe_peer(mapped.candidates[0].storage, mapped.candidates[0].size), "ipv4:10.0.0.1:80");
}

}  // namespace
}  // namespace drover::engine
