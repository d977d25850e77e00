// The header fields of one reply: what the dispatcher gave, copied, as gRPC puts it on the wire.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/call/call.h"
#include "engine/http2/session_handler.h"

namespace drover::engine {

class ReplyFields {
 public:
  static constexpr uint32_t kHttpOk = 200;

  void clear();
  // Copies the reply's fields; -bin values are encoded, and what would break the protocol is left out. `trailers_only`:
  // one block carries everything.
  void start(const Reply& reply, bool trailers_only);
  // The same in two steps, of a reply that streams.
  void start_headers(std::span<const Header> initial);
  void start_end(const Reply& reply, bool trailers_only);
  // After start or start_headers: what grpc-encoding and grpc-accept-encoding say. Neither is copied; empty: no field.
  void set_encoding(std::string_view encoding, std::string_view accepted) {
    encoding_ = encoding;
    accept_encoding_ = accepted;
  }
  // For a request that is not gRPC. A body of `body_size` bytes of text follows.
  void start_http_error(uint32_t http_status, size_t body_size) {
    http_status_ = http_status;
    http_body_ = body_size;
  }
  // Bytes that the larger of the blocks takes, as SETTINGS_MAX_HEADER_LIST_SIZE counts.
  size_t largest_block() const;
  // Heap bytes, about.
  size_t memory() const { return initial_size_ + trailing_size_ + message_.size(); }

  void write_headers(http2::FieldWriter& out) const;
  void write_trailers(http2::FieldWriter& out) const;

 private:
  static void copy(std::span<const Header> from, std::vector<Header>& to, size_t& size);
  void set_message(std::string_view message);

  uint32_t http_status_ = kHttpOk;  // another one: of an answer that is not gRPC
  size_t http_body_ = 0;
  StatusCode code_ = StatusCode::kOk;
  bool trailers_only_ = false;
  std::string_view encoding_, accept_encoding_;
  std::string message_;  // percent-encoded
  std::vector<Header> initial_;
  std::vector<Header> trailing_;
  size_t initial_size_ = 0;
  size_t trailing_size_ = 0;
};

}  // namespace drover::engine
