// Interceptors: code that sees a call at certain points of its way, and may change what goes by. gRPC's classes
// (grpc::experimental), of servers; what only clients have is there by name, and never happens.
//
//   class Interceptor { virtual void Intercept(InterceptorBatchMethods* methods) = 0; };
//
// Each Intercept ends, then or later and on any thread, in one methods->Proceed(): until then the call does not go on.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>
#include <string>

namespace grpc {

// A client's channel, which Drover does not have.
class ChannelInterface {
 public:
  virtual ~ChannelInterface() = default;
};

namespace experimental {

// What an Intercept is about; one or several at once, either PRE_... or POST_....
enum class InterceptionHookPoints {
  PRE_SEND_INITIAL_METADATA,
  PRE_SEND_MESSAGE,
  POST_SEND_MESSAGE,
  PRE_SEND_STATUS,
  PRE_SEND_CLOSE,             // of clients
  PRE_RECV_INITIAL_METADATA,  // of clients
  PRE_RECV_MESSAGE,           // of clients
  PRE_RECV_STATUS,            // of clients
  POST_RECV_INITIAL_METADATA,
  POST_RECV_MESSAGE,
  POST_RECV_STATUS,  // of clients
  POST_RECV_CLOSE,   // the call is over
  PRE_SEND_CANCEL,   // TryCancel: alone, and needs no Proceed
  NUM_INTERCEPTION_HOOKS
};

class InterceptorBatchMethods {
 public:
  virtual ~InterceptorBatchMethods() = default;
  virtual bool QueryInterceptionHookPoint(InterceptionHookPoints type) = 0;
  virtual void Proceed() = 0;
  // Of clients: ends the process.
  virtual void Hijack() = 0;

  // ---- PRE_SEND_MESSAGE
  // The message as its wire bytes, which may be changed; from then on GetSendMessage gives null.
  virtual ByteBuffer* GetSerializedSendMessage() = 0;
  // The message, of the type that the method has; null: there is only its serialized form.
  virtual const void* GetSendMessage() = 0;
  // Sends another one, which lives until POST_SEND_MESSAGE.
  virtual void ModifySendMessage(const void* message) = 0;

  // ---- POST_SEND_MESSAGE
  virtual bool GetSendMessageStatus() = 0;

  // ---- PRE_SEND_INITIAL_METADATA
  virtual std::multimap<std::string, std::string>* GetSendInitialMetadata() = 0;

  // ---- PRE_SEND_STATUS
  virtual Status GetSendStatus() = 0;
  virtual void ModifySendStatus(const Status& status) = 0;
  virtual std::multimap<std::string, std::string>* GetSendTrailingMetadata() = 0;

  // ---- POST_RECV_MESSAGE
  // The message, which may be changed; null: none came, the client has half-closed or is gone.
  virtual void* GetRecvMessage() = 0;

  // ---- POST_RECV_INITIAL_METADATA
  virtual std::multimap<string_ref, string_ref>* GetRecvInitialMetadata() = 0;

  // ---- of clients: null, or nothing
  virtual Status* GetRecvStatus() = 0;
  virtual std::multimap<string_ref, string_ref>* GetRecvTrailingMetadata() = 0;
  virtual std::unique_ptr<ChannelInterface> GetInterceptedChannel() = 0;
  virtual void FailHijackedRecvMessage() = 0;
  virtual void FailHijackedSendMessage() = 0;
};

class Interceptor {
 public:
  virtual ~Interceptor() = default;
  virtual void Intercept(InterceptorBatchMethods* methods) = 0;
};

}  // namespace experimental
}  // namespace grpc
