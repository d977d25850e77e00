#include "engine/trace/span_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace drover::engine::trace {
namespace {

using testing::HasSubstr;

Span span_of(std::string_view path, StatusCode code) {
  Span span;
  span.context = *parse_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  span.parent.fill(0xab);
  span.set_path(path);
  span.code = code;
  span.start_ns = 1'700'000'000'000'000'001;
  span.end_ns = span.start_ns + 5;
  return span;
}

TEST(OtlpJson, ASpanHasItsFields) {
  const std::vector<Span> spans = {span_of("/shop.Orders/List", StatusCode::kOk)};
  EXPECT_EQ(otlp_json(spans, "shop"),
            R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},)"
            R"("scopeSpans":[{"scope":{"name":"droverd"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",)"
            R"("spanId":"b7ad6b7169203331","parentSpanId":"abababababababab","flags":1,"name":"shop.Orders/List",)"
            R"("kind":2,"startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000006",)"
            R"("attributes":[{"key":"rpc.system","value":{"stringValue":"grpc"}},)"
            R"({"key":"rpc.service","value":{"stringValue":"shop.Orders"}},)"
            R"({"key":"rpc.method","value":{"stringValue":"List"}},)"
            R"({"key":"rpc.grpc.status_code","value":{"intValue":"0"}}],"status":{}}]}]}]})");
}

TEST(OtlpJson, AServersErrorsAreErrorsAndPathsAreEscaped) {
  Span span = span_of("/a\"\\\n\xff/C", StatusCode::kInternal);
  span.parent = {};
  const std::string text = otlp_json({&span, 1}, "shop");
  EXPECT_THAT(text, HasSubstr(R"("status":{"code":2})"));
  EXPECT_THAT(text, HasSubstr(R"("name":"a\"\\??/C")"));
  EXPECT_THAT(text, testing::Not(HasSubstr("parentSpanId")));
  span.code = StatusCode::kNotFound;
  EXPECT_THAT(otlp_json({&span, 1}, "shop"), HasSubstr(R"("status":{})"));
}

TEST(SpanWriter, WritesWhatIsLeftAtItsEnd) {
  const std::string path = testing::TempDir() + "/drover_spans_" + std::to_string(::getpid());
  SpanRing first, second;
  {
    SpanWriter writer(path, "shop", {&first, &second});
    for (int i = 0; i < 600; ++i) {
      ASSERT_TRUE((i % 2 == 0 ? first : second).push(span_of("/a.B/C", StatusCode::kOk)));
    }
  }
  std::ifstream file(path);
  size_t lines = 0, spans = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_TRUE(line.starts_with("{\"resourceSpans\"") && line.ends_with("}]}]}]}"));
    for (size_t at = line.find("traceId"); at != std::string::npos; at = line.find("traceId", at + 1)) ++spans;
  }
  EXPECT_EQ(spans, 600u);
  EXPECT_GE(lines, 3u);
  ::unlink(path.c_str());
}

TEST(SpanWriter, AFileThatCannotBeWrittenHoldsNothingUp) {
  SpanRing ring;
  SpanWriter writer("/nowhere/spans", "shop", {&ring});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(ring.push(span_of("/a.B/C", StatusCode::kOk)));
}

}  // namespace
}  // namespace drover::engine::trace
