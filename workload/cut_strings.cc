#include "workload/cut_strings.h"

#include "codec/wire.h"
#include "workload/wire_reader.h"

namespace drover::workload {
namespace {

void append_varint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

std::string_view cut(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

}  // namespace

std::string cut_strings(const schema::MessageType& type, std::string_view wire, size_t limit) {
  std::string out;
  WireReader reader(wire);
  for (WireField field; reader.next(&field);) {
    const schema::FieldEntry* entry = type.find_field(field.number);
    bool delimited = entry != nullptr && field.wire_type == wire::kLengthDelimited;
    std::string_view content = wire.substr(field.payload, field.payload_end - field.payload);
    std::string shorter;
    if (delimited && schema::is_message_kind(entry->kind)) {
      shorter = cut_strings(type.sub(*entry), content, limit);
    } else if (delimited && schema::is_string_kind(entry->kind)) {
      shorter = cut(content, limit);
    } else {
      out += wire.substr(field.begin, field.end - field.begin);
      continue;
    }
    out += wire.substr(field.begin, field.value - field.begin);  // the tag
    append_varint(&out, shorter.size());
    out += shorter;
  }
  return out;
}

}  // namespace drover::workload
