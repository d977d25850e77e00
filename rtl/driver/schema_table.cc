#include "rtl/driver/schema_table.h"

#include <cstring>

namespace drover::rtl {
namespace {

using schema::FieldEntry;
using schema::Image;
using schema::MessageEntry;

constexpr uint64_t kWordsTooLarge = 1023;
constexpr uint32_t kChunkBytes = 4096;
constexpr uint64_t kHasBitBeyond = 126, kHasBitNone = 127;

uint32_t lookup_index(const Image& image, uint32_t offset) { return (offset - image.header().lookup) / 8; }

// 55 bits: slots (17), slot count (12), object size in words (10), fields (16).
uint64_t type_bits(const Image& image, const MessageEntry& message) {
  uint64_t words = message.object_size > kChunkBytes ? kWordsTooLarge : message.object_size / 8;
  return lookup_index(image, message.slots) | uint64_t{message.slot_count} << 17 | words << 29 |
         uint64_t{message.field_count} << 39;
}

// 55 bits: where its values begin among all (32), and how many different ones there are (23).
uint64_t enum_bits(const Image& image, uint32_t index) {
  const schema::EnumEntry& entry = image.enum_entry(index);
  return entry.first_value | uint64_t{entry.value_count} << 32;
}

struct SideWord {
  uint64_t low = 0, high = 0;
  void put(unsigned at, uint64_t value) {
    if (at < 64) low |= value << at;
    if (at >= 64) {
      high |= value << (at - 64);
    } else if (at != 0) {
      high |= value >> (64 - at);
    }
  }
};

SideWord side_word(const Image& image, const FieldEntry& field) {
  bool closed = (field.flags & schema::kFieldFlagClosedEnum) != 0;
  bool message = schema::is_message_kind(field.kind);
  SideWord side;
  side.put(0, field.number & schema::kMaxFieldNumber);
  side.put(29, schema::op_class(field.kind, (field.flags & schema::kFieldFlagUtf8) != 0, closed));
  side.put(33, field.label != schema::kLabelSingular);
  side.put(34, field.label == schema::kLabelMap);
  side.put(35, (field.flags & schema::kFieldFlagTarget) != 0);
  side.put(36, field.case_offset != 0);
  side.put(37, field.has_bit == schema::kNoHasBit ? kHasBitNone : field.has_bit > 63 ? kHasBitBeyond : field.has_bit);
  side.put(44, field.offset & (kChunkBytes - 1));
  side.put(56, field.case_offset & (kChunkBytes - 1));
  if (message) side.put(68, type_bits(image, image.message(field.sub)));
  if (closed) side.put(68, enum_bits(image, field.sub));
  return side;
}

void append(std::vector<TableWord>* words, uint32_t index, const SideWord& side) {
  words->push_back({1, 2 * index, side.low});
  words->push_back({1, 2 * index + 1, side.high});
}

}  // namespace

std::vector<TableWord> field_words(const Image& image, const MessageEntry& message, const FieldEntry& field) {
  std::vector<TableWord> words;
  SideWord side = side_word(image, field);
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
    words.push_back({0, i, word});
  }
  for (uint32_t m = 0; m < image.message_count(); ++m) {
    const MessageEntry& message = image.message(m);
    words.push_back({2, m, type_bits(image, message)});
    for (const FieldEntry& field : image.fields(message)) {
      std::vector<TableWord> side = field_words(image, message, field);
      words.insert(words.end(), side.begin(), side.end());
    }
  }
  return words;
}

}  // namespace drover::rtl
