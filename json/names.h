// Names: from the names in a JSON text to fields and enum values.
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

namespace drover::json {

// True if the image's NUL-terminated `name` is `text`.
inline bool same_name(const char* name, std::string_view text) {
  for (const char c : text) {
    if (*name != c || c == '\0') return false;
    ++name;
  }
  return *name == '\0';
}

class Names {
 public:
  // The field whose json_name, or else whose own name, is `name`; null if it is unknown. `next` is where to look first:
  // the position behind the last field found (0 at first), which this keeps up to date.
  const schema::FieldEntry* find_field(const schema::MessageType& type, std::string_view name, uint32_t* next);

  const schema::EnumValueEntry* find_enum_value(const schema::Image& image, const schema::EnumEntry& e,
                                                std::string_view name);

 private:
  // Open addressing; a slot is 1 + position, twice as many positions as entries for fields: json_name, then name.
  struct Table {
    uint64_t searched = 0;  // entries looked at before there was a table
    std::vector<uint32_t> slots;
  };
  template <typename NameAt>
  static void build(Table* table, uint32_t names, NameAt name_at);
  template <typename NameAt>
  static int64_t look_up(const Table& table, std::string_view name, NameAt name_at);

  std::map<const void*, Table> tables_;  // by MessageEntry or EnumEntry
};

}  // namespace drover::json
