// EntryRing: entries of one engine thread on their way to the writer's thread, in memory of a fixed size.
//
//   engine thread --push--> | size u32 | entry | size u32 | entry | ... --pop--> writer's thread
//
// Neither waits: an entry that finds no room is refused. One thread pushes, one pops.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codec/encode/encode_types.h"

namespace drover::engine::binary_log {

class EntryRing {
 public:
  // The memory is taken as it is first used.
  explicit EntryRing(size_t bytes);

  // The pieces together are an entry. False: no room.
  bool push(std::span<const Piece> pieces);
  // Bytes that wait.
  size_t waiting() const { return written_.load(std::memory_order_relaxed) - read_.load(std::memory_order_relaxed); }
  size_t capacity() const { return capacity_; }

  // Entries, each behind its length as a varint, until they are `most` bytes or more. Returns how many.
  size_t pop(size_t most, std::string* out);

 private:
  void put(size_t& at, const char* bytes, size_t size);
  void get(size_t& at, char* bytes, size_t size) const;

  const size_t capacity_;
  const std::unique_ptr<char[]> bytes_;
  alignas(64) std::atomic<size_t> written_{0};  // by the pushing thread; only grows
  size_t known_read_ = 0;                       // what read_ was at least
  alignas(64) std::atomic<size_t> read_{0};     // by the popping thread; only grows
};

}  // namespace drover::engine::binary_log
