// The transport over real sockets: the limit of connections, and the graceful end.
#include "engine/grpc/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/grpc/echo_sink.h"
#include "engine/net/listeners.h"
#include "engine/net/net_testing.h"

namespace drover::engine {
namespace {

using testing::HasSubstr;

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
    std::vector<Listeners::Thread> refs;
    for (uint32_t i = 0; i < threads; ++i) {
      all.push_back(std::make_unique<Thread>(i, shared, options));
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
  TransportShared shared;
  std::vector<std::unique_ptr<Thread>> all;
  std::unique_ptr<Listeners> listeners;
};

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

}  // namespace
}  // namespace drover::engine
