// Generic services and raw methods, against an engine's end of the rings in the same process.
#include "host/generic_service.h"

#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "channel/control.h"
#include "host/call_requests.h"
#include "host/engine_testing.h"
#include "host/event_queue.h"
#include "host/queue_poller.h"
#include "host_test.grpc.pb.h"

namespace drover::host {
namespace {

using grpc::ByteBuffer;
using hosttest::Testing;

std::function<void(ByteBuffer*)> bytes(const std::string& content) {
  return [content](ByteBuffer* buffer) {
    char* to = buffer->drover_resize(content.size());
    std::copy(content.begin(), content.end(), to);
  };
}
const FakeEngine::Pairs kPath = {{std::string(kPathPair), "/a.B/C"}, {"key", "value"}};

// ---- raw methods by callback

class RawService final : public Testing::WithRawCallbackMethod_Echo<Testing::Service> {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const ByteBuffer* request,
                                 ByteBuffer* reply) override {
    *reply = *request;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

TEST(RawMethod, ItsHandlerSeesTheBytesAndAnswersWithBytes) {
  FakeEngine engine({});
  RawService service;
  FakeHost host(engine, service, without_takeover());
  for (const std::string& content : {std::string(), std::string("\xff\0x", 3), std::string(100'000, 'r')}) {
    uint32_t call = engine.call<ByteBuffer>(0, bytes(content), kNoDeadline, {}, 0, 32);
    auto answer = engine.answer(call);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 0u);
    EXPECT_TRUE(engine.reply<ByteBuffer>(*answer)->Valid());
    EXPECT_TRUE(engine.reply<ByteBuffer>(*answer)->drover_view() == content);
  }
}

// ---- generic services by callback

struct EchoAll final : grpc::ServerGenericBidiReactor {
  EchoAll() { StartRead(&message); }
  void OnReadDone(bool ok) override { ok ? StartWrite(&message) : Finish(grpc::Status::OK); }
  void OnWriteDone(bool ok) override { ok ? StartRead(&message) : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }
  ByteBuffer message;
};

class Generic final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    method = context->method();
    authority = context->host();
    keys.clear();
    for (const auto& [key, value] : context->client_metadata()) keys += std::string(key.data(), key.size());
    return new EchoAll();
  }
  std::string method, authority, keys;
};

TEST(CallbackGenericService, SeesTheNameOfEachCallAndItsMessagesAsBytes) {
  FakeEngine engine({});
  Generic service;
  FakeHost host(engine, {GenericCalls::method(service)}, without_takeover());
  for (const std::string path : {"/a.B/C", "/d"}) {
    uint32_t call = engine.open(0, kNoDeadline, 0, {{std::string(kPathPair), path}, {"key", "value"}});
    engine.send<ByteBuffer>(call, bytes("\x07no protobuf"));
    std::string got;
    ASSERT_TRUE(engine.receive<ByteBuffer>(
        call, [&](const ByteBuffer* reply, const FakeEngine::Message&) { got = reply->drover_view(); }));
    EXPECT_EQ(got, "\x07no protobuf");
    engine.half_close(call);
    ASSERT_TRUE(engine.answer(call));
    EXPECT_EQ(service.method, path);
    EXPECT_EQ(service.authority, "test.example");
    EXPECT_EQ(service.keys, "key") << "the path is no metadata";
  }
}

TEST(CallbackGenericService, WithoutAReactorACallIsUnimplemented) {
  FakeEngine engine({});
  grpc::CallbackGenericService service;
  FakeHost host(engine, {GenericCalls::method(service)}, without_takeover());
  uint32_t call = engine.open(0, kNoDeadline, 0, kPath);
  auto answer = engine.answer(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, static_cast<uint32_t>(grpc::StatusCode::UNIMPLEMENTED));
}

TEST(CallbackGenericService, AnEngineThatTellsNoPathIsLeft) {
  for (const FakeEngine::Pairs& pairs : {FakeEngine::Pairs{}, FakeEngine::Pairs{{"key", "value"}}}) {
    FakeEngine engine({});
    Generic service;
    FakeHost host(engine, {GenericCalls::method(service)}, without_takeover());
    engine.open(0, kNoDeadline, 0, pairs);
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (host.link().broken.load() == nullptr && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_NE(host.link().broken.load(), nullptr);
    EXPECT_STREQ(host.link().broken.load(), "a call of a generic service without a path");
  }
}

// ---- and through completion queues

TEST(AsyncGenericService, HasItsCallsThroughAQueue) {
  FakeEngine engine({});
  grpc::AsyncGenericService service;
  std::vector<grpc::internal::Method> methods = {GenericCalls::method(service)};
  auto poller = std::make_shared<QueuePoller>();
  auto requests = std::make_shared<CallRequests>(methods, poller);
  GenericCalls::serve(service, requests, 0);
  auto link = engine.link(&methods);
  auto worker = std::make_shared<Worker>(link, 0);
  auto queue = grpc::ServerBuilder().AddCompletionQueue();
  queue->drover_events().join(poller);
  poller->lead(worker);
  auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(5);
    if (queue->AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return std::string("nothing");
    return std::to_string(reinterpret_cast<intptr_t>(tag)) + (ok ? "" : " failed");
  };
  auto tag = [](intptr_t number) { return reinterpret_cast<void*>(number); };
  {
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream(&context);
    service.RequestCall(&context, &stream, queue.get(), queue.get(), tag(1));
    uint32_t call = engine.open(0, kNoDeadline, 0, kPath);
    ASSERT_EQ(next(), "1");
    EXPECT_EQ(context.method(), "/a.B/C");
    EXPECT_EQ(context.host(), "test.example");
    EXPECT_EQ(context.client_metadata().size(), 1u);
    ByteBuffer message;
    stream.Read(&message, tag(2));
    engine.send<ByteBuffer>(call, bytes("in"), true);
    ASSERT_EQ(next(), "2");
    EXPECT_EQ(message.drover_view(), "in");
    stream.Write(message, tag(3));
    ASSERT_EQ(next(), "3");
    stream.Read(&message, tag(4));
    ASSERT_EQ(next(), "4 failed");
    stream.Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "why"), tag(5));
    ASSERT_EQ(next(), "5");
    auto answer = engine.answer(call);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, static_cast<uint32_t>(grpc::StatusCode::NOT_FOUND));
  }
  requests->close();
  link->gone.store(true);
  worker->request_cancel_scan();
  queue->Shutdown();
  EXPECT_EQ(next(), "nothing");
}

}  // namespace
}  // namespace drover::host
