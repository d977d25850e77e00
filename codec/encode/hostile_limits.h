// What encoding an object may cost that lies in memory which another process writes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "codec/encode/encode_types.h"

namespace drover {

// The widest that wire bytes get: an int32 of 4 bytes takes 10, and its tag one to five.
inline constexpr uint64_t kWirePerMemory = 4;
// Oneofs share memory, so an object may have more fields than bytes; this bounds the time for one object.
inline constexpr uint64_t kWorkPerMemory = 4, kLeastWork = 1 << 20, kMostWork = 128 << 20;

// Limits on the output and the work for an object in `memory` bytes; a longer encoding repeats the same objects.
inline EncodeOptions hostile_limits(uint64_t memory, size_t max_bytes) {
  EncodeOptions options;
  options.max_bytes = std::min<uint64_t>(max_bytes, kWirePerMemory * memory);
  options.work_allowance = std::clamp(kWorkPerMemory * memory, kLeastWork, kMostWork);
  return options;
}

}  // namespace drover
