// StreamAssembler: takes the DATA of a request that streams and hands out its messages, each when it is whole. A
// message that lies inside one piece is not copied; any other is collected in a buffer that grows as it arrives,
// charged to the call's account.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "engine/base/account.h"
#include "engine/base/status.h"
#include "engine/grpc/grpc_wire.h"

namespace drover::engine {

class StreamAssembler {
 public:
  StreamAssembler() = default;
  StreamAssembler(const StreamAssembler&) = delete;
  StreamAssembler& operator=(const StreamAssembler&) = delete;
  ~StreamAssembler() { clear(); }

  // For the next stream. `account`: may be null; it stays until clear().
  void start(Account* account, uint32_t max_bytes, Encoding encoding) {
    account_ = account;
    max_bytes_ = max_bytes;
    encoding_ = encoding;
  }
  void clear();

  // deliver(std::string_view message) -> bool: whether to go on. The view is valid during the call.
  template <typename Deliver>
  Status feed(const char* data, size_t size, Deliver deliver);
  // At the end of the stream.
  Status finish() const;

  // A message has begun that is not whole.
  bool partial() const { return prefix_bytes_ != 0; }
  // Bytes that have come, of all messages.
  uint64_t received() const { return received_; }
  // Size of the message that has begun; 0: not known.
  uint32_t message_size() const { return prefix_bytes_ == kGrpcPrefixBytes ? size_ : 0; }
  // Where the next bytes belong, if a message is being collected.
  std::span<char> rest() const {
    return buffer_ == nullptr ? std::span<char>() : std::span<char>(buffer_.get() + filled_, capacity_ - filled_);
  }
  size_t memory() const { return capacity_; }

 private:
  static constexpr size_t kFirstBuffer = 16 << 10;  // of a message that is still arriving; doubled as it comes

  bool grow();
  Status collect(const char* data, size_t size);
  void drop_buffer();

  Account* account_ = nullptr;
  uint32_t max_bytes_ = 0;
  Encoding encoding_ = Encoding::kNone;
  unsigned char prefix_[kGrpcPrefixBytes] = {};
  uint8_t prefix_bytes_ = 0;
  uint32_t size_ = 0;
  size_t filled_ = 0;  // of the message
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  uint64_t received_ = 0;
};

template <typename Deliver>
Status StreamAssembler::feed(const char* data, size_t size, Deliver deliver) {
  received_ += size;
  while (size > 0) {
    if (prefix_bytes_ < kGrpcPrefixBytes) {
      const size_t take = std::min<size_t>(kGrpcPrefixBytes - prefix_bytes_, size);
      std::memcpy(prefix_ + prefix_bytes_, data, take);
      prefix_bytes_ = static_cast<uint8_t>(prefix_bytes_ + take);
      data += take;
      size -= take;
      if (prefix_bytes_ < kGrpcPrefixBytes) return {};
      if (Status error = check_message_prefix(prefix_, max_bytes_, encoding_, &size_); !error.ok()) return error;
    }
    const size_t take = std::min<size_t>(size, size_ - filled_);
    std::string_view whole{data, take};
    if (take < size_ || filled_ > 0) {
      if (Status error = collect(data, take); !error.ok()) return error;
      if (filled_ < size_) return {};
      whole = {buffer_.get(), size_};
    }
    data += take;
    size -= take;
    prefix_bytes_ = 0;
    filled_ = 0;
    const bool go_on = deliver(whole);
    drop_buffer();
    if (!go_on) return {};
  }
  return {};
}

}  // namespace drover::engine
