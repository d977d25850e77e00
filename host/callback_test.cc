// The life of callback calls: reactors that finish inside the handler, later, elsewhere; cancellation; OnDone.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "host/engine_testing.h"
#include "host_test.grpc.pb.h"

namespace drover::host {
namespace {

using hosttest::Reply;
using hosttest::Request;
using hosttest::Testing;
using std::chrono::milliseconds;

class CallbackService final : public Testing::CallbackService {
 public:
  using Handler = std::function<grpc::ServerUnaryReactor*(grpc::CallbackServerContext*, const Request*, Reply*)>;
  Handler echo;

  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Request* request, Reply* reply) override {
    return echo(context, request, reply);
  }
};

// Writes down what happens to it.
class Recorder : public grpc::ServerUnaryReactor {
 public:
  explicit Recorder(std::vector<std::string>* events) : events_(events) {}
  void OnDone() override { record("done"); }
  void OnCancel() override {
    record("cancel");
    if (finish_on_cancel) Finish(grpc::Status::CANCELLED);
  }
  void OnSendInitialMetadataDone(bool ok) override { record(ok ? "metadata" : "no metadata"); }
  bool finish_on_cancel = true;

  std::vector<std::string> events() {
    std::lock_guard lock(mutex_);
    return *events_;
  }

 private:
  void record(const char* what) {
    std::lock_guard lock(mutex_);
    events_->push_back(what);
  }
  std::mutex mutex_;
  std::vector<std::string>* events_;
};

class CallbackTest : public testing::Test {
 protected:
  void start() {
    engine = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host = std::make_unique<FakeHost>(*engine, service);
  }
  uint32_t call(const std::string& text = "x") {
    return engine->call<Request>(0, [&](Request* request) { request->set_text(text); });
  }

  CallbackService service;
  std::unique_ptr<FakeEngine> engine;
  std::unique_ptr<FakeHost> host;
};

TEST_F(CallbackTest, ADefaultReactorThatFinishesInsideTheHandlerNeedsOneSlot) {
  service.echo = [](grpc::CallbackServerContext* context, const Request* request, Reply* reply) {
    reply->set_text(request->text());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  };
  start();
  for (int i = 0; i < 1000; ++i) {
    auto answer = engine->answer(call(std::to_string(i)));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->flags, kCompleteFinished);
    EXPECT_EQ(engine->reply<Reply>(*answer)->text(), std::to_string(i));
  }
}

TEST_F(CallbackTest, FinishMayComeFromAnotherThreadLater) {
  std::thread finisher;
  service.echo = [&](grpc::CallbackServerContext* context, const Request* request, Reply* reply) {
    auto* reactor = context->DefaultReactor();
    finisher = std::thread([=] {
      std::this_thread::sleep_for(milliseconds(5));
      reply->set_text("later " + request->text());
      reactor->Finish(grpc::Status(grpc::StatusCode::OK, ""));
    });
    return reactor;
  };
  start();
  auto answer = engine->answer(call());
  ASSERT_TRUE(answer);
  EXPECT_EQ(engine->reply<Reply>(*answer)->text(), "later x");
  finisher.join();
}

TEST_F(CallbackTest, FinishMayRaceWithTheHandlersReturn) {
  std::mutex mutex;
  std::vector<std::thread> finishers;
  service.echo = [&](grpc::CallbackServerContext* context, const Request* request, Reply* reply) {
    auto* reactor = context->DefaultReactor();
    std::lock_guard lock(mutex);
    finishers.emplace_back([=] {
      reply->set_text(request->text());
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  };
  start();
  std::map<uint32_t, std::string> sent;
  for (int i = 0; i < 200; ++i) sent[call(std::to_string(i))] = std::to_string(i);
  for (auto& [number, text] : sent) ASSERT_TRUE(engine->answer(number)) << text;
  EXPECT_FALSE(engine->answered_twice());
  host->stop();
  for (std::thread& finisher : finishers) finisher.join();
}

TEST_F(CallbackTest, OnDoneComesLastAndTheRequestLivesUntilThen) {
  std::vector<std::string> events;
  std::atomic<bool> let_done{false};
  struct Slow : grpc::ServerUnaryReactor {
    Slow(const Request* r, std::atomic<bool>* go) : request(r), let_done(go) { Finish(grpc::Status::OK); }
    void OnDone() override {
      while (!*let_done) std::this_thread::sleep_for(milliseconds(1));
      EXPECT_EQ(request->text(), "still here");
      delete this;
    }
    const Request* request;
    std::atomic<bool>* let_done;
  };
  service.echo = [&](grpc::CallbackServerContext*, const Request* request, Reply*) {
    return new Slow(request, &let_done);
  };
  start();
  uint32_t number = call("still here");
  auto answer = engine->answer(number);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->flags, 0);
  EXPECT_FALSE(engine->finished(number, 30));
  let_done = true;
  EXPECT_TRUE(engine->finished(number));
}

TEST_F(CallbackTest, CancellationReachesOnCancelAndTheContext) {
  std::vector<std::string> events;
  Recorder reactor(&events);
  grpc::CallbackServerContext* seen = nullptr;
  service.echo = [&](grpc::CallbackServerContext* context, const Request*, Reply*) {
    seen = context;
    return &reactor;
  };
  start();
  uint32_t number = call();
  EXPECT_FALSE(engine->answer(number, 20));
  engine->cancel(number);
  auto answer = engine->answer(number);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 1u);
  ASSERT_TRUE(engine->finished(number));
  EXPECT_EQ(reactor.events(), (std::vector<std::string>{"cancel", "done"}));
}

TEST_F(CallbackTest, InitialMetadataIsReportedAsSentBeforeOnDone) {
  std::vector<std::string> events;
  Recorder reactor(&events);
  service.echo = [&](grpc::CallbackServerContext* context, const Request*, Reply*) {
    context->AddInitialMetadata("early", "bird");
    reactor.StartSendInitialMetadata();
    reactor.Finish(grpc::Status::OK);
    return &reactor;
  };
  start();
  uint32_t number = call();
  ASSERT_TRUE(engine->receive<Reply>(number, [&](const Reply* reply, const FakeEngine::Message& message) {
    EXPECT_EQ(reply, nullptr);
    EXPECT_EQ(message.flags, kReplyMessageHeadersOnly);
  }));
  auto answer = engine->answer(number);
  ASSERT_TRUE(answer);
  EXPECT_EQ(engine->pairs(*answer, true).size(), 0u);  // they have gone
  ASSERT_TRUE(engine->finished(number));
  EXPECT_EQ(reactor.events(), (std::vector<std::string>{"metadata", "done"}));
}

// What is sent early is sent once, whichever call comes to have the memory next.
TEST_F(CallbackTest, InitialMetadataGoesOutWhileTheHandlerStillWorks) {
  struct Early : grpc::ServerUnaryReactor {
    void OnSendInitialMetadataDone(bool) override { sent = true; }
    void OnDone() override { done = true; }
    std::atomic<bool> sent{false}, done{false};
  };
  std::unique_ptr<Early> reactor;
  service.echo = [&](grpc::CallbackServerContext* context, const Request* request, Reply*) {
    reactor = std::make_unique<Early>();
    if (request->text() == "early") {
      context->AddInitialMetadata("early", "bird");
      context->AddTrailingMetadata("late", "owl");
      reactor->StartSendInitialMetadata();
    }
    return reactor.get();
  };
  start();
  for (int i = 0; i < 6; ++i) {
    const bool early = i % 2 == 0;
    uint32_t number = call(early ? "early" : "");
    if (early) {
      ASSERT_TRUE(engine->receive<Reply>(number, [&](const Reply*, const FakeEngine::Message& message) {
        EXPECT_EQ(engine->initial_metadata(message), (FakeEngine::Pairs{{"early", "bird"}}));
      }));
    }
    EXPECT_FALSE(engine->answer(number, 20));
    EXPECT_EQ(reactor->sent, early);
    reactor->Finish(grpc::Status::OK);
    auto answer = engine->answer(number);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->trailer != 0, early);
    if (early) {
      EXPECT_EQ(engine->pairs(*answer, true).size(), 0u);
      EXPECT_EQ(engine->pairs(*answer, false), (FakeEngine::Pairs{{"late", "owl"}}));
    }
    ASSERT_TRUE(engine->finished(number));
    EXPECT_TRUE(reactor->done);
  }
}

TEST_F(CallbackTest, AMethodThatIsNotOverriddenIsUnimplemented) {
  start();
  uint32_t number = engine->call<Request>(1, [](Request*) {});
  auto answer = engine->answer(number);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 12u);
}

TEST_F(CallbackTest, TheEnginesDeathCallsOnCancelAndOnDone) {
  std::vector<std::string> events;
  Recorder reactor(&events);
  service.echo = [&](grpc::CallbackServerContext*, const Request*, Reply*) { return &reactor; };
  start();
  uint32_t number = call();
  EXPECT_FALSE(engine->answer(number, 20));
  host->stop();
  EXPECT_EQ(reactor.events(), (std::vector<std::string>{"cancel", "done"}));
}

TEST_F(CallbackTest, AnOnCancelThatBlocksHoldsUpNothingElse) {
  std::atomic<bool> go{false};
  struct Stuck : grpc::ServerUnaryReactor {
    explicit Stuck(std::atomic<bool>* g) : go(g) {}
    void OnCancel() override {
      while (!*go) std::this_thread::sleep_for(milliseconds(1));
    }
    void OnDone() override { done = true; }
    std::atomic<bool>* go;
    std::atomic<bool> done{false};
  } stuck(&go);
  service.echo = [&](grpc::CallbackServerContext* context, const Request* request,
                     Reply*) -> grpc::ServerUnaryReactor* {
    if (request->text() == "stuck") return &stuck;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  };
  start();
  uint32_t number = call("stuck");
  EXPECT_FALSE(engine->answer(number, 20));
  engine->cancel(number);
  EXPECT_TRUE(engine->answer(call("quick"), 2000));
  stuck.Finish(grpc::Status::CANCELLED);
  EXPECT_TRUE(engine->answer(number));
  EXPECT_FALSE(stuck.done);  // not while OnCancel runs
  go = true;
  EXPECT_TRUE(engine->finished(number));
  EXPECT_TRUE(stuck.done);
}

// Metadata is asked for on another thread, and the reaction blocks until the lead is lost; in a pooled Call this
// happens again and again.
TEST_F(CallbackTest, AReactionToInitialMetadataThatBlocksLeavesNothingBehindForTheNextCall) {
  struct Slow : grpc::ServerUnaryReactor {
    void OnSendInitialMetadataDone(bool) override { std::this_thread::sleep_for(milliseconds(30)); }
    void OnDone() override { done = true; }
    std::atomic<bool> done{false};
  };
  std::vector<std::thread> askers;
  std::vector<std::unique_ptr<Slow>> reactors;
  service.echo = [&](grpc::CallbackServerContext*, const Request*, Reply*) {
    Slow* reactor = reactors.emplace_back(std::make_unique<Slow>()).get();
    askers.emplace_back([reactor] {
      std::this_thread::sleep_for(milliseconds(10));
      reactor->StartSendInitialMetadata();
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  };
  start();
  for (int i = 0; i < 4; ++i) {
    uint32_t number = call();
    ASSERT_TRUE(engine->answer(number));
    ASSERT_TRUE(engine->finished(number));
    EXPECT_TRUE(reactors.back()->done);
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_GT(host->crew().takeovers(), 0u);
}

TEST_F(CallbackTest, ADefaultReactorMayAskForInitialMetadata) {
  std::vector<std::thread> askers;
  service.echo = [&](grpc::CallbackServerContext* context, const Request*, Reply*) {
    auto* reactor = context->DefaultReactor();
    askers.emplace_back([reactor] {
      std::this_thread::sleep_for(milliseconds(2));
      reactor->StartSendInitialMetadata();
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  };
  start();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(engine->answer(call()));
  for (std::thread& asker : askers) asker.join();
}

TEST_F(CallbackTest, AnOnCancelThatBlocksKeepsTheEnginesDeathFromNobody) {
  struct Stuck : grpc::ServerUnaryReactor {
    void OnCancel() override {
      std::this_thread::sleep_for(milliseconds(30));
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { done = true; }
    std::atomic<bool> done{false};
  };
  std::vector<std::unique_ptr<Stuck>> reactors;
  std::atomic<int> running{0};
  service.echo = [&](grpc::CallbackServerContext*, const Request*, Reply*) {
    ++running;
    return reactors.emplace_back(std::make_unique<Stuck>()).get();
  };
  start();
  for (int i = 0; i < 10; ++i) call();
  for (int i = 0; i < 2000 && running < 10; ++i) std::this_thread::sleep_for(milliseconds(1));
  host->stop();  // returns only once every call is done
  for (auto& reactor : reactors) EXPECT_TRUE(reactor->done);
}

// A Finish elsewhere may be the end of the worker.
TEST_F(CallbackTest, FinishMayRaceWithTheWorkersEnd) {
  for (int i = 0; i < 100; ++i) {
    std::atomic<grpc::ServerUnaryReactor*> reactor{nullptr};
    service.echo = [&](grpc::CallbackServerContext* context, const Request*, Reply*) {
      auto* mine = context->DefaultReactor();
      reactor = mine;
      return mine;
    };
    start();
    call();
    while (reactor == nullptr) std::this_thread::yield();
    std::thread finisher([&] { reactor.load()->Finish(grpc::Status::OK); });
    host.reset();
    engine.reset();
    finisher.join();
  }
}

}  // namespace
}  // namespace drover::host
