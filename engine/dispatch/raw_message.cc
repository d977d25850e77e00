#include "engine/dispatch/raw_message.h"

#include <algorithm>
#include <cstring>

#include "message/raw.h"
#include "object/string.h"

namespace drover::engine {
namespace {

constexpr uint8_t kTag = 1 << 3 | 2;   // field 1, with a length
constexpr size_t kMostHeader = 1 + 5;  // the tag, and the length of a message of less than 4 GiB
constexpr size_t kSlice = 64 << 10;    // bytes between two pauses

}  // namespace

bool is_raw_type(const schema::MessageType& type) {
  const schema::FieldEntry* field = type.find_field(1);
  return type.entry().field_count == 1 && field != nullptr &&
         field->kind == static_cast<uint8_t>(schema::Kind::kBytes) && field->label == schema::kLabelSingular &&
         field->case_offset == 0 && field->has_bit != schema::kNoHasBit;
}

DecodeResult place_raw(const schema::MessageType& type, Message* object, std::string_view wire, Arena& arena,
                       const DecodeOptions& options) {
  const schema::FieldEntry& field = *type.find_field(1);
  char* memory = object->drover_bytes();
  auto* bytes = reinterpret_cast<String*>(memory + field.offset);
  DecodeResult result;
  raw::set_has_bit(memory, field.has_bit);
  if (options.alias) {
    // The buffer is writable, and one byte longer.
    if (options.terminate_aliases) const_cast<char*>(wire.data())[wire.size()] = 0;
    bytes->borrow(wire.data(), wire.size(), options.terminate_aliases);
    return result;
  }
  char* to = bytes->allocate_in(&arena, wire.size());
  if (to == nullptr) {
    result.error = DecodeError::kOutOfMemory;
    return result;
  }
  for (size_t done = 0; done < wire.size();) {
    const size_t size = std::min(wire.size() - done, kSlice);
    std::memcpy(to + done, wire.data() + done, size);
    done += size;
    if (options.pause && !options.pause()) {
      result.error = DecodeError::kTruncated;
      break;
    }
  }
  return result;
}

bool unwrap_raw(Encoded* encoded) {
  if (encoded->size() == 0) return true;
  uint8_t header[kMostHeader];
  size_t have = 0;
  for (const Piece& piece : encoded->pieces()) {
    for (size_t i = 0; i < piece.size && have < kMostHeader; ++i) header[have++] = static_cast<uint8_t>(piece.data[i]);
    if (have == kMostHeader) break;
  }
  if (header[0] != kTag) return false;
  uint64_t length = 0;
  for (size_t i = 1; i < have; ++i) {
    length |= uint64_t{header[i] & 0x7fu} << (7 * (i - 1));
    if ((header[i] & 0x80) != 0) continue;
    if (length != encoded->size() - (i + 1)) return false;
    encoded->drop_front(i + 1);
    return true;
  }
  return false;
}

}  // namespace drover::engine
