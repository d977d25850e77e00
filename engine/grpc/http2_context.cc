#include "engine/grpc/http2_context.h"

#include <cstdlib>

namespace drover::engine {

Http2Context::Http2Context(const TransportOptions& transport_options, ThreadMetrics& thread_metrics,
                           const int64_t* now_ns)
    : options(transport_options), metrics(thread_metrics), now_ns_(now_ns) {
  if (nghttp2_option_new(&option) != 0) std::abort();
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, options.reset_burst, options.reset_rate);
}

Http2Context::~Http2Context() {
  for (Stream* stream : spare_streams_) delete stream;
  nghttp2_option_del(option);
}

Stream* Http2Context::take_stream() {
  if (spare_streams_.empty()) return new Stream();
  Stream* stream = spare_streams_.back();
  spare_streams_.pop_back();
  return stream;
}

void Http2Context::recycle(Stream* stream) {
  if (spare_streams_.size() >= kSpareStreams) {
    delete stream;
    return;
  }
  clear_headers(stream->metadata);
  clear_headers(stream->trailers);
  stream->path_header.reset();
  stream->authority_header.reset();
  stream->path = stream->authority = {};
  stream->peer = nullptr;
  stream->deadline_ns = stream->timeout_ns = kNoDeadline;
  stream->max_request_bytes = 4u << 20;
  stream->metrics = nullptr;
  stream->dispatch = nullptr;
  stream->encoding_name.clear();
  stream->encoding = Encoding::kNone;
  stream->header_bytes = stream->held_stream = stream->held_connection = 0;
  stream->is_post = stream->is_grpc = stream->bad_timeout = stream->bad_binary = stream->too_large = false;
  stream->begun = stream->ignore_data = stream->request_done = stream->remote_closed = false;
  stream->replied = stream->view_listed = stream->failed = false;
  stream->assembler.reset();
  stream->body = ReplyBody();
  stream->code = StatusCode::kOk;
  stream->status_message.clear();
  stream->end_offset = 0;
  spare_streams_.push_back(stream);
}

void Http2Context::add_header(std::vector<Header>& to, std::string_view name, std::string_view value) {
  if (spare_headers_.empty()) {
    to.emplace_back(name, value);
    return;
  }
  to.push_back(std::move(spare_headers_.back()));
  spare_headers_.pop_back();
  to.back().first.assign(name);
  to.back().second.assign(value);
}

void Http2Context::clear_headers(std::vector<Header>& used) {
  for (Header& header : used) {
    if (spare_headers_.size() >= kSpareHeaders) break;
    if (header.first.capacity() <= kSpareCapacity && header.second.capacity() <= kSpareCapacity) {
      spare_headers_.push_back(std::move(header));
    }
  }
  used.clear();
}

}  // namespace drover::engine
