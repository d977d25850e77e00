// gRPC's compression settings as the channel has them (ReplyCompression of channel.toml).
#pragma once

#include <grpc/compression.h>

#include "channel/channel_format.h"

namespace drover::host {

// Values that there are not count as none.
inline ReplyCompression reply_compression(grpc_compression_algorithm algorithm) {
  switch (algorithm) {
    case GRPC_COMPRESS_DEFLATE:
      return ReplyCompression::kDeflate;
    case GRPC_COMPRESS_GZIP:
      return ReplyCompression::kGzip;
    default:
      return ReplyCompression::kNone;
  }
}

inline ReplyCompression reply_compression(grpc_compression_level level) {
  switch (level) {
    case GRPC_COMPRESS_LEVEL_LOW:
      return ReplyCompression::kLow;
    case GRPC_COMPRESS_LEVEL_MED:
      return ReplyCompression::kMedium;
    case GRPC_COMPRESS_LEVEL_HIGH:
      return ReplyCompression::kHigh;
    default:
      return ReplyCompression::kNone;
  }
}

}  // namespace drover::host
