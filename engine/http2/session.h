// One HTTP/2 connection (RFC 9113), server or client, without I/O: bytes go in by receive(), events come out by a
// SessionHandler, and produce() gathers what is to be sent.
//
//   receive(bytes) -> FrameReader -> frames -> HpackDecoder or HeadCache -> SessionHandler
//   send_headers, send_body, end -> list of streams that may send -> produce(SendBatch)
//
// Errors of a stream reset it; errors of the connection queue a GOAWAY with RFC 9113's code and end the reading
// (failed()). Header blocks are encoded when they are produced, in the order in which they leave.
//
// Memory: everything that the peer can make a session hold is bounded by SessionOptions, and memory() says how much
// it is. Streams belong to the handler. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/pace.h"
#include "engine/http2/budget.h"
#include "engine/http2/flow_window.h"
#include "engine/http2/frame_reader.h"
#include "engine/http2/head_cache.h"
#include "engine/http2/hpack_decoder.h"
#include "engine/http2/outbox.h"
#include "engine/http2/ping_policy.h"
#include "engine/http2/sender.h"
#include "engine/http2/session_handler.h"
#include "engine/http2/stream.h"
#include "engine/http2/wire.h"

namespace drover::engine::http2 {

enum class Role : uint8_t { kServer, kClient };

// The same for all sessions of a thread; must outlive them.
struct SessionOptions {
  Role role = Role::kServer;
  uint32_t max_concurrent_streams = 1000;  // that the peer may open
  uint32_t max_header_bytes = 16 << 10;    // of one block, as SETTINGS_MAX_HEADER_LIST_SIZE counts
  uint32_t max_frame_size = kDefaultFrameSize;
  // Receive windows: where they begin, and how far they follow the bandwidth-delay product.
  uint32_t stream_window = 512 << 10;
  uint32_t max_stream_window = 4 << 20;
  uint32_t connection_window = 1 << 20;
  uint32_t max_connection_window = 16 << 20;
  // Budgets of a connection.
  size_t max_open_header_bytes = 2 << 20;      // heads of its open streams
  size_t max_queued_control_bytes = 64 << 10;  // answers that the peer has not read
  uint32_t control_frame_rate = 10'000;        // frames without a call a second, and twice that at once
  uint32_t reset_rate = 2'000;                 // streams that end early a second,
  uint32_t reset_burst = 10'000;               // and at once
  PingLimits pings;                            // of a client
  // A field whose value differs from call to call in blocks that are alike otherwise (see HeadCache).
  std::string_view variable_field;
};

// Scratch memory of a thread: what a session needs only while it is in one of its functions.
struct SessionScratch {
  explicit SessionScratch(const SessionOptions& options) : fields(options.max_header_bytes) {}
  FieldList fields;
  HpackDecoder::Scratch strings;
  std::string block;
  Pace pace;  // of the reading: a session stops behind a frame when its time is over
};

class Session final : private SenderOwner {
 public:
  // `now_ns` points at a clock (CLOCK_MONOTONIC) that its owner keeps current.
  Session(const SessionOptions& options, SessionScratch& scratch, SessionHandler& handler, const int64_t* now_ns);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Bytes from the peer: how many were taken. Those that the scratch memory's pace left no time for must be given
  // again, before others. At least one frame is taken.
  size_t receive(const char* bytes, size_t size);
  // Appends what may be sent now to `batch`, as far as it has room. True: nothing is left that could be sent.
  bool produce(SendBatch& batch);
  // Bytes that produce() has appended so far.
  uint64_t produced() const { return produced_; }
  // Whether produce() has something to append.
  bool wants_write() const { return !outbox_.empty() || (!failed_ && sender_.wants_write()); }

  // Client: opens a stream. False: no more streams (the peer's limit, or it is going away). Headers must be sent in the
  // order of opening.
  bool open(Stream& stream);

  // The stream's output: headers, a body, the end. All but the last may be called again once they are produced.
  void send_headers(Stream& stream) { sender_.send_headers(stream); }
  void send_body(Stream& stream, std::string_view prefix, std::span<const Piece> pieces, size_t pieces_size) {
    sender_.send_body(stream, prefix, pieces, pieces_size);
  }
  void end(Stream& stream, bool with_trailers) { sender_.end(stream, with_trailers); }
  // What the peer takes of one header block, counted as SETTINGS_MAX_HEADER_LIST_SIZE does.
  size_t max_send_header_bytes() const { return peer_max_header_list_; }
  // Ends the stream now, both ways; on_closed is called.
  void reset(Stream& stream, ErrorCode code);

  // Gives received bytes back to the peer: `stream`'s window (if it has not ended) and the connection's, or the
  // connection's alone.
  void consume_stream(Stream& stream, uint32_t bytes);
  void consume_connection(uint64_t bytes);

  // The peer may send DATA frames of this size from now on; it may only grow. Other frames stay as they were, or as
  // long as headers need.
  void allow_data_frames(uint32_t size);

  void ping();
  // Graceful shutdown, first step: the peer should open no more streams, but those on their way are served.
  void shutdown_notice();
  // Second step, or at once: streams above the last one that was opened are ignored. Open ones go on.
  void goaway(ErrorCode code);
  // Ends all open streams, as reset does, and the connection, without a word to the peer. Takes no memory.
  void abandon();
  // Ends the connection for a reason of the owner's.
  void fail(ErrorCode code, std::string_view why);

  bool failed() const { return failed_; }
  bool goaway_sent() const { return goaway_sent_; }
  bool peer_goaway() const { return peer_goaway_; }
  bool settings_received() const { return settings_received_; }
  // The stream whose DATA frame has begun and not ended, and how many bytes of data are still to come; else null.
  Stream* receiving(size_t& left) const {
    left = reader_.data_left();
    return left > 0 ? current_ : nullptr;
  }
  size_t open_streams() const { return streams_.count(); }
  // Flow-control windows of the connection, in bytes: what the peer lets us send, and what we let the peer send.
  int64_t send_window() const { return sender_.window(); }
  int64_t receive_window() const { return receive_.open(); }
  // `visit` must not open or close streams.
  template <typename Visit>
  void each_stream(Visit visit) const {
    streams_.each(visit);
  }
  // When the header block began that has not ended yet; 0: no such block.
  int64_t header_block_since_ns() const { return header_block_since_ns_; }
  // Heap bytes, without the streams themselves.
  size_t memory() const;
  // Frees what only saves time. For connections that idle.
  void shrink();

  // FrameReader's visitor.
  Take take(const FrameHeader& header);
  bool on_frame(const FrameHeader& header, const char* payload);
  bool on_data_begin(const FrameHeader& header, size_t padding);
  bool on_data(const char* bytes, size_t size);
  bool on_data_end();
  bool go_on() { return scratch_.pace.go_on(); }

 private:
  // A header block of several frames.
  struct PendingBlock {
    uint32_t stream = 0;
    bool end_stream = false;
    std::string bytes;
  };
  // Streams that ended lately, so that frames which cross their end are told from nonsense.
  struct Ended {
    uint32_t id = 0;
    bool by_us = false;  // reset: the peer may not have known
  };
  static constexpr size_t kRememberedEnds = 32;
  static constexpr uint64_t kBytesAWindowUpdate = 512;       // that we have sent
  static constexpr uint32_t kLargestSentHeaders = 64 << 10;  // however much the peer takes

  bool server() const { return options_.role == Role::kServer; }
  bool is_idle(uint32_t id) const;
  bool opens_stream(uint32_t id) const;
  const Ended* ended(uint32_t id) const;
  bool connection_error(ErrorCode code, std::string_view why);
  bool stream_error(Stream& stream, ErrorCode code);
  bool refuse(uint32_t id, ErrorCode code);
  bool spend_control_frame(uint32_t tokens = 1);
  bool spend_reset();

  bool on_headers(const FrameHeader& header, const char* payload);
  bool on_continuation(const FrameHeader& header, const char* payload);
  bool on_block(uint32_t id, std::string_view block, bool end_stream);
  bool on_new_stream(uint32_t id, std::string_view block, bool end_stream);
  bool on_first_block(Stream& stream, HeadRef head, std::string_view variable, bool end_stream);
  bool on_response_block(Stream& stream, std::string_view block, bool end_stream);
  bool on_trailers(Stream& stream, std::string_view block, bool end_stream);
  bool on_block_of_ended(uint32_t id, std::string_view block);
  bool decode(std::string_view block, BlockRange* variable_value);
  HeadRef read_head(BlockKind kind, std::string_view block, std::string_view& variable);
  bool on_rst_stream(const FrameHeader& header, const char* payload);
  bool on_settings(const FrameHeader& header, const char* payload);
  bool apply_setting(Setting setting, uint32_t value);
  bool apply_initial_window(uint32_t value);
  bool on_ping(const FrameHeader& header, const char* payload);
  bool on_goaway(const FrameHeader& header, const char* payload);
  bool on_window_update(const FrameHeader& header, const char* payload);
  bool remote_end(Stream& stream);

  void follow_bandwidth(uint32_t bytes);
  void on_local_end(Stream& stream) override;
  void close(Stream& stream, ErrorCode code, bool by_us);

  const SessionOptions& options_;
  SessionScratch& scratch_;
  SessionHandler& handler_;
  const int64_t* const now_ns_;

  FrameReader reader_;
  HpackDecoder decoder_;
  std::unique_ptr<HeadCache> cache_;  // made by the first call
  std::unique_ptr<PendingBlock> block_;
  int64_t header_block_since_ns_ = 0;
  Outbox outbox_;
  Sender sender_;
  uint64_t produced_ = 0;
  uint64_t window_updates_ = 0;  // that were not charged
  PingPolicy pings_;

  StreamTable streams_;
  Stream* current_ = nullptr;        // of the last DATA or HEADERS; null once it is closed
  uint32_t last_peer_stream_ = 0;    // the highest id that the peer has opened
  uint32_t last_served_stream_ = 0;  // of those, the last one in front of our GOAWAY
  uint32_t next_stream_ = 1;         // client: the next id
  std::array<Ended, kRememberedEnds> ended_{};
  size_t next_ended_ = 0;

  ReceiveWindow receive_;
  BandwidthDelay bandwidth_;
  uint32_t stream_window_;   // of streams to come
  uint32_t max_data_frame_;  // that we take
  uint32_t peer_max_header_list_ = kLargestSentHeaders;
  uint32_t peer_max_streams_ = UINT32_MAX;

  std::shared_ptr<ByteBudget> heads_;  // of open streams and of the cache; heads refer to it
  TokenBucket control_frames_;
  TokenBucket resets_;

  bool data_end_stream_ = false;      // of the DATA frame being read
  bool data_consumed_ = false;        // it has been given back to the connection's window
  uint32_t settings_unanswered_ = 1;  // of ours
  bool settings_received_ = false;
  bool goaway_sent_ = false;
  bool peer_goaway_ = false;
  bool failed_ = false;
};

}  // namespace drover::engine::http2
