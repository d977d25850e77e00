// The object layout rules, in the one place that applies them.
#include "schema/layout.h"

#include <algorithm>
#include <iterator>

namespace drover::schema {
namespace {

uint32_t align_up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

uint32_t storage_of(const FieldModel& field) { return field_storage(static_cast<uint8_t>(field.kind), field.label); }

}  // namespace

std::vector<Member> member_order(const MessageModel& message) {
  std::vector<Member> members;
  std::vector<size_t> slot_of(message.oneof_count, SIZE_MAX);
  for (size_t i = 0; i < message.fields.size(); ++i) {
    const FieldModel& field = message.fields[i];
    uint32_t storage = storage_of(field);
    if (field.oneof < 0) {
      members.push_back({static_cast<int>(i), -1, storage, std::min(storage, 8u)});
      continue;
    }
    size_t& slot = slot_of[static_cast<size_t>(field.oneof)];
    if (slot == SIZE_MAX) {
      slot = members.size();
      members.push_back({-1, field.oneof, 8, 8});
    }
    members[slot].size = std::max(members[slot].size, storage);
  }
  std::vector<Member> ordered;
  for (uint32_t alignment : {8u, 4u, 1u}) {
    std::copy_if(members.begin(), members.end(), std::back_inserter(ordered),
                 [alignment](const Member& member) { return member.alignment == alignment; });
  }
  return ordered;
}

std::string lay_out(MessageModel* message) {
  uint32_t has_bits = 0;
  for (FieldModel& field : message->fields) {
    bool needs_bit = field.explicit_presence && field.oneof < 0 && !field.is_message() && !message->map_entry;
    if (needs_bit && has_bits >= kNoHasBit) return message->full_name + ": more than 65535 fields with presence";
    field.has_bit = needs_bit ? static_cast<uint16_t>(has_bits++) : static_cast<uint16_t>(kNoHasBit);
  }
  message->has_words = (has_bits + 31) / 32;
  uint32_t cases = kObjectHeaderSize + 4 * message->has_words;
  uint64_t end = cases + 4ull * message->oneof_count;
  if (end > 0x10000) return message->full_name + ": too many has-bits and oneofs: a case word lies beyond 65535";

  std::vector<uint32_t> slot_offset(message->oneof_count);
  for (const Member& member : member_order(*message)) {
    uint32_t offset = align_up(static_cast<uint32_t>(end), member.alignment);
    end = uint64_t{offset} + member.size;
    if (end > kMaxObjectSize) return message->full_name + ": its object would be larger than 16 MiB";
    if (member.field >= 0) {
      message->fields[static_cast<size_t>(member.field)].offset = offset;
    } else {
      slot_offset[static_cast<size_t>(member.oneof)] = offset;
    }
  }
  for (FieldModel& field : message->fields) {
    if (field.oneof < 0) continue;
    field.offset = slot_offset[static_cast<size_t>(field.oneof)];
    field.case_offset = static_cast<uint16_t>(cases + 4 * static_cast<uint32_t>(field.oneof));
  }
  message->object_size = align_up(static_cast<uint32_t>(end), 8);
  return {};
}

}  // namespace drover::schema
