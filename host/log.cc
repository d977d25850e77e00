#include "host/log.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace drover::host {
namespace {

LogLevel level_from_environment() {
  const char* text = std::getenv("DROVER_LOG");
  if (text == nullptr || *text == '\0') return LogLevel::kWarning;
  if (std::strcmp(text, "error") == 0) return LogLevel::kError;
  if (std::strcmp(text, "warning") == 0) return LogLevel::kWarning;
  if (std::strcmp(text, "info") == 0) return LogLevel::kInfo;
  if (std::strcmp(text, "debug") == 0) return LogLevel::kDebug;
  std::fprintf(stderr, "drover host: DROVER_LOG: \"%s\" is not one of error, warning, info, debug\n", text);
  return LogLevel::kWarning;
}

void log_line(const char* prefix, const char* format, va_list args) {
  char line[1024];
  int size = std::snprintf(line, sizeof line, "%s", prefix);
  size += std::vsnprintf(line + size, sizeof line - static_cast<size_t>(size) - 1, format, args);
  size_t length = static_cast<size_t>(size) < sizeof line - 2 ? static_cast<size_t>(size) : sizeof line - 2;
  line[length++] = '\n';
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, length);
}

}  // namespace

bool LogLimit::allow() {
  constexpr int64_t kWindowS = 10;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t start = window_start_s_.load(std::memory_order_relaxed);
  if (now.tv_sec - start >= kWindowS && window_start_s_.compare_exchange_strong(start, now.tv_sec)) used_ = 0;
  return used_.fetch_add(1, std::memory_order_relaxed) < kBurst;
}

LogLevel log_level() {
  static const LogLevel level = level_from_environment();
  return level;
}

void log(LogLevel level, const char* format, ...) {
  if (level > log_level()) return;
  static constexpr const char* kPrefixes[] = {
      "drover host: error: ", "drover host: warning: ", "drover host: ", "drover host: debug: "};
  va_list args;
  va_start(args, format);
  log_line(kPrefixes[static_cast<int>(level)], format, args);
  va_end(args);
}

}  // namespace drover::host

extern "C" void gpr_log(const char* file, int line, gpr_log_severity severity, const char* format, ...) {
  using drover::host::LogLevel;
  static const char* grpc_verbosity = std::getenv("GRPC_VERBOSITY");
  LogLevel level = severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kError
                   : severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                       : LogLevel::kDebug;
  bool asked = grpc_verbosity != nullptr && (std::strcmp(grpc_verbosity, "DEBUG") == 0 ||
                                             (std::strcmp(grpc_verbosity, "INFO") == 0 && level != LogLevel::kDebug));
  if (!asked && level > drover::host::log_level()) return;
  char prefix[256];
  std::snprintf(prefix, sizeof prefix, "%s:%d: ", file, line);
  va_list args;
  va_start(args, format);
  drover::host::log_line(prefix, format, args);
  va_end(args);
}

extern "C" void gpr_assertion_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, what);
  std::abort();
}

extern "C" gpr_timespec gpr_now(gpr_clock_type clock) {
  timespec now{};
  clock_gettime(clock == GPR_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
  return gpr_timespec{now.tv_sec, static_cast<int32_t>(now.tv_nsec), clock};
}
