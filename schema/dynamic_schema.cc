#include "schema/dynamic_schema.h"

#include <limits>

#include "schema/image_builder.h"

namespace drover::schema {

std::string DynamicSchema::load(std::string_view file_descriptor_set, DynamicSchema* out) {
  google::protobuf::FileDescriptorSet set;
  if (file_descriptor_set.size() > std::numeric_limits<int>::max() ||
      !set.ParseFromArray(file_descriptor_set.data(), static_cast<int>(file_descriptor_set.size()))) {
    return "not a FileDescriptorSet";
  }
  return load(set, out);
}

std::string DynamicSchema::load(const google::protobuf::FileDescriptorSet& set, DynamicSchema* out) {
  const BuildResult built = build_image(set);
  if (!built.ok()) return built.error;
  const LoadResult loaded = OwnedImage::load(built.image, &out->image_);
  return loaded.ok() ? "" : load_message(loaded);
}

std::optional<MessageType> DynamicSchema::find_message(std::string_view full_name) const {
  if (!valid()) return std::nullopt;
  const int64_t index = image().find_message(full_name.data(), full_name.size());
  if (index < 0) return std::nullopt;
  return MessageType{&image(), static_cast<uint32_t>(index)};
}

std::vector<MessageType> DynamicSchema::messages() const {
  std::vector<MessageType> types;
  for (uint32_t i = 0; valid() && i < image().message_count(); ++i) {
    constexpr uint32_t kNoMessage = kMessageFlagMapEntry | kMessageFlagExtension;
    if ((image().message(i).flags & kNoMessage) == 0) types.push_back({&image(), i});
  }
  return types;
}

}  // namespace drover::schema
