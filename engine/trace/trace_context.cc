#include "engine/trace/trace_context.h"

#include <algorithm>
#include <cstring>

namespace drover::engine::trace {
namespace {

constexpr size_t kSize = 55;  // "00-" 32 "-" 16 "-" 2

// Lower case alone (W3C Trace Context, section 3.2.2).
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <size_t kBytes>
bool read_hex(std::string_view text, std::array<unsigned char, kBytes>* out) {
  for (size_t i = 0; i < kBytes; ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    (*out)[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return true;
}

template <size_t kBytes>
bool is_zero(const std::array<unsigned char, kBytes>& id) {
  return std::all_of(id.begin(), id.end(), [](unsigned char byte) { return byte == 0; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  TraceContext context;
  std::array<unsigned char, 1> version, flags;
  if (text.size() < kSize || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  if (!read_hex(text, &version) || !read_hex(text.substr(3), &context.trace) ||
      !read_hex(text.substr(36), &context.span) || !read_hex(text.substr(53), &flags)) {
    return std::nullopt;
  }
  // A later version may have more, behind another dash.
  const bool longer = text.size() > kSize;
  if (version[0] == 0xff || (longer && (version[0] == 0 || text[kSize] != '-'))) return std::nullopt;
  if (is_zero(context.trace) || is_zero(context.span)) return std::nullopt;
  context.flags = flags[0];
  return context;
}

void append_hex(const unsigned char* bytes, size_t size, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t i = 0; i < size; ++i) {
    *out += kDigits[bytes[i] >> 4];
    *out += kDigits[bytes[i] & 15];
  }
}

std::string format_traceparent(const TraceContext& context) {
  std::string text = "00-";
  append_hex(context.trace.data(), context.trace.size(), &text);
  text += '-';
  append_hex(context.span.data(), context.span.size(), &text);
  text += '-';
  append_hex(&context.flags, 1, &text);
  return text;
}

// Version 0, then fields in order, each behind its number: 0 the trace, 1 the span, 2 the options.
std::optional<TraceContext> parse_trace_bin(std::string_view bytes) {
  TraceContext context;
  if (bytes.size() != 29 || bytes[0] != 0 || bytes[1] != 0 || bytes[18] != 1 || bytes[27] != 2) return std::nullopt;
  std::memcpy(context.trace.data(), bytes.data() + 2, context.trace.size());
  std::memcpy(context.span.data(), bytes.data() + 19, context.span.size());
  context.flags = static_cast<uint8_t>(bytes[28]);
  if (is_zero(context.trace) || is_zero(context.span)) return std::nullopt;
  return context;
}

std::string format_trace_bin(const TraceContext& context) {
  std::string bytes(2, '\0');
  bytes.append(reinterpret_cast<const char*>(context.trace.data()), context.trace.size());
  bytes += '\1';
  bytes.append(reinterpret_cast<const char*>(context.span.data()), context.span.size());
  bytes += '\2';
  bytes += static_cast<char>(context.flags);
  return bytes;
}

}  // namespace drover::engine::trace
