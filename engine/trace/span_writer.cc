#include "engine/trace/span_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/base/log.h"

namespace drover::engine::trace {
namespace {

log::Limit g_write_limit;

constexpr std::chrono::milliseconds kPeriod{200};

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
    : path_(std::move(path)), service_(std::move(service)), rings_(std::move(rings)), thread_([this] {
        pthread_setname_np(pthread_self(), "spans");
        run();
      }) {}

SpanWriter::~SpanWriter() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SpanWriter::run() {
  for (bool last = false; !last;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      last = wake_.wait_for(lock, kPeriod, [this] { return stopping_; });
    }
    while (write_some()) {
    }
  }
}

// A line of spans. False: there were none.
bool SpanWriter::write_some() {
  spans_.clear();
  for (SpanRing* ring : rings_) ring->pop(kSpansALine - spans_.size(), &spans_);
  if (spans_.empty()) return false;
  write_line(otlp_json(spans_, service_) + "\n");
  return true;
}

void SpanWriter::write_line(const std::string& line) {
  const int fd = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  size_t done = 0;
  while (fd >= 0 && done < line.size()) {
    const ssize_t n = ::write(fd, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  if (done < line.size()) {
    log::error(g_write_limit, "spans not written", {{"file", path_}, {"why", std::strerror(errno)}});
  }
  if (fd >= 0) ::close(fd);
}

}  // namespace drover::engine::trace
