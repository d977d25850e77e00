// Decoding through a scratchpad beside decoding in place: the same error, or the same object, whose bytes are the same
// when it is read out of the host's memory by DMA. The first byte of the input chooses the message, how it is cut into
// pieces, and how much memory there is; a message that does not fit may end in out_of_memory.
#include "codec/freestanding/delayed_dma.h"
#include "codec/freestanding/fetched_memory.h"
#include "codec/freestanding/scratchpad_memory.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/test_object.h"

namespace drover {
namespace {

constexpr uint64_t kBase = 0x7f0000000000;

[[noreturn]] void report(const char* what, const std::string& got, const std::string& expected) {
  std::fprintf(stderr, "scratchpad_fuzz: %s: %s instead of %s\n", what, got.c_str(), expected.c_str());
  std::abort();
}

void run(uint8_t choice, std::string_view wire) {
  const testing::TestSchema& schema = choice % 3 == 2 ? testing::implicit_schema() : testing::every_schema();
  const char* name = choice % 3 == 0 ? "t.Every" : choice % 3 == 1 ? "t.Maps" : "t3.Implicit";
  const schema::MessageType type = schema.type(name);
  size_t cut = wire.empty() ? 0 : choice * 7919u % wire.size();
  // Memory of their own, so that AddressSanitizer sees where each ends.
  std::string first(wire.substr(0, cut)), second(wire.substr(cut));
  std::string_view pieces[] = {first, second};
  size_t window_words = choice < 128 ? 8192 : 256, host_words = choice % 2 == 0 ? 16384 : 300;
  std::unique_ptr<uint64_t[]> window(new uint64_t[window_words]), host(new uint64_t[host_words]);
  DelayedDma dma(kBase, reinterpret_cast<char*>(host.get()), host_words * 8, std::abort);
  ScratchpadMemory<DelayedDma> memory(dma, window.get(), window_words * 8, 40);
  HostArea area{kBase, host_words * 8};
  DecodeResult result = decode_to_host(*type.image, type.index, pieces, 2, area, memory);
  testing::TestObject in_place(type);
  DecodeResult expected = in_place.decode(std::span<const std::string_view>(pieces));
  if (result.error == DecodeError::kOutOfMemory) return;
  if (to_string(result) != to_string(expected)) report("decode", to_string(result), to_string(expected));
  if (!result.ok()) return;
  std::string bytes = in_place.encode();
  ObjectCache<DelayedDma, 32, 8> cache(dma);
  std::vector<char> buffer(bytes.size() + FixedOutput::kSpare);
  FixedOutput out;
  out.buffer = buffer.data();
  out.buffer_size = buffer.size();
  EncodeResult encoded = encode_from_host(*type.image, type.index, kBase, area, cache, {}, &out);
  if (!encoded.ok()) report("encode", to_string(encoded), "ok");
  std::string fetched(out.begin, encoded.size);
  if (fetched != bytes) report("encode", testing::to_hex(fetched), testing::to_hex(bytes));
}

}  // namespace
}  // namespace drover

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 65536) return 0;
  drover::run(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
