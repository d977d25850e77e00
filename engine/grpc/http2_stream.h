// One request stream: the call as the dispatcher knows it, what the transport must remember about the request, and
// what of the reply is still to be sent. Streams are pooled by Http2Context; their strings keep their capacity.
//
//   headers ----> begun ----> request_done ----> replied ----> (nghttp2 closes it) ----> all bytes at the kernel
//                   \____________ abandon ___________/
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/call/call.h"
#include "engine/grpc/grpc_wire.h"

namespace drover::engine {

class Http2Connection;

// One header field that nghttp2 decoded, held by reference count.
class HeldBuffer {
 public:
  HeldBuffer() = default;
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  ~HeldBuffer() { reset(); }

  void hold(nghttp2_rcbuf* buffer) {
    nghttp2_rcbuf_incref(buffer);
    reset();
    buffer_ = buffer;
  }
  void reset() {
    if (buffer_) nghttp2_rcbuf_decref(buffer_);
    buffer_ = nullptr;
  }
  explicit operator bool() const { return buffer_ != nullptr; }
  std::string_view view() const {
    if (!buffer_) return {};
    nghttp2_vec v = nghttp2_rcbuf_get_buf(buffer_);
    return {reinterpret_cast<const char*>(v.base), v.len};
  }

 private:
  nghttp2_rcbuf* buffer_ = nullptr;
};

// The bytes of the one response message, prefix included, taken from the front.
class ReplyBody {
 public:
  void start(std::span<const Piece> pieces, size_t size) {
    prefix_[0] = 0;
    for (int i = 0; i < 4; ++i) prefix_[1 + i] = static_cast<char>(size >> (24 - 8 * i));
    prefix_sent_ = 0;
    pieces_ = pieces;
    offset_ = 0;
    left_ = size + kGrpcPrefixBytes;
  }
  size_t left() const { return left_; }

  // Hands out exactly `size` bytes (at most left()), as visit(const char*, size_t) in order.
  template <typename Visit>
  void take(size_t size, Visit visit) {
    left_ -= size;
    while (size > 0) {
      const char* from;
      size_t have;
      if (prefix_sent_ < kGrpcPrefixBytes) {
        from = prefix_ + prefix_sent_;
        have = std::min(size, kGrpcPrefixBytes - prefix_sent_);
        prefix_sent_ += have;
      } else {
        if (offset_ == pieces_.front().size) {
          pieces_ = pieces_.subspan(1);
          offset_ = 0;
          continue;
        }
        from = pieces_.front().data + offset_;
        have = std::min(size, pieces_.front().size - offset_);
        offset_ += have;
      }
      visit(from, have);
      size -= have;
    }
  }

 private:
  char prefix_[kGrpcPrefixBytes];
  size_t prefix_sent_ = 0;
  std::span<const Piece> pieces_;
  size_t offset_ = 0;  // in the first of pieces_
  size_t left_ = 0;
};

struct Stream : Call {
  Http2Connection* connection = nullptr;
  int32_t id = 0;
  Stream* previous = nullptr;  // the connection's streams
  Stream* next = nullptr;

  // The request.
  HeldBuffer path_header;
  HeldBuffer authority_header;
  std::string encoding_name;  // grpc-encoding, if it is one we do not have
  uint32_t header_bytes = 0;
  int64_t timeout_ns = kNoDeadline;
  Encoding encoding = Encoding::kNone;
  bool is_post = false;
  bool is_grpc = false;
  bool bad_timeout = false;
  bool bad_binary = false;
  bool too_large = false;  // headers over the limit

  bool begun = false;          // open succeeded, and neither abandon nor reply_sent was called
  bool ignore_data = false;    // answered (or being answered): what else comes is dropped
  bool request_done = false;   // message was called
  bool remote_closed = false;  // the client's END_STREAM arrived
  bool replied = false;
  bool view_listed = false;  // in the connection's list of messages that lie in the receive buffer
  bool failed = false;       // nghttp2 closed it with an error
  RequestAssembler assembler;
  uint32_t held_stream = 0;      // received bytes not yet re-granted to the stream's window
  uint32_t held_connection = 0;  // and to the connection's

  // The reply.
  ReplyBody body;
  StatusCode code = StatusCode::kOk;
  std::string status_message;    // percent-encoded
  std::vector<Header> trailers;  // as they go out (-bin encoded)
  uint64_t end_offset = 0;       // in the connection's bytes, behind the last one of this reply
  int64_t progress_ns = 0;       // when the request, then the reply, last moved
};

}  // namespace drover::engine
