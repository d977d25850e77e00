// The streams of google::protobuf::io over files and iostreams: Drover's own.
#pragma once

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace google::protobuf::io {
using drover::io::ConcatenatingInputStream;
using drover::io::FileInputStream;
using drover::io::FileOutputStream;
using drover::io::IstreamInputStream;
using drover::io::OstreamOutputStream;
}  // namespace google::protobuf::io
