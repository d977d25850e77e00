// RPC lines between hosts of two droverds, over UDP on the loopback: directly, through a bad network and through a slow
// one, and what happens when one of the engines ends, hangs or starts anew.
#include <fcntl.h>
#include <sched.h>

#include "tests/lines/lines_testing.h"
#include "tests/lines/udp_proxy_testing.h"

namespace drover::lines {
namespace {

std::string at(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

std::vector<std::string> serving(uint16_t port, std::vector<std::string> more = {}) {
  more.push_back("--lines.listen=" + at(port));
  return more;
}
std::vector<std::string> calling(uint16_t port, std::vector<std::string> more = {}) {
  more.push_back("--lines.peers=echo=" + at(port));
  return more;
}

// Calls with a window; each answer is compared with its call. Returns how many ended otherwise than by their answer.
uint64_t run_calls(ClientHost& client, uint64_t calls, uint64_t seed, size_t most_bytes) {
  uint64_t begun = 0, ended = 0, wrong = 0;
  auto text = [&](uint64_t tag) {
    std::string head = std::to_string(seed) + ":" + std::to_string(tag) + ":";
    return head + std::string(tag * 7919 % most_bytes, static_cast<char>('a' + tag % 26));
  };
  auto taken = [&](const Completion& done) {
    ++ended;
    if (done.status != kStatusOk || text_of(done.response) != text(done.tag)) ++wrong;
  };
  const int64_t end = monotonic_ns() + 120 * kSecond;
  while (ended < calls && monotonic_ns() < end) {
    while (begun < calls && client.client->begin(kEcho, bytes_of(text(begun)), begun) == BeginResult::kOk) ++begun;
    client.client->flush();
    if (client.client->poll(64, taken) == 0) client.engine->port(0).idle();
  }
  return wrong + (calls - ended);
}

class TwoEngines : public ::testing::TestWithParam<const char*> {};

TEST_P(TwoEngines, CallsOfAllSizesComeBackAsTheyWere) {
  const uint16_t port = free_udp_port();
  const std::string io = std::string("--engine.io=") + GetParam();
  EngineProcess there(serving(port, {io})), here(calling(port, {io}));
  ServerHost server(there, "echo");
  ClientHost client(here, "echo");
  for (size_t size : {size_t{0}, size_t{1}, size_t{48}, size_t{49}, size_t{4'800}, kMaxMessageBytes}) {
    std::string text(size, 0);
    std::iota(text.begin(), text.end(), static_cast<char>(size));
    uint16_t status = 99;
    EXPECT_EQ(client.call(kEcho, text, &status), text) << size;
    EXPECT_EQ(status, kStatusOk);
  }
  uint16_t status = 99;
  client.call(kRefuse, "", &status);
  EXPECT_EQ(status, kStatusInternal);
  EXPECT_EQ(run_calls(client, 20'000, 1, 200), 0u);
  EXPECT_EQ(client.client->counters().unknown + client.client->counters().malformed, 0u);
}
INSTANTIATE_TEST_SUITE_P(Io, TwoEngines, ::testing::Values("epoll", "uring"),
                         [](const auto& each) { return std::string(each.param); });

// Several threads of both engines, several clients, messages of many datagrams.
TEST(TwoEnginesInBadWeather, EveryCallIsAnsweredOnceAndServedOnce) {
  const uint16_t port = free_udp_port();
  UdpProxy network(port, {.loss = 5, .repeat = 5, .hold = 5});
  EngineProcess there(serving(port, {"--engine.threads=2"}));
  EngineProcess here(calling(network.port(), {"--engine.threads=2"}));
  ServerHost server(there, "echo", 2, 4096);
  constexpr uint64_t kCalls = 2'000;
  auto run = [&](uint64_t seed) {
    ClientHost client(here, "echo", {.window = 16}, 4096);
    EXPECT_EQ(run_calls(client, kCalls, seed, 3'000), 0u);
    EXPECT_EQ(client.client->counters().unknown + client.client->counters().malformed, 0u);
  };
  std::thread other([&] { run(1); });
  run(2);
  other.join();
  EXPECT_EQ(server.stop(), 2 * kCalls);
}

// An engine with lines.allow takes links from there alone, also where an IPv6 socket takes IPv4.
TEST(TwoEnginesAllow, AnEngineFromElsewhereOpensNoConnection) {
  const uint16_t port = free_udp_port();
  EngineProcess there(serving(port, {"--lines.allow=127.0.0.2,10.0.0.0/8,::1"}));
  ServerHost server(there, "echo");
  EngineProcess here(calling(port, {"--lines.peer_timeout_ms=300"}));
  LinesEngineOptions options = here.options();
  options.calls = {"echo"};
  auto engine = attach(options);
  std::string error;
  EXPECT_FALSE(engine->open("echo", 0, 0, &error));
  EXPECT_EQ(error, "cannot open a connection to echo: no engine answers there");
}

TEST(TwoEnginesAllow, AnEngineOfTheListIsServed) {
  for (const std::string where : {"127.0.0.1", "*"}) {
    const uint16_t port = free_udp_port();
    EngineProcess there(
        {"--lines.listen=" + where + ":" + std::to_string(port), "--lines.allow=10.0.0.0/8,127.0.0.0/8"});
    EngineProcess here(calling(port));
    ServerHost server(there, "echo");
    ClientHost client(here, "echo");
    uint16_t status = 99;
    EXPECT_EQ(client.call(kEcho, "allowed", &status), "allowed") << where;
  }
}

TEST(TwoEnginesAllow, AListThatIsNoneIsAnErrorAtStart) {
  const std::string command = std::string(DROVER_DROVERD) +
                              " --engine.control_socket=unix:@allow-test --lines.listen=127.0.0.1:4799"
                              " --lines.allow=10.0.0.1/8 2>&1";
  FILE* output = ::popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  char text[256] = {};
  EXPECT_NE(std::fgets(text, sizeof text, output), nullptr);
  EXPECT_EQ(WEXITSTATUS(::pclose(output)), 2);
  EXPECT_STREQ(text, "droverd: lines.allow: '10.0.0.1/8' has bits behind its prefix: an address, and not a network\n");
}

// All that went over the network, again, while the link lives, after its connections have numbers of others, and after
// the server's engine has started anew.
TEST(TwoEnginesAndAReplay, ARecordedRequestNeverRunsAgain) {
  const uint16_t port = free_udp_port();
  UdpProxy network(port, {});
  auto there = std::make_unique<EngineProcess>(serving(port));
  EngineProcess here(calling(network.port()));
  auto replay = [&](const std::vector<UdpProxy::Datagram>& recorded) {
    for (const UdpProxy::Datagram& each : recorded) network.replay(each);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  {
    ServerHost server(*there, "echo");
    auto client = std::make_unique<ClientHost>(here, "echo");
    EXPECT_EQ(run_calls(*client, 500, 1, 100), 0u);
    const auto recorded = network.recorded();
    ASSERT_GT(recorded.size(), 10u);
    replay(recorded);
    client = std::make_unique<ClientHost>(here, "echo");  // with the number of the first
    replay(recorded);
    EXPECT_EQ(run_calls(*client, 500, 2, 100), 0u);
    EXPECT_EQ(server.stop(), 1000u);
  }
  there.reset();
  there = std::make_unique<EngineProcess>(serving(port));
  ServerHost server(*there, "echo");
  ClientHost client(here, "echo");
  replay(network.recorded());
  EXPECT_EQ(run_calls(client, 500, 3, 100), 0u);
  EXPECT_EQ(server.stop(), 500u);
}

// ---- a slow network

// This thread, and the processes and threads that it starts, in a network namespace whose loopback has a limited rate
// and a short queue.
class SlowLoopback {
 public:
  SlowLoopback(const char* rate, const char* queue) : before_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (!before_ || ::unshare(CLONE_NEWNET) != 0) return;
    const std::string limit = std::string("ip link set lo up && tc qdisc add dev lo root tbf rate ") + rate +
                              " burst 64kb latency " + queue + " 2>/dev/null";
    ready_ = ::system(limit.c_str()) == 0;
  }
  ~SlowLoopback() {
    if (before_) ::setns(before_.get(), CLONE_NEWNET);
  }
  bool ready() const { return ready_; }

 private:
  UniqueFd before_;
  bool ready_ = false;
};

TEST(TwoEnginesOnASlowNetwork, LinksShareItAndNoCallIsLost) {
  SlowLoopback slow("40mbit", "10ms");  // the queue holds 50 KB, less than a link's first window
  if (!slow.ready()) GTEST_SKIP() << "needs CAP_NET_ADMIN and the kernel's tbf";
  const uint16_t port = free_udp_port();
  EngineProcess there(serving(port)), first(calling(port)), second(calling(port));
  ServerHost server(there, "echo", 1, 4096);
  std::atomic<bool> stop{false};
  auto run = [&](const EngineProcess& engine, uint64_t* answered) {
    ClientHost client(engine, "echo", {.window = 128}, 4096);
    const std::string text(400, 't');
    uint64_t begun = 0, failed = 0;
    auto taken = [&](const Completion& done) {
      ++*answered;
      failed += done.status != kStatusOk || text_of(done.response) != text;
    };
    for (const int64_t end = monotonic_ns() + 60 * kSecond; (!stop || *answered < begun) && monotonic_ns() < end;) {
      while (!stop && client.client->begin(kEcho, bytes_of(text), 0) == BeginResult::kOk) ++begun;
      client.client->flush();
      if (client.client->poll(64, taken) == 0) client.engine->port(0).idle();
    }
    EXPECT_EQ(failed, 0u);
    EXPECT_EQ(*answered, begun);
  };
  uint64_t answered[2] = {};
  std::thread other([&] { run(first, &answered[0]); });
  std::thread timer([&] {
    std::this_thread::sleep_for(std::chrono::seconds(6));
    stop = true;
  });
  run(second, &answered[1]);
  other.join();
  timer.join();
  const uint64_t both = answered[0] + answered[1];
  EXPECT_EQ(server.stop(), both);
  // 9 lines each way are at least 1,152 bytes of the loopback's 5 MB a second.
  EXPECT_GT(both, 6 * 5'000'000 / 1'152 / 4);
  EXPECT_GT(answered[0], both / 6);
  EXPECT_GT(answered[1], both / 6);
}

// ---- ends

// Begins calls that the server does not answer; how they end.
std::vector<uint16_t> ends_of_calls(ClientHost& client, const std::function<void()>& event) {
  std::vector<uint16_t> ends;
  for (uint64_t tag = 0; tag < 10; ++tag) {
    EXPECT_EQ(client.client->begin(kEcho, bytes_of("x"), tag), BeginResult::kOk);
  }
  client.client->flush();
  event();
  EXPECT_TRUE(client.poll_until([&] { return ends.size() == 10; },
                                [&](const Completion& done) { ends.push_back(done.status); }));
  return ends;
}
const std::vector<uint16_t> kAllUnavailable(10, kStatusUnavailable);

std::string call_anew(ClientHost& client, const std::string& text) {
  std::string error;
  auto connection = client.engine->open("echo", 0, 10 * kSecond, &error);
  EXPECT_TRUE(connection) << error;
  if (!connection) return "";
  client.client.emplace(&client.engine->port(0), *connection);
  uint16_t status = 99;
  return client.call(kEcho, text, &status);
}

TEST(TwoEnginesEnd, CallsToAnEngineThatEndsInOrderEndAtOnce) {
  const uint16_t port = free_udp_port();
  auto there = std::make_unique<EngineProcess>(serving(port));
  EngineProcess here(calling(port, {"--lines.peer_timeout_ms=60000"}));
  auto server = std::make_unique<ServerHost>(*there, "echo");
  ClientHost client(here, "echo");
  server->pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ends_of_calls(client, [&] { there->end(SIGTERM); }), kAllUnavailable);
  EXPECT_TRUE(client.client->closed());
  EXPECT_FALSE(client.engine->gone());
}

TEST(TwoEnginesEnd, AnEngineThatWasKilledAndStartsAnewIsNoticedAtOnceAndServesAgain) {
  const uint16_t port = free_udp_port();
  auto there = std::make_unique<EngineProcess>(serving(port));
  EngineProcess here(calling(port, {"--lines.peer_timeout_ms=60000"}));
  auto server = std::make_unique<ServerHost>(*there, "echo");
  ClientHost client(here, "echo");
  server->pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ends_of_calls(client,
                          [&] {
                            there->end(SIGKILL);
                            there = std::make_unique<EngineProcess>(serving(port));
                          }),
            kAllUnavailable);
  server = std::make_unique<ServerHost>(*there, "echo");
  EXPECT_EQ(call_anew(client, "again"), "again");
}

TEST(TwoEnginesEnd, AnEngineThatHangsIsDeadAfterTheTimeOut) {
  const uint16_t port = free_udp_port();
  UdpProxy network(port, {});
  EngineProcess there(serving(port)), here(calling(network.port(), {"--lines.peer_timeout_ms=500"}));
  ServerHost server(there, "echo");
  ClientHost client(here, "echo");
  const int64_t before = monotonic_ns();
  network.cut(true);
  EXPECT_EQ(ends_of_calls(client, [] {}), kAllUnavailable);
  EXPECT_LT(monotonic_ns() - before, 8 * kSecond);
  network.cut(false);
  EXPECT_EQ(call_anew(client, "again"), "again");
}

TEST(TwoEnginesEnd, AnIdleConnectionOutlivesManyTimeOuts) {
  const uint16_t port = free_udp_port();
  EngineProcess there(serving(port, {"--lines.peer_timeout_ms=200"}));
  EngineProcess here(calling(port, {"--lines.peer_timeout_ms=200"}));
  ServerHost server(there, "echo");
  ClientHost client(here, "echo");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  uint16_t status = 99;
  EXPECT_EQ(client.call(kEcho, "still here", &status), "still here");
}

TEST(TwoEnginesEnd, AServersEngineOutlivesClientsEnginesThatAreKilled) {
  const uint16_t port = free_udp_port();
  EngineProcess there(serving(port));
  ServerHost server(there, "echo");
  for (int i = 0; i < 3; ++i) {
    EngineProcess here(calling(port));
    ClientHost client(here, "echo");
    uint16_t status = 99;
    EXPECT_EQ(client.call(kEcho, "one", &status), "one");
    here.end(SIGKILL);
    client.call(kEcho, "two", &status);
    EXPECT_EQ(status, kStatusUnavailable);
  }
  EXPECT_EQ(server.stop(), 3u);
}

TEST(TwoEnginesEnd, CallsToAHostThatDiesEndAndAnotherHostCanBeOpened) {
  const uint16_t port = free_udp_port();
  EngineProcess there(serving(port)), here(calling(port));
  ServerProcess dying(there, "echo");
  ClientHost client(here, "echo");
  uint16_t status = 99;
  EXPECT_EQ(client.call(kEcho, "before", &status), "before");
  client.call(kExit, "", &status);
  EXPECT_EQ(status, kStatusUnavailable);
  ServerHost next(there, "echo");
  EXPECT_EQ(call_anew(client, "after"), "after");
}

TEST(TwoEnginesEnd, WithNoEngineThereOrNoHostOpenSaysSo) {
  const uint16_t port = free_udp_port();
  EngineProcess here(calling(port, {"--lines.peer_timeout_ms=300"}));
  LinesEngineOptions options = here.options();
  options.calls = {"echo"};
  auto engine = attach(options);
  std::string error;
  EXPECT_FALSE(engine->open("echo", 0, 0, &error));
  EXPECT_EQ(error, "cannot open a connection to echo: no engine answers there");
  EngineProcess there(serving(port));
  EXPECT_FALSE(engine->open("echo", 0, 0, &error));
  EXPECT_EQ(error, "cannot open a connection to echo: no host of the other engine serves the name");
  EXPECT_FALSE(engine->open("other", 0, 0, &error));
  EXPECT_EQ(error, "cannot open a connection to other: no host serves other");
}

}  // namespace
}  // namespace drover::lines
