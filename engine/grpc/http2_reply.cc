// The reply side of a connection: HEADERS + DATA + trailers, or trailers-only, and how their bytes reach the batch.
#include <cassert>
#include <cstring>

#include "engine/base/log.h"
#include "engine/grpc/http2_connection.h"

namespace drover::engine {

namespace {

log::Limit g_metadata_limit;
log::Limit g_headers_limit;

constexpr size_t kTakesTurns = 64 << 10;
constexpr uint8_t kNoCopy = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())); }

nghttp2_nv constant(std::string_view name, std::string_view value) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(), kNoCopy};
}
nghttp2_nv copied(std::string_view name, std::string_view value) {
  return {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

constexpr std::string_view kCodes[] = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                       "9", "10", "11", "12", "13", "14", "15", "16"};

nghttp2_nv status_field(StatusCode code) {
  auto number = static_cast<uint32_t>(code);
  return constant("grpc-status", kCodes[number < std::size(kCodes) ? number : 2]);
}
const nghttp2_nv kHttpOk = constant(":status", "200");
const nghttp2_nv kContentType = constant("content-type", "application/grpc");
const nghttp2_nv kAcceptEncoding = constant("grpc-accept-encoding", "identity");

}  // namespace

// Metadata as it goes on the wire, without what would break it there.
void Http2Connection::append_metadata(std::vector<Header>& to, std::span<const Header> from) {
  for (const auto& [name, value] : from) {
    std::string_view encoded = value;
    if (is_binary_header(name)) {
      context_.text.clear();
      append_base64_encoded(value, context_.text);
      encoded = context_.text;
    }
    if (is_legal_response_metadata(name, encoded)) {
      context_.add_header(to, name, encoded);
    } else {
      log::warn(g_metadata_limit, "response metadata left out: illegal name or value", {{"name", name}});
    }
  }
}

void Http2Connection::send_reply(Stream& stream, const Reply& reply) {
  assert(reply.ends);  // of a unary call
  if (stream.replied) return;
  stream.replied = true;
  stream.ignore_data = true;
  stream.code = reply.code;
  stream.progress_ns = context_.now_ns();
  if (stream.metrics) {
    stream.metrics->finished[std::min<size_t>(static_cast<size_t>(reply.code), 16)].add();
    stream.metrics->response_bytes.add(reply.message_size);
  }
  if (!reply.status_message.empty()) {
    append_percent_encoded(reply.status_message, stream.status_message);
    if (stream.status_message.size() > kMaxStatusMessage) {
      size_t cut = kMaxStatusMessage;  // not inside a %XX
      if (stream.status_message[cut - 1] == '%')
        cut -= 1;
      else if (stream.status_message[cut - 2] == '%')
        cut -= 2;
      stream.status_message.resize(cut);
    }
  }
  if (!reply.trailing.empty()) append_metadata(stream.trailers, reply.trailing);
  bool body = reply.has_message && reply.code == StatusCode::kOk;
  if (!body && reply.initial.empty()) {
    submit_failed(stream, submit_trailers_only(stream));
    return;
  }

  std::vector<Header>& initial = context_.headers;
  context_.clear_headers(initial);
  if (!reply.initial.empty()) append_metadata(initial, reply.initial);
  std::vector<nghttp2_nv>& nv = context_.nv;
  nv.assign({kHttpOk, kContentType});
  for (const auto& [name, value] : initial) nv.push_back(copied(name, value));
  if (body) {
    stream.body.start(reply.message, reply.message_size);
    if (reply.message_size > kTakesTurns) {  // large replies take turns with others; small ones go out whole
      nghttp2_extpri priority{NGHTTP2_EXTPRI_DEFAULT_URGENCY, 1};
      nghttp2_session_change_extpri_stream_priority(session_, stream.id, &priority, 1);
    }
    nghttp2_data_provider provider;
    provider.source.ptr = &stream;
    provider.read_callback = [](nghttp2_session*, int32_t, uint8_t*, size_t room, uint32_t* flags,
                                nghttp2_data_source* source, void* user_data) {
      return static_cast<Http2Connection*>(user_data)->read_body(*static_cast<Stream*>(source->ptr), room, flags);
    };
    submit_failed(stream, nghttp2_submit_response(session_, stream.id, nv.data(), nv.size(), &provider));
    return;
  }
  if (submit_failed(stream, nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id, nullptr, nv.data(),
                                                   nv.size(), nullptr))) {
    return;
  }
  submit_failed(stream, submit_trailers(stream));
}

int Http2Connection::submit_trailers_only(Stream& stream) {
  std::vector<nghttp2_nv>& nv = context_.nv;
  nv.assign({kHttpOk, kContentType});
  append_status(stream, nv);
  return nghttp2_submit_response(session_, stream.id, nv.data(), nv.size(), nullptr);
}

int Http2Connection::submit_trailers(Stream& stream) {
  std::vector<nghttp2_nv>& nv = context_.nv;
  nv.clear();
  append_status(stream, nv);
  return nghttp2_submit_trailer(session_, stream.id, nv.data(), nv.size());
}

void Http2Connection::append_status(Stream& stream, std::vector<nghttp2_nv>& nv) {
  nv.push_back(status_field(stream.code));
  if (!stream.status_message.empty()) nv.push_back(copied("grpc-message", stream.status_message));
  if (stream.code == StatusCode::kUnimplemented && !stream.encoding_name.empty()) nv.push_back(kAcceptEncoding);
  for (const auto& [name, value] : stream.trailers) nv.push_back(copied(name, value));
}

void Http2Connection::refuse(Stream& stream, const Status& error) {
  Reply reply;
  reply.code = error.code;
  reply.status_message = error.message;
  if (!stream.metrics) stream.metrics = context_.metrics.unknown();
  send_reply(stream, reply);
}

void Http2Connection::refuse_http(Stream& stream, std::string_view status_code) {
  stream.replied = true;
  stream.ignore_data = true;
  stream.progress_ns = context_.now_ns();
  nghttp2_nv nv[] = {copied(":status", status_code), copied("content-length", "0")};
  submit_failed(stream, nghttp2_submit_response(session_, stream.id, nv, std::size(nv), nullptr));
}

// nghttp2 could not take a reply (out of memory, or the stream is on its way out): the stream is reset.
bool Http2Connection::submit_failed(Stream& stream, int result) {
  if (result == 0) return false;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_INTERNAL_ERROR);
  return true;
}

// nghttp2 asks for the next DATA frame. Nothing is copied here: send_body gathers the bytes.
ssize_t Http2Connection::read_body(Stream& stream, size_t room, uint32_t* data_flags) {
  size_t size = std::min(room, stream.body.left());
  *data_flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (size == stream.body.left()) {
    *data_flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (submit_trailers(stream) != 0) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  return static_cast<ssize_t>(size);
}

int Http2Connection::send_body(Stream& stream, const uint8_t* frame_header, size_t size) {
  constexpr size_t kFrameHeaderBytes = 9;
  SendBatch& batch = context_.batch;
  batch.append_copy(frame_header, kFrameHeaderBytes);
  stream.progress_ns = context_.now_ns();
  stream.body.take(size, [&](const char* bytes, size_t count) {
    if (count < SendBatch::kCopyBelow) {
      batch.append_copy(bytes, count);
    } else {
      batch.append_reference(bytes, count);
    }
  });
  if (batch.has_room()) return 0;
  paused_ = true;
  return NGHTTP2_ERR_PAUSE;
}

// A reply that ends before the request does: tells the client to stop sending (RFC 9113, 8.1).
int Http2Connection::on_frame_sent(const nghttp2_frame* frame) {
  if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  Stream* stream = find(frame->hd.stream_id);
  if (stream && !stream->remote_closed) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
  }
  return 0;
}

int Http2Connection::on_frame_not_sent(const nghttp2_frame* frame, int error) {
  if (frame->hd.type != NGHTTP2_HEADERS || error == NGHTTP2_ERR_STREAM_CLOSED || error == NGHTTP2_ERR_STREAM_CLOSING) {
    return 0;
  }
  log::warn(g_headers_limit, "reply not sent", {{"peer", peer_.address}, {"why", nghttp2_strerror(error)}});
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
  return 0;
}

int Http2Connection::on_stream_close(int32_t id, uint32_t error_code) {
  Stream* stream = find(id);
  if (!stream) return 0;
  nghttp2_session_set_stream_user_data(session_, id, nullptr);
  unlink(*stream);
  if (cached_ == stream) cached_ = nullptr;
  drop_view(*stream);
  stream->failed = error_code != NGHTTP2_NO_ERROR;
  if (!stream->begun || !stream->replied) {
    end_call(*stream, false);
    release(*stream);
    return 0;
  }
  // Some of the reply may wait in the batch or for the socket, as references into the dispatcher's memory.
  stream->end_offset = queued_total_ + (filling_ ? context_.batch.bytes() : 0);
  finishing_.push_back(stream);
  return 0;
}

}  // namespace drover::engine
