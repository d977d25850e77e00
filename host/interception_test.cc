// Interceptors that take long: the call waits for them, whichever thread has the lead meanwhile.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
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

using Hook = std::function<void(InterceptorBatchMethods*)>;

class Factory final : public ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Hook hook) : hook_(std::move(hook)) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo*) override { return new Made(hook_); }

 private:
  struct Made final : Interceptor {
    explicit Made(Hook run) : hook(std::move(run)) {}
    void Intercept(InterceptorBatchMethods* batch) override {
      hook(batch);
      batch->Proceed();
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
  void start(Hook hook) {
    InterceptorFactories factories;
    factories.push_back(std::make_unique<Factory>(std::move(hook)));
    engine_ = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host_ = std::make_unique<FakeHost>(*engine_, service_);
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

}  // namespace
}  // namespace drover::host
