// Methods of every kind in one server, with gRPC C++'s own API; built once against Drover and once against gRPC C++.
//
//   generic_server --address HOST:PORT [--callback] [--only-generic]     prints "listening on PORT", serves until
//   SIGTERM
//
//   TestService     Echo raw, through a queue; Fail raw, by callback; Metadata by callback; Sized as a streamer;
//                   Stats left to the generic service; the others synchronous
//   StreamService   Talk raw, by callback; Collect raw, through a queue; Spread as a streamer; the others synchronous
//   any other name  by a generic service: through the queue, or with --callback by callback. What it does hangs on the
//                   method's name, the part behind the last slash:
//                     Count    answers with the number of messages and of bytes, in text
//                     Parse    takes an EchoRequest, and answers with one that has its text twice
//                     Fail     ends in NOT_FOUND with the first message as its text
//                     Stats    answers with a StatsReply whose `calls` is 4711
//                     (else)   sends each message back
//                   Trailing metadata: "method", "called-at" (the host), and as "saw" the keys of the client's
//                   metadata.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "testing.grpc.pb.h"

namespace {

using drover::testing::EchoReply;
using drover::testing::EchoRequest;
using drover::testing::Item;
using drover::testing::MetadataReply;
using drover::testing::MetadataRequest;
using drover::testing::SizedReply;
using drover::testing::SizedRequest;
using drover::testing::SpreadRequest;
using drover::testing::StatsReply;
using drover::testing::StreamService;
using drover::testing::TestService;
using grpc::ByteBuffer;

std::atomic<int64_t> cancelled{0};

std::string text_of(const ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

ByteBuffer buffer_of(const std::string& text) {
  // Of two parts, as a buffer may be.
  const grpc::Slice whole(text);
  const grpc::Slice parts[] = {whole.sub(0, text.size() / 2), whole.sub(text.size() / 2, text.size())};
  return ByteBuffer(parts, 2);
}

// What a generic call does, whichever API it came through.
class Conversation {
 public:
  void begin(const std::string& method) { name_ = method.substr(method.rfind('/') + 1); }
  template <class Context>
  void add_trailers(Context* context) {
    context->AddTrailingMetadata("method", context->method());
    context->AddTrailingMetadata("called-at", context->host());
    for (const auto& pair : context->client_metadata()) {
      context->AddTrailingMetadata("saw", std::string(pair.first.data(), pair.first.size()));
    }
  }
  // True: `reply` is to be sent.
  bool message(ByteBuffer* request, ByteBuffer* reply) {
    ++count_;
    bytes_ += request->Length();
    if (name_ == "Count" || name_ == "Stats") return false;
    if (name_ == "Fail") {
      status_ = grpc::Status(grpc::StatusCode::NOT_FOUND, text_of(*request));
      return false;
    }
    if (name_ == "Parse") {
      EchoRequest echo;
      status_ = grpc::SerializationTraits<EchoRequest>::Deserialize(request, &echo);
      if (!status_.ok()) return false;
      echo.set_text(std::string(echo.text()) + std::string(echo.text()));
      bool own = false;
      status_ = grpc::GenericSerialize<grpc::ProtoBufferWriter, EchoRequest>(echo, reply, &own);
      return status_.ok();
    }
    *reply = *request;
    return true;
  }
  // True: `reply` is to be sent before the end.
  bool last(ByteBuffer* reply) {
    if (name_ == "Count") *reply = buffer_of(std::to_string(count_) + " " + std::to_string(bytes_));
    if (name_ != "Stats") return name_ == "Count";
    StatsReply stats;
    stats.set_calls(4711);
    bool own = false;
    status_ = grpc::SerializationTraits<StatsReply>::Serialize(stats, reply, &own);
    return status_.ok();
  }
  const grpc::Status& status() const { return status_; }

 private:
  std::string name_;
  size_t count_ = 0, bytes_ = 0;
  grpc::Status status_;
};

// ---- by callback

class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Reactor(grpc::GenericCallbackServerContext* context) {
    conversation_.begin(context->method());
    conversation_.add_trailers(context);
    StartRead(&request_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      if (conversation_.last(&reply_)) {
        return StartWriteAndFinish(&reply_, grpc::WriteOptions(), conversation_.status());
      }
      return Finish(conversation_.status());
    }
    if (conversation_.message(&request_, &reply_)) return StartWrite(&reply_);
    if (!conversation_.status().ok()) return Finish(conversation_.status());
    StartRead(&request_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnCancel() override { ++cancelled; }
  void OnDone() override { delete this; }

 private:
  Conversation conversation_;
  ByteBuffer request_, reply_;
};

class GenericService final : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Reactor(context);
  }
};

// ---- through the queue

class QueueCall {
 public:
  explicit QueueCall(grpc::ServerCompletionQueue* queue) : queue_(queue) {}
  virtual ~QueueCall() = default;
  // The next event; false: the call is over.
  virtual bool proceed(bool ok) = 0;

 protected:
  grpc::ServerCompletionQueue* const queue_;
};

class GenericCall final : public QueueCall {
 public:
  GenericCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue)
      : QueueCall(queue), service_(service), over_(this) {
    context_.AsyncNotifyWhenDone(&over_);
    service->RequestCall(&context_, &stream_, queue, queue, this);
  }
  bool proceed(bool ok) override {
    switch (state_) {
      case State::kComes:
        if (!ok) return false;
        new GenericCall(service_, queue_);
        conversation_.begin(context_.method());
        conversation_.add_trailers(&context_);
        return read();
      case State::kReads:
        if (!ok) {
          state_ = State::kEnds;
          if (conversation_.last(&reply_)) {
            stream_.WriteAndFinish(reply_, grpc::WriteOptions(), conversation_.status(), this);
          } else {
            stream_.Finish(conversation_.status(), this);
          }
          return true;
        }
        if (conversation_.message(&request_, &reply_)) {
          state_ = State::kWrites;
          stream_.Write(reply_, this);
          return true;
        }
        if (conversation_.status().ok()) return read();
        state_ = State::kEnds;
        stream_.Finish(conversation_.status(), this);
        return true;
      case State::kWrites:
        if (ok) return read();
        state_ = State::kEnds;
        stream_.Finish(grpc::Status::CANCELLED, this);
        return true;
      case State::kEnds:
        break;
    }
    return --events_left_ != 0;
  }

 private:
  enum class State { kComes, kReads, kWrites, kEnds };
  // The event that the call is over.
  class Over final : public QueueCall {
   public:
    explicit Over(GenericCall* call) : QueueCall(nullptr), call_(call) {}
    bool proceed(bool /*ok*/) override {
      if (call_->context_.IsCancelled()) ++cancelled;
      if (--call_->events_left_ == 0) delete call_;
      return true;  // it is a part of the call
    }

   private:
    GenericCall* const call_;
  };
  bool read() {
    state_ = State::kReads;
    stream_.Read(&request_, this);
    return true;
  }

  grpc::AsyncGenericService* const service_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  Conversation conversation_;
  ByteBuffer request_, reply_;
  State state_ = State::kComes;
  Over over_;
  int events_left_ = 2;  // that of the end, and over_
};

// ---- services with methods of many kinds

grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

using Calls =
    TestService::WithRawMethod_Echo<TestService::WithRawCallbackMethod_Fail<TestService::WithCallbackMethod_Metadata<
        TestService::WithStreamedUnaryMethod_Sized<TestService::WithGenericMethod_Stats<TestService::Service>>>>>;

class CallService final : public Calls {
  // The message's text is what came.
  grpc::ServerUnaryReactor* Fail(grpc::CallbackServerContext* context, const ByteBuffer* request,
                                 ByteBuffer* reply) override {
    if (request->Length() > 10) {
      return finish(context, grpc::Status(grpc::StatusCode::OUT_OF_RANGE, std::to_string(request->Length())));
    }
    grpc::Slice slice;
    if (!request->DumpToSingleSlice(&slice).ok()) return finish(context, grpc::Status::CANCELLED);
    const grpc::Slice twice[] = {slice, slice};
    *reply = ByteBuffer(twice, 2);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* Metadata(grpc::CallbackServerContext* context, const MetadataRequest*,
                                     MetadataReply* reply) override {
    reply->set_peer(context->peer());
    reply->set_deadline_millis(cancelled);
    return finish(context, grpc::Status::OK);
  }
  grpc::Status StreamedSized(grpc::ServerContext*,
                             grpc::ServerUnaryStreamer<SizedRequest, SizedReply>* streamer) override {
    SizedRequest request;
    if (!streamer->Read(&request)) return grpc::Status(grpc::StatusCode::INTERNAL, "no request");
    if (streamer->Read(&request)) return grpc::Status(grpc::StatusCode::INTERNAL, "two requests");
    if (request.size() == -1) return grpc::Status::OK;  // without a Write
    if (request.size() == -2) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no reply");
    SizedReply reply;
    reply.set_payload(std::string(static_cast<size_t>(request.size()), 'z'));
    streamer->Write(reply);
    return grpc::Status::OK;
  }
};

class RawEcho final : public QueueCall {
 public:
  RawEcho(CallService* service, grpc::ServerCompletionQueue* queue) : QueueCall(queue), service_(service) {
    service->RequestEcho(&context_, &request_, &responder_, queue, queue, this);
  }
  bool proceed(bool ok) override {
    if (!ok || finishes_) return false;
    new RawEcho(service_, queue_);
    finishes_ = true;
    responder_.Finish(request_, grpc::Status::OK, this);
    return true;
  }

 private:
  CallService* const service_;
  grpc::ServerContext context_;
  ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<ByteBuffer> responder_{&context_};
  bool finishes_ = false;
};

using Streams = StreamService::WithRawCallbackMethod_Talk<
    StreamService::WithRawMethod_Collect<StreamService::WithSplitStreamingMethod_Spread<StreamService::Service>>>;

class StreamingService final : public Streams {
  class Talker final : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer> {
   public:
    Talker() { StartRead(&item_); }
    void OnReadDone(bool ok) override { ok ? StartWrite(&item_) : Finish(grpc::Status::OK); }
    void OnWriteDone(bool ok) override { ok ? StartRead(&item_) : Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    ByteBuffer item_;
  };
  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Talk(grpc::CallbackServerContext*) override { return new Talker; }
  grpc::Status StreamedSpread(grpc::ServerContext*, grpc::ServerSplitStreamer<SpreadRequest, Item>* streamer) override {
    SpreadRequest request;
    if (!streamer->Read(&request)) return grpc::Status(grpc::StatusCode::INTERNAL, "no request");
    Item item;
    for (int64_t i = 0; i < request.count(); ++i) {
      item.set_number(i);
      if (!streamer->Write(item)) break;
    }
    return grpc::Status::OK;
  }
};

class RawCollect final : public QueueCall {
 public:
  RawCollect(StreamingService* service, grpc::ServerCompletionQueue* queue) : QueueCall(queue), service_(service) {
    service->RequestCollect(&context_, &reader_, queue, queue, this);
  }
  bool proceed(bool ok) override {
    if (finishes_ || (!started_ && !ok)) return false;
    if (!started_) new RawCollect(service_, queue_);
    if (started_ && ok) all_ += text_of(item_);
    started_ = true;
    if (ok) {
      reader_.Read(&item_, this);
      return true;
    }
    finishes_ = true;
    reader_.Finish(buffer_of(all_), grpc::Status::OK, this);
    return true;
  }

 private:
  StreamingService* const service_;
  grpc::ServerContext context_;
  ByteBuffer item_;
  grpc::ServerAsyncReader<ByteBuffer, ByteBuffer> reader_{&context_};
  std::string all_;
  bool started_ = false, finishes_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::string address = "127.0.0.1:0";
  bool callback = false, only_generic = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--address") == 0 && i + 1 < argc) {
      address = argv[++i];
    } else if (std::strcmp(argv[i], "--callback") == 0) {
      callback = true;
    } else if (std::strcmp(argv[i], "--only-generic") == 0) {
      only_generic = true;
    } else {
      std::cerr << "usage: generic_server [--address HOST:PORT] [--callback] [--only-generic]\n";
      return 2;
    }
  }
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread starts

  CallService calls;
  StreamingService streams;
  GenericService by_callback;
  grpc::AsyncGenericService by_queue;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  if (!only_generic) builder.RegisterService(&calls).RegisterService(&streams);
  if (callback) {
    builder.RegisterCallbackGenericService(&by_callback);
  } else {
    builder.RegisterAsyncGenericService(&by_queue);
  }
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  if (!callback || !only_generic) queue = builder.AddCompletionQueue();
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  if (!only_generic) {
    new RawEcho(&calls, queue.get());
    new RawCollect(&streams, queue.get());
  }
  if (!callback) new GenericCall(&by_queue, queue.get());
  std::thread thread([&queue] {
    if (queue == nullptr) return;
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
      auto* call = static_cast<QueueCall*>(tag);
      if (!call->proceed(ok)) delete call;
    }
  });
  std::cout << "listening on " << port << std::endl;
  int signal = 0;
  sigwait(&ending, &signal);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  if (queue != nullptr) queue->Shutdown();
  thread.join();
  return 0;
}
