#include "codec/freestanding/codec.h"

#include "codec/decode/decode_handlers.h"
#include "codec/decode/host_memory.h"
#include "codec/encode/encode_handlers.h"

namespace drover::freestanding {
namespace {

template <typename Memory>
EncodeResult encode_with(const schema::Image& image, const schema::MessageEntry& entry, const char* object,
                         Memory memory, const EncodeOptions& options, FixedOutput* out) {
  Encoder<Memory, FixedSink> encoder(image, memory, options, out, options);
  FixedSink& sink = encoder.sink();
  EncodeResult result{EncodeError::kOk, 0, image.name(entry.name), 0};
  char* p = sink.start();
  if (p != nullptr && (p = encoder.message(p, object, entry)) == nullptr) {
    result.error = encoder.error();
    result.message_name = image.name(encoder.error_message().name);
    result.field_number = encoder.error_field();
  } else if (p == nullptr || !sink.finish(p)) {
    result.error = sink.error();
  } else {
    result.size = sink.total(p);
    result.message_name = "";
  }
  return result;
}

}  // namespace

char* new_object(const schema::Image& image, uint32_t message, Arena& arena) {
  char* object = static_cast<char*>(arena.allocate_zeroed(image.message(message).object_size));
  if (object != nullptr) raw::store<OwnerWord>(object, reinterpret_cast<uintptr_t>(&arena));
  return object;
}

DecodeResult decode(const schema::Image& image, uint32_t message, char* object, const std::string_view* pieces,
                    size_t count, Arena& arena, const DecodeOptions& options) {
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].size() > wire::kMaxMessage - total) {
      return {DecodeError::kTooLarge, total, image.name(image.message(message).name), 0};
    }
    total += pieces[i].size();
  }
  HostMemory memory(arena, options.received);
  Decoder<HostMemory> decoder(image, memory, options);
  return decoder.run(message, object, pieces, count, total);
}

EncodeResult encode(const schema::Image& image, uint32_t message, const char* object, const EncodeOptions& options,
                    FixedOutput* out) {
  const schema::MessageEntry& entry = image.message(message);
  if (options.bounds == nullptr) return encode_with(image, entry, object, TrustedMemory(), options, out);
  BoundedMemory memory(*options.bounds);
  EncodeResult result{EncodeError::kOk, 0, image.name(entry.name), 0};
  if (!memory.check(reinterpret_cast<uintptr_t>(object), entry.object_size, 8, &result.error)) return result;
  return encode_with(image, entry, object, memory, options, out);
}

}  // namespace drover::freestanding
