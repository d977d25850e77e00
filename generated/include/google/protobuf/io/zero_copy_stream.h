// google::protobuf::io's stream interfaces as sources written for protobuf C++ name them: Drover's own.
#pragma once

#include "streams/zero_copy_stream.h"

namespace google::protobuf::io {
using drover::io::ZeroCopyInputStream;
using drover::io::ZeroCopyOutputStream;
}  // namespace google::protobuf::io
