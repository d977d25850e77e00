// ServerAsyncResponseWriter: how an application that waits at a CompletionQueue answers a unary call. gRPC's class.
//
// Its operations may be used once the event of Request... has come, each with a tag that comes out of the call's queue:
// ok if it was handed over for sending, not ok if the call was cancelled. Messages may be changed as soon as the
// operation has been begun.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

namespace drover {
class Message;
}
namespace drover::host {
class AsyncCall;
}

namespace grpc {
namespace internal {

// What all responders stand on (host/async_call.h).
class ServerAsyncStreamingInterface {
 public:
  virtual ~ServerAsyncStreamingInterface() = default;
  // Sends what AddInitialMetadata has collected now. Once, before any message.
  virtual void SendInitialMetadata(void* tag) = 0;

 protected:
  void send_initial_metadata(void* tag);
  void read(drover::Message* message, void* tag);
  void write(const drover::Message& message, const WriteOptions& options, void* tag);
  void write_and_finish(const drover::Message& message, const WriteOptions& options, const Status& status, void* tag);
  void finish(const drover::Message* reply, const Status& status, void* tag);

 private:
  friend class drover::host::AsyncCall;
  drover::host::AsyncCall* drover_call_ = nullptr;  // once there is one
};

}  // namespace internal

template <class W>
class ServerAsyncResponseWriter final : public internal::ServerAsyncStreamingInterface {
 public:
  explicit ServerAsyncResponseWriter(ServerContext* /*context*/) {}

  void SendInitialMetadata(void* tag) override { send_initial_metadata(tag); }
  // With a status that is not OK the message is not sent.
  void Finish(const W& message, const Status& status, void* tag) { finish(&message, status, tag); }
  void FinishWithError(const Status& status, void* tag) { finish(nullptr, status, tag); }
};

}  // namespace grpc
