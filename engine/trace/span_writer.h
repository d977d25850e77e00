// SpanWriter: writes the spans of all engine threads to a file, as lines of OTLP/JSON (opentelemetry-proto,
// ExportTraceServiceRequest): what the OpenTelemetry Collector's otlpjsonfile receiver reads. A thread of its own,
// which alone waits for the file. The file is opened for each write, so that it may be moved away.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/trace/span.h"

namespace drover::engine::trace {

// One line, without its end. `service`: of the resource.
std::string otlp_json(std::span<const Span> spans, const std::string& service);

class SpanWriter {
 public:
  // The rings outlive it.
  SpanWriter(std::string path, std::string service, std::vector<SpanRing*> rings);
  // Writes what is left.
  ~SpanWriter();
  SpanWriter(const SpanWriter&) = delete;
  SpanWriter& operator=(const SpanWriter&) = delete;

 private:
  static constexpr size_t kSpansALine = 256;

  void run();
  bool write_some();
  void write_line(const std::string& line);

  const std::string path_;
  const std::string service_;
  const std::vector<SpanRing*> rings_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<Span> spans_;
  std::thread thread_;
};

}  // namespace drover::engine::trace
