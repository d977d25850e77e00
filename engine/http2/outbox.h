// What a session has to send besides its streams' replies: the queue of control frames, and how frames are written.
//
// Control frames answer what the peer sent. A peer that sends and does not read makes the queue grow; it is charged
// to a budget, and the session ends when that is exhausted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "engine/http2/budget.h"
#include "engine/http2/wire.h"
#include "engine/net/send_batch.h"

namespace drover::engine::http2 {

class Outbox {
 public:
  explicit Outbox(size_t max_queued) : budget_(max_queued) {}

  void raw(std::string_view bytes) { append(bytes); }
  void settings(std::initializer_list<std::pair<Setting, uint32_t>> values);
  void settings_ack();
  void ping(std::string_view opaque, bool ack);
  void rst_stream(uint32_t stream, ErrorCode code);
  void window_update(uint32_t stream, uint32_t increment);
  void goaway(uint32_t last_stream, ErrorCode code, std::string_view debug = {});

  bool empty() const { return queue_.empty(); }
  // WINDOW_UPDATE frames that were queued.
  uint64_t window_updates() const { return window_updates_; }
  // More is queued than the budget allows.
  bool over_budget() const { return budget_.over(); }
  size_t memory() const { return queue_.capacity(); }
  // Moves the queue into `batch`.
  void flush(SendBatch& batch);

 private:
  void frame(FrameType type, uint8_t flags, uint32_t stream, std::string_view payload);
  void append(std::string_view bytes);

  std::string queue_;
  ByteBudget budget_;
  uint64_t window_updates_ = 0;
};

// Writes a header block as HEADERS and, where it is longer than a frame, CONTINUATION frames.
void write_header_frames(uint32_t stream, std::string_view block, bool end_stream, uint32_t max_frame_size,
                         SendBatch& batch);

}  // namespace drover::engine::http2
