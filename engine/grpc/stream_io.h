// StreamIo: the messages of one call that streams, between its HTTP/2 stream and the dispatcher.
//
//   DATA -> StreamAssembler -> CallSink::message ... consumed -> the stream's window
//   Reply -> ReplyQueue -> the stream's body, part by part -> trailers
//
// The stream's window is kept back for messages that the host has not consumed; the connection's is not, so that a
// handler that does not read stops its own client only. A message that has begun gets window as it arrives once all
// before it are consumed: it may be larger than the window.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/call/call.h"
#include "engine/grpc/reply_queue.h"
#include "engine/grpc/stream_assembler.h"
#include "engine/http2/session.h"

namespace drover::engine {

struct CallStream;

class StreamIo {
 public:
  // For the next call.
  void clear();

  // ---- the request
  // DATA of the request. Not ok: it cannot be, and the call ends. `sink` may end the call: then the rest is dropped.
  Status receive(CallStream& stream, http2::Session& session, CallSink& sink, const char* bytes, size_t size);
  // The host is done with these messages.
  void consumed(CallStream& stream, http2::Session& session, size_t messages, size_t bytes);
  // The client waits for none of our window, and has begun a message that it does not end.
  bool waits_for_client() const { return requests.partial() && unconsumed_ == 0; }
  StreamAssembler requests;

  // ---- the reply
  // The next message. True: it was copied. Throws std::bad_alloc.
  bool send(CallStream& stream, http2::Session& session, const Reply& reply);
  // No message follows.
  void end(CallStream& stream, http2::Session& session, bool with_trailers);
  // The stream's body has been produced. Returns the offset behind it.
  uint64_t body_sent(CallStream& stream, http2::Session& session);
  ReplyQueue replies;
  bool headers_sent = false;
  bool aborted = false;  // the transport has ended the call, and the dispatcher does not know yet

 private:
  void begin_body(CallStream& stream, http2::Session& session);

  size_t unconsumed_ = 0;  // messages
  size_t kept_ = 0;        // bytes of the stream's window
  bool ending_ = false;
  bool with_trailers_ = false;
};

}  // namespace drover::engine
