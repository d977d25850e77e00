// Decoding compared with protobuf C++: the same inputs are accepted, with the same content. The first byte of
// the input chooses the message and how it is cut into pieces.
#include <google/protobuf/stubs/logging.h>

#include <cstdio>
#include <cstdlib>

#include "testing/deterministic.h"
#include "testing/every_schema.h"
#include "testing/test_object.h"

namespace drover {
namespace {

[[noreturn]] void report(const char* what, const DecodeResult& result) {
  std::fprintf(stderr, "decode_fuzz: %s (%s)\n", what, to_string(result).c_str());
  std::abort();
}

void run(uint8_t choice, std::string_view wire) {
  bool maps = choice % 3 != 0;
  const testing::TestSchema& schema = choice % 3 == 2 ? testing::implicit_schema() : testing::every_schema();
  const char* name = choice % 3 == 0 ? "t.Every" : choice % 3 == 1 ? "t.Maps" : "t3.Implicit";
  size_t cut = wire.empty() ? 0 : choice * 7919u % wire.size();
  std::string first(wire.substr(0, cut)), second(wire.substr(cut)), whole(wire);
  std::string_view pieces[] = {first, second};
  testing::TestObject object(schema.type(name)), in_pieces(schema.type(name));
  DecodeResult result = object.decode(whole, {.alias = (choice & 64) != 0});
  DecodeResult pieces_result = in_pieces.decode(pieces, {.alias = (choice & 32) != 0});
  if (result.ok() != pieces_result.ok()) report("pieces make a difference", pieces_result);
  testing::TestObject in_slices(schema.type(name));
  DecodeResult slices_result = in_slices.decode(
      whole, {.alias = (choice & 64) != 0, .pause = {[](void*) { return true; }}, .slice_bytes = choice / 4u});
  if (result.ok() != slices_result.ok()) report("slices make a difference", slices_result);
  auto peer = schema.peer(name);
  bool peer_ok = peer->ParsePartialFromString(whole);
  if (result.error == DecodeError::kBadTag && peer_ok) return;  // a tag over 32 bits, which protobuf C++ cuts
  if (result.ok() != peer_ok) report("protobuf C++ sees it differently", result);
  if (!peer_ok) return;
  std::string ours = object.encode();
  if (ours != in_pieces.encode()) report("pieces make a difference in the values", result);
  if (ours != in_slices.encode()) report("slices make a difference in the values", result);
  if (encoded_size(object.type(), object.get()) != ours.size()) report("encoded_size is wrong", result);
  if (maps) {
    auto again = schema.peer(name);
    if (!again->ParsePartialFromString(ours)) report("protobuf C++ refuses our bytes", result);
    ours = testing::deterministic(*again);
  }
  if (ours != testing::deterministic(*peer)) report("the bytes differ", result);
}

}  // namespace
}  // namespace drover

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 65536) return 0;
  drover::run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
