// The plan of a run and its counts: shared by all its connections, all of one thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/load/frame.h"
#include "bench/load/histogram.h"
#include "bench/load/hpack.h"
#include "bench/load/tls_client.h"

namespace drover::bench {

inline constexpr size_t kGrpcPrefixSize = 5;  // compressed flag, u32 length

struct LoadPlan {
  sockaddr_storage address = {};
  socklen_t address_size = 0;
  const TlsSettings* tls = nullptr;  // null: cleartext
  RequestBlocks headers;
  std::vector<uint8_t> message;               // the request with its gRPC prefix; also the reply that is expected
  bool expect_echo = true;                    // false: any well-formed single message will do
  bool unique = false;                        // the message's last 8 bytes become the call's number
  uint32_t streams = 1;                       // calls in flight on each connection
  uint32_t messages = 0;                      // in flight on each call, which streams both ways; 0: unary calls
  size_t max_frame_size = kDefaultFrameSize;  // that we allow the server
};

// What is said of calls here is true of messages where the calls stream.
struct LoadTally {
  // Set by the run.
  bool issuing = true;             // a finished call is followed by the next
  bool measuring = false;          // finished calls count
  int64_t calls_left = INT64_MAX;  // may still be issued

  uint64_t next_number = 0;
  uint64_t issued = 0;
  uint64_t succeeded = 0;  // over the whole run
  uint64_t measured = 0;   // succeeded while measuring
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  Histogram latency_ns;                      // of the measured calls
  std::map<int, uint64_t> grpc_errors;       // calls that ended in a status other than 0
  std::map<std::string, uint64_t> failures;  // calls and connections that ended in any other wrong way

  bool clean() const { return grpc_errors.empty() && failures.empty(); }
};

int64_t now_ns();

}  // namespace drover::bench
