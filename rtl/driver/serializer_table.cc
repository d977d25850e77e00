#include "rtl/driver/serializer_table.h"

#include <cstdint>
#include <cstring>

namespace drover::rtl {

std::vector<unsigned char> serializer_table(const schema::Image& image) {
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
