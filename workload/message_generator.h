// Seeded messages of any type: as wire bytes, as an object, or as a value tree that can still be changed.
//
// The same type, seed and options give the same bytes on every machine. Unless `odd_permille` asks for more, the bytes
// are what protobuf C++ and Drover write: fields ascend by number, varints are shortest, required fields are there,
// fields without presence are not zero, maps have each key once, closed enums known values. Maps aside, decoding and
// encoding gives the same bytes back; maps keep the order that they were written in. A message whose required
// sub-messages alone pass max_size is left incomplete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "codec/decode/decode.h"
#include "message/message.h"
#include "object/arena.h"
#include "schema/message_type.h"
#include "workload/random.h"
#include "workload/value_tree.h"

namespace drover::workload {

struct MessageOptions {
  // How often an optional field is there (or a oneof set), of a thousand.
  uint32_t presence_permille = 750;
  // Weights of counts 0, 1, 2-3, 4-7, 8-15, ... of repeated fields and maps.
  uint32_t repeated_counts[8] = {10, 40, 30, 15, 5, 0, 0, 0};
  // Weights of lengths 0, 1, 2-3, 4-7, ... of strings and bytes; the default has the shape of HyperProtoBench's
  // strings.
  uint32_t string_lengths[21] = {2, 2, 4, 6, 25, 25, 8, 10, 10, 8, 2};
  // Weights of varints of 1 to 10 bytes; the default is what HyperProtoBench has, and some of one byte.
  uint32_t varint_lengths[10] = {20, 35, 8, 5, 6, 2, 6, 13, 10, 10};
  // How many levels of messages there may be, the outermost included. Required messages alone go deeper.
  uint32_t max_levels = 8;
  // Wire bytes to reach, within a few, where the type has a string, bytes or repeated field; 0: as it comes.
  size_t target_size = 0;
  // Optional fields are left out and strings cut once the message has so many bytes.
  size_t max_size = size_t{1} << 20;
  // Of a thousand messages (at every level), how many carry fields that their type does not know.
  uint32_t unknown_permille = 0;
  // strings with characters of more than one byte
  bool utf8 = false;
  // Of a thousand fields, how many are written in a form that is legal but that no encoder would choose: packed where
  // unpacked is declared and the reverse, split into several runs, varints with superfluous bytes, a singular field
  // twice, fields out of order.
  uint32_t odd_permille = 0;
};

ValueNode generate_message(const schema::MessageType& type, Random random, const MessageOptions& options = {});

// Appends to *wire what generate_message makes, odd forms included.
void generate_wire(const schema::MessageType& type, uint64_t seed, const MessageOptions& options, std::string* wire);
inline std::string generate_wire(const schema::MessageType& type, uint64_t seed, const MessageOptions& options = {}) {
  std::string wire;
  generate_wire(type, seed, options, &wire);
  return wire;
}

// Fills an empty object; it copies what it keeps into `arena`. Fails only if the arena has no more memory, or the
// message nests deeper than the codec's limit.
DecodeResult fill_object(const schema::MessageType& type, uint64_t seed, const MessageOptions& options, Message* object,
                         Arena& arena);

}  // namespace drover::workload
