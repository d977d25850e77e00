// Shared by the loaders of workload/: a group's schema image, built from its files.
#pragma once

#include <string>

#include "workload/workload.h"

namespace drover::workload {

// Builds group->image from group->files. Returns an empty string, or what is wrong with the schema.
std::string load_group_image(Group* group);

}  // namespace drover::workload
