// The decoder on the memory of this machine.
#include "codec/decode/decode.h"

#include "codec/decode/decode_handlers.h"
#include "codec/decode/host_memory.h"

namespace drover {

namespace {

DROVER_INLINE DecodeResult decode_total(const schema::MessageType& type, Message* object,
                                        const std::string_view* pieces, size_t count, size_t total, Arena& arena,
                                        const DecodeOptions& options) {
  HostMemory memory(arena, options.received);
  Decoder<HostMemory> decoder(*type.image, memory, options);
  return decoder.run(type.index, object->drover_bytes(), pieces, count, total);
}

}  // namespace

DecodeResult decode(const schema::MessageType& type, Message* object, std::span<const std::string_view> pieces,
                    Arena& arena, const DecodeOptions& options) {
  size_t total = 0;
  for (std::string_view piece : pieces) {
    if (piece.size() > wire::kMaxMessage - total) {
      return {DecodeError::kTooLarge, total, type.full_name(), 0};
    }
    total += piece.size();
  }
  return decode_total(type, object, pieces.data(), pieces.size(), total, arena, options);
}

DecodeResult decode(const schema::MessageType& type, Message* object, std::string_view wire, Arena& arena,
                    const DecodeOptions& options) {
  if (wire.size() > wire::kMaxMessage) return {DecodeError::kTooLarge, 0, type.full_name(), 0};
  return decode_total(type, object, &wire, 1, wire.size(), arena, options);
}

std::string to_string(const DecodeResult& result) {
  std::string text = decode_error_name(result.error);
  if (result.ok()) return text;
  text += " at byte " + std::to_string(result.offset) + ", in ";
  if (result.field_number != 0) text += "field " + std::to_string(result.field_number) + " of ";
  return text + result.message_name;
}

}  // namespace drover
