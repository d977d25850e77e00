#include "engine/grpc/stream_io.h"

#include <algorithm>

namespace drover::engine {

void StreamIo::clear() {
  requests.clear();
  replies.clear();
  unconsumed_ = unconsumed_bytes_ = kept_ = 0;
  headers_sent = half_close_held = aborted = ending_ = with_trailers_ = false;
}

void StreamIo::consumed(http2::Stream& stream, http2::Session& session, size_t messages, size_t bytes) {
  unconsumed_ -= messages;
  unconsumed_bytes_ -= bytes;
  give_back(stream, session, unconsumed_ == 0 ? SIZE_MAX : bytes + messages * kGrpcPrefixBytes);
}

// At most so much of the stream's window, and none for what is held. Compressed messages give back more than they took,
// but not more than there is.
void StreamIo::give_back(http2::Stream& stream, http2::Session& session, size_t bytes) {
  const size_t held = requests.held_bytes();
  const size_t freed = std::min(kept_ > held ? kept_ - held : 0, bytes);
  kept_ -= freed;
  session.consume_stream(stream, static_cast<uint32_t>(freed));
}

bool StreamIo::send(http2::Stream& stream, http2::Session& session, std::span<const Piece> message, size_t size,
                    bool compressed) {
  const bool copied = replies.push(message, size, compressed);
  go_on(stream, session);
  return copied;
}

void StreamIo::go_on(http2::Stream& stream, http2::Session& session) {
  if (!replies.in_body() && replies.next() != nullptr) begin_body(stream, session);
}

void StreamIo::begin_body(http2::Stream& stream, http2::Session& session) {
  ReplyQueue::Part& part = *replies.next();
  if (part.is_copy()) {
    part.piece = {part.copied.data(), part.copied.size()};
    session.send_body(stream, {}, {&part.piece, 1}, part.size);
  } else {
    session.send_body(stream, {part.prefix, sizeof(part.prefix)}, part.pieces, part.size);
  }
  replies.begin();
  if (ending_ && replies.is_last()) session.end(stream, with_trailers_);
}

void StreamIo::end(http2::Stream& stream, http2::Session& session, bool with_trailers) {
  ending_ = true;
  with_trailers_ = with_trailers;
  if (replies.empty() || (replies.in_body() && replies.is_last())) session.end(stream, with_trailers);
}

uint64_t StreamIo::body_sent(http2::Stream& stream, http2::Session& session) {
  const uint64_t until = replies.produced(stream.produced_until()).until;
  go_on(stream, session);
  return until;
}

}  // namespace drover::engine
