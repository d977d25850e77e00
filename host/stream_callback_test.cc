// Streams with reactors, against an engine's end of the rings in the same process.
#include <gmock/gmock.h>
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

constexpr uint16_t kEcho = 0, kCollect = 2, kSpread = 3, kTalk = 4;

class CallbackService final : public Testing::CallbackService {
 public:
  std::function<grpc::ServerReadReactor<Request>*(grpc::CallbackServerContext*, Reply*)> collect;
  std::function<grpc::ServerWriteReactor<Reply>*(grpc::CallbackServerContext*, const Request*)> spread;
  std::function<grpc::ServerBidiReactor<Request, Reply>*(grpc::CallbackServerContext*)> talk;

  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Request* request, Reply* reply) override {
    reply->set_text(request->text());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerReadReactor<Request>* Collect(grpc::CallbackServerContext* context, Reply* reply) override {
    return collect(context, reply);
  }
  grpc::ServerWriteReactor<Reply>* Spread(grpc::CallbackServerContext* context, const Request* request) override {
    return spread(context, request);
  }
  grpc::ServerBidiReactor<Request, Reply>* Talk(grpc::CallbackServerContext* context) override { return talk(context); }
};

// What happened to a reactor, in order.
class Events {
 public:
  void add(const std::string& what) {
    std::lock_guard lock(mutex_);
    events_.push_back(what);
  }
  std::vector<std::string> all() const {
    std::lock_guard lock(mutex_);
    return events_;
  }
  bool has(const std::string& what) const {
    std::lock_guard lock(mutex_);
    return std::find(events_.begin(), events_.end(), what) != events_.end();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

std::string word(const char* name, bool ok) { return std::string(name) + (ok ? " ok" : " failed"); }

// A reactor that does nothing by itself and records everything.
struct Recorder : grpc::ServerBidiReactor<Request, Reply> {
  explicit Recorder(Events* to) : events(to) {}
  void OnSendInitialMetadataDone(bool ok) override { events->add(word("metadata", ok)); }
  void OnReadDone(bool ok) override { events->add(word("read", ok)); }
  void OnWriteDone(bool ok) override { events->add(word("write", ok)); }
  void OnCancel() override { events->add("cancel"); }
  void OnDone() override { events->add("done"); }
  Events* events;
  Request request;
  Reply reply;
};

// Sends each message back.
struct Echoer : grpc::ServerBidiReactor<Request, Reply> {
  Echoer() { StartRead(&request); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    reply.set_text(request.text());
    reply.set_number(request.number());
    StartWrite(&reply);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request);
  }
  void OnDone() override { delete this; }
  Request request;
  Reply reply;
};

void wait_for(const std::function<bool()>& condition, int timeout_ms = 5000) {
  auto end = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(condition());
}

class StreamCallbackTest : public testing::Test {
 protected:
  StreamCallbackTest() {
    service.talk = [](grpc::CallbackServerContext*) { return new Echoer(); };
  }
  void start(FakeEngine::Options options = {}, Crew::Options crew = {}) {
    engine = std::make_unique<FakeEngine>(options);
    host = std::make_unique<FakeHost>(*engine, service, crew, options.workers);
  }
  // A call of Talk whose reactor only records.
  uint32_t talk_to(Recorder* reactor) {
    service.talk = [this, reactor](grpc::CallbackServerContext*) {
      bound = true;
      return reactor;
    };
    start();
    uint32_t call = engine->open(kTalk);
    wait_for([&] { return bound.load(); });
    return call;
  }
  void send(uint32_t call, int number, const std::string& text = "") {
    engine->send<Request>(call, [&](Request* request) {
      request->set_number(number);
      request->set_text(text);
    });
  }
  std::optional<int> receive(uint32_t call, int timeout_ms = 5000) {
    std::optional<int> number;
    engine->receive<Reply>(
        call, [&](const Reply* reply, const FakeEngine::Message&) { number = reply->number(); }, timeout_ms);
    return number;
  }

  CallbackService service;
  std::unique_ptr<FakeEngine> engine;
  std::unique_ptr<FakeHost> host;
  std::atomic<bool> bound{false};
};

TEST_F(StreamCallbackTest, MessagesAreEchoedInOrder) {
  start({}, without_takeover());
  uint32_t call = engine->open(kTalk);
  for (int i = 0; i < 1000; ++i) {
    send(call, i, "text " + std::to_string(i));
    std::string text;
    ASSERT_TRUE(
        engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message&) { text = reply->text(); }));
    ASSERT_EQ(text, "text " + std::to_string(i));
  }
  EXPECT_EQ(engine->unconsumed(call), 0u);
  EXPECT_EQ(engine->consumed_slots(), 0u);  // all went along with replies
  engine->half_close(call);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 0u);
  EXPECT_EQ(answer->response, 0u);
  EXPECT_EQ(engine->finished(call), true);
}

TEST_F(StreamCallbackTest, ManyMessagesOfManyCallsAreEachEchoedOnceInOrder) {
  start({.ring_slots = 64});
  constexpr int kCalls = 20, kMessages = 500;
  std::vector<uint32_t> calls;
  std::vector<int> next(kCalls, 0);
  for (int i = 0; i < kCalls; ++i) calls.push_back(engine->open(kTalk));
  auto take = [&] {
    for (int i = 0; i < kCalls; ++i) {
      while (engine->waiting(calls[i]) > 0) {
        ASSERT_EQ(receive(calls[i]), i * 100'000 + next[i]);
        ++next[i];
      }
    }
  };
  for (int m = 0; m < kMessages; ++m) {
    for (int i = 0; i < kCalls; ++i) send(calls[i], i * 100'000 + m);
    take();
  }
  for (uint32_t call : calls) engine->half_close(call);
  for (uint32_t call : calls) ASSERT_TRUE(engine->answer(call));
  take();
  EXPECT_EQ(next, std::vector<int>(kCalls, kMessages));
  EXPECT_FALSE(engine->message_after_answer());
  EXPECT_FALSE(engine->answered_twice());
}

TEST_F(StreamCallbackTest, AStreamOfRequestsGetsOneReply) {
  struct Sum : grpc::ServerReadReactor<Request> {
    explicit Sum(Reply* to) : reply(to) { StartRead(&request); }
    void OnReadDone(bool ok) override {
      if (!ok) {
        reply->set_number(sum);
        return Finish(grpc::Status::OK);
      }
      sum += request.number();
      StartRead(&request);
    }
    void OnDone() override { delete this; }
    Reply* reply;
    Request request;
    int sum = 0;
  };
  service.collect = [](grpc::CallbackServerContext*, Reply* reply) { return new Sum(reply); };
  start();
  uint32_t call = engine->open(kCollect);
  int sum = 0;
  for (int i = 1; i <= 1000; ++i) send(call, i), sum += i;
  engine->half_close(call);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(engine->reply<Reply>(*answer)->number(), sum);
  EXPECT_LT(engine->consumed_slots(), 1000u);
}

TEST_F(StreamCallbackTest, OneRequestGetsAStreamOfReplies) {
  struct Counter : grpc::ServerWriteReactor<Reply> {
    explicit Counter(const Request* request) : count(request->number()) { next(); }
    void next() {
      if (sent == count) return Finish(grpc::Status::OK);
      reply.set_number(sent++);
      StartWrite(&reply);
    }
    void OnWriteDone(bool ok) override { ok ? next() : Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
    int count, sent = 0;
    Reply reply;
  };
  service.spread = [](grpc::CallbackServerContext*, const Request* request) { return new Counter(request); };
  start();
  for (int count : {0, 1, 64, 65, 3000}) {
    uint32_t call = engine->call<Request>(kSpread, [&](Request* request) { request->set_number(count); });
    for (int i = 0; i < count; ++i) ASSERT_EQ(receive(call), i);
    auto answer = engine->answer(call);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 0u);
    EXPECT_EQ(engine->waiting(call), 0u);
  }
}

TEST_F(StreamCallbackTest, MessagesOfManySizesArriveWhole) {
  struct Sizes : grpc::ServerWriteReactor<Reply> {
    explicit Sizes(const Request* request) : sizes(request->words().begin(), request->words().end()) { next(); }
    void next() {
      if (sent == sizes.size()) return Finish(grpc::Status::OK);
      reply.Clear();
      reply.set_payload(std::string(std::stoul(sizes[sent]), static_cast<char>('a' + sent % 26)));
      ++sent;
      StartWrite(&reply);
    }
    void OnWriteDone(bool ok) override { ok ? next() : Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
    std::vector<std::string> sizes;
    size_t sent = 0;
    Reply reply;
  };
  service.spread = [](grpc::CallbackServerContext*, const Request* request) { return new Sizes(request); };
  start();
  std::vector<size_t> sizes;
  for (int round = 0; round < 20; ++round) {
    for (size_t size : {0u, 1u, 100u, 1000u, 4000u, 5000u, 8000u, 9000u, 100'000u}) sizes.push_back(size + round);
  }
  sizes.push_back(3 << 20);
  uint32_t call = engine->call<Request>(
      kSpread,
      [&](Request* request) {
        for (size_t size : sizes) request->add_words(std::to_string(size));
      },
      kNoDeadline, {}, 0, 16);
  for (size_t i = 0; i < sizes.size(); ++i) {
    bool same = false;
    ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message&) {
      same = reply->payload() == std::string(sizes[i], static_cast<char>('a' + i % 26));
    }));
    ASSERT_TRUE(same) << i;
  }
  ASSERT_TRUE(engine->answer(call));
  wait_for([&] { return host->worker().calls_in_flight() == 0; });
}

TEST_F(StreamCallbackTest, AClientThatTakesNothingStopsTheWriterAtTheBound) {
  Events events;
  struct Endless : grpc::ServerWriteReactor<Reply> {
    explicit Endless(Events* to, size_t size) : events(to) {
      reply.set_payload(std::string(size, 'x'));
      StartWrite(&reply);
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      ++written;
      StartWrite(&reply);
    }
    void OnDone() override { events->add("done"); }
    Events* events;
    std::atomic<int> written{0};
    Reply reply;
  };
  for (size_t size : {10u, 300'000u}) {
    Endless endless(&events, size);
    service.spread = [&](grpc::CallbackServerContext*, const Request*) { return &endless; };
    start({.auto_release = false});
    uint32_t call = engine->call<Request>(kSpread, [](Request*) {});
    int most = size == 10 ? static_cast<int>(kMaxStreamMessages) : 4;
    wait_for([&] { return endless.written == most; });
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(endless.written, most);
    EXPECT_EQ(engine->waiting(call), static_cast<size_t>(most));
    // Other calls are served, and each message that is released makes room for one.
    EXPECT_TRUE(engine->answer(engine->call<Request>(kEcho, [](Request*) {})));
    for (int i = 0; i < 3; ++i) {
      engine->receive<Reply>(call, [&](const Reply*, const FakeEngine::Message& m) { engine->release(m.tx_call); });
    }
    wait_for([&] { return endless.written == most + 3; });
    engine->cancel(call);
    ASSERT_TRUE(engine->answer(call));
    wait_for([&] { return events.has("done"); });
  }
}

TEST_F(StreamCallbackTest, MessagesReleasedInAnyOrderMakeRoomInTheOrderOfWriting) {
  start({.auto_release = false});
  uint32_t call = engine->open(kTalk);
  std::vector<uint32_t> held;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 64; ++i) send(call, i);
    for (int i = 0; i < 64; ++i) {
      ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message& message) {
        EXPECT_EQ(reply->number(), i);
        held.push_back(message.tx_call);
      }));
    }
    std::shuffle(held.begin(), held.end(), std::mt19937(static_cast<unsigned>(round)));
    for (uint32_t tx_call : held) engine->release(tx_call);
    held.clear();
  }
  EXPECT_EQ(host->link().broken.load(), nullptr);
}

TEST_F(StreamCallbackTest, AHandlerThatDoesNotReadLeavesMessagesUnconsumed) {
  Events events;
  Recorder reactor(&events);
  uint32_t call = talk_to(&reactor);
  for (int i = 0; i < static_cast<int>(kMaxStreamMessages); ++i) send(call, i);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(engine->unconsumed(call), size_t{kMaxStreamMessages});
  reactor.StartRead(&reactor.request);  // from this thread
  wait_for([&] { return events.has("read ok"); });
  EXPECT_EQ(reactor.request.number(), 0);
  wait_for([&] { return engine->unconsumed(call) == size_t{kMaxStreamMessages} - 1; });
  reactor.Finish(grpc::Status::OK);
  ASSERT_TRUE(engine->answer(call));
  ASSERT_TRUE(engine->finished(call));
  EXPECT_EQ(events.all(), (std::vector<std::string>{"read ok", "done"}));
}

TEST_F(StreamCallbackTest, AReadThatIsOutstandingAtTheEndFails) {
  Events events;
  Recorder reactor(&events);
  uint32_t call = talk_to(&reactor);
  reactor.StartRead(&reactor.request);
  reactor.Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "no"));
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 5u);
  EXPECT_EQ(engine->message(*answer), "no");
  wait_for([&] { return events.has("done"); });
  EXPECT_EQ(events.all(), (std::vector<std::string>{"read failed", "done"}));
}

TEST_F(StreamCallbackTest, CancellationFailsReadsAndWritesAndCallsOnCancel) {
  Events events;
  Recorder reactor(&events);
  uint32_t call = talk_to(&reactor);
  reactor.StartRead(&reactor.request);
  engine->cancel(call);
  wait_for([&] { return events.has("cancel") && events.has("read failed"); });
  reactor.StartWrite(&reactor.reply);
  wait_for([&] { return events.has("write failed"); });
  reactor.StartRead(&reactor.request);
  wait_for([&] { return events.all().size() == 4; });
  EXPECT_EQ(events.all()[3], "read failed");
  reactor.Finish(grpc::Status::CANCELLED);
  ASSERT_TRUE(engine->answer(call));
  ASSERT_TRUE(engine->finished(call));
  EXPECT_EQ(events.all().back(), "done");
  EXPECT_EQ(engine->waiting(call), 0u);
}

TEST_F(StreamCallbackTest, TheEnginesDeathFailsWhatIsOutstanding) {
  Events events;
  struct Ending : Recorder {
    using Recorder::Recorder;
    void OnCancel() override {
      Recorder::OnCancel();
      Finish(grpc::Status::CANCELLED);
    }
  } reactor(&events);
  talk_to(&reactor);
  reactor.StartRead(&reactor.request);
  host->stop();
  std::vector<std::string> all = events.all();
  EXPECT_THAT(all, testing::UnorderedElementsAre("cancel", "read failed", "done"));
  EXPECT_EQ(all.back(), "done");
}

TEST_F(StreamCallbackTest, InitialMetadataGoesOutEarlyIfAskedFor) {
  Events events;
  Recorder reactor(&events);
  service.talk = [&](grpc::CallbackServerContext* context) {
    context->AddInitialMetadata("early", "bird");
    context->AddTrailingMetadata("late", "owl");
    reactor.StartSendInitialMetadata();
    return &reactor;
  };
  start();
  uint32_t call = engine->open(kTalk);
  FakeEngine::Pairs pairs;
  ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message& message) {
    EXPECT_EQ(reply, nullptr);
    EXPECT_EQ(message.flags, kReplyMessageHeadersOnly);
    pairs = engine->initial_metadata(message);
  }));
  EXPECT_EQ(pairs, (FakeEngine::Pairs{{"early", "bird"}}));
  wait_for([&] { return events.has("metadata ok"); });
  reactor.StartWriteAndFinish(&reactor.reply, grpc::WriteOptions(), grpc::Status::OK);
  ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message& message) {
    EXPECT_NE(reply, nullptr);
    EXPECT_EQ(message.trailer, 0u);
  }));
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(engine->pairs(*answer, true), FakeEngine::Pairs{});
  EXPECT_EQ(engine->pairs(*answer, false), (FakeEngine::Pairs{{"late", "owl"}}));
  wait_for([&] { return events.has("done"); });
  EXPECT_EQ(events.all(), (std::vector<std::string>{"metadata ok", "done"}));
}

TEST_F(StreamCallbackTest, InitialMetadataGoesWithTheFirstMessageOtherwise) {
  Events events;
  Recorder reactor(&events);
  service.talk = [&](grpc::CallbackServerContext* context) {
    context->AddInitialMetadata("first", "1");
    reactor.reply.set_number(7);
    reactor.StartWrite(&reactor.reply);
    return &reactor;
  };
  start();
  uint32_t call = engine->open(kTalk);
  ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply* reply, const FakeEngine::Message& message) {
    EXPECT_EQ(reply->number(), 7);
    EXPECT_EQ(message.flags, 0);
    EXPECT_EQ(engine->initial_metadata(message), (FakeEngine::Pairs{{"first", "1"}}));
  }));
  wait_for([&] { return events.has("write ok"); });
  reactor.Finish(grpc::Status::OK);
  ASSERT_TRUE(engine->answer(call));
  wait_for([&] { return events.has("done"); });
}

TEST_F(StreamCallbackTest, OperationsMayComeFromManyThreads) {
  for (int round = 0; round < 100; ++round) {
    Events events;
    Recorder reactor(&events);
    bound = false;
    uint32_t call = talk_to(&reactor);
    std::thread reader([&] { reactor.StartRead(&reactor.request); });
    std::thread writer([&] { reactor.StartWrite(&reactor.reply); });
    send(call, round);
    reader.join();
    writer.join();
    wait_for([&] { return events.has("read ok") && events.has("write ok"); });
    std::thread finisher([&] { reactor.Finish(grpc::Status::OK); });
    ASSERT_TRUE(engine->answer(call));
    finisher.join();
    wait_for([&] { return events.has("done"); });
    EXPECT_EQ(events.all().size(), 3u);
  }
}

// What a reaction asks for is done although the reaction goes on, once it has gone on for long.
TEST_F(StreamCallbackTest, AReactionThatBlocksHoldsUpNeitherItsOtherOperationsNorOtherCalls) {
  Events events;
  std::atomic<bool> go{false};
  struct Stuck : Recorder {
    Stuck(Events* to, std::atomic<bool>* until) : Recorder(to), go(until) {}
    void OnReadDone(bool ok) override {
      if (!ok) return;
      StartWrite(&reply);
      while (!*go) std::this_thread::sleep_for(milliseconds(1));
      StartRead(&request);
      Recorder::OnReadDone(ok);
    }
    std::atomic<bool>* go;
  } reactor(&events, &go);
  uint32_t call = talk_to(&reactor);
  reactor.StartRead(&reactor.request);
  send(call, 1);
  wait_for([&] { return events.has("write ok"); });
  EXPECT_TRUE(engine->answer(engine->call<Request>(kEcho, [](Request*) {})));
  EXPECT_FALSE(events.has("read ok"));
  go = true;
  wait_for([&] { return events.has("read ok"); });
  reactor.Finish(grpc::Status::OK);
  ASSERT_TRUE(engine->answer(call));
  wait_for([&] { return events.has("done"); });
  EXPECT_THAT(events.all(), testing::ElementsAre("write ok", "read ok", "done"));
}

TEST_F(StreamCallbackTest, AMethodThatIsNotOverriddenIsUnimplemented) {
  service.talk = [](grpc::CallbackServerContext*) { return nullptr; };
  start();
  uint32_t call = engine->open(kTalk);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 12u);
  send(call, 1);  // on its way when the answer came
  EXPECT_TRUE(engine->answer(engine->call<Request>(kEcho, [](Request*) {})));
  EXPECT_EQ(host->link().broken.load(), nullptr);
}

TEST_F(StreamCallbackTest, AReplyThatFitsNoMemoryEndsTheCall) {
  Events events;
  Recorder reactor(&events);
  service.talk = [&](grpc::CallbackServerContext*) {
    reactor.reply.set_payload(std::string(2 << 20, 'x'));
    reactor.StartWrite(&reactor.reply);
    return &reactor;
  };
  start({.tx_bytes = 1 << 20});
  uint32_t call = engine->open(kTalk);
  wait_for([&] { return events.has("write failed"); });
  reactor.Finish(grpc::Status::OK);
  auto answer = engine->answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 8u);
  wait_for([&] { return events.has("done"); });
}

TEST_F(StreamCallbackTest, WritesWaitForMemoryThatOtherCallsHold) {
  struct One : grpc::ServerWriteReactor<Reply> {
    One() {
      reply.set_payload(std::string(600'000, 'x'));
      StartWriteAndFinish(&reply, grpc::WriteOptions(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }
    Reply reply;
  };
  service.spread = [](grpc::CallbackServerContext*, const Request*) { return new One(); };
  start({.tx_bytes = 1 << 20, .auto_release = false});
  uint32_t first = engine->call<Request>(kSpread, [](Request*) {});
  ASSERT_TRUE(engine->answer(first));
  uint32_t second = engine->call<Request>(kSpread, [](Request*) {});
  EXPECT_FALSE(engine->answer(second, 30));
  engine->receive<Reply>(first, [&](const Reply*, const FakeEngine::Message& m) { engine->release(m.tx_call); });
  auto answer = engine->answer(second);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 0u);
  EXPECT_EQ(engine->waiting(second), 1u);
}

TEST_F(StreamCallbackTest, CheckedMessagesArePrivateCopies) {
  start();
  host->link().check_requests = true;
  uint32_t call = engine->open(kTalk);
  for (int i = 0; i < 100; ++i) {
    send(call, i, std::string(static_cast<size_t>(i * 30), 'x'));
    ASSERT_EQ(receive(call), i);
  }
  engine->half_close(call);
  ASSERT_TRUE(engine->answer(call));
}

}  // namespace
}  // namespace drover::host
