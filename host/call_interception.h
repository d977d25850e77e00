// CallInterception: the interceptors of one call, as the parts of the host that call them see it. A server without
// interceptors has none of it: Call::interception is null.
//
//   the call comes           received_call       POST_RECV_INITIAL_METADATA, and POST_RECV_MESSAGE of a unary request
//   a message of its stream  received_message    POST_RECV_MESSAGE
//   a message to be written  sends_message       PRE_SEND_MESSAGE, with PRE_SEND_INITIAL_METADATA if that has not gone
//                            message_sent        POST_SEND_MESSAGE
//   its end                  sends_end           PRE_SEND_STATUS, with what else goes then
//                            closed              POST_SEND_MESSAGE if it had a reply; POST_RECV_CLOSE
//   TryCancel                tell_of_cancel      PRE_SEND_CANCEL
//
// Each function runs the interceptors on the calling thread, one behind the other, and returns when the last of them
// has called Proceed: if one does so later, on another thread, this one waits. So they are called where the
// application's code runs, and the crew gives the lead to another thread while they wait (host/worker.h).
//
// Threads: a call's functions come one at a time, but that messages may be received while others, or the end, are sent.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <vector>

#include "message/message.h"

namespace grpc {
class ServerContextBase;
}

namespace drover::host {

using InterceptorFactories = std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;

class CallInterception {
 public:
  using Interceptors = std::vector<std::unique_ptr<grpc::experimental::Interceptor>>;

  CallInterception() = default;
  virtual ~CallInterception() = default;
  CallInterception(const CallInterception&) = delete;
  CallInterception& operator=(const CallInterception&) = delete;

  // `message`: the application's copy of the request; null: the request is the call's, or streams.
  virtual void received_call(grpc::ServerContextBase& context, Message* message) = 0;
  // Null: none came.
  virtual void received_message(Message* message) = 0;
  // What is to be sent in its place, valid until message_sent. Null: interceptors gave bytes that cannot be parsed.
  virtual const Message* sends_message(const Message& message) = 0;
  virtual void sends_initial_metadata() = 0;
  virtual void message_sent(bool ok) = 0;
  // May change the call's status, reply and metadata.
  virtual void sends_end() = 0;
  virtual void closed() = 0;
  // Any thread, until the call is recycled; null: the call has none.
  virtual std::shared_ptr<const Interceptors> interceptors() const = 0;
  virtual void tell_of_cancel(const Interceptors& interceptors) = 0;

  // ---- the leader
  bool end_seen = false;  // sends_end has been called
  // Of a call without a stream whose headers go before its answer: sends_initial_metadata has been called; it runs; and
  // the answer waits for it.
  bool headers_seen = false, headers_run = false, end_waits = false;
  // Ends the interceptors.
  virtual void recycle() = 0;
};

}  // namespace drover::host
