// The two paths of the reader: a DATA frame without padding is passed on as it comes; any other frame is taken from
// the input where all of it lies there, and gathered in held_ where it does not.

#include "bench/load/frame.h"

#include <algorithm>

namespace drover::bench {

void write_frame_header(uint8_t* out, size_t length, FrameType type, uint8_t flags, uint32_t stream) {
  const engine::http2::FrameHeader header{static_cast<uint32_t>(length), type, flags, stream};
  header.write(reinterpret_cast<char*>(out));
}

void append_frame_header(std::vector<uint8_t>* out, size_t length, FrameType type, uint8_t flags, uint32_t stream) {
  const size_t at = out->size();
  out->resize(at + kFrameHeaderBytes);
  write_frame_header(out->data() + at, length, type, flags, stream);
}

void append_settings(std::vector<uint8_t>* out, std::span<const std::pair<Setting, uint32_t>> settings) {
  append_frame_header(out, settings.size() * engine::http2::kSettingBytes, FrameType::kSettings, 0, 0);
  for (const auto& [id, value] : settings) {
    uint8_t entry[engine::http2::kSettingBytes];
    store_u16(entry, static_cast<uint16_t>(id));
    store_u32(entry + 2, value);
    out->insert(out->end(), entry, entry + sizeof(entry));
  }
}

void append_window_update(std::vector<uint8_t>* out, uint32_t stream, uint32_t increment) {
  append_frame_header(out, 4, FrameType::kWindowUpdate, 0, stream);
  uint8_t bytes[4];
  store_u32(bytes, increment);
  out->insert(out->end(), bytes, bytes + sizeof(bytes));
}

FrameReader::Result FrameReader::fail(const char* error) {
  error_ = error;
  return Result::kError;
}

// Moves input into held_ until that holds `wanted` bytes; false if the input ran out before.
bool FrameReader::hold(size_t wanted) {
  const size_t missing = wanted > held_.size() ? wanted - held_.size() : 0;
  const size_t size = std::min(missing, input_.size());
  held_.insert(held_.end(), input_.begin(), input_.begin() + static_cast<ptrdiff_t>(size));
  take(size);
  return size == missing;
}

FrameReader::Result FrameReader::next(Frame* frame) {
  if (in_data_) return next_data_piece(frame);
  if (clear_held_) {
    held_.clear();
    clear_held_ = false;
  }
  const bool in_place = held_.empty() && input_.size() >= kFrameHeaderBytes;
  if (!in_place && !hold(kFrameHeaderBytes)) return Result::kNeedMore;
  const uint8_t* header = in_place ? input_.data() : held_.data();
  const size_t length = load_u32(header) >> 8;
  if (length > max_frame_size_) return fail("a frame is longer than SETTINGS_MAX_FRAME_SIZE");
  if (static_cast<FrameType>(header[3]) == FrameType::kData && (header[4] & kFlagPadded) == 0) {
    in_data_ = true;
    data_left_ = length;
    data_flags_ = header[4];
    data_stream_ = load_u32(header + 5) & 0x7FFFFFFF;
    if (in_place) {
      take(kFrameHeaderBytes);
    } else {
      held_.clear();
    }
    return next_data_piece(frame);
  }
  const size_t size = kFrameHeaderBytes + length;
  if (in_place && input_.size() >= size) {
    const uint8_t* bytes = input_.data();
    take(size);
    return whole_frame(bytes, frame);
  }
  if (!hold(size)) return Result::kNeedMore;
  clear_held_ = true;
  return whole_frame(held_.data(), frame);
}

FrameReader::Result FrameReader::next_data_piece(Frame* frame) {
  const size_t size = std::min(data_left_, input_.size());
  if (size == 0 && data_left_ > 0) return Result::kNeedMore;
  data_left_ -= size;
  in_data_ = data_left_ > 0;
  frame->type = FrameType::kData;
  frame->flags = in_data_ ? data_flags_ & ~kFlagEndStream : data_flags_;
  frame->stream = data_stream_;
  frame->payload = input_.first(size);
  frame->flow_controlled = size;
  take(size);
  return Result::kFrame;
}

FrameReader::Result FrameReader::whole_frame(const uint8_t* bytes, Frame* frame) {
  size_t length = load_u32(bytes) >> 8;
  const uint8_t* payload = bytes + kFrameHeaderBytes;
  frame->type = static_cast<FrameType>(bytes[3]);
  frame->flags = bytes[4];
  frame->stream = load_u32(bytes + 5) & 0x7FFFFFFF;
  frame->flow_controlled = frame->type == FrameType::kData ? length : 0;
  const bool headers = frame->type == FrameType::kHeaders;
  size_t padding = 0;
  if ((frame->flags & kFlagPadded) != 0 && (headers || frame->type == FrameType::kData)) {
    if (length < 1) return fail("a padded frame has no pad length");
    padding = *payload++;
    --length;
  }
  if (headers && (frame->flags & kFlagPriority) != 0) {
    if (length < 5) return fail("a HEADERS frame is too short for its priority");
    payload += 5;
    length -= 5;
  }
  if (padding > length) return fail("a frame's padding is longer than the frame");
  frame->payload = {payload, length - padding};
  return Result::kFrame;
}

}  // namespace drover::bench
