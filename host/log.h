// The host library's log: one line an event, to stderr. DROVER_LOG=error|warning|info|debug sets how much (warning).
#pragma once

#include <atomic>
#include <cstdint>

namespace drover::host {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// Lets 20 lines through every ten seconds: for what the engine, or the application's load, can cause without end.
// Thread-safe. A static one for each place that logs so.
class LogLimit {
 public:
  bool allow();

 private:
  static constexpr uint32_t kBurst = 20;
  std::atomic<int64_t> window_start_s_{0};
  std::atomic<uint32_t> used_{0};
};

// The level that DROVER_LOG names, read once.
LogLevel log_level();
// Thread-safe; a line is written by one system call.
void log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace drover::host
