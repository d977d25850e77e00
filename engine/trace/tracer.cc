#include "engine/trace/tracer.h"

#include <sys/random.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

namespace drover::engine::trace {
namespace {

constexpr std::string_view kDroppedHelp = "Spans that were not written, by why";

int64_t unix_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Tracer::Tracer(const TraceOptions& options, ThreadMetrics& metrics)
    : options_(options),
      metrics_(metrics),
      ring_(std::make_unique<SpanRing>()),
      rate_(options.max_spans, options.max_spans, 0),
      spans_(metrics.counter("drover_trace_spans_total", "Spans of calls")),
      over_rate_(metrics.counter("drover_trace_dropped_total", kDroppedHelp, {{"why", "rate"}})),
      ring_full_(metrics.counter("drover_trace_dropped_total", kDroppedHelp, {{"why", "full"}})) {}

Tracer::~Tracer() {
  for (const Counter* one : {spans_, over_rate_, ring_full_}) metrics_.remove(one);
}

uint64_t Tracer::random() {
  if (random_left_ == 0) {
    if (::getrandom(random_.data(), sizeof random_, 0) != static_cast<ssize_t>(sizeof random_)) std::abort();
    random_left_ = random_.size();
  }
  return random_[--random_left_];
}

std::unique_ptr<Span> Tracer::begin(const TraceContext* incoming, std::string_view path, int64_t now_ns) {
  const bool wanted = incoming != nullptr
                          ? incoming->sampled()
                          : options_.sample_per_million != 0 && random() % 1'000'000 < options_.sample_per_million;
  if (!wanted) return nullptr;
  if (!rate_.spend(now_ns)) {
    over_rate_->add();
    return nullptr;
  }
  auto span = std::make_unique<Span>();
  const uint64_t fresh[3] = {random(), random(), random() | 1};  // no id is all zeros
  if (incoming != nullptr) {
    span->context = *incoming;
    span->parent = incoming->span;
  } else {
    std::memcpy(span->context.trace.data(), &fresh[1], span->context.trace.size());
    span->context.flags = 1;
  }
  const uint64_t own = fresh[0] | 1;
  std::memcpy(span->context.span.data(), &own, sizeof own);
  span->set_path(path);
  span->start_ns = unix_ns();
  return span;
}

void Tracer::end(Span& span, int64_t lasted_ns) {
  span.end_ns = span.start_ns + (lasted_ns > 0 ? lasted_ns : 0);
  (ring_->push(span) ? spans_ : ring_full_)->add();
}

}  // namespace drover::engine::trace
