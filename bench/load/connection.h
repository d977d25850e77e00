// One HTTP/2 connection of the load client: a closed loop of gRPC calls over a non-blocking socket. As many unary calls
// as the plan says are in flight; when one ends, the next takes its place. Or as many calls that stream both ways, each
// with so many messages in flight; when a message comes back, the next is sent. Frames are gathered and sent once a
// turn of the event loop.
//
// Not thread-safe. A connection that fails counts its calls in flight as failures in the tally and stays closed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/frame.h"
#include "bench/load/hpack.h"
#include "bench/load/plan.h"

namespace drover::bench {

class Connection {
 public:
  enum class State { kConnecting, kTls, kHandshake, kOpen, kClosed };

  // Plan and tally must outlive the connection. `scratch` is a receive buffer that connections may share.
  Connection(const LoadPlan* plan, LoadTally* tally, std::vector<uint8_t>* scratch);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to connect and registers with the epoll instance, with `key` as event data.
  void start(int epoll_fd, uint64_t key);

  void on_event(uint32_t epoll_events);

  // Issues calls until `streams` are in flight; does nothing before the connection is open.
  void issue_calls();

  // Ends the connection; calls in flight count as failures for `reason`.
  void fail(const std::string& reason);

  State state() const { return state_; }
  uint32_t in_flight() const { return in_flight_; }
  // When the oldest call in flight was sent, in the units of now_ns(); INT64_MAX: no call is in flight.
  int64_t oldest_start() const;

 private:
  struct Stream {
    uint32_t id = 0;  // 0: the slot is free
    bool reply_wrong = false;
    bool headers_seen = false;
    int64_t start_ns = 0;
    uint64_t number = 0;
    size_t sent = 0;
    int64_t send_window = 0;
    size_t received = 0;
    size_t unacknowledged = 0;  // received since the last WINDOW_UPDATE for this stream
    uint8_t prefix[kGrpcPrefixSize] = {};
    ResponseHeaders headers;

    // ---- of a call that streams: `sent` and `received` count the bytes of all its messages
    uint64_t messages_allowed = 0;  // that were or may be sent
    uint64_t messages_received = 0;
    bool half_closed = false;
    std::vector<int64_t> starts;  // of the messages in flight, by their number modulo the plan's `messages`
  };

  // Opening.
  void shake_hands();
  void greet();

  // Reading.
  void on_readable();
  void read_some();
  void on_frame(const Frame& frame);
  void on_data(const Frame& frame);
  void on_header_fragment(const Frame& frame);
  void on_header_block(uint32_t stream, bool end_stream, std::span<const uint8_t> block);
  void on_settings(const Frame& frame);
  void apply_setting(Setting id, uint32_t value);
  void on_window_update(const Frame& frame);
  void on_reset(const Frame& frame);
  void on_goaway(const Frame& frame);
  void check_reply(Stream* stream, std::span<const uint8_t> piece);
  bool equals_message(const Stream& stream, size_t at, std::span<const uint8_t> piece) const;
  void take_messages(Stream* stream, std::span<const uint8_t> piece);
  void end_message(Stream* stream);
  void allow_message(Stream* stream, int64_t now);
  void half_close(Stream* stream);
  bool streams_messages() const { return plan_->messages != 0; }
  // Bytes that may be sent, and whether all of the call's were.
  size_t to_send(const Stream& stream) const;
  bool sent_all(const Stream& stream) const;
  void end_call(Stream* stream);
  void end_call_in_failure(Stream* stream, const std::string& reason);
  void release(Stream* stream);

  // Writing.
  void issue(uint32_t slot);
  void append_messages(const Stream& stream, size_t from, size_t size);
  void append_message(uint64_t number, size_t from, size_t size);
  void send_pending_data();
  void flush();
  void watch(bool writable);

  // Streams by id: slot index at (id / 2) modulo the table's size, grown until the ids in flight do not collide.
  Stream* find(uint32_t id);
  void enter(uint32_t id, uint32_t slot);

  const LoadPlan* const plan_;
  LoadTally* const tally_;
  std::vector<uint8_t>* const scratch_;
  int fd_ = -1;
  int epoll_fd_ = -1;
  uint64_t key_ = 0;
  std::unique_ptr<TlsClient> tls_;
  State state_ = State::kConnecting;
  bool watching_writable_ = false;
  bool going_away_ = false;

  FrameReader reader_;
  ResponseDecoder decoder_;
  std::vector<uint8_t> block_;  // a header block that came in several frames
  uint32_t block_stream_ = 0;   // 0: none is being gathered
  bool block_end_stream_ = false;
  int64_t batch_ns_ = 0;  // when the bytes that are being read had come
  size_t unacknowledged_ = 0;

  std::vector<Stream> streams_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> started_;  // slots whose request leaves with the next flush
  std::vector<uint32_t> by_id_;
  uint32_t in_flight_ = 0;
  uint32_t next_id_ = 1;

  std::vector<uint8_t> output_;
  size_t output_sent_ = 0;
  struct Pending {
    uint32_t slot;
    uint32_t id;
  };
  std::deque<Pending> pending_;  // requests with bytes to send, in order
  int64_t send_window_ = 65535;
  uint32_t peer_initial_window_ = 65535;
  size_t peer_max_frame_size_ = kDefaultFrameSize;
};

}  // namespace drover::bench
