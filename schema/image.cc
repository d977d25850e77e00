// The look-ups of Image that are not inline. Freestanding: no heap and no library.
#include "schema/image.h"

namespace drover::schema {
namespace {

// -1, 0, 1 as the NUL-terminated `a` sorts before, equal to or behind the `size` bytes at `b`.
int compare_name(const char* a, const char* b, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    unsigned char left = static_cast<unsigned char>(a[i]), right = static_cast<unsigned char>(b[i]);
    if (left != right) return left < right ? -1 : 1;
    if (left == 0) return -1;  // b holds a NUL of its own: no name does
  }
  return a[size] == 0 ? 0 : 1;
}

// Position of the first element of an ascending table for which `compare` is not negative.
template <typename Compare>
uint32_t lower_bound(uint32_t count, Compare compare) {
  uint32_t low = 0;
  while (count > 0) {
    uint32_t half = count / 2;
    if (compare(low + half) < 0) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

struct CrcTable {
  uint32_t entry[256];
  constexpr CrcTable() : entry() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
      entry[i] = crc;
    }
  }
};
constexpr CrcTable kCrc;

}  // namespace

const FieldEntry* Image::find_sparse(const FieldEntry* first, uint32_t count, uint32_t number) {
  uint32_t position = lower_bound(count, [&](uint32_t i) { return first[i].number < number ? -1 : 0; });
  return position < count && first[position].number == number ? first + position : nullptr;
}

const FieldEntry* Image::find_field_by_name(const MessageEntry& m, const char* field_name, size_t size) const {
  for (const FieldEntry& field : fields(m)) {
    if (compare_name(name(field.name), field_name, size) == 0) return &field;
  }
  return nullptr;
}

int64_t Image::find_message(const char* full_name, size_t size) const {
  auto compare = [&](uint32_t i) { return compare_name(name(message(i).name), full_name, size); };
  uint32_t position = lower_bound(message_count(), compare);
  return position < message_count() && compare(position) == 0 ? int64_t{position} : -1;
}

int64_t Image::find_enum(const char* full_name, size_t size) const {
  auto compare = [&](uint32_t i) { return compare_name(name(enum_entry(i).name), full_name, size); };
  uint32_t position = lower_bound(enum_count(), compare);
  return position < enum_count() && compare(position) == 0 ? int64_t{position} : -1;
}

const EnumValueEntry* Image::find_enum_value(const EnumEntry& e, int32_t number) const {
  const EnumValueEntry* values = enum_values(e);
  // Most enums count up from their first value: look there before searching.
  uint32_t guess = static_cast<uint32_t>(number) - static_cast<uint32_t>(values[0].number);
  if (guess < e.value_count && values[guess].number == number) return values + guess;
  uint32_t position = lower_bound(e.value_count, [&](uint32_t i) { return values[i].number < number ? -1 : 0; });
  return position < e.value_count && values[position].number == number ? values + position : nullptr;
}

uint32_t image_checksum(const unsigned char* bytes, size_t size) {
  constexpr size_t kAt = offsetof(ImageHeader, checksum);
  uint32_t crc = 0xFFFFFFFFu;
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = i - kAt < 4 ? 0 : bytes[i];
    crc = kCrc.entry[(crc ^ byte) & 255] ^ (crc >> 8);
  }
  return ~crc;
}

}  // namespace drover::schema
