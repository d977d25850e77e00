// google::protobuf::util::FieldMaskUtil: Drover's own.
#pragma once

#include <google/protobuf/message.h>

#include "util/field_mask_util.h"

namespace google::protobuf::util {
using drover::util::FieldMaskUtil;
}  // namespace google::protobuf::util
