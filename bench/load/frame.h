// HTTP/2 frames (RFC 9113, section 4) as the load client reads and writes them. The numbers are
// those of engine/http2/wire.h; the reader is the client's own, so that it does not share the server's mistakes.
//
//    +-----------------------------------------------+
//    | length (24) | type (8) | flags (8) | R + stream (32) | payload ...
//    +-----------------------------------------------+
//
// FrameReader takes the bytes of a connection in pieces of any size. It hands out DATA payloads in the pieces in which
// they came, without copying; every other frame it hands out whole. It checks lengths and padding, nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/http2/wire.h"

namespace drover::bench {

using engine::http2::FrameType;
using engine::http2::kDefaultFrameSize;
using engine::http2::kFlagAck;
using engine::http2::kFlagEndHeaders;
using engine::http2::kFlagEndStream;
using engine::http2::kFlagPadded;
using engine::http2::kFlagPriority;
using engine::http2::kFrameHeaderBytes;
using engine::http2::Setting;

inline uint32_t load_u32(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

inline uint16_t load_u16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]); }

inline void store_u16(uint8_t* bytes, uint16_t value) {
  bytes[0] = static_cast<uint8_t>(value >> 8);
  bytes[1] = static_cast<uint8_t>(value);
}

inline void store_u32(uint8_t* bytes, uint32_t value) {
  bytes[0] = static_cast<uint8_t>(value >> 24);
  bytes[1] = static_cast<uint8_t>(value >> 16);
  bytes[2] = static_cast<uint8_t>(value >> 8);
  bytes[3] = static_cast<uint8_t>(value);
}

// Writes a frame header's 9 bytes; length must be under 2^24 and stream under 2^31.
void write_frame_header(uint8_t* out, size_t length, FrameType type, uint8_t flags, uint32_t stream);

void append_frame_header(std::vector<uint8_t>* out, size_t length, FrameType type, uint8_t flags, uint32_t stream);
void append_settings(std::vector<uint8_t>* out, std::span<const std::pair<Setting, uint32_t>> settings);
void append_window_update(std::vector<uint8_t>* out, uint32_t stream, uint32_t increment);

struct Frame {
  FrameType type = FrameType::kData;
  uint8_t flags = 0;  // kFlagEndStream of a DATA frame appears on its last piece only
  uint32_t stream = 0;
  std::span<const uint8_t> payload;  // without padding and priority; valid until the next call of next() or feed()
  size_t flow_controlled = 0;        // DATA: what this piece takes from the windows, padding included
};

class FrameReader {
 public:
  enum class Result { kNeedMore, kFrame, kError };

  explicit FrameReader(size_t max_frame_size = kDefaultFrameSize) : max_frame_size_(max_frame_size) {}

  // The next bytes of the connection; they must stay where they are until next() says kNeedMore, and that must have
  // been said before the next feed().
  void feed(std::span<const uint8_t> bytes) { input_ = bytes; }

  Result next(Frame* frame);

  // The error, after kError.
  const char* error() const { return error_; }

 private:
  Result next_data_piece(Frame* frame);
  Result whole_frame(const uint8_t* bytes, Frame* frame);
  Result fail(const char* error);
  void take(size_t size) { input_ = input_.subspan(size); }
  bool hold(size_t wanted);

  const size_t max_frame_size_;
  std::span<const uint8_t> input_;
  std::vector<uint8_t> held_;  // the beginning of a frame that is not all here yet
  bool clear_held_ = false;    // the last frame handed out lies in held_
  bool in_data_ = false;
  size_t data_left_ = 0;
  uint8_t data_flags_ = 0;
  uint32_t data_stream_ = 0;
  const char* error_ = "";
};

}  // namespace drover::bench
