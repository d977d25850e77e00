// google::protobuf::util::TimeUtil: Drover's own.
#pragma once

#include "util/time_util.h"

namespace google::protobuf::util {
using drover::util::TimeUtil;
}  // namespace google::protobuf::util
