// Fuzz target: any bytes as traceparent and as grpc-trace-bin. What is read is written as something that reads the
// same; what is written of a text of version 00 is the text. Seeds: tests/corpus/trace_context_fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/trace/trace_context.h"

using namespace drover::engine::trace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto context = parse_traceparent(text)) {
    const std::string written = format_traceparent(*context);
    if (parse_traceparent(written) != context) std::abort();
    if (text.starts_with("00") && written != text) std::abort();
  }
  if (const auto context = parse_trace_bin(text)) {
    if (format_trace_bin(*context) != text) std::abort();
  }
  return 0;
}
