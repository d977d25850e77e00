// google::protobuf::util's delimited messages: Drover's own.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/message.h>

#include "util/delimited.h"

namespace google::protobuf::util {
using drover::util::ParseDelimitedFromCodedStream;
using drover::util::ParseDelimitedFromZeroCopyStream;
using drover::util::SerializeDelimitedToCodedStream;
using drover::util::SerializeDelimitedToFileDescriptor;
using drover::util::SerializeDelimitedToOstream;
using drover::util::SerializeDelimitedToZeroCopyStream;
}  // namespace google::protobuf::util
