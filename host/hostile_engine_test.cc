// An engine that was taken over: whatever it writes into rx, the host ends the attachment or goes on, and reads nothing
// outside the region.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "host/call_metadata.h"
#include "host/checked_request.h"
#include "host/engine_testing.h"
#include "host_test.grpc.pb.h"

namespace drover::host {
namespace {

using hosttest::Reply;
using hosttest::Request;
using hosttest::Testing;

class Service final : public Testing::Service {
 public:
  // A stream that is open until it is cancelled, and has written one message.
  grpc::Status Talk(grpc::ServerContext*, grpc::ServerReaderWriter<Reply, Request>* stream) override {
    Request request;
    stream->Write(Reply());
    while (stream->Read(&request)) {
      for (std::string_view text : {std::string_view(request.text()), std::string_view(request.payload())})
        sum += text.size();
    }
    return grpc::Status::OK;
  }
  std::atomic<size_t> sum{0};

  std::function<grpc::Status(grpc::ServerContext*, const Request*, Reply*)> echo;
  grpc::Status Echo(grpc::ServerContext* context, const Request* request, Reply* reply) override {
    return echo(context, request, reply);
  }
};

class HostileEngineTest : public testing::Test {
 protected:
  HostileEngineTest() {
    service.echo = [](grpc::ServerContext*, const Request* request, Reply* reply) {
      reply->set_text("Hello " + request->text());
      return grpc::Status::OK;
    };
  }
  void start(bool check_requests = false) {
    engine = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host = std::make_unique<FakeHost>(*engine, service);
    host->link().check_requests = check_requests;
  }
  // A CALL of the first method whose object and metadata lie in the first rx chunks; the caller writes them.
  CallSlot slot() {
    CallSlot slot{};
    slot.type = static_cast<uint8_t>(RequestSlotType::kCall);
    slot.call = 7;
    slot.deadline_ns = kNoDeadline;
    slot.rx_begin = slot.request = host->link().layout.rx_chunks(0).offset;
    slot.rx_chunks = 1;
    return slot;
  }
  // An empty Request where slot() says.
  char* request() {
    char* memory = engine->region().base() + host->link().layout.rx_chunks(0).offset;
    std::memset(memory, 0, kChunkSize);
    reinterpret_cast<MessageHeader*>(memory)->owner = kReceived;
    return memory;
  }
  const char* broken() { return host->link().broken.load(); }
  // The host takes the slot as a violation, and answers all the same.
  void expect_broken(const CallSlot& call, const char* what) {
    engine->push(0, to_slot(call));
    auto answer = engine->answer(call.call);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 13u);
    ASSERT_NE(broken(), nullptr);
    EXPECT_STREQ(broken(), what);
  }

  Service service;
  std::unique_ptr<FakeEngine> engine;
  std::unique_ptr<FakeHost> host;
};

TEST_F(HostileEngineTest, ARequestThatIsNotWhollyInRxIsAViolation) {
  for (int where = 0; where < 4; ++where) {
    start();
    CallSlot call = slot();
    uint64_t rx_size = engine->region().rx_size();
    if (where == 0) call.request = rx_size - 8;  // begins in rx and ends in tx
    if (where == 1) call.request = rx_size + kRegionHeaderSize;
    if (where == 2) call.request = UINT64_MAX - 7;
    if (where == 3) call.request += 4;
    expect_broken(call, "a CALL that leads out of rx");
  }
}

TEST_F(HostileEngineTest, MemoryThatRepliesMayReferToIsInRx) {
  for (int where = 0; where < 3; ++where) {
    start();
    request();
    CallSlot call = slot();
    if (where == 0) call.rx_begin = engine->region().rx_size();  // the host's own memory
    if (where == 1) call.rx_chunks = UINT32_MAX;
    if (where == 2) call.rx_begin = UINT64_MAX;
    expect_broken(call, "a CALL that leads out of rx");
  }
}

TEST_F(HostileEngineTest, AnUnknownMethodIsAViolation) {
  start();
  CallSlot call = slot();
  call.method = 5;
  expect_broken(call, "a CALL of an unknown method");
}

// What the handler's context shows of metadata that lies at any place and says anything.
TEST_F(HostileEngineTest, MetadataThatLeadsOutOfRxIsAViolationAndReadsAsNothing) {
  struct Case {
    const char* name;
    std::function<void(CallMetadataWords*, CallSlot*)> spoil;
  };
  const Case cases[] = {
      {"too many pairs", [](CallMetadataWords* m, CallSlot*) { m->count = UINT32_MAX; }},
      {"a pair more than rx has",
       [this](CallMetadataWords* m, CallSlot* call) {
         m->count = static_cast<uint32_t>((engine->region().rx_size() - call->metadata) / sizeof(MetadataPair));
       }},
      {"an authority before the region",
       [](CallMetadataWords* m, CallSlot*) {
         m->authority.size = 5;
         m->authority.data = INT64_MIN;
       }},
      {"a peer that ends in tx",
       [this](CallMetadataWords* m, CallSlot* call) {
         m->peer.size = 16;
         m->peer.data = static_cast<int64_t>(engine->region().rx_size() - call->metadata) - 16 - 8;
       }},
      {"a peer of 4 GiB",
       [](CallMetadataWords* m, CallSlot*) {
         m->peer.data = 64;
         m->peer.size = UINT32_MAX;
       }},
      {"a record outside", [](CallMetadataWords*, CallSlot* call) { call->metadata = UINT64_MAX - 7; }},
      {"a record in tx", [this](CallMetadataWords*, CallSlot* call) { call->metadata = engine->region().rx_size(); }},
      {"a record between words", [](CallMetadataWords*, CallSlot* call) { call->metadata += 4; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    start();
    std::string seen;
    service.echo = [&](grpc::ServerContext* context, const Request*, Reply*) {
      auto authority = context->ExperimentalGetAuthority();
      seen = context->peer() + std::string(authority.data(), authority.size());
      for (const auto& [key, value] : context->client_metadata()) seen += std::string(key.data(), key.size());
      return grpc::Status::OK;
    };
    char* memory = request();
    CallSlot call = slot();
    call.metadata = call.request + 2048;
    one.spoil(reinterpret_cast<CallMetadataWords*>(memory + 2048), &call);
    engine->push(0, to_slot(call));
    ASSERT_TRUE(engine->answer(call.call));
    EXPECT_EQ(seen, "");
    EXPECT_STREQ(broken(), "metadata that leads out of rx");
  }
}

TEST_F(HostileEngineTest, ADeadlineOfAnyValueIsATime) {
  start();
  for (int64_t deadline : {INT64_MIN, int64_t{-1}, INT64_MAX - 1}) {
    std::chrono::system_clock::time_point seen;
    service.echo = [&](grpc::ServerContext* context, const Request*, Reply*) {
      seen = context->deadline();
      return grpc::Status::OK;
    };
    ASSERT_TRUE(engine->answer(engine->call<Request>(0, [](Request*) {}, deadline)));
    if (deadline < 0) {
      EXPECT_LT(seen, std::chrono::system_clock::now());
    } else {
      EXPECT_GT(seen, std::chrono::system_clock::now());
    }
  }
}

TEST_F(HostileEngineTest, SlotsThatCannotBeAreViolations) {
  const std::pair<std::function<void(Slot*)>, const char*> cases[] = {
      {[](Slot* slot) { slot->type = 99; }, "a slot of unknown type"},
      {[](Slot* slot) {
         ReleaseSlot release{};
         release.type = static_cast<uint8_t>(RequestSlotType::kRelease);
         release.count = 255;
         *slot = to_slot(release);
       },
       "a RELEASE of too many"},
      {[](Slot* slot) {
         ReleaseSlot release{};
         release.type = static_cast<uint8_t>(RequestSlotType::kRelease);
         release.count = 1;
         release.tx_call[0] = UINT32_MAX >> 2;
         *slot = to_slot(release);
       },
       "a RELEASE of a call that was not completed"},
      {[](Slot* slot) {
         ReleaseSlot release{};
         release.type = static_cast<uint8_t>(RequestSlotType::kRelease);
         release.count = 1;
         release.tx_call[0] = UINT32_MAX >> 1;
         *slot = to_slot(release);
       },
       "a RELEASE of initial metadata that were not sent"},
      {[](Slot* slot) {
         ReleaseSlot release{};
         release.type = static_cast<uint8_t>(RequestSlotType::kRelease);
         release.count = 1;
         release.tx_call[0] = UINT32_MAX;
         *slot = to_slot(release);
       },
       "a RELEASE of a message that was not sent"},
  };
  for (const auto& [spoil, what] : cases) {
    start();
    Slot slot{};
    spoil(&slot);
    engine->push(0, slot);
    for (int i = 0; i < 2000 && broken() == nullptr; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_NE(broken(), nullptr);
    EXPECT_STREQ(broken(), what);
  }
}

TEST_F(HostileEngineTest, ACallThatDoesNotStreamAsItsMethodDoesIsAViolation) {
  start();
  CallSlot call = slot();
  call.flags = kCallStreams;
  expect_broken(call, "a CALL that does not stream as its method does");
  start();
  request();
  call = slot();
  call.method = 4;
  expect_broken(call, "a CALL that does not stream as its method does");
}

TEST_F(HostileEngineTest, MessagesThatCannotBeAreViolations) {
  struct Case {
    const char* what;
    std::function<void(uint32_t call)> send;
  };
  const Case cases[] = {
      {"a MESSAGE that leads out of rx",
       [this](uint32_t call) { engine->push_message(call, engine->region().rx_size() - 8, false); }},
      {"a MESSAGE that leads out of rx", [this](uint32_t call) { engine->push_message(call, UINT64_MAX - 7, false); }},
      {"a MESSAGE that leads out of rx",
       [this](uint32_t call) { engine->push_message(call, host->link().layout.rx_chunks(0).offset + 4, false); }},
      {"a MESSAGE without a message", [this](uint32_t call) { engine->push_message(call, 0, false); }},
      {"a RELEASE of a message that was not sent",
       [this](uint32_t call) {
         uint32_t tx_call = 0;
         engine->receive<Reply>(call, [&](const Reply*, const FakeEngine::Message& m) { tx_call = m.tx_call; });
         for (int i = 0; i < 3; ++i) engine->release(tx_call);
       }},
      {"a RELEASE of a message that was not sent", [this](uint32_t) { engine->release(UINT32_MAX - 64); }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    start();
    request();
    uint32_t call = engine->open(4);
    // The handler is there, and has not ended.
    for (int i = 0; i < 2000 && engine->waiting(call) == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    one.send(call);
    for (int i = 0; i < 2000 && broken() == nullptr; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_NE(broken(), nullptr);
    EXPECT_STREQ(broken(), one.what);
  }
}

// The handler reads nothing and does not end, so that its call is there whatever the engine sends.
TEST_F(HostileEngineTest, MessagesThatTheStreamMayNotHaveAreViolations) {
  class Unread final : public Testing::CallbackService {
   public:
    struct Reactor final : grpc::ServerBidiReactor<Request, Reply> {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    grpc::ServerBidiReactor<Request, Reply>* Talk(grpc::CallbackServerContext*) override { return new Reactor(); }
  } unread;
  auto expect_broken_by = [&](auto send, const char* what) {
    engine = std::make_unique<FakeEngine>(FakeEngine::Options{});
    host = std::make_unique<FakeHost>(*engine, unread);
    request();
    send(engine->open(4));
    for (int i = 0; i < 2000 && broken() == nullptr; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_NE(broken(), nullptr);
    EXPECT_STREQ(broken(), what);
    host.reset();  // before the service that it serves
  };
  expect_broken_by(
      [&](uint32_t call) {
        uint64_t offset = host->link().layout.rx_chunks(0).offset;
        for (uint32_t i = 0; i < kMaxStreamMessages; ++i) engine->push_message(call, offset, false);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_EQ(broken(), nullptr);
        engine->push_message(call, offset, false);
      },
      "more MESSAGEs of a call than it may");
  expect_broken_by(
      [&](uint32_t call) {
        engine->half_close(call);
        engine->half_close(call);
      },
      "a MESSAGE behind the last one");
}

TEST_F(HostileEngineTest, ACheckedMessageThatCannotBeIsAViolationAndReadsAsTheEnd) {
  start(/*check_requests=*/true);
  auto* object = reinterpret_cast<Request*>(request());
  auto* text = const_cast<String*>(&object->text());
  int64_t far = int64_t{1} << 40;
  uint32_t size = 100;
  std::memcpy(static_cast<void*>(text), &far, sizeof far);
  std::memcpy(reinterpret_cast<char*>(text) + offsetof(raw::Words, size), &size, sizeof size);
  uint32_t call = engine->open(4);
  engine->push_message(call, host->link().layout.rx_chunks(0).offset, false);
  ASSERT_TRUE(engine->answer(call));
  ASSERT_NE(broken(), nullptr);
  EXPECT_STREQ(broken(), "a request object that cannot be");
  EXPECT_EQ(service.sum, 0u);
}

TEST_F(HostileEngineTest, AnEngineThatPushesWithoutEndDoesNotKeepItsWorkersAlive) {
  start();
  std::atomic<bool> stop{false};
  std::thread pusher([&] {
    Slot cancel{};
    cancel.type = static_cast<uint8_t>(RequestSlotType::kCancel);
    EngineChannel end = EngineChannel::open(engine->region(), host->link().layout, 0);
    while (!stop) end.requests.try_push(cancel);
  });
  auto began = std::chrono::steady_clock::now();
  host->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  stop = true;
  pusher.join();
}

TEST_F(HostileEngineTest, AWorkerThatTheEngineLeavesAsleepStillEnds) {
  start();
  ASSERT_TRUE(engine->answer(engine->call<Request>(0, [](Request*) {})));
  auto* shared = reinterpret_cast<WorkerShared*>(engine->region().base() + host->link().layout.worker_shared(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it sleeps
  std::atomic<bool> stop{false};
  std::thread liar([&] {
    for (uint32_t n = 0; !stop; ++n) shared->waiting.store(n & 1);
  });
  auto began = std::chrono::steady_clock::now();
  host->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  stop = true;
  liar.join();
}

// ---- DROVER_HOST_CHECK_REQUESTS=1

TEST_F(HostileEngineTest, ACheckedRequestIsAPrivateCopyWithTheSameContent) {
  start(/*check_requests=*/true);
  const Request* seen = nullptr;
  std::string authority, peer, key;
  service.echo = [&](grpc::ServerContext* context, const Request* request, Reply* reply) {
    seen = request;
    EXPECT_FALSE(host->link().region.contains(request));
    EXPECT_FALSE(host->link().region.contains(std::string_view(request->payload()).data()));
    EXPECT_FALSE(host->link().region.contains(context->client_metadata().begin()->first.data()));
    EXPECT_FALSE(host->link().region.contains(context->ExperimentalGetAuthority().data()));
    EXPECT_EQ(context->ExperimentalGetAuthority(), "test.example");
    EXPECT_EQ(context->peer(), "ipv4:127.0.0.1:4711");
    EXPECT_EQ(context->client_metadata().begin()->second, "value");
    EXPECT_STREQ(request->text().c_str(), "text");
    *reply->mutable_payload() = request->payload();
    *reply->mutable_counts() = request->counts();
    reply->set_number(request->maybe() + request->parts(1).number());
    return grpc::Status::OK;
  };
  std::string payload(20'000, 'p');
  for (int round = 0; round < 3; ++round) {  // the copy's memory is used again
    auto fill = [&](Request* request) {
      request->set_text("text");
      request->set_payload(payload);
      request->set_maybe(40);
      request->add_parts()->set_name("a");
      request->add_parts()->set_number(2);
      for (int i = 0; i < 20; ++i) (*request->mutable_counts())[std::to_string(i)] = i;
    };
    uint32_t call = engine->call<Request>(0, fill, kNoDeadline, {{"key", "value"}}, 0, 16);
    auto answer = engine->answer(call);
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 0u);
    const Reply* reply = engine->reply<Reply>(*answer);
    EXPECT_EQ(reply->payload(), payload);
    EXPECT_FALSE(engine->region().in_rx(engine->region().offset_of(std::string_view(reply->payload()).data())));
    EXPECT_EQ(reply->number(), 42);
    EXPECT_EQ(reply->counts().size(), 20u);
  }
  EXPECT_EQ(broken(), nullptr);
  EXPECT_NE(seen, nullptr);
}

TEST_F(HostileEngineTest, ARequestObjectThatCannotBeIsAViolationWhereRequestsAreChecked) {
  for (int64_t far : {int64_t{1} << 40, -(int64_t{1} << 40), INT64_MIN, INT64_MAX}) {
    start(/*check_requests=*/true);
    bool called = false;
    service.echo = [&](grpc::ServerContext*, const Request*, Reply*) {
      called = true;
      return grpc::Status::OK;
    };
    auto* object = reinterpret_cast<Request*>(request());
    auto* text = const_cast<String*>(&object->text());
    std::memcpy(static_cast<void*>(text), &far, sizeof far);
    uint32_t size = 100;
    std::memcpy(reinterpret_cast<char*>(text) + offsetof(raw::Words, size), &size, sizeof size);
    expect_broken(slot(), "a request object that cannot be");
    EXPECT_FALSE(called);
  }
}

TEST_F(HostileEngineTest, ACheckedRequestMayNotReferToTheHostsOwnMemory) {
  start(/*check_requests=*/true);
  auto* object = reinterpret_cast<Request*>(request());
  auto* text = const_cast<String*>(&object->text());
  int64_t into_tx = static_cast<int64_t>(engine->region().rx_size() - engine->region().offset_of(text)) + 8192;
  uint32_t size = 8;
  std::memcpy(static_cast<void*>(text), &into_tx, sizeof into_tx);
  std::memcpy(reinterpret_cast<char*>(text) + offsetof(raw::Words, size), &size, sizeof size);
  expect_broken(slot(), "a request object that cannot be");
}

}  // namespace
}  // namespace drover::host
