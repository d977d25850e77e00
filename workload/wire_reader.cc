// Fields of wire bytes, one after the other.
#include "workload/wire_reader.h"

namespace drover::workload {
namespace {
constexpr int kDeepestGroup = 200;
}

bool WireReader::varint(uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 70 && at_ < end_; shift += 7) {
    auto byte = static_cast<unsigned char>(wire_[at_++]);
    result |= uint64_t{byte & 0x7fu} << shift;
    if (byte >= 0x80) continue;
    *value = result;
    return true;
  }
  return ok_ = false;
}

bool WireReader::read_fixed(size_t bytes, uint64_t* value) {
  if (end_ - at_ < bytes) return false;
  *value = 0;
  for (size_t i = bytes; i > 0; --i) *value = *value << 8 | static_cast<unsigned char>(wire_[at_ + i - 1]);
  at_ += bytes;
  return true;
}

bool WireReader::read(WireField* field, int depth) {
  *field = {};
  field->begin = at_;
  uint64_t tag = 0, length = 0;
  if (!varint(&tag) || tag >> 32 != 0 || tag >> 3 == 0) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  field->wire_type = tag & 7;
  field->value = field->payload = at_;
  switch (field->wire_type) {
    case 0:
      if (!varint(&field->varint)) return false;
      break;
    case 1:
      if (!read_fixed(8, &field->varint)) return false;
      break;
    case 2:
      if (!varint(&length) || length > end_ - at_) return false;
      field->payload = at_;
      at_ += static_cast<size_t>(length);
      break;
    case 3:
      return depth < kDeepestGroup && read_group(field, depth);
    case 5:
      if (!read_fixed(4, &field->varint)) return false;
      break;
    default:
      return false;
  }
  field->end = field->payload_end = at_;
  return true;
}

bool WireReader::read_group(WireField* field, int depth) {
  for (;;) {
    field->payload_end = at_;
    uint64_t tag = 0;
    if (!varint(&tag)) return false;
    if ((tag & 7) == 4) {
      field->end = at_;
      return tag >> 3 == field->number;
    }
    at_ = field->payload_end;
    WireField inner;
    if (!read(&inner, depth + 1)) return false;
  }
}

}  // namespace drover::workload
