// What the driver loads into the walker's schema table: the image, and behind it presence lines, which let the walker
// pass over fields that are not set 64 at a time.
//
//   [ image, padded to a line | presence lines of message 0 | of message 1 | ... ]
//
// A presence line has a byte for each of 64 steps of a message, in their order: the step's has_bit (62 always, 63 by
// value), or 128 behind the last. The number of a message's first line stands in its MessageEntry's first reserved word
// of this copy; 0 there means that it has none, and the walker does without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "schema/image.h"

namespace drover::rtl {

inline constexpr size_t kTableLine = 64;

inline std::vector<unsigned char> serializer_table(const schema::Image& image) {
  std::vector<unsigned char> table(image.data(), image.data() + image.size());
  table.resize((table.size() + kTableLine - 1) / kTableLine * kTableLine);
  for (uint32_t i = 0; i < image.message_count(); ++i) {
    const schema::MessageEntry& message = image.message(i);
    auto line = static_cast<uint32_t>(table.size() / kTableLine);
    size_t entry = image.header().messages + i * sizeof(schema::MessageEntry);
    if (message.field_count == 0) continue;
    std::memcpy(table.data() + entry + offsetof(schema::MessageEntry, presence_line), &line, sizeof(line));
    size_t lines = (message.field_count + kTableLine - 1) / kTableLine, at = table.size();
    table.resize(at + lines * kTableLine, 128);
    for (uint32_t step = 0; step < message.field_count; ++step) table[at + step] = image.steps(message)[step].has_bit;
  }
  return table;
}

}  // namespace drover::rtl
