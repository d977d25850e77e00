// Limits and time-outs of gRPC connections (the configuration's limits.* and http2.* keys).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/account.h"
#include "engine/compress/compression.h"
#include "engine/http2/ping_policy.h"

namespace drover::engine {

struct TransportOptions {
  uint32_t max_connections = 10'000;       // of the whole engine
  uint32_t max_concurrent_streams = 1000;  // a connection
  uint32_t max_header_bytes = 16 << 10;    // of one request, counted as HTTP/2 does (name + value + 32)
  uint32_t stream_window = 4 << 20;        // bytes
  uint32_t connection_window = 16 << 20;
  uint32_t reset_burst = 10'000;  // streams that a peer may cancel at once, and then a second
  uint32_t reset_rate = 2'000;
  uint32_t control_frame_rate = 10'000;  // PING, SETTINGS, PRIORITY, empty DATA ... a second, twice that at once
  http2::PingLimits pings;               // of a client's keep-alive
  int64_t handshake_timeout_ns = 20'000'000'000;      // for the preface and the first SETTINGS
  int64_t tls_handshake_timeout_ns = 10'000'000'000;  // before that
  int64_t idle_timeout_ns = 0;                        // connections without a stream; 0: never closed
  int64_t stall_timeout_ns = 60'000'000'000;  // a request or a reply that is slower than least_rate; 0: wait for ever
  uint32_t least_rate = 256;                  // bytes a second
  int64_t keepalive_ns = 7'200'000'000'000;   // without bytes from the peer, until it is asked; 0: never
  int64_t keepalive_timeout_ns = 20'000'000'000;  // for any bytes after that
  int64_t max_age_ns = 0;                         // of a connection, and a tenth more or less; 0: no limit
  int64_t max_age_grace_ns = 0;                   // for its calls after that; 0: no limit
  Compressions compressions{true, true};          // of messages: those that are supported
  int compression_level = 6;                      // zlib's, 1 to 9

  uint32_t spare_streams = 4096;  // ended calls whose memory an engine thread keeps for others

  // What clients may make one engine thread hold, and the calls that they may have in progress there.
  LedgerLimits ledger = {{{{size_t{320} << 20, 65'536}, {size_t{160} << 20, 32'768}, {size_t{64} << 20, 2'000}}},
                         256e6};
  uint32_t max_connections_per_address = 5'000;  // of the whole engine
};

}  // namespace drover::engine
