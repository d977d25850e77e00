// grpc::Service and Method: what generated service classes and Drover's runtime say to each other.
//
// Generated code calls, in the constructor of Foo::Service, once per unary method in the order of the .proto file:
//
//   AddMethod(::grpc::internal::MakeUnaryMethod<Service, Req, Rep>("/pkg.Foo/Bar", &Service::Bar, this));
//
// and in the constructor of WithCallbackMethod_Bar, with that method's position in the order above:
//
//   this->MarkMethodCallback(0, ::grpc::internal::MakeUnaryCallbackMethod<WithCallbackMethod_Bar, Req, Rep>(
//                                   "/pkg.Foo/Bar", &WithCallbackMethod_Bar::Bar, this));
//
// A method that only has to be answered with UNIMPLEMENTED (one that streams, for now) keeps its position by
// AddMethod(::grpc::internal::MakeAbsentMethod("/pkg.Foo/Baz")). Paths are string literals. Req and Rep are generated
// message classes (generated/generated_message.h). The service must outlive the server that it is registered with.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <grpcpp/support/status.h>

#include "object/arena.h"
#include "schema/message_type.h"

namespace grpc {

class ServerContext;
class CallbackServerContext;
class ServerUnaryReactor;

namespace internal {

// One method of one service object: its path, its messages, and a thunk that calls a member function through its
// pointer (so that virtual dispatch finds the application's override), without std::function.
struct Method {
  enum class Kind { kAbsent, kSync, kCallback };

  const char* path = "";
  Kind kind = Kind::kAbsent;
  const drover::schema::MessageType& (*request_type)() = nullptr;
  const drover::schema::MessageType& (*reply_type)() = nullptr;
  size_t request_size = 0;  // of the object itself, for the check that it lies in the region

  // An empty reply in `arena`; null if the arena has no memory.
  void* (*create_reply)(drover::Arena& arena) = nullptr;
  // kSync
  Status (*call)(const Method& method, ServerContext* context, const void* request, void* reply) = nullptr;
  // kCallback; may return null, which means UNIMPLEMENTED
  ServerUnaryReactor* (*start)(const Method& method, CallbackServerContext* context, const void* request,
                               void* reply) = nullptr;

  void* service = nullptr;
  // A member function pointer, as bytes.
  alignas(void*) unsigned char handler[2 * sizeof(void*)] = {};
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
  method.request_type = &Request::drover_type;
  method.reply_type = &Reply::drover_type;
  method.request_size = sizeof(Request);
  method.create_reply = [](drover::Arena& arena) -> void* { return arena.create<Reply>(); };
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

inline Method MakeAbsentMethod(const char* path) {
  Method method;
  method.path = path;
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

 protected:
  void AddMethod(const internal::Method& method) { methods_.push_back(method); }
  // Replaces the method at `index`, in AddMethod's order.
  void MarkMethodCallback(int index, const internal::Method& method) {
    methods_.at(static_cast<size_t>(index)) = method;
  }

 private:
  std::vector<internal::Method> methods_;
};

}  // namespace grpc
