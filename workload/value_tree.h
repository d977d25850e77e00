// A message as plain values, before it becomes wire bytes: what the generators fill, measure and trim, and what the
// fuzzers start from. Kept apart from object and codec on purpose: the bytes do not come from what they test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schema/message_type.h"

namespace drover::workload {

struct ValueNode;

// The values of one field: those of its kind's vector, one for a singular field.
struct FieldValues {
  const schema::FieldEntry* field = nullptr;
  bool packed = false;              // repeated scalars only
  std::vector<uint64_t> scalars;    // signed ones sign-extended to 64 bits; float and double as their bits
  std::vector<std::string> texts;   // string and bytes
  std::vector<ValueNode> messages;  // messages and groups; entries of a map
};

struct ValueNode {
  schema::MessageType type;
  std::vector<FieldValues> fields;  // written in this order
  std::string unknown;              // wire bytes, written behind the fields
};

// The bytes that append_wire appends.
size_t wire_size(const ValueNode& node);
void append_wire(const ValueNode& node, std::string* wire);
inline std::string to_wire(const ValueNode& node) {
  std::string wire;
  append_wire(node, &wire);
  return wire;
}

// ---- the wire format's primitives, for these writers and for tests that want odd ones
size_t varint_size(uint64_t value);
void append_varint(uint64_t value, std::string* wire);
// In exactly `length` bytes (1 to 10), with superfluous continuation bytes if need be.
void append_long_varint(uint64_t value, size_t length, std::string* wire);
void append_tag(uint32_t number, uint32_t wire_type, std::string* wire);
// The bits that a scalar of this kind has on the wire (zigzag for sint32 and sint64).
uint64_t wire_bits(uint8_t kind, uint64_t value);
// One scalar without its tag.
void append_scalar(uint8_t kind, uint64_t value, std::string* wire);

}  // namespace drover::workload
