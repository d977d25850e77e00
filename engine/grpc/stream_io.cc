#include "engine/grpc/stream_io.h"

#include <algorithm>

namespace drover::engine {

void StreamIo::clear() {
  requests.clear();
  replies.clear();
  unconsumed_ = kept_ = 0;
  headers_sent = aborted = ending_ = with_trailers_ = false;
}

void StreamIo::consumed(http2::Stream& stream, http2::Session& session, size_t messages, size_t bytes) {
  unconsumed_ -= messages;
  const size_t freed = unconsumed_ == 0 ? kept_ : std::min(kept_, bytes + messages * kGrpcPrefixBytes);
  kept_ -= freed;
  session.consume_stream(stream, static_cast<uint32_t>(freed));
}

bool StreamIo::send(http2::Stream& stream, http2::Session& session, const Reply& reply) {
  const bool copied = replies.push(reply.message, reply.message_size);
  if (!replies.in_body()) begin_body(stream, session);
  return copied;
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
  if (replies.next() == nullptr || (replies.in_body() && replies.is_last())) session.end(stream, with_trailers);
}

uint64_t StreamIo::body_sent(http2::Stream& stream, http2::Session& session) {
  const uint64_t until = replies.produced(stream.produced_until()).until;
  if (replies.next() != nullptr) begin_body(stream, session);
  return until;
}

}  // namespace drover::engine
