// The streams of google::protobuf::io over memory and over a program's own copying streams: Drover's own.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include "streams/copying_streams.h"
#include "streams/joined_streams.h"
#include "streams/memory_streams.h"

namespace google::protobuf::io {
using drover::io::ArrayInputStream;
using drover::io::ArrayOutputStream;
using drover::io::CopyingInputStream;
using drover::io::CopyingInputStreamAdaptor;
using drover::io::CopyingOutputStream;
using drover::io::CopyingOutputStreamAdaptor;
using drover::io::LimitingInputStream;
using drover::io::StringOutputStream;
}  // namespace google::protobuf::io
