// The status codes that the library itself gives a call: gRPC's numbers (grpc/status.h), as in a failed response line.
#pragma once

#include <cstdint>

namespace drover::lines {

inline constexpr uint16_t kStatusOk = 0, kStatusDeadlineExceeded = 4, kStatusResourceExhausted = 8,
                          kStatusUnimplemented = 12, kStatusInternal = 13, kStatusUnavailable = 14;

}  // namespace drover::lines
