// The host library's log: one line an event, to stderr. DROVER_LOG=error|warning|info|debug sets how much (warning).
#pragma once

namespace drover::host {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// The level that DROVER_LOG names, read once.
LogLevel log_level();
// Thread-safe; a line is written by one system call.
void log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace drover::host
