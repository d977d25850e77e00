// A schema image as the deserializer takes it over its load port (rtl/deserializer/deser_table.sv).
//
// The image goes in unchanged, word after word; the table keeps the slots and steps. Beside each FieldStep stands a
// side word, derived here from its FieldEntry. It holds what the step has no room for (oneofs, far has-bits, the target
// bit) and what the decoder would otherwise fetch from three more tables before the next field: the sub-message's slots
// and size, the place of the enum's values. rtl/deserializer/deserializer.toml defines the words.
#pragma once

#include <cstdint>
#include <vector>

#include "rtl/deserializer/deserializer_format.h"
#include "schema/image.h"

namespace drover::rtl {

using deserializer::LoadSpace;

struct TableWord {
  LoadSpace space;
  uint32_t address;  // in words of the space
  uint64_t data;
};

// All words, in the order in which they must be loaded.
std::vector<TableWord> schema_table_words(const schema::Image& image);

// The side words of one field (its slot's and its step's), to load again after its target flag changed in the image.
std::vector<TableWord> field_words(const schema::Image& image, const schema::MessageEntry& message,
                                   const schema::FieldEntry& field);

}  // namespace drover::rtl
