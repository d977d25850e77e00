#include "engine/http2/outbox.h"

#include <algorithm>

namespace drover::engine::http2 {

void Outbox::append(std::string_view bytes) {
  queue_.append(bytes);
  budget_.charge(bytes.size());
}

void Outbox::frame(FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  char header[kFrameHeaderBytes];
  FrameHeader{static_cast<uint32_t>(payload.size()), type, flags, stream}.write(header);
  append({header, sizeof(header)});
  append(payload);
}

void Outbox::settings(std::initializer_list<std::pair<Setting, uint32_t>> values) {
  std::string payload(values.size() * kSettingBytes, '\0');
  char* at = payload.data();
  for (auto [setting, value] : values) at = put_u32(put_u16(at, static_cast<uint32_t>(setting)), value);
  frame(FrameType::kSettings, 0, 0, payload);
}

void Outbox::settings_ack() { frame(FrameType::kSettings, kFlagAck, 0, {}); }

void Outbox::ping(std::string_view opaque, bool ack) { frame(FrameType::kPing, ack ? kFlagAck : 0, 0, opaque); }

void Outbox::rst_stream(uint32_t stream, ErrorCode code) {
  char payload[4];
  put_u32(payload, static_cast<uint32_t>(code));
  frame(FrameType::kRstStream, 0, stream, {payload, sizeof(payload)});
}

void Outbox::window_update(uint32_t stream, uint32_t increment) {
  ++window_updates_;
  char payload[4];
  put_u32(payload, increment);
  frame(FrameType::kWindowUpdate, 0, stream, {payload, sizeof(payload)});
}

void Outbox::goaway(uint32_t last_stream, ErrorCode code, std::string_view debug) {
  char fixed[kGoawayBytes];
  put_u32(put_u32(fixed, last_stream), static_cast<uint32_t>(code));
  frame(FrameType::kGoaway, 0, 0, std::string(fixed, sizeof(fixed)).append(debug));
}

void Outbox::flush(SendBatch& batch) {
  if (queue_.empty()) return;
  batch.append_copy(queue_.data(), queue_.size());
  budget_.release(queue_.size());
  constexpr size_t kKept = 512;  // of an idle connection
  if (queue_.capacity() > kKept) {
    queue_ = std::string();
  } else {
    queue_.clear();
  }
}

void write_header_frames(uint32_t stream, std::string_view block, bool end_stream, uint32_t max_frame_size,
                         SendBatch& batch) {
  auto type = FrameType::kHeaders;
  uint8_t flags = end_stream ? kFlagEndStream : 0;
  do {
    auto size = static_cast<uint32_t>(std::min<size_t>(block.size(), max_frame_size));
    if (size == block.size()) flags |= kFlagEndHeaders;
    char header[kFrameHeaderBytes];
    FrameHeader{size, type, flags, stream}.write(header);
    batch.append_copy(header, sizeof(header));
    batch.append_copy(block.data(), size);
    block.remove_prefix(size);
    type = FrameType::kContinuation;
    flags = 0;
  } while (!block.empty());
}

}  // namespace drover::engine::http2
