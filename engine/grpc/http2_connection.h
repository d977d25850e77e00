// One client connection: an nghttp2 server session between a byte stream and the CallSink.
//
//   receive(bytes) -> nghttp2 -> http2_request.cc -> CallSink
//   reply(stream)  -> http2_reply.cc -> nghttp2 -> flush() -> ByteSink, one write a turn
//
// nghttp2 does frames, HPACK, stream states, flow control arithmetic and the HTTP messaging checks; this class does
// gRPC, memory, limits and the order in which things are handed over. All on one engine thread.
//
// Within receive() the CallSink may reply at once. The connection never destroys itself: its owner does, when
// `finished()` says so after a flush.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grpc/http2_context.h"
#include "engine/grpc/http2_output.h"
#include "engine/grpc/http2_stream.h"

namespace drover::engine {

// Spends one token an event; refills at `rate` a second up to `burst`.
class TokenBucket {
 public:
  TokenBucket(uint32_t rate, uint32_t burst, int64_t now_ns)
      : rate_(rate), burst_(burst), tokens_(burst), last_ns_(now_ns) {}
  bool spend(int64_t now_ns) {
    if (tokens_ < 1) {
      tokens_ += static_cast<double>(now_ns - last_ns_) * rate_ / 1e9;
      if (tokens_ > burst_) tokens_ = burst_;
      last_ns_ = now_ns;
      if (tokens_ < 1) return false;
    }
    tokens_ -= 1;
    return true;
  }

 private:
  double rate_;
  double burst_;
  double tokens_;
  int64_t last_ns_;  // of the last refill
};

class Http2Connection {
 public:
  enum class Flushed { kDone, kBlocked, kMore };

  Http2Connection(Http2Context& context, ByteSink& out, Peer peer, uint32_t listener);
  // Abandons the calls that are still open.
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  // Bytes from the peer. They are not needed after it returns. Flush afterwards.
  void receive(const char* bytes, size_t size);
  // Sends what there is: kBlocked when the sink takes no more (flush again when it does), kMore to go on next turn.
  Flushed flush();
  // Nothing more will be read or written: close it.
  bool finished() const;
  // The byte sink failed: nobody hears a goodbye.
  bool broken() const { return dead_; }

  static void reply(Stream& stream, const Reply& reply) { stream.connection->send_reply(stream, reply); }

  // Re-grants window bytes that were held back while the region was full. True if some are still held.
  bool release_held();
  bool holds_window() const { return held_bytes_ > 0; }

  // Graceful end: GOAWAY as a notice now, the final one when the peer has answered a ping (or after drain_notice_ns).
  void drain();
  // Timeouts; call about once a second, and more often while draining.
  void sweep();

  ByteSink& out() const { return out_; }

 private:
  // Of all connections of the process.
  static const nghttp2_session_callbacks* callbacks();
  static void set_callbacks(nghttp2_session_callbacks* callbacks);

  static constexpr int kBatchesPerTurn = 4;
  static constexpr int64_t kDrainNoticeNs = 1'000'000'000;
  static constexpr size_t kMaxStatusMessage = 8 << 10;  // of grpc-message, once encoded; clients take about as much

  enum class Drain { kNone, kNotice, kFinal };

  // nghttp2's callbacks, http2_request.cc.
  int on_begin_headers(const nghttp2_frame* frame);
  int on_header(const nghttp2_frame* frame, nghttp2_rcbuf* name, nghttp2_rcbuf* value);
  int on_data_chunk(uint8_t flags, int32_t id, const uint8_t* data, size_t size);
  int on_frame_received(const nghttp2_frame* frame);
  void on_invalid_frame(const nghttp2_frame* frame, int error);

  void begin_request(Stream& stream);
  Status check_request(const Stream& stream) const;
  void end_request(Stream& stream);
  void fail_request(Stream& stream, const Status& error);
  char* message_buffer(Stream& stream, size_t size);
  void spill_views();
  void account_received(Stream& stream, uint32_t size, bool in_memory);
  bool spend_control_frame();

  // http2_reply.cc.
  void send_reply(Stream& stream, const Reply& reply);
  void refuse(Stream& stream, const Status& error);                // gRPC status, trailers-only
  void refuse_http(Stream& stream, std::string_view status_code);  // HTTP status, no body
  void append_metadata(std::vector<Header>& to, std::span<const Header> from);
  int submit_trailers_only(Stream& stream);
  int submit_trailers(Stream& stream);
  void append_status(Stream& stream, std::vector<nghttp2_nv>& nv);
  bool submit_failed(Stream& stream, int result);
  ssize_t read_body(Stream& stream, size_t room, uint32_t* data_flags);
  int send_body(Stream& stream, const uint8_t* frame_header, size_t size);
  int on_frame_sent(const nghttp2_frame* frame);
  int on_frame_not_sent(const nghttp2_frame* frame, int error);
  int on_stream_close(int32_t id, uint32_t error_code);

  // http2_connection.cc.
  Stream* find(int32_t id);
  void link(Stream& stream);
  void unlink(Stream& stream);
  void drop_view(Stream& stream);
  void end_call(Stream& stream, bool sent);
  void release(Stream& stream);
  bool fill_batch();
  void finish_sent();
  void fail(std::string_view why);

  Http2Context& context_;
  ByteSink& out_;
  const Peer peer_;
  const uint32_t listener_;
  nghttp2_session* session_ = nullptr;

  Stream* streams_ = nullptr;  // known to nghttp2
  uint32_t stream_count_ = 0;
  Stream* cached_ = nullptr;        // the last one looked up
  std::vector<Stream*> views_;      // requests that lie in the receive buffer
  std::vector<Stream*> finishing_;  // closed in nghttp2, reply still on its way to the kernel, by end_offset
  size_t first_finishing_ = 0;
  uint64_t consumed_ = 0;  // DATA bytes to re-grant to the connection's window
  uint64_t held_bytes_ = 0;

  UnsentQueue unsent_;
  uint64_t queued_total_ = 0;  // bytes that nghttp2 produced
  uint64_t sent_total_ = 0;    // bytes that the kernel took
  bool filling_ = false;       // in nghttp2_session_mem_send
  bool paused_ = false;        // which stopped because the batch is full

  TokenBucket control_frames_;
  Drain drain_ = Drain::kNone;
  int64_t drain_ns_ = 0;
  int64_t opened_ns_ = 0;
  int64_t idle_since_ns_ = 0;
  bool settings_seen_ = false;
  bool failed_ = false;  // no more reading; what is queued is still sent
  bool dead_ = false;    // the byte sink broke
};

}  // namespace drover::engine
