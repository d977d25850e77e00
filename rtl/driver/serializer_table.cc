#include "rtl/driver/serializer_table.h"

#include <cstdint>
#include <cstring>

#include "rtl/serializer/serializer_format.h"

namespace drover::rtl {

std::vector<unsigned char> serializer_table(const schema::Image& image) {
  using serializer::kTableLineBytes;
  std::vector<unsigned char> table(image.data(), image.data() + image.size());
  table.resize((table.size() + kTableLineBytes - 1) / kTableLineBytes * kTableLineBytes);
  for (uint32_t i = 0; i < image.message_count(); ++i) {
    const schema::MessageEntry& message = image.message(i);
    auto line = static_cast<uint32_t>(table.size() / kTableLineBytes);
    size_t entry = image.header().messages + i * sizeof(schema::MessageEntry);
    if (message.field_count == 0) continue;
    std::memcpy(table.data() + entry + offsetof(schema::MessageEntry, presence_line), &line, sizeof(line));
    size_t lines = (message.field_count + kTableLineBytes - 1) / kTableLineBytes, at = table.size();
    table.resize(at + lines * kTableLineBytes, serializer::PresenceByte{.beyond = true}.encode());
    for (uint32_t step = 0; step < message.field_count; ++step) {
      table[at + step] = serializer::PresenceByte{.has_bit = image.steps(message)[step].has_bit}.encode();
    }
  }
  return table;
}

}  // namespace drover::rtl
