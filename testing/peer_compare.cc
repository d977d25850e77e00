#include "testing/peer_compare.h"

#include <memory>

#include "testing/deterministic.h"
#include "testing/test_object.h"

namespace drover::testing {

std::string compare(const schema::MessageType& type, std::string_view wire, Compare how, const Pieces& pieces,
                    google::protobuf::Message* peer) {
  std::string whole(wire);
  TestObject object(type), other(type);
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
  if (result.error == DecodeError::kBadTag && peer_ok) return "";  // difference 1
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

}  // namespace drover::testing
