// Encoding an object that the input scribbled over. The object and all below it lie in one heap block of exactly the
// size of the bounds, so that AddressSanitizer sees every read outside. The encoder that reads by DMA must give the
// same result, and so must the preserializer with the reader of its streams.
//
//   input: [message choice | patches: u16 position, u8 length (low 3 bits, + 1), bytes]
#include <cstring>
#include <random>

#include "codec/freestanding/delayed_dma.h"
#include "codec/freestanding/fetched_memory.h"
#include "codec/preserialize/preserialize.h"
#include "testing/every_schema.h"
#include "testing/random_message.h"
#include "testing/test_object.h"

namespace drover {
namespace {

struct Original {
  explicit Original(uint8_t choice) : object(testing::every_schema().type(choice % 2 == 0 ? "t.Every" : "t.Maps")) {
    std::mt19937_64 random(choice);
    auto message = testing::every_schema().peer(choice % 2 == 0 ? "t.Every" : "t.Maps");
    testing::RandomMessages(random).fill(message.get(), 2);
    if (!object.decode(message->SerializePartialAsString()).ok()) std::abort();
    size = message::linearized_size(object.type(), *object.get());
  }
  testing::TestObject object;
  size_t size;
};

// `expected` and `bytes` are what the encoder in place made of it.
void compare_by_dma(const schema::MessageType& type, const Message* object, const Bounds& bounds,
                    const EncodeOptions& options, const EncodeResult& expected, const std::string& bytes) {
  static std::vector<char> buffer((1 << 20) + FixedOutput::kSpare);
  HostArea area{reinterpret_cast<uintptr_t>(bounds.base), bounds.size};
  DelayedDma dma(area.address, const_cast<char*>(bounds.base), bounds.size, std::abort);
  ObjectCache<DelayedDma, 32, 8> cache(dma);
  FixedPiece pieces[5];
  FixedOutput out;
  out.buffer = buffer.data();
  out.buffer_size = buffer.size();
  out.pieces = pieces;
  out.piece_capacity = std::size(pieces);
  EncodeResult result =
      encode_from_host(*type.image, type.index, reinterpret_cast<uintptr_t>(object), area, cache, options, &out);
  // Where room runs out differs, and with it what else may be found wrong before.
  auto no_room = [](EncodeError error) { return error == EncodeError::kTooLarge || error == EncodeError::kNoRoom; };
  if (no_room(result.error) || no_room(expected.error)) return;
  if (result.error != expected.error || result.field_number != expected.field_number) std::abort();
  if (!result.ok()) return;
  std::string fetched;
  for (size_t i = 0; i < out.piece_count; ++i) {
    fetched.append(reinterpret_cast<const char*>(out.first_piece[i].address), out.first_piece[i].size);
  }
  if (fetched != bytes || result.size != bytes.size()) std::abort();
}

// As bytes by way of a pre-serialized stream, which must end the same.
void compare_preserialized(const schema::MessageType& type, const Message* object, const Bounds& bounds,
                           const EncodeOptions& options, bool references, const EncodeResult& expected,
                           const std::string& bytes) {
  static std::vector<uint64_t> memory((4 << 20) / 8);
  PreserializeOptions preserialize_options;
  preserialize_options.bounds = &bounds;
  preserialize_options.depth_limit = options.depth_limit;
  preserialize_options.payload_threshold = options.reference_threshold;
  if (references) preserialize_options.host = {reinterpret_cast<uintptr_t>(bounds.base), bounds.size};
  preserialize_options.reference_from = 8;
  PreserializedOutput out;
  out.buffer = reinterpret_cast<char*>(memory.data());
  out.buffer_size = memory.size() * 8;
  EncodeResult result = preserialize(type, object, preserialize_options, &out);
  auto by_size = [](EncodeError error) {  // where room and patience run out differs
    return error == EncodeError::kTooLarge || error == EncodeError::kNoRoom || error == EncodeError::kTooMuchWork;
  };
  if (by_size(result.error) || by_size(expected.error)) return;
  if (result.error != expected.error || result.field_number != expected.field_number) std::abort();
  if (!result.ok()) return;
  std::string wire;
  StreamError error = finish_preserialized({out.buffer, out.record_bytes}, {out.payload(), out.payload_bytes}, {},
                                           {bounds.base, bounds.size}, &wire);
  if (error != StreamError::kOk || wire != bytes) std::abort();
}

void run(uint8_t choice, const uint8_t* patches, size_t left) {
  static std::unique_ptr<Original> originals[16];
  if (originals[choice % 16] == nullptr) originals[choice % 16] = std::make_unique<Original>(choice % 16);
  const Original& original = *originals[choice % 16];
  if (original.size > 1 << 16) return;
  std::unique_ptr<char[]> block(new char[original.size]);
  Arena arena(heap_block_source(), block.get(), original.size);
  Message* object = message::deep_copy_into(original.object.type(), *original.object.get(), &arena);
  while (left >= 4) {
    size_t at = (size_t{patches[0]} | size_t{patches[1]} << 8) % original.size;
    size_t count = std::min<size_t>({size_t{patches[2]} % 8 + 1, left - 3, original.size - at});
    std::memcpy(block.get() + at, patches + 3, count);
    patches += 3 + count;
    left -= 3 + count;
  }
  Bounds bounds{block.get(), original.size};
  Encoded encoded;
  EncodeOptions options{.bounds = &bounds,
                        .max_bytes = 1 << 20,
                        .depth_limit = 60,
                        .reference_threshold = choice < 128 ? size_t{64} : size_t{1024}};
  EncodeResult result = encode(original.object.type(), object, options, &encoded);
  std::string bytes(encoded.size(), '\0');
  if (result.ok()) encoded.copy_to(bytes.data());
  compare_by_dma(original.object.type(), object, bounds, options, result, bytes);
  compare_preserialized(original.object.type(), object, bounds, options, (choice & 64) != 0, result, bytes);
}

}  // namespace
}  // namespace drover

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  drover::run(data[0], data + 1, size - 1);
  return 0;
}
