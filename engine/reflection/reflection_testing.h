// For the tests of reflection: requests and responses by field, without generated classes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/reflection/reflection_answer.h"
#include "engine/reflection/wire_fields.h"

namespace drover::engine {

inline std::string name_request(uint32_t field, std::string_view name) {
  std::string request;
  append_bytes(field, name, &request);
  return request;
}
inline std::string extension_request(std::string_view message, int32_t number) {
  std::string extension, request;
  append_bytes(1, message, &extension);
  append_varint(2 << 3, &extension);
  append_varint(static_cast<uint64_t>(int64_t{number}), &extension);
  append_bytes(5, extension, &request);
  return request;
}

// A ServerReflectionResponse, taken apart.
struct Reflected {
  std::string host, request;
  uint32_t kind = 0;               // the field number of what it answers
  std::vector<std::string> files;  // names
  std::vector<std::string> bytes;  // of the files
  std::vector<std::string> services;
  std::string message;
  std::vector<int32_t> numbers;
  uint64_t code = 0;
  std::string error;

  explicit Reflected(std::string_view response) {
    WireFields fields(response);
    while (fields.next()) {
      if (fields.number == 1) host = fields.bytes;
      if (fields.number == 2) request = fields.bytes;
      if (fields.number < 4) continue;
      kind = fields.number;
      WireFields inner(fields.bytes);
      while (inner.next()) take(inner);
      broken |= inner.broken();
    }
    broken |= fields.broken();
  }
  bool broken = false;

 private:
  static std::string name_in(std::string_view bytes) {
    WireFields fields(bytes);
    while (fields.next()) {
      if (fields.is_bytes(1)) return std::string(fields.bytes);
    }
    return {};
  }
  void take(const WireFields& field) {
    if (kind == 4) {
      bytes.emplace_back(field.bytes);
      files.push_back(name_in(field.bytes));
    }
    if (kind == 5 && field.number == 1) message = field.bytes;
    if (kind == 5 && field.number == 2) {
      for (std::string_view rest = field.bytes; !rest.empty();) {
        uint64_t value = 0;
        int shift = 0;
        while (static_cast<uint8_t>(rest[0]) >= 0x80) {
          value |= static_cast<uint64_t>(rest[0] & 0x7f) << shift;
          shift += 7;
          rest.remove_prefix(1);
        }
        value |= static_cast<uint64_t>(rest[0]) << shift;
        rest.remove_prefix(1);
        numbers.push_back(static_cast<int32_t>(value));
      }
    }
    if (kind == 6) services.push_back(name_in(field.bytes));
    if (kind == 7 && field.number == 1) code = field.value;
    if (kind == 7 && field.number == 2) error = field.bytes;
  }
};

}  // namespace drover::engine
