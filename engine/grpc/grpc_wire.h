// gRPC's wire protocol above HTTP/2 frames: header values and the five-byte message prefix. No sockets, no sessions:
// functions over bytes, and the assembler of one unary request.
//
//   request body:  | compressed u8 | length u32 big-endian | message ... |   exactly once, then end of stream
//
// Spec: grpc/doc/PROTOCOL-HTTP2.md. Codes and meaning follow gRPC C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/call/call.h"
#include "engine/compress/compression.h"

namespace drover::engine {

inline constexpr size_t kGrpcPrefixBytes = 5;

// "20S", "100m", ...: one to eight digits and a unit of H M S m u n. Nanoseconds, at most about 11,000 years cut to
// INT64_MAX; nothing if malformed.
std::optional<int64_t> parse_grpc_timeout(std::string_view value);

// Appends `message` as grpc-message carries it: bytes outside ' '..'~' and '%' itself become %XX.
void append_percent_encoded(std::string_view message, std::string& out);

// Base64 for -bin values. Decoding takes padded and unpadded text; false if it is malformed.
bool append_base64_decoded(std::string_view text, std::string& out);
void append_base64_encoded(std::string_view bytes, std::string& out);  // no padding

// A -bin header field may carry several values joined by commas; calls add(std::string&&) for each. False if one is
// malformed.
template <typename Add>
bool split_binary_values(std::string_view field, Add add) {
  while (true) {
    size_t comma = field.find(',');
    std::string_view one = field.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    std::string value;
    if (!append_base64_decoded(one, value)) return false;
    add(std::move(value));
    if (comma == std::string_view::npos) return true;
    field.remove_prefix(comma + 1);
  }
}

inline bool is_binary_header(std::string_view name) {
  return name.size() > 4 && std::memcmp(name.data() + name.size() - 4, "-bin", 4) == 0;
}

// "application/grpc", alone or followed by '+' and a sub-type of "proto" or by ';' parameters.
bool is_grpc_content_type(std::string_view value);

// Request headers that belong to the protocol and are not shown to the application. Pseudo headers included.
bool is_reserved_request_header(std::string_view name);
// Whether the application may send this name and (encoded) value as response metadata: legal characters, and not a
// name that the protocol itself uses.
bool is_legal_response_metadata(std::string_view name, std::string_view encoded_value);

// grpc-encoding's value as this engine sees it.
enum class Encoding : uint8_t { kNone, kIdentity, kDeflate, kGzip, kUnsupported };
// `known`: what may be used.
Encoding parse_encoding(std::string_view value, Compressions known);
// How a message with the compressed flag is compressed.
inline Compression compression_of(Encoding encoding) {
  return encoding == Encoding::kGzip ? Compression::kGzip : Compression::kDeflate;
}
// grpc-encoding's value.
std::string_view compression_name(Compression compression);
// The known ones of grpc-accept-encoding's value: names, separated by commas.
Compressions parse_accept_encoding(std::string_view value);
// grpc-accept-encoding's value.
std::string_view accept_encoding(Compressions known);
// The algorithm that gRPC chooses, of those that the client takes; kNone if it takes none that would do.
Compression choose_compression(Compress wish, Compressions taken);

// Checks the bytes in front of a message. Fills in its size, compressed or not.
Status check_message_prefix(const unsigned char (&prefix)[kGrpcPrefixBytes], uint32_t max_bytes, Encoding encoding,
                            uint32_t* size);

// Of a stream that ended inside a message: behind so many bytes of the prefix, and of the message.
Status message_cut_short(size_t prefix_bytes, size_t received, uint32_t size);

// Takes the DATA of one unary request, piece by piece, and ends with one message. A message that lies whole inside
// one piece is not copied: it is kept as a view until `spill` (the buffer is about to be reused) or `finish`.
//
// Bytes that were received where they belong (`rest`) are not copied either.
//
// `alloc(size, received)` gives memory for a message that must be copied, as CallSink::message_buffer does; empty:
// RESOURCE_EXHAUSTED, and nothing more may be fed.
class RequestAssembler {
 public:
  void reset() { *this = RequestAssembler(); }

  template <typename Alloc>
  Status feed(const char* data, size_t size, uint32_t max_bytes, Encoding encoding, Alloc alloc);
  // Copies a message that is still only a view.
  template <typename Alloc>
  Status spill(Alloc alloc);
  // At the end of the stream.
  Status finish() const;

  bool is_view() const { return view_ != nullptr; }
  // After finish() returned no error: the message if it is a view, else an empty view (it is in alloc's memory).
  std::string_view view() const { return view_ ? std::string_view(view_, size_) : std::string_view(); }
  // After finish() returned no error: the message, wherever it lies.
  std::string_view whole() const { return view_ ? view() : std::string_view(buffer_.data(), size_); }
  uint32_t message_size() const { return size_; }
  // The message has the compressed flag. Known before alloc is called.
  bool compressed() const { return prefix_[0] != 0; }
  // Where the message's next bytes belong, once alloc has given its memory.
  std::span<char> rest() const { return buffer_.empty() ? buffer_ : buffer_.subspan(filled_); }
  // Bytes of the message that have come.
  uint32_t received() const { return filled_; }

 private:
  static Status too_many_bytes();
  static Status no_memory();

  unsigned char prefix_[kGrpcPrefixBytes] = {};
  uint8_t prefix_bytes_ = 0;
  uint32_t size_ = 0;
  uint32_t filled_ = 0;
  const char* view_ = nullptr;
  std::span<char> buffer_;  // the message's beginning, or all of it
};

template <typename Alloc>
Status RequestAssembler::feed(const char* data, size_t size, uint32_t max_bytes, Encoding encoding, Alloc alloc) {
  if (prefix_bytes_ < kGrpcPrefixBytes) {
    size_t take = kGrpcPrefixBytes - prefix_bytes_;
    if (take > size) take = size;
    std::memcpy(prefix_ + prefix_bytes_, data, take);
    prefix_bytes_ = static_cast<uint8_t>(prefix_bytes_ + take);
    data += take;
    size -= take;
    if (prefix_bytes_ < kGrpcPrefixBytes) return {};
    if (Status error = check_message_prefix(prefix_, max_bytes, encoding, &size_); !error.ok()) return error;
    if (size >= size_) {
      view_ = size_ > 0 ? data : "";
      filled_ = size_;
      return size > size_ ? too_many_bytes() : Status{};
    }
  }
  if (size > size_ - filled_) return too_many_bytes();
  while (size > 0) {
    if (buffer_.size() == filled_) buffer_ = alloc(size_t{size_}, size_t{filled_});
    if (buffer_.size() <= filled_) return no_memory();
    const size_t take = std::min(size, buffer_.size() - filled_);
    if (data != buffer_.data() + filled_) std::memcpy(buffer_.data() + filled_, data, take);
    data += take;
    size -= take;
    filled_ += static_cast<uint32_t>(take);
  }
  return {};
}

template <typename Alloc>
Status RequestAssembler::spill(Alloc alloc) {
  if (view_ == nullptr || size_ == 0) return {};
  const char* from = view_;
  view_ = nullptr;
  filled_ = 0;
  while (filled_ < size_) {
    buffer_ = alloc(size_t{size_}, size_t{filled_});
    if (buffer_.size() <= filled_) return no_memory();
    const size_t take = buffer_.size() - filled_;
    std::memcpy(buffer_.data() + filled_, from + filled_, take);
    filled_ += static_cast<uint32_t>(take);
  }
  return {};
}

}  // namespace drover::engine
