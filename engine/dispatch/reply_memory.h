// ReplyMemory: the heap memory of encoded replies that wait for their clients, on one engine thread, charged to the
// hosts whose replies they are. Bytes that stay in a host's region are not counted: they cost the engine nothing.
//
// A host may take as much again as it has only while that much is free: with n hosts that take all they can, each has
// 1/(n+1) of the whole, and a host that comes has the same. No host is refused because of another's replies unless it
// has its own share of them.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>

#include "engine/dispatch/call_table.h"

namespace drover::engine {

// One host's part. Lives until the host is gone and no reply of it holds anything.
struct ReplyAccount {
  size_t bytes = 0;
  bool host_gone = false;
};

class ReplyMemory {
 public:
  explicit ReplyMemory(size_t max_bytes) : max_bytes_(max_bytes) {}
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
  // What state.reply has is charged to `account` until let_go, also when its host is gone.
  void charge(CallState& state, ReplyAccount& account) {
    charge(account, state.reply->buffer_bytes());
    state.reply_host = &account;
  }
  void let_go(CallState& state) {
    ReplyAccount& account = *state.reply_host;
    discharge(account, state.reply->buffer_bytes());
    if (account.bytes == 0 && account.host_gone) [[unlikely]]
      delete &account;
  }
  // The host's link ends.
  static void end(ReplyAccount* account) {
    account->host_gone = true;
    if (account->bytes == 0) delete account;
  }

 private:
  const size_t max_bytes_;
  size_t bytes_ = 0;
};

}  // namespace drover::engine
