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
#include <span>
#include <utility>

#include "engine/call/call.h"
#include "engine/grpc/reply_queue.h"
#include "engine/grpc/stream_assembler.h"
#include "engine/http2/session.h"

namespace drover::engine {

class StreamIo {
 public:
  // For the next call.
  void clear();

  // ---- the request
  // DATA of the request. deliver(StreamAssembler::Message) -> Took, which calls delivering() before it gives a message
  // to the dispatcher. Not ok: such a request cannot be.
  template <typename Deliver>
  Status receive(http2::Stream& stream, http2::Session& session, const char* bytes, size_t size, Deliver deliver) {
    kept_ += size;
    Status error = requests.feed(bytes, size, deliver);
    if (unconsumed_ == 0) give_back(stream, session, SIZE_MAX);
    return error;
  }
  // The message that was held has been taken.
  template <typename Deliver>
  Status resume(http2::Stream& stream, http2::Session& session, Deliver deliver) {
    Status error = requests.resume(deliver);
    if (unconsumed_ == 0) give_back(stream, session, SIZE_MAX);
    return error;
  }
  // The dispatcher gets a message of so many bytes, once decompressed, which it reports as consumed.
  void delivering(size_t bytes) {
    ++unconsumed_;
    unconsumed_bytes_ += bytes;
  }
  // Of messages that the host is not done with.
  size_t unconsumed_bytes() const { return unconsumed_bytes_; }
  // The host is done with these messages.
  void consumed(http2::Stream& stream, http2::Session& session, size_t messages, size_t bytes);
  // The client waits for none of our window, and has begun a message that it does not end.
  bool waits_for_client() const { return requests.partial() && unconsumed_ == 0; }
  StreamAssembler requests;

  // ---- the reply
  // The next message. True: it was copied. Throws std::bad_alloc.
  bool send(http2::Stream& stream, http2::Session& session, std::span<const Piece> message, size_t size,
            bool compressed);
  // A message was put into `replies`, or waits no more.
  void go_on(http2::Stream& stream, http2::Session& session);
  // No message follows.
  void end(http2::Stream& stream, http2::Session& session, bool with_trailers);
  // The stream's body has been produced. Returns the offset behind it.
  uint64_t body_sent(http2::Stream& stream, http2::Session& session);
  ReplyQueue replies;
  bool headers_sent = false;
  bool half_close_held = false;  // the request has ended behind a message that is held
  bool aborted = false;          // the transport has ended the call, and the dispatcher does not know yet

 private:
  void begin_body(http2::Stream& stream, http2::Session& session);
  void give_back(http2::Stream& stream, http2::Session& session, size_t bytes);

  size_t unconsumed_ = 0;  // messages
  size_t unconsumed_bytes_ = 0;
  size_t kept_ = 0;  // bytes of the stream's window
  bool ending_ = false;
  bool with_trailers_ = false;
};

}  // namespace drover::engine
