// LongAnswer: a response whose encoding takes longer than one turn may give to a host. It is encoded on a Fiber, in
// slices, while its call waits for it; the host's other answers wait behind it.
//
// The object lies in memory that the host can write: the encoder checks each word as it reads it, so it does not matter
// that the host goes on meanwhile. The host's link outlives it (HostLink owns it).
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <memory>

#include "channel/layout.h"
#include "codec/encode/encode.h"
#include "engine/base/fiber.h"
#include "engine/dispatch/reply_memory.h"

namespace drover::engine {

class LongAnswer {
 public:
  // `options` without bounds and pause. `account` is charged with the buffers as they grow.
  LongAnswer(const CompleteSlot& slot, const schema::MessageType& type, const Message* object, const Bounds& bounds,
             const EncodeOptions& options, ReplyMemory& memory, ReplyAccount& account);
  ~LongAnswer();  // ends the encode and frees what it has
  LongAnswer(const LongAnswer&) = delete;
  LongAnswer& operator=(const LongAnswer&) = delete;

  // Of the answer. The call is named by it.
  const CompleteSlot& slot() const { return slot_; }
  // Goes on until it is done or that time has come (CLOCK_MONOTONIC). True: it is done.
  bool step(int64_t end_ns);
  // Once it is done. The pieces are in take()'s, whose memory is no longer charged; null if it failed.
  const EncodeResult& result() const { return result_; }
  std::unique_ptr<Encoded> take();

 private:
  static bool pause(void* self);
  bool pause_if_due();
  void charge();

  const CompleteSlot slot_;
  const schema::MessageType type_;
  const Message* const object_;
  const Bounds bounds_;
  EncodeOptions options_;
  ReplyMemory& memory_;
  ReplyAccount& account_;
  std::unique_ptr<Encoded> encoded_;
  size_t charged_ = 0;
  EncodeResult result_;
  Fiber fiber_;
  int64_t end_ns_ = 0;
  bool stop_ = false;
};

}  // namespace drover::engine
