#include "engine/trace/span_writer.h"

#include <chrono>
#include <utility>

#include "engine/base/log.h"

namespace drover::engine::trace {
namespace {

log::Limit g_write_limit;

constexpr std::chrono::milliseconds kPeriod{200};
constexpr mode_t kMode = 0640;

// Paths are a client's to choose: what is no printable ASCII is a question mark.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= ' ' && c < 0x7f ? c : '?';
  }
  return out + '"';
}

std::string attribute(std::string_view key, std::string_view text) {
  return "{\"key\":" + quoted(key) + ",\"value\":{\"stringValue\":" + quoted(text) + "}}";
}

template <size_t kBytes>
std::string hex(const std::array<unsigned char, kBytes>& id) {
  std::string text = "\"";
  append_hex(id.data(), id.size(), &text);
  return text + '"';
}

// OpenTelemetry's semantic conventions for gRPC: which codes are a server's error.
bool is_error(StatusCode code) {
  switch (code) {
    case StatusCode::kUnknown:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kUnimplemented:
    case StatusCode::kInternal:
    case StatusCode::kUnavailable:
    case StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

void append_span(const Span& span, std::string* out) {
  constexpr int kServer = 2, kError = 2;  // SPAN_KIND_SERVER, STATUS_CODE_ERROR
  std::string_view name = span.path();
  if (name.starts_with('/')) name.remove_prefix(1);
  const size_t slash = name.rfind('/');
  *out += "{\"traceId\":" + hex(span.context.trace) + ",\"spanId\":" + hex(span.context.span);
  if (span.parent != SpanId{}) *out += ",\"parentSpanId\":" + hex(span.parent);
  *out += ",\"flags\":" + std::to_string(span.context.flags) + ",\"name\":" + quoted(name);
  *out += ",\"kind\":" + std::to_string(kServer);
  *out += ",\"startTimeUnixNano\":\"" + std::to_string(span.start_ns) + "\"";
  *out += ",\"endTimeUnixNano\":\"" + std::to_string(span.end_ns) + "\",\"attributes\":[";
  *out += attribute("rpc.system", "grpc");
  if (slash != std::string_view::npos) {
    *out +=
        "," + attribute("rpc.service", name.substr(0, slash)) + "," + attribute("rpc.method", name.substr(slash + 1));
  }
  *out += ",{\"key\":\"rpc.grpc.status_code\",\"value\":{\"intValue\":\"" +
          std::to_string(static_cast<uint32_t>(span.code)) + "\"}}],\"status\":{";
  if (is_error(span.code)) *out += "\"code\":" + std::to_string(kError);
  *out += "}}";
}

}  // namespace

std::string otlp_json(std::span<const Span> spans, const std::string& service) {
  std::string out = "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" + attribute("service.name", service) +
                    "]},\"scopeSpans\":[{\"scope\":{\"name\":\"droverd\"},\"spans\":[";
  for (size_t i = 0; i < spans.size(); ++i) {
    if (i != 0) out += ',';
    append_span(spans[i], &out);
  }
  return out + "]}]}]}";
}

SpanWriter::SpanWriter(std::string path, std::string service, std::vector<SpanRing*> rings)
    : service_(std::move(service)),
      rings_(std::move(rings)),
      file_(std::move(path), kMode),
      thread_("spans", kPeriod, [this] {
        while (write_some()) {
        }
      }) {
  thread_.start();
}

// A line of spans. False: there were none.
bool SpanWriter::write_some() {
  spans_.clear();
  for (SpanRing* ring : rings_) ring->pop(kSpansALine - spans_.size(), &spans_);
  if (spans_.empty()) return false;
  if (std::string wrong = file_.append(otlp_json(spans_, service_) + "\n"); !wrong.empty()) {
    log::error(g_write_limit, "spans not written", {{"why", wrong}});
  }
  return true;
}

}  // namespace drover::engine::trace
