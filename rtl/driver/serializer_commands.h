// What the serializer and its driver say to each other: commands and completions.
// rtl/serializer/serializer.toml defines their fields and codes, docs/rtl-serializer.md has the ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rtl/serializer/serializer_format.h"

namespace drover::rtl {

using serializer::LengthFormat;
using SerializerError = serializer::Error;

// The message is sound; the software encoder has to send it.
constexpr bool left_to_software(SerializerError error) {
  auto number = static_cast<uint32_t>(error);
  return number >= serializer::kFirstLeft && number <= serializer::kLastLeft;
}

struct SerializerCommand {
  bool walk = false;  // NIC-only: `records` is the address of an object, of the type `message`
  uint16_t message = 0;
  uint16_t cookie = 0;
  bool pushed = false;   // the records lie in the engine's memory
  uint64_t records = 0;  // bus addresses
  uint32_t record_bytes = 0;
  uint64_t payload = 0;
  uint32_t payload_bytes = 0;
  std::string header = {};                           // at most kMaxHeaderBytes in front of the message
  std::optional<uint8_t> header_size = {};           // as the command says it, where it is not the header's
  LengthFormat length_format = LengthFormat::kNone;  // of the 4 bytes at `length_at` in the header
  uint8_t length_at = 0;
};

struct SerializerCompletion {
  uint16_t cookie;
  SerializerError error;
  uint32_t size;
  uint64_t cycle;  // when it came
};

}  // namespace drover::rtl
