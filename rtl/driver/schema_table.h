// A schema image as the engine's schema table takes it over its load port (rtl/deserializer/deser_table.sv).
//
// The image itself goes in word after word, unchanged; the table keeps the slots and steps. Beside each FieldStep
// stands a side word of 128 bits, derived here from its FieldEntry: what the step cannot say (oneofs, far has-bits),
// what a decoder would otherwise have to fetch from three more tables before the next field (the sub-message's slots
// and size, where the enum's values lie), and the target bit. rtl/deserializer/deser_pkg.sv has the layout of both.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/image.h"

namespace drover::rtl {

struct TableWord {
  uint32_t space;    // 0 image, 1 side words, 2 message types
  uint32_t address;  // in words of the space
  uint64_t data;
};

// All words, in the order in which they have to be loaded.
std::vector<TableWord> schema_table_words(const schema::Image& image);

// The side words of one field, again: after its target flag has changed in the image. Its slot's and its step's.
std::vector<TableWord> field_words(const schema::Image& image, const schema::MessageEntry& message,
                                   const schema::FieldEntry& field);

}  // namespace drover::rtl
