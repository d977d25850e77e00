#include "message/text_name.h"

#include <algorithm>

namespace drover::message {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

bool is_group(const MessageType& type, const FieldEntry& field) {
  if (static_cast<Kind>(field.kind) != Kind::kGroup) return false;
  if ((type.entry().flags & schema::kMessageFlagExtension) != 0) return false;
  std::string_view scope = type.full_name(), sub = type.sub(field).full_name(), name = type.image->name(field.name);
  if (sub.size() != scope.size() + 1 + name.size() || !sub.starts_with(scope) || sub[scope.size()] != '.') return false;
  return std::equal(name.begin(), name.end(), sub.end() - static_cast<ptrdiff_t>(name.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

std::string_view text_name(const MessageType& type, const FieldEntry& field) {
  if (!is_group(type, field)) return type.image->name(field.name);
  std::string_view name = type.sub(field).full_name();
  return name.substr(name.rfind('.') + 1);
}

}  // namespace drover::message
