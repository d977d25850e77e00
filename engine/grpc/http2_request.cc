// The request side of a connection: nghttp2's receiving callbacks, gRPC's rules for a request's headers and body, and
// the memory of what arrives.
#include <cstdlib>
#include <cstring>

#include "engine/base/log.h"
#include "engine/grpc/http2_connection.h"

namespace drover::engine {

namespace {

Http2Connection& self_of(void* user_data) { return *static_cast<Http2Connection*>(user_data); }

std::string_view view_of(nghttp2_rcbuf* buffer) {
  nghttp2_vec v = nghttp2_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(v.base), v.len};
}

// A peer that keeps this many frames unsent (answers to what it sends while it does not read) is cut off.
constexpr size_t kMaxQueuedFrames = 20'000;

}  // namespace

const nghttp2_session_callbacks* Http2Connection::callbacks() {
  static const nghttp2_session_callbacks* const all = [] {
    nghttp2_session_callbacks* made;
    if (nghttp2_session_callbacks_new(&made) != 0) std::abort();
    set_callbacks(made);
    return made;
  }();
  return all;
}

void Http2Connection::set_callbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
        return self_of(user_data).on_begin_headers(frame);
      });
  nghttp2_session_callbacks_set_on_header_callback2(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, nghttp2_rcbuf* name, nghttp2_rcbuf* value, uint8_t,
                    void* user_data) { return self_of(user_data).on_header(frame, name, value); });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, uint8_t flags, int32_t id, const uint8_t* data, size_t size, void* user_data) {
        return self_of(user_data).on_data_chunk(flags, id, data, size);
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
        return self_of(user_data).on_frame_received(frame);
      });
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, int error, void* user_data) {
        self_of(user_data).on_invalid_frame(frame, error);
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, int32_t id, uint32_t error_code, void* user_data) {
        return self_of(user_data).on_stream_close(id, error_code);
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
        return self_of(user_data).on_frame_sent(frame);
      });
  nghttp2_session_callbacks_set_on_frame_not_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, int error, void* user_data) {
        return self_of(user_data).on_frame_not_sent(frame, error);
      });
  nghttp2_session_callbacks_set_send_data_callback(
      callbacks, [](nghttp2_session*, nghttp2_frame*, const uint8_t* frame_header, size_t size,
                    nghttp2_data_source* source, void* user_data) {
        return self_of(user_data).send_body(*static_cast<Stream*>(source->ptr), frame_header, size);
      });
  nghttp2_session_callbacks_set_data_source_read_length_callback(
      callbacks,
      [](nghttp2_session*, uint8_t, int32_t, int32_t session_window, int32_t stream_window, uint32_t max_frame_size,
         void*) -> ssize_t {
        // Frames as large as the peer takes, but not so large that one stream shuts out the others.
        constexpr int64_t kLargestFrame = 64 << 10;
        return static_cast<ssize_t>(std::min<int64_t>({session_window, stream_window, max_frame_size, kLargestFrame}));
      });
}

int Http2Connection::on_begin_headers(const nghttp2_frame* frame) {
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;  // trailers
  Stream* stream = context_.take_stream();
  stream->connection = this;
  stream->id = frame->hd.stream_id;
  stream->listener = listener_;
  stream->peer = &peer_;
  link(*stream);
  cached_ = stream;
  nghttp2_session_set_stream_user_data(session_, stream->id, stream);
  return 0;
}

int Http2Connection::on_header(const nghttp2_frame* frame, nghttp2_rcbuf* name_buffer, nghttp2_rcbuf* value_buffer) {
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  Stream* stream = find(frame->hd.stream_id);
  if (!stream) return 0;
  std::string_view name = view_of(name_buffer);
  std::string_view value = view_of(value_buffer);
  stream->header_bytes += static_cast<uint32_t>(name.size() + value.size() + 32);
  if (stream->header_bytes > context_.options.max_header_bytes) {
    stream->too_large = true;
    return 0;
  }
  switch (name.size()) {
    case 2:
      if (name == "te") return 0;
      break;
    case 4:
      if (name == "host" && !stream->authority_header) return stream->authority_header.hold(value_buffer), 0;
      break;
    case 5:
      if (name == ":path") return stream->path_header.hold(value_buffer), 0;
      break;
    case 7:
      if (name == ":method") return stream->is_post = value == "POST", 0;
      if (name == ":scheme") return 0;
      break;
    case 10:
      if (name == ":authority") return stream->authority_header.hold(value_buffer), 0;
      break;
    case 12:
      if (name == "content-type") return stream->is_grpc = is_grpc_content_type(value), 0;
      if (name == "grpc-timeout") {
        auto timeout = parse_grpc_timeout(value);
        if (timeout) stream->timeout_ns = *timeout;
        stream->bad_timeout = !timeout;
        return 0;
      }
      break;
    case 13:
      if (name == "grpc-encoding") {
        stream->encoding = parse_encoding(value);
        if (stream->encoding == Encoding::kUnsupported) stream->encoding_name.assign(value);
        return 0;
      }
      break;
    default:
      break;
  }
  if (is_reserved_request_header(name)) return 0;
  if (!is_binary_header(name)) {
    context_.add_header(stream->metadata, name, value);
  } else if (!split_binary_values(value,
                                  [&](std::string&& one) { context_.add_header(stream->metadata, name, one); })) {
    stream->bad_binary = true;
  }
  return 0;
}

int Http2Connection::on_data_chunk(uint8_t, int32_t id, const uint8_t* data, size_t size) {
  Stream* stream = find(id);
  if (!stream || stream->ignore_data || !stream->begun) {
    nghttp2_session_consume_stream(session_, id, size);
    consumed_ += size;
    return 0;
  }
  stream->progress_ns = context_.now_ns();
  bool was_view = stream->assembler.is_view();
  Status error = stream->assembler.feed(reinterpret_cast<const char*>(data), size, stream->max_request_bytes,
                                        stream->encoding, [&](size_t bytes) { return message_buffer(*stream, bytes); });
  if (!error.ok()) {
    nghttp2_session_consume_stream(session_, id, size);
    consumed_ += size;
    if (error.code == StatusCode::kUnimplemented) error.message += ": " + stream->encoding_name;
    fail_request(*stream, error);
    return 0;
  }
  if (!was_view && stream->assembler.is_view()) {
    views_.push_back(stream);
    stream->view_listed = true;
  }
  account_received(*stream, static_cast<uint32_t>(size), !stream->assembler.is_view());
  return 0;
}

// Re-grants `size` received bytes to the peer, or keeps them back while the region is full.
void Http2Connection::account_received(Stream& stream, uint32_t size, bool in_memory) {
  if (in_memory && context_.sink->hold_window(stream)) {
    stream.held_stream += size;
    stream.held_connection += size;
    held_bytes_ += size;
    return;
  }
  // A message that came whole needs no more window on its stream: the client is done with it.
  if (in_memory) nghttp2_session_consume_stream(session_, stream.id, size);
  consumed_ += size;
}

int Http2Connection::on_frame_received(const nghttp2_frame* frame) {
  switch (frame->hd.type) {
    case NGHTTP2_DATA:
      if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        if (Stream* stream = find(frame->hd.stream_id)) end_request(*stream);
      } else if (frame->hd.length == 0 && !spend_control_frame()) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
      }
      return 0;
    case NGHTTP2_HEADERS: {
      Stream* stream = find(frame->hd.stream_id);
      if (!stream) return 0;
      if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) begin_request(*stream);
      if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) end_request(*stream);
      return 0;
    }
    case NGHTTP2_SETTINGS:
      settings_seen_ = true;
      break;
    case NGHTTP2_PING:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) && drain_ == Drain::kNotice) {
        drain_ = Drain::kFinal;
        nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                              NGHTTP2_NO_ERROR, nullptr, 0);
      }
      break;
    case NGHTTP2_WINDOW_UPDATE:
      return 0;
    default:
      break;
  }
  return spend_control_frame() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Http2Connection::on_invalid_frame(const nghttp2_frame*, int) { context_.metrics.protocol_errors->add(); }

// False: too many frames that carry no request; the connection ends.
bool Http2Connection::spend_control_frame() {
  if (!control_frames_.spend(context_.now_ns())) {
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
    fail("too many control frames");
    return false;
  }
  if (!unsent_.empty() && nghttp2_session_get_outbound_queue_size(session_) > kMaxQueuedFrames) {
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
    fail("peer does not read the answers to its frames");
    return false;
  }
  return true;
}

Status Http2Connection::check_request(const Stream& stream) const {
  if (stream.too_large) {
    return {StatusCode::kResourceExhausted,
            "request headers larger than " + std::to_string(context_.options.max_header_bytes) + " bytes"};
  }
  if (stream.bad_timeout) return {StatusCode::kInternal, "malformed grpc-timeout"};
  if (stream.bad_binary) return {StatusCode::kInternal, "malformed base64 in binary metadata"};
  return {};
}

void Http2Connection::begin_request(Stream& stream) {
  if (!stream.too_large) {
    if (!stream.is_post) return refuse_http(stream, "405");
    if (!stream.is_grpc) return refuse_http(stream, "415");
  }
  if (Status error = check_request(stream); !error.ok()) return refuse(stream, error);
  stream.path = stream.path_header.view();
  stream.authority = stream.authority_header.view();
  stream.start_ns = context_.now_ns();
  stream.deadline_ns = stream.timeout_ns == kNoDeadline || stream.timeout_ns > INT64_MAX - stream.start_ns
                           ? kNoDeadline
                           : stream.start_ns + stream.timeout_ns;
  Status opened = context_.sink->open(stream);
  stream.path = {};
  stream.path_header.reset();
  if (!stream.metrics) stream.metrics = context_.metrics.unknown();
  stream.metrics->started.add();
  if (!opened.ok()) return refuse(stream, opened);
  stream.begun = true;
  stream.progress_ns = stream.start_ns;
}

void Http2Connection::end_request(Stream& stream) {
  if (stream.remote_closed) return;
  stream.remote_closed = true;
  if (!stream.begun || stream.ignore_data) return;
  if (Status error = stream.assembler.finish(); !error.ok()) return fail_request(stream, error);
  stream.request_done = true;
  drop_view(stream);
  uint32_t size = stream.assembler.message_size();
  stream.metrics->request_bytes.add(size);
  context_.sink->message(stream, stream.assembler.view(), More::kLast);
  // The region had no room: what this message takes meanwhile counts against the connection's window.
  if (size > 0 && stream.assembler.is_view() && stream.begun && !stream.replied && context_.sink->hold_window(stream) &&
      consumed_ >= size) {
    consumed_ -= size;
    stream.held_connection += size;
    held_bytes_ += size;
  }
}

// The request is broken: the dispatcher forgets the call, the client gets a status.
void Http2Connection::fail_request(Stream& stream, const Status& error) {
  drop_view(stream);
  if (stream.begun) {
    stream.begun = false;
    context_.sink->abandon(stream);
  }
  refuse(stream, error);
}

char* Http2Connection::message_buffer(Stream& stream, size_t size) {
  return context_.sink->message_buffer(stream, size);
}

// The receive buffer is about to be reused: messages that lie in it and whose stream has not ended are copied.
void Http2Connection::spill_views() {
  for (Stream* stream : views_) {
    stream->view_listed = false;
    if (stream->ignore_data || !stream->begun) continue;  // answered meanwhile
    Status error = stream->assembler.spill([&](size_t bytes) { return message_buffer(*stream, bytes); });
    if (!error.ok()) fail_request(*stream, error);
  }
  views_.clear();
}

}  // namespace drover::engine
