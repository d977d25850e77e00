// ZlibMemory: what a stream of zlib's allocates, charged to an account as it does, and bounded. An allocation that is
// refused makes zlib report Z_MEM_ERROR; nothing throws or ends the process.
//
// Thread-safety: none; one engine thread.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdlib>

#include "engine/base/account.h"

namespace drover::engine {

class ZlibMemory {
 public:
  // Of one stream. Deflating takes 268 KB with a window of 32 KiB, inflating 40 KB (zlib's zconf.h).
  static constexpr size_t kMostBytes = 320 << 10;

  ZlibMemory() = default;
  ZlibMemory(const ZlibMemory&) = delete;
  ZlibMemory& operator=(const ZlibMemory&) = delete;

  // Before the stream's first use. It refers to this object from now on.
  void attach(z_stream& stream) {
    stream.zalloc = allocate;
    stream.zfree = free;
    stream.opaque = this;
  }
  // The account of the message that the stream works on; null: the stream waits for a later message, uncharged. False:
  // over the account's budget.
  bool charge_to(Account* account) {
    if (account != nullptr && !account->charge(Resource::kMemory, bytes_)) return false;
    if (account_ != nullptr) account_->release(Resource::kMemory, bytes_);
    account_ = account;
    return true;
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kHeader = 16;  // in front of each block: its size

  static void* allocate(void* self, uInt items, uInt size) {
    auto& memory = *static_cast<ZlibMemory*>(self);
    const size_t bytes = size_t{items} * size + kHeader;
    if (bytes > kMostBytes - memory.bytes_) return nullptr;
    if (memory.account_ != nullptr && !memory.account_->charge(Resource::kMemory, bytes)) return nullptr;
    auto* block = static_cast<size_t*>(std::malloc(bytes));
    if (block == nullptr) {
      if (memory.account_ != nullptr) memory.account_->release(Resource::kMemory, bytes);
      return nullptr;
    }
    *block = bytes;
    memory.bytes_ += bytes;
    return reinterpret_cast<char*>(block) + kHeader;
  }
  static void free(void* self, void* at) {
    if (at == nullptr) return;
    auto& memory = *static_cast<ZlibMemory*>(self);
    auto* block = reinterpret_cast<size_t*>(static_cast<char*>(at) - kHeader);
    memory.bytes_ -= *block;
    if (memory.account_ != nullptr) memory.account_->release(Resource::kMemory, *block);
    std::free(block);
  }

  Account* account_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace drover::engine
