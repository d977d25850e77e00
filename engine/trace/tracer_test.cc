#include "engine/trace/tracer.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace drover::engine::trace {
namespace {

TraceContext incoming(uint8_t flags) {
  TraceContext context;
  context.trace.fill(7);
  context.span.fill(8);
  context.flags = flags;
  return context;
}

TEST(Tracer, TheClientsFlagDecides) {
  ThreadMetrics metrics(0);
  Tracer tracer({.sample_per_million = 1'000'000}, metrics);
  const TraceContext sampled = incoming(1), not_sampled = incoming(0);
  EXPECT_EQ(tracer.begin(&not_sampled, "/a.B/C", 0), nullptr);
  const auto span = tracer.begin(&sampled, "/a.B/C", 0);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(span->context.trace, sampled.trace);
  EXPECT_EQ(span->parent, sampled.span);
  EXPECT_NE(span->context.span, sampled.span);
  EXPECT_EQ(span->path(), "/a.B/C");
}

TEST(Tracer, CallsWithoutATraceBeginSomeOfThem) {
  ThreadMetrics metrics(0);
  Tracer none({.sample_per_million = 0, .max_spans = 100'000}, metrics);
  Tracer half({.sample_per_million = 500'000, .max_spans = 100'000}, metrics);
  int begun = 0;
  std::set<TraceId> traces;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(none.begin(nullptr, "/a.B/C", 0), nullptr);
    const auto span = half.begin(nullptr, "/a.B/C", 0);
    if (span == nullptr) continue;
    ++begun;
    EXPECT_TRUE(span->context.sampled());
    EXPECT_EQ(span->parent, SpanId{});
    traces.insert(span->context.trace);
  }
  EXPECT_NEAR(begun, 5000, 500);
  EXPECT_EQ(traces.size(), static_cast<size_t>(begun));
}

TEST(Tracer, SpansOfASecondAreBounded) {
  ThreadMetrics metrics(0);
  Tracer tracer({.sample_per_million = 0, .max_spans = 10}, metrics);
  const TraceContext sampled = incoming(1);
  int begun = 0;
  for (int i = 0; i < 100; ++i) begun += tracer.begin(&sampled, "/a.B/C", 0) != nullptr;
  EXPECT_EQ(begun, 10);
  EXPECT_NE(tracer.begin(&sampled, "/a.B/C", 1'000'000'000), nullptr);
}

TEST(SpanRing, IsFullRatherThanSlow) {
  SpanRing ring;
  Span span;
  for (size_t i = 0; i < SpanRing::kSpans; ++i) ASSERT_TRUE(ring.push(span));
  EXPECT_FALSE(ring.push(span));
  std::vector<Span> out;
  ring.pop(5, &out);
  EXPECT_EQ(out.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ring.push(span));
  EXPECT_FALSE(ring.push(span));
}

TEST(SpanRing, SpansComeOutInOrderInAnotherThread) {
  SpanRing ring;
  constexpr int64_t kAll = 20'000;
  std::thread writer([&] {
    Span span;
    for (int64_t i = 0; i < kAll;) {
      span.start_ns = i;
      if (ring.push(span)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::vector<Span> out;
  int64_t next = 0;
  while (next < kAll) {
    out.clear();
    ring.pop(100, &out);
    for (const Span& span : out) ASSERT_EQ(span.start_ns, next++);
    if (out.empty()) std::this_thread::yield();
  }
  writer.join();
}

TEST(Span, ALongPathIsCut) {
  Span span;
  span.set_path(std::string(1000, 'x'));
  EXPECT_EQ(span.path(), std::string(Span::kMostPath, 'x'));
}

}  // namespace
}  // namespace drover::engine::trace
