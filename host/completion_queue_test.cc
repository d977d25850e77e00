// Servers with completion queues, against an engine's end of the rings in the same process. Each test runs with calls
// that the threads in Next lead, and with calls that a crew leads, as in a server that has other methods, too.
#include <gmock/gmock.h>
#include <grpcpp/alarm.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "host/call_interception.h"
#include "host/call_requests.h"
#include "host/engine_testing.h"
#include "host/event_queue.h"
#include "host/queue_poller.h"
#include "host_test.grpc.pb.h"

namespace drover::host {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using hosttest::Reply;
using hosttest::Request;
using hosttest::Testing;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr uint16_t kEcho = 0, kOther = 1, kCollect = 2, kSpread = 3, kTalk = 4;

std::unique_ptr<grpc::ServerCompletionQueue> make_queue() { return grpc::ServerBuilder().AddCompletionQueue(); }

struct Event {
  intptr_t tag;
  bool ok;
  bool operator==(const Event&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Event& event) {
  return out << event.tag << (event.ok ? " ok" : " failed");
}

void* tag(intptr_t number) { return reinterpret_cast<void*>(number); }
std::function<void(Request*)> text(const std::string& value) {
  return [value](Request* request) { request->set_text(value); };
}

void wait_for(const std::function<bool()>& condition, int timeout_ms = 5000) {
  auto end = steady_clock::now() + milliseconds(timeout_ms);
  while (!condition() && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(condition());
}

// An interceptor for each call, which does as `hook` says.
using Hook = std::function<void(InterceptorBatchMethods*)>;

class HookFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit HookFactory(Hook hook) : hook_(std::move(hook)) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo*) override {
    return new Hooked(hook_);
  }

 private:
  struct Hooked final : grpc::experimental::Interceptor {
    explicit Hooked(Hook run) : hook(std::move(run)) {}
    void Intercept(InterceptorBatchMethods* batch) override { hook(batch); }
    const Hook hook;
  };
  const Hook hook_;
};

class CompletionQueueTest : public testing::TestWithParam<bool> {
 protected:
  ~CompletionQueueTest() override {
    if (worker != nullptr) stop();
  }

  bool queues_lead() const { return GetParam(); }
  void start(FakeEngine::Options options = {}, int64_t reply_memory_wait_ns = 0) {
    engine = std::make_unique<FakeEngine>(options);
    methods = service.drover_methods();
    poller = std::make_shared<QueuePoller>();
    requests = std::make_shared<CallRequests>(methods, queues_lead() ? poller : nullptr);
    uint32_t next = 0;
    service.drover_serve(requests, &next);
    link = engine->link(&methods);
    if (reply_memory_wait_ns != 0) link->reply_memory_wait_ns = reply_memory_wait_ns;
    worker = std::make_shared<Worker>(link, 0);
    if (queues_lead()) {
      queue->drover_events().join(poller);  // as ServerBuilder does it
      return poller->lead(worker);
    }
    crew = std::make_unique<Crew>(Crew::Options());
    poller->keep(worker);
    crew->add(worker);
  }
  void start_with(Hook hook) {
    InterceptorFactories factories;
    factories.push_back(std::make_unique<HookFactory>(std::move(hook)));
    start();
    link->interceptors = std::make_shared<const InterceptorFactories>(std::move(factories));
  }
  void kill_engine() {
    link->gone.store(true);
    worker->request_cancel_scan();
  }
  // As Server::Shutdown does, with a deadline that has passed.
  void stop() {
    requests->close();
    kill_engine();
    crew.reset();
    worker.reset();
  }

  // The next event; {0, false}: none has come.
  Event next(grpc::CompletionQueue& from, int timeout_ms = 5000) {
    void* got = nullptr;
    bool ok = false;
    auto deadline = system_clock::now() + milliseconds(timeout_ms);
    if (from.AsyncNext(&got, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return {0, false};
    return {reinterpret_cast<intptr_t>(got), ok};
  }
  Event next() { return next(*queue); }
  bool quiet(int ms = 20) { return next(*queue, ms) == Event{0, false}; }
  // Where queues lead, this thread serves the rings while it waits.
  std::optional<FakeEngine::Answer> answer(uint32_t call) {
    for (int i = 0; i < 500; ++i) {
      poller->serve_if_free();
      if (auto got = engine->answer(call, 10)) return got;
    }
    return std::nullopt;
  }
  using Look = std::function<void(const Reply*, const FakeEngine::Message&)>;
  bool receive(uint32_t call, const Look& look) { return engine->receive<Reply>(call, look); }

  Testing::AsyncService service;
  std::unique_ptr<FakeEngine> engine;
  std::vector<grpc::internal::Method> methods;
  std::shared_ptr<QueuePoller> poller;
  std::shared_ptr<CallRequests> requests;
  std::shared_ptr<EngineLink> link;
  std::shared_ptr<Worker> worker;
  std::unique_ptr<Crew> crew;
  std::unique_ptr<grpc::ServerCompletionQueue> queue = make_queue();
};

// One unary call of the application.
struct Unary {
  explicit Unary(Testing::AsyncService& service, grpc::ServerCompletionQueue& queue, intptr_t number) {
    service.RequestEcho(&context, &request, &responder, &queue, &queue, tag(number));
  }
  grpc::ServerContext context;
  Request request;
  Reply reply;
  grpc::ServerAsyncResponseWriter<Reply> responder{&context};
};

// And one that streams both ways.
struct Talk {
  Talk(Testing::AsyncService& service, grpc::ServerCompletionQueue& queue, intptr_t number, intptr_t done = 0) {
    if (done != 0) context.AsyncNotifyWhenDone(tag(done));
    service.RequestTalk(&context, &stream, &queue, &queue, tag(number));
  }
  grpc::ServerContext context;
  Request request;
  Reply reply;
  grpc::ServerAsyncReaderWriter<Reply, Request> stream{&context};
};

TEST_P(CompletionQueueTest, AUnaryCallIsRequestedAndFinishedByTag) {
  start();
  Unary one(service, *queue, 1);
  EXPECT_TRUE(quiet());
  uint32_t call = engine->call<Request>(kEcho, text("world"), kNoDeadline, {{"key", "value"}});
  ASSERT_EQ(next(), (Event{1, true}));
  EXPECT_EQ(one.request.text(), "world");
  EXPECT_EQ(one.context.peer(), "ipv4:127.0.0.1:4711");
  EXPECT_EQ(one.context.client_metadata().find("key")->second, "value");
  {
    Reply reply;  // which Finish copies
    reply.set_text("Hello " + one.request.text());
    one.context.AddInitialMetadata("first", "1");
    one.context.AddTrailingMetadata("last", "2");
    one.responder.Finish(reply, grpc::Status::OK, tag(2));
  }
  ASSERT_EQ(next(), (Event{2, true}));
  auto got = answer(call);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 0u);
  EXPECT_EQ(got->flags, kCompleteFinished);
  EXPECT_EQ(engine->reply<Reply>(*got)->text(), "Hello world");
  EXPECT_THAT(engine->pairs(*got, true), testing::ElementsAre(testing::Pair("first", "1")));
  EXPECT_THAT(engine->pairs(*got, false), testing::ElementsAre(testing::Pair("last", "2")));
  EXPECT_EQ(one.context.client_metadata().find("key")->second, "value");  // valid as long as the context
  EXPECT_FALSE(one.context.IsCancelled());
  EXPECT_TRUE(one.context.peer().empty());  // and this is not
}

TEST_P(CompletionQueueTest, CallsThatComeBeforeTheirRequestWaitInOrder) {
  start();
  std::vector<uint32_t> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(engine->call<Request>(kEcho, text(std::to_string(i))));
  EXPECT_TRUE(quiet());
  for (int i = 0; i < 100; ++i) {
    Unary one(service, *queue, 1);
    ASSERT_EQ(next(), (Event{1, true}));
    EXPECT_EQ(one.request.text(), std::to_string(i));
    one.reply.set_text(one.request.text());
    one.responder.Finish(one.reply, grpc::Status::OK, tag(2));
    ASSERT_EQ(next(), (Event{2, true}));
    auto got = answer(calls[static_cast<size_t>(i)]);
    ASSERT_TRUE(got);
    EXPECT_EQ(engine->reply<Reply>(*got)->text(), std::to_string(i));
  }
  EXPECT_FALSE(engine->answered_twice());
}

TEST_P(CompletionQueueTest, AnErrorAndInitialMetadataOfAUnaryCall) {
  start();
  Unary one(service, *queue, 1);
  uint32_t call = engine->call<Request>(kEcho, text(""));
  ASSERT_EQ(next(), (Event{1, true}));
  one.context.AddInitialMetadata("early", "bird");
  one.responder.SendInitialMetadata(tag(2));
  ASSERT_EQ(next(), (Event{2, true}));
  ASSERT_TRUE(engine->receive<Reply>(call, [&](const Reply*, const FakeEngine::Message& message) {
    EXPECT_THAT(engine->initial_metadata(message), testing::ElementsAre(testing::Pair("early", "bird")));
  }));
  one.responder.FinishWithError(grpc::Status(grpc::StatusCode::NOT_FOUND, "nowhere"), tag(3));
  ASSERT_EQ(next(), (Event{3, true}));
  auto got = answer(call);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 5u);
  EXPECT_EQ(engine->message(*got), "nowhere");
  EXPECT_THAT(engine->pairs(*got, true), testing::IsEmpty());
}

TEST_P(CompletionQueueTest, StreamsAreReadAndWrittenByTag) {
  start();
  Talk talk(service, *queue, 1);
  uint32_t call = engine->open(kTalk);
  ASSERT_EQ(next(), (Event{1, true}));
  talk.stream.Read(&talk.request, tag(2));
  EXPECT_TRUE(quiet());
  for (int i = 0; i < 200; ++i) {
    engine->send<Request>(call, text(std::to_string(i)));
    ASSERT_EQ(next(), (Event{2, true}));
    Reply reply;
    reply.set_text(talk.request.text());
    talk.stream.Write(reply, tag(3));
    ASSERT_EQ(next(), (Event{3, true}));
    ASSERT_TRUE(receive(call, [&](const Reply* got, const auto&) { EXPECT_EQ(got->text(), std::to_string(i)); }));
    talk.stream.Read(&talk.request, tag(2));
  }
  engine->half_close(call);
  ASSERT_EQ(next(), (Event{2, false}));
  talk.stream.Finish(grpc::Status::OK, tag(4));
  ASSERT_EQ(next(), (Event{4, true}));
  EXPECT_EQ(answer(call)->status, 0u);

  grpc::ServerContext collecting;
  grpc::ServerAsyncReader<Reply, Request> reader(&collecting);
  service.RequestCollect(&collecting, &reader, queue.get(), queue.get(), tag(5));
  call = engine->open(kCollect);
  ASSERT_EQ(next(), (Event{5, true}));
  engine->send<Request>(call, text("only"), true);
  Request request;
  reader.Read(&request, tag(6));
  ASSERT_EQ(next(), (Event{6, true}));
  EXPECT_EQ(request.text(), "only");
  reader.Read(&request, tag(6));
  ASSERT_EQ(next(), (Event{6, false}));
  Reply reply;
  reply.set_text("one");
  reader.Finish(reply, grpc::Status::OK, tag(7));
  ASSERT_EQ(next(), (Event{7, true}));
  EXPECT_EQ(engine->reply<Reply>(*answer(call))->text(), "one");
}

TEST_P(CompletionQueueTest, AStreamOfRepliesBeginsWithMetadataAndEndsWithItsLastMessage) {
  start();
  Request request;
  Reply reply;
  grpc::ServerContext spreading;
  grpc::ServerAsyncWriter<Reply> writer(&spreading);
  service.RequestSpread(&spreading, &request, &writer, queue.get(), queue.get(), tag(8));
  uint32_t call = engine->call<Request>(kSpread, text("all"));
  ASSERT_EQ(next(), (Event{8, true}));
  EXPECT_EQ(request.text(), "all");
  spreading.AddInitialMetadata("early", "bird");
  writer.SendInitialMetadata(tag(9));
  ASSERT_EQ(next(), (Event{9, true}));
  ASSERT_TRUE(receive(call, [&](const Reply* got, const FakeEngine::Message& headers) {
    EXPECT_EQ(got, nullptr);
    EXPECT_THAT(engine->initial_metadata(headers), testing::ElementsAre(testing::Pair("early", "bird")));
  }));
  reply.set_text("last");
  writer.WriteAndFinish(reply, grpc::WriteOptions(), grpc::Status(grpc::StatusCode::ABORTED, "so"), tag(10));
  ASSERT_EQ(next(), (Event{10, true}));
  ASSERT_TRUE(receive(call, [](const Reply* got, const auto&) { EXPECT_EQ(got->text(), "last"); }));
  EXPECT_EQ(answer(call)->status, 10u);
  EXPECT_FALSE(engine->message_after_answer());
}

TEST_P(CompletionQueueTest, AWriterIsHeldBackUntilTheEngineReleasesMessages) {
  start();
  Talk talk(service, *queue, 1);
  uint32_t call = engine->open(kTalk);
  ASSERT_EQ(next(), (Event{1, true}));
  talk.reply.set_payload(std::string(1000, 'x'));
  uint32_t written = 0;
  for (; written < 1000; ++written) {
    talk.reply.set_number(static_cast<int>(written));
    talk.stream.Write(talk.reply, tag(2));
    talk.reply.set_payload(std::string(1000, 'y'));  // Write has copied it
    talk.reply.set_payload(std::string(1000, 'x'));
    if (next(*queue, 100) != Event{2, true}) break;
  }
  EXPECT_EQ(written, kMaxStreamMessages);
  for (uint32_t i = 0; i <= written; ++i) {
    ASSERT_TRUE(receive(call, [&](const Reply* got, const auto&) {
      EXPECT_EQ(got->number(), static_cast<int>(i));
      EXPECT_EQ(got->payload(), std::string(1000, 'x'));
    }));
    if (i == 0) ASSERT_EQ(next(), (Event{2, true}));
  }
  talk.stream.Finish(grpc::Status::OK, tag(3));
  ASSERT_EQ(next(), (Event{3, true}));
  EXPECT_TRUE(answer(call));
}

TEST_P(CompletionQueueTest, CancellationEndsReadsWritesAndTheWaitForDone) {
  start();
  Talk talk(service, *queue, 1, 9);
  uint32_t call = engine->open(kTalk);
  ASSERT_EQ(next(), (Event{1, true}));
  talk.stream.Read(&talk.request, tag(2));
  EXPECT_FALSE(talk.context.IsCancelled());
  engine->cancel(call);
  std::map<intptr_t, bool> events;
  for (int i = 0; i < 2; ++i) {
    Event event = next();
    events[event.tag] = event.ok;
  }
  EXPECT_EQ(events, (std::map<intptr_t, bool>{{2, false}, {9, true}}));
  EXPECT_TRUE(talk.context.IsCancelled());
  talk.stream.Write(talk.reply, tag(3));
  ASSERT_EQ(next(), (Event{3, false}));
  talk.stream.Read(&talk.request, tag(4));
  ASSERT_EQ(next(), (Event{4, false}));
  talk.stream.Finish(grpc::Status::OK, tag(5));
  ASSERT_EQ(next(), (Event{5, false}));
  EXPECT_TRUE(answer(call));
  EXPECT_TRUE(talk.context.IsCancelled());

  Unary unary(service, *queue, 6);
  call = engine->call<Request>(kEcho, text(""));
  ASSERT_EQ(next(), (Event{6, true}));
  unary.context.TryCancel();
  unary.responder.Finish(unary.reply, grpc::Status::OK, tag(7));
  ASSERT_EQ(next(), (Event{7, false}));
  EXPECT_EQ(answer(call)->status, 1u);
}

TEST_P(CompletionQueueTest, ACallThatEndsInOrderIsDoneWithoutCancellation) {
  start();
  Talk talk(service, *queue, 1, 9);
  uint32_t call = engine->open(kTalk);
  ASSERT_EQ(next(), (Event{1, true}));
  talk.stream.Finish(grpc::Status::OK, tag(2));
  std::map<intptr_t, bool> events;
  for (int i = 0; i < 2; ++i) {
    Event event = next();
    events[event.tag] = event.ok;
  }
  EXPECT_EQ(events, (std::map<intptr_t, bool>{{2, true}, {9, true}}));
  EXPECT_FALSE(talk.context.IsCancelled());
  EXPECT_TRUE(answer(call));
}

TEST_P(CompletionQueueTest, ACallThatIsCancelledWhileItWaitsNeverReachesTheApplication) {
  start();
  uint32_t call = engine->call<Request>(kEcho, text("late"));
  uint32_t stream = engine->open(kTalk);
  EXPECT_TRUE(quiet());
  engine->cancel(call);
  engine->cancel(stream);
  EXPECT_TRUE(quiet());
  EXPECT_EQ(answer(call)->status, 1u);
  EXPECT_EQ(answer(stream)->status, 1u);
  Unary one(service, *queue, 1);
  EXPECT_TRUE(quiet());
  call = engine->call<Request>(kEcho, text("next"));
  ASSERT_EQ(next(), (Event{1, true}));
  EXPECT_EQ(one.request.text(), "next");
}

TEST_P(CompletionQueueTest, AContextThatIsDestroyedLetsItsCallEnd) {
  start();
  for (bool streams : {false, true}) {
    uint32_t call = streams ? engine->open(kTalk) : engine->call<Request>(kEcho, text(""));
    if (streams) {
      Talk talk(service, *queue, 1);
      ASSERT_EQ(next(), (Event{1, true}));
    } else {
      Unary one(service, *queue, 1);
      ASSERT_EQ(next(), (Event{1, true}));
    }
    auto got = answer(call);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->status, 1u);
  }
  wait_for([&] { return worker->calls_in_flight() == 0; });
}

TEST_P(CompletionQueueTest, MoreCallsThanMayWaitAreRefusedByName) {
  start({.ring_slots = 1024});
  uint32_t most = link->tx.total_chunks() / 2;
  std::vector<uint32_t> calls;
  for (uint32_t i = 0; i < most + 10; ++i) {
    calls.push_back(engine->call<Request>(kOther, text("x")));
    if (i % 500 == 0) EXPECT_TRUE(quiet(1));
  }
  EXPECT_TRUE(quiet());
  auto got = answer(calls.back());
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 8u);
  EXPECT_EQ(engine->message(*got), "too many calls wait for the service to ask for them");
  engine->poll();
  EXPECT_EQ(engine->answers(), 10u);
}

TEST_P(CompletionQueueTest, ShutdownFailsWhatWasRequestedAndRefusesWhatWaits) {
  start();
  Unary one(service, *queue, 1), two(service, *queue, 2);
  uint32_t waiting = engine->open(kTalk);
  EXPECT_TRUE(quiet());
  requests->close();
  ASSERT_EQ(next(), (Event{1, false}));
  ASSERT_EQ(next(), (Event{2, false}));
  EXPECT_EQ(answer(waiting)->status, 14u);
  uint32_t late = engine->call<Request>(kEcho, text(""));
  EXPECT_TRUE(quiet());
  EXPECT_EQ(answer(late)->status, 14u);
  Unary three(service, *queue, 3);
  ASSERT_EQ(next(), (Event{3, false}));
  queue->Shutdown();
  void* got = nullptr;
  bool ok = false;
  EXPECT_FALSE(queue->Next(&got, &ok));
}

TEST_P(CompletionQueueTest, AQueueThatIsShutDownGivesOutWhatIsPending) {
  start();
  Talk talk(service, *queue, 1);
  uint32_t call = engine->open(kTalk);
  ASSERT_EQ(next(), (Event{1, true}));
  talk.stream.Read(&talk.request, tag(2));
  queue->Shutdown();
  std::vector<Event> events;
  std::thread drain([&] {
    void* got = nullptr;
    bool ok = false;
    while (queue->Next(&got, &ok)) events.push_back({reinterpret_cast<intptr_t>(got), ok});
  });
  std::this_thread::sleep_for(milliseconds(20));
  stop();  // cancels the call
  drain.join();
  EXPECT_THAT(events, testing::ElementsAre(Event{2, false}));
  EXPECT_TRUE(talk.context.IsCancelled());
  EXPECT_FALSE(engine->answer(call, 0));
}

// The contexts outlive engine, worker and queue.
TEST_P(CompletionQueueTest, TheEnginesDeathCancelsCallsAndKeepsRequests) {
  start();
  std::optional<Talk> talk;
  talk.emplace(service, *queue, 1, 9);
  Unary one(service, *queue, 2);
  engine->open(kTalk);
  engine->open(kTalk);  // waits
  ASSERT_EQ(next(), (Event{1, true}));
  kill_engine();
  ASSERT_EQ(next(), (Event{9, true}));
  EXPECT_TRUE(talk->context.IsCancelled());
  talk->stream.Finish(grpc::Status::OK, tag(3));
  ASSERT_EQ(next(), (Event{3, false}));
  wait_for([&] { return worker->calls_in_flight() == 0; });
  EXPECT_TRUE(quiet());
  requests->close();
  ASSERT_EQ(next(), (Event{2, false}));
}

TEST_P(CompletionQueueTest, ManyThreadsAndQueuesServeManyCallsOnceEach) {
  start({.ring_slots = 1024});
  constexpr int kQueues = 3, kThreadsEach = 2, kCalls = 3000;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;
  for (int i = 0; i < kQueues; ++i) queues.push_back(make_queue());
  // The well-known state machine.
  struct Serving {
    Serving(Testing::AsyncService& to, grpc::ServerCompletionQueue& at) : service(to), queue(at), responder(&context) {
      service.RequestEcho(&context, &request, &responder, &queue, &queue, this);
    }
    void proceed(bool ok) {
      if (finishing || !ok) return delete this;
      new Serving(service, queue);
      finishing = true;
      Reply reply;
      reply.set_number(request.number());
      responder.Finish(reply, grpc::Status::OK, this);
    }
    Testing::AsyncService& service;
    grpc::ServerCompletionQueue& queue;
    grpc::ServerContext context;
    Request request;
    grpc::ServerAsyncResponseWriter<Reply> responder;
    bool finishing = false;
  };
  std::vector<std::thread> threads;
  for (auto& one : queues) {
    new Serving(service, *one);
    for (int i = 0; i < kThreadsEach; ++i) {
      threads.emplace_back([&] {
        void* got = nullptr;
        bool ok = false;
        while (one->Next(&got, &ok)) static_cast<Serving*>(got)->proceed(ok);
      });
    }
  }
  std::map<uint32_t, int> sent;
  for (int i = 0; i < kCalls; ++i) {
    sent[engine->call<Request>(kEcho, [i](Request* request) { request->set_number(i); })] = i;
    if (i % 100 == 99) {  // and from a sleep
      for (auto& [call, number] : sent) {
        auto got = engine->answer(call);
        ASSERT_TRUE(got);
        ASSERT_EQ(got->status, 0u);
      }
      sent.clear();
      engine->forget_answers();
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  EXPECT_EQ(engine->answered(), static_cast<uint64_t>(kCalls));
  EXPECT_FALSE(engine->answered_twice());
  requests->close();
  for (auto& one : queues) one->Shutdown();
  for (std::thread& thread : threads) thread.join();
  stop();
}

// Of `blocked` + 1 threads all but one are in the application.
class BusyThreads : public CompletionQueueTest {
 protected:
  void calls_go_on(intptr_t blocked) {
    start();
    const intptr_t all = blocked + 2;
    std::atomic<bool> go{false};
    std::atomic<int> served{0};
    std::vector<std::unique_ptr<Unary>> calls;
    for (intptr_t i = 1; i <= all; ++i) calls.push_back(std::make_unique<Unary>(service, *queue, i));
    auto serve = [&] {
      void* got = nullptr;
      bool ok = false;
      while (queue->Next(&got, &ok) && ok) {
        auto number = reinterpret_cast<intptr_t>(got);
        if (number > all) continue;
        ++served;
        if (number <= blocked) wait_for([&] { return go.load(); });
        Unary& one = *calls[static_cast<size_t>(number - 1)];
        one.responder.Finish(one.reply, grpc::Status::OK, tag(10 + number));
      }
    };
    std::vector<std::thread> threads;
    for (intptr_t i = 0; i <= blocked; ++i) threads.emplace_back(serve);
    std::vector<uint32_t> sent;
    for (int i = 0; i < all; ++i) {
      sent.push_back(engine->call<Request>(kEcho, text("")));
      wait_for([&] { return served == i + 1; });
      if (i >= blocked) EXPECT_TRUE(engine->answer(sent.back()));
    }
    EXPECT_FALSE(engine->answer(sent[0], 1));
    go = true;
    for (intptr_t i = 0; i < blocked; ++i) EXPECT_TRUE(engine->answer(sent[static_cast<size_t>(i)]));
    wait_for([&] { return worker->calls_in_flight() == 0; });
    queue->Shutdown();
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(BusyThreads, CallsGoOnWhileOneOfTwoIsInTheApplication) { calls_go_on(1); }
TEST_P(BusyThreads, CallsGoOnWhileTwoOfThreeAreInTheApplication) { calls_go_on(2); }

TEST_P(CompletionQueueTest, OperationsOfACallMayEndInAnotherQueue) {
  start();
  grpc::CompletionQueue own;
  grpc::ServerContext context;
  Request request;
  grpc::ServerAsyncResponseWriter<Reply> responder(&context);
  service.RequestEcho(&context, &request, &responder, &own, queue.get(), tag(1));
  uint32_t call = engine->call<Request>(kEcho, text(""));
  ASSERT_EQ(next(), (Event{1, true}));
  responder.Finish(Reply(), grpc::Status::OK, tag(2));
  EXPECT_TRUE(quiet());
  ASSERT_EQ(next(own), (Event{2, true}));
  EXPECT_TRUE(answer(call));
  own.Shutdown();
  void* got = nullptr;
  bool ok = true;
  EXPECT_FALSE(own.Next(&got, &ok));
}

TEST_P(CompletionQueueTest, ALargeReplyWaitsForRoomAndARefusedOneSaysSo) {
  start({.tx_bytes = 1 << 20}, 50'000'000);
  engine->set_auto_release(false);
  Unary one(service, *queue, 1), two(service, *queue, 2);
  uint32_t first = engine->call<Request>(kEcho, text("")), second = engine->call<Request>(kEcho, text(""));
  ASSERT_EQ(next(), (Event{1, true}));
  ASSERT_EQ(next(), (Event{2, true}));
  Reply large;
  large.set_payload(std::string(700'000, 'x'));
  one.responder.Finish(large, grpc::Status::OK, tag(3));
  ASSERT_EQ(next(), (Event{3, true}));
  two.responder.Finish(large, grpc::Status::OK, tag(4));
  EXPECT_EQ(next(*queue, 10), (Event{0, false}));
  auto got = answer(first);
  ASSERT_TRUE(got);
  engine->release(got->tx_call);
  ASSERT_EQ(next(), (Event{4, true}));
  EXPECT_EQ(engine->reply<Reply>(*answer(second))->payload().size(), 700'000u);
}

// What Worker checks for every kind of method.
TEST_P(CompletionQueueTest, AnEngineThatBreaksTheChannelDoesNoHarm) {
  start();
  Talk talk(service, *queue, 1);
  uint32_t call = engine->open(kTalk);
  ASSERT_EQ(next(), (Event{1, true}));
  talk.stream.Read(&talk.request, tag(2));
  engine->push_message(call, uint64_t{1} << 40, false);
  EXPECT_TRUE(quiet());
  EXPECT_NE(link->broken.load(), nullptr);
  kill_engine();  // as the Runtime does
  ASSERT_EQ(next(), (Event{2, false}));
  talk.stream.Finish(grpc::Status::OK, tag(3));
  ASSERT_EQ(next(), (Event{3, false}));
}

// The first call of its Call, which has nothing of a completion queue yet.
TEST_P(CompletionQueueTest, AFirstCallThatLeadsOutOfRxIsAnsweredAndNotTheApplications) {
  start();
  Unary one(service, *queue, 1);
  CallSlot slot{};
  slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
  slot.method = kEcho;
  slot.call = 77;
  slot.generation = 1077;
  slot.deadline_ns = kNoDeadline;
  slot.request = UINT64_MAX - 7;
  slot.rx_chunks = 1;
  engine->push(0, to_slot(slot));
  auto got = answer(slot.call);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 13u);
  EXPECT_NE(link->broken.load(), nullptr);
  EXPECT_TRUE(quiet());
  requests->close();
  ASSERT_EQ(next(), (Event{1, false}));
}

// An interceptor of a call's end that proceeds when it is told to. It may be the thread that calls Finish.
TEST_P(CompletionQueueTest, FinishDoesNotWaitForInterceptorsAlsoWithoutAnEngine) {
  std::atomic<InterceptorBatchMethods*> held{nullptr};
  start_with([&held](InterceptorBatchMethods* batch) {
    if (!batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) return batch->Proceed();
    held.store(batch);
  });
  Unary before(service, *queue, 1), after(service, *queue, 2);
  engine->call<Request>(kEcho, text("a"));
  ASSERT_EQ(next(), (Event{1, true}));
  engine->call<Request>(kEcho, text("b"));
  ASSERT_EQ(next(), (Event{2, true}));
  before.responder.Finish(before.reply, grpc::Status::OK, tag(3));
  wait_for([&] { return poller->serve_if_free(), held.load() != nullptr; });
  held.exchange(nullptr)->Proceed();
  ASSERT_EQ(next(), (Event{3, true}));
  kill_engine();
  EXPECT_TRUE(quiet(50));
  after.responder.Finish(after.reply, grpc::Status::OK, tag(4));
  wait_for([&] { return held.load() != nullptr; });
  held.load()->Proceed();
  ASSERT_EQ(next(), (Event{4, false}));
}

TEST_P(CompletionQueueTest, ACallThatItsInterceptorHoldsIsNotTheApplicationsYet) {
  std::atomic<InterceptorBatchMethods*> held{nullptr};
  start_with([&held](InterceptorBatchMethods* batch) {
    if (!batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) return batch->Proceed();
    static_cast<Request*>(batch->GetRecvMessage())->set_text("changed");
    held.store(batch);
  });
  Unary one(service, *queue, 1);
  const uint32_t call = engine->call<Request>(kEcho, text("a"));
  wait_for([&] { return poller->serve_if_free(), held.load() != nullptr; });
  EXPECT_TRUE(quiet());
  held.load()->Proceed();
  ASSERT_EQ(next(), (Event{1, true}));
  one.reply.set_text(one.request.text());
  one.responder.Finish(one.reply, grpc::Status::OK, tag(2));
  ASSERT_EQ(next(), (Event{2, true}));
  const auto got = answer(call);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 0u);
  EXPECT_EQ(engine->reply<Reply>(*got)->text(), "changed");
}

// The application has the call all the same: its request has no other end.
TEST_P(CompletionQueueTest, ACallWhoseInterceptorThrowsEndsInUnknown) {
  start_with([](InterceptorBatchMethods* batch) {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      throw std::runtime_error("an interceptor's");
    }
    batch->Proceed();
  });
  Unary one(service, *queue, 1);
  const uint32_t call = engine->call<Request>(kEcho, text("a"));
  ASSERT_EQ(next(), (Event{1, true}));
  one.responder.Finish(one.reply, grpc::Status::OK, tag(2));
  ASSERT_EQ(next(), (Event{2, true}));
  const auto got = answer(call);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 2u);
  EXPECT_EQ(engine->message(*got), "Unexpected error in RPC handling");
}

std::string leader(const testing::TestParamInfo<bool>& info) { return info.param ? "ByQueues" : "ByACrew"; }
INSTANTIATE_TEST_SUITE_P(Led, CompletionQueueTest, testing::Values(true, false), leader);
INSTANTIATE_TEST_SUITE_P(Led, BusyThreads, testing::Values(true, false), leader);

// ---- queues and alarms without a server

// Of a server that has no engine, or none any more.
TEST(CompletionQueue, AThreadThatStandsByWithoutAnEngineSleeps) {
  class Counting final : public TurnWork {
   public:
    bool take_turn() override { return poller_.take_turn(); }
    void serve(EventQueue& queue, int64_t until_ns, uint32_t seen) override { poller_.serve(queue, until_ns, seen); }
    void end_turn() override { poller_.end_turn(); }
    bool begin_wait(EventQueue& queue) override {
      ++waits;
      return poller_.begin_wait(queue);
    }
    void end_wait(EventQueue& queue, bool stood_by) override { poller_.end_wait(queue, stood_by); }
    bool quiet() override { return poller_.quiet(); }
    bool stand_by_deeply() override { return poller_.stand_by_deeply(); }
    void wake() override { poller_.wake(); }
    std::atomic<int> waits{0};

   private:
    QueuePoller poller_;
  };
  auto work = std::make_shared<Counting>();
  auto queue = make_queue();
  queue->drover_events().join(work);
  std::thread waiting([&] {
    void* got = nullptr;
    bool ok = false;
    EXPECT_FALSE(queue->Next(&got, &ok));
  });
  wait_for([&] { return work->waits > 0; });
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LT(work->waits, 100) << "it looked once a millisecond";
  const int settled = work->waits;
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LE(work->waits, settled + 1);
  queue->Shutdown();
  waiting.join();
}

TEST(CompletionQueue, NextTimesOutAndEndsAfterShutdown) {
  grpc::CompletionQueue queue;
  void* got = nullptr;
  bool ok = false;
  EXPECT_EQ(queue.AsyncNext(&got, &ok, system_clock::now() - milliseconds(5)), grpc::CompletionQueue::TIMEOUT);
  EXPECT_EQ(queue.AsyncNext(&got, &ok, gpr_time_from_millis(5, GPR_TIMESPAN)), grpc::CompletionQueue::TIMEOUT);
  std::thread waiting([&] { EXPECT_FALSE(queue.Next(&got, &ok)); });
  std::this_thread::sleep_for(milliseconds(5));
  queue.Shutdown();
  waiting.join();
  EXPECT_EQ(queue.AsyncNext(&got, &ok, gpr_inf_future(GPR_CLOCK_REALTIME)), grpc::CompletionQueue::SHUTDOWN);
}

TEST(Alarm, GoesOffInOrderOrIsCancelled) {
  grpc::CompletionQueue queue;
  void* got = nullptr;
  bool ok = false;
  grpc::Alarm late(&queue, system_clock::now() + milliseconds(20), tag(1));
  grpc::Alarm early;
  early.Set(&queue, system_clock::now() + milliseconds(10), tag(2));
  grpc::Alarm never;
  never.Set(&queue, gpr_inf_future(GPR_CLOCK_REALTIME), tag(3));
  grpc::Alarm moved = std::move(never);
  ASSERT_TRUE(queue.Next(&got, &ok));
  EXPECT_EQ(got, tag(2));
  EXPECT_TRUE(ok);
  ASSERT_TRUE(queue.Next(&got, &ok));
  EXPECT_EQ(got, tag(1));
  EXPECT_TRUE(ok);
  late.Cancel();  // too late
  queue.Shutdown();
  std::thread cancel([&] {
    std::this_thread::sleep_for(milliseconds(5));
    moved.Cancel();
  });
  ASSERT_TRUE(queue.Next(&got, &ok));
  EXPECT_EQ(got, tag(3));
  EXPECT_FALSE(ok);
  EXPECT_FALSE(queue.Next(&got, &ok));
  cancel.join();
}

TEST(Alarm, CallsAFunction) {
  std::atomic<int> fired{0}, cancelled{0};
  auto count = [&](bool ok) { ++(ok ? fired : cancelled); };
  grpc::Alarm one, two;
  one.Set(system_clock::now() + milliseconds(2), count);
  two.Set(system_clock::now() + std::chrono::hours(1), count);
  wait_for([&] { return fired == 1; });
  two.Cancel();
  wait_for([&] { return cancelled == 1; });
}

}  // namespace
}  // namespace drover::host
