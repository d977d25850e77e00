// Streams with synchronous handlers, against an engine's end of the rings in the same process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
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

constexpr uint16_t kEcho = 0, kOther = 1, kCollect = 2, kSpread = 3, kTalk = 4;

class SyncService final : public Testing::Service {
 public:
  std::function<grpc::Status(grpc::ServerContext*, const Request*, Reply*)> other;
  std::function<grpc::Status(grpc::ServerContext*, grpc::ServerReader<Request>*, Reply*)> collect;
  std::function<grpc::Status(grpc::ServerContext*, const Request*, grpc::ServerWriter<Reply>*)> spread;
  std::function<grpc::Status(grpc::ServerContext*, grpc::ServerReaderWriter<Reply, Request>*)> talk;

  grpc::Status Echo(grpc::ServerContext*, const Request* request, Reply* reply) override {
    reply->set_text(request->text());
    return grpc::Status::OK;
  }
  grpc::Status Other(grpc::ServerContext* context, const Request* request, Reply* reply) override {
    return other(context, request, reply);
  }
  grpc::Status Collect(grpc::ServerContext* context, grpc::ServerReader<Request>* reader, Reply* reply) override {
    return collect(context, reader, reply);
  }
  grpc::Status Spread(grpc::ServerContext* context, const Request* request,
                      grpc::ServerWriter<Reply>* writer) override {
    return spread(context, request, writer);
  }
  grpc::Status Talk(grpc::ServerContext* context, grpc::ServerReaderWriter<Reply, Request>* stream) override {
    return talk(context, stream);
  }
};

void wait_for(const std::function<bool()>& condition, int timeout_ms = 5000) {
  auto end = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(condition());
}

class SyncStreamTest : public testing::Test {
 protected:
  SyncStreamTest() {
    service.collect = [](grpc::ServerContext*, grpc::ServerReader<Request>* reader, Reply* reply) {
      Request request;
      int sum = 0;
      while (reader->Read(&request)) sum += request.number();
      reply->set_number(sum);
      return grpc::Status::OK;
    };
    service.spread = [](grpc::ServerContext*, const Request* request, grpc::ServerWriter<Reply>* writer) {
      Reply reply;
      for (int i = 0; i < request->number(); ++i) {
        reply.set_number(i);
        if (!writer->Write(reply)) return grpc::Status(grpc::StatusCode::ABORTED, "a Write failed");
      }
      return grpc::Status::OK;
    };
    service.talk = [this](grpc::ServerContext*, grpc::ServerReaderWriter<Reply, Request>* stream) {
      ++running;
      Request request;
      Reply reply;
      while (stream->Read(&request)) {
        reply.set_number(request.number());
        if (!stream->Write(reply)) break;
      }
      --running;
      return grpc::Status::OK;
    };
  }
  void start(FakeEngine::Options options = {}, Crew::Options crew = {}) {
    engine = std::make_unique<FakeEngine>(options);
    host = std::make_unique<FakeHost>(*engine, service, crew, options.workers);
  }
  void send(uint32_t call, int number) {
    engine->send<Request>(call, [&](Request* request) { request->set_number(number); });
  }
  std::optional<int> receive(uint32_t call, int timeout_ms = 5000) {
    std::optional<int> number;
    engine->receive<Reply>(
        call, [&](const Reply* reply, const FakeEngine::Message&) { number = reply->number(); }, timeout_ms);
    return number;
  }
  bool echoes() {
    return engine->answer(engine->call<Request>(kEcho, [](Request*) {})).has_value();
  }

  SyncService service;
  std::unique_ptr<FakeEngine> engine;
  std::unique_ptr<FakeHost> host;
  std::atomic<int> running{0};
};

TEST_F(SyncStreamTest, AReaderGetsAllMessagesThenFalse) {
  start();
  for (int count : {0, 1, 64, 3000}) {
    uint32_t call = engine->open(kCollect);
    int sum = 0;
    for (int i = 1; i <= count; ++i) send(call, i), sum += i;
    engine->half_close(call);
    auto answer = engine->answer(call);
    ASSERT_TRUE(answer);
    EXPECT_EQ(engine->reply<Reply>(*answer)->number(), sum);
  }
}

TEST_F(SyncStreamTest, AWriterSendsAllMessagesInOrder) {
  start();
  for (int count : {0, 1, 64, 65, 3000}) {
    uint32_t call = engine->call<Request>(kSpread, [&](Request* request) { request->set_number(count); });
    for (int i = 0; i < count; ++i) ASSERT_EQ(receive(call), i);
    auto answer = engine->answer(call);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 0u);
    EXPECT_EQ(engine->waiting(call), 0u);
    EXPECT_FALSE(engine->message_after_answer());
  }
}

TEST_F(SyncStreamTest, OneStreamThatWaitsNeedsNoOtherThread) {
  start({}, without_takeover());
  uint32_t call = engine->open(kTalk);
  for (int i = 0; i < 100; ++i) {
    send(call, i);
    ASSERT_EQ(receive(call), i);
  }
  EXPECT_EQ(host->crew().threads(), 1u);
  engine->half_close(call);
  ASSERT_TRUE(engine->answer(call));
}

TEST_F(SyncStreamTest, AStreamThatWaitsGivesTheLeadToTheNextCallAtOnce) {
  start({}, without_takeover());
  std::vector<uint32_t> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(engine->open(kTalk));
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < calls.size(); ++i) send(calls[i], static_cast<int>(i));
    for (size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(receive(calls[i]), static_cast<int>(i));
    ASSERT_TRUE(echoes());
  }
  EXPECT_EQ(running, 50);
  for (uint32_t call : calls) engine->half_close(call);
  for (uint32_t call : calls) ASSERT_TRUE(engine->answer(call));
  EXPECT_FALSE(engine->answered_twice());
}

TEST_F(SyncStreamTest, MoreStreamsThanThreadsWaitForTheirTurnAndOthersGoOn) {
  Crew::Options crew;
  crew.max_threads = 4;
  start({}, crew);
  std::vector<uint32_t> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(engine->open(kTalk));
  for (uint32_t call : calls) send(call, 1);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(receive(calls[static_cast<size_t>(i)]), 1);
  EXPECT_FALSE(receive(calls[4], 30));
  for (int i = 0; i < 4; ++i) {
    send(calls[static_cast<size_t>(i)], 2);
    ASSERT_EQ(receive(calls[static_cast<size_t>(i)]), 2);
  }
  EXPECT_EQ(running, 4);
  for (uint32_t call : calls) {
    engine->half_close(call);
    ASSERT_TRUE(engine->answer(call));
  }
}

TEST_F(SyncStreamTest, AClientThatTakesNothingStopsTheWriterAtTheBound) {
  std::atomic<int> written{0};
  service.spread = [&](grpc::ServerContext*, const Request*, grpc::ServerWriter<Reply>* writer) {
    Reply reply;
    while (writer->Write(reply)) ++written;
    return grpc::Status::CANCELLED;
  };
  start({.auto_release = false});
  uint32_t call = engine->call<Request>(kSpread, [](Request*) {});
  wait_for([&] { return written == static_cast<int>(kMaxStreamMessages); });
  EXPECT_TRUE(echoes());
  EXPECT_EQ(written, static_cast<int>(kMaxStreamMessages));
  for (int i = 0; i < 3; ++i) {
    engine->receive<Reply>(call, [&](const Reply*, const FakeEngine::Message& m) { engine->release(m.tx_call); });
  }
  wait_for([&] { return written == static_cast<int>(kMaxStreamMessages) + 3; });
  engine->cancel(call);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 1u);
}

TEST_F(SyncStreamTest, AHandlerThatDoesNotReadLeavesMessagesUnconsumed) {
  std::atomic<int> allowed{0};
  service.collect = [&](grpc::ServerContext*, grpc::ServerReader<Request>* reader, Reply*) {
    Request request;
    for (int read = 0; reader->Read(&request);) {
      for (++read; read >= allowed && allowed >= 0;) std::this_thread::sleep_for(milliseconds(1));
    }
    return grpc::Status::OK;
  };
  start();
  uint32_t call = engine->open(kCollect);
  for (int i = 0; i < static_cast<int>(kMaxStreamMessages); ++i) send(call, i);
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_GE(engine->unconsumed(call), size_t{kMaxStreamMessages} - 1);
  allowed = 1 + 2 * static_cast<int>(8);
  wait_for([&] { return engine->unconsumed(call) < size_t{kMaxStreamMessages} - 8; });
  allowed = -1;
  wait_for([&] { return engine->unconsumed(call) == 0; });
  engine->half_close(call);
  ASSERT_TRUE(engine->answer(call));
}

TEST_F(SyncStreamTest, CancellationFailsAReadThatWaits) {
  bool saw = false;
  service.talk = [&](grpc::ServerContext* context, grpc::ServerReaderWriter<Reply, Request>* stream) {
    Request request;
    ++running;
    EXPECT_FALSE(stream->Read(&request));
    EXPECT_FALSE(stream->Write(Reply()));
    saw = context->IsCancelled();
    return grpc::Status::CANCELLED;
  };
  start();
  uint32_t call = engine->open(kTalk);
  wait_for([&] { return running == 1; });
  engine->cancel(call);
  ASSERT_TRUE(engine->answer(call));
  EXPECT_TRUE(saw);
}

TEST_F(SyncStreamTest, TryCancelFailsReadsAndWritesAtOnce) {
  service.talk = [](grpc::ServerContext* context, grpc::ServerReaderWriter<Reply, Request>* stream) {
    Request request;
    EXPECT_TRUE(stream->Read(&request));
    context->TryCancel();
    EXPECT_FALSE(stream->Read(&request));
    EXPECT_FALSE(stream->Write(Reply()));
    return grpc::Status::OK;
  };
  start();
  uint32_t call = engine->open(kTalk);
  send(call, 1);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 1u);
}

TEST_F(SyncStreamTest, TheEnginesDeathFailsReadsAndWritesThatWait) {
  service.spread = [&](grpc::ServerContext*, const Request*, grpc::ServerWriter<Reply>* writer) {
    ++running;
    while (writer->Write(Reply())) {
    }
    --running;
    return grpc::Status::OK;
  };
  start({.auto_release = false});
  for (int i = 0; i < 5; ++i) {
    engine->open(kTalk);
    engine->call<Request>(kSpread, [](Request*) {});
  }
  wait_for([&] { return running == 10; });
  host->stop();
  EXPECT_EQ(running, 0);
}

TEST_F(SyncStreamTest, OneThreadMayReadWhileAnotherWrites) {
  service.talk = [](grpc::ServerContext*, grpc::ServerReaderWriter<Reply, Request>* stream) {
    std::thread writer([&] {
      Reply reply;
      for (int i = 0; i < 1000; ++i) {
        reply.set_number(i);
        EXPECT_TRUE(stream->Write(reply));
      }
    });
    Request request;
    int read = 0;
    while (stream->Read(&request)) EXPECT_EQ(request.number(), read++);
    EXPECT_EQ(read, 1000);
    writer.join();
    return grpc::Status::OK;
  };
  start();
  uint32_t call = engine->open(kTalk);
  int next = 0;
  for (int i = 0; i < 1000; ++i) {
    send(call, i);
    while (engine->waiting(call) > 0) ASSERT_EQ(receive(call), next++);
  }
  engine->half_close(call);
  while (next < 1000) ASSERT_EQ(receive(call), next++);
  ASSERT_TRUE(engine->answer(call));
  EXPECT_FALSE(engine->message_after_answer());
}

TEST_F(SyncStreamTest, InitialMetadataGoesOutEarlyIfAskedFor) {
  std::atomic<bool> go{false};
  service.talk = [&](grpc::ServerContext* context, grpc::ServerReaderWriter<Reply, Request>* stream) {
    context->AddInitialMetadata("early", "bird");
    context->AddTrailingMetadata("late", "owl");
    stream->SendInitialMetadata();
    while (!go) std::this_thread::sleep_for(milliseconds(1));
    stream->WriteLast(Reply(), grpc::WriteOptions());
    return grpc::Status::OK;
  };
  start();
  uint32_t call = engine->open(kTalk);
  ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message& message) {
    EXPECT_EQ(reply, nullptr);
    EXPECT_EQ(message.flags, kReplyMessageHeadersOnly);
    EXPECT_EQ(engine->initial_metadata(message), (FakeEngine::Pairs{{"early", "bird"}}));
  }));
  go = true;
  ASSERT_TRUE(engine->receive<Reply>(
      call, [&](const Reply*, const FakeEngine::Message& message) { EXPECT_EQ(message.trailer, 0u); }));
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(engine->pairs(*answer, false), (FakeEngine::Pairs{{"late", "owl"}}));
  EXPECT_EQ(engine->pairs(*answer, true), FakeEngine::Pairs{});
}

TEST_F(SyncStreamTest, AHandlerThatThrowsEndsItsStreamInUnknown) {
  service.talk = [](grpc::ServerContext*, grpc::ServerReaderWriter<Reply, Request>*) -> grpc::Status {
    throw std::runtime_error("no");
  };
  start();
  uint32_t call = engine->open(kTalk);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 2u);
}

TEST_F(SyncStreamTest, AReplyThatFitsNoMemoryEndsTheCall) {
  service.spread = [](grpc::ServerContext*, const Request*, grpc::ServerWriter<Reply>* writer) {
    Reply reply;
    reply.set_payload(std::string(2 << 20, 'x'));
    EXPECT_FALSE(writer->Write(reply));
    return grpc::Status::OK;
  };
  start({.tx_bytes = 1 << 20});
  auto answer = engine->answer(engine->call<Request>(kSpread, [](Request*) {}));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 8u);
}

TEST_F(SyncStreamTest, AThousandHandlersMayBlockAtOnce) {
  std::mutex mutex;
  std::condition_variable all_here;
  int blocked = 0;
  service.other = [&](grpc::ServerContext*, const Request*, Reply*) {
    std::unique_lock lock(mutex);
    if (++blocked == 1000) all_here.notify_all();
    all_here.wait_for(lock, std::chrono::seconds(25), [&] { return blocked == 1000; });
    return grpc::Status::OK;
  };
  Crew::Options crew;
  crew.idle_ns = 50'000'000;
  start({.ring_slots = 2048, .rx_bytes = 16 << 20, .tx_bytes = 16 << 20}, crew);
  std::vector<uint32_t> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(engine->call<Request>(kOther, [](Request*) {}));
  for (uint32_t call : calls) ASSERT_TRUE(engine->answer(call, 30'000));
  EXPECT_GE(host->crew().takeovers(), 999u);
  // Threads that have nothing to do end.
  wait_for([&] { return host->crew().threads() <= 2; }, 20'000);
  EXPECT_TRUE(echoes());
}

}  // namespace
}  // namespace drover::host
