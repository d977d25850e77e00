// Whether the codec and protobuf C++ 3.21 say the same of some bytes; for the differential fuzzers and tests.
//
// The same bytes are accepted or refused by both, and what is accepted is written back the same. These are all the
// deliberate differences; compare() allows for each of them and for nothing else:
//
//  1. A tag of more than 32 bits (its fifth byte above 15). We refuse it (bad_tag); 3.21 cuts it to 32 bits. A tag that
//     means two things is better refused; later protobuf releases refuse it as well.
//  2. A map's order. We write entries in the order they came, protobuf C++ in any: bytes are compared after protobuf
//  has
//     read ours and written both in its deterministic order.
//  3. Closed enums in *dynamic* messages (generated ones agree with us). Where a varint above 32 bits names no value,
//     protobuf's generated code and we keep it whole among the unknown fields, its dynamic messages cut it to 32 bits.
//     Schemas with closed enums are compared by acceptance alone when the peer is dynamic.
//  4. Maps in dynamic messages: entries of one key are kept apart until somebody looks at the map, and unknown fields
//     inside entries are kept. Compared as 2., after both were read into maps: by acceptance alone when damaged.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/decode/decode.h"
#include "workload/workload_testing.h"

namespace drover::workload::testing {

enum class Compare { kBytes, kBytesBehindMaps, kAcceptance };

inline std::string deterministic(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// The codec's ways to read the same bytes: at once, in pieces, copying and aliasing.
struct Pieces {
  std::vector<size_t> cuts;  // ascending places in the bytes; more than there are bytes is taken modulo
  bool alias = false;
};

// Empty if all is as it has to be; otherwise what differs. `peer` is an empty message of the same type.
inline std::string compare(const schema::MessageType& type, std::string_view wire, Compare how, const Pieces& pieces,
                           google::protobuf::Message* peer) {
  std::string whole(wire);
  Object object(type), other(type);
  DecodeResult result = object.decode(whole);
  // Each piece in memory of its own and of its own size, so that a sanitizer sees what is read beside it.
  std::vector<std::string> copies;
  size_t begin = 0;
  for (size_t cut : pieces.cuts) {
    cut = whole.empty() ? 0 : cut % (whole.size() + 1);
    if (cut < begin) continue;
    copies.push_back(whole.substr(begin, cut - begin));
    begin = cut;
  }
  copies.push_back(whole.substr(begin));
  std::vector<std::vector<char>> memory;
  std::vector<std::string_view> views;
  for (const std::string& copy : copies) memory.emplace_back(copy.begin(), copy.end());
  for (const std::vector<char>& bytes : memory) views.emplace_back(bytes.data(), bytes.size());
  DecodeResult other_result = other.decode(views, {.alias = pieces.alias});
  if (result.ok() != other_result.ok()) {
    return "pieces make a difference: " + to_string(result) + " at once, " + to_string(other_result) + " in pieces";
  }
  bool peer_ok = peer->ParsePartialFromString(whole);
  if (result.error == DecodeError::bad_tag && peer_ok) return "";  // difference 1
  if (result.ok() != peer_ok)
    return std::string("protobuf C++ ") + (peer_ok ? "accepts" : "refuses") + ", we say " + to_string(result);
  if (!peer_ok) return "";
  std::string ours = object.encode();
  if (ours != other.encode()) return "pieces make a difference in the values";
  if (encoded_size(type, object.get()) != ours.size()) return "encoded_size is wrong";
  if (how == Compare::kAcceptance) return "";
  if (how == Compare::kBytesBehindMaps) {  // difference 2
    std::unique_ptr<google::protobuf::Message> again(peer->New());
    if (!again->ParsePartialFromString(ours)) return "protobuf C++ refuses what we wrote";
    ours = deterministic(*again);
  }
  return ours == deterministic(*peer) ? "" : "the bytes differ";
}

inline std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

}  // namespace drover::workload::testing
