// Tracer: one engine thread's part in the traces of its calls. A call that is sampled gets a span of the engine between
// its client's and its service's: the metadata that the host gets names the engine's span as the parent.
//
//   the client says      sampled      not sampled      nothing, or what cannot be read
//   the engine           a span       passes it on     starts a trace for some calls (the sampler)
//
// Spans are bounded in a second, whatever clients ask for; a call beyond it passes as it came.
// Thread-safety: none; one engine thread. The ring's other side is SpanWriter's.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/base/token_bucket.h"
#include "engine/trace/span.h"

namespace drover::engine::trace {

struct TraceOptions {
  uint32_t sample_per_million = 0;  // of calls without a trace
  uint32_t max_spans = 1000;        // a second, an engine thread
};

class Tracer {
 public:
  // `metrics` outlives it.
  Tracer(const TraceOptions& options, ThreadMetrics& metrics);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // `incoming`: null: none. Null: the call has no span. `now_ns`: CLOCK_MONOTONIC.
  std::unique_ptr<Span> begin(const TraceContext* incoming, std::string_view path, int64_t now_ns);
  // `lasted_ns`: since begin().
  void end(Span& span, int64_t lasted_ns);
  SpanRing& ring() { return *ring_; }

 private:
  uint64_t random();

  const TraceOptions options_;
  ThreadMetrics& metrics_;
  const std::unique_ptr<SpanRing> ring_;
  TokenBucket rate_;
  std::array<uint64_t, 32> random_;  // of the kernel
  size_t random_left_ = 0;
  Counter* const spans_;
  Counter* const over_rate_;
  Counter* const ring_full_;
};

}  // namespace drover::engine::trace
