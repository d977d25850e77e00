// Generic services: they take all calls of a server whose methods none of its services has, of any name, with messages
// as bytes. gRPC's classes.
//
//   through completion queues   AsyncGenericService::RequestCall ... GenericServerAsyncReaderWriter
//   by callback                 CallbackGenericService::CreateReactor -> ServerGenericBidiReactor
//
// Each such call is a stream both ways, also where the client makes a unary one: one Read, one Write, and Finish.
// Behind one engine, a method that a service of another host has goes there first.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <string>

namespace drover::host {
class CallRequests;
struct GenericCalls;
}  // namespace drover::host

namespace grpc {

using GenericServerAsyncReaderWriter = ServerAsyncReaderWriter<ByteBuffer, ByteBuffer>;
using GenericServerAsyncResponseWriter = ServerAsyncResponseWriter<ByteBuffer>;
using GenericServerAsyncReader = ServerAsyncReader<ByteBuffer, ByteBuffer>;
using GenericServerAsyncWriter = ServerAsyncWriter<ByteBuffer>;

class GenericServerContext final : public ServerContext {
 public:
  // "/package.Service/Method", as the client has sent it, and the :authority. Once the call has come.
  const std::string& method() const { return method_; }
  const std::string& host() const { return host_; }

 private:
  friend struct drover::host::GenericCalls;
  std::string method_, host_;
};

class AsyncGenericService final {
 public:
  AsyncGenericService() = default;
  AsyncGenericService(const AsyncGenericService&) = delete;
  AsyncGenericService& operator=(const AsyncGenericService&) = delete;

  // As a generated service's Request...: once the server runs, `tag` comes out of `notification_queue` with a call.
  void RequestCall(GenericServerContext* context, GenericServerAsyncReaderWriter* reader_writer,
                   CompletionQueue* call_queue, ServerCompletionQueue* notification_queue, void* tag);

 private:
  friend struct drover::host::GenericCalls;
  std::shared_ptr<drover::host::CallRequests> requests_;
  uint32_t number_ = 0;
};

using ServerGenericBidiReactor = ServerBidiReactor<ByteBuffer, ByteBuffer>;

class GenericCallbackServerContext final : public CallbackServerContext {
 public:
  const std::string& method() const { return method_; }
  const std::string& host() const { return host_; }

 private:
  friend struct drover::host::GenericCalls;
  std::string method_, host_;
};

class CallbackGenericService {
 public:
  CallbackGenericService() = default;
  virtual ~CallbackGenericService() = default;
  CallbackGenericService(const CallbackGenericService&) = delete;
  CallbackGenericService& operator=(const CallbackGenericService&) = delete;

  // The reactor that serves the call; null, as the one here: UNIMPLEMENTED.
  virtual ServerGenericBidiReactor* CreateReactor(GenericCallbackServerContext* /*context*/) { return nullptr; }
};

}  // namespace grpc
