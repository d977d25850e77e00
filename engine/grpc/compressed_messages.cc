// A connection's messages that are compressed (grpc/doc/compression.md), between its streams and its MessageCoder.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/clock.h"
#include "engine/grpc/grpc_connection.h"

namespace drover::engine {
namespace {

constexpr size_t kFirstBuffer = 16 << 10;    // of a message that is still arriving
constexpr size_t kMessageBytesAUnit = 2048;  // of giving a message to the dispatcher

}  // namespace

// ---- Requests that do not stream.

// As CallSink::message_buffer. What is compressed does not go to the host: it is collected here.
std::span<char> GrpcConnection::message_memory(CallStream& stream, size_t size, size_t received) {
  if (!stream.assembler.compressed()) [[likely]]
    return context_.sink->message_buffer(stream, size, received);
  ChargedBuffer& buffer = MessageCoder::coding_of(stream).collected;
  if (received == 0) buffer.start(account_.get());
  buffer.add(received - buffer.size());
  if (!buffer.grow(kFirstBuffer, size)) return {};
  return {buffer.data(), buffer.capacity()};
}

// The request is whole.
void GrpcConnection::decompress_request(CallStream& stream) {
  const bool view = stream.assembler.is_view();
  const size_t size = stream.assembler.message_size();
  ChargedBuffer& buffer = MessageCoder::coding_of(stream).collected;
  const std::string_view message = view ? stream.assembler.view() : std::string_view(buffer.data(), size);
  if (coder_.begin_request(stream, message, context_.now_ns())) return give_request(stream);
  if (view) {
    buffer.start(account_.get());
    if (!buffer.reserve(size)) {
      return fail_request(stream, {StatusCode::kResourceExhausted, "too many bytes of requests wait for the service"});
    }
    std::memcpy(buffer.data(), message.data(), size);
  }
  coder_.add_request(stream, {buffer.data(), size});
}

void GrpcConnection::give_request(CallStream& stream) {
  std::unique_ptr<Inflater> request = MessageCoder::take_request(stream);
  if (Status error = MessageCoder::status_of(stream, *request); !error.ok()) {
    fail_request(stream, error);
  } else {
    const std::string_view message = request->output();
    context_.scratch.pace.spend(1 + message.size() / kMessageBytesAUnit);
    stream.metrics->request_bytes.add(message.size());
    if (stream.log.limits != nullptr) [[unlikely]] {
      log_request(stream, message);
      log_half_close(stream);
    }
    context_.sink->message(stream, message, More::kLast);
  }
  coder_.end(std::move(request));
}

// ---- Requests that stream.

StreamAssembler::Took GrpcConnection::give_message(CallStream& stream, std::string_view message) {
  stream.io->delivering(message.size());
  count_received();
  stream.metrics->request_bytes.add(message.size());
  if (stream.log.limits != nullptr) [[unlikely]]
    log_request(stream, message);
  context_.sink->message(stream, message, More::kMay);
  return stream.begun && !stream.ignore_data ? StreamAssembler::Took::kMore : StreamAssembler::Took::kOver;
}

// The host may have so many bytes that it is not done with: the window, which bounds those that are not compressed,
// lets a thousand times as many through otherwise.
bool GrpcConnection::may_decompress(const CallStream& stream) const {
  return stream.io->unconsumed_bytes() < context_.options.stream_window;
}

StreamAssembler::Took GrpcConnection::take_compressed(CallStream& stream, std::string_view message) {
  if (!may_decompress(stream)) return StreamAssembler::Took::kHeld;
  if (!coder_.begin_request(stream, message, context_.now_ns())) return StreamAssembler::Took::kHeld;
  return give_decompressed(stream);
}

StreamAssembler::Took GrpcConnection::give_decompressed(CallStream& stream) {
  StreamAssembler::Took took = StreamAssembler::Took::kOver;
  std::unique_ptr<Inflater> request = MessageCoder::take_request(stream);
  if (Status error = MessageCoder::status_of(stream, *request); !error.ok()) {
    fail_request(stream, error);
  } else {
    context_.scratch.pace.spend(1 + request->output().size() / kMessageBytesAUnit);
    took = give_message(stream, request->output());
  }
  coder_.end(std::move(request));
  return took;
}

// A message is held: it goes on in a later turn, or once the host has consumed others.
void GrpcConnection::go_on_later(CallStream& stream) {
  const MessageCoding* coding = stream.coding.get();
  if (coding != nullptr && (coding->request_waits || coding->being_given)) return;
  const bool begun = coding != nullptr && coding->inflater != nullptr;
  if (begun || !stream.io->requests.held_compressed() || may_decompress(stream)) {
    coder_.add_request(stream, stream.io->requests.held());
  }
}

// The message that was held is over.
void GrpcConnection::go_on_with_messages(CallStream& stream) {
  StreamIo& io = *stream.io;
  stream.coding->being_given = true;
  const auto took =
      io.requests.held_compressed() ? give_decompressed(stream) : give_message(stream, io.requests.held());
  if (took == StreamAssembler::Took::kOver) return;  // the stream may be gone
  stream.coding->being_given = false;
  Pace& pace = context_.coders.pace;
  Status error = io.resume(stream, session_, [&](StreamAssembler::Message message) {
    if (!pace.go_on()) return StreamAssembler::Took::kHeld;
    if (message.compressed && !message.bytes.empty()) return take_compressed(stream, message.bytes);
    pace.spend(message.bytes.size() / kMessageBytesAUnit);
    return give_message(stream, message.bytes);
  });
  if (!error.ok()) return fail_request(stream, error);
  if (!stream.begun || stream.ignore_data) return;
  if (io.requests.holds()) return go_on_later(stream);
  if (std::exchange(io.half_close_held, false)) end_request(stream);
}

// ---- Replies.

// What the engine has and the service does not refuse.
Compressions GrpcConnection::compressions_of(const CallStream& stream) const {
  return context_.options.compressions & Compressions(!stream.refuses_deflate, !stream.refuses_gzip);
}

// The reply's first step: how its messages are compressed, if they are.
void GrpcConnection::choose_reply_compression(CallStream& stream, Compress wish) {
  const Compressions ours = compressions_of(stream);
  const Compression chosen = choose_compression(wish, stream.request().taken & ours);
  if (chosen == Compression::kNone) return;
  MessageCoder::coding_of(stream).reply_compression = chosen;
  stream.reply.set_encoding(compression_name(chosen), accept_encoding(ours));
}

void GrpcConnection::compress_reply(CallStream& stream, const Reply& reply) {
  if (coder_.begin_reply(stream, reply.message, reply.message_size, context_.now_ns())) {
    return send_compressed_reply(stream);
  }
  coder_.add_reply(stream, reply.message, reply.message_size);
}

// What has not become smaller goes as it is.
void GrpcConnection::send_compressed_reply(CallStream& stream) {
  MessageCoding& coding = *stream.coding;
  if (Deflater* done = MessageCoder::reply(stream)) {
    coding.reply = done->take_output();
    coding.reply_piece = {coding.reply.data(), coding.reply.size()};
    coding.pieces = {&coding.reply_piece, 1};
    coding.size = coding.reply.size();
  }
  coder_.end_reply(stream);
  stream.progress_ns = context_.now_ns();
  send_only_message(stream, coding.pieces, coding.size, coding.reply.size() != 0);
}

// As StreamIo::send.
bool GrpcConnection::send_compressed_message(CallStream& stream, const Reply& reply) {
  StreamIo& io = *stream.io;
  const bool first = io.replies.waiting() == nullptr;
  if (!first || !coder_.begin_reply(stream, reply.message, reply.message_size, context_.now_ns())) {
    io.replies.push_waiting(reply.message, reply.message_size);
    if (first) coder_.add_reply(stream, reply.message, reply.message_size);
    return false;
  }
  Deflater* done = MessageCoder::reply(stream);
  bool copied = false;
  if (done == nullptr) {
    copied = io.replies.push(reply.message, reply.message_size);
  } else if (io.replies.copies(done->output().size())) {
    const Piece piece{done->output().data(), done->output().size()};
    copied = io.replies.push({&piece, 1}, piece.size, true);
  } else {
    io.replies.push_compressed(done->take_output());
  }
  coder_.end_reply(stream);
  io.go_on(stream, session_);
  return copied;
}

// The oldest message that waited is over.
void GrpcConnection::go_on_with_replies(CallStream& stream) {
  StreamIo& io = *stream.io;
  Deflater* done = MessageCoder::reply(stream);
  ReplyQueue::stop_waiting(*io.replies.waiting(), done == nullptr ? ChargedBuffer() : done->take_output());
  coder_.end_reply(stream);
  io.replies.progress_ns = context_.now_ns();
  io.go_on(stream, session_);
  if (const ReplyQueue::Part* next = io.replies.waiting()) coder_.add_reply(stream, next->pieces, next->size);
}

// ---- Turns.

void GrpcConnection::work_on_messages(int64_t end_ns) {
  context_.coders.pace.run_until(end_ns);
  guarded([&] {
    do {
      const MessageCoder::Over over = coder_.work(end_ns);
      if (over.stream == nullptr) break;
      CallStream& stream = *over.stream;
      if (over.is_reply) {
        stream.reply_streams ? go_on_with_replies(stream) : send_compressed_reply(stream);
      } else if (!MessageCoder::is_wanted(stream)) {
        coder_.drop_request(stream);
      } else {
        stream.request_streams ? go_on_with_messages(stream) : give_request(stream);
      }
    } while (monotonic_ns() < end_ns);
    give_back();
  });
}

}  // namespace drover::engine
