// How a call ends, for every protocol that the engine speaks. The codes are the engine's own; their numbers are those
// of gRPC's status codes, so that gRPC needs no table. Another protocol maps them in its own room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace drover::engine {

enum class StatusCode : uint32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};
inline constexpr size_t kStatusCodes = 17;

// "OK", "CANCELLED", ...; "UNKNOWN" for a number that is not a code.
inline const char* status_code_name(StatusCode code) {
  constexpr const char* kNames[kStatusCodes] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  auto number = static_cast<size_t>(code);
  return kNames[number < kStatusCodes ? number : 2];
}

// The code of that number; kUnknown for any other number.
inline StatusCode status_code_of(uint32_t number) {
  return number < kStatusCodes ? static_cast<StatusCode>(number) : StatusCode::kUnknown;
}

struct Status {
  StatusCode code = StatusCode::kOk;
  std::string message;  // UTF-8, for people
  bool ok() const { return code == StatusCode::kOk; }
};

}  // namespace drover::engine
