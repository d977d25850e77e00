// Workers and their calls against an engine's end of the rings in the same process.
#include "host/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "host/engine_testing.h"
#include "host_test.grpc.pb.h"

namespace drover::host {
namespace {

using hosttest::Reply;
using hosttest::Request;
using hosttest::Testing;
using std::chrono::milliseconds;

class SyncService final : public Testing::Service {
 public:
  using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request*, Reply*)>;
  Handler echo, other;

  grpc::Status Echo(grpc::ServerContext* context, const Request* request, Reply* reply) override {
    return echo(context, request, reply);
  }
  grpc::Status Other(grpc::ServerContext* context, const Request* request, Reply* reply) override {
    return other(context, request, reply);
  }
};

constexpr uint16_t kEcho = 0, kOther = 1;

std::function<void(Request*)> text(const std::string& value) {
  return [value](Request* request) { request->set_text(value); };
}

void wait_for(const std::function<bool()>& condition, int timeout_ms = 5000) {
  auto end = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(condition());
}

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    service.echo = [](grpc::ServerContext*, const Request* request, Reply* reply) {
      reply->set_text("Hello " + request->text());
      return grpc::Status::OK;
    };
    service.other = service.echo;
  }
  void start(FakeEngine::Options options = {}, Crew::Options crew = {}) {
    engine = std::make_unique<FakeEngine>(options);
    host = std::make_unique<FakeHost>(*engine, service, crew, options.workers);
  }

  SyncService service;
  std::unique_ptr<FakeEngine> engine;
  std::unique_ptr<FakeHost> host;
};

TEST_F(WorkerTest, ASynchronousHandlerAnswersThroughTheRing) {
  start();
  uint32_t call = engine->call<Request>(kEcho, text("world"));
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 0u);
  EXPECT_EQ(answer->flags, kCompleteFinished);
  EXPECT_EQ(answer->trailer, 0u);
  EXPECT_EQ(engine->reply<Reply>(*answer)->text(), "Hello world");
}

TEST_F(WorkerTest, ManyCallsAreEachAnsweredOnceWithTheirOwnData) {
  start({.ring_slots = 64});
  for (int round = 0; round < 50; ++round) {
    std::map<uint32_t, std::string> sent;
    for (int i = 0; i < 100; ++i) {
      std::string value = std::to_string(round) + "/" + std::to_string(i);
      sent[engine->call<Request>(kEcho, text(value))] = value;
    }
    engine->set_auto_release(true);
    for (auto& [call, value] : sent) {
      auto answer = engine->answer(call);
      ASSERT_TRUE(answer);
      ASSERT_EQ(answer->status, 0u);
    }
    engine->forget_answers();
  }
  EXPECT_EQ(engine->answered(), 5000u);
  EXPECT_FALSE(engine->answered_twice());
}

TEST_F(WorkerTest, AReplyThatPassesTheRequestsStringsThroughCopiesNothing) {
  service.echo = [](grpc::ServerContext*, const Request* request, Reply* reply) {
    *reply->mutable_payload() = request->payload();
    return grpc::Status::OK;
  };
  start();
  std::string payload(100'000, 'x');
  uint32_t call =
      engine->call<Request>(kEcho, [&](Request* request) { request->set_payload(payload); }, kNoDeadline, {}, 0, 64);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  const Reply* reply = engine->reply<Reply>(*answer);
  EXPECT_EQ(reply->payload(), payload);
  EXPECT_TRUE(engine->region().in_rx(engine->region().offset_of(std::string_view(reply->payload()).data())));
}

TEST_F(WorkerTest, StatusMessageDetailsAndMetadataTravelInTheTrailer) {
  service.echo = [](grpc::ServerContext* context, const Request*, Reply*) {
    context->AddInitialMetadata("first", "1");
    context->AddTrailingMetadata("last-bin", std::string("\0\1", 2));
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such thing", "details");
  };
  start();
  auto answer = engine->answer(engine->call<Request>(kEcho, text("")));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 5u);
  EXPECT_EQ(answer->response, 0u);
  EXPECT_EQ(engine->message(*answer), "no such thing");
  EXPECT_THAT(engine->pairs(*answer, true), testing::ElementsAre(testing::Pair("first", "1")));
  EXPECT_THAT(engine->pairs(*answer, false),
              testing::UnorderedElementsAre(testing::Pair("last-bin", std::string("\0\1", 2)),
                                            testing::Pair("grpc-status-details-bin", "details")));
}

TEST_F(WorkerTest, ContextsShowTheirOwnCallAndNothingOfEarlierOnes) {
  std::vector<std::string> seen;
  service.echo = [&](grpc::ServerContext* context, const Request* request, Reply*) {
    for (const auto& [key, value] : context->client_metadata()) {
      seen.push_back(std::string(key.data(), key.size()) + "=" + std::string(value.data(), value.size()));
    }
    seen.push_back(context->peer());
    EXPECT_EQ(context->ExperimentalGetAuthority(), "test.example");
    if (request->number() == 1) context->AddTrailingMetadata("once", "only");
    return grpc::Status::OK;
  };
  start();
  auto first = engine->answer(engine->call<Request>(kEcho, [](Request* request) { request->set_number(1); },
                                                    kNoDeadline, {{"a", "1"}, {"a", "2"}}));
  ASSERT_TRUE(first);
  EXPECT_EQ(engine->pairs(*first, false).size(), 1u);
  auto second = engine->answer(engine->call<Request>(kEcho, text(""), kNoDeadline, {{"b", "3"}}));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->trailer, 0u);
  EXPECT_THAT(seen, testing::ElementsAre("a=1", "a=2", "ipv4:127.0.0.1:4711", "b=3", "ipv4:127.0.0.1:4711"));
}

TEST_F(WorkerTest, TheDeadlineIsShownAsWallClockTime) {
  std::chrono::system_clock::time_point with, without;
  service.echo = [&](grpc::ServerContext* context, const Request*, Reply*) {
    with = context->deadline();
    return grpc::Status::OK;
  };
  service.other = [&](grpc::ServerContext* context, const Request*, Reply*) {
    without = context->deadline();
    return grpc::Status::OK;
  };
  start();
  auto before = std::chrono::system_clock::now();
  ASSERT_TRUE(engine->answer(engine->call<Request>(kEcho, text(""), monotonic_ns() + 2'000'000'000)));
  ASSERT_TRUE(engine->answer(engine->call<Request>(kOther, text(""))));
  EXPECT_NEAR(std::chrono::duration<double>(with - before).count(), 2.0, 0.1);
  EXPECT_EQ(without, std::chrono::system_clock::time_point::max());
}

TEST_F(WorkerTest, AThrownExceptionEndsTheCallInUnknown) {
  service.echo = [](grpc::ServerContext*, const Request*, Reply*) -> grpc::Status { throw std::runtime_error("no"); };
  start();
  auto answer = engine->answer(engine->call<Request>(kEcho, text("")));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 2u);
  EXPECT_EQ(engine->message(*answer), "Unexpected error in RPC handling");
}

TEST_F(WorkerTest, AHandlerThatBlocksHoldsUpOnlyItsOwnCall) {
  std::atomic<bool> go{false};
  service.other = [&](grpc::ServerContext*, const Request* request, Reply* reply) {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
    reply->set_text("late " + request->text());
    return grpc::Status::OK;
  };
  start();
  std::vector<uint32_t> blocked;
  for (int i = 0; i < 5; ++i) blocked.push_back(engine->call<Request>(kOther, text(std::to_string(i))));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(engine->answer(engine->call<Request>(kEcho, text("quick")), 2000));
  EXPECT_FALSE(engine->answer(blocked[0], 0));
  EXPECT_GE(host->crew().takeovers(), 5u);
  go = true;
  for (int i = 0; i < 5; ++i) {
    auto answer = engine->answer(blocked[static_cast<size_t>(i)]);
    ASSERT_TRUE(answer);
    EXPECT_EQ(engine->reply<Reply>(*answer)->text(), "late " + std::to_string(i));
  }
}

TEST_F(WorkerTest, ThreadsAreBoundedAndCallsBeyondWait) {
  std::atomic<int> running{0}, most{0};
  service.echo = [&](grpc::ServerContext*, const Request*, Reply*) {
    int now = ++running;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    std::this_thread::sleep_for(milliseconds(10));
    --running;
    return grpc::Status::OK;
  };
  Crew::Options crew;
  crew.max_threads = 3;
  start({}, crew);
  std::vector<uint32_t> calls;
  for (int i = 0; i < 30; ++i) calls.push_back(engine->call<Request>(kEcho, text("")));
  for (uint32_t call : calls) ASSERT_TRUE(engine->answer(call));
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 2);
  EXPECT_EQ(host->crew().threads(), 4u);  // and one that leads
}

TEST_F(WorkerTest, ACancelledHandlerSeesItWhileItRuns) {
  std::atomic<bool> saw{false}, running{false};
  service.echo = [&](grpc::ServerContext* context, const Request*, Reply*) {
    running = true;
    for (int i = 0; i < 3000 && !context->IsCancelled(); ++i) std::this_thread::sleep_for(milliseconds(1));
    saw = context->IsCancelled();
    return grpc::Status::CANCELLED;
  };
  start();
  uint32_t call = engine->call<Request>(kEcho, text(""));
  wait_for([&] { return running.load(); });
  engine->cancel(call);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(saw);
  EXPECT_EQ(answer->status, 1u);
  // The same Call is used again, and knows nothing of it.
  bool fresh = false;
  service.other = [&](grpc::ServerContext* context, const Request*, Reply*) {
    fresh = !context->IsCancelled();
    return grpc::Status::OK;
  };
  ASSERT_TRUE(engine->answer(engine->call<Request>(kOther, text(""))));
  EXPECT_TRUE(fresh);
}

TEST_F(WorkerTest, TryCancelEndsTheCallInCancelled) {
  service.echo = [](grpc::ServerContext* context, const Request*, Reply*) {
    context->TryCancel();
    EXPECT_TRUE(context->IsCancelled());
    return grpc::Status::OK;
  };
  start();
  auto answer = engine->answer(engine->call<Request>(kEcho, text("")));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 1u);
}

TEST_F(WorkerTest, AReplyThatFoundTheRegionFullIsLinearizedOnceThereIsRoom) {
  service.echo = [](grpc::ServerContext*, const Request* request, Reply* reply) {
    for (int i = 0; i < request->number(); ++i)
      reply->add_parts()->set_name(std::string(8'000, static_cast<char>('a' + i)));
    reply->set_text("end");
    return grpc::Status::OK;
  };
  start({.tx_bytes = 512 * 1024, .auto_release = false});
  auto parts = [](int n) { return [n](Request* request) { request->set_number(n); }; };
  auto first = engine->answer(engine->call<Request>(kEcho, parts(24)));
  ASSERT_TRUE(first);
  // With the first reply not released there is no room for a second.
  uint32_t second = engine->call<Request>(kEcho, parts(36));
  EXPECT_FALSE(engine->answer(second, 50));
  engine->release(first->tx_call);
  auto answer = engine->answer(second);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 0u);
  const Reply* reply = engine->reply<Reply>(*answer);
  ASSERT_EQ(reply->parts_size(), 36);
  for (int i = 0; i < 36; ++i) EXPECT_EQ(reply->parts(i).name(), std::string(8'000, static_cast<char>('a' + i)));
  EXPECT_EQ(reply->text(), "end");
}

TEST_F(WorkerTest, AReplyThatFindsNoRoomInTimeEndsInResourceExhausted) {
  service.echo = [](grpc::ServerContext*, const Request*, Reply* reply) {
    reply->set_payload(std::string(1'000'000, 'x'));
    return grpc::Status::OK;
  };
  start({.tx_bytes = 256 * 1024});
  host->link().reply_memory_wait_ns = 50'000'000;
  auto answer = engine->answer(engine->call<Request>(kEcho, text("")));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 8u);
  EXPECT_EQ(answer->response, 0u);
}

TEST_F(WorkerTest, TheEnginesDeathCancelsCallsAndDropsTheirAnswers) {
  std::atomic<int> running{0}, cancelled{0};
  service.echo = [&](grpc::ServerContext* context, const Request*, Reply* reply) {
    ++running;
    for (int i = 0; i < 3000 && !context->IsCancelled(); ++i) std::this_thread::sleep_for(milliseconds(1));
    if (context->IsCancelled()) ++cancelled;
    reply->set_text("too late, but the memory is still there");
    return grpc::Status::OK;
  };
  start();
  std::vector<uint32_t> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(engine->call<Request>(kEcho, text("")));
  wait_for([&] { return running == 4; });
  host->stop();  // returns once every handler has
  EXPECT_EQ(cancelled, 4);
  EXPECT_EQ(engine->answered(), 0u);
}

TEST_F(WorkerTest, AnAnswerIsAnnouncedWhileTheNextHandlerBlocksTheOnlyThread) {
  std::atomic<bool> go{false};
  service.other = [&](grpc::ServerContext*, const Request*, Reply*) {
    while (!go) std::this_thread::sleep_for(milliseconds(1));
    return grpc::Status::OK;
  };
  engine = std::make_unique<FakeEngine>(FakeEngine::Options{});
  uint32_t quick = engine->call<Request>(kEcho, text("quick"));  // both in one round
  uint32_t slow = engine->call<Request>(kOther, text("slow"));
  Crew::Options crew;
  crew.max_threads = 1;
  host = std::make_unique<FakeHost>(*engine, service, crew);
  EngineLink& link = host->link();
  EngineSleeper sleeper(
      reinterpret_cast<EngineThreadShared*>(engine->region().base() + link.layout.engine_thread_shared(0)));
  sleeper.announce();
  pollfd bell{link.bells[0].get(), POLLIN, 0};
  EXPECT_EQ(::poll(&bell, 1, 2000), 1);
  EXPECT_TRUE(engine->answer(quick, 0));
  EXPECT_FALSE(engine->answer(slow, 0));
  go = true;
  EXPECT_TRUE(engine->answer(slow));
}

TEST_F(WorkerTest, ATerminatedCopyIsGoneBeforeTheEngineMayUseTheRequestsMemoryAgain) {
  std::vector<std::string> seen;
  service.echo = [&](grpc::ServerContext*, const Request* request, Reply*) {
    seen.push_back(request->text().c_str());
    return grpc::Status::OK;
  };
  start({.auto_release = false});
  // The fake engine gives out the same run again, so that both requests lie at one address.
  for (size_t size : {12u, 3u}) {
    auto fill = [size](Request* request) {
      request->set_payload("12345-secret.");
      request->mutable_text()->borrow(std::string_view(request->payload()).data(), size, /*terminated=*/false);
    };
    ASSERT_TRUE(engine->answer(engine->call<Request>(kEcho, fill)));
  }
  EXPECT_THAT(seen, testing::ElementsAre("12345-secret", "123"));
}

TEST_F(WorkerTest, ACallThatLeadsOutOfTheRegionIsRefusedAndReported) {
  start();
  CallSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
  slot.call = 7;
  slot.request = uint64_t{1} << 40;
  engine->push(0, to_slot(slot));
  auto answer = engine->answer(7);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 13u);
  EXPECT_NE(host->link().broken.load(), nullptr);
}

}  // namespace
}  // namespace drover::host
