#include "engine/grpc/grpc_connection.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>

#include "engine/base/log.h"
#include "engine/grpc/stalled_calls.h"
#include "engine/net/socket_address.h"

namespace drover::engine {

namespace {

log::Limit g_protocol_error_limit;
log::Limit g_headers_limit;
log::Limit g_memory_limit;

CallStream& call_of(http2::Stream& stream) { return static_cast<CallStream&>(stream); }

// The service does not take requests of that encoding.
bool refuses(const Call& call, Encoding encoding) {
  return (call.refuses_gzip && encoding == Encoding::kGzip) || (call.refuses_deflate && encoding == Encoding::kDeflate);
}

// Whether the message, of a reply that has begun, is to be compressed.
bool compresses(const CallStream& stream, const Reply& reply) {
  return stream.coding != nullptr && stream.coding->reply_compression != Compression::kNone && !reply.as_it_is &&
         reply.message_size != 0;
}

}  // namespace

GrpcConnection::GrpcConnection(GrpcContext& context, ByteSink& out, Peer peer, uint32_t listener)
    : context_(context),
      out_(out),
      peer_(std::move(peer)),
      listener_(listener),
      account_(context.ledger.open_connection(network_of(peer_.address), context.now_ns())),
      session_(context.session_options, context.scratch, *this, context.clock()),
      coder_(context.coders, *account_.get(), context.options.compression_level),
      life_(context.options, context.now_ns()),
      opened_ns_(context.now_ns()),
      idle_since_ns_(context.now_ns()),
      write_progress_ns_(context.now_ns()) {}

GrpcConnection::~GrpcConnection() {
  closing_ = true;
  session_.abandon();
  while (CallStream* stream = on_the_way_.next_reply(UINT64_MAX)) {
    end_call(*stream, false);
    release(*stream);
  }
}

// ---- Requests.

size_t GrpcConnection::receive(const char* bytes, size_t size) {
  if (session_.failed() || dead_) return size;
  life_.received(context_.now_ns());
  size_t taken = size;  // unless it ends for want of memory
  guarded([&] {
    taken = session_.receive(bytes, size);
    if (!views_.empty()) spill_views();
    give_back();
  });
  context_.metrics.received_bytes->add(taken);
  if (session_.failed()) session_.abandon();
  return taken;
}

std::span<char> GrpcConnection::receive_into() const {
  if (session_.failed() || dead_) return {};
  size_t left;
  const http2::Stream* stream = session_.receiving(left);
  if (!stream) return {};
  const auto& call = static_cast<const CallStream&>(*stream);
  if (call.ignore_data || !call.begun) return {};
  const std::span<char> rest = call.request_streams ? call.io->requests.rest() : call.assembler.rest();
  return rest.first(std::min(rest.size(), left));
}

void GrpcConnection::end_for_memory() {
  dead_ = true;
  log::error(g_memory_limit, "connection ended: no memory", {{"peer", peer_.address}});
}

void GrpcConnection::give_back() {
  if (consumed_ == 0) return;
  session_.consume_connection(consumed_);
  consumed_ = 0;
}

http2::Stream* GrpcConnection::new_stream() {
  CallStream* stream = context_.take_stream();
  stream->connection = this;
  stream->listener = listener_;
  stream->peer = &peer_;
  stream->account = account_.get();
  context_.metrics.open_streams->add(1);
  ++counts_.streams_started;
  counts_.last_stream_ns = context_.now_ns();
  return stream;
}

http2::Head* GrpcConnection::make_head(const http2::HeadSummary& summary, const std::vector<http2::Field>& fields,
                                       bool too_large) {
  return new RequestHead(summary, fields, too_large, context_.options.max_header_bytes, context_.options.compressions);
}

Status GrpcConnection::check_request(const RequestHead& head, std::string_view timeout, int64_t& timeout_ns) const {
  if (head.too_large) {
    return {StatusCode::kResourceExhausted,
            "request headers larger than " + std::to_string(context_.options.max_header_bytes) + " bytes"};
  }
  if (!timeout.empty()) {
    auto parsed = parse_grpc_timeout(timeout);
    if (!parsed) return {StatusCode::kInternal, "malformed grpc-timeout"};
    timeout_ns = *parsed;
  }
  if (head.bad_binary) return {StatusCode::kInternal, "malformed base64 in binary metadata"};
  return {};
}

void GrpcConnection::on_headers(http2::Stream& http2_stream, http2::Head& http2_head, std::string_view timeout) {
  CallStream& stream = call_of(http2_stream);
  const auto& head = static_cast<const RequestHead&>(http2_head);
  stream.progress_ns = context_.now_ns();
  if (!head.too_large && !(head.is_post && head.is_grpc)) {
    stream.http_error = head.is_post ? 415 : 405;
    return;
  }
  int64_t timeout_ns = kNoDeadline;
  if (Status error = check_request(head, timeout, timeout_ns); !error.ok()) {
    return refuse_head(stream, head, timeout_ns, error);
  }
  if (context_.auth != nullptr) [[unlikely]] {
    stream.start_ns = stream.progress_ns;
    auto& with_token = static_cast<RequestHead&>(http2_head);
    Status error = context_.auth->admit(with_token, peer_, stream);
    if (!error.ok()) return refuse_head(stream, head, timeout_ns, error);
  }
  if (context_.log != nullptr) [[unlikely]]
    begin_log_of(stream, head, timeout_ns);
  stream.path = head.path;
  stream.memo = &head.memo;
  stream.authority = head.authority;
  stream.metadata = head.metadata;
  stream.start_ns = stream.progress_ns;
  if (context_.tracer != nullptr) [[unlikely]]
    begin_trace_of(stream);
  if (timeout_ns <= INT64_MAX - stream.start_ns) stream.deadline_ns = stream.start_ns + timeout_ns;
  Status opened = context_.sink->open(stream);
  if (!stream.metrics) stream.metrics = context_.metrics.unknown();
  stream.metrics->started.add();
  if (!opened.ok()) return refuse(stream, opened);
  stream.begun = true;
  if (refuses(stream, head.encoding)) [[unlikely]]
    return refuse_encoding(stream);
  if (!stream.streams()) [[likely]]
    return;
  if (stream.io == nullptr) stream.io = std::make_unique<StreamIo>();
  stream.io->replies.progress_ns = stream.progress_ns;
  if (!stream.request_streams) return;
  stream.io->requests.start(stream.account, stream.max_request_bytes, head.encoding);
  context_.sink->start(stream);
}

void GrpcConnection::on_data(http2::Stream& http2_stream, const char* bytes, size_t size) {
  CallStream& stream = call_of(http2_stream);
  if (stream.ignore_data || !stream.begun) {
    session_.consume_stream(stream, static_cast<uint32_t>(size));
    consumed_ += size;
    return;
  }
  if (stream.request_streams) [[unlikely]]
    return on_stream_data(stream, bytes, size);
  const bool was_view = stream.assembler.is_view();
  Status error =
      stream.assembler.feed(bytes, size, stream.max_request_bytes, stream.request().encoding,
                            [&](size_t all, size_t received) { return message_memory(stream, all, received); });
  if (!error.ok()) {
    session_.consume_stream(stream, static_cast<uint32_t>(size));
    consumed_ += size;
    if (error.code == StatusCode::kUnimplemented) error.message += ": " + stream.request().encoding_name;
    fail_request(stream, error);
    return;
  }
  if (stream.assembler.message_size() >= kLargeMessage) session_.allow_data_frames(kLargeFrame);
  if (!was_view && stream.assembler.is_view()) {
    views_.push_back(&stream);
    stream.view_listed = true;
  }
  // A message that came whole needs no more window on its stream: the client is done with it.
  if (!stream.assembler.is_view()) session_.consume_stream(stream, static_cast<uint32_t>(size));
  consumed_ += size;
}

// The connection's window does not wait for handlers: what they have not read is charged to the connection's account.
void GrpcConnection::on_stream_data(CallStream& stream, const char* bytes, size_t size) {
  constexpr size_t kBytesAUnit = 1024;  // of parsing small messages
  consumed_ += size;
  context_.scratch.pace.spend(1 + size / kBytesAUnit);
  Status error = stream.io->receive(stream, session_, bytes, size, [&](StreamAssembler::Message message) {
    if (message.compressed && !message.bytes.empty()) [[unlikely]]
      return take_compressed(stream, message.bytes);
    return give_message(stream, message.bytes);
  });
  if (!error.ok()) {
    if (error.code == StatusCode::kUnimplemented) error.message += ": " + stream.request().encoding_name;
    return fail_request(stream, error);
  }
  if (!stream.begun || stream.ignore_data) return;
  if (stream.io->requests.message_size() >= kLargeMessage) session_.allow_data_frames(kLargeFrame);
  if (stream.io->requests.holds()) [[unlikely]]
    go_on_later(stream);
}

void GrpcConnection::consumed(CallStream& stream, size_t messages, size_t bytes) {
  if (stream.failed) return;
  guarded([&] {
    stream.io->consumed(stream, session_, messages, bytes);
    if (stream.io->requests.holds() && !stream.ignore_data) [[unlikely]]
      go_on_later(stream);
  });
}

void GrpcConnection::on_end(http2::Stream& http2_stream) {
  CallStream& stream = call_of(http2_stream);
  if (stream.http_error != 0) return refuse_http(stream, stream.http_error);
  if (!stream.begun || stream.ignore_data) return;
  if (stream.request_streams) {
    stream.io->half_close_held = stream.io->requests.holds();
    if (!stream.io->half_close_held) end_request(stream);
    return;
  }
  if (Status error = stream.assembler.finish(); !error.ok()) return fail_request(stream, error);
  stream.request_done = true;
  count_received();
  drop_view(stream);
  const uint32_t size = stream.assembler.message_size();
  if (stream.assembler.compressed() && size > 0) [[unlikely]]
    return decompress_request(stream);
  constexpr size_t kMessageBytesAUnit = 2048;  // of parsing it
  if (size >= kMessageBytesAUnit) context_.scratch.pace.spend(size / kMessageBytesAUnit);
  stream.metrics->request_bytes.add(size);
  const bool view = stream.assembler.is_view();
  if (stream.log.limits != nullptr) [[unlikely]] {
    log_request(stream, stream.assembler.whole());
    log_half_close(stream);
  }
  context_.sink->message(stream, stream.assembler.view(), More::kLast);
  // The region had no room: what this message takes meanwhile counts against the connection's window.
  if (size > 0 && view && stream.begun && !stream.replied && consumed_ >= size && context_.sink->waits(stream)) {
    consumed_ -= size;
    stream.held = size;
  }
}

// Of a request that streams: all its messages have been given to the dispatcher.
void GrpcConnection::end_request(CallStream& stream) {
  if (Status error = stream.io->requests.finish(); !error.ok()) return fail_request(stream, error);
  stream.request_done = true;
  if (stream.log.limits != nullptr) [[unlikely]]
    log_half_close(stream);
  context_.sink->half_close(stream);
}

// The service does not take what the head announces.
void GrpcConnection::refuse_encoding(CallStream& stream) {
  stream.begun = false;
  context_.sink->abandon(stream);
  const std::string_view name = compression_name(compression_of(stream.request().encoding));
  refuse(stream, {StatusCode::kUnimplemented, "Compression algorithm '" + std::string(name) + "' is disabled."});
}

void GrpcConnection::begin_trace_of(CallStream& stream) {
  stream.trace = begin_trace(*context_.tracer, stream);
  if (stream.trace == nullptr) return;
  stream.metadata = stream.trace->metadata;
  trace_bytes_ += stream.trace->memory();
}

// The call is over, whatever became of it; without a status it was given up.
void GrpcConnection::end_trace_of(CallStream& stream) {
  if (stream.failed) stream.trace->span->code = StatusCode::kCancelled;
  context_.tracer->end(*stream.trace->span, context_.now_ns() - stream.start_ns);
  trace_bytes_ -= stream.trace->memory();
  stream.trace.reset();
}

// The request is broken: the dispatcher forgets the call, the client gets a status.
void GrpcConnection::fail_request(CallStream& stream, const Status& error) {
  drop_view(stream);
  if (stream.begun && stream.reply_streams) return abort_stream(stream, error);
  if (stream.begun) {
    stream.begun = false;
    context_.sink->abandon(stream);
  }
  refuse(stream, error);
}

// The receive buffer is about to be reused: messages that lie in it and whose stream has not ended are copied.
void GrpcConnection::spill_views() {
  std::vector<CallStream*> views;
  views.swap(views_);
  for (CallStream* stream : views) stream->view_listed = false;
  for (CallStream* stream : views) {
    if (stream->ignore_data || !stream->begun) continue;  // answered meanwhile
    Status error =
        stream->assembler.spill([&](size_t all, size_t received) { return message_memory(*stream, all, received); });
    if (!error.ok()) fail_request(*stream, error);
  }
  views.clear();
  views_.swap(views);  // its capacity
}

void GrpcConnection::drop_view(CallStream& stream) {
  if (!stream.view_listed) return;
  stream.view_listed = false;
  if (views_.back() == &stream) return views_.pop_back();
  *std::find(views_.begin(), views_.end(), &stream) = views_.back();
  views_.pop_back();
}

void GrpcConnection::release_window(CallStream& stream) {
  consumed_ += stream.held;
  stream.held = 0;
}

// ---- Replies.

bool GrpcConnection::reply(CallStream& stream, const Reply& reply) {
  GrpcConnection& connection = *stream.connection;
  bool copied = false;
  connection.guarded([&] {
    if (!reply.ends && !stream.reply_streams) [[unlikely]] {
      copied = true;
      return connection.send_headers_of(stream, reply);
    }
    if (!stream.streams()) return connection.send_reply(stream, reply);
    copied = reply.ends ? connection.send_end(stream, reply) : connection.send_step(stream, reply);
  });
  return copied;
}

void GrpcConnection::send_reply(CallStream& stream, const Reply& reply) {
  assert(reply.ends);  // of a unary call
  if (stream.replied) return;
  stream.replied = stream.ignore_data = true;
  release_window(stream);
  stream.progress_ns = context_.now_ns();
  if (stream.trace != nullptr) [[unlikely]]
    stream.trace->span->code = reply.code;
  if (stream.metrics) {
    stream.metrics->finished[std::min<size_t>(static_cast<size_t>(reply.code), 16)].add();
    stream.metrics->response_bytes.add(reply.message_size);
  }
  const bool body = reply.has_message && reply.code == StatusCode::kOk;
  if (body) [[likely]]
    count_sent();
  if (stream.log.limits != nullptr) [[unlikely]]
    log_reply(stream, reply);
  const bool trailers_only = !body && reply.initial.empty() && !stream.headers_sent;
  const bool accept = reply.code == StatusCode::kUnimplemented && stream.head() &&
                      (!stream.request().encoding_name.empty() || refuses(stream, stream.request().encoding));
  if (stream.headers_sent) [[unlikely]] {
    reply_bytes_ -= stream.reply.memory();
    stream.reply.start_end(reply, false);
  } else {
    stream.reply.start(reply, trailers_only);
  }
  if (accept) stream.reply.set_encoding({}, accept_encoding(compressions_of(stream)));
  if (body && reply.compress != Compress::kNo && !stream.headers_sent) [[unlikely]]
    choose_reply_compression(stream, reply.compress);
  reply_bytes_ += stream.reply.memory();
  if (!headers_fit(stream)) return;
  if (!stream.headers_sent) [[likely]]
    session_.send_headers(stream);
  if (body) {
    if (compresses(stream, reply)) [[unlikely]]
      return compress_reply(stream, reply);
    return send_only_message(stream, reply.message, reply.message_size, false);
  }
  session_.end(stream, !trailers_only);
  stream.moved_before = stream.unsent();
}

// Of a reply that does not stream: its headers, before it.
void GrpcConnection::send_headers_of(CallStream& stream, const Reply& reply) {
  if (stream.failed || stream.replied || stream.headers_sent) return;
  if (stream.log.limits != nullptr) [[unlikely]]
    log_reply(stream, reply);
  stream.headers_sent = true;
  stream.reply.start_headers(reply.initial);
  if (reply.compress != Compress::kNo) choose_reply_compression(stream, reply.compress);
  reply_bytes_ += stream.reply.memory();
  if (headers_fit(stream)) session_.send_headers(stream);
}

// Of a reply that does not stream: the message and the end.
void GrpcConnection::send_only_message(CallStream& stream, std::span<const Piece> pieces, size_t size,
                                       bool compressed) {
  char prefix[kGrpcPrefixBytes] = {compressed};
  http2::put_u32(prefix + 1, static_cast<uint32_t>(size));
  session_.send_body(stream, {prefix, sizeof(prefix)}, pieces, size);
  session_.end(stream, true);
  stream.moved_before = stream.unsent();
}

// False: the client takes no header block of that size, and the stream is reset.
bool GrpcConnection::headers_fit(CallStream& stream) {
  if (stream.reply.largest_block() <= session_.max_send_header_bytes()) return true;
  log::warn(g_headers_limit, "reply not sent: its metadata is larger than the client takes", {{"peer", peer_.address}});
  session_.reset(stream, http2::ErrorCode::kEnhanceYourCalm);
  return false;
}

// ---- Replies that stream. As ReplySink::reply: true, the dispatcher needs nothing of the step.

bool GrpcConnection::send_step(CallStream& stream, const Reply& reply) {
  if (stream.failed || stream.replied) return true;
  StreamIo& io = *stream.io;
  if (stream.log.limits != nullptr) [[unlikely]]
    log_reply(stream, reply);
  if (!io.headers_sent) {
    io.headers_sent = true;
    stream.reply.start_headers(reply.initial);
    if (reply.compress != Compress::kNo) [[unlikely]]
      choose_reply_compression(stream, reply.compress);
    reply_bytes_ += stream.reply.memory();
    if (!headers_fit(stream)) return true;
    session_.send_headers(stream);
  }
  if (!reply.has_message) return true;
  if (io.replies.next() == nullptr) io.replies.progress_ns = context_.now_ns();
  stream.metrics->response_bytes.add(reply.message_size);
  count_sent();
  const size_t before = io.replies.memory();
  const bool copied = compresses(stream, reply) ? send_compressed_message(stream, reply)
                                                : io.send(stream, session_, reply.message, reply.message_size, false);
  reply_bytes_ += io.replies.memory() - before;
  return copied;
}

bool GrpcConnection::send_end(CallStream& stream, const Reply& reply) {
  if (stream.failed || stream.replied) return false;
  if (!stream.reply_streams || (!stream.io->headers_sent && reply.code != StatusCode::kOk)) {
    return send_reply(stream, reply), false;  // one message, or none, as of a unary call
  }
  stream.replied = stream.ignore_data = true;
  stream.progress_ns = context_.now_ns();
  if (stream.trace != nullptr) [[unlikely]]
    stream.trace->span->code = reply.code;
  stream.metrics->finished[std::min<size_t>(static_cast<size_t>(reply.code), 16)].add();
  if (stream.log.limits != nullptr) [[unlikely]]
    log_reply(stream, reply);
  reply_bytes_ -= stream.reply.memory();
  if (!stream.io->headers_sent) stream.reply.start_headers(reply.initial);
  stream.reply.start_end(reply, false);
  reply_bytes_ += stream.reply.memory();
  if (!headers_fit(stream)) return false;
  if (!stream.io->headers_sent) session_.send_headers(stream);
  stream.io->headers_sent = true;
  stream.io->end(stream, session_, true);
  return false;
}

// The status follows what was sent, which refers to the dispatcher's memory: it forgets the call only afterwards.
void GrpcConnection::abort_stream(CallStream& stream, const Status& error) {
  stream.io->aborted = true;
  Reply reply;
  reply.code = error.code;
  reply.status_message = error.message;
  send_end(stream, reply);
}

void GrpcConnection::on_body_sent(http2::Stream& http2_stream) {
  CallStream& stream = call_of(http2_stream);
  if (stream.io == nullptr || !stream.io->replies.in_body()) return;
  on_the_way_.reserve_part();
  on_the_way_.push_part(stream, stream.io->body_sent(stream, session_));
}

void GrpcConnection::refuse(CallStream& stream, const Status& error) {
  Reply reply;
  reply.code = error.code;
  reply.status_message = error.message;
  if (!stream.metrics) stream.metrics = context_.metrics.unknown();
  send_reply(stream, reply);
}

void GrpcConnection::refuse_http(CallStream& stream, uint32_t status) {
  stream.replied = stream.ignore_data = true;
  stream.progress_ns = context_.now_ns();
  static constexpr std::string_view kText = "This server speaks gRPC: POST with content-type application/grpc.\n";
  static constexpr Piece kBody[] = {{kText.data(), kText.size()}};
  stream.reply.start_http_error(status, kText.size());
  session_.send_headers(stream);
  session_.send_body(stream, {}, kBody, kText.size());
  session_.end(stream, false);
  stream.moved_before = stream.unsent();
}

void GrpcConnection::write_headers(http2::Stream& stream, http2::FieldWriter& out) {
  call_of(stream).reply.write_headers(out);
}

void GrpcConnection::write_trailers(http2::Stream& stream, http2::FieldWriter& out) {
  call_of(stream).reply.write_trailers(out);
}

void GrpcConnection::on_closed(http2::Stream& http2_stream, http2::ErrorCode code) {
  CallStream& stream = call_of(http2_stream);
  context_.metrics.open_streams->add(-1);
  if (session_.open_streams() == 0) idle_since_ns_ = context_.now_ns();
  drop_view(stream);
  stream.failed = code != http2::ErrorCode::kNoError;
  counts_.streams_failed += stream.failed;
  const bool on_the_way = stream.replied || (stream.begun && stream.streams());
  if (closing_ || !stream.begun || !on_the_way || stream.produced_until() <= sent_total_) {
    end_call(stream, false);
    release(stream);
    return;
  }
  // Some of the reply waits in the batch or for the socket, as references into the dispatcher's memory.
  try {
    on_the_way_.push_reply(stream);
  } catch (const std::bad_alloc&) {  // ends the connection: nothing more is written
    end_call(stream, false);
    release(stream);
    throw;
  }
}

// ---- Bytes out.

// The result of a write, as Io reports it. True: all was taken, and more may be written.
bool GrpcConnection::settle(ssize_t result) {
  if (result < 0 && result != -EAGAIN) {
    dead_ = true;
    return false;
  }
  const auto taken = static_cast<size_t>(std::max<ssize_t>(result, 0));
  sent_total_ += taken;
  context_.metrics.sent_bytes->add(taken);
  if (segment_.empty()) {
    unsent_.remove(taken);
  } else if (taken < segment_bytes_) {
    unsent_.take(context_.batch, segment_, taken);
  }
  finish_sent();
  return unsent_.empty();
}

GrpcConnection::Flushed GrpcConnection::flush() {
  Flushed flushed = Flushed::kDone;
  if (!dead_) guarded([&] { flushed = write_all(); });
  return flushed;
}

GrpcConnection::Flushed GrpcConnection::write_all() {
  give_back();
  SendBatch& batch = context_.batch;
  for (int i = 0; i < kBatchesPerTurn; ++i) {
    if (!unsent_.empty()) {
      segment_ = {};
      segment_is_all_ = false;
    } else {
      if (!batch.has_room()) return Flushed::kNoRoom;
      batch.begin();
      segment_is_all_ = session_.produce(batch);
      segment_ = batch.parts();
      segment_bytes_ = batch.bytes();
      if (segment_.empty()) {
        finish_sent();
        dead_ |= cut_off_;
        return segment_is_all_ ? Flushed::kDone : Flushed::kMore;
      }
    }
    const std::span<const iovec> parts = segment_.empty() ? unsent_.parts() : segment_;
    const ssize_t n = out_.write(parts.data(), parts.size());
    if (n < 0 && errno == EINPROGRESS) return Flushed::kQueued;
    const Flushed flushed = written(n < 0 ? -errno : n);
    batch.drop();
    if (flushed != Flushed::kMore) return flushed;
  }
  return Flushed::kMore;
}

GrpcConnection::Flushed GrpcConnection::written(ssize_t result) {
  if (dead_) return Flushed::kDone;
  bool taken = false;
  guarded([&] { taken = settle(result); });
  dead_ |= cut_off_;
  if (dead_) return Flushed::kDone;
  if (!taken) return Flushed::kBlocked;
  return segment_is_all_ ? Flushed::kDone : Flushed::kMore;
}

bool GrpcConnection::finished() const {
  if (dead_) return true;
  if (!unsent_.empty()) return false;
  if (session_.failed()) return !session_.wants_write();
  return session_.goaway_sent() && session_.open_streams() == 0 && !session_.wants_write();
}

// Of what the kernel has taken, the dispatcher hears: messages of streams that it has kept, and replies that are over.
void GrpcConnection::finish_sent() {
  while (CallStream* stream = on_the_way_.next_part(sent_total_)) {
    ReplyQueue& replies = stream->io->replies;
    const size_t before = replies.memory();
    const bool kept = replies.sent();
    reply_bytes_ -= before - replies.memory();
    if (kept && stream->begun) context_.sink->reply_sent(*stream);
  }
  while (CallStream* stream = on_the_way_.next_reply(sent_total_)) {
    end_call(*stream, !stream->failed);
    release(*stream);
  }
}

// Tells the dispatcher that the call is over, once.
void GrpcConnection::end_call(CallStream& stream, bool sent) {
  if (!stream.begun) return;
  stream.begun = false;
  stream.log.given_up = !sent;
  if (sent && stream.streams()) {
    for (size_t left = stream.io->replies.referenced(); left != 0; --left) context_.sink->reply_sent(stream);
    sent = !stream.io->aborted;
  }
  if (sent) {
    if (stream.metrics) stream.metrics->latency.record(context_.now_ns() - stream.start_ns);
    context_.sink->reply_sent(stream);
  } else {
    if (stream.metrics) stream.metrics->abandoned.add();
    context_.sink->abandon(stream);
  }
}

void GrpcConnection::release(CallStream& stream) {
  if (stream.coding != nullptr) [[unlikely]]
    coder_.forget(stream);
  if (stream.trace != nullptr) [[unlikely]]
    end_trace_of(stream);
  if (stream.log.limits != nullptr) [[unlikely]]
    end_log_of(stream);
  release_window(stream);
  reply_bytes_ -= stream.reply.memory();
  if (stream.streams() && stream.io != nullptr) {
    reply_bytes_ -= stream.io->replies.memory();
    if (stream.io->replies.on_the_way() != 0) on_the_way_.forget_parts(stream);
  }
  context_.recycle(&stream);
}

// ---- Time, and the end.

void GrpcConnection::drain() {
  guarded([&] { start_drain(); });
}

void GrpcConnection::start_drain() {
  if (drain_ != Drain::kNone || session_.failed() || dead_) return;
  drain_ = Drain::kNotice;
  drain_ns_ = context_.now_ns();
  session_.shutdown_notice();
  ping();
}

void GrpcConnection::ping() {
  ++pings_;
  session_.ping();
}

// Answers come in order: the last one is that of the drain's.
void GrpcConnection::on_ping_answered() {
  if (pings_ > 0 && --pings_ > 0) return;
  end_notice();
}

void GrpcConnection::end_notice() {
  if (drain_ != Drain::kNotice) return;
  drain_ = Drain::kFinal;
  session_.goaway(http2::ErrorCode::kNoError);
}

void GrpcConnection::sweep() {
  guarded([&] { check_time(); });
}

void GrpcConnection::check_time() {
  const TransportOptions& options = context_.options;
  const int64_t now = context_.now_ns();
  // Bytes wait for the kernel alone: the peer does not read.
  const int64_t patience = session_.failed() ? kGoodbyeNs : options.stall_timeout_ns;
  if (unsent_.empty() || moves(sent_total_ - sent_before_, now - write_progress_ns_, options.least_rate)) {
    write_progress_ns_ = now;
    sent_before_ = sent_total_;
  }
  if (!unsent_.empty() && patience > 0 && now - write_progress_ns_ > patience) dead_ = true;
  if (session_.failed() || dead_) return;
  if (!session_.settings_received() && now - opened_ns_ > options.handshake_timeout_ns) {
    session_.fail(http2::ErrorCode::kSettingsTimeout, "no SETTINGS in time");
    return session_.abandon();
  }
  if (int64_t since = session_.header_block_since_ns(); since != 0 && now - since > options.handshake_timeout_ns) {
    session_.fail(http2::ErrorCode::kEnhanceYourCalm, "a header block does not end");
    return session_.abandon();
  }
  const bool idle = this->idle();
  if (idle && now - idle_since_ns_ > kShrinkAfterNs) session_.shrink();
  check_life(now);
  if (dead_) return;
  if (drain_ == Drain::kNotice && now - drain_ns_ > kDrainNoticeNs) end_notice();
  if (options.stall_timeout_ns > 0) end_stalled(now);
}

void GrpcConnection::check_life(int64_t now) {
  switch (life_.check(now, idle() ? idle_since_ns_ : 0)) {
    case ConnectionLife::Due::kNothing:
      return;
    case ConnectionLife::Due::kPing:
      ++counts_.keepalives_sent;
      return ping();
    case ConnectionLife::Due::kDrain:
      return start_drain();
    case ConnectionLife::Due::kGone:
    case ConnectionLife::Due::kEnd:
      dead_ = true;
  }
}

void GrpcConnection::end_stalled(int64_t now) {
  const StallRules rules{now, context_.options.stall_timeout_ns, context_.options.least_rate,
                         now - write_progress_ns_ > context_.options.stall_timeout_ns};
  const StalledCalls stalled = find_stalled(session_, rules);
  for (CallStream* stream : stalled.requests) {
    fail_request(*stream, {StatusCode::kCancelled, "the request stopped arriving"});
  }
  for (CallStream* stream : stalled.replies) session_.reset(*stream, http2::ErrorCode::kCancel);
}

size_t GrpcConnection::memory() const {
  const size_t streams = session_.open_streams() + on_the_way_.replies();
  return sizeof(*this) + session_.memory() + unsent_.memory() + streams * sizeof(CallStream) + reply_bytes_ +
         trace_bytes_ + views_.capacity() * sizeof(CallStream*) + on_the_way_.memory() + peer_.identity.capacity();
}

void GrpcConnection::describe(SocketFacts* out) const {
  out->counts = counts_;
  out->streams_open = session_.open_streams();
  out->send_window = session_.send_window();
  out->receive_window = session_.receive_window();
  out->remote = peer_.address;
}

void GrpcConnection::cut_off(std::string_view why) {
  if (dead_ || cut_off_) return;
  guarded([&] { session_.fail(http2::ErrorCode::kEnhanceYourCalm, why); });
  session_.abandon();
  cut_off_ = true;
}

void GrpcConnection::cut_off(CallStream& stream) {
  if (!on_the_way_.has_reply(stream)) {
    guarded([&] { session_.reset(stream, http2::ErrorCode::kCancel); });
    if (!on_the_way_.has_reply(stream)) return;
  }
  dead_ = true;  // its bytes wait for the kernel, in the middle of others
}

void GrpcConnection::on_failed(http2::ErrorCode code, std::string_view why) {
  context_.metrics.protocol_errors->add();
  log::warn(g_protocol_error_limit, "connection ended",
            {{"peer", peer_.address}, {"code", http2::error_name(code)}, {"why", why}});
}

}  // namespace drover::engine
