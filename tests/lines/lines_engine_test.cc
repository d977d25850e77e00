// Clients and servers of RPC lines on a real droverd, as threads of this process and as processes of their own.
#include "host/lines/engine/lines_engine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace drover::lines {
namespace {

constexpr uint16_t kEcho = 1, kReverse = 2, kRefuse = 3, kExit = 4;
constexpr int64_t kSecond = 1'000'000'000;

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
  server.handle(kRefuse, [](const Request&, Response&) { return kStatusInternal; });
  server.handle(kExit, [](const Request&, Response&) -> uint16_t { ::_exit(0); });
  return server;
}

// droverd as a process.
class EngineProcess {
 public:
  explicit EngineProcess(std::vector<std::string> flags = {}) {
    static int count = 0;
    address_ = "unix:@lines-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    flags.insert(flags.begin(), {DROVER_DROVERD, "--engine.control_socket=" + address_, "--log.level=error"});
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, DROVER_DROVERD, nullptr, nullptr, arguments.data(), environ), 0);
  }
  ~EngineProcess() { end(SIGTERM); }
  void end(int signal) {
    if (pid_ == 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  LinesEngineOptions options() const {
    LinesEngineOptions options;
    options.host.emplace();
    options.host->engine = address_;
    return options;
  }

 private:
  std::string address_;
  pid_t pid_ = 0;
};

std::unique_ptr<LinesEngine> attach(const LinesEngineOptions& options) {
  std::string error;
  auto engine = LinesEngine::start(options, &error);
  EXPECT_NE(engine, nullptr) << error;
  return engine;
}

// A server with a thread for each lane, in this process.
class ServerHost {
 public:
  ServerHost(const EngineProcess& process, const std::string& name, uint32_t lanes = 1, uint32_t ring_slots = 512) {
    LinesEngineOptions options = process.options();
    options.serves = {name};
    options.lanes = lanes;
    options.ring_slots = ring_slots;
    engine_ = attach(options);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      threads_.emplace_back([this, lane] {
        ServerThread thread(&server_, &engine_->port(lane));
        while (!stop_ && !engine_->gone()) {
          if (pause_ || thread.serve(64) == 0) engine_->port(lane).idle();
        }
        calls_ += thread.counters().calls;
      });
    }
  }
  ~ServerHost() { stop(); }
  // Calls that were served.
  uint64_t stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    engine_.reset();
    return calls_;
  }
  void pause(bool on) { pause_ = on; }
  LinesEngine& engine() { return *engine_; }

 private:
  const RpcThreadedServer server_ = test_server();
  std::unique_ptr<LinesEngine> engine_;
  std::atomic<bool> stop_{false}, pause_{false};
  std::atomic<uint64_t> calls_{0};
  std::vector<std::thread> threads_;
};

// A client's host with one lane and one connection.
class ClientHost {
 public:
  ClientHost(const EngineProcess& process, const std::string& name, const RpcClientOptions& client_options = {},
             uint32_t ring_slots = 512) {
    LinesEngineOptions options = process.options();
    options.calls = {name};
    options.ring_slots = ring_slots;
    engine = attach(options);
    std::string error;
    auto connection = engine->open(name, 0, 10 * kSecond, &error);
    EXPECT_TRUE(connection) << error;
    client.emplace(&engine->port(0), connection.value_or(0), client_options);
  }
  std::string call(uint16_t function, const std::string& text, uint16_t* status) {
    std::string answer(kMaxMessageBytes, 0);
    size_t size = 0;
    *status = client->call(function, bytes_of(text), std::as_writable_bytes(std::span(answer)), &size);
    answer.resize(size);
    return answer;
  }
  // Polls until `done`; false after ten seconds.
  bool poll_until(const std::function<bool()>& done, const std::function<void(const Completion&)>& taken) {
    for (int64_t end = monotonic_ns() + 10 * kSecond; !done();) {
      if (monotonic_ns() > end) return false;
      if (client->poll(64, taken) + client->expire(taken) == 0) engine->port(0).idle();
    }
    return true;
  }

  std::unique_ptr<LinesEngine> engine;
  std::optional<RpcClient> client;
};

TEST(LinesEngine, CallsOfAllSizesComeBackAsTheyWere) {
  EngineProcess process;
  ServerHost server(process, "echo");
  ClientHost client(process, "echo");
  for (size_t size : {size_t{0}, size_t{1}, size_t{48}, size_t{49}, size_t{4'800}, kMaxMessageBytes}) {
    std::string text(size, 0);
    std::iota(text.begin(), text.end(), static_cast<char>(size));
    uint16_t status = 99;
    EXPECT_EQ(client.call(kEcho, text, &status), text) << size;
    EXPECT_EQ(status, kStatusOk);
    std::string reversed = client.call(kReverse, text, &status);
    EXPECT_TRUE(std::equal(text.rbegin(), text.rend(), reversed.begin(), reversed.end())) << size;
  }
  uint16_t status = 99;
  client.call(kRefuse, "", &status);
  EXPECT_EQ(status, kStatusInternal);
  client.call(77, "", &status);
  EXPECT_EQ(status, kStatusUnimplemented);
}

// Windows of calls on several clients and servers' lanes, on several engine threads: every answer is its call's.
TEST(LinesEngine, EachOfManyCallsGetsItsOwnAnswer) {
  EngineProcess process({"--engine.threads=2"});
  ServerHost server(process, "echo", 2);
  constexpr uint64_t kCalls = 20'000;
  auto run = [&](uint64_t seed) {
    ClientHost client(process, "echo");
    uint64_t begun = 0, ended = 0, wrong = 0;
    auto text = [&](uint64_t tag) {
      return std::to_string(seed) + ":" + std::to_string(tag) + std::string(tag % 70, 'x');
    };
    auto taken = [&](const Completion& done) {
      ++ended;
      if (done.status != kStatusOk || text_of(done.response) != text(done.tag)) ++wrong;
    };
    while (ended < kCalls) {
      while (begun < kCalls && client.client->begin(kEcho, bytes_of(text(begun)), begun) == BeginResult::kOk) ++begun;
      client.client->flush();
      if (client.client->poll(64, taken) == 0) client.engine->port(0).idle();
      ASSERT_FALSE(client.engine->gone());
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(client.client->counters().unknown + client.client->counters().malformed, 0u);
  };
  std::thread other([&] { run(1); });
  run(2);
  other.join();
  EXPECT_EQ(server.stop(), 2 * kCalls);
}

TEST(LinesEngine, AnEngineThatAProcessStartedIsFoundByTheNameThatItServes) {
  char directory[] = "/tmp/lines-test-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  ::setenv("XDG_RUNTIME_DIR", directory, 1);
  LinesEngineOptions options;
  options.host.emplace();
  options.host->droverd = DROVER_DROVERD;
  options.serves = {"echo"};
  auto server_engine = attach(options);
  options.serves = {};
  options.calls = {"echo"};
  auto client_engine = attach(options);
  ASSERT_TRUE(server_engine && client_engine);
  const RpcThreadedServer server = test_server();
  ServerThread thread(&server, &server_engine->port(0));
  std::string error;
  auto connection = client_engine->open("echo", 0, 0, &error);
  ASSERT_TRUE(connection) << error;
  RpcClient client(&client_engine->port(0), *connection);
  ASSERT_EQ(client.begin(kEcho, bytes_of("found"), 1), BeginResult::kOk);
  client.flush();
  std::string answer;
  for (int i = 0; i < 1000 && answer.empty(); ++i) {
    if (thread.serve(1) == 0) server_engine->port(0).idle();
    client.poll(1, [&](const Completion& done) { answer = text_of(done.response); });
  }
  EXPECT_EQ(answer, "found");
  client_engine.reset();
  server_engine.reset();
  ::unsetenv("XDG_RUNTIME_DIR");
}

// ---- ends

// A server as a process of its own, which must be made before this process has threads.
class ServerProcess {
 public:
  ServerProcess(const EngineProcess& process, const std::string& name) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    LinesEngineOptions options = process.options();
    options.serves = {name};
    std::string error;
    auto engine = LinesEngine::start(options, &error);
    if (engine == nullptr) ::_exit(1);
    const RpcThreadedServer server = test_server();
    ServerThread thread(&server, &engine->port(0));
    while (!engine->gone()) {
      if (thread.serve(64) == 0) engine->port(0).idle();
    }
    ::_exit(0);
  }
  ~ServerProcess() { end(SIGKILL); }
  // Its wait status.
  int end(int signal) {
    int status = -1;
    if (pid_ <= 0) return status;
    ::kill(pid_, signal);
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }
  int wait() { return end(0); }

 private:
  pid_t pid_ = -1;
};

TEST(LinesEngine, CallsToAServerThatDiesEndInUnavailableAndAnotherServerCanBeOpened) {
  EngineProcess process;
  ServerProcess dying(process, "echo");
  ClientHost client(process, "echo");
  uint16_t status = 99;
  EXPECT_EQ(client.call(kEcho, "before", &status), "before");
  std::vector<uint16_t> ends;
  for (uint64_t tag = 0; tag < 10; ++tag) {
    ASSERT_EQ(client.client->begin(kExit, {}, tag), BeginResult::kOk);
  }
  client.client->flush();
  EXPECT_TRUE(client.poll_until([&] { return ends.size() == 10; },
                                [&](const Completion& done) { ends.push_back(done.status); }));
  EXPECT_EQ(ends, std::vector<uint16_t>(10, kStatusUnavailable));
  EXPECT_TRUE(client.client->closed());
  EXPECT_FALSE(client.engine->gone());
  EXPECT_EQ(client.client->begin(kEcho, {}, 1), BeginResult::kClosed);

  ServerHost next(process, "echo");
  std::string error;
  auto connection = client.engine->open("echo", 0, 10 * kSecond, &error);
  ASSERT_TRUE(connection) << error;
  client.client.emplace(&client.engine->port(0), *connection);
  EXPECT_EQ(client.call(kEcho, "after", &status), "after");
}

TEST(LinesEngine, ACallThatWaitsForAServerThatDiesReturns) {
  EngineProcess process;
  ServerProcess dying(process, "echo");
  ClientHost client(process, "echo");
  uint16_t status = 99;
  client.call(kExit, "", &status);
  EXPECT_EQ(status, kStatusUnavailable);
  EXPECT_TRUE(WIFEXITED(dying.wait()));
}

TEST(LinesEngine, AServerOutlivesClientsThatDie) {
  EngineProcess process;
  ServerProcess server(process, "echo");
  for (int i = 0; i < 5; ++i) {
    pid_t pid = ::fork();
    if (pid == 0) {
      ClientHost client(process, "echo");
      for (uint64_t tag = 0; tag < 64; ++tag) client.client->begin(kEcho, bytes_of(std::string(40, 'x')), tag);
      client.client->flush();
      ::_exit(0);  // without a detach, with calls under way
    }
    ::waitpid(pid, nullptr, 0);
  }
  ClientHost client(process, "echo");
  uint16_t status = 99;
  EXPECT_EQ(client.call(kEcho, "still here", &status), "still here");
}

TEST(LinesEngine, TheEndOfTheEngineHasAName) {
  EngineProcess process;
  ServerProcess server(process, "echo");
  ClientHost client(process, "echo");
  uint16_t status = 99;
  EXPECT_EQ(client.call(kEcho, "before", &status), "before");
  process.end(SIGKILL);
  client.call(kEcho, "after", &status);
  EXPECT_EQ(status, kStatusUnavailable);
  EXPECT_TRUE(client.engine->gone());
  EXPECT_EQ(client.engine->failure(), "the engine has gone: it closed the control socket");
  std::string error;
  EXPECT_FALSE(client.engine->open("echo", 0, kSecond, &error));
  EXPECT_EQ(error, client.engine->failure());
  EXPECT_EQ(WEXITSTATUS(server.wait()), 0);  // it has noticed, too
}

// ---- room and time

TEST(LinesEngine, CallsThatFindTheServersRingFullFailAndTheOthersAreServed) {
  EngineProcess process;
  ServerHost server(process, "echo", 1, 16);
  RpcClientOptions options;
  options.window = 64;
  ClientHost client(process, "echo", options, 128);
  server.pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (uint64_t tag = 0; tag < 64; ++tag) ASSERT_EQ(client.client->begin(kEcho, bytes_of("x"), tag), BeginResult::kOk);
  client.client->flush();
  uint64_t served = 0, refused = 0, other = 0;
  auto taken = [&](const Completion& done) {
    ++(done.status == kStatusOk ? served : done.status == kStatusResourceExhausted ? refused : other);
  };
  EXPECT_TRUE(client.poll_until([&] { return refused == 48; }, taken));
  server.pause(false);
  EXPECT_TRUE(client.poll_until([&] { return refused + served == 64; }, taken));
  EXPECT_EQ(served, 16u);
  EXPECT_EQ(other, 0u);
}

TEST(LinesEngine, ATimeOutEndsACallWhoseServerDoesNotAnswer) {
  EngineProcess process;
  ServerHost server(process, "echo");
  RpcClientOptions options;
  options.timeout_ns = 50'000'000;
  ClientHost client(process, "echo", options);
  server.pause(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  uint16_t status = 99;
  client.call(kEcho, "late", &status);
  EXPECT_EQ(status, kStatusDeadlineExceeded);
  server.pause(false);
  EXPECT_EQ(client.call(kEcho, "in time", &status), "in time");  // and the late answer is not taken for this call's
}

TEST(LinesEngine, AConnectionThatIsClosedAndOpenedAgainGetsNoOldAnswer) {
  EngineProcess process;
  ServerHost server(process, "echo");
  ClientHost client(process, "echo");
  for (int i = 0; i < 200; ++i) {
    std::string old = "old " + std::to_string(i), fresh = "new " + std::to_string(i);
    ASSERT_EQ(client.client->begin(kEcho, bytes_of(old), 0), BeginResult::kOk);
    client.client->flush();
    ASSERT_TRUE(client.engine->port(0).close(client.client->connection()));
    std::string error;
    auto connection = client.engine->open("echo", 0, kSecond, &error);
    ASSERT_TRUE(connection) << error;
    client.client.emplace(&client.engine->port(0), *connection);
    uint16_t status = 99;
    ASSERT_EQ(client.call(kEcho, fresh, &status), fresh);
  }
}

TEST(LinesEngine, AnIdleServerSleepsAndIsWokenByALine) {
  EngineProcess process;
  ServerHost server(process, "echo");
  ClientHost client(process, "echo");
  uint16_t status = 99;
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the engine thread sleeps, too
    EXPECT_EQ(client.call(kEcho, "wake up", &status), "wake up");
  }
  server.stop();
}

}  // namespace
}  // namespace drover::lines
