// Fuzz target: any text as a filter and as names to redact, then as a path and a name of metadata. Seeds:
// tests/corpus/binary_log_filter_fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/binary_log/filter.h"
#include "engine/binary_log/redaction.h"

using namespace drover::engine::binary_log;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t split = text.find('\n');
  const std::string_view first = text.substr(0, split);
  const std::string_view second = split == std::string_view::npos ? std::string_view() : text.substr(split + 1);
  Filter filter;
  if (Filter::parse(first, &filter).empty()) {
    if (filter.empty() != first.empty() && first.find('-') == std::string_view::npos) std::abort();
    filter.find(second);
  }
  Redaction redaction;
  if (Redaction::parse(first, &redaction).empty()) redaction.of(second);
  return 0;
}
