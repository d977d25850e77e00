// What the serializer and its driver say to each other: commands, completions and the errors in them.
// docs/rtl-serializer.md has the ports; rtl/serializer/drover_ser_pkg.sv the numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace drover::rtl {

enum class SerializerError : uint8_t {
  none = 0,
  bad_record = 1,
  truncated = 2,
  bad_nesting = 3,
  out_of_bounds = 4,
  too_large = 5,
  null_element = 6,
  misaligned = 7,
  left_arena = 8,
  left_pieces = 9,
  left_depth = 10,
  left_object = 11,
  left_field = 12,
  left_work = 13,
  bad_command = 14,
  bus = 15,
};
// The message is sound; the software encoder has to send it.
inline bool left_to_software(SerializerError error) {
  return error >= SerializerError::left_arena && error <= SerializerError::left_work;
}
// "left_depth"; "?" for a number that is not one of these.
const char* serializer_error_name(uint8_t error);

struct SerializerCommand {
  bool walk = false;  // NIC-only: `records` is the address of an object, of the type `message`
  uint16_t message = 0;
  uint16_t cookie = 0;
  bool pushed = false;   // the records lie in the engine's memory
  uint64_t records = 0;  // bus addresses
  uint32_t record_bytes = 0;
  uint64_t payload = 0;
  uint32_t payload_bytes = 0;
  std::string header = {};                  // at most 64 bytes in front of the message
  std::optional<uint8_t> header_size = {};  // as the command says it, where it is not the header's
  uint8_t length_format = 0;  // of the 4 bytes at `length_at` in the header: 1 big-endian, 2 little-endian; 0 none
  uint8_t length_at = 0;
};

struct SerializerCompletion {
  uint16_t cookie;
  SerializerError error;
  uint32_t size;
  uint64_t cycle;  // when it came
};

}  // namespace drover::rtl
