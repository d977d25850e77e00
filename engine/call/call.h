// The seam inside the engine: what a transport (sockets and a protocol, such as HTTP/2 with gRPC) and the dispatcher
// (hosts, regions, rings, codec) say to each other about a call. Neither depends on more of the other than this file,
// and nothing here is specific to one protocol.
//
//   client -> transport --open, message..., half_close--> CallSink (dispatcher)  -> host
//   client <- transport <--reply: headers, message..., status-- ReplySink        <- host
//             transport --reply_sent | abandon--> CallSink
//
// A call is a sequence of messages each way. A unary call is one of one message each way, and takes three calls
// through this interface: open, message with kLast, and one Reply that holds everything. Of a method whose request
// does not stream, a second request message, or none, ends the call with kInternal.
//
// Streams: after open, `start` lets the call begin before its first message. The transport gives each message as it
// comes and keeps the peer's window for it until `consumed`. Each Reply in front of the last one has one message, or
// headers alone.
//
// Everything here happens on one engine thread; threads share nothing. A Call is owned by the transport's stream
// and lives until both have let go: the transport calls `abandon`, or `reply_sent` for the Reply with the status,
// exactly once per opened call, after which the dispatcher never touches it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/encode/encode_types.h"
#include "engine/base/account.h"
#include "engine/base/clock.h"
#include "engine/base/status.h"

namespace drover::engine {

// Metadata as the application sees it: values of -bin names are decoded bytes, names are lower case.
using Header = std::pair<std::string, std::string>;

// The client's end of a connection. Owned by the connection, unchanged while it lives.
struct Peer {
  std::string address;  // "ipv4:127.0.0.1:4711", as gRPC spells it
  // What the connection proved, by the names of gRPC's AuthContext and as CallMetadata has it (channel/identity.h);
  // empty: nothing.
  std::string identity;
};

class MethodMetrics;  // engine/base/metrics.h

// What the dispatcher remembers with a path that repeats. Owned by the path's owner, one for each path and listener;
// empty at first.
struct RouteMemo {
  uint64_t version = 0;
  void* route = nullptr;
};

struct Call {
  // Filled in by the transport before open.
  std::string_view path;              // "/package.Service/Method"; valid during open only
  RouteMemo* memo = nullptr;          // of `path`, or null; valid during open only
  std::string_view authority;         // valid while the call lives
  const Peer* peer = nullptr;         // valid while the call lives
  uint32_t listener = 0;              // id from Listeners::listen
  int64_t deadline_ns = kNoDeadline;  // CLOCK_MONOTONIC
  int64_t start_ns = 0;               // CLOCK_MONOTONIC, when the request's headers had arrived
  std::span<const Header> metadata;   // the application's, nothing of the protocol's; valid while the call lives
  Account* account = nullptr;         // the connection's, which the call is charged to; null: it is not charged

  // Filled in by the dispatcher in open.
  bool request_streams = false;           // messages may come one by one; the transport calls start
  bool reply_streams = false;             // several Replies may come
  uint32_t max_request_bytes = 4u << 20;  // of one message, once decompressed
  // Its service takes no such requests, and its replies are not to be compressed so.
  bool refuses_deflate = false, refuses_gzip = false;
  MethodMetrics* metrics = nullptr;

  // The dispatcher's own.
  void* dispatch = nullptr;
};

// How a reply's messages are to be compressed: by an algorithm, or as much as that; the transport uses an algorithm
// only if the client takes it. The values are those of channel.toml.
enum class Compress : uint8_t { kNo, kDeflate, kGzip, kLow, kMedium, kHigh };

// Whether more follows a message.
enum class More : uint8_t {
  kMay,   // a further message or half_close may follow
  kLast,  // the sender has half-closed with it
};

// One step of a reply: any of headers, one message and the status, which go out in this order. The step with the
// status ends the call; a unary reply is that step alone, or behind one of headers alone, which is copied. Pieces and
// buffers belong to the dispatcher and stay as they are until the transport reports the step by reply_sent, or has
// copied them.
struct Reply {
  std::span<const Header> initial;    // with the first step of a call only; copied before `reply` returns
  bool has_message = false;           // exactly one message (perhaps of 0 bytes)
  Compress compress = Compress::kNo;  // with the first step of a call: all its messages
  bool as_it_is = false;              // this message is not compressed all the same
  std::span<const Piece> message;     // its encoded bytes, in order
  size_t message_size = 0;            // of all pieces together
  bool ends = true;                   // what follows is valid, and the last of the call
  StatusCode code = StatusCode::kOk;
  std::string_view status_message;   // raw UTF-8; the transport encodes it as its protocol has it
  std::span<const Header> trailing;  // copied before `reply` returns
};

// The dispatcher, as a transport sees it.
class CallSink {
 public:
  // Not ok: the transport answers at once with that status; the call is not open, and no other function is called for
  // it.
  virtual Status open(Call& call) = 0;

  // After open, of a call whose request streams: it begins. The reply may come during this call.
  virtual void start(Call& call) = 0;

  // Of a call whose request does not stream: memory for the message, of `size` bytes, that does not arrive in one
  // piece; `received` of them have come into the memory that was given before (0: the first time). Returns the
  // message's beginning, longer than `received`: all of it where the region has room for the call's account, else a
  // part on the heap, which grows as the message arrives. It holds what was received, and what was given before is
  // gone. Empty: no memory, or over the account's budget; the transport ends the call (abandon) with
  // kResourceExhausted and drops the rest of the request.
  virtual std::span<char> message_buffer(Call& call, size_t size, size_t received) = 0;
  // Its request is whole and waits for a host or for room. The transport may keep the peer's window for it until
  // ReplySink says `started`, or a reply comes.
  virtual bool waits(const Call& call) const = 0;

  // The next message is whole: either `wire` (valid during this call only), or, if message_buffer was asked for, there.
  // The reply may come during this call.
  virtual void message(Call& call, std::string_view wire, More more) = 0;
  // The client sends no more messages, and its last one was given with kMay (or there was none).
  virtual void half_close(Call& call) = 0;

  // The client cancelled, the stream broke or the connection closed before the status was given, or after it but
  // before all of it was sent; the call is over.
  virtual void abandon(Call& call) = 0;
  // All of the oldest step of the reply that was not yet reported or copied has been handed to the kernel. With the
  // step that ends it, the call is over.
  virtual void reply_sent(Call& call) = 0;

 protected:
  ~CallSink() = default;
};

// A transport, as the dispatcher sees it.
class ReplySink {
 public:
  // The next step of the reply. Nothing may follow the one that ends the call. True: the step does not end the call and
  // was copied; it will not be reported. `call` may be over when this returns.
  virtual bool reply(Call& call, const Reply& reply) = 0;
  // The host is done with request messages of so many bytes together, of a call whose request streams.
  virtual void consumed(Call& call, size_t messages, size_t bytes) = 0;
  // A call that waited has been given to a host.
  virtual void started(Call& call) = 0;
  // The reply must end now, sent or not: what it refers to is needed. The transport calls abandon, or reply_sent,
  // before or soon after this returns.
  virtual void cut_off(Call& call) = 0;

 protected:
  ~ReplySink() = default;
};

}  // namespace drover::engine
