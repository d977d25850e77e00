// The seam inside the engine: what the transport (sockets, HTTP/2, gRPC's wire protocol) and the dispatcher
// (hosts, regions, rings, codec) say to each other about a call. Neither knows more of the other than this file.
//
//   client -> transport --begin_call/message_buffer/request_complete/abandon--> CallSink (dispatcher) -> host
//   client <- transport <-------------------reply------------------------------ dispatcher        <- host
//
// Everything here happens on one engine thread; threads share nothing. A Call is owned by the transport's stream
// and lives until both have let go: the transport calls `abandon` or `reply_sent` exactly once per begun call,
// after which the dispatcher never touches it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/encode/encode.h"
#include "engine/base/clock.h"

namespace drover::engine {

// grpc/status.h's numbers.
enum class GrpcCode : uint32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// Names and values as the application sees them: -bin values are decoded bytes, names are lower case.
using Header = std::pair<std::string, std::string>;

class MethodMetrics;  // engine/base/metrics.h

struct Call {
  // Filled in by the transport before begin_call.
  std::string_view path;              // "/package.Service/Method"; valid during begin_call only
  std::string_view authority;         // valid while the call lives
  std::string_view peer;              // "ipv4:127.0.0.1:4711"; valid while the call lives
  uint32_t listener = 0;              // id from Transport::listen
  int64_t deadline_ns = kNoDeadline;  // CLOCK_MONOTONIC
  int64_t start_ns = 0;               // CLOCK_MONOTONIC, when the request's headers had arrived
  std::vector<Header> metadata;       // custom metadata and user-agent; no pseudo or reserved grpc- headers

  // Filled in by the dispatcher in begin_call.
  uint32_t max_request_bytes = 4u << 20;
  MethodMetrics* metrics = nullptr;

  // The dispatcher's own.
  void* dispatch = nullptr;
};

// How a call ends. Pieces and buffers belong to the dispatcher and stay as they are until reply_sent.
struct Reply {
  GrpcCode code = GrpcCode::kOk;
  std::string_view message;          // raw UTF-8; the transport percent-encodes it
  std::span<const Header> initial;   // copied by the transport before `reply` returns
  std::span<const Header> trailing;  // likewise
  bool has_body = false;             // with code kOk: exactly one response message follows (maybe of 0 bytes)
  std::span<const Piece> body;       // its encoded bytes, in order
  size_t body_size = 0;
};

// The dispatcher, as the transport sees it.
class CallSink {
 public:
  struct Start {
    GrpcCode code = GrpcCode::kOk;  // not kOk: answer at once (trailers-only), the call has not begun
    std::string message;
  };
  virtual Start begin_call(Call& call) = 0;

  // Memory for a request of `size` bytes (known from the gRPC prefix) that does not arrive in one piece: from the
  // region if it has room, else from the heap. Null: there is too little of both; the transport ends the call
  // (abandon) with RESOURCE_EXHAUSTED and drops the rest of the request.
  virtual char* message_buffer(Call& call, size_t size) = 0;
  // Bytes received so far need not be re-granted to the peer's window while this is true (the region is full).
  virtual bool hold_window(const Call& call) const = 0;

  // The request is whole: either `wire` (valid during this call only), or, if message_buffer was asked for, there.
  // The reply may come during this call.
  virtual void request_complete(Call& call, std::string_view wire) = 0;

  // The client cancelled, the stream broke or the connection closed before a reply was given, or after it but
  // before all of it was sent; the call is over.
  virtual void abandon(Call& call) = 0;
  // All of the reply has been handed to the kernel; the call is over.
  virtual void reply_sent(Call& call) = 0;

 protected:
  ~CallSink() = default;
};

// The transport, as the dispatcher sees it.
class ReplySink {
 public:
  // Ends the call. At most once per call.
  virtual void reply(Call& call, const Reply& reply) = 0;

 protected:
  ~ReplySink() = default;
};

}  // namespace drover::engine
