// Any bytes as a compressed message. What is accepted must be what zlib makes of it in one go, and what zlib accepts
// must be accepted; whatever comes, no more than the limit is decompressed. The first byte: the container, and whether
// the message moves between two steps.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/compress/deflater.h"
#include "engine/compress/inflater.h"

namespace {

using drover::Piece;
using drover::engine::Compression;
using drover::engine::Deflater;
using drover::engine::Inflater;

constexpr size_t kMost = 300'000;

// The oracle: everything at once. Empty optional in `fine`: not a stream, or not all of it.
bool unpack(std::string_view message, Compression compression, std::string* out) {
  z_stream stream{};
  if (inflateInit2(&stream, drover::engine::window_bits(compression)) != Z_OK) std::abort();
  out->resize(kMost + 1);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(message.data()));
  stream.avail_in = static_cast<uInt>(message.size());
  stream.next_out = reinterpret_cast<Bytef*>(out->data());
  stream.avail_out = static_cast<uInt>(out->size());
  const int code = inflate(&stream, Z_FINISH);
  out->resize(stream.total_out);
  const bool fine = code == Z_STREAM_END && stream.avail_in == 0 && out->size() <= kMost;
  inflateEnd(&stream);
  return fine;
}

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Compression compression = (data[0] & 1) != 0 ? Compression::kGzip : Compression::kDeflate;
  const bool moves = (data[0] & 2) != 0;
  const std::string message(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string expected;
  const bool fine = unpack(message, compression, &expected);

  static Inflater inflater;  // used again and again, as the engine does
  require(inflater.begin(compression, message, kMost, nullptr));
  std::string copy;
  while (inflater.step() == Inflater::Result::kMore) {
    if (!moves) continue;
    copy = std::string(message);  // in other memory
    inflater.moved(copy.data());
  }
  require((inflater.result() == Inflater::Result::kDone) == fine);
  require(inflater.output().size() <= kMost + 1);
  if (fine) {
    require(inflater.output() == expected);
    static Deflater deflater;
    const Piece piece{expected.data(), expected.size()};
    require(deflater.begin(compression, 1, {&piece, 1}, piece.size, nullptr));
    while (deflater.step() == Deflater::Result::kMore) {
    }
    if (deflater.result() == Deflater::Result::kDone) {
      std::string again;
      require(unpack(deflater.output(), compression, &again) && again == expected);
    }
  }
  return 0;
}
