// google::protobuf::util::Status: Drover's own.
#pragma once

#include "util/status.h"

namespace google::protobuf::util {
using drover::util::OkStatus;
using drover::util::Status;
using drover::util::StatusCode;
}  // namespace google::protobuf::util
