// What both workloads share.
#include "workload/workload.h"

#include "schema/image_builder.h"
#include "workload/group_image.h"

namespace drover::workload {

const WorkloadMessage* Workload::find(std::string_view message_name) const {
  for (const WorkloadMessage& message : messages) {
    if (message.name == message_name) return &message;
  }
  return nullptr;
}

std::string load_group_image(Group* group) {
  schema::BuildResult built = schema::build_image(group->files);
  if (!built.ok()) return built.error;
  schema::LoadResult loaded = schema::OwnedImage::load(built.image, &group->image);
  return loaded.ok() ? "" : schema::load_message(loaded);
}

}  // namespace drover::workload
