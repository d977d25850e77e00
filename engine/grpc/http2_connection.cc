#include "engine/grpc/http2_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/base/log.h"

namespace drover::engine {

namespace {

log::Limit g_protocol_error_limit;
constexpr uint8_t kDrainPing[8] = {'d', 'r', 'a', 'i', 'n', 0, 0, 0};

}  // namespace

Http2Connection::Http2Connection(Http2Context& context, ByteSink& out, Peer peer, uint32_t listener)
    : context_(context),
      out_(out),
      peer_(std::move(peer)),
      listener_(listener),
      control_frames_(context.options.control_frame_rate, 2 * context.options.control_frame_rate, context.now_ns()),
      opened_ns_(context.now_ns()),
      idle_since_ns_(context.now_ns()) {
  const TransportOptions& options = context_.options;
  if (nghttp2_session_server_new3(&session_, callbacks(), this, context_.option, context_.memory.mem()) != 0) {
    std::abort();  // out of memory
  }
  nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options.max_header_bytes},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<int32_t>(options.connection_window));
}

Http2Connection::~Http2Connection() {
  while (streams_) {
    Stream& stream = *streams_;
    unlink(stream);
    end_call(stream, false);
    release(stream);
  }
  for (size_t i = first_finishing_; i < finishing_.size(); ++i) {
    end_call(*finishing_[i], false);
    release(*finishing_[i]);
  }
  nghttp2_session_del(session_);
}

void Http2Connection::receive(const char* bytes, size_t size) {
  if (failed_ || dead_) return;
  context_.metrics.received_bytes->add(size);
  ssize_t used = nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes), size);
  if (!views_.empty()) spill_views();
  if (used < 0) {
    // nghttp2 has queued a GOAWAY for what it calls non-fatal; the rest (bad preface, flood) ends here.
    fail(nghttp2_strerror(static_cast<int>(used)));
    return;
  }
  if (consumed_ > 0) {
    nghttp2_session_consume_connection(session_, consumed_);
    consumed_ = 0;
  }
}

// Gathers what nghttp2 has to send. False: it has more than fits.
bool Http2Connection::fill_batch() {
  SendBatch& batch = context_.batch;
  batch.clear();
  filling_ = true;
  paused_ = false;
  bool all = false;
  while (batch.has_room()) {
    const uint8_t* frame;
    ssize_t size = nghttp2_session_mem_send(session_, &frame);
    if (size > 0) {
      batch.append_copy(frame, static_cast<size_t>(size));
      continue;
    }
    if (size < 0) fail(nghttp2_strerror(static_cast<int>(size)));
    all = !paused_;  // DATA goes into the batch by itself (send_body), which pauses nghttp2 when there is no more room
    break;
  }
  filling_ = false;
  queued_total_ += batch.bytes();
  return all;
}

Http2Connection::Flushed Http2Connection::flush() {
  if (dead_) return Flushed::kDone;
  if (!unsent_.empty()) {
    ssize_t written = unsent_.write_to(out_);
    if (written < 0 && errno != EAGAIN) {
      dead_ = true;
      return Flushed::kDone;
    }
    written = std::max<ssize_t>(written, 0);
    sent_total_ += static_cast<uint64_t>(written);
    context_.metrics.sent_bytes->add(static_cast<uint64_t>(written));
    finish_sent();
    if (!unsent_.empty()) return Flushed::kBlocked;
  }
  for (int i = 0; i < kBatchesPerTurn; ++i) {
    bool all = fill_batch();
    const std::vector<iovec>& parts = context_.batch.parts();
    if (!parts.empty()) {
      ssize_t written = out_.write(parts.data(), parts.size());
      if (written < 0) {
        if (errno != EAGAIN) {
          dead_ = true;
          return Flushed::kDone;
        }
        written = 0;
      }
      sent_total_ += static_cast<uint64_t>(written);
      context_.metrics.sent_bytes->add(static_cast<uint64_t>(written));
      if (static_cast<size_t>(written) < context_.batch.bytes()) {
        unsent_.take(context_.batch, static_cast<size_t>(written));
        finish_sent();
        return Flushed::kBlocked;
      }
    }
    finish_sent();
    if (all) return Flushed::kDone;
  }
  return Flushed::kMore;
}

bool Http2Connection::finished() const {
  if (dead_) return true;
  if (!unsent_.empty()) return false;
  if (failed_) return true;
  if (drain_ == Drain::kNotice) return false;  // requests may be on their way
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

// The replies whose last byte the kernel has taken are over.
void Http2Connection::finish_sent() {
  while (first_finishing_ < finishing_.size() && finishing_[first_finishing_]->end_offset <= sent_total_) {
    Stream& stream = *finishing_[first_finishing_++];
    end_call(stream, !stream.failed);
    release(stream);
  }
  if (first_finishing_ == finishing_.size()) {
    finishing_.clear();
    first_finishing_ = 0;
  } else if (first_finishing_ >= 1024) {
    finishing_.erase(finishing_.begin(), finishing_.begin() + static_cast<std::ptrdiff_t>(first_finishing_));
    first_finishing_ = 0;
  }
}

// Tells the dispatcher that the call is over, once.
void Http2Connection::end_call(Stream& stream, bool sent) {
  if (!stream.begun) return;
  stream.begun = false;
  if (sent) {
    if (stream.metrics) stream.metrics->latency.record(context_.now_ns() - stream.start_ns);
    context_.sink->reply_sent(stream);
  } else {
    if (stream.metrics) stream.metrics->abandoned.add();
    context_.sink->abandon(stream);
  }
}

void Http2Connection::release(Stream& stream) {
  drop_view(stream);
  held_bytes_ -= stream.held_connection;
  consumed_ += stream.held_connection;
  if (cached_ == &stream) cached_ = nullptr;
  context_.recycle(&stream);
}

Stream* Http2Connection::find(int32_t id) {
  if (cached_ && cached_->id == id) return cached_;
  auto* stream = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session_, id));
  if (stream) cached_ = stream;
  return stream;
}

void Http2Connection::link(Stream& stream) {
  stream.previous = nullptr;
  stream.next = streams_;
  if (streams_) streams_->previous = &stream;
  streams_ = &stream;
  ++stream_count_;
  context_.metrics.open_streams->add(1);
}

void Http2Connection::unlink(Stream& stream) {
  (stream.previous ? stream.previous->next : streams_) = stream.next;
  if (stream.next) stream.next->previous = stream.previous;
  if (--stream_count_ == 0) idle_since_ns_ = context_.now_ns();
  context_.metrics.open_streams->add(-1);
}

void Http2Connection::drop_view(Stream& stream) {
  if (!stream.view_listed) return;
  views_.erase(std::find(views_.begin(), views_.end(), &stream));
  stream.view_listed = false;
}

bool Http2Connection::release_held() {
  if (held_bytes_ == 0 || failed_ || dead_) return false;
  for (Stream* stream = streams_; stream; stream = stream->next) {
    if (stream->held_connection == 0) continue;
    if (stream->begun && !stream->replied && context_.sink->hold_window(*stream)) continue;
    if (!stream->remote_closed) nghttp2_session_consume_stream(session_, stream->id, stream->held_stream);
    nghttp2_session_consume_connection(session_, stream->held_connection);
    held_bytes_ -= stream->held_connection;
    stream->held_stream = stream->held_connection = 0;
  }
  if (consumed_ > 0) {  // of streams that ended while they held some
    nghttp2_session_consume_connection(session_, consumed_);
    consumed_ = 0;
  }
  return held_bytes_ > 0;
}

void Http2Connection::drain() {
  if (drain_ != Drain::kNone || failed_ || dead_) return;
  drain_ = Drain::kNotice;
  drain_ns_ = context_.now_ns();
  nghttp2_submit_shutdown_notice(session_);
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kDrainPing);
}

void Http2Connection::sweep() {
  if (failed_ || dead_) return;
  const TransportOptions& options = context_.options;
  int64_t now = context_.now_ns();
  if (!settings_seen_ && now - opened_ns_ > options.handshake_timeout_ns) {
    fail("no HTTP/2 settings in time");
    return;
  }
  if (options.idle_timeout_ns > 0 && stream_count_ == 0 && finishing_.empty() &&
      now - idle_since_ns_ > options.idle_timeout_ns) {
    drain();
  }
  if (drain_ == Drain::kNotice && now - drain_ns_ > kDrainNoticeNs) {
    drain_ = Drain::kFinal;
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                          NGHTTP2_NO_ERROR, nullptr, 0);
  }
  if (options.stall_timeout_ns <= 0) return;
  for (Stream* stream = streams_; stream; stream = stream->next) {
    bool receiving = stream->begun && !stream->request_done && !stream->ignore_data;
    if ((!stream->replied && !receiving) || now - stream->progress_ns <= options.stall_timeout_ns) continue;
    stream->progress_ns = now;
    if (receiving) {
      // Unless it may be us who keep the window back: what it has announced takes memory that others need.
      if (held_bytes_ == 0) fail_request(*stream, {StatusCode::kCancelled, "the request stopped arriving"});
      continue;
    }
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
  }
  // Replies that wait for the kernel alone: the peer does not read at all.
  if (first_finishing_ < finishing_.size() &&
      now - finishing_[first_finishing_]->progress_ns > options.stall_timeout_ns && !unsent_.empty()) {
    dead_ = true;
  }
}

// Ends the connection: nothing more is read, what nghttp2 has queued (a GOAWAY) still goes out.
void Http2Connection::fail(std::string_view why) {
  if (failed_) return;
  failed_ = true;
  context_.metrics.protocol_errors->add();
  log::warn(g_protocol_error_limit, "connection ended", {{"peer", peer_.address}, {"why", why}});
}

}  // namespace drover::engine
