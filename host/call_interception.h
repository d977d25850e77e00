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
// Each function runs the interceptors one behind the other, on the calling thread, and gives true when the last of them
// has called Proceed. It gives false as soon as one has not proceeded when its Intercept returns: the others then run
// on the thread that calls its Proceed, and that of the last one calls `resume`. Until then the call waits, but no
// thread does. `resume` may have been called before the function returns false.
//
// PRE_SEND_CANCEL: Proceed within Intercept or not at all.
//
// Interceptors are the application's code: they are called where that runs (host/worker.h). What they throw, or the
// factories, ends the call in UNKNOWN, as what a handler throws does (`threw`).
//
// Threads: a call's functions come one at a time, but that messages may be received while others, or the end, are sent.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "message/message.h"

namespace grpc {
class ServerContextBase;
}

namespace drover::host {

// What goes on with the call. Called once, on any thread.
using Resume = std::function<void()>;
// How far interceptors have come, and whether the caller has the lead still: kDone and kLater with the lead.
enum class Intercepted { kDone, kLater, kLost };

using InterceptorFactories = std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>;

class CallInterception {
 public:
  using Interceptors = std::vector<std::unique_ptr<grpc::experimental::Interceptor>>;

  CallInterception() = default;
  virtual ~CallInterception() = default;
  CallInterception(const CallInterception&) = delete;
  CallInterception& operator=(const CallInterception&) = delete;

  // `message`: the application's copy of the request; null: the request is the call's, or streams.
  virtual bool received_call(grpc::ServerContextBase& context, Message* message, Resume resume) = 0;
  // Null: none came.
  virtual bool received_message(Message* message, Resume resume) = 0;
  // Replaces *message by what is to be sent in its place, valid until message_sent. Null: interceptors gave bytes that
  // cannot be parsed.
  virtual bool sends_message(const Message** message, Resume resume) = 0;
  virtual bool sends_initial_metadata(Resume resume) = 0;
  virtual bool message_sent(bool ok, Resume resume) = 0;
  // May change the call's status, reply and metadata.
  virtual bool sends_end(Resume resume) = 0;
  virtual bool closed(Resume resume) = 0;
  // Any thread, until the call is recycled; null: the call has none.
  virtual std::shared_ptr<const Interceptors> interceptors() const = 0;
  virtual void tell_of_cancel(const Interceptors& interceptors) = 0;

  // An interceptor or a factory has thrown. The rest of its batch did not run, and the function gave true. No handler
  // starts and no message passes from then on; a handler that runs already goes on. Any thread.
  std::atomic<bool> threw{false};

  // ---- the leader
  bool call_seen = false;  // received_call has been called
  bool end_seen = false;   // sends_end has been called
  // Of a call without a stream whose headers go before its answer: sends_initial_metadata has been called; it runs; and
  // the answer waits for it.
  bool headers_seen = false, headers_run = false, end_waits = false;
  // Ends the interceptors.
  virtual void recycle() = 0;
};

}  // namespace drover::host
