// A call as a span of its trace, and the ring in which an engine thread gives its spans to the writer.
//
//   engine thread --push--> SpanRing --pop--> SpanWriter (its own thread)
//
// Neither waits: a span that finds the ring full is dropped and counted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/trace/trace_context.h"

namespace drover::engine::trace {

struct Span {
  static constexpr size_t kMostPath = 160;  // bytes; what is longer is cut

  void set_path(std::string_view path) {
    path_size = static_cast<uint8_t>(std::min(path.size(), kMostPath));
    std::memcpy(path_bytes.data(), path.data(), path_size);
  }
  std::string_view path() const { return {path_bytes.data(), path_size}; }

  TraceContext context;  // the span's own id
  SpanId parent{};       // all zero: it begins the trace
  StatusCode code = StatusCode::kCancelled;
  uint8_t path_size = 0;
  std::array<char, kMostPath> path_bytes;
  int64_t start_ns = 0;  // since 1970
  int64_t end_ns = 0;
};

// One writer thread, one reader thread.
class SpanRing {
 public:
  static constexpr size_t kSpans = 2048;

  bool push(const Span& span) {
    const size_t at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kSpans) return false;
    spans_[at % kSpans] = span;
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  // Up to `most` spans, behind those in `out`.
  void pop(size_t most, std::vector<Span>* out) {
    const size_t from = read_.load(std::memory_order_relaxed);
    const size_t to = std::min(written_.load(std::memory_order_acquire), from + most);
    for (size_t at = from; at != to; ++at) out->push_back(spans_[at % kSpans]);
    read_.store(to, std::memory_order_release);
  }

 private:
  std::vector<Span> spans_ = std::vector<Span>(kSpans);
  std::atomic<size_t> written_{0};
  std::atomic<size_t> read_{0};
};

}  // namespace drover::engine::trace
