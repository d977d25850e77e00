#include "message/names.h"

#include <algorithm>

#include "message/text_name.h"

namespace drover::message {
namespace {

using schema::EnumEntry;
using schema::EnumValueEntry;
using schema::FieldEntry;
using schema::FieldRange;
using schema::Image;
using schema::MessageType;

constexpr uint32_t kAhead = 8;           // fields looked at in the expected place, before anything else
constexpr uint32_t kSearchesBefore = 4;  // searches over all names before there is a table

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

uint32_t Names::hash(std::string_view name) const {
  const bool any_case = names_ == FieldNames::kTextAnyCase;
  uint64_t h = 0xcbf29ce484222325;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(any_case ? lower(c) : c)) * 0x100000001b3;
  return static_cast<uint32_t>(h ^ h >> 32);
}

bool Names::same(std::string_view a, std::string_view b) const {
  if (names_ != FieldNames::kTextAnyCase) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Names::first_name(const MessageType& type, const FieldEntry& field) const {
  if (names_ == FieldNames::kJson) return type.image->name(field.json_name);
  return text_name(type, field);
}

// By its first name.
bool Names::goes_by(const MessageType& type, const FieldEntry& field, std::string_view name) const {
  if (names_ == FieldNames::kJson) return same_name(type.image->name(field.json_name), name);
  return same(text_name(type, field), name);
}

// The first of two equal names wins.
template <typename NameAt>
void Names::build(Table* table, uint32_t names, NameAt name_at) const {
  uint32_t size = 16;
  while (size < names * 2) size *= 2;
  table->slots.assign(size, 0);
  for (uint32_t i = 0; i < names; ++i) {
    const std::string_view name = name_at(i);
    uint32_t at = hash(name) & (size - 1);
    while (table->slots[at] != 0 && !same(name_at(table->slots[at] - 1), name)) at = (at + 1) & (size - 1);
    if (table->slots[at] == 0) table->slots[at] = i + 1;
  }
}

template <typename NameAt>
int64_t Names::look_up(const Table& table, std::string_view name, NameAt name_at) const {
  const auto mask = static_cast<uint32_t>(table.slots.size() - 1);
  for (uint32_t at = hash(name) & mask;; at = (at + 1) & mask) {
    const uint32_t slot = table.slots[at];
    if (slot == 0) return -1;
    if (same(name_at(slot - 1), name)) return slot - 1;
  }
}

const FieldEntry* Names::find_field(const MessageType& type, std::string_view name, uint32_t* next) {
  const FieldRange fields = type.fields();
  const Image& image = *type.image;
  const uint32_t ahead = std::min(fields.size(), *next + kAhead);
  for (uint32_t i = *next; i < ahead; ++i) {
    if (!goes_by(type, fields[i], name)) continue;
    *next = i + 1;
    return &fields[i];
  }
  auto name_at = [&](uint32_t i) -> std::string_view {
    return i < fields.size() ? first_name(type, fields[i]) : image.name(fields[i - fields.size()].name);
  };
  Table& table = tables_[&type.entry()];
  int64_t found = -1;
  if (table.slots.empty() && table.searched < uint64_t{kSearchesBefore} * fields.size()) {
    table.searched += fields.size();
    for (uint32_t i = 0; i < fields.size() && found < 0; ++i) {
      if (goes_by(type, fields[i], name)) found = i;
    }
    for (uint32_t i = 0; i < fields.size() && found < 0; ++i) {
      if (same(image.name(fields[i].name), name)) found = i;
    }
  } else if (fields.size() != 0) {
    if (table.slots.empty()) build(&table, fields.size() * 2, name_at);
    found = look_up(table, name, name_at);
    if (found >= fields.size()) found -= fields.size();
  }
  if (found < 0) return nullptr;
  *next = static_cast<uint32_t>(found) + 1;
  return &fields[static_cast<uint32_t>(found)];
}

const EnumValueEntry* Names::find_enum_value(const Image& image, const EnumEntry& e, std::string_view name) {
  const EnumValueEntry* values = image.enum_values(e);
  auto name_at = [&](uint32_t i) -> std::string_view { return image.name(values[i].name); };
  const uint32_t count = Image::enum_name_count(e);
  if (count > kAhead) {
    Table& table = tables_[&e];
    table.searched += count;
    if (table.searched > uint64_t{kSearchesBefore} * count) {
      if (table.slots.empty()) build(&table, count, name_at);
      const int64_t found = look_up(table, name, name_at);
      return found < 0 ? nullptr : values + found;
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (same_name(image.name(values[i].name), name)) return values + i;
  }
  return nullptr;
}

}  // namespace drover::message
