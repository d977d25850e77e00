// One call of a connection: a stream of HTTP/2, the call as the dispatcher knows it, and what gRPC must remember of
// its request and reply. Pooled by GrpcContext.
//
//   headers ----> begun ----> request_done ----> replied ----> (the session closes it) ----> all bytes at the kernel
//                   \____________ abandon ___________/
#pragma once

#include <cstdint>
#include <memory>

#include "engine/binary_log/call_logger.h"
#include "engine/call/call.h"
#include "engine/grpc/call_trace.h"
#include "engine/grpc/grpc_wire.h"
#include "engine/grpc/message_coding.h"
#include "engine/grpc/reply_fields.h"
#include "engine/grpc/request_head.h"
#include "engine/grpc/stream_io.h"
#include "engine/http2/stream.h"

namespace drover::engine {

class GrpcConnection;

struct CallStream : http2::Stream, Call {
  const RequestHead& request() const { return static_cast<const RequestHead&>(*head()); }
  // For the next call.
  void reset();

  GrpcConnection* connection = nullptr;
  bool begun = false;         // open succeeded, and neither abandon nor reply_sent was called
  bool ignore_data = false;   // answered (or being answered): what else comes is dropped
  bool request_done = false;  // message was called
  uint32_t http_error = 0;    // not gRPC: the HTTP status to answer with, once the request has ended
  bool replied = false;
  bool headers_sent = false;     // of a reply that does not stream: before the reply
  bool view_listed = false;      // in the connection's list of messages that lie in the receive buffer
  bool failed = false;           // it was reset
  RequestAssembler assembler;    // unless the request streams
  std::unique_ptr<StreamIo> io;  // of a call that streams, and perhaps of an earlier one
  bool streams() const { return request_streams || reply_streams; }
  uint32_t held = 0;  // received bytes that are kept from the connection's window while the call waits
  std::unique_ptr<MessageCoding> coding;  // once a message of the call is compressed
  std::unique_ptr<CallTrace> trace;       // of a call that the engine has a span for
  binary_log::LoggedCall log;             // new, unless the call is logged
  ReplyFields reply;
  int64_t progress_ns = 0;           // when the request, then the reply, last moved as much as it must,
  size_t moved_before = 0;           // and how far it had come then: bytes received, then bytes that are left to send
  CallStream* next_dying = nullptr;  // in GrpcContext's list
};

inline void CallStream::reset() {
  reset_stream();
  static_cast<Call&>(*this) = Call();
  begun = ignore_data = request_done = replied = headers_sent = view_listed = failed = false;
  http_error = 0;
  assembler.reset();
  held = 0;
  reply.clear();
  if (io != nullptr) io->clear();
  if (coding != nullptr) [[unlikely]]
    coding.reset();
  moved_before = 0;
}

}  // namespace drover::engine
