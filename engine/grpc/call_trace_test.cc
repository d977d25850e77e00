#include "engine/grpc/call_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drover::engine {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class CallTraceTest : public testing::Test {
 protected:
  // The call's span; its metadata is in `metadata_`, the client's if there is no span.
  std::unique_ptr<CallTrace> begin(std::vector<Header> metadata, uint32_t per_million = 0) {
    metadata_ = std::move(metadata);
    tracer_ = std::make_unique<trace::Tracer>(trace::TraceOptions{per_million, 1000}, metrics_);
    Call call;
    call.path = "/a.B/C";
    call.metadata = metadata_;
    return begin_trace(*tracer_, call);
  }
  static trace::TraceContext parent_of(const CallTrace& call) {
    for (const auto& [name, value] : call.metadata) {
      if (name == "traceparent") return trace::parse_traceparent(value).value_or(trace::TraceContext());
    }
    return {};
  }

  ThreadMetrics metrics_{0};
  std::unique_ptr<trace::Tracer> tracer_;
  std::vector<Header> metadata_;
};

TEST_F(CallTraceTest, TheHostsParentIsTheEnginesSpan) {
  const auto call = begin({{"a", "1"}, {"traceparent", kParent}, {"tracestate", "x=y"}, {"b", "2"}});
  ASSERT_NE(call, nullptr);
  EXPECT_THAT(call->metadata, ElementsAre(Pair("a", "1"), Pair("tracestate", "x=y"), Pair("b", "2"),
                                          Pair("traceparent", trace::format_traceparent(call->span->context))));
  EXPECT_EQ(call->span->context.trace, trace::parse_traceparent(kParent)->trace);
  EXPECT_EQ(call->span->parent, trace::parse_traceparent(kParent)->span);
}

TEST_F(CallTraceTest, BothFormsSayTheSame) {
  const std::string binary = trace::format_trace_bin(*trace::parse_traceparent(kParent));
  const auto call = begin({{"grpc-trace-bin", binary}});
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->span->parent, trace::parse_traceparent(kParent)->span);
  EXPECT_EQ(parent_of(*call), call->span->context);
  EXPECT_THAT(call->metadata, testing::Contains(Pair("grpc-trace-bin", trace::format_trace_bin(call->span->context))));
}

TEST_F(CallTraceTest, WhatIsNotSampledStaysAsItIs) {
  EXPECT_EQ(begin({{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}}, 1'000'000), nullptr);
  EXPECT_EQ(begin({{"a", "1"}}), nullptr);
  EXPECT_EQ(begin({{"traceparent", "nonsense"}}), nullptr);
}

TEST_F(CallTraceTest, ATraceThatCannotBeReadIsReplacedWithItsState) {
  for (const std::vector<Header>& metadata :
       {std::vector<Header>{{"traceparent", "nonsense"}, {"tracestate", "x=y"}},
        std::vector<Header>{{"traceparent", kParent}, {"traceparent", kParent}, {"tracestate", "x=y"}},
        std::vector<Header>{{"tracestate", "x=y"}}}) {
    const auto call = begin(metadata, 1'000'000);
    ASSERT_NE(call, nullptr);
    ASSERT_THAT(call->metadata, ElementsAre(Pair("traceparent", trace::format_traceparent(call->span->context))));
    EXPECT_NE(call->span->context.trace, trace::parse_traceparent(kParent)->trace);
    EXPECT_EQ(call->span->parent, trace::SpanId{});
  }
}

}  // namespace
}  // namespace drover::engine
