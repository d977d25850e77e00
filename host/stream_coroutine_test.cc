// Streams as coroutines (drover/stream.h), against an engine's end of the rings in the same process.
#include <drover/stream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

constexpr uint16_t kCollect = 2, kSpread = 3, kTalk = 4;
using TalkStream = BidiStream<Request, Reply>;
using Requests = RequestStream<Request>;
using Replies = ReplyStream<Reply>;

class Service final : public Testing::CallbackService {
 public:
  std::function<StreamTask(TalkStream&)> talk = [](TalkStream& stream) -> StreamTask {
    Reply reply;
    while (const Request* request = co_await stream.Read()) {
      reply.set_number(request->number());
      if (!co_await stream.Write(reply)) co_return grpc::Status::CANCELLED;
    }
    co_return grpc::Status::OK;
  };
  std::atomic<int> alive{0};

  // Counts the bodies that are kept.
  struct Alive {
    explicit Alive(std::atomic<int>* c) : count(c) { ++*count; }
    Alive(const Alive& other) : count(other.count) { ++*count; }
    ~Alive() { --*count; }
    std::atomic<int>* count;
  };

  grpc::ServerReadReactor<Request>* Collect(grpc::CallbackServerContext* context, Reply* reply) override {
    return serve<Requests>(context, [reply, here = Alive(&alive)](Requests& requests) -> StreamTask {
      int sum = 0;
      while (const Request* request = co_await requests.Read()) sum += request->number();
      reply->set_number(sum);
      co_return grpc::Status::OK;
    });
  }
  grpc::ServerWriteReactor<Reply>* Spread(grpc::CallbackServerContext* context, const Request* request) override {
    context->AddInitialMetadata("early", "bird");
    return serve<Replies>(context, [request, here = Alive(&alive)](Replies& replies) -> StreamTask {
      if (!co_await replies.SendInitialMetadata()) co_return grpc::Status::CANCELLED;
      Reply reply;
      for (int i = 0; i < request->number(); ++i) {
        reply.set_number(i);
        if (!co_await replies.Write(reply)) co_return grpc::Status::CANCELLED;
      }
      co_return grpc::Status(grpc::StatusCode::NOT_FOUND, "no more");
    });
  }
  grpc::ServerBidiReactor<Request, Reply>* Talk(grpc::CallbackServerContext* context) override {
    return serve<TalkStream>(context, [this, here = Alive(&alive)](TalkStream& stream) { return talk(stream); });
  }
};

class StreamCoroutineTest : public testing::Test {
 protected:
  void start() {
    engine = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host = std::make_unique<FakeHost>(*engine, service);
  }
  void send(uint32_t call, int number) {
    engine->send<Request>(call, [&](Request* request) { request->set_number(number); });
  }
  std::optional<int> receive(uint32_t call) {
    std::optional<int> number;
    engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message&) {
      number = reply == nullptr ? -1 : reply->number();
    });
    return number;
  }
  void expect_freed() {
    for (int i = 0; i < 2000 && service.alive != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(service.alive, 0);
  }

  Service service;
  std::unique_ptr<FakeEngine> engine;
  std::unique_ptr<FakeHost> host;
};

TEST_F(StreamCoroutineTest, ACoroutineEchoesUntilTheClientHasHalfClosed) {
  start();
  uint32_t call = engine->open(kTalk);
  for (int i = 0; i < 500; ++i) {
    send(call, i);
    ASSERT_EQ(receive(call), i);
  }
  engine->half_close(call);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 0u);
  expect_freed();
}

TEST_F(StreamCoroutineTest, RequestsAreCollected) {
  start();
  uint32_t call = engine->open(kCollect);
  int sum = 0;
  for (int i = 0; i < 500; ++i) send(call, i), sum += i;
  engine->half_close(call);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(engine->reply<Reply>(*answer)->number(), sum);
  expect_freed();
}

TEST_F(StreamCoroutineTest, RepliesFollowInitialMetadataAndEndInTheCoroutinesStatus) {
  start();
  uint32_t call = engine->call<Request>(kSpread, [](Request* request) { request->set_number(200); });
  EXPECT_EQ(receive(call), -1);  // the metadata alone
  for (int i = 0; i < 200; ++i) ASSERT_EQ(receive(call), i);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 5u);
  expect_freed();
}

TEST_F(StreamCoroutineTest, CancellationEndsAReadThatWaits) {
  std::atomic<bool> ended{false};
  service.talk = [&](TalkStream& stream) -> StreamTask {
    EXPECT_EQ(co_await stream.Read(), nullptr);
    EXPECT_FALSE(co_await stream.Write(Reply()));
    ended = true;
    co_return grpc::Status::CANCELLED;
  };
  start();
  uint32_t call = engine->open(kTalk);
  EXPECT_FALSE(engine->answer(call, 20));
  engine->cancel(call);
  ASSERT_TRUE(engine->answer(call));
  EXPECT_TRUE(ended);
  expect_freed();
}

TEST_F(StreamCoroutineTest, AnExceptionEndsTheCallInUnknown) {
  service.talk = [](TalkStream& stream) -> StreamTask {
    co_await stream.Read();
    throw std::runtime_error("no");
  };
  start();
  uint32_t call = engine->open(kTalk);
  send(call, 1);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 2u);
  expect_freed();
}

// Goes on on a thread of its own.
struct Elsewhere {
  std::vector<std::thread>* threads;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    threads->emplace_back([coroutine] { coroutine.resume(); });
  }
  void await_resume() {}
};

TEST_F(StreamCoroutineTest, ACoroutineMayGoOnOnOtherThreads) {
  std::vector<std::thread> threads;
  threads.reserve(100);
  service.talk = [&](TalkStream& stream) -> StreamTask {
    Reply reply;
    while (const Request* request = co_await stream.Read()) {
      co_await Elsewhere{&threads};
      reply.set_number(request->number());
      if (!co_await stream.Write(reply)) co_return grpc::Status::CANCELLED;
    }
    co_return grpc::Status::OK;
  };
  start();
  uint32_t call = engine->open(kTalk);
  for (int i = 0; i < 50; ++i) {
    send(call, i);
    ASSERT_EQ(receive(call), i);
  }
  engine->half_close(call);
  ASSERT_TRUE(engine->answer(call));
  expect_freed();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace drover::host
