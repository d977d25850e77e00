#include "workload/group_image.h"

#include "schema/image_builder.h"

namespace drover::workload {

std::string load_group_image(Group* group) {
  schema::BuildResult built = schema::build_image(group->files);
  if (!built.ok()) return built.error;
  schema::LoadResult loaded = schema::OwnedImage::load(built.image, &group->image);
  return loaded.ok() ? "" : schema::load_message(loaded);
}

}  // namespace drover::workload
