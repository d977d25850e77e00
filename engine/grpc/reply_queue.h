// ReplyQueue: the messages of a reply that streams, between the dispatcher and the session, in order.
//
//   push --> [ part | part | part ] --> one at a time is the stream's body --> produced --> taken by the kernel
//
// Small messages are copied, several into one part, as long as the stream holds less than kMaxCopied; the dispatcher
// needs nothing of them any more. Others are parts of their own that refer to the dispatcher's memory until the kernel
// has taken them. One that is to be compressed first waits, and with it those behind it.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codec/encode/encode_types.h"
#include "engine/base/charged_buffer.h"
#include "engine/base/queue.h"
#include "engine/grpc/grpc_wire.h"

namespace drover::engine {

class ReplyQueue {
 public:
  static constexpr size_t kCopiedMessage = 4 << 10;  // up to this size messages are copied
  static constexpr size_t kCopiedPart = 16 << 10;
  static constexpr size_t kMaxCopied = 64 << 10;

  struct Part {
    std::string copied;  // messages with their prefixes; empty: one message by reference
    char prefix[kGrpcPrefixBytes];
    std::span<const Piece> pieces;
    ChargedBuffer compressed;  // what is sent in place of what the pieces referred to
    Piece piece;               // of `copied` or `compressed`
    bool waits = false;        // to be compressed
    size_t size = 0;           // of what pieces refer to
    uint64_t until = 0;        // once it is produced: the offset behind it among all that the connection has produced
    bool is_copy() const { return !copied.empty(); }
    size_t bytes() const { return is_copy() ? size : size + kGrpcPrefixBytes; }
  };

  ReplyQueue() = default;
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;

  // Whether push copies a message of that size.
  bool copies(size_t size) const { return size <= kCopiedMessage && copied_ + size + kGrpcPrefixBytes <= kMaxCopied; }
  // The next message. True: it was copied. Throws std::bad_alloc; then nothing has changed.
  bool push(std::span<const Piece> pieces, size_t size, bool compressed = false);
  // The next message, which `bytes` are sent for: it counts as one by reference all the same.
  void push_compressed(ChargedBuffer bytes);
  // The next message, by reference, which waits to be compressed.
  void push_waiting(std::span<const Piece> pieces, size_t size);
  // The oldest message that waits; null: none.
  Part* waiting();
  // It waits no more: `bytes` are sent in its place, if it is not empty.
  static void stop_waiting(Part& part, ChargedBuffer bytes);

  // The oldest part that is not yet produced, to be the stream's body; null: none, or it waits.
  Part* next() { return empty() || parts_.at(next_)->waits ? nullptr : parts_.at(next_).get(); }
  // All parts are produced.
  bool empty() const { return next_ == parts_.size(); }
  // Whether next() is the last.
  bool is_last() const { return next_ + 1 == parts_.size(); }
  // next() is the body now: it changes no more.
  void begin() { in_body_ = true; }
  bool in_body() const { return in_body_; }
  // All of next() is produced. Returns it.
  Part& produced(uint64_t until);
  // The kernel has taken the oldest part. True: it was one by reference.
  bool sent();
  // Parts that are produced and not sent.
  size_t on_the_way() const { return next_; }
  // Parts by reference that are not sent.
  size_t referenced() const { return referenced_; }
  // Bytes that are produced whole parts; grows.
  uint64_t moved() const { return moved_; }
  size_t memory() const { return copied_; }
  void clear();

  // ---- progress, for the connection's sweep
  int64_t progress_ns = 0;
  uint64_t moved_before = 0;

 private:
  static void put_prefix(char* to, size_t size, bool compressed);
  static void append(std::string& to, std::span<const Piece> pieces, size_t size, bool compressed);
  Part& push_referenced(std::span<const Piece> pieces, size_t size);

  Queue<std::unique_ptr<Part>> parts_;
  size_t next_ = 0;        // of parts_: those before it are produced
  bool in_body_ = false;   // parts_[next_] is
  size_t copied_ = 0;      // bytes
  size_t referenced_ = 0;  // parts
  uint64_t moved_ = 0;
};

}  // namespace drover::engine
