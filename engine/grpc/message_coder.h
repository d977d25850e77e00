// MessageCoder: decompresses the requests and compresses the replies of one connection (gRPC's message encodings,
// grpc/doc/compression.md), in turns of bounded time.
//
//   begin_...(message) --> at once, as far as the turn's time for that goes --> over
//                              '--> waits --> work(): slices of later turns --> over
//
// A message that waits stays where it is. Those that wait at a connection are worked on one after the other, requests
// and replies in turn; what is not compressed does not wait for them. So one request and one reply of a connection are
// half done at most: one that comes beside them and is not over at once begins anew when its turn comes. All that a
// message takes is charged to the connection, with zlib's state. A request of a call that has ended is let go of.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "codec/encode/encode_types.h"
#include "engine/base/account.h"
#include "engine/base/status.h"
#include "engine/compress/deflater.h"
#include "engine/compress/inflater.h"
#include "engine/grpc/call_stream.h"
#include "engine/grpc/coder_pool.h"

namespace drover::engine {

class MessageCoder {
 public:
  // Both outlive it.
  MessageCoder(CoderPool& pool, Account& account, int level) : pool_(pool), account_(account), level_(level) {}
  MessageCoder(const MessageCoder&) = delete;
  MessageCoder& operator=(const MessageCoder&) = delete;

  // What the stream has beside itself; made now if it has none.
  static MessageCoding& coding_of(CallStream& stream);

  // The functions that begin return whether the message is over; else add_request or add_reply makes it go on later.

  // ---- requests
  bool begin_request(CallStream& stream, std::string_view message, int64_t turn_ns);
  // `message`: where it is now.
  void add_request(CallStream& stream, std::string_view message);
  // One that is over, apart from the stream: to give it to the dispatcher may end that. Give it back by end().
  static std::unique_ptr<Inflater> take_request(CallStream& stream);
  // Not ok: why there is no message.
  static Status status_of(const CallStream& stream, const Inflater& request);
  void end(std::unique_ptr<Inflater> request) { pool_.keep(std::move(request)); }
  // Of a call that has ended towards its client.
  static bool is_wanted(const CallStream& stream) { return stream.begun && !stream.ignore_data; }
  void drop_request(CallStream& stream);

  // ---- replies
  bool begin_reply(CallStream& stream, std::span<const Piece> pieces, size_t size, int64_t turn_ns);
  void add_reply(CallStream& stream, std::span<const Piece> pieces, size_t size);
  // Of one that is over: null, it is sent as it is.
  static Deflater* reply(const CallStream& stream);
  void end_reply(CallStream& stream);

  // ---- later turns
  bool busy() const { return !requests_.empty() || !replies_.empty(); }
  struct Over {
    CallStream* stream = nullptr;  // null: none
    bool is_reply = false;
  };
  // Goes on until that time (CLOCK_MONOTONIC), or until a message is over, or its call has ended: it waits no more.
  Over work(int64_t end_ns);
  // The call is over.
  void forget(CallStream& stream);

 private:
  bool step_request(CallStream& stream);
  bool step_reply(CallStream& stream);

  CoderPool& pool_;
  Account& account_;
  const int level_;
  std::deque<CallStream*> requests_, replies_;  // whose message waits
  bool reply_was_last_ = false;
};

}  // namespace drover::engine
