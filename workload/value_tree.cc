// Value trees to wire bytes, by the encoding guide (protobuf.dev/programming-guides/encoding).
#include "workload/value_tree.h"

namespace drover::workload {
namespace {

using schema::Kind;

constexpr uint32_t kVarint = 0, kFixed64 = 1, kDelimited = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5;

size_t scalar_size(uint8_t kind, uint64_t value) {
  switch (schema::kWireTypeOfKind[kind]) {
    case kFixed64:
      return 8;
    case kFixed32:
      return 4;
    default:
      return varint_size(wire_bits(kind, value));
  }
}

size_t delimited_size(size_t size) { return varint_size(size) + size; }

size_t field_size(const FieldValues& values) {
  const schema::FieldEntry& field = *values.field;
  size_t tag = varint_size(uint64_t{field.number} << 3), size = 0;
  bool group = field.kind == static_cast<uint8_t>(Kind::kGroup);
  for (const ValueNode& node : values.messages) {
    size += tag + (group ? wire_size(node) + tag : delimited_size(wire_size(node)));
  }
  for (const std::string& text : values.texts) size += tag + delimited_size(text.size());
  size_t payload = 0;
  for (uint64_t value : values.scalars) payload += scalar_size(field.kind, value);
  if (values.scalars.empty()) return size;
  return size + (values.packed ? tag + delimited_size(payload) : tag * values.scalars.size() + payload);
}

void append_field(const FieldValues& values, std::string* wire) {
  const schema::FieldEntry& field = *values.field;
  bool group = field.kind == static_cast<uint8_t>(Kind::kGroup);
  for (const ValueNode& node : values.messages) {
    append_tag(field.number, group ? kStartGroup : kDelimited, wire);
    if (!group) append_varint(wire_size(node), wire);
    append_wire(node, wire);
    if (group) append_tag(field.number, kEndGroup, wire);
  }
  for (const std::string& text : values.texts) {
    append_tag(field.number, kDelimited, wire);
    append_varint(text.size(), wire);
    wire->append(text);
  }
  if (values.scalars.empty()) return;
  if (values.packed) {
    std::string payload;
    for (uint64_t value : values.scalars) append_scalar(field.kind, value, &payload);
    append_tag(field.number, kDelimited, wire);
    append_varint(payload.size(), wire);
    wire->append(payload);
    return;
  }
  for (uint64_t value : values.scalars) {
    append_tag(field.number, schema::kWireTypeOfKind[field.kind], wire);
    append_scalar(field.kind, value, wire);
  }
}

}  // namespace

size_t varint_size(uint64_t value) {
  size_t size = 1;
  while ((value >>= 7) != 0) ++size;
  return size;
}

void append_varint(uint64_t value, std::string* wire) { append_long_varint(value, varint_size(value), wire); }

void append_long_varint(uint64_t value, size_t length, std::string* wire) {
  for (size_t i = 1; i < length; ++i, value >>= 7) *wire += static_cast<char>((value & 0x7f) | 0x80);
  *wire += static_cast<char>(value & 0x7f);
}

void append_tag(uint32_t number, uint32_t wire_type, std::string* wire) {
  append_varint(uint64_t{number} << 3 | wire_type, wire);
}

uint64_t wire_bits(uint8_t kind, uint64_t value) {
  bool zigzag = kind == static_cast<uint8_t>(Kind::kSint32) || kind == static_cast<uint8_t>(Kind::kSint64);
  return zigzag ? value << 1 ^ (0 - (value >> 63)) : value;
}

void append_scalar(uint8_t kind, uint64_t value, std::string* wire) {
  uint32_t wire_type = schema::kWireTypeOfKind[kind];
  if (wire_type == kVarint) return append_varint(wire_bits(kind, value), wire);
  for (int i = 0; i < (wire_type == kFixed64 ? 8 : 4); ++i) *wire += static_cast<char>(value >> (8 * i));
}

size_t wire_size(const ValueNode& node) {
  size_t size = node.unknown.size();
  for (const FieldValues& values : node.fields) size += field_size(values);
  return size;
}

void append_wire(const ValueNode& node, std::string* wire) {
  for (const FieldValues& values : node.fields) append_field(values, wire);
  wire->append(node.unknown);
}

}  // namespace drover::workload
