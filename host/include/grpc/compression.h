// Algorithms and levels of message compression, with gRPC's names and values.
#pragma once

// Arguments of ServerBuilder::AddChannelArgument. The bitset has 1 << algorithm for each that is enabled.
#define GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM "grpc.default_compression_algorithm"
#define GRPC_COMPRESSION_CHANNEL_DEFAULT_LEVEL "grpc.default_compression_level"
#define GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET "grpc.compression_enabled_algorithms_bitset"

typedef enum {
  GRPC_COMPRESS_NONE = 0,
  GRPC_COMPRESS_DEFLATE,
  GRPC_COMPRESS_GZIP,
  GRPC_COMPRESS_ALGORITHMS_COUNT,
} grpc_compression_algorithm;

typedef enum {
  GRPC_COMPRESS_LEVEL_NONE = 0,
  GRPC_COMPRESS_LEVEL_LOW,
  GRPC_COMPRESS_LEVEL_MED,
  GRPC_COMPRESS_LEVEL_HIGH,
  GRPC_COMPRESS_LEVEL_COUNT,
} grpc_compression_level;
