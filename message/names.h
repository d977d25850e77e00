// Names: from the names in a text (JSON, or the text format) to fields and enum values.
//
// The image has no index by name. Fields mostly come in the image's order, so the search begins behind the field that
// was found last; a type with many searched names gets a hash table. So the cost of a name does not grow with the
// number of fields, and a short text pays for no table. One object per parse.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "schema/message_type.h"

namespace drover::message {

// True if the image's NUL-terminated `name` is `text`.
inline bool same_name(const char* name, std::string_view text) {
  for (const char c : text) {
    if (*name != c || c == '\0') return false;
    ++name;
  }
  return *name == '\0';
}

// Which two names a field goes by.
enum class FieldNames : uint8_t {
  kJson,         // its json_name, and its own name
  kText,         // a group's type's name (message/text_name.h), and its own name
  kTextAnyCase,  // as kText, with letters of A to Z in either case; not for enum values
};

class Names {
 public:
  explicit Names(FieldNames names = FieldNames::kJson) : names_(names) {}

  // The field that goes by `name`, by the first of its names if that is one field's and the second is another's; null
  // if it is unknown. `next` is where to look first: the position behind the last field found (0 at first), which this
  // keeps up to date.
  const schema::FieldEntry* find_field(const schema::MessageType& type, std::string_view name, uint32_t* next);

  const schema::EnumValueEntry* find_enum_value(const schema::Image& image, const schema::EnumEntry& e,
                                                std::string_view name);

 private:
  // Open addressing; a slot is 1 + position, twice as many positions as entries for fields: the first name, then the
  // name.
  struct Table {
    uint64_t searched = 0;  // entries looked at before there was a table
    std::vector<uint32_t> slots;
  };
  template <typename NameAt>
  void build(Table* table, uint32_t names, NameAt name_at) const;
  template <typename NameAt>
  int64_t look_up(const Table& table, std::string_view name, NameAt name_at) const;
  bool goes_by(const schema::MessageType& type, const schema::FieldEntry& field, std::string_view name) const;
  std::string_view first_name(const schema::MessageType& type, const schema::FieldEntry& field) const;
  bool same(std::string_view a, std::string_view b) const;
  uint32_t hash(std::string_view name) const;

  FieldNames names_;
  std::map<const void*, Table> tables_;  // by MessageEntry or EnumEntry
};

}  // namespace drover::message
