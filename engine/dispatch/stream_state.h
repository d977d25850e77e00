// StreamState: what a call holds beyond its CallState if its request or its reply streams.
//
//   client -> input (wire bytes, no room at the host yet) -> at_host (objects in rx) -> consumed by the host
//   client <- steps (the transport refers to them)        <- put_off (slots behind an answer that waits) <- host
//
// Both at_host and steps are at most kMaxStreamMessages. `input` is what the client's flow-control window lets through,
// charged to the call's account.
// Thread-safety: none; one engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "channel/chunk_pool.h"
#include "channel/layout.h"
#include "engine/base/queue.h"
#include "engine/call/engine_answer.h"
#include "engine/dispatch/call_table.h"

namespace drover::engine {

// Wire messages in order, in blocks. A message stays where it is until it is popped.
class WireQueue {
 public:
  static constexpr size_t kOverhead = sizeof(uint32_t);  // of a message

  bool empty() const { return messages_ == 0; }
  uint32_t messages() const { return messages_; }
  // Bytes of the messages and their overhead.
  size_t size() const { return size_; }
  // Throws std::bad_alloc.
  void push(std::string_view wire) {
    const auto size = static_cast<uint32_t>(wire.size());
    const size_t whole = kOverhead + wire.size();
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < whole) {
      std::string block;
      block.reserve(std::max(whole, blocks_.empty() ? kFirstBlock : kBlock));
      blocks_.push(std::move(block));
    }
    std::string& block = blocks_.back();
    block.append(reinterpret_cast<const char*>(&size), kOverhead);
    block.append(wire);
    size_ += whole;
    ++messages_;
  }
  // Valid until pop.
  std::string_view front() {
    uint32_t size;
    std::memcpy(&size, blocks_.front().data() + at_, kOverhead);
    return {blocks_.front().data() + at_ + kOverhead, size};
  }
  void pop() {
    const size_t whole = kOverhead + front().size();
    at_ += whole;
    size_ -= whole;
    --messages_;
    if (at_ < blocks_.front().size()) return;
    blocks_.pop();
    at_ = 0;
  }
  void clear() {
    blocks_.clear();
    at_ = size_ = 0;
    messages_ = 0;
  }

 private:
  static constexpr size_t kFirstBlock = 512, kBlock = 16 << 10;

  Queue<std::string> blocks_;
  size_t at_ = 0;  // of the front, in the first block
  size_t size_ = 0;
  uint32_t messages_ = 0;
};

struct StreamState {
  // The call's path until a worker has the call, if its method is kMethodAny; charged as input.
  std::string path;

  // ---- the request
  // A message that the host has not consumed.
  struct AtHost {
    RunList runs;        // rx memory
    uint32_t bytes = 0;  // of wire
  };
  WireQueue input;
  Queue<AtHost> at_host;
  uint64_t chunks_at_host = 0;   // of all of them
  bool half_closed = false;      // the client sends no more
  bool told_last = false;        // and the host knows
  bool stalled = false;          // input waits for room in the ring or in rx, or for the engine's own answer
  int64_t stalled_since_ns = 0;  // 0: the last message found room

  // ---- the reply
  // A step that the transport refers to.
  struct Step {
    Encoded* reply = nullptr;  // as the CallState's members of these names
    size_t reply_memory = 0;
    size_t reply_lent = 0;
    std::unique_ptr<Piece> reply_copy;
    std::unique_ptr<char, FreeDeleter> reply_bytes;
    ReplyAccount* reply_host = nullptr;
    uint32_t tx_call = 0;
  };
  Queue<Step> steps;
  Queue<CompleteSlot> put_off;  // MESSAGEs and the COMPLETE, in order
  bool headers_sent = false;

  // ---- of a call that the engine answers itself (EngineService): what the transport refers to
  std::unique_ptr<EngineAnswer> answer;
  size_t answer_memory = 0;  // that was charged for it

  // For the next call.
  void clear() {
    input.clear();
    at_host.clear();
    chunks_at_host = 0;
    steps.clear();
    put_off.clear();
    answer.reset();
    half_closed = told_last = stalled = headers_sent = false;
    stalled_since_ns = 0;
  }
};

}  // namespace drover::engine
