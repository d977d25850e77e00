// What the built-in workload imitates: statistics of the published HyperProtoBench, one Shape for each of its benches.
//
// Source of the figures: HyperProtoBench (Karandikar et al., "A Hardware Accelerator for Protocol Buffers", MICRO'21;
// Apache-2.0), its six schemas and the population published for bench0, 1, 3 and 4, measured with
// `drover gen --hyperprotobench DIR --statistics`. That population is plain: every field of every type is present,
// once, and each type is used once; a repeated field has one element or a few; one or two bytes fields hold most of a
// message's bytes. bench2's and bench5's populations are not to be had; what stands in their place is said below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drover::workload {

// One message of ten.
struct MessageShape {
  uint16_t types;            // message types, itself included, nested into each other
  uint16_t fields;           // of all these types
  uint16_t depth;            // levels of messages, itself included
  uint16_t strings, bytes;   // fields of these kinds
  uint32_t wire_size;        // bytes; 0: not published, comes out as it does
  uint16_t largest_percent;  // share of the largest string or bytes value in wire_size
};

struct RepeatedShape {
  uint8_t kind;  // schema::Kind
  uint16_t fields;
  uint16_t elements;  // in each
};

// How many varints were 1, 2, ... 10 bytes long.
using VarintLengths = uint16_t[10];

struct Shape {
  const char* name;           // "like0", after bench0
  bool published;             // the population too, not only the schema
  MessageShape messages[10];  // in the file's order; their names M1, M10, ... follow from the types
  uint16_t kinds[19];         // fields of each schema::Kind
  uint16_t number_gaps[16];   // [g-1]: how often a field number exceeds the one before it in its type by g
  std::span<const RepeatedShape> repeated;
  VarintLengths int32, int64, uint32, uint64;
  uint32_t string_deciles[11];  // lengths: shortest, tenth, ... longest
};

std::span<const Shape> hyperproto_shapes();

}  // namespace drover::workload
