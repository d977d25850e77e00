// Fuzzes the HPACK decoder against nghttp2's: the same blocks give the same fields, or both refuse. Input: blocks, each
// behind a byte with its size. A block that one of them refuses ends the connection.
#include <cstdlib>

#include "engine/http2/hpack_testing.h"

using namespace drover::engine::http2;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  HpackDecoder ours;
  Inflater theirs;
  while (size > 0) {
    size_t n = std::min<size_t>(data[0], size - 1);
    std::string_view block(reinterpret_cast<const char*>(data + 1), n);
    data += n + 1;
    size -= n + 1;
    std::optional<FieldPairs> mine = decode_fields(ours, block);
    std::optional<FieldPairs> expected = theirs.decode(block);
    if (mine != expected) abort();
    if (!mine) break;
  }
  return 0;
}
