#include "rtl/driver/deserializer_records.h"

#include <iterator>

namespace drover::rtl {
namespace {

uint64_t bits(const uint32_t* words, unsigned at, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    unsigned bit = at + i;
    value |= uint64_t{words[bit / 32] >> (bit % 32) & 1} << i;
  }
  return value;
}

}  // namespace

DeserializerRecord parse_record(const uint32_t words[8]) {
  return {static_cast<RecordType>(bits(words, 0, 4)),  static_cast<uint8_t>(bits(words, 4, 4)),
          static_cast<uint8_t>(bits(words, 8, 8)),     static_cast<uint32_t>(bits(words, 32, 32)),
          static_cast<uint32_t>(bits(words, 104, 32)), bits(words, 64, 40),
          static_cast<uint32_t>(bits(words, 136, 28)), static_cast<uint32_t>(bits(words, 164, 28)),
          static_cast<uint32_t>(bits(words, 192, 12)), static_cast<uint32_t>(bits(words, 204, 28)),
          static_cast<uint32_t>(bits(words, 232, 12))};
}

const char* left_to_software_reason(uint8_t code) {
  static const char* const kNames[] = {"none",        "unknown_field", "split_run",   "merge",      "oneof_again",
                                       "map_entries", "closed_enum",   "object_size", "array_size", "has_bit",
                                       "no_run",      "packed_size",   "depth"};
  return code < std::size(kNames) ? kNames[code] : "?";
}

}  // namespace drover::rtl
