// StreamState: what a call holds beyond its CallState if its request or its reply streams.
//
//   client -> input (wire bytes, no room at the host yet) -> at_host (objects in rx) -> consumed by the host
//   client <- steps (the transport refers to them)        <- put_off (slots behind an answer that waits) <- host
//
// Both at_host and steps are at most kMaxStreamMessages. `input` is what the client's flow-control window lets through,
// charged to the call's account.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "channel/chunk_pool.h"
#include "channel/layout.h"
#include "engine/base/queue.h"
#include "engine/dispatch/call_table.h"

namespace drover::engine {

// Wire messages in order, one behind the other.
class WireQueue {
 public:
  static constexpr size_t kOverhead = sizeof(uint32_t);  // of a message

  bool empty() const { return messages_ == 0; }
  uint32_t messages() const { return messages_; }
  // Bytes of the messages and their overhead.
  size_t size() const { return bytes_.size() - at_; }
  // Throws std::bad_alloc.
  void push(std::string_view wire) {
    const auto size = static_cast<uint32_t>(wire.size());
    bytes_.reserve(bytes_.size() + kOverhead + size);
    bytes_.append(reinterpret_cast<const char*>(&size), kOverhead);
    bytes_.append(wire);
    ++messages_;
  }
  // Valid until push or pop.
  std::string_view front() const {
    uint32_t size;
    std::memcpy(&size, bytes_.data() + at_, kOverhead);
    return {bytes_.data() + at_ + kOverhead, size};
  }
  void pop() {
    at_ += kOverhead + front().size();
    --messages_;
    if (at_ < bytes_.size() / 2) return;
    bytes_.erase(0, at_);  // each byte moves at most once for one that has gone
    at_ = 0;
  }
  void clear() { *this = WireQueue(); }

 private:
  std::string bytes_;
  size_t at_ = 0;  // of the front
  uint32_t messages_ = 0;
};

struct StreamState {
  // ---- the request
  // A message that the host has not consumed.
  struct AtHost {
    RunList runs;        // rx memory
    uint32_t bytes = 0;  // of wire
  };
  WireQueue input;
  Queue<AtHost> at_host;
  bool half_closed = false;      // the client sends no more
  bool told_last = false;        // and the host knows
  bool stalled = false;          // input waits for room in the ring or in rx
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

  // For the next call.
  void clear() {
    input.clear();
    at_host.clear();
    steps.clear();
    put_off.clear();
    half_closed = told_last = stalled = headers_sent = false;
    stalled_since_ns = 0;
  }
};

}  // namespace drover::engine
