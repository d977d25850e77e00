// Skips fields of any kind, within bounds.
#include "message/unknown_records.h"

namespace drover::message {
namespace {

// Bits of a tag above 32 are ignored, as in protobuf C++: a decoder never keeps such a tag, but bytes that are printed
// as a message may have one.
const char* read_tag(const char* p, const char* end, uint32_t* tag) {
  uint64_t value;
  p = read_varint(p, end, &value);
  if (p == nullptr) return nullptr;
  *tag = static_cast<uint32_t>(value);
  return *tag >> 3 == 0 ? nullptr : p;
}

// The value behind a tag that does not begin a group.
const char* read_value(const char* p, const char* end, uint32_t wire_type, std::string_view* value) {
  uint64_t number;
  size_t size = 0;
  switch (wire_type) {
    case kWireVarint: {
      const char* behind = read_varint(p, end, &number);
      if (behind == nullptr) return nullptr;
      *value = {p, static_cast<size_t>(behind - p)};
      return behind;
    }
    case kWireFixed64:
      size = 8;
      break;
    case kWireFixed32:
      size = 4;
      break;
    case kWireLength:
      p = read_varint(p, end, &number);
      if (p == nullptr || number > static_cast<size_t>(end - p)) return nullptr;
      size = static_cast<size_t>(number);
      break;
    default:
      return nullptr;
  }
  if (static_cast<size_t>(end - p) < size) return nullptr;
  *value = {p, size};
  return p + size;
}

// Behind a start-group tag: up to and including its end. Groups inside must balance, but their numbers are not
// compared.
const char* read_group(const char* p, const char* end, uint32_t start, std::string_view* value) {
  const char* first = p;
  for (size_t open = 1;;) {
    const char* at = p;
    uint32_t tag;
    p = read_tag(p, end, &tag);
    if (p == nullptr) return nullptr;
    std::string_view ignored;
    switch (tag & 7) {
      case kWireStartGroup:
        ++open;
        break;
      case kWireEndGroup:
        if (--open != 0) break;
        *value = {first, static_cast<size_t>(at - first)};
        return tag == start + 1 ? p : nullptr;
      default:
        p = read_value(p, end, tag & 7, &ignored);
        if (p == nullptr) return nullptr;
    }
  }
}

// Takes the first type id and the first message, as protobuf does.
void read_item(UnknownRecord* record) {
  UnknownRecords fields(record->value);
  UnknownRecord field;
  uint64_t type_id = 0;
  std::string_view message;
  bool has_message = false;
  while (fields.next(&field)) {
    if (field.number == 2 && field.wire_type == kWireVarint && type_id == 0) {
      read_varint(field.value.data(), field.value.data() + field.value.size(), &type_id);
    } else if (field.number == 3 && field.wire_type == kWireLength && !has_message) {
      message = field.value;
      has_message = true;
    }
  }
  auto number = static_cast<uint32_t>(type_id);
  if (number == 0 || !has_message) return;
  record->number = number;
  record->wire_type = kWireLength;
  record->value = message;
  record->item = true;
}

}  // namespace

const char* read_varint(const char* p, const char* end, uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && p != end; shift += 7) {
    uint64_t byte = static_cast<uint8_t>(*p++);
    result |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    *value = result;
    return p;
  }
  return nullptr;
}

void append_varint(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

bool UnknownRecords::next(UnknownRecord* out) {
  if (at_ == end_) return false;
  uint32_t tag;
  const char* p = read_tag(at_, end_, &tag);
  if (p == nullptr) return false;
  out->number = tag >> 3;
  out->wire_type = tag & 7;
  out->item = false;
  p = out->wire_type == kWireStartGroup ? read_group(p, end_, tag, &out->value)
                                        : read_value(p, end_, out->wire_type, &out->value);
  if (p == nullptr) return false;
  out->bytes = {at_, static_cast<size_t>(p - at_)};
  at_ = p;
  if (message_set_ && tag == kItemStart) read_item(out);
  return true;
}

}  // namespace drover::message
