// What the deserializer and its driver say to each other: commands, free memory and completion records.
// rtl/deserializer/deserializer.toml defines the records and their codes, docs/rtl.md has the ports.
#pragma once

#include <cstdint>

#include "rtl/deserializer/deserializer_format.h"

namespace drover::rtl {

using deserializer::kChunkBytes;
using deserializer::kRecordBytes;
using deserializer::RecordKind;
using DeserializerError = deserializer::Error;
using DeserializerRecord = deserializer::CompletionRecord;

// Codes of kError records that are not the codec's.
inline constexpr auto kBadAddress = static_cast<uint8_t>(DeserializerError::kBadAddress);
inline constexpr auto kPacketLength = static_cast<uint8_t>(DeserializerError::kPacketLength);
inline constexpr auto kUnknownType = static_cast<uint8_t>(DeserializerError::kUnknownType);
inline constexpr auto kReadRefused = static_cast<uint8_t>(DeserializerError::kReadRefused);

inline constexpr uint64_t kTlbPageBytes = uint64_t{2} << 20;

// Precedes the bytes of its packet.
struct DeserializerCommand {
  uint16_t type = 0;  // index of the message in the schema image
  uint32_t length = 0;
  uint32_t cookie = 0;  // comes back with the records
};

// Memory that the driver gives to the engine, in chunks of the region. A chunk by itself has a count of 1.
struct ChunkRun {
  uint32_t first = 0, count = 1;
};

// The name of a kSoftware record's code: "map_entries".
constexpr const char* left_to_software_reason(uint8_t code) {
  return deserializer::software_reason_name(static_cast<deserializer::SoftwareReason>(code));
}

}  // namespace drover::rtl
