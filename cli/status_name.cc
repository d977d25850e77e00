#include "cli/status_name.h"

#include <iterator>

namespace drover::cli {

std::string status_name(int64_t code) {
  static constexpr const char* kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const bool known = code >= 0 && code < static_cast<int64_t>(std::size(kNames));
  return known ? kNames[code] : "code " + std::to_string(code);
}

}  // namespace drover::cli
