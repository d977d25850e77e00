// OnTheWay: what of a connection's replies is produced and not yet all taken by the kernel, as references into the
// dispatcher's memory: whole replies whose stream the session has closed, and messages of replies that stream. In the
// order of the bytes, which leave in that order.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/queue.h"
#include "engine/grpc/call_stream.h"

namespace drover::engine {

class OnTheWay {
 public:
  // All that its stream has produced. Throws std::bad_alloc.
  void push_reply(CallStream& stream) { replies_.push(&stream); }
  // The oldest reply that is sent once the kernel has taken `sent` bytes in all, which leaves the list; or null.
  CallStream* next_reply(uint64_t sent) {
    const bool any = !replies_.empty() && replies_.front()->produced_until() <= sent;
    return any ? replies_.pop() : nullptr;
  }
  size_t replies() const { return replies_.size(); }
  // Costs what the list holds.
  bool has_reply(const CallStream& stream) {
    for (size_t i = 0; i < replies_.size(); ++i) {
      if (replies_.at(i) == &stream) return true;
    }
    return false;
  }

  // Makes the next push_part succeed. Throws std::bad_alloc.
  void reserve_part() { parts_.reserve(); }
  // The oldest part of stream.io->replies that is not in the list; its bytes end at `until`.
  void push_part(CallStream& stream, uint64_t until) { parts_.push({until, &stream}); }
  // As next_reply: the stream of the oldest part.
  CallStream* next_part(uint64_t sent) {
    while (!parts_.empty() && parts_.front().until <= sent) {
      if (CallStream* stream = parts_.pop().stream) return stream;
    }
    return nullptr;
  }
  // The stream is over, and what it produced is not all sent. Costs what the list holds.
  void forget_parts(const CallStream& stream) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_.at(i).stream == &stream) parts_.at(i).stream = nullptr;
    }
  }
  // Heap bytes.
  size_t memory() const { return replies_.memory() + parts_.memory(); }

 private:
  struct Part {
    uint64_t until = 0;
    CallStream* stream = nullptr;  // null: forgotten
  };
  Queue<CallStream*> replies_;
  Queue<Part> parts_;
};

}  // namespace drover::engine
