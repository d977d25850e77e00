#include "engine/grpc/call_trace.h"

#include <optional>
#include <string>

namespace drover::engine {
namespace {

// The value of that name; null: there is no value, or more than one.
const std::string* only(std::span<const Header> metadata, std::string_view name) {
  const std::string* found = nullptr;
  for (const auto& [key, value] : metadata) {
    if (key != name) continue;
    if (found != nullptr) return nullptr;
    found = &value;
  }
  return found;
}

// What the client says: traceparent, or without it grpc-trace-bin.
std::optional<trace::TraceContext> incoming_of(std::span<const Header> metadata) {
  if (const std::string* text = only(metadata, trace::kTraceparent)) {
    if (auto context = trace::parse_traceparent(*text)) return context;
  }
  if (const std::string* bytes = only(metadata, trace::kTraceBin)) return trace::parse_trace_bin(*bytes);
  return std::nullopt;
}

}  // namespace

std::unique_ptr<CallTrace> begin_trace(trace::Tracer& tracer, const Call& call) {
  const std::optional<trace::TraceContext> incoming = incoming_of(call.metadata);
  std::unique_ptr<trace::Span> span = tracer.begin(incoming ? &*incoming : nullptr, call.path, call.start_ns);
  if (span == nullptr) return nullptr;
  auto made = std::make_unique<CallTrace>();
  bool state_counts = false, has_binary = false;
  if (const std::string* text = only(call.metadata, trace::kTraceparent)) {
    // The vendors' part belongs to a traceparent that counts (W3C Trace Context, section 3.3.1).
    state_counts = incoming && trace::parse_traceparent(*text).has_value();
  }
  made->metadata.reserve(call.metadata.size() + 1);
  for (const Header& header : call.metadata) {
    const std::string& name = header.first;
    has_binary |= name == trace::kTraceBin;
    const bool ours = name == trace::kTraceparent || name == trace::kTraceBin;
    if (ours || (name == trace::kTracestate && !state_counts)) continue;
    made->metadata.push_back(header);
  }
  made->metadata.emplace_back(trace::kTraceparent, trace::format_traceparent(span->context));
  if (has_binary) made->metadata.emplace_back(trace::kTraceBin, trace::format_trace_bin(span->context));
  made->span = std::move(span);
  made->bytes = sizeof *made + sizeof *made->span + made->metadata.capacity() * sizeof(Header);
  for (const auto& [name, value] : made->metadata) made->bytes += name.capacity() + value.capacity();
  return made;
}

}  // namespace drover::engine
