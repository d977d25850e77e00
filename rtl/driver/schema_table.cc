#include "rtl/driver/schema_table.h"

#include <cstring>

namespace drover::rtl {
namespace {

using schema::FieldEntry;
using schema::Image;
using schema::MessageEntry;

uint32_t lookup_index(const Image& image, uint32_t offset) { return (offset - image.header().lookup) / 8; }

deserializer::TypeWord type_word(const Image& image, const MessageEntry& message) {
  bool too_large = message.object_size > deserializer::kChunkBytes;
  return {.slots = lookup_index(image, message.slots),
          .slot_count = static_cast<uint16_t>(message.slot_count),
          .object_words = static_cast<uint16_t>(too_large ? deserializer::kObjectWordsTooLarge
                                                          : message.object_size / sizeof(uint64_t)),
          .field_count = static_cast<uint16_t>(message.field_count)};
}

deserializer::EnumWord enum_word(const Image& image, uint32_t index) {
  const schema::EnumEntry& entry = image.enum_entry(index);
  return {.first_value = entry.first_value, .value_count = entry.value_count};
}

uint8_t has_bit(const FieldEntry& field) {
  if (field.has_bit == schema::kNoHasBit) return deserializer::kHasBitNone;
  return field.has_bit > 63 ? deserializer::kHasBitBeyond : static_cast<uint8_t>(field.has_bit);
}

deserializer::SideWord side_word(const Image& image, const FieldEntry& field) {
  bool closed = (field.flags & schema::kFieldFlagClosedEnum) != 0;
  bool utf8 = (field.flags & schema::kFieldFlagUtf8) != 0;
  deserializer::SideWord side;
  side.number = field.number & schema::kMaxFieldNumber;
  side.element_op = static_cast<deserializer::ElementOp>(schema::op_class(field.kind, utf8, closed));
  side.repeated = field.label != schema::kLabelSingular;
  side.is_map = field.label == schema::kLabelMap;
  side.target = (field.flags & schema::kFieldFlagTarget) != 0;
  side.oneof = field.case_offset != 0;
  side.has_bit = has_bit(field);
  // Inside a chunk; an object that is larger goes to software by its type word.
  side.offset = field.offset & (deserializer::kChunkBytes - 1);
  side.case_offset = field.case_offset & (deserializer::kChunkBytes - 1);
  if (schema::is_message_kind(field.kind)) side.sub = type_word(image, image.message(field.sub)).encode();
  if (closed) side.sub = enum_word(image, field.sub).encode();
  return side;
}

void append(std::vector<TableWord>* words, uint32_t index, const deserializer::SideWord& side) {
  uint64_t halves[deserializer::SideWord::kWords];
  side.encode(halves);
  words->push_back({LoadSpace::kSide, 2 * index, halves[0]});
  words->push_back({LoadSpace::kSide, 2 * index + 1, halves[1]});
}

}  // namespace

std::vector<TableWord> field_words(const Image& image, const MessageEntry& message, const FieldEntry& field) {
  std::vector<TableWord> words;
  deserializer::SideWord side = side_word(image, field);
  auto position = static_cast<uint32_t>(&field - image.fields(message).first);
  if (field.number < message.slot_count) append(&words, lookup_index(image, message.slots) + field.number, side);
  append(&words, lookup_index(image, message.steps) + position, side);
  return words;
}

std::vector<TableWord> schema_table_words(const Image& image) {
  std::vector<TableWord> words;
  for (uint32_t i = 0; i * 8 < image.size(); ++i) {
    uint64_t word = 0;
    uint32_t rest = image.size() - i * 8;
    std::memcpy(&word, image.data() + i * 8, rest < 8 ? rest : 8);
    words.push_back({LoadSpace::kImage, i, word});
  }
  for (uint32_t m = 0; m < image.message_count(); ++m) {
    const MessageEntry& message = image.message(m);
    words.push_back({LoadSpace::kTypes, m, type_word(image, message).encode()});
    for (const FieldEntry& field : image.fields(message)) {
      std::vector<TableWord> side = field_words(image, message, field);
      words.insert(words.end(), side.begin(), side.end());
    }
  }
  return words;
}

}  // namespace drover::rtl
