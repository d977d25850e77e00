#include "engine/trace/trace_context.h"

#include <gtest/gtest.h>

namespace drover::engine::trace {
namespace {

constexpr const char* kExample = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";  // W3C, section 3.2

TEST(Traceparent, TheSpecificationsExampleIsReadAndWritten) {
  const auto context = parse_traceparent(kExample);
  ASSERT_TRUE(context.has_value());
  EXPECT_TRUE(context->sampled());
  EXPECT_EQ(context->trace[0], 0x0a);
  EXPECT_EQ(context->span[7], 0x31);
  EXPECT_EQ(format_traceparent(*context), kExample);
  EXPECT_FALSE(parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->sampled());
}

TEST(Traceparent, WhatIsMalformedIsNothing) {
  for (std::string_view text : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
                                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                                "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                                "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
                                "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x"}) {
    EXPECT_FALSE(parse_traceparent(text).has_value()) << text;
  }
}

TEST(Traceparent, ALaterVersionMayHaveMore) {
  const auto context = parse_traceparent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-else");
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(format_traceparent(*context), kExample);
}

TEST(TraceBin, IsReadAndWritten) {
  const auto context = parse_traceparent(kExample);
  const std::string bytes = format_trace_bin(*context);
  ASSERT_EQ(bytes.size(), 29u);
  EXPECT_EQ(parse_trace_bin(bytes), context);
  for (size_t at : {0, 1, 18, 27}) {
    std::string wrong = bytes;
    wrong[at] = 9;
    EXPECT_FALSE(parse_trace_bin(wrong).has_value());
  }
  EXPECT_FALSE(parse_trace_bin(bytes.substr(1)).has_value());
  EXPECT_FALSE(parse_trace_bin(bytes + "x").has_value());
  EXPECT_FALSE(parse_trace_bin("").has_value());
}

}  // namespace
}  // namespace drover::engine::trace
