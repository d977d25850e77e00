// google::protobuf::io::CodedInputStream and CodedOutputStream: Drover's own.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include "streams/coded_input.h"
#include "streams/coded_output.h"

namespace google::protobuf::io {
using drover::io::CodedInputStream;
using drover::io::CodedOutputStream;
}  // namespace google::protobuf::io
