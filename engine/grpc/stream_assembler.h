// StreamAssembler: takes the DATA of a request that streams and hands out its messages, each when it is whole. A
// message that lies inside one piece is not copied; any other is collected in a buffer that grows as it arrives,
// charged to the call's account.
//
// A message may be *held* by who takes it: it is kept, and so is what comes behind it, until resume().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "engine/base/account.h"
#include "engine/base/charged_buffer.h"
#include "engine/base/status.h"
#include "engine/grpc/grpc_wire.h"

namespace drover::engine {

class StreamAssembler {
 public:
  StreamAssembler() = default;
  StreamAssembler(const StreamAssembler&) = delete;
  StreamAssembler& operator=(const StreamAssembler&) = delete;
  ~StreamAssembler() = default;

  // What became of a message.
  enum class Took : uint8_t {
    kMore,  // the next one may come
    kOver,  // no further one is wanted
    kHeld,  // not yet
  };
  struct Message {
    std::string_view bytes;  // valid during the call
    bool compressed;
  };

  // For the next stream. `account`: may be null; it stays until clear().
  void start(Account* account, uint32_t max_bytes, Encoding encoding) {
    account_ = account;
    max_bytes_ = max_bytes;
    encoding_ = encoding;
    buffer_.start(account);
    behind_.start(account);
  }
  void clear();

  // deliver(Message) -> Took.
  template <typename Deliver>
  Status feed(const char* data, size_t size, Deliver deliver);
  // The message that is held; valid until resume().
  std::string_view held() const { return {buffer_.bytes()}; }
  bool holds() const { return held_; }
  bool held_compressed() const { return prefix_[0] != 0 && size_ != 0; }
  // Bytes that are held, with those behind them.
  size_t held_bytes() const { return held_ ? kGrpcPrefixBytes + size_ + behind_.size() - behind_at_ : 0; }
  // The message that was held has been taken: goes on behind it.
  template <typename Deliver>
  Status resume(Deliver deliver);
  // At the end of the stream.
  Status finish() const;

  // A message has begun that is not whole.
  bool partial() const { return prefix_bytes_ != 0 && !held_; }
  // Bytes that have come, of all messages.
  uint64_t received() const { return received_; }
  // Size of the message that has begun; 0: not known.
  uint32_t message_size() const { return prefix_bytes_ == kGrpcPrefixBytes ? size_ : 0; }
  // Where the next bytes belong, if a message is being collected.
  std::span<char> rest() const { return buffer_.rest(); }

 private:
  static constexpr size_t kFirstBuffer = 16 << 10;  // of a message that is still arriving; doubled as it comes

  template <typename Deliver>
  Status take(const char* data, size_t size, size_t* taken, Deliver deliver);
  Status collect(const char* data, size_t size);
  Status put_behind(const char* data, size_t size);

  Account* account_ = nullptr;
  uint32_t max_bytes_ = 0;
  Encoding encoding_ = Encoding::kNone;
  unsigned char prefix_[kGrpcPrefixBytes] = {};
  uint8_t prefix_bytes_ = 0;
  uint32_t size_ = 0;
  ChargedBuffer buffer_;  // the message's beginning
  bool held_ = false;
  ChargedBuffer behind_;  // what came behind a message that is held,
  size_t behind_at_ = 0;  // without what was taken of it since
  uint64_t received_ = 0;
};

template <typename Deliver>
Status StreamAssembler::feed(const char* data, size_t size, Deliver deliver) {
  received_ += size;
  if (held_) [[unlikely]]
    return put_behind(data, size);
  size_t taken = 0;
  Status error = take(data, size, &taken, deliver);
  if (error.ok() && held_) [[unlikely]]
    return put_behind(data + taken, size - taken);
  return error;
}

template <typename Deliver>
Status StreamAssembler::resume(Deliver deliver) {
  held_ = false;
  prefix_bytes_ = 0;
  buffer_.start(account_);
  size_t taken = 0;
  Status error = take(behind_.data() + behind_at_, behind_.size() - behind_at_, &taken, deliver);
  behind_at_ += taken;
  if (!held_) {
    behind_.start(account_);
    behind_at_ = 0;
  }
  return error;
}

// Up to a message that is held.
template <typename Deliver>
Status StreamAssembler::take(const char* data, size_t size, size_t* taken, Deliver deliver) {
  const char* const end = data + size;
  const char* const begin = data;
  while (data != end) {
    const auto left = static_cast<size_t>(end - data);
    if (prefix_bytes_ < kGrpcPrefixBytes) {
      const size_t part = std::min<size_t>(kGrpcPrefixBytes - prefix_bytes_, left);
      std::memcpy(prefix_ + prefix_bytes_, data, part);
      prefix_bytes_ = static_cast<uint8_t>(prefix_bytes_ + part);
      data += part;
      if (prefix_bytes_ < kGrpcPrefixBytes) return {};
      if (Status error = check_message_prefix(prefix_, max_bytes_, encoding_, &size_); !error.ok()) return error;
    }
    const size_t part = std::min<size_t>(static_cast<size_t>(end - data), size_ - buffer_.size());
    Message whole{{data, part}, prefix_[0] != 0};
    const bool view = part == size_ && buffer_.size() == 0;
    if (!view) {
      if (Status error = collect(data, part); !error.ok()) return error;
      if (buffer_.size() < size_) return {};
      whole.bytes = buffer_.bytes();
    }
    data += part;
    const Took took = deliver(whole);
    if (took == Took::kHeld) {
      held_ = true;
      *taken = static_cast<size_t>(data - begin);
      return view ? collect(whole.bytes.data(), part) : Status{};
    }
    prefix_bytes_ = 0;
    if (!view) buffer_.start(account_);
    if (took == Took::kOver) break;
  }
  return {};
}

}  // namespace drover::engine
