// Clients and servers on threads of their own, over rings in memory: what the two ends of a port, and the threads of
// one server, do to one another. Also run in a build with DROVER_SANITIZE=thread (ctest -L tsan).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "host/lines/ring_port.h"
#include "host/lines/rpc_client.h"
#include "host/lines/rpc_server.h"

namespace drover::lines {
namespace {

constexpr uint16_t kReverse = 7;
constexpr uint32_t kSlots = 64;
constexpr uint64_t kCalls = 3'000;

// The memory of a ring, in cache lines that no other one has.
struct Memory {
  std::vector<Slot> slots{kSlots};
  std::unique_ptr<ConsumerPosition> position{new ConsumerPosition{}};
  RingProducer producer() { return {slots.data(), kSlots, position.get()}; }
  RingConsumer consumer() { return {slots.data(), kSlots, position.get()}; }
};

// Of one line, and every seventh of several.
std::string message_of(uint64_t tag) {
  std::string text = "call " + std::to_string(tag) + " ";
  if (tag % 7 == 0) text.resize(60 + tag % 500, static_cast<char>('a' + tag % 26));
  return text;
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// Lets the other end run where there are more threads than CPUs.
void rest(RingPort& port) {
  port.idle();
  std::this_thread::yield();
}

// One client and one thread of the server, which other pairs have too.
class Pair {
 public:
  explicit Pair(const RpcThreadedServer& server)
      : server_([this, &server] { serve(server); }), client_([this] { call(); }) {}
  ~Pair() {
    client_.join();
    over_.store(true, std::memory_order_relaxed);
    server_.join();
  }

 private:
  void serve(const RpcThreadedServer& server) {
    RingPort port(back_.producer(), there_.consumer());
    BasicServerThread<RingPort> thread(&server, &port);
    while (!over_.load(std::memory_order_relaxed)) {
      if (thread.serve(16) == 0) rest(port);
    }
    EXPECT_EQ(thread.counters().calls, kCalls);
    EXPECT_EQ(thread.counters().malformed + thread.counters().incomplete + thread.counters().too_many, 0u);
  }
  void call() {
    RingPort port(there_.producer(), back_.consumer());
    BasicRpcClient<RingPort> client(&port, 3, {.window = 16});
    uint64_t begun = 0, ended = 0;
    while (ended < kCalls) {
      for (; begun < kCalls; ++begun) {
        const std::string request = message_of(begun);
        if (client.begin(kReverse, std::as_bytes(std::span(request)), begun) != BeginResult::kOk) break;
      }
      client.flush();
      const uint32_t came = client.poll(16, [&](const Completion& done) {
        const std::string request = message_of(done.tag);
        EXPECT_EQ(done.status, kStatusOk);
        EXPECT_EQ(text_of(done.response), std::string(request.rbegin(), request.rend()));
      });
      ended += came;
      if (came == 0) rest(port);
    }
    EXPECT_EQ(client.counters().unknown + client.counters().malformed + client.counters().incomplete, 0u);
  }

  Memory there_, back_;
  std::atomic<bool> over_{false};
  std::thread server_, client_;  // last: they use the others
};

TEST(LinesThreads, EachClientGetsTheAnswersToItsCalls) {
  RpcThreadedServer server;
  std::atomic<uint64_t> handled{0};
  server.handle(kReverse, [&](const Request& request, Response& response) {
    handled.fetch_add(1, std::memory_order_relaxed);
    std::byte* to = response.reserve(request.arguments.size());
    std::reverse_copy(request.arguments.begin(), request.arguments.end(), to);
    return kStatusOk;
  });
  {
    Pair first(server), second(server);
  }
  EXPECT_EQ(handled.load(), 2 * kCalls);
}

}  // namespace
}  // namespace drover::lines
