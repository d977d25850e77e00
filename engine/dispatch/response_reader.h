// ResponseReader: from a COMPLETE slot to the client's answer: status, trailer, and with OK the response object's wire
// bytes. Everything in tx is taken as hostile: each word is read once, checked, and used.
//
//   read --> kReady                     the answer
//        --> kLong   --> begin_long     encoding takes longer than inline_ns: it begins anew, in slices (LongAnswer)
//        --> kNoRoom                    the host's part of the engine's memory is taken by replies that clients have
//                                       not read; to be tried again when wanted_bytes are free
//
// The encoded bytes lie in buffers of a ReplyMemory, or in the host's region.
//
// One encoding is bounded by the memory that its channel has, 4 fields for each byte of it and 128 Mi at most, and 4
// fields for each byte of output. An honest sparse message looks at each of its objects once, and objects have less
// than 4 fields a byte. That may be a second of work, of which other hosts notice no more than slices of HostTurns.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "channel/layout.h"
#include "codec/encode/encode.h"
#include "engine/call/call.h"
#include "engine/dispatch/call_records.h"
#include "engine/dispatch/call_table.h"
#include "engine/dispatch/long_answer.h"
#include "engine/dispatch/reply_memory.h"

namespace drover::engine {

class ResponseReader {
 public:
  struct Options {
    size_t max_response_bytes = 0x7fffffff;
    int64_t inline_ns = 300'000;  // how long an encoding may take before it goes on in slices
  };
  // `memory` outlives it.
  ResponseReader(const Options& options, ReplyMemory& memory) : options_(options), memory_(memory) {}
  ResponseReader(const ResponseReader&) = delete;
  ResponseReader& operator=(const ResponseReader&) = delete;

  enum class Outcome { kReady, kLong, kNoRoom };
  struct Answer {
    Outcome outcome = Outcome::kReady;
    Reply reply;              // kReady; valid until the next read; its message as long as state.reply
    bool lent = false;        // the message refers to the region, which must stay as it is until the transport is done
    size_t wanted_bytes = 0;  // kNoRoom
    int64_t long_since_ns = 0;  // not 0: the answer was not small, and took this thread's time since then
  };
  // The answer of `state`, which its host runs, or a step of it if the slot is a ReplyMessageSlot (is_step). What is
  // invalid is kInternal, with the reason, and ends the call. Fills in state.reply if the answer has a message that is
  // not empty.
  Answer read(CallState& state, const CompleteSlot& slot);
  // The initial metadata of a reply that does not stream, which come before it. What is invalid ends the call, as
  // above.
  Answer read_headers(const CallState& state, const CompleteSlot& slot);
  // After kLong: the same answer, in slices.
  std::unique_ptr<LongAnswer> begin_long(const CallState& state, const CompleteSlot& slot);
  // As read, once it is done; never kLong.
  Answer finish(CallState& state, LongAnswer& done);
  // As read, of a call whose reply was copied: its message is state.reply_copy.
  Answer copied(const CallState& state, const CompleteSlot& slot);
  // For a call whose reply found no room for too long.
  Answer no_room();
  // How many answers no_room gave instead of replies.
  uint64_t refused() const { return refused_; }

  // A CompleteSlot that is a ReplyMessageSlot: what both have lies at the same places.
  static bool is_step(const CompleteSlot& slot) {
    return slot.type == static_cast<uint8_t>(ResponseSlotType::kMessage);
  }

  // How much more memory the host's replies may take now.
  size_t room(const HostLink& link) const;

 private:
  // Of a call that has a StreamState, or of any other.
  template <bool kStream>
  Answer read_as(CallState& state, const CompleteSlot& slot);
  Answer read_stream(CallState& state, const CompleteSlot& slot);
  // Status and trailer. False: *answer is done.
  template <bool kStream>
  bool read_head(const CallState& state, const CompleteSlot& slot, Answer* answer);
  bool read_any_head(const CallState& state, const CompleteSlot& slot, Answer* answer);
  bool read_head_of_stream(const CallState& state, const CompleteSlot& slot, Answer* answer);
  bool read_compression(const CompleteSlot& slot, Answer* answer);
  bool read_trailer_of(const CallState& state, const CompleteSlot& slot, Answer* answer);
  template <bool kStream>
  void take_over(CallState& state, std::unique_ptr<Encoded> encoded, Answer* answer);
  void failed(const CallState& state, const EncodeResult& result, Answer* answer);
  Answer broken(std::string why);

  const Options options_;
  ReplyMemory& memory_;
  Trailer trailer_;   // used again and again
  std::string text_;  // of an invalid answer
  uint64_t refused_ = 0;
};

}  // namespace drover::engine
