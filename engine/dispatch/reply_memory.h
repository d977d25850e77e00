// ReplyMemory: the heap memory of encoded replies that wait for their clients, on one engine thread, charged to the
// hosts whose replies they are; and the buffers between two replies. Bytes that stay in a host's region are not
// counted: they cost the engine nothing.
//
// A host may take as much again as it has only while that much is free: with n hosts that take all they can, each has
// 1/(n+1) of the whole, and a host that comes has the same. No host is refused because of another's replies unless it
// has its own share of them.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "codec/compiler.h"
#include "codec/encode/encoded.h"
#include "engine/dispatch/call_table.h"

namespace drover::engine {

// One host's part. Lives until the host is gone and no reply of it holds anything.
struct ReplyAccount {
  size_t bytes = 0;
  bool host_gone = false;
};

class ReplyMemory {
 public:
  explicit ReplyMemory(size_t max_bytes) : max_bytes_(max_bytes) {
    spare_.reserve(kSpare);  // keeping takes no memory
  }
  ReplyMemory(const ReplyMemory&) = delete;
  ReplyMemory& operator=(const ReplyMemory&) = delete;

  // How much more memory that host may take now, and the most that it ever may.
  size_t room(const ReplyAccount& account) const {
    size_t taken = bytes_ + account.bytes;
    return taken < max_bytes_ ? (max_bytes_ - taken) / 2 : 0;
  }
  size_t most() const { return max_bytes_ / 2; }
  size_t bytes() const { return bytes_; }

  void charge(ReplyAccount& account, size_t bytes) {
    bytes_ += bytes;
    account.bytes += bytes;
  }
  void discharge(ReplyAccount& account, size_t bytes) {
    bytes_ -= bytes;
    account.bytes -= bytes;
  }
  // The call has these buffers, charged to `account`, until let_go, also when its host is gone.
  void give(CallState& state, std::unique_ptr<Encoded> encoded, ReplyAccount& account) {
    state.reply = encoded.release();
    state.reply_host = &account;
    charge(account, state.reply->buffer_bytes());
  }
  void let_go(CallState& state) { let_go(std::exchange(state.reply, nullptr), *state.reply_host); }
  void let_go(Encoded* reply, ReplyAccount& account) {
    discharge(account, reply->buffer_bytes());
    if (account.bytes == 0 && account.host_gone) [[unlikely]]
      delete &account;
    keep(std::unique_ptr<Encoded>(reply));
  }
  // The host's link ends.
  static void end(ReplyAccount* account) {
    account->host_gone = true;
    if (account->bytes == 0) delete account;
  }

  // ---- buffers between two replies, charged to no host
  DROVER_INLINE std::unique_ptr<Encoded> take() {
    if (spare_.empty()) [[unlikely]]
      return std::make_unique<Encoded>();
    std::unique_ptr<Encoded> encoded = std::move(spare_.back());
    spare_.pop_back();
    spare_bytes_ -= encoded->buffer_bytes();
    return encoded;
  }
  // For the next take(), unless they are large or many.
  void keep(std::unique_ptr<Encoded> encoded) {
    const size_t bytes = encoded->buffer_bytes();
    if (bytes > kSpareBytesOfOne || spare_bytes_ + bytes > kSpareBytes || spare_.size() >= kSpare) [[unlikely]]
      return;
    spare_bytes_ += bytes;
    spare_.push_back(std::move(encoded));
  }

 private:
  static constexpr size_t kSpareBytesOfOne = 64 << 10, kSpareBytes = 4 << 20, kSpare = 1024;

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::vector<std::unique_ptr<Encoded>> spare_;
  size_t spare_bytes_ = 0;
};

}  // namespace drover::engine
