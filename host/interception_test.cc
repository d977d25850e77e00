// Interceptors that take long: the call waits for them, whichever thread has the lead meanwhile.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/call_interception.h"
#include "host/engine_testing.h"
#include "host_test.grpc.pb.h"

namespace drover::host {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;
using hosttest::Reply;
using hosttest::Request;
using hosttest::Testing;
using std::chrono::milliseconds;

// What happens, in order; any thread.
class Events {
 public:
  void add(const std::string& what) {
    std::lock_guard lock(mutex_);
    all_.push_back(what);
  }
  std::vector<std::string> all() const {
    std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

// False: it proceeds later.
using Hook = std::function<bool(InterceptorBatchMethods*)>;

class Factory final : public ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Hook hook) : hook_(std::move(hook)) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo*) override { return new Made(hook_); }

 private:
  struct Made final : Interceptor {
    explicit Made(Hook run) : hook(std::move(run)) {}
    void Intercept(InterceptorBatchMethods* batch) override {
      if (hook(batch)) batch->Proceed();
    }
    const Hook hook;
  };
  const Hook hook_;
};

class CallbackService final : public Testing::CallbackService {
 public:
  std::function<grpc::ServerUnaryReactor*(grpc::CallbackServerContext*)> echo;
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Request*, Reply*) override {
    return echo(context);
  }
};

class InterceptionTest : public testing::Test {
 protected:
  void start(const std::function<void(InterceptorBatchMethods*)>& hook) {
    start_with([hook](InterceptorBatchMethods* batch) { return hook(batch), true; }, service_);
  }
  void start_with(Hook hook, const grpc::Service& service, const Crew::Options& options = {}) {
    InterceptorFactories factories;
    factories.push_back(std::make_unique<Factory>(std::move(hook)));
    start_made_by(std::move(factories), service, options);
  }
  void start_made_by(InterceptorFactories factories, const grpc::Service& service, const Crew::Options& options = {}) {
    engine_ = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host_ = std::make_unique<FakeHost>(*engine_, service, options);
    host_->link().interceptors = std::make_shared<const InterceptorFactories>(std::move(factories));
  }
  uint32_t call() {
    return engine_->call<Request>(0, [](Request* request) { request->set_text("x"); });
  }

  Events events_;
  CallbackService service_;
  std::unique_ptr<FakeEngine> engine_;
  std::unique_ptr<FakeHost> host_;
};

// The reaction to a cancellation, which has finished the call, returns while the last interceptor runs elsewhere.
TEST_F(InterceptionTest, ACallIsNotOverBeforeItsLastInterceptor) {
  class Reactor final : public grpc::ServerUnaryReactor {
   public:
    explicit Reactor(Events* events) : events_(events) {}
    void OnCancel() override {
      Finish(grpc::Status::CANCELLED);
      std::this_thread::sleep_for(milliseconds(30));
      events_->add("cancel");
    }
    void OnDone() override {
      events_->add("done");
      delete this;
    }

   private:
    Events* const events_;
  };
  service_.echo = [this](grpc::CallbackServerContext*) { return new Reactor(&events_); };
  start([this](InterceptorBatchMethods* batch) {
    if (!batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE)) return;
    std::this_thread::sleep_for(milliseconds(120));
    events_.add("closed");
  });
  for (int i = 0; i < 3; ++i) {
    const uint32_t number = call();
    std::this_thread::sleep_for(milliseconds(5));  // the handler has returned
    engine_->cancel(number);
    ASSERT_TRUE(engine_->answer(number));
    ASSERT_TRUE(engine_->finished(number));
  }
  const std::vector<std::string> once = {"cancel", "closed", "done"};
  std::vector<std::string> expected;
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), once.begin(), once.end());
  EXPECT_EQ(events_.all(), expected);
}

TEST_F(InterceptionTest, TheRequestStaysForTheLastInterceptor) {
  service_.echo = [](grpc::CallbackServerContext* context) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  };
  start([this](InterceptorBatchMethods* batch) {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_CLOSE)) {
      std::this_thread::sleep_for(milliseconds(20));
      events_.add("closed");
    }
  });
  const uint32_t number = call();
  const auto answer = engine_->answer(number);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->flags & kCompleteFinished, 0) << "the engine must keep the request";
  ASSERT_TRUE(engine_->finished(number));
  EXPECT_EQ(events_.all(), std::vector<std::string>{"closed"});
}

// Initial metadata of a reply without a stream, asked for in front of it, and an interceptor that holds it: the answer
// comes behind.
TEST_F(InterceptionTest, AnAnswerWaitsForTheInterceptorOfItsInitialMetadata) {
  class Reactor final : public grpc::ServerUnaryReactor {
   public:
    Reactor(Events* events, grpc::CallbackServerContext* context) : events_(events) {
      context->AddInitialMetadata("early", "bird");
      StartSendInitialMetadata();
      finisher_ = std::thread([this] {
        std::this_thread::sleep_for(milliseconds(15));
        Finish(grpc::Status::OK);
      });
    }
    void OnSendInitialMetadataDone(bool ok) override { events_->add(ok ? "sent" : "not sent"); }
    void OnDone() override {
      finisher_.join();
      events_->add("done");
      delete this;
    }

   private:
    Events* const events_;
    std::thread finisher_;
  };
  service_.echo = [this](grpc::CallbackServerContext* context) { return new Reactor(&events_, context); };
  start([this](InterceptorBatchMethods* batch) {
    if (!batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) return;
    std::this_thread::sleep_for(milliseconds(60));
    events_.add("intercepted");
  });
  const uint32_t number = call();
  ASSERT_TRUE(engine_->answer(number));
  ASSERT_TRUE(engine_->finished(number));
  EXPECT_EQ(events_.all(), (std::vector<std::string>{"intercepted", "sent", "done"}));
}

// ---- interceptors that proceed later

constexpr uint16_t kTalk = 4;

// Batches that wait for their Proceed.
class Held {
 public:
  bool add(InterceptorBatchMethods* batch) {
    std::lock_guard lock(mutex_);
    all_.push_back(batch);
    return false;
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return all_.size();
  }
  bool wait_for(size_t count) const {
    for (int i = 0; i < 5000 && size() < count; ++i) std::this_thread::sleep_for(milliseconds(1));
    return size() == count;
  }
  void proceed() {
    std::vector<InterceptorBatchMethods*> taken;
    {
      std::lock_guard lock(mutex_);
      taken.swap(all_);
    }
    for (InterceptorBatchMethods* batch : taken) batch->Proceed();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<InterceptorBatchMethods*> all_;
};

class SyncService final : public Testing::Service {
 public:
  std::atomic<int> handlers{0};

 private:
  grpc::Status Echo(grpc::ServerContext*, const Request* request, Reply* reply) override {
    ++handlers;
    reply->set_text(request->text());
    return grpc::Status::OK;
  }
  grpc::Status Talk(grpc::ServerContext*, grpc::ServerReaderWriter<Reply, Request>* stream) override {
    ++handlers;
    Request request;
    while (stream->Read(&request)) {
      Reply reply;
      reply.set_text(request.text());
      stream->Write(reply);
    }
    return grpc::Status::OK;
  }
};

class EchoingCallbacks final : public Testing::CallbackService {
 public:
  std::atomic<int> handlers{0};

 private:
  class Talker final : public grpc::ServerBidiReactor<Request, Reply> {
   public:
    Talker() { StartRead(&request_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      reply_.set_text(request_.text());
      StartWrite(&reply_);
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      StartRead(&request_);
    }
    void OnDone() override { delete this; }

   private:
    Request request_;
    Reply reply_;
  };

  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Request* request, Reply* reply) override {
    ++handlers;
    reply->set_text(request->text());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<Request, Reply>* Talk(grpc::CallbackServerContext*) override {
    ++handlers;
    return new Talker;
  }
};

constexpr size_t kManyCalls = 60;

class LateInterception : public InterceptionTest, public testing::WithParamInterface<InterceptionHookPoints> {
 protected:
  // More calls than there may be threads wait at that hook, and a call that is not held passes them.
  void hold_many(const grpc::Service& service) {
    Crew::Options options;
    options.max_threads = 2;
    std::atomic<bool> holds{true};
    start_with(
        [&](InterceptorBatchMethods* batch) {
          return !holds || !batch->QueryInterceptionHookPoint(GetParam()) || held_.add(batch);
        },
        service, options);
    std::vector<uint32_t> calls;
    for (size_t i = 0; i < kManyCalls; ++i) calls.push_back(call());
    ASSERT_TRUE(held_.wait_for(kManyCalls)) << held_.size() << " calls have come to their interceptor";
    EXPECT_LE(host_->crew().threads(), 4u);
    holds = false;
    ASSERT_TRUE(engine_->answer(call()));
    held_.proceed();
    for (const uint32_t number : calls) {
      const auto answer = engine_->answer(number);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 0u);
      EXPECT_EQ(engine_->reply<Reply>(*answer)->text(), "x");
      ASSERT_TRUE(engine_->finished(number));
    }
    EXPECT_FALSE(engine_->answered_twice());
    host_->stop();
  }

  Held held_;
};

TEST_P(LateInterception, HoldsNoThreadOfASynchronousMethod) {
  SyncService service;
  hold_many(service);
}

TEST_P(LateInterception, HoldsNoThreadOfACallbackMethod) {
  EchoingCallbacks service;
  hold_many(service);
}

INSTANTIATE_TEST_SUITE_P(Hooks, LateInterception,
                         testing::Values(InterceptionHookPoints::POST_RECV_INITIAL_METADATA,
                                         InterceptionHookPoints::PRE_SEND_STATUS,
                                         InterceptionHookPoints::POST_SEND_MESSAGE,
                                         InterceptionHookPoints::POST_RECV_CLOSE));

// At each point of a call, on a thread of its own, also while the Intercept itself has not returned.
TEST_F(InterceptionTest, EachPointOfACallMayProceedLaterOnAnotherThread) {
  SyncService service;
  std::atomic<int> seen{0};
  std::mutex mutex;
  std::vector<std::thread> threads;
  start_with(
      [&](InterceptorBatchMethods* batch) {
        const int number = seen++;
        std::thread thread([batch, number] {
          if (number % 2 == 0) std::this_thread::sleep_for(milliseconds(1));
          batch->Proceed();
        });
        std::lock_guard lock(mutex);
        threads.push_back(std::move(thread));
        if (number % 3 == 0) std::this_thread::sleep_for(milliseconds(2));
        return false;
      },
      service);
  for (int i = 0; i < 30; ++i) {
    const uint32_t number = call();
    const auto answer = engine_->answer(number);
    ASSERT_TRUE(answer);
    EXPECT_EQ(engine_->reply<Reply>(*answer)->text(), "x");
    ASSERT_TRUE(engine_->finished(number));
  }
  EXPECT_EQ(seen, 30 * 4);
  host_->stop();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(InterceptionTest, CallsThatInterceptorsHoldEndAfterTheEnginesDeath) {
  SyncService service;
  Held held;
  start_with(
      [&](InterceptorBatchMethods* batch) {
        return !batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA) ||
               held.add(batch);
      },
      service);
  for (int i = 0; i < 10; ++i) call();
  ASSERT_TRUE(held.wait_for(10));
  host_->kill_engine();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(host_->worker().calls_in_flight(), 10u);
  held.proceed();
  host_->stop();  // waits for them
}

// The initial metadata alone, in front of an answer that is there already.
TEST_F(InterceptionTest, AnAnswerWaitsForInitialMetadataThatAreHeldAlone) {
  service_.echo = [](grpc::CallbackServerContext* context) {
    auto* reactor = context->DefaultReactor();
    reactor->StartSendInitialMetadata();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  };
  Held held;
  start_with(
      [&](InterceptorBatchMethods* batch) {
        if (!batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) return true;
        EXPECT_FALSE(batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS));
        return held.add(batch);
      },
      service_);
  std::vector<uint32_t> calls;
  for (size_t i = 0; i < 10; ++i) calls.push_back(call());
  ASSERT_TRUE(held.wait_for(calls.size()));
  EXPECT_FALSE(engine_->answer(calls.back(), 20));
  EXPECT_EQ(engine_->waiting(calls.back()), 0u);
  held.proceed();
  for (const uint32_t number : calls) {
    ASSERT_TRUE(engine_->receive<Reply>(number, [](const Reply* reply, const FakeEngine::Message& message) {
      EXPECT_EQ(reply, nullptr);
      EXPECT_NE(message.flags & kReplyMessageHeadersOnly, 0);
    }));
    const auto answer = engine_->answer(number);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 0u);
    ASSERT_TRUE(engine_->finished(number));
  }
  EXPECT_FALSE(engine_->message_after_answer());
  host_->stop();
}

class HeldStream : public InterceptionTest {
 protected:
  // Of the messages of streams; unary calls pass.
  static bool is_message(InterceptorBatchMethods* batch) {
    const auto has = [batch](InterceptionHookPoints hook) { return batch->QueryInterceptionHookPoint(hook); };
    return (has(InterceptionHookPoints::POST_RECV_MESSAGE) &&
            !has(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) ||
           (has(InterceptionHookPoints::PRE_SEND_MESSAGE) && !has(InterceptionHookPoints::PRE_SEND_STATUS));
  }
  void send(uint32_t number, const std::string& text) {
    engine_->send<Request>(number, [&](Request* request) { request->set_text(text); });
  }
  void expect_echo(uint32_t number, const std::string& text) {
    ASSERT_TRUE(engine_->receive<Reply>(number, [&](const Reply* reply, const FakeEngine::Message&) {
      ASSERT_NE(reply, nullptr);
      EXPECT_EQ(reply->text(), text);
    }));
  }
  void expect_end(uint32_t number) {
    const auto answer = engine_->answer(number);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 0u);
    ASSERT_TRUE(engine_->finished(number));
  }

  // Each message waits, once where it is read and once where it is written, and other calls pass.
  void talk_step_by_step(const grpc::Service& service) {
    Held held;
    start_with([&](InterceptorBatchMethods* batch) { return !is_message(batch) || held.add(batch); }, service);
    const uint32_t number = engine_->open(kTalk);
    for (const char* text : {"one", "two"}) {
      send(number, text);
      ASSERT_TRUE(held.wait_for(1)) << "the read";
      ASSERT_TRUE(engine_->answer(call()));
      held.proceed();
      ASSERT_TRUE(held.wait_for(1)) << "the write";
      ASSERT_TRUE(engine_->answer(call()));
      EXPECT_EQ(engine_->waiting(number), 0u);
      held.proceed();
      expect_echo(number, text);
    }
    engine_->half_close(number);
    ASSERT_TRUE(held.wait_for(1)) << "the read of no message";
    EXPECT_FALSE(engine_->answer(number, 20));
    held.proceed();
    expect_end(number);
    host_->stop();
  }

  // Many messages of several streams, whose interceptors proceed on another thread, soon or late.
  void talk_much(const grpc::Service& service) {
    Held held;
    std::atomic<bool> over{false};
    start_with([&](InterceptorBatchMethods* batch) { return !is_message(batch) || held.add(batch); }, service);
    std::thread proceeder([&] {
      for (int i = 0; !over; ++i) {
        held.proceed();
        if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    std::vector<uint32_t> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(engine_->open(kTalk));
    for (int i = 0; i < 100; ++i) {
      for (const uint32_t number : streams) send(number, std::to_string(i));
      for (const uint32_t number : streams) expect_echo(number, std::to_string(i));
    }
    for (const uint32_t number : streams) engine_->half_close(number);
    for (const uint32_t number : streams) expect_end(number);
    over = true;
    proceeder.join();
    host_->stop();
  }
};

TEST_F(HeldStream, ASynchronousHandlerWaitsInReadAndWrite) {
  SyncService service;
  talk_step_by_step(service);
}

TEST_F(HeldStream, AReactorIsToldOfAReadAndAWriteBehindTheirInterceptors) {
  EchoingCallbacks service;
  talk_step_by_step(service);
}

TEST_F(HeldStream, ManyMessagesPassASynchronousHandler) {
  SyncService service;
  talk_much(service);
}

TEST_F(HeldStream, ManyMessagesPassAReactor) {
  EchoingCallbacks service;
  talk_much(service);
}

// ---- interceptors that throw

class ThrowingFactory final : public ServerInterceptorFactoryInterface {
  Interceptor* CreateServerInterceptor(ServerRpcInfo*) override { throw std::runtime_error("a factory's"); }
};

class Throwing : public InterceptionTest {
 protected:
  void expect_unknown(uint32_t number) {
    const auto answer = engine_->answer(number);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 2u);
    EXPECT_EQ(engine_->message(*answer), "Unexpected error in RPC handling");
    ASSERT_TRUE(engine_->finished(number));
  }
  // A unary call and a stream.
  void expect_both_unknown() {
    expect_unknown(call());
    const uint32_t number = engine_->open(kTalk);
    engine_->send<Request>(number, [](Request* request) { request->set_text("x"); }, true);
    expect_unknown(number);
  }
  template <typename Service>
  void factory_throws() {
    Service service;
    InterceptorFactories factories;
    factories.push_back(std::make_unique<ThrowingFactory>());
    start_made_by(std::move(factories), service);
    expect_both_unknown();
    EXPECT_EQ(service.handlers, 0);
    host_->stop();
  }
};

TEST_F(Throwing, AFactoryThatThrowsEndsItsCallInUnknown) {
  factory_throws<SyncService>();
  factory_throws<EchoingCallbacks>();
}

class ThrowingInterceptor : public Throwing, public testing::WithParamInterface<InterceptionHookPoints> {
 protected:
  template <typename Service>
  void interceptor_throws() {
    Service service;
    std::atomic<bool> throws{true};
    start_with(
        [&](InterceptorBatchMethods* batch) {
          if (throws && batch->QueryInterceptionHookPoint(GetParam())) throw std::runtime_error("an interceptor's");
          return true;
        },
        service);
    for (int i = 0; i < 3; ++i) expect_both_unknown();
    if (GetParam() == InterceptionHookPoints::POST_RECV_INITIAL_METADATA) EXPECT_EQ(service.handlers, 0);
    throws = false;
    const auto answer = engine_->answer(call());
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 0u) << "the next call is as any";
    host_->stop();
  }
};

TEST_P(ThrowingInterceptor, EndsACallOfASynchronousMethodInUnknown) { interceptor_throws<SyncService>(); }
TEST_P(ThrowingInterceptor, EndsACallOfACallbackMethodInUnknown) { interceptor_throws<EchoingCallbacks>(); }

INSTANTIATE_TEST_SUITE_P(Hooks, ThrowingInterceptor,
                         testing::Values(InterceptionHookPoints::POST_RECV_INITIAL_METADATA,
                                         InterceptionHookPoints::POST_RECV_MESSAGE,
                                         InterceptionHookPoints::PRE_SEND_MESSAGE,
                                         InterceptionHookPoints::PRE_SEND_STATUS));

// It runs on the thread that calls the Proceed of the one before it.
TEST_F(InterceptionTest, AnInterceptorThatThrowsBehindALateOneEndsTheCallInUnknown) {
  SyncService service;
  Held held;
  const auto is_call = [](InterceptorBatchMethods* batch) {
    return batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA);
  };
  InterceptorFactories factories;  // the last one sees first what is received
  factories.push_back(std::make_unique<Factory>([&](InterceptorBatchMethods* batch) {
    if (is_call(batch)) throw std::runtime_error("an interceptor's");
    return true;
  }));
  factories.push_back(
      std::make_unique<Factory>([&](InterceptorBatchMethods* batch) { return !is_call(batch) || held.add(batch); }));
  start_made_by(std::move(factories), service);
  const uint32_t number = call();
  ASSERT_TRUE(held.wait_for(1));
  held.proceed();
  const auto answer = engine_->answer(number);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 2u);
  ASSERT_TRUE(engine_->finished(number));
  EXPECT_EQ(service.handlers, 0);
  host_->stop();
}

}  // namespace
}  // namespace drover::host
