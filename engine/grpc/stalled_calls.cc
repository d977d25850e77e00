#include "engine/grpc/stalled_calls.h"

namespace drover::engine {
namespace {

// A client that takes no reply, or has begun a message and does not end it.
bool stream_is_stalled(CallStream& stream, const StallRules& rules) {
  StreamIo& io = *stream.io;
  ReplyQueue& replies = io.replies;
  const uint64_t sent = replies.moved() + (replies.in_body() ? replies.next()->bytes() - stream.unsent() : 0);
  const bool sends = replies.next() != nullptr;
  if (!sends || moves(sent - replies.moved_before, rules.now_ns - replies.progress_ns, rules.least_rate)) {
    replies.moved_before = sent;
    replies.progress_ns = rules.now_ns;
  }
  const size_t received = stream.request_streams ? io.requests.received() : stream.assembler.received();
  const bool begun = stream.request_streams ? io.waits_for_client() : !stream.request_done;
  if (!begun || moves(received - stream.moved_before, rules.now_ns - stream.progress_ns, rules.least_rate)) {
    stream.moved_before = received;
    stream.progress_ns = rules.now_ns;
  }
  const bool not_taken = rules.now_ns - replies.progress_ns > rules.limit_ns;
  if (not_taken && (stream.blocked() || rules.connection_stalled)) return true;
  return rules.now_ns - stream.progress_ns > rules.limit_ns;
}

void look_at_unary(CallStream& stream, const StallRules& rules, StalledCalls* stalled) {
  const size_t at = stream.replied ? stream.unsent() : stream.assembler.received();
  const size_t moved = stream.replied ? stream.moved_before - at : at - stream.moved_before;
  if (moves(moved, rules.now_ns - stream.progress_ns, rules.least_rate)) {
    stream.moved_before = at;
    stream.progress_ns = rules.now_ns;
  }
  if (rules.now_ns - stream.progress_ns <= rules.limit_ns) return;
  if (stream.replied) {
    // Not while it waits for its turn on a connection that moves.
    if (stream.blocked() || rules.connection_stalled) stalled->replies.push_back(&stream);
  } else if (stream.http_error != 0) {
    stalled->replies.push_back(&stream);  // a request that is not gRPC, and does not end
  } else if (!stream.request_done && stream.begun) {
    stalled->requests.push_back(&stream);
  }
}

}  // namespace

StalledCalls find_stalled(const http2::Session& session, const StallRules& rules) {
  StalledCalls stalled;
  bool holds = false;  // part of the window
  session.each_stream([&](http2::Stream& http2_stream) {
    auto& stream = static_cast<CallStream&>(http2_stream);
    holds |= stream.held != 0;
    const bool one_reply = stream.replied && !stream.reply_streams;  // no ReplyQueue has it
    if (!stream.begun || !stream.streams() || one_reply) return look_at_unary(stream, rules, &stalled);
    if (stream_is_stalled(stream, rules)) stalled.replies.push_back(&stream);
  });
  if (holds) stalled.requests.clear();  // it may be we who keep their window back
  return stalled;
}

}  // namespace drover::engine
