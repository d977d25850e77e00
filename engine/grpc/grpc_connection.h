// One client connection: gRPC over an HTTP/2 session, between a byte stream and the CallSink.
//
//   receive(bytes) -> http2::Session -> requests -> CallSink
//   reply(stream)  -> http2::Session -> flush() -> ByteSink, one write a turn
//
// The session does HTTP/2; this class does gRPC's calls, the memory of messages, time-outs, and the order in which
// things are handed over. All on one engine thread. Within receive() the CallSink may reply at once. The connection
// never destroys itself: its owner does, when `finished()` says so after a flush.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/call/socket_view.h"
#include "engine/grpc/call_stream.h"
#include "engine/grpc/connection_life.h"
#include "engine/grpc/grpc_context.h"
#include "engine/grpc/message_coder.h"
#include "engine/grpc/on_the_way.h"
#include "engine/http2/session.h"
#include "engine/net/send_batch.h"

namespace drover::engine {

class GrpcConnection final : private http2::SessionHandler {
 public:
  enum class Flushed {
    kDone,
    kBlocked,  // the sink takes no more: flush again when it does
    kMore,     // to go on next turn
    kQueued,   // the sink has queued a write; written() follows, and no flush before it
    kNoRoom,   // the batch is full of other connections' segments: flush again when it is cleared
  };

  GrpcConnection(GrpcContext& context, ByteSink& out, Peer peer, uint32_t listener);
  // Abandons the calls that are still open.
  ~GrpcConnection();
  GrpcConnection(const GrpcConnection&) = delete;
  GrpcConnection& operator=(const GrpcConnection&) = delete;

  // Bytes from the peer: how many were taken, as Session::receive. They are not needed after it returns. Flush
  // afterwards.
  size_t receive(const char* bytes, size_t size);
  // Where the next bytes from the peer belong: the memory of a message whose DATA frame has begun. Empty: not known.
  std::span<char> receive_into() const;
  // Sends what is queued, through a segment of the context's batch.
  Flushed flush();
  // What became of a queued write: the number of bytes taken, or -errno. The batch must still hold its segment.
  Flushed written(ssize_t result);
  // Bytes that flush() last had to write.
  size_t write_size() const { return segment_.empty() ? unsent_.bytes() : segment_bytes_; }
  // Nothing more will be read or written: close it.
  bool finished() const;
  // The byte sink failed, or memory has: a GOAWAY would not arrive.
  bool broken() const { return dead_; }

  // What the peer proved; before the first bytes come.
  void set_identity(std::string identity) { peer_.identity = std::move(identity); }
  const Peer& peer() const { return peer_; }
  uint32_t listener() const { return listener_; }
  // What channelz tells of it, but for addresses and TLS. Throws std::bad_alloc.
  void describe(SocketFacts* out) const;

  // As ReplySink's functions. Flush afterwards.
  static bool reply(CallStream& stream, const Reply& reply);
  void started(CallStream& stream) { release_window(stream); }
  void consumed(CallStream& stream, size_t messages, size_t bytes);

  // Messages wait to be compressed or decompressed.
  bool has_messages_to_code() const { return coder_.busy(); }
  // Works on them until that time (CLOCK_MONOTONIC). Flush afterwards.
  void work_on_messages(int64_t end_ns);

  // Graceful end: GOAWAY as a notice now, the final one when the peer has answered a ping (or after kDrainNoticeNs).
  void drain();
  // Time-outs; call about once a second, and more often while draining.
  void sweep();

  ByteSink& out() const { return out_; }
  // Heap bytes that the peer makes it hold. Messages are not among them: the dispatcher charges them.
  size_t memory() const;
  // What the connection is charged to.
  Account& account() const { return *account_.get(); }
  // When it last had a call.
  int64_t idle_since_ns() const { return idle_since_ns_; }
  bool idle() const { return session_.open_streams() == 0 && on_the_way_.replies() == 0; }
  // Ends it for what it holds: nothing more is sent but the reason, if the kernel takes it at once.
  void cut_off(std::string_view why);
  // Ends a reply whose memory is needed, sent or not.
  void cut_off(CallStream& stream);

 private:
  static constexpr int kBatchesPerTurn = 2;  // what was left of the last one, and another
  // Messages from this size on come in larger frames, most of each received where it belongs (receive_into).
  static constexpr uint32_t kLargeMessage = 64 << 10;
  static constexpr uint32_t kLargeFrame = 256 << 10;
  static constexpr int64_t kDrainNoticeNs = 1'000'000'000;
  static constexpr int64_t kShrinkAfterNs = 2'000'000'000;
  static constexpr int64_t kGoodbyeNs = 5'000'000'000;  // for a broken connection's last bytes

  enum class Drain : uint8_t { kNone, kNotice, kFinal };

  // SessionHandler.
  http2::Stream* new_stream() override;
  http2::Head* make_head(const http2::HeadSummary& summary, const std::vector<http2::Field>& fields,
                         bool too_large) override;
  void on_headers(http2::Stream& stream, http2::Head& head, std::string_view timeout) override;
  void on_trailers(http2::Stream&, const std::vector<http2::Field>&) override {}  // requests' trailers say nothing
  void on_data(http2::Stream& stream, const char* bytes, size_t size) override;
  void on_end(http2::Stream& stream) override;
  void on_closed(http2::Stream& stream, http2::ErrorCode code) override;
  void on_body_sent(http2::Stream& stream) override;
  void write_headers(http2::Stream& stream, http2::FieldWriter& out) override;
  void write_trailers(http2::Stream& stream, http2::FieldWriter& out) override;
  bool on_decoded(size_t bytes) override { return account_->spend_decoding(bytes, context_.now_ns()); }
  void on_ping_answered() override;
  void on_goaway(uint32_t, http2::ErrorCode) override {}  // the peer closes when its calls are done
  void on_failed(http2::ErrorCode code, std::string_view why) override;

  // An allocation that fails ends the connection that asked for it, not the process.
  template <typename Work>
  void guarded(Work work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      end_for_memory();
    }
  }
  void end_for_memory();
  Status check_request(const RequestHead& head, std::string_view timeout, int64_t& timeout_ns) const;
  void fail_request(CallStream& stream, const Status& error);
  void begin_trace_of(CallStream& stream);
  void end_trace_of(CallStream& stream);
  void spill_views();
  void drop_view(CallStream& stream);
  void release_window(CallStream& stream);
  void give_back();

  void on_stream_data(CallStream& stream, const char* bytes, size_t size);
  StreamAssembler::Took give_message(CallStream& stream, std::string_view message);
  void end_request(CallStream& stream);
  void refuse_encoding(CallStream& stream);
  void send_reply(CallStream& stream, const Reply& reply);
  void send_headers_of(CallStream& stream, const Reply& reply);
  void send_only_message(CallStream& stream, std::span<const Piece> pieces, size_t size, bool compressed);
  bool send_step(CallStream& stream, const Reply& reply);
  bool send_end(CallStream& stream, const Reply& reply);
  void abort_stream(CallStream& stream, const Status& error);
  bool headers_fit(CallStream& stream);
  void refuse(CallStream& stream, const Status& error);   // gRPC status, trailers-only
  void refuse_http(CallStream& stream, uint32_t status);  // HTTP status and a line of text

  // logged_calls.cc
  void refuse_head(CallStream& stream, const RequestHead& head, int64_t timeout_ns, const Status& error);
  [[gnu::cold]] void begin_log_of(CallStream& stream, const RequestHead& head, int64_t timeout_ns);
  [[gnu::cold]] void log_request(CallStream& stream, std::string_view message);
  [[gnu::cold]] void log_half_close(CallStream& stream);
  [[gnu::cold]] void log_reply(CallStream& stream, const Reply& reply);
  [[gnu::cold]] void end_log_of(CallStream& stream);

  // compressed_messages.cc
  std::span<char> message_memory(CallStream& stream, size_t size, size_t received);
  void decompress_request(CallStream& stream);
  void give_request(CallStream& stream);
  bool may_decompress(const CallStream& stream) const;
  StreamAssembler::Took take_compressed(CallStream& stream, std::string_view message);
  StreamAssembler::Took give_decompressed(CallStream& stream);
  void go_on_later(CallStream& stream);
  void go_on_with_messages(CallStream& stream);
  Compressions compressions_of(const CallStream& stream) const;
  void choose_reply_compression(CallStream& stream, Compress wish);
  void compress_reply(CallStream& stream, const Reply& reply);
  void send_compressed_reply(CallStream& stream);
  bool send_compressed_message(CallStream& stream, const Reply& reply);
  void go_on_with_replies(CallStream& stream);

  Flushed write_all();
  bool settle(ssize_t result);
  void finish_sent();
  void end_call(CallStream& stream, bool sent);
  void release(CallStream& stream);
  void count_received() {
    ++counts_.messages_received;
    counts_.last_received_ns = context_.now_ns();
  }
  void count_sent() {
    ++counts_.messages_sent;
    counts_.last_sent_ns = context_.now_ns();
  }
  void start_drain();
  void end_notice();
  void check_time();
  void check_life(int64_t now);
  void ping();
  void end_stalled(int64_t now);

  GrpcContext& context_;
  ByteSink& out_;
  Peer peer_;
  const uint32_t listener_;
  const AccountRef account_;
  http2::Session session_;
  MessageCoder coder_;

  SocketCounts counts_;
  std::vector<CallStream*> views_;  // requests that lie in the receive buffer
  OnTheWay on_the_way_;             // what the session has produced and the kernel has not taken
  uint64_t consumed_ = 0;           // DATA bytes to give back to the connection's window
  size_t reply_bytes_ = 0;          // fields of replies that are not over
  size_t trace_bytes_ = 0;          // of calls with spans

  UnsentQueue unsent_;
  std::span<const iovec> segment_;  // of the batch, being written; empty: unsent_ is
  size_t segment_bytes_ = 0;
  bool segment_is_all_ = false;  // nothing was left to send behind it
  uint64_t sent_total_ = 0;      // bytes that the kernel took
  bool closing_ = false;         // in the destructor: nothing waits for the kernel any more
  Drain drain_ = Drain::kNone;
  bool dead_ = false;     // the byte sink broke, or the connection was cut off
  bool cut_off_ = false;  // dead after one more write
  int pings_ = 0;         // of ours, not answered
  int64_t drain_ns_ = 0;
  ConnectionLife life_;
  int64_t opened_ns_ = 0;
  int64_t idle_since_ns_ = 0;
  int64_t write_progress_ns_ = 0;  // when the kernel last took as much as a moving connection does,
  uint64_t sent_before_ = 0;       // and sent_total_ then
};

}  // namespace drover::engine
