// The sending half of a session: which streams may send, what of each, and the frames they become.
//
// Streams with something to send are in one of two lists and take turns: a turn is headers, at most one DATA frame of
// at most kTurnBytes, and the end if nothing else is left. While the connection's window is exhausted, streams with a
// body move to the list of those that wait for it. A stream whose own window is exhausted is in neither, until the
// peer opens it. So what a WINDOW_UPDATE costs depends on what it lets go, not on how many streams wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/http2/flow_window.h"
#include "engine/http2/hpack_encoder.h"
#include "engine/http2/session_handler.h"
#include "engine/http2/stream.h"
#include "engine/net/send_batch.h"

namespace drover::engine::http2 {

// The session, as its sender sees it.
class SenderOwner {
 public:
  // All of the stream's output is in the batch, its end included. The owner may close the stream.
  virtual void on_local_end(Stream& stream) = 0;

 protected:
  ~SenderOwner() = default;
};

class Sender {
 public:
  static constexpr size_t kTurnBytes = 64 << 10;

  // `scratch`: for header blocks, of the thread.
  Sender(SenderOwner& owner, SessionHandler& handler, std::string& scratch)
      : owner_(owner), handler_(handler), scratch_(scratch) {}

  void send_headers(Stream& stream);
  void send_body(Stream& stream, std::string_view prefix, std::span<const Piece> pieces, size_t pieces_size);
  void end(Stream& stream, bool with_trailers);
  // The stream sends no more.
  void drop(Stream& stream);

  // Appends what may be sent now, as far as there is room. True: nothing is left that could be sent. `offset`: bytes
  // that earlier batches held (Stream::produced_until counts from there).
  bool produce(SendBatch& batch, uint64_t offset);
  bool wants_write() const { return ready_.first || (window_.bytes() > 0 && waiting_.first); }

  // What the peer allows.
  void set_header_table(uint32_t bytes) { encoder_.set_peer_limit(bytes); }
  void set_max_frame_size(uint32_t bytes) { max_frame_size_ = bytes; }
  // SETTINGS_INITIAL_WINDOW_SIZE: of streams to come. Open ones change by add_window.
  void set_initial_window(uint32_t bytes) { initial_window_ = bytes; }
  uint32_t initial_window() const { return initial_window_; }
  // The stream has just been opened.
  void start(Stream& stream) const { stream.send_ = SendWindow(initial_window_); }
  // By WINDOW_UPDATE or SETTINGS. False: the window would pass 2^31 - 1.
  bool add_window(int64_t bytes) { return window_.grow(bytes); }
  int64_t window() const { return window_.bytes(); }
  bool add_window(Stream& stream, int64_t bytes);

  // DATA frames that were produced.
  uint64_t data_frames() const { return data_frames_; }
  // DATA frames and header blocks.
  uint64_t sent() const { return data_frames_ + blocks_; }
  size_t memory() const { return encoder_.memory(); }

 private:
  struct List {
    Stream* first = nullptr;
    Stream* last = nullptr;
    void push(Stream& stream);
    void remove(Stream& stream);
  };

  void enqueue(Stream& stream, Stream::Output list);
  void unlink(Stream& stream);
  void produce_turn(Stream& stream, SendBatch& batch, uint64_t offset);
  void produce_block(Stream& stream, bool trailers, bool end_stream, SendBatch& batch, uint64_t offset);
  void produce_data(Stream& stream, size_t size, bool end_stream, SendBatch& batch, uint64_t offset);
  void finish(Stream& stream);

  SenderOwner& owner_;
  SessionHandler& handler_;
  std::string& scratch_;
  HpackEncoder encoder_;
  SendWindow window_;
  uint32_t initial_window_ = kDefaultWindow;
  uint32_t max_frame_size_ = kDefaultFrameSize;
  uint64_t data_frames_ = 0;
  uint64_t blocks_ = 0;
  List ready_;
  List waiting_;  // for the connection's window
};

}  // namespace drover::engine::http2
