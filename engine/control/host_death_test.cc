// Hosts that die, drain and come back: what the calls see, and that memory stays while it is needed and no longer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <csignal>

#include <chrono>
#include <fstream>
#include <thread>

#include "engine/control/control_testing.h"

namespace drover::engine {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(HostDeath, CallsInFlightEndInUnavailableAtOnce) {
  TestEngine engine;
  AttachedHost host(engine);
  std::vector<Call*> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(&engine.call("x"));
  host.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.transport.answers.size() == 20; }));
  for (Call* call : calls) {
    EXPECT_EQ(engine.transport.answer(*call).code, StatusCode::kUnavailable);
    EXPECT_EQ(engine.transport.answer(*call).message, "the service's process ended");
  }
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
  EXPECT_EQ(engine.dispatcher.hosts(), 0u);
}

TEST(HostDeath, AReplyThatIsBeingSentKeepsTheDeadHostsMemoryUntilItIsOut) {
  TestEngine engine;
  engine.transport.send_at_once = false;
  AttachedHost host(engine);
  Call& call = engine.call("x");
  host.take();
  std::string wire = echo_wire(std::string(30'000, 'k'));
  host.answer(host.calls[0], wire);
  engine.pump();
  ASSERT_TRUE(engine.transport.answered(call));
  host.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  // The pieces that the transport was given must still be readable: ASan and a crash would tell.
  EXPECT_EQ(engine.dispatcher.calls(), 1u);
  engine.dispatcher.reply_sent(call);
  EXPECT_EQ(engine.dispatcher.calls(), 0u);
}

TEST(HostDeath, CallsForADeadHostWaitAndAreServedByTheNext) {
  TestEngine engine;
  auto first = std::make_unique<AttachedHost>(engine);
  first->die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  Call& call = engine.call("patience");
  EXPECT_FALSE(engine.transport.answered(call));
  EXPECT_EQ(engine.dispatcher.waiting_calls(), 1u);
  AttachedHost second(engine);
  engine.pump();
  second.serve();
  engine.pump();
  ASSERT_TRUE(engine.transport.answered(call));
  EXPECT_EQ(engine.transport.answer(call).body, echo_wire("patience"));
}

TEST(HostDeath, AWaitingCallWhoseBytesLieInTheDeadRegionIsServedByTheNextHost) {
  TestEngine engine;
  auto first = std::make_unique<AttachedHost>(engine);
  std::string wire = echo_wire(std::string(20'000, 'w'));
  Call& call = engine.begin();
  char* buffer = engine.dispatcher.message_buffer(call, wire.size(), 0).data();
  std::memcpy(buffer, wire.data(), wire.size() / 2);
  first->die();
  first.reset();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  std::memcpy(buffer + wire.size() / 2, wire.data() + wire.size() / 2, wire.size() - wire.size() / 2);
  engine.dispatcher.message(call, {}, More::kLast);
  AttachedHost second(engine);
  engine.pump();
  second.take();
  ASSERT_EQ(second.calls.size(), 1u);
  EXPECT_EQ(second.calls[0].wire, wire);
  second.answer(second.calls[0], wire);
  engine.pump();
  EXPECT_EQ(engine.transport.answer(call).body, wire);
}

TEST(HostDeath, ACallThatNoHostComesForEndsInUnavailableAfterTheWait) {
  DispatchOptions options;
  options.wait_ns = 20 * kMs;
  TestEngine engine(options);
  AttachedHost host(engine);
  host.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  Call& call = engine.call("x");
  ASSERT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnavailable);
}

TEST(HostDeath, AHostThatBreaksTheChannelIsToldWhyAndDetached) {
  TestEngine engine;
  AttachedHost host(engine);
  engine.call("x");
  Slot nonsense;
  nonsense.type = 99;
  host.push(0, nonsense);
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  auto message = host.receive();
  ASSERT_TRUE(message && std::holds_alternative<Error>(*message));
  EXPECT_EQ(std::get<Error>(*message).text, "the host broke the channel: it sent a slot of an unknown type");
}

TEST(HostDeath, OneHostsDeathIsNothingToAnother) {
  TestEngine engine;
  AttachedHost stays(engine);
  AttachedHost dies(engine);
  std::vector<Call*> calls;
  for (int i = 0; i < 40; ++i) calls.push_back(&engine.call(std::to_string(i)));
  dies.die();
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 1; }));
  stays.serve();
  engine.pump();
  int ok = 0, unavailable = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(engine.transport.answered(*calls[i]));
    const Answer& answer = engine.transport.answer(*calls[i]);
    if (answer.code == StatusCode::kOk) {
      ++ok;
      EXPECT_EQ(answer.body, echo_wire(std::to_string(i)));
    } else {
      ++unavailable;
    }
  }
  EXPECT_EQ(ok, 20);
  EXPECT_EQ(unavailable, 20);
}

TEST(HostDeath, ADrainingHostEndsItsCallsAndGetsNoNewOnes) {
  TestEngine engine;
  AttachedHost drains(engine);
  Call& running = engine.call("x");
  drains.send(Drain{10'000});
  auto answer = drains.receive();
  ASSERT_TRUE(answer && std::holds_alternative<Draining>(*answer));
  ASSERT_TRUE(engine.pump_until([&] { return drains.take(), drains.drains == 1; }));
  AttachedHost next(engine);
  Call& other = engine.call("y");
  drains.serve();
  engine.pump();
  EXPECT_TRUE(engine.transport.answered(running));
  EXPECT_FALSE(engine.transport.answered(other));
  auto status = drains.receive();
  ASSERT_TRUE(status && std::holds_alternative<HostStatus>(*status));
  EXPECT_EQ(std::get<HostStatus>(*status).state, HostStatus::State::kDrained);
  EXPECT_EQ(std::get<HostStatus>(*status).calls_ended, 1u);
  next.serve();
  engine.pump();
  EXPECT_TRUE(engine.transport.answered(other));
}

TEST(HostDeath, AHostThatCameWhileTheEngineDrainsHearsWhenItsOwnDrainIsOver) {
  TestEngine engine;
  engine.dispatcher.drain_all();
  AttachedHost host(engine);
  for (int i = 0; i < 10; ++i) engine.pump();
  host.send(Drain{10'000});
  auto answer = host.receive();
  ASSERT_TRUE(answer && std::holds_alternative<Draining>(*answer));
  auto status = host.receive();
  ASSERT_TRUE(status && std::holds_alternative<HostStatus>(*status));
  EXPECT_EQ(std::get<HostStatus>(*status).state, HostStatus::State::kDrained);
}

TEST(HostDeath, CallsThatOutlastADrainsGraceEndInUnavailable) {
  TestEngine engine;
  AttachedHost host(engine);
  Call& call = engine.call("x");
  host.send(Drain{20});
  ASSERT_TRUE(engine.pump_until([&] { return engine.transport.answered(call); }));
  EXPECT_EQ(engine.transport.answer(call).code, StatusCode::kUnavailable);
}

TEST(HostDeath, AnEngineThatGoesDownTellsEveryWorker) {
  TestEngine engine;
  AttachedHost host(engine, {.workers = 3});
  engine.server.drain(1000);
  auto message = host.receive();
  ASSERT_TRUE(message && std::holds_alternative<Draining>(*message));
  ASSERT_TRUE(engine.pump_until([&] { return host.take(), host.drains == 3; }));
}

TEST(HostDeath, TheRegionOfADeadHostIsUnmapped) {
  auto mapped = [] {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    int count = 0;
    while (std::getline(maps, line)) count += line.find("memfd:drover") != std::string::npos;
    return count;
  };
  TestEngine engine;
  int before = mapped();
  for (int i = 0; i < 5; ++i) {
    AttachedHost host(engine);
    engine.call("x");
    host.die();
    ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  }
  EXPECT_TRUE(engine.pump_until([&] { return mapped() == before; }));
}

// A process whose socket outlives it (a child holds it too) is noticed through its pidfd.
TEST(HostDeath, AKilledProcessIsNoticedEvenIfItsSocketStaysOpen) {
  TestEngine engine;
  int sockets[2];
  ASSERT_EQ(::pipe(sockets), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ControlError error;
    auto socket = ControlSocket::connect(engine.address, 1000, &error);
    if (!socket) ::_exit(1);
    Hello hello;
    hello.name = "child";
    hello.cpus = {-1};
    socket->send(hello, 1000, &error);
    std::vector<UniqueFd> fds;
    if (!socket->receive(&fds, 1000, &error)) ::_exit(1);
    socket->send(Start{}, 1000, &error);
    if (!socket->receive(&fds, 5000, &error)) ::_exit(1);
    if (::fork() == 0) {  // holds the socket, and lives on for a second
      ::close(sockets[1]);
      ::sleep(1);
      ::_exit(0);
    }
    [[maybe_unused]] ssize_t written = ::write(sockets[1], "s", 1);
    ::pause();
  }
  ASSERT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 1; }));
  char started;
  ASSERT_TRUE(engine.pump_until([&] { return engine.server.serving_hosts() == 1; }));
  ASSERT_EQ(::read(sockets[0], &started, 1), 1);
  auto killed = std::chrono::steady_clock::now();
  ::kill(child, SIGKILL);
  EXPECT_TRUE(engine.pump_until([&] { return engine.dispatcher.hosts() == 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::milliseconds(800));
  ::waitpid(child, nullptr, 0);
  ::close(sockets[0]);
  ::close(sockets[1]);
}

}  // namespace
}  // namespace drover::engine
