// ReplyQueue: reply messages of one stream, from Write until the engine has released them.
//
//   the writer:  put(message)  ->  a copy in tx      the leader:  next() -> MESSAGE ... release(), in any order
//
// What a stream may hold is bounded: kMaxStreamMessages that are not released, and kMostBytes and one message of any
// size. Small messages are copied into a ring of kRingBytes of tx, which the stream takes at its first message; others
// have a run of chunks each. Memory is reclaimed in the order of writing.
//
// Threads: one writer and one leader at a time, which may be the same thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "channel/channel_format.h"
#include "channel/chunk_pool.h"
#include "host/engine_link.h"
#include "message/message.h"
#include "schema/message_type.h"

namespace drover::host {

class Call;

class ReplyQueue {
 public:
  explicit ReplyQueue(EngineLink& link) : link_(link) {}
  ~ReplyQueue() { reset(); }
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;

  static constexpr uint64_t kMostBytes = 1 << 20;
  static constexpr uint32_t kRingChunks = 2;
  static constexpr uint32_t kRingBytes = kRingChunks * kChunkSize;

  // ---- the writer
  // Whether put would find room as far as the stream's own bounds go: a message may be written as long as fewer than
  // kMostBytes are not released, so that one of any size may.
  bool has_room() const {
    return written_.load(std::memory_order_relaxed) - reclaimed_.load(std::memory_order_acquire) < kMaxStreamMessages &&
           bytes_written_ - bytes_reclaimed_.load(std::memory_order_acquire) < kMostBytes;
  }
  enum class Put { kDone, kNoMemory, kTooLarge, kTooDeep };
  // The engine has released all that was written.
  bool all_reclaimed() const {
    return written_.load(std::memory_order_relaxed) == reclaimed_.load(std::memory_order_acquire);
  }
  // Needs has_room. Null: no message, but the call's initial metadata alone. The first message takes that along.
  // `as_it_is`: the message is not to be compressed.
  Put put(Call& call, const Message* message, bool as_it_is = false);

  // ---- the leader
  struct Outgoing {
    uint64_t response, trailer;  // as in ReplyMessageSlot
    uint32_t index;              // for release
    bool headers_only, as_it_is;
    uint8_t compression;  // as Call::compression
  };
  // The next message that was written and not given out yet.
  bool next(Outgoing* out);
  // False: it is not with the engine.
  bool release(uint32_t index);
  // Nothing is with the engine.
  bool all_released() const { return reclaimed_.load(std::memory_order_relaxed) == given_; }
  // Frees everything.
  void reset();

 private:
  struct Entry {
    uint64_t response, trailer;
    ChunkRun run;       // 0 chunks: in the ring, or without memory
    uint32_t ring_end;  // of the ring as it was after this message
    uint32_t bytes;
    bool headers_only, as_it_is;
    uint8_t compression;
    bool released;
  };

  bool put_in_ring(const schema::MessageType& type, const Message& message, Entry* entry);
  bool put_at(uint32_t position, const schema::MessageType& type, const Message& message, Entry* entry);
  Put put_in_run(Call& call, const Message* message, Entry* entry);
  void reclaim(Entry& entry);

  EngineLink& link_;
  std::array<Entry, kMaxStreamMessages> entries_;
  // Counts of messages; entry n is entries_[n % kMaxStreamMessages].
  std::atomic<uint32_t> written_{0};
  uint32_t given_ = 0;
  std::atomic<uint32_t> reclaimed_{0};
  uint64_t bytes_written_ = 0;
  std::atomic<uint64_t> bytes_reclaimed_{0};
  char* ring_ = nullptr;
  uint32_t ring_next_ = 0;  // positions count on, and wrap at kRingBytes
  std::atomic<uint32_t> ring_freed_{0};
  bool metadata_sent_ = false;
};

}  // namespace drover::host
