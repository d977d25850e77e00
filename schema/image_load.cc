// Image::load: the one place that checks an image's bytes.
//
// The tables of different messages must follow each other without gaps or sharing (fields, slots and steps, enum
// values), which bounds the work by the image's size whatever the counts claim, and lets each check stay local. The
// names of messages share no bytes either, nor do those of enums: all are read and compared in the time that it takes
// to read the string area, times a logarithm for the extensions. Two fields never share object bytes unless they are
// members of one oneof: a decoder that trusted an overlapping layout could be led to follow a scalar as a pointer.
#include "schema/image_load.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace drover::schema {
namespace {

class Checker {
 public:
  Checker(const unsigned char* bytes, size_t size) : bytes_(bytes), size_(size) {}

  LoadResult run() {
    if (check_header() && check_tables() && check_messages() && check_enums()) return {};
    return result_;
  }

 private:
  // Records a failure; returns false so that checks read `return fail(...)`.
  bool fail(LoadError error, const char* where, size_t index, const char* what, uint64_t found,
            uint64_t expected = LoadResult::kAnything) {
    result_ = {error, where, static_cast<uint32_t>(index), what, found, expected};
    return false;
  }
  bool fail_field(LoadError error, const char* what, uint64_t found, uint64_t expected = LoadResult::kAnything) {
    return fail(error, "fields", field_index_, what, found, expected);
  }
  bool fail_message(LoadError error, const char* what, uint64_t found, uint64_t expected = LoadResult::kAnything) {
    return fail(error, "messages", message_index_, what, found, expected);
  }

  bool check_header();
  bool check_tables();
  bool check_name(const char* where, size_t index, uint32_t offset);
  bool check_own_name(const char* where, size_t index, uint32_t offset, uint64_t* budget);
  bool check_messages();
  bool check_message(const MessageEntry& m);
  bool check_steps(const MessageEntry& m);
  bool check_fields(const MessageEntry& m);
  bool check_field(const MessageEntry& m, const FieldEntry& f);
  bool check_flags(const FieldEntry& f);
  bool check_presence(const MessageEntry& m, const FieldEntry& f);
  bool check_sub(const MessageEntry& m, const FieldEntry& f);
  bool check_default(const FieldEntry& f);
  bool check_map_entry(const MessageEntry& m);
  bool check_extension(const MessageEntry& m);
  bool check_extendees();
  bool check_overlap();
  bool check_enums();
  bool check_enum(size_t index, const EnumEntry& e);
  bool check_aliases(const EnumEntry& e);

  const char* text(uint32_t offset) const { return reinterpret_cast<const char*>(bytes_ + offset); }
  template <typename T>
  const T* table(uint32_t offset) const {
    return reinterpret_cast<const T*>(bytes_ + offset);
  }

  const unsigned char* bytes_;
  size_t size_;
  ImageHeader header_{};
  LoadResult result_;
  size_t message_index_ = 0, field_index_ = 0;
  uint64_t next_field_ = 0, next_steps_ = 0, next_value_ = 0;
  uint64_t message_name_bytes_ = 0, enum_name_bytes_ = 0;  // that names not read yet may have
  uint32_t required_seen_ = 0;

  struct Span {
    uint32_t begin, end;
    uint16_t case_offset;
    size_t field;
  };
  std::vector<Span> spans_;         // of the message at hand
  std::vector<bool> has_bit_used_;  // of the message at hand
};

bool Checker::check_header() {
  if (reinterpret_cast<uintptr_t>(bytes_) % 8 != 0) {
    return fail(LoadError::kMisaligned, "image", 0, "address modulo 8", reinterpret_cast<uintptr_t>(bytes_) % 8, 0);
  }
  if (size_ < sizeof(ImageHeader)) {
    return fail(LoadError::kTruncated, "image", 0, "shorter than its header", size_, sizeof(ImageHeader));
  }
  std::memcpy(&header_, bytes_, sizeof(header_));
  if (header_.magic != kImageMagic) return fail(LoadError::kBadMagic, "header", 0, "magic", header_.magic, kImageMagic);
  if (header_.version != kImageVersion) {
    return fail(LoadError::kBadVersion, "header", 0, "version", header_.version, kImageVersion);
  }
  if (header_.header_size != sizeof(ImageHeader)) {
    return fail(LoadError::kBadHeaderSize, "header", 0, "header_size", header_.header_size, sizeof(ImageHeader));
  }
  if (header_.size > size_) return fail(LoadError::kTruncated, "header", 0, "size", header_.size, size_);
  if (header_.size < size_) return fail(LoadError::kBadSize, "header", 0, "size", header_.size, size_);
  uint32_t checksum = image_checksum(bytes_, size_);
  if (header_.checksum != checksum) {
    return fail(LoadError::kBadChecksum, "header", 0, "checksum", header_.checksum, checksum);
  }
  return true;
}

// The six areas stand in the order of the header, aligned, and none overlaps another.
bool Checker::check_tables() {
  struct Area {
    const char* name;
    uint32_t offset;
    uint64_t size;
  };
  const Area areas[] = {
      {"messages", header_.messages, uint64_t{header_.message_count} * sizeof(MessageEntry)},
      {"fields", header_.fields, uint64_t{header_.field_count} * sizeof(FieldEntry)},
      {"enums", header_.enums, uint64_t{header_.enum_count} * sizeof(EnumEntry)},
      {"enum_values", header_.enum_values, uint64_t{header_.enum_value_count} * sizeof(EnumValueEntry)},
      {"lookup", header_.lookup, header_.lookup_size},
      {"strings", header_.strings, header_.strings_size},
  };
  uint64_t end = sizeof(ImageHeader);
  for (const Area& area : areas) {
    if (area.offset % 8 != 0) return fail(LoadError::kBadTable, area.name, 0, "offset modulo 8", area.offset % 8, 0);
    if (area.offset < end) {
      return fail(LoadError::kBadTable, area.name, 0, "begins inside the area before it", area.offset, end);
    }
    end = area.offset + area.size;
    if (end > size_) return fail(LoadError::kBadTable, area.name, 0, "ends outside the image", end, size_);
  }
  if (header_.strings_size == 0) return fail(LoadError::kBadString, "strings", 0, "size", 0, 1);
  unsigned char last = bytes_[header_.strings + header_.strings_size - 1];
  if (last != 0) return fail(LoadError::kBadString, "strings", 0, "last byte", last, 0);
  return true;
}

// A name begins inside the string area, whose last byte is NUL: it ends inside, too.
bool Checker::check_name(const char* where, size_t index, uint32_t offset) {
  if (offset < header_.strings || offset - header_.strings >= header_.strings_size) {
    return fail(LoadError::kBadString, where, index, "name outside the string area", offset, header_.strings);
  }
  return true;
}

// The same for a name that no other of its table has, or has a part of: together they fit into the string area.
// `budget` is what the others have left of it.
bool Checker::check_own_name(const char* where, size_t index, uint32_t offset, uint64_t* budget) {
  if (!check_name(where, index, offset)) return false;
  size_t length = ::strnlen(text(offset), *budget);
  if (length == *budget) return fail(LoadError::kBadString, where, index, "names share bytes", offset);
  *budget -= length + 1;
  return true;
}

bool Checker::check_messages() {
  next_steps_ = header_.lookup;
  message_name_bytes_ = enum_name_bytes_ = header_.strings_size;
  const MessageEntry* messages = table<MessageEntry>(header_.messages);
  for (message_index_ = 0; message_index_ < header_.message_count; ++message_index_) {
    const MessageEntry& m = messages[message_index_];
    if (!check_message(m)) return false;
    if (message_index_ > 0 && std::strcmp(text(messages[message_index_ - 1].name), text(m.name)) >= 0) {
      return fail_message(LoadError::kBadOrder, "name does not sort behind the one before", m.name);
    }
  }
  if (next_field_ != header_.field_count) {
    return fail(LoadError::kBadRange, "header", 0, "field_count", header_.field_count, next_field_);
  }
  if (next_steps_ != uint64_t{header_.lookup} + header_.lookup_size) {
    return fail(LoadError::kBadRange, "header", 0, "lookup_size", header_.lookup_size, next_steps_ - header_.lookup);
  }
  return check_extendees();
}

bool Checker::check_message(const MessageEntry& m) {
  if (!check_own_name("messages", message_index_, m.name, &message_name_bytes_)) return false;
  if (m.object_size % 8 != 0) {
    return fail_message(LoadError::kBadLayout, "object_size modulo 8", m.object_size % 8, 0);
  }
  if (m.object_size > kMaxObjectSize) {
    return fail_message(LoadError::kBadLayout, "object_size", m.object_size, kMaxObjectSize);
  }
  if (m.object_size < object_prefix_size(m)) {
    return fail_message(LoadError::kBadLayout, "object_size", m.object_size, object_prefix_size(m));
  }
  if (object_prefix_size(m) > 0x10000) {
    return fail_message(LoadError::kBadOneof, "a case word lies beyond 65535", object_prefix_size(m), 0x10000);
  }
  if ((m.flags & ~kMessageFlagsKnown) != 0) return fail_message(LoadError::kBadFlags, "flags", m.flags);
  if (m.presence_line != 0) return fail_message(LoadError::kNotZero, "presence_line", m.presence_line, 0);
  for (uint32_t word : m.reserved) {
    if (word != 0) return fail_message(LoadError::kNotZero, "reserved", word, 0);
  }
  if (m.field_count > kMaxFieldCount) {
    return fail_message(LoadError::kBadRange, "field_count", m.field_count, kMaxFieldCount);
  }
  if (m.first_field != next_field_) {
    return fail_message(LoadError::kBadRange, "first_field", m.first_field, next_field_);
  }
  next_field_ += m.field_count;
  if (next_field_ > header_.field_count) {
    return fail_message(LoadError::kBadRange, "field_count", m.field_count, header_.field_count - m.first_field);
  }
  // An object is no larger than its fields need: a small image cannot request huge objects.
  uint64_t largest = object_prefix_size(m) + uint64_t{m.field_count} * kMapSize + 16;
  if (m.has_words > m.field_count || m.oneof_count > m.field_count || m.object_size > largest) {
    return fail_message(LoadError::kBadLayout, "more has-bits, oneofs or bytes than its fields need", m.object_size,
                        largest);
  }
  if (!check_fields(m) || !check_steps(m)) return false;
  if ((m.flags & kMessageFlagMapEntry) != 0 && !check_map_entry(m)) return false;
  return check_extension(m);
}

// Slots, then steps. Each follows from its field entry; a slot without a field is zero.
bool Checker::check_steps(const MessageEntry& m) {
  if (m.slots != next_steps_) return fail_message(LoadError::kBadRange, "slots", m.slots, next_steps_);
  if (m.slot_count < kMinSlots || m.slot_count > kMaxSlots) {
    return fail_message(LoadError::kBadRange, "slot_count", m.slot_count, kMinSlots);
  }
  uint64_t steps = next_steps_ + (uint64_t{m.slot_count} + 1) * sizeof(FieldStep);
  if (m.steps != steps) return fail_message(LoadError::kBadRange, "steps", m.steps, steps);
  next_steps_ = steps + uint64_t{m.field_count} * sizeof(FieldStep);
  if (next_steps_ > uint64_t{header_.lookup} + header_.lookup_size) {
    return fail_message(LoadError::kBadRange, "slots and steps end outside their area", next_steps_);
  }
  const FieldEntry* fields = table<FieldEntry>(header_.fields) + m.first_field;
  const FieldStep* slot = table<FieldStep>(m.slots);
  const FieldStep* slots_end = slot + m.slot_count;
  static constexpr FieldStep kNone{};
  if (std::memcmp(slots_end, &kNoMoreSteps, sizeof(FieldStep)) != 0) {
    return fail_message(LoadError::kBadLookup, "the step in front of the first", slots_end->op, kOpNone);
  }
  uint32_t number = 0;
  for (uint32_t i = 0; i < m.field_count; ++i, ++number) {
    FieldStep expected = make_step(m, fields[i], i + 1);
    if (std::memcmp(table<FieldStep>(m.steps) + i, &expected, sizeof(FieldStep)) != 0) {
      return fail_message(LoadError::kBadLookup, "step of field", fields[i].number);
    }
    for (; number < fields[i].number && slot < slots_end; ++number, ++slot) {
      if (std::memcmp(slot, &kNone, sizeof(FieldStep)) != 0) {
        return fail_message(LoadError::kBadLookup, "slot without a field is not zero", number, 0);
      }
    }
    if (slot == slots_end) continue;
    if (std::memcmp(slot++, &expected, sizeof(FieldStep)) != 0) {
      return fail_message(LoadError::kBadLookup, "slot of field", fields[i].number);
    }
  }
  for (; slot < slots_end; ++slot) {
    if (std::memcmp(slot, &kNone, sizeof(FieldStep)) != 0) {
      return fail_message(LoadError::kBadLookup, "slot without a field is not zero", m.slot_count, 0);
    }
  }
  return true;
}

bool Checker::check_fields(const MessageEntry& m) {
  spans_.clear();
  has_bit_used_.assign(size_t{m.has_words} * 32, false);
  required_seen_ = 0;
  const FieldEntry* fields = table<FieldEntry>(header_.fields);
  uint32_t last_number = 0;
  for (uint32_t i = 0; i < m.field_count; ++i) {
    field_index_ = m.first_field + i;
    const FieldEntry& f = fields[field_index_];
    if (f.number <= last_number) return fail_field(LoadError::kBadOrder, "number", f.number, last_number + 1);
    uint32_t largest = (m.flags & kMessageFlagExtension) != 0 ? kMaxMessageSetNumber : kMaxFieldNumber;
    if (f.number > largest) return fail_field(LoadError::kBadOrder, "number", f.number, largest);
    last_number = f.number;
    if (!check_field(m, f)) return false;
  }
  if (required_seen_ != m.required_count) {
    return fail_message(LoadError::kBadFlags, "required_count", m.required_count, required_seen_);
  }
  return check_overlap();
}

bool Checker::check_field(const MessageEntry& m, const FieldEntry& f) {
  if (f.kind == 0 || f.kind >= kKindCount) return fail_field(LoadError::kBadKind, "kind", f.kind);
  if (f.label > kLabelMap) return fail_field(LoadError::kBadKind, "label", f.label, kLabelMap);
  if (f.wire_type != kWireTypeOfKind[f.kind]) {
    return fail_field(LoadError::kBadKind, "wire_type", f.wire_type, kWireTypeOfKind[f.kind]);
  }
  if (!check_flags(f) || !check_presence(m, f) || !check_sub(m, f)) return false;
  if (!check_name("fields", field_index_, f.name)) return false;
  if (!check_name("fields", field_index_, f.json_name)) return false;
  if (!check_default(f)) return false;
  uint32_t storage = field_storage(f.kind, f.label);
  if (f.offset % field_alignment(f.kind, f.label) != 0) {
    return fail_field(LoadError::kBadLayout, "offset is not aligned", f.offset, field_alignment(f.kind, f.label));
  }
  if (f.offset < object_prefix_size(m)) {
    return fail_field(LoadError::kBadLayout, "field over the object's prefix", f.offset, object_prefix_size(m));
  }
  uint64_t end = uint64_t{f.offset} + storage;
  if (end > m.object_size) {
    return fail_field(LoadError::kBadLayout, "field ends outside its object", end, m.object_size);
  }
  spans_.push_back({f.offset, static_cast<uint32_t>(end), f.case_offset, field_index_});
  return true;
}

bool Checker::check_flags(const FieldEntry& f) {
  bool singular = f.label == kLabelSingular;
  bool packable = f.label == kLabelRepeated && !is_string_kind(f.kind) && !is_message_kind(f.kind);
  uint32_t allowed = kFieldFlagTarget;
  if (packable) allowed |= kFieldFlagPacked;
  if (f.kind == static_cast<uint8_t>(Kind::kString)) allowed |= kFieldFlagUtf8;
  if (f.kind == static_cast<uint8_t>(Kind::kEnum)) allowed |= kFieldFlagClosedEnum;
  if (singular) allowed |= kFieldFlagRequired | kFieldFlagOneof | kFieldFlagExplicitPresence;
  if ((f.flags & ~allowed) != 0) return fail_field(LoadError::kBadFlags, "flags", f.flags, allowed);
  if ((f.flags & kFieldFlagRequired) != 0) {
    ++required_seen_;
    if ((f.flags & kFieldFlagOneof) != 0) return fail_field(LoadError::kBadFlags, "required in a oneof", f.flags);
  }
  return true;
}

bool Checker::check_presence(const MessageEntry& m, const FieldEntry& f) {
  bool in_oneof = (f.flags & kFieldFlagOneof) != 0;
  if (in_oneof != (f.case_offset != 0)) return fail_field(LoadError::kBadOneof, "case_offset", f.case_offset);
  if (in_oneof) {
    uint32_t first = case_words_offset(m), end = object_prefix_size(m);
    if (f.case_offset < first || f.case_offset >= end || f.case_offset % 4 != 0) {
      return fail_field(LoadError::kBadOneof, "case_offset is not one of the case words", f.case_offset, first);
    }
    if (f.offset % 8 != 0) return fail_field(LoadError::kBadLayout, "oneof slot modulo 8", f.offset % 8, 0);
  }
  bool by_pointer = f.label == kLabelSingular && is_message_kind(f.kind);
  if (f.has_bit != kNoHasBit) {
    if (in_oneof || by_pointer || f.label != kLabelSingular) {
      return fail_field(LoadError::kBadHasBit, "has_bit on a field that needs none", f.has_bit, kNoHasBit);
    }
    if (f.has_bit >= has_bit_used_.size()) {
      return fail_field(LoadError::kBadHasBit, "has_bit outside has_words", f.has_bit, has_bit_used_.size());
    }
    if (has_bit_used_[f.has_bit]) return fail_field(LoadError::kBadHasBit, "has_bit used twice", f.has_bit);
    has_bit_used_[f.has_bit] = true;
  }
  bool has_presence = in_oneof || by_pointer || f.has_bit != kNoHasBit;
  bool entry = (m.flags & kMessageFlagMapEntry) != 0;
  if (has_presence != ((f.flags & kFieldFlagExplicitPresence) != 0)) {
    return fail_field(LoadError::kBadFlags, "explicit presence", f.flags & kFieldFlagExplicitPresence,
                      has_presence ? kFieldFlagExplicitPresence : 0);
  }
  if ((f.flags & kFieldFlagRequired) != 0 && (!has_presence || entry)) {
    return fail_field(LoadError::kBadFlags, "required without presence", f.flags);
  }
  return true;
}

bool Checker::check_sub(const MessageEntry& m, const FieldEntry& f) {
  if (f.label == kLabelMap && f.kind != static_cast<uint8_t>(Kind::kMessage)) {
    return fail_field(LoadError::kBadMapEntry, "kind of a map field", f.kind, static_cast<uint8_t>(Kind::kMessage));
  }
  if (f.kind == static_cast<uint8_t>(Kind::kEnum)) {
    if (f.sub >= header_.enum_count) return fail_field(LoadError::kBadSub, "enum index", f.sub, header_.enum_count);
    return true;
  }
  if (!is_message_kind(f.kind)) {
    return f.sub == kNoSub || fail_field(LoadError::kBadSub, "sub of a kind that has none", f.sub, kNoSub);
  }
  if (f.sub >= header_.message_count) {
    return fail_field(LoadError::kBadSub, "message index", f.sub, header_.message_count);
  }
  const MessageEntry& sub = table<MessageEntry>(header_.messages)[f.sub];
  if ((sub.flags & kMessageFlagExtension) != 0) {
    return fail_field(LoadError::kBadExtension, "a field whose type is an extension", f.sub);
  }
  bool entry = (sub.flags & kMessageFlagMapEntry) != 0;
  if (entry != (f.label == kLabelMap)) {
    return fail_field(LoadError::kBadMapEntry, "a map field and a map entry belong together", f.label,
                      entry ? kLabelMap : kLabelRepeated);
  }
  if (f.label == kLabelMap && (m.flags & kMessageFlagMapEntry) != 0) {
    return fail_field(LoadError::kBadMapEntry, "a map in a map entry", f.label);
  }
  return true;
}

bool Checker::check_default(const FieldEntry& f) {
  uint32_t at = f.default_value;
  if (at == 0) return true;
  if (f.label != kLabelSingular || is_message_kind(f.kind)) {
    return fail_field(LoadError::kBadString, "default of a field that has none", at, 0);
  }
  uint64_t end = uint64_t{header_.strings} + header_.strings_size;
  uint32_t alignment = is_string_kind(f.kind) ? 4 : 8;
  if (at < header_.strings || at % alignment != 0 || uint64_t{at} + alignment > end) {
    return fail_field(LoadError::kBadString, "default outside the string area", at, header_.strings);
  }
  if (!is_string_kind(f.kind)) return true;
  uint32_t length = *table<uint32_t>(at);
  if (uint64_t{at} + 4 + length + 1 > end) {
    return fail_field(LoadError::kBadString, "default ends outside the string area", length, end - at);
  }
  unsigned char behind = bytes_[uint64_t{at} + 4 + length];
  return behind == 0 || fail_field(LoadError::kBadString, "byte behind a default", behind, 0);
}

bool Checker::check_map_entry(const MessageEntry& m) {
  const FieldEntry* fields = table<FieldEntry>(header_.fields) + m.first_field;
  if (m.field_count != 2 || fields[0].number != 1 || fields[1].number != 2) {
    return fail_message(LoadError::kBadMapEntry, "fields of a map entry are 1 and 2; count", m.field_count, 2);
  }
  if (m.has_words != 0 || m.oneof_count != 0) {
    return fail_message(LoadError::kBadMapEntry, "a map entry has no has-bits and no oneofs", m.has_words, 0);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    field_index_ = m.first_field + i;
    if (fields[i].label != kLabelSingular) {
      return fail_field(LoadError::kBadMapEntry, "label in a map entry", fields[i].label, kLabelSingular);
    }
  }
  auto key = static_cast<Kind>(fields[0].kind);
  if (key == Kind::kDouble || key == Kind::kFloat || key == Kind::kBytes || key == Kind::kEnum ||
      is_message_kind(fields[0].kind)) {
    field_index_ = m.first_field;
    return fail_field(LoadError::kBadMapEntry, "kind of a map key", fields[0].kind);
  }
  if (fields[1].kind == static_cast<uint8_t>(Kind::kGroup)) {
    return fail_field(LoadError::kBadMapEntry, "kind of a map value", fields[1].kind);
  }
  return true;
}

// An extension's entry is named "[extendee:number]", no other entry begins so, and holds the extension alone.
bool Checker::check_extension(const MessageEntry& m) {
  const char* name = text(m.name);
  bool extension = (m.flags & kMessageFlagExtension) != 0;
  if (extension != (name[0] == '[')) {
    return fail_message(LoadError::kBadExtension, "an extension's flag and name belong together", m.flags);
  }
  if (!extension) return true;
  if ((m.flags & ~(kMessageFlagExtension | kMessageFlagRequiredBelow)) != 0) {
    return fail_message(LoadError::kBadExtension, "flags of an extension", m.flags, kMessageFlagExtension);
  }
  if (m.field_count != 1 || m.oneof_count != 0 || m.required_count != 0) {
    return fail_message(LoadError::kBadExtension, "an extension is one field that is not required", m.field_count, 1);
  }
  const FieldEntry& f = table<FieldEntry>(header_.fields)[m.first_field];
  if (f.label == kLabelMap) return fail_message(LoadError::kBadExtension, "label of an extension", f.label);
  std::string end = ":" + std::to_string(f.number) + "]";
  size_t size = std::strlen(name);
  if (size < end.size() + 2 || end.compare(name + size - end.size()) != 0) {
    return fail_message(LoadError::kBadExtension, "name does not end with the number", f.number);
  }
  return true;
}

// Once all names are known to ascend: the message that each extension extends is there, and is open to it.
bool Checker::check_extendees() {
  const MessageEntry* messages = table<MessageEntry>(header_.messages);
  const MessageEntry* last = messages + header_.message_count;
  for (const MessageEntry* m = messages; m != last; ++m) {
    if ((m->flags & kMessageFlagExtension) == 0) continue;
    std::string_view extendee(text(m->name) + 1);
    extendee = extendee.substr(0, extendee.rfind(':'));
    // No further than the extendee is long: the names that it is compared with may be much longer.
    auto compare = [this, extendee](const MessageEntry& a) {
      return std::strncmp(text(a.name), extendee.data(), extendee.size());
    };
    const MessageEntry* found = std::partition_point(messages, last, [&](const auto& a) { return compare(a) < 0; });
    if (found == last || compare(*found) != 0 || text(found->name)[extendee.size()] != '\0' ||
        (found->flags & kMessageFlagExtensionRanges) == 0) {
      message_index_ = static_cast<size_t>(m - messages);
      return fail_message(LoadError::kBadExtension, "the extendee is not there, or has no extension ranges", m->name);
    }
    uint32_t number = table<FieldEntry>(header_.fields)[m->first_field].number;
    if (number > kMaxFieldNumber && (found->flags & kMessageFlagMessageSet) == 0) {
      return fail_message(LoadError::kBadExtension, "number of an extension of no message set", number,
                          kMaxFieldNumber);
    }
  }
  return true;
}

// No two fields share bytes, but the members of one oneof, which all begin at the same offset.
bool Checker::check_overlap() {
  auto before = [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.case_offset < b.case_offset;
  };
  std::sort(spans_.begin(), spans_.end(), before);
  std::vector<uint64_t> slots;  // case_offset << 32 | offset, of every oneof member
  for (size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    if (span.case_offset != 0) slots.push_back(uint64_t{span.case_offset} << 32 | span.begin);
    if (i == 0) continue;
    Span& last = spans_[i - 1];
    bool shared = span.begin == last.begin && span.case_offset == last.case_offset && span.case_offset != 0;
    if (span.begin < last.end && !shared) {
      field_index_ = span.field;
      return fail_field(LoadError::kBadLayout, "field over another field", span.begin, last.end);
    }
    if (shared) spans_[i].end = std::max(span.end, last.end);
  }
  std::sort(slots.begin(), slots.end());
  for (size_t i = 1; i < slots.size(); ++i) {
    if (slots[i] >> 32 == slots[i - 1] >> 32 && slots[i] != slots[i - 1]) {
      return fail_message(LoadError::kBadOneof, "members of one oneof at two offsets", slots[i] & 0xFFFFFFFF,
                          slots[i - 1] & 0xFFFFFFFF);
    }
  }
  return true;
}

bool Checker::check_enums() {
  const EnumEntry* enums = table<EnumEntry>(header_.enums);
  for (size_t i = 0; i < header_.enum_count; ++i) {
    if (!check_enum(i, enums[i])) return false;
    if (i > 0 && std::strcmp(text(enums[i - 1].name), text(enums[i].name)) >= 0) {
      return fail(LoadError::kBadOrder, "enums", i, "name does not sort behind the one before", enums[i].name);
    }
  }
  if (next_value_ != header_.enum_value_count) {
    return fail(LoadError::kBadRange, "header", 0, "enum_value_count", header_.enum_value_count, next_value_);
  }
  return true;
}

bool Checker::check_enum(size_t index, const EnumEntry& e) {
  if (!check_own_name("enums", index, e.name, &enum_name_bytes_)) return false;
  if ((e.flags & ~kEnumFlagsKnown) != 0) {
    return fail(LoadError::kBadFlags, "enums", index, "flags", e.flags, kEnumFlagsKnown);
  }
  for (uint32_t word : e.reserved) {
    if (word != 0) return fail(LoadError::kNotZero, "enums", index, "reserved", word, 0);
  }
  if (e.first_value != next_value_) {
    return fail(LoadError::kBadRange, "enums", index, "first_value", e.first_value, next_value_);
  }
  next_value_ += uint64_t{e.value_count} + e.alias_count;
  if (e.value_count == 0 || next_value_ > header_.enum_value_count) {
    return fail(LoadError::kBadRange, "enums", index, "value_count and alias_count",
                uint64_t{e.value_count} + e.alias_count, header_.enum_value_count - e.first_value);
  }
  const EnumValueEntry* values = table<EnumValueEntry>(header_.enum_values) + e.first_value;
  bool default_found = false;
  for (uint32_t i = 0; i < e.value_count; ++i) {
    if (!check_name("enum_values", e.first_value + i, values[i].name)) return false;
    if (i > 0 && values[i].number <= values[i - 1].number) {
      return fail(LoadError::kBadOrder, "enum_values", e.first_value + i, "number does not ascend",
                  static_cast<uint32_t>(values[i].number));
    }
    default_found |= values[i].number == e.default_value;
  }
  if (!default_found) {
    return fail(LoadError::kBadEnum, "enums", index, "default_value is not one of the values",
                static_cast<uint32_t>(e.default_value));
  }
  return check_aliases(e);
}

// More names for some of the numbers, which ascend, too.
bool Checker::check_aliases(const EnumEntry& e) {
  const EnumValueEntry* values = table<EnumValueEntry>(header_.enum_values) + e.first_value;
  const EnumValueEntry* aliases = values + e.value_count;
  uint32_t value = 0;
  for (uint32_t i = 0; i < e.alias_count; ++i) {
    uint32_t index = e.first_value + e.value_count + i;
    if (!check_name("enum_values", index, aliases[i].name)) return false;
    while (value < e.value_count && values[value].number < aliases[i].number) ++value;
    if (value == e.value_count || values[value].number != aliases[i].number) {
      return fail(LoadError::kBadEnum, "enum_values", index, "an alias out of order, or of none of the values",
                  static_cast<uint32_t>(aliases[i].number));
    }
  }
  return true;
}

}  // namespace

LoadResult Image::load(const void* bytes, size_t size, Image* out) {
  const auto* data = static_cast<const unsigned char*>(bytes);
  LoadResult result = Checker(data, size).run();
  if (result.ok()) *out = from_trusted(data);
  return result;
}

}  // namespace drover::schema
