// The status codes of calls: gRPC's numbers (grpc/status.h), as in a failed response line.
#pragma once

#include <cstdint>

namespace drover::lines {

inline constexpr uint16_t kStatusOk = 0, kStatusCancelled = 1, kStatusUnknown = 2, kStatusInvalidArgument = 3,
                          kStatusDeadlineExceeded = 4, kStatusNotFound = 5, kStatusAlreadyExists = 6,
                          kStatusPermissionDenied = 7, kStatusResourceExhausted = 8, kStatusFailedPrecondition = 9,
                          kStatusAborted = 10, kStatusOutOfRange = 11, kStatusUnimplemented = 12, kStatusInternal = 13,
                          kStatusUnavailable = 14, kStatusDataLoss = 15, kStatusUnauthenticated = 16;
inline constexpr uint16_t kLastStatus = kStatusUnauthenticated;

// How a call ended. A server sends the code alone; a reason is this process's own: what it found wrong.
struct Status {
  uint16_t code = kStatusOk;
  const char* reason = "";  // a static string
  bool ok() const { return code == kStatusOk; }
};

// "NOT_FOUND"; "status?" of a number that gRPC does not have.
constexpr const char* status_name(uint16_t code) {
  constexpr const char* kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return code <= kLastStatus ? kNames[code] : "status?";
}

}  // namespace drover::lines
