// For tests: reads everything that a loaded image offers, and checks that it lies inside the image.
#pragma once

#include <cstring>

#include "schema/image.h"

namespace drover::schema {

// False if a reference leaves the `size` bytes of the image, or a look-up misses an existing entry.
inline bool walk_image(const Image& image, size_t size) {
  const char* begin = reinterpret_cast<const char*>(image.data());
  auto inside = [&](const void* p, size_t bytes) {
    size_t at = static_cast<size_t>(static_cast<const char*>(p) - begin);
    return at <= size && bytes <= size - at;
  };
  auto name_inside = [&](uint32_t offset) {
    return offset < size && std::memchr(begin + offset, 0, size - offset) != nullptr;
  };
  for (uint32_t i = 0; i < image.message_count(); ++i) {
    const MessageEntry& m = image.message(i);
    if (!inside(&m, sizeof(m)) || !name_inside(m.name)) return false;
    if (image.find_message(image.name(m.name), std::strlen(image.name(m.name))) != int64_t{i}) return false;
    for (const FieldEntry& field : image.fields(m)) {
      if (!inside(&field, sizeof(field)) || !name_inside(field.name) || !name_inside(field.json_name)) return false;
      if (image.find_field(m, field.number) != &field) return false;
      if (field.offset < 16 || field.offset + field_storage(field.kind, field.label) > m.object_size) return false;
      if (is_message_kind(field.kind) && !inside(&image.sub_message(field), sizeof(MessageEntry))) return false;
      if (field.kind == static_cast<uint8_t>(Kind::kEnum)) image.enum_has_value(field.sub, 0);
      if (field.default_value == 0) continue;
      if (is_string_kind(field.kind)) {
        StringRef text = image.default_string(field);
        if (!inside(text.data, text.size + size_t{1}) || text.data[text.size] != 0) return false;
      } else if (!inside(begin + field.default_value, 8)) {
        return false;
      }
    }
    image.find_field(m, 0);
    image.find_field(m, m.slot_count);
    image.find_field(m, 0xFFFFFFFF);
  }
  for (uint32_t i = 0; i < image.enum_count(); ++i) {
    const EnumEntry& e = image.enum_entry(i);
    if (!name_inside(e.name)) return false;
    if (!inside(image.enum_values(e), Image::enum_name_count(e) * sizeof(EnumValueEntry))) return false;
    for (uint32_t v = 0; v < Image::enum_name_count(e); ++v) {
      const EnumValueEntry& value = image.enum_values(e)[v];
      const EnumValueEntry* found = image.find_enum_value(e, value.number);
      bool alias = v >= e.value_count;
      if (!name_inside(value.name) || found == nullptr || (found == &value) == alias) return false;
    }
  }
  return true;
}

}  // namespace drover::schema
