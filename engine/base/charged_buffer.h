// ChargedBuffer: bytes that arrive or are made without their number being known before, on the heap, charged to an
// account (Resource::kMemory) by what the buffer has room for.
//
// Thread-safety: none; one engine thread. Nothing here throws.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/account.h"

namespace drover::engine {

class ChargedBuffer {
 public:
  ChargedBuffer() = default;
  ChargedBuffer(const ChargedBuffer&) = delete;
  ChargedBuffer& operator=(const ChargedBuffer&) = delete;
  ChargedBuffer(ChargedBuffer&& other) noexcept { swap(other); }
  ChargedBuffer& operator=(ChargedBuffer&& other) noexcept {
    ChargedBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~ChargedBuffer() { clear(); }

  // Empties the buffer. What it takes from now on is charged to `account`; null: it is not charged. The account stays
  // until clear().
  void start(Account* account) {
    clear();
    account_ = account;
  }
  // Frees everything.
  void clear() {
    if (account_ != nullptr) account_->release(Resource::kMemory, capacity_);
    std::free(data_);
    data_ = nullptr;
    capacity_ = size_ = 0;
    account_ = nullptr;
  }
  // Room for so many bytes in all; those that are there stay, perhaps elsewhere. False: over the account's budget, or
  // no memory; nothing has changed.
  bool reserve(size_t capacity) {
    if (capacity <= capacity_) return true;
    const size_t more = capacity - capacity_;
    if (account_ != nullptr && !account_->charge(Resource::kMemory, more)) return false;
    void* data = std::realloc(data_, capacity);
    if (data == nullptr) {
      if (account_ != nullptr) account_->release(Resource::kMemory, more);
      return false;
    }
    data_ = static_cast<char*>(data);
    capacity_ = capacity;
    return true;
  }
  // More room than it has: twice as much, at least `first`, at most `most` in all. False also if it has that.
  bool grow(size_t first, size_t most) {
    const size_t capacity = std::min(most, std::max(first, 2 * capacity_));
    return capacity > capacity_ && reserve(capacity);
  }

  // The bytes that count: fill rest() from its front, then say how many with add().
  std::string_view bytes() const { return {data_, size_}; }
  std::span<char> rest() const { return {data_ + size_, capacity_ - size_}; }
  void add(size_t bytes) { size_ += bytes; }
  // Takes so many away at the front: the others move there. The room stays.
  void drop_front(size_t bytes) {
    size_ -= bytes;
    if (size_ != 0) std::memmove(data_, data_ + bytes, size_);
  }
  char* data() { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

 private:
  void swap(ChargedBuffer& other) {
    std::swap(account_, other.account_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
  }

  Account* account_ = nullptr;
  char* data_ = nullptr;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

}  // namespace drover::engine
