// Clients and servers of RPC lines on a real droverd, as threads of this process and as processes of their own.
#include "tests/lines/lines_testing.h"

namespace drover::lines {
namespace {

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

// The engine drops responses that find no room in the client's ring, and nothing else would end these calls.
TEST(LinesEngine, AWindowOfMoreCallsThanTheClientsRingHoldsLosesNone) {
  EngineProcess process;
  ServerHost server(process, "echo");
  for (uint32_t window : {16u, 64u, 1024u}) {
    SCOPED_TRACE(window);
    RpcClientOptions options;
    options.window = window;
    ClientHost client(process, "echo", options, 16);
    EXPECT_EQ(client.client->window(), 12u) << "three quarters of the ring";
    constexpr uint64_t kCalls = 2'000;
    uint64_t begun = 0, ended = 0, wrong = 0;
    auto taken = [&](const Completion& done) {
      ++ended;
      if (done.status != kStatusOk || text_of(done.response) != std::to_string(done.tag)) ++wrong;
    };
    const bool all = client.poll_until(
        [&] {
          while (begun < kCalls &&
                 client.client->begin(kEcho, bytes_of(std::to_string(begun)), begun) == BeginResult::kOk) {
            ++begun;
          }
          client.client->flush();
          return ended == kCalls;
        },
        taken);
    EXPECT_TRUE(all) << ended << " of " << begun << " calls have ended";
    EXPECT_EQ(wrong, 0u);
  }
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
