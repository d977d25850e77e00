// SpanWriter: writes the spans of all engine threads to a file, as lines of OTLP/JSON (opentelemetry-proto,
// ExportTraceServiceRequest): what the OpenTelemetry Collector's otlpjsonfile receiver reads. A thread of its own,
// which alone waits for the file (engine/base/writer_thread.h, engine/base/file_appender.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/base/file_appender.h"
#include "engine/base/writer_thread.h"
#include "engine/trace/span.h"

namespace drover::engine::trace {

// One line, without its end. `service`: of the resource.
std::string otlp_json(std::span<const Span> spans, const std::string& service);

class SpanWriter {
 public:
  // The rings outlive it.
  SpanWriter(std::string path, std::string service, std::vector<SpanRing*> rings);
  // Writes what is left at its end.
  SpanWriter(const SpanWriter&) = delete;
  SpanWriter& operator=(const SpanWriter&) = delete;

 private:
  static constexpr size_t kSpansALine = 256;

  bool write_some();

  const std::string service_;
  const std::vector<SpanRing*> rings_;
  FileAppender file_;
  std::vector<Span> spans_;
  WriterThread thread_;
};

}  // namespace drover::engine::trace
