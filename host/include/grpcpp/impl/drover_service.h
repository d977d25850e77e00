// grpc::Service and Method: what generated service classes and Drover's runtime say to each other.
//
// Generated code calls, in the constructor of Foo::Service, once per method in the order of the .proto file:
//
//   AddMethod(::grpc::internal::MakeUnaryMethod<Service, Req, Rep>("/pkg.Foo/Bar", &Service::Bar, this));
//
// and in the constructor of WithCallbackMethod_Bar, with that method's position in the order above:
//
//   this->MarkMethodCallback(0, ::grpc::internal::MakeUnaryCallbackMethod<WithCallbackMethod_Bar, Req, Rep>(
//                                   "/pkg.Foo/Bar", &WithCallbackMethod_Bar::Bar, this));
//
// and once, before AddMethod, SetDescriptors(bytes, size) with the service's descriptors for server reflection.
//
// WithAsyncMethod_Bar calls MarkMethodAsync with that position in its constructor, and RequestAsync... in RequestBar.
// WithRawMethod_Bar calls MarkMethodRaw; WithRawCallbackMethod_Bar is as WithCallbackMethod_Bar, with ByteBuffer for
// both messages; WithGenericMethod_Bar calls MarkMethodGeneric; WithStreamedUnaryMethod_Bar and
// WithSplitStreamingMethod_Bar call MarkMethodStreamed with what MakeStreamedUnaryMethod or MakeSplitStreamingMethod
// gives.
// A method that streams has MakeClientStreaming..., MakeServerStreaming... or MakeBidi... in place of MakeUnary....
// Paths are string literals. Req and Rep are generated message classes (generated/generated_message.h). The service
// must outlive the server that it is registered with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/streamed_unary.h>
#include <grpcpp/support/sync_stream.h>

#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::host {
class CallRequests;
}

namespace grpc {
namespace internal {

// One method of one service object: its path, its messages, and a thunk that calls a member function through its
// pointer (so that virtual dispatch finds the application's override), without std::function.
struct Method {
  enum class Kind {
    kSync,
    kCallback,
    kAsync,
    kGeneric,  // not served: its calls are for the server's generic service, if there is one
  };

  const char* path = "";
  Kind kind = Kind::kSync;
  bool request_streams = false;
  bool reply_streams = false;
  bool streams() const { return request_streams || reply_streams; }
  bool raw = false;  // its messages are ByteBuffers: wire bytes
  bool any = false;  // of a generic service: takes calls of any path
  const drover::schema::MessageType& (*request_type)() = nullptr;
  const drover::schema::MessageType& (*reply_type)() = nullptr;
  size_t request_size = 0;  // of the object in a CALL, for the check that it lies in the region; if it streams: no size
  size_t message_size = 0;  // of a request object, there and in a MESSAGE

  // An empty reply in `arena`; null if the arena has no memory, and if the reply streams.
  void* (*create_reply)(drover::Arena& arena) = nullptr;
  // kSync. `request` and `reply` are null where they stream.
  Status (*call)(const Method& method, ServerContext* context, const void* request, void* reply) = nullptr;
  // kCallback; may return null, which means UNIMPLEMENTED
  ServerUnaryReactor* (*start)(const Method& method, CallbackServerContext* context, const void* request,
                               void* reply) = nullptr;
  // The same for a method that streams.
  StreamReactor* (*start_stream)(const Method& method, CallbackServerContext* context, const void* request,
                                 void* reply) = nullptr;

  // kAsync: where its calls meet the application's requests, once it is served; and its number there.
  drover::host::CallRequests* requests = nullptr;
  uint32_t number = 0;

  void* service = nullptr;
  // A member function pointer, as bytes.
  alignas(void*) unsigned char handler[2 * sizeof(void*)] = {};

  template <class Request, class Reply>
  void set_messages() {
    static_assert(std::is_same_v<Request, ByteBuffer> == std::is_same_v<Reply, ByteBuffer>);
    raw = std::is_same_v<Request, ByteBuffer>;
    request_type = &Request::drover_type;
    reply_type = &Reply::drover_type;
    request_size = message_size = sizeof(Request);
    create_reply = [](drover::Arena& arena) -> void* { return arena.create<Reply>(); };
  }
  // Behind set_messages.
  void set_streams(bool of_request, bool of_reply) {
    request_streams = of_request;
    reply_streams = of_reply;
    if (of_request) request_size = SIZE_MAX;
    if (of_reply) create_reply = [](drover::Arena&) -> void* { return nullptr; };
  }
};

template <class S, class Request, class Reply>
using UnaryHandler = Status (S::*)(ServerContext*, const Request*, Reply*);
template <class S, class Request, class Reply>
using UnaryCallbackHandler = ServerUnaryReactor* (S::*)(CallbackServerContext*, const Request*, Reply*);

template <class Handler>
void store_handler(Method* method, Handler handler) {
  static_assert(sizeof(handler) <= sizeof(method->handler), "a member function pointer is two words");
  std::memcpy(method->handler, &handler, sizeof handler);
}
template <class Handler>
Handler load_handler(const Method& method) {
  Handler handler;
  std::memcpy(&handler, method.handler, sizeof handler);
  return handler;
}

template <class Request, class Reply>
Method MakeMethod(const char* path, Method::Kind kind) {
  Method method;
  method.path = path;
  method.kind = kind;
  method.set_messages<Request, Reply>();
  return method;
}

template <class S, class Request, class Reply>
Method MakeUnaryMethod(const char* path, UnaryHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeMethod<Request, Reply>(path, Method::Kind::kSync);
  method.service = service;
  store_handler(&method, handler);
  method.call = [](const Method& self, ServerContext* context, const void* request, void* reply) -> Status {
    auto member = load_handler<UnaryHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, static_cast<const Request*>(request),
                                                    static_cast<Reply*>(reply));
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeUnaryCallbackMethod(const char* path, UnaryCallbackHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeMethod<Request, Reply>(path, Method::Kind::kCallback);
  method.service = service;
  store_handler(&method, handler);
  method.start = [](const Method& self, CallbackServerContext* context, const void* request,
                    void* reply) -> ServerUnaryReactor* {
    auto member = load_handler<UnaryCallbackHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, static_cast<const Request*>(request),
                                                    static_cast<Reply*>(reply));
  };
  return method;
}

// ---- methods that stream

template <class S, class Request, class Reply>
using ClientStreamingHandler = Status (S::*)(ServerContext*, ServerReader<Request>*, Reply*);
template <class S, class Request, class Reply>
using ServerStreamingHandler = Status (S::*)(ServerContext*, const Request*, ServerWriter<Reply>*);
template <class S, class Request, class Reply>
using BidiHandler = Status (S::*)(ServerContext*, ServerReaderWriter<Reply, Request>*);
template <class S, class Request, class Reply>
using ClientStreamingCallbackHandler = ServerReadReactor<Request>* (S::*)(CallbackServerContext*, Reply*);
template <class S, class Request, class Reply>
using ServerStreamingCallbackHandler = ServerWriteReactor<Reply>* (S::*)(CallbackServerContext*, const Request*);
template <class S, class Request, class Reply>
using BidiCallbackHandler = ServerBidiReactor<Request, Reply>* (S::*)(CallbackServerContext*);

template <class Request, class Reply, class S, class Handler>
Method MakeStreamingMethod(const char* path, Method::Kind kind, bool request_streams, bool reply_streams, S* service,
                           Handler handler) {
  Method method = MakeMethod<Request, Reply>(path, kind);
  method.set_streams(request_streams, reply_streams);
  method.service = service;
  store_handler(&method, handler);
  return method;
}

template <class S, class Request, class Reply>
Method MakeClientStreamingMethod(const char* path, ClientStreamingHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kSync, true, false, service, handler);
  method.call = [](const Method& self, ServerContext* context, const void*, void* reply) -> Status {
    ServerReader<Request> reader(context->drover_call());
    auto member = load_handler<ClientStreamingHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, &reader, static_cast<Reply*>(reply));
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeServerStreamingMethod(const char* path, ServerStreamingHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kSync, false, true, service, handler);
  method.call = [](const Method& self, ServerContext* context, const void* request, void*) -> Status {
    ServerWriter<Reply> writer(context->drover_call());
    auto member = load_handler<ServerStreamingHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, static_cast<const Request*>(request), &writer);
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeBidiMethod(const char* path, BidiHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kSync, true, true, service, handler);
  method.call = [](const Method& self, ServerContext* context, const void*, void*) -> Status {
    ServerReaderWriter<Reply, Request> stream(context->drover_call());
    auto member = load_handler<BidiHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, &stream);
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeClientStreamingCallbackMethod(const char* path, ClientStreamingCallbackHandler<S, Request, Reply> handler,
                                         S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kCallback, true, false, service, handler);
  method.start_stream = [](const Method& self, CallbackServerContext* context, const void*,
                           void* reply) -> StreamReactor* {
    auto member = load_handler<ClientStreamingCallbackHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, static_cast<Reply*>(reply));
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeServerStreamingCallbackMethod(const char* path, ServerStreamingCallbackHandler<S, Request, Reply> handler,
                                         S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kCallback, false, true, service, handler);
  method.start_stream = [](const Method& self, CallbackServerContext* context, const void* request,
                           void*) -> StreamReactor* {
    auto member = load_handler<ServerStreamingCallbackHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, static_cast<const Request*>(request));
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeBidiCallbackMethod(const char* path, BidiCallbackHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kCallback, true, true, service, handler);
  method.start_stream = [](const Method& self, CallbackServerContext* context, const void*, void*) -> StreamReactor* {
    auto member = load_handler<BidiCallbackHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context);
  };
  return method;
}

// ---- methods that do not stream, or whose reply does, with handlers for which all messages do

template <class S, class Request, class Reply>
using StreamedUnaryHandler = Status (S::*)(ServerContext*, ServerUnaryStreamer<Request, Reply>*);
template <class S, class Request, class Reply>
using SplitStreamingHandler = Status (S::*)(ServerContext*, ServerSplitStreamer<Request, Reply>*);

template <class S, class Request, class Reply>
Method MakeStreamedUnaryMethod(const char* path, StreamedUnaryHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeMethod<Request, Reply>(path, Method::Kind::kSync);
  method.service = service;
  store_handler(&method, handler);
  method.call = [](const Method& self, ServerContext* context, const void* request, void* reply) -> Status {
    ServerUnaryStreamer<Request, Reply> streamer(static_cast<const Request*>(request), static_cast<Reply*>(reply));
    auto member = load_handler<StreamedUnaryHandler<S, Request, Reply>>(self);
    Status status = (static_cast<S*>(self.service)->*member)(context, &streamer);
    if (status.ok() && !streamer.drover_written()) {
      return Status(StatusCode::INTERNAL, "Service did not provide response message");  // as gRPC has it
    }
    return status;
  };
  return method;
}

template <class S, class Request, class Reply>
Method MakeSplitStreamingMethod(const char* path, SplitStreamingHandler<S, Request, Reply> handler, S* service) {
  Method method = MakeStreamingMethod<Request, Reply>(path, Method::Kind::kSync, false, true, service, handler);
  method.call = [](const Method& self, ServerContext* context, const void* request, void*) -> Status {
    ServerSplitStreamer<Request, Reply> streamer(context->drover_call(), static_cast<const Request*>(request));
    auto member = load_handler<SplitStreamingHandler<S, Request, Reply>>(self);
    return (static_cast<S*>(self.service)->*member)(context, &streamer);
  };
  return method;
}

}  // namespace internal

// The base of every generated service.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  const std::vector<internal::Method>& drover_methods() const { return methods_; }
  // Its methods' calls are asked for there from now on. Those that are served have numbers from *next on, which it
  // counts up.
  void drover_serve(std::shared_ptr<drover::host::CallRequests> requests, uint32_t* next);

  // A FileDescriptorSet's bytes: the service's .proto file and all that it imports; empty if it is not generated.
  std::string_view drover_descriptors() const { return descriptors_; }

 protected:
  void SetDescriptors(const unsigned char* bytes, size_t size) {
    descriptors_ = {reinterpret_cast<const char*>(bytes), size};
  }
  void AddMethod(const internal::Method& method) { methods_.push_back(method); }
  // Replaces the method at `index`, in AddMethod's order.
  void MarkMethodCallback(int index, const internal::Method& method) {
    methods_.at(static_cast<size_t>(index)) = method;
  }
  void MarkMethodAsync(int index) { methods_.at(static_cast<size_t>(index)).kind = internal::Method::Kind::kAsync; }
  void MarkMethodRaw(int index) {
    internal::Method& method = methods_.at(static_cast<size_t>(index));
    method.kind = internal::Method::Kind::kAsync;
    method.set_messages<ByteBuffer, ByteBuffer>();
    method.set_streams(method.request_streams, method.reply_streams);
  }
  void MarkMethodGeneric(int index) { methods_.at(static_cast<size_t>(index)).kind = internal::Method::Kind::kGeneric; }
  void MarkMethodStreamed(int index, const internal::Method& method) { MarkMethodCallback(index, method); }

  // `request` stays empty until `tag` comes out of `notification_queue`; what is asked of the responder afterwards ends
  // in `call_queue`. Only once the server runs.
  template <class Message>
  void RequestAsyncUnary(int index, ServerContext* context, Message* request,
                         internal::ServerAsyncStreamingInterface* responder, CompletionQueue* call_queue,
                         ServerCompletionQueue* notification_queue, void* tag) {
    request_call(index, context, request, responder, call_queue, notification_queue, tag);
  }
  template <class Message>
  void RequestAsyncServerStreaming(int index, ServerContext* context, Message* request,
                                   internal::ServerAsyncStreamingInterface* responder, CompletionQueue* call_queue,
                                   ServerCompletionQueue* notification_queue, void* tag) {
    request_call(index, context, request, responder, call_queue, notification_queue, tag);
  }
  void RequestAsyncClientStreaming(int index, ServerContext* context,
                                   internal::ServerAsyncStreamingInterface* responder, CompletionQueue* call_queue,
                                   ServerCompletionQueue* notification_queue, void* tag) {
    request_call(index, context, nullptr, responder, call_queue, notification_queue, tag);
  }
  void RequestAsyncBidiStreaming(int index, ServerContext* context, internal::ServerAsyncStreamingInterface* responder,
                                 CompletionQueue* call_queue, ServerCompletionQueue* notification_queue, void* tag) {
    request_call(index, context, nullptr, responder, call_queue, notification_queue, tag);
  }

 private:
  void request_call(int index, ServerContext* context, drover::Message* request,
                    internal::ServerAsyncStreamingInterface* responder, CompletionQueue* call_queue,
                    ServerCompletionQueue* notification_queue, void* tag);

  std::string_view descriptors_;
  std::vector<internal::Method> methods_;
  std::shared_ptr<drover::host::CallRequests> requests_;
  std::vector<uint32_t> numbers_;  // of the methods, with requests_
};

}  // namespace grpc
