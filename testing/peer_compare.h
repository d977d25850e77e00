// Whether the codec and protobuf C++ 3.21 say the same of some bytes; for the differential fuzzers and tests.
//
// The same bytes are accepted or refused by both, and what is accepted is written back the same. These are all the
// deliberate differences; compare() allows for each of them and for nothing else:
//
//  1. A tag of more than 32 bits (its fifth byte above 15). We refuse it (bad_tag); 3.21 cuts it to 32 bits. A tag that
//     means two things is better refused; later protobuf releases refuse it as well.
//  2. A map's order. We write entries in the order they came, protobuf C++ in any: bytes are compared after protobuf
//     has read ours and written both in its deterministic order.
//  3. Closed enums in *dynamic* messages (generated ones agree with us). Where a varint above 32 bits names no value,
//     protobuf's generated code and we keep it whole among the unknown fields, its dynamic messages cut it to 32 bits.
//     Schemas with closed enums are compared by acceptance alone when the peer is dynamic.
//  4. Maps in dynamic messages: entries of one key are kept apart until the map is read, and unknown fields
//     inside entries are kept. Compared as 2., after both were read into maps: by acceptance alone when damaged.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/message_type.h"

namespace drover::testing {

enum class Compare { kBytes, kBytesBehindMaps, kAcceptance };

// The codec's ways to read the same bytes: at once, in pieces, copying and aliasing.
struct Pieces {
  std::vector<size_t> cuts;  // ascending places in the bytes; more than there are bytes is taken modulo
  bool alias = false;
};

// Empty if all is as it has to be; otherwise what differs. `peer` is an empty message of the same type.
std::string compare(const schema::MessageType& type, std::string_view wire, Compare how, const Pieces& pieces,
                    google::protobuf::Message* peer);

}  // namespace drover::testing
