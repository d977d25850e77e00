// The binary log (engine/binary_log) as the configuration wants it: its rules, its writer, and a logger for each engine
// thread.
#pragma once

#include <memory>
#include <string>

#include "engine/base/config.h"
#include "engine/base/metrics.h"
#include "engine/binary_log/call_logger.h"

namespace drover::engine {

// Whether any call is logged: a file and a filter are given.
inline bool has_binary_log(const Config& config) {
  return !config.binary_log_file.empty() && !config.binary_log_filter.empty();
}

// Empty, or what is wrong with binary_log.filter or binary_log.redact, whose name it begins with.
std::string parse_binary_log(const Config& config, binary_log::Rules* rules);

class BinaryLog {
 public:
  // Of a configuration that parse_binary_log takes. Before the sandbox: reads the log that is there. `metrics` outlives
  // it.
  BinaryLog(const Config& config, ThreadMetrics& metrics);

  // Of the engine thread of that index, before start(); `metrics` is the thread's. Nothing may be logged by it once
  // this is gone.
  std::unique_ptr<binary_log::CallLogger> make_logger(uint32_t thread, ThreadMetrics& metrics);
  // Inside the sandbox.
  void start() { writer_.start(); }

 private:
  const Config& config_;
  const uint64_t first_id_;
  binary_log::Rules rules_;
  binary_log::LogWriter writer_;
};

}  // namespace drover::engine
