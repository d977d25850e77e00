#include "message/type_resolver.h"

#include "message/extensions.h"

namespace drover::message {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

schema::MessageType ImageResolver::find_message(std::string_view full_name) const {
  for (const schema::Image* image : images_) {
    int64_t index = image->find_message(full_name.data(), full_name.size());
    if (index >= 0) return {image, static_cast<uint32_t>(index)};
  }
  return {};
}

MessageType find_any_type(const TypeResolver* resolver, const schema::Image& own, std::string_view url) {
  const size_t slash = url.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == url.size()) return {};
  const std::string_view name = url.substr(slash + 1);
  MessageType found;
  if (resolver != nullptr) {
    found = resolver->find_message(name);
  } else if (const int64_t index = own.find_message(name.data(), name.size()); index >= 0) {
    found = {&own, static_cast<uint32_t>(index)};
  } else {
    found = find_registered_message(name);
  }
  constexpr uint32_t kNoMessage = schema::kMessageFlagMapEntry | schema::kMessageFlagExtension;
  return found.image == nullptr || (found.entry().flags & kNoMessage) != 0 ? MessageType{} : found;
}

bool is_any(const MessageType& type) {
  if (std::string_view(type.full_name()) != "google.protobuf.Any") return false;
  auto has = [&type](uint32_t number, Kind kind) {
    const FieldEntry* field = type.find_field(number);
    return field != nullptr && field->kind == static_cast<uint8_t>(kind) && field->label == schema::kLabelSingular;
  };
  return has(1, Kind::kString) && has(2, Kind::kBytes);
}

}  // namespace drover::message
