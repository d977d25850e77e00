// CallLogger: one engine thread's part in the binary log (gRFC A16): makes an entry of each event of a call that the
// filter has, as the server saw it.
//
//   begin          CLIENT_HEADER, with the peer     server_header    SERVER_HEADER, unless the reply is a status alone
//   message        CLIENT_MESSAGE, SERVER_MESSAGE   server_trailer   SERVER_TRAILER
//   half_close     CLIENT_HALF_CLOSE                cancel           CANCEL
//
// Messages are logged as the application has them, uncompressed. What a limit cuts is marked payload_truncated:
// metadata entry by entry, messages byte by byte. Texts that are no UTF-8 have '?' for each byte that is not ASCII,
// since protobuf would not read them. Nothing waits: an entry that finds no room is dropped and counted, and the call's
// sequence numbers have a gap there.
//
// Thread-safety: none; one engine thread. The other side of the ring is LogWriter's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "binlog/entry_format.h"
#include "engine/base/metrics.h"
#include "engine/binary_log/filter.h"
#include "engine/binary_log/log_writer.h"
#include "engine/binary_log/redaction.h"
#include "engine/call/call.h"

namespace drover::engine::binary_log {

// What is logged, of all engine threads.
struct Rules {
  Filter filter;
  Redaction redaction;
  size_t max_payload = 1 << 20;  // bytes of one message or metadata block, whatever the filter says
};

// The ids of calls: first, first + step, ...; each engine thread has its own.
struct CallIds {
  uint64_t first = 1;
  uint64_t step = 1;
};

// What a call remembers; with its stream.
struct LoggedCall {
  const Limits* limits = nullptr;  // null: it is not logged
  uint64_t id = 0;
  uint32_t entries = 0;
  bool has_trailer = false;
  bool given_up = false;  // it ended without all of its reply at the kernel
};

// A request's headers. `timeout_ns`: kNoDeadline: there is none.
struct ClientHeader {
  std::string_view path;
  std::string_view authority;
  std::string_view peer;  // as Peer has it
  std::span<const Header> metadata;
  int64_t timeout_ns = kNoDeadline;
};

class CallLogger {
 public:
  // All of them outlive it; the ring is of `writer`.
  CallLogger(const Rules& rules, CallIds ids, EntryRing& ring, LogWriter& writer, ThreadMetrics& metrics);
  ~CallLogger();
  CallLogger(const CallLogger&) = delete;
  CallLogger& operator=(const CallLogger&) = delete;

  // The call's first event. If the filter does not have it, call.limits stays null as it was, and no other function may
  // be called for it.
  void begin(const ClientHeader& header, LoggedCall& call);
  void message(LoggedCall& call, binlog::Event event, std::span<const Piece> pieces, size_t size);
  void half_close(LoggedCall& call) { finish_empty(call, binlog::Event::kClientHalfClose); }
  void server_header(LoggedCall& call, std::span<const Header> metadata);
  void server_trailer(LoggedCall& call, const Reply& reply);
  void cancel(LoggedCall& call) { finish_empty(call, binlog::Event::kCancel); }

 private:
  void start(LoggedCall& call, binlog::Event event);
  void finish(uint32_t payload_field, bool truncated);
  void finish_empty(LoggedCall& call, binlog::Event event);
  void push();
  bool add_metadata(std::span<const Header> metadata, uint64_t limit);
  bool add_metadata_entry(const Header& header, Redaction::Entry how, uint64_t* left);
  static void append_peer(std::string_view peer, std::string* out);

  const Rules& rules_;
  const CallIds ids_;
  EntryRing& ring_;
  LogWriter& writer_;
  ThreadMetrics& metrics_;
  uint64_t next_id_;
  std::string head_;      // the entry, but for a payload's bytes that lie elsewhere
  std::string payload_;   // a message of the entry
  std::string metadata_;  // a message of the payload
  std::vector<Piece> pieces_;
  Counter* const calls_;
  Counter* const entries_;
  Counter* const full_;
  Counter* const broken_;
};

}  // namespace drover::engine::binary_log
