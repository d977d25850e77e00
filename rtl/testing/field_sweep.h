// A message for each kind of field, label, length of its value and place in the stream's beats (wire_coverage.h), and
// the schema that they are of.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "codec/wire.h"
#include "rtl/testing/wire_coverage.h"

namespace drover::rtl {

// Each kind as .proto spells it; numbers are 20 x kind + label + 1.
inline constexpr const char* kTypes[] = {"",        "double",   "float",    "int64",  "uint64", "int32", "fixed64",
                                         "fixed32", "bool",     "string",   "group",  "Inner",  "bytes", "uint32",
                                         "E",       "sfixed32", "sfixed64", "sint32", "sint64"};
inline constexpr size_t kKinds = std::size(kTypes);
inline uint32_t number_of(size_t kind, size_t label) { return static_cast<uint32_t>(20 * kind + label + 1); }
inline bool label_exists(size_t kind, size_t label) {
  for (size_t length = 0; length < WireCoverage::kLengths; ++length) {
    if (WireCoverage::possible({kind - 1, label, length, WireCoverage::kAtFirst})) return true;
  }
  return false;
}

inline std::string every_field() {
  std::string text =
      "syntax = \"proto2\"; enum E { Z = 0; A = 1; B = 300; N = -1; } message Inner { optional bytes b = 1; }\nmessage "
      "All {\n";
  text += "optional bytes pad = 1;\n";
  for (size_t kind = 1; kind < kKinds; ++kind) {
    bool group = kind == static_cast<size_t>(schema::Kind::kGroup);
    auto declare = [&](const std::string& label, const std::string& type, size_t l) {
      std::string n = std::to_string(number_of(kind, l));
      std::string tail = l == WireCoverage::kPacked ? " [packed = true];\n" : ";\n";
      text +=
          label + type + (group ? " G" + n + " = " + n + " { optional bytes b = 1; }\n" : " f" + n + " = " + n + tail);
    };
    for (size_t l = 0; l < WireCoverage::kLabels; ++l) {
      if (!label_exists(kind, l)) continue;
      if (l == WireCoverage::kSingular) declare("optional ", kTypes[kind], l);
      if (l == WireCoverage::kRepeated || l == WireCoverage::kPacked) declare("repeated ", kTypes[kind], l);
      if (l == WireCoverage::kMapKey) declare("", "map<" + std::string(kTypes[kind]) + ", int32>", l);
      if (l == WireCoverage::kMapValue) declare("", "map<int32, " + std::string(kTypes[kind]) + ">", l);
      if (l == WireCoverage::kOneof) {
        text += "oneof o" + std::to_string(kind) + " { ";
        declare("", kTypes[kind], l);
        text += "}\n";
      }
    }
  }
  return text + "}\n";
}

inline std::string varint(uint64_t value) {
  char bytes[wire::kMaxVarint];
  return {bytes, wire::write_varint(bytes, value)};
}
inline std::string tag(uint32_t number, uint32_t type) { return varint(wire::make_tag(number, type)); }

// A varint of `size` bytes, for a value of that kind; nothing if there is none.
using VarintMaker = std::optional<std::string> (*)(size_t kind, size_t size);
// 1, in as many bytes as are asked for.
inline std::optional<std::string> overlong_varint(size_t, size_t size) {
  std::string one = "\1";
  while (one.size() < size) {
    one.back() = static_cast<char>(one.back() | 0x80);
    one += '\0';
  }
  return one;
}
// As encoders write it.
inline std::optional<std::string> shortest_varint(size_t kind, size_t size) {
  auto is = [&](schema::Kind k) { return kind == static_cast<size_t>(k); };
  std::string text = varint(size == 10 ? ~uint64_t{0} : uint64_t{1} << (7 * (size - 1)));
  if (is(schema::Kind::kBool) && size != 1) return {};
  if ((is(schema::Kind::kUint32) || is(schema::Kind::kSint32)) && size > 5) return {};
  if (is(schema::Kind::kInt32) && size > 5 && size != 10) return {};
  if (is(schema::Kind::kInt32) && size == 5) text = varint(uint64_t{1} << 28);
  if (is(schema::Kind::kEnum)) {
    if (size != 1 && size != 2 && size != 10) return {};
    if (size == 2) text = varint(300);
  }
  return text;
}

// A value of `size` bytes; nothing if the kind has none.
inline std::optional<std::string> value_of(size_t kind, bool packed, size_t size, VarintMaker make_varint) {
  uint32_t type = schema::kWireTypeOfKind[kind];
  if (type == wire::kLengthDelimited || type == wire::kStartGroup) {
    if (!schema::is_message_kind(static_cast<uint8_t>(kind))) return std::string(size, 's');
    if (size == 0) return "";
    for (size_t head : {2, 3, 4}) {
      if (size < head) break;
      std::string inner = tag(1, wire::kLengthDelimited) + varint(size - head) + std::string(size - head, 'i');
      if (inner.size() == size) return inner;
    }
    return {};
  }
  size_t each = type == wire::kFixed32 ? 4 : type == wire::kFixed64 ? 8 : 1;
  if (packed) return size % each == 0 ? std::optional(std::string(size, '\1')) : std::nullopt;
  if (type != wire::kVarint) return size == each ? std::optional(std::string(size, 'f')) : std::nullopt;
  return make_varint(kind, size);
}

// The field with what it takes around it, behind `lead` bytes of padding. `*at`: where its tag stands.
inline std::string message_of(size_t kind, size_t label, const std::string& value, size_t lead, size_t* at) {
  uint32_t type = label == WireCoverage::kPacked ? uint32_t{wire::kLengthDelimited} : schema::kWireTypeOfKind[kind];
  std::string body = (type == wire::kLengthDelimited ? varint(value.size()) : "") + value;
  std::string pad = tag(1, wire::kLengthDelimited) + varint(lead - 2) + std::string(lead - 2, 'p');
  uint32_t number = number_of(kind, label);
  if (label == WireCoverage::kMapKey || label == WireCoverage::kMapValue) {
    std::string key = label == WireCoverage::kMapKey ? "" : tag(1, wire::kVarint) + "\5";
    std::string field = tag(label == WireCoverage::kMapKey ? 1 : 2, type) + body;
    std::string rest = label == WireCoverage::kMapKey ? tag(2, wire::kVarint) + "\6" : "";
    std::string head = pad + tag(number, wire::kLengthDelimited) + varint(key.size() + field.size() + rest.size());
    *at = head.size() + key.size();
    return head + key + field + rest;
  }
  *at = pad.size();
  return pad + tag(number, type) + body + (type == wire::kStartGroup ? tag(number, wire::kEndGroup) : "");
}

// Lengths that are tried of each class.
inline const std::vector<size_t> kSizes[WireCoverage::kLengths] = {{0},
                                                                   {1},
                                                                   {2, 4, 5},
                                                                   {6, 8, 10},
                                                                   {11, 16, 24, 40, 56, 59, 63},
                                                                   {64},
                                                                   {65, 72, 127, 128, 1023},
                                                                   {1024, 2048, 4095},
                                                                   {4096, 9000}};

inline std::deque<std::string> field_sweep(VarintMaker make_varint) {
  std::deque<std::string> wires;
  for (size_t kind = 1; kind < kKinds; ++kind) {
    for (size_t label = 0; label < WireCoverage::kLabels; ++label) {
      for (size_t length = 0; length < WireCoverage::kLengths; ++length) {
        if (!WireCoverage::possible({kind - 1, label, length, WireCoverage::kAtFirst})) continue;
        for (size_t size : kSizes[length]) {
          std::optional<std::string> value = value_of(kind, label == WireCoverage::kPacked, size, make_varint);
          if (!value) continue;
          size_t at = 0;
          message_of(kind, label, *value, 64, &at);
          size_t with_64 = at % 64;
          // The tag at a beat's first byte, in its middle, and so that head or value go over its end.
          for (size_t from : {0, 20, 59, 60, 61, 62, 63}) {
            wires.push_back(message_of(kind, label, *value, 64 + (from + 64 - with_64) % 64, &at));
          }
        }
      }
    }
  }
  return wires;
}

}  // namespace drover::rtl
