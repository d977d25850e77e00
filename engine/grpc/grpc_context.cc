#include "engine/grpc/grpc_context.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/heap.h"

namespace drover::engine {

namespace {

http2::SessionOptions session_options_of(const TransportOptions& options) {
  constexpr uint32_t kFirstStreamWindow = 512 << 10;
  constexpr uint32_t kFirstConnectionWindow = 1 << 20;
  constexpr size_t kHeadBytes = 1024;  // of a usual request
  http2::SessionOptions session;
  session.max_concurrent_streams = options.max_concurrent_streams;
  session.max_header_bytes = options.max_header_bytes;
  session.max_stream_window = options.stream_window;
  session.stream_window = std::min(kFirstStreamWindow, options.stream_window);
  session.max_connection_window = options.connection_window;
  session.connection_window = std::min(kFirstConnectionWindow, options.connection_window);
  session.max_open_header_bytes = kHeadBytes * options.max_concurrent_streams + size_t{16} * options.max_header_bytes;
  session.control_frame_rate = options.control_frame_rate;
  session.pings = options.pings;
  session.reset_rate = options.reset_rate;
  session.reset_burst = options.reset_burst;
  session.variable_field = RequestHead::kVariableField;
  return session;
}

}  // namespace

GrpcContext::GrpcContext(const TransportOptions& transport_options, ThreadMetrics& thread_metrics,
                         const int64_t* now_ns)
    : options(transport_options),
      session_options(session_options_of(transport_options)),
      metrics(thread_metrics),
      ledger(transport_options.ledger, thread_metrics),
      scratch(session_options),
      now_ns_(now_ns) {
  spare_streams_.reserve(options.spare_streams);  // recycling takes no memory
}

GrpcContext::~GrpcContext() {
  free_dying();
  for (CallStream* stream : spare_streams_) delete stream;
}

CallStream* GrpcContext::take_stream() {
  if (spare_streams_.empty()) return new CallStream();
  CallStream* stream = spare_streams_.back();
  spare_streams_.pop_back();
  least_spare_ = std::min(least_spare_, spare_streams_.size());
  return stream;
}

void GrpcContext::recycle(CallStream* stream) noexcept {
  stream->reset();
  if (spare_streams_.size() < options.spare_streams) return spare_streams_.push_back(stream);
  stream->next_dying = dying_;
  dying_ = stream;
}

void GrpcContext::free_dying() {
  while (dying_ != nullptr) delete std::exchange(dying_, dying_->next_dying);
}

void GrpcContext::shrink() {
  constexpr size_t kWorthATrim = 256;
  for (size_t i = 0; i < least_spare_; ++i) delete spare_streams_[i];
  spare_streams_.erase(spare_streams_.begin(), spare_streams_.begin() + static_cast<std::ptrdiff_t>(least_spare_));
  if (least_spare_ >= kWorthATrim) heap::want_trim();
  least_spare_ = spare_streams_.size();
}

}  // namespace drover::engine
