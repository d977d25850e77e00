// Where a call stands in a trace, as its metadata says: W3C Trace Context (traceparent, version 00 and what later
// versions keep of it) and OpenCensus's binary form (grpc-trace-bin), which gRPC's own tracing uses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover::engine::trace {

using TraceId = std::array<unsigned char, 16>;
using SpanId = std::array<unsigned char, 8>;

struct TraceContext {
  TraceId trace{};
  SpanId span{};
  uint8_t flags = 0;
  bool sampled() const { return (flags & 1) != 0; }
  bool operator==(const TraceContext&) const = default;
};

inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kTracestate = "tracestate";
inline constexpr std::string_view kTraceBin = "grpc-trace-bin";

// Nothing: it is malformed, or an id is all zeros.
std::optional<TraceContext> parse_traceparent(std::string_view text);
std::string format_traceparent(const TraceContext& context);
// The decoded bytes.
std::optional<TraceContext> parse_trace_bin(std::string_view bytes);
std::string format_trace_bin(const TraceContext& context);

// Lower-case hexadecimal digits.
void append_hex(const unsigned char* bytes, size_t size, std::string* out);

}  // namespace drover::engine::trace
