// Cuts a connection's bytes into frames, wherever they are broken off. DATA is passed on as it comes; every other
// frame is handed over whole, from the caller's buffer if it lies there, else from one of its own. What it stores is
// at most one frame's payload, whose size the visitor has approved.
//
// Not thread-safe. The visitor is the session:
//   Take take(const FrameHeader&)                  asked once a frame, before any payload
//   bool on_frame(const FrameHeader&, const char*) a whole frame
//   bool on_data_begin(const FrameHeader&, size_t padding)
//   bool on_data(const char*, size_t)              some of the payload, without padding
//   bool on_data_end()                             the payload is over
//   bool go_on()                                   asked between frames; false: it has no time for the next one now
// False of the others ends the reading for good.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/http2/wire.h"

namespace drover::engine::http2 {

enum class Take : uint8_t { kWhole, kData, kSkip, kStop };

class FrameReader {
 public:
  // `preface`: bytes that come before the first frame.
  explicit FrameReader(std::string_view preface) : preface_(preface) {}

  // How many bytes were read: fewer than `size` if the visitor had no time for more, behind a frame, or if it ended
  // the reading, or if the preface is wrong (bad_preface). At least one frame is read.
  template <typename Visitor>
  size_t read(const char* bytes, size_t size, Visitor& visitor);

  bool bad_preface() const { return bad_preface_; }
  // Bytes of data that are still to come of the DATA frame at hand.
  size_t data_left() const { return state_ == State::kData ? left_ : 0; }
  // Bytes stored of a frame that has not come whole.
  size_t held() const { return partial_.capacity(); }

 private:
  enum class State : uint8_t { kHeader, kWhole, kPadLength, kData, kPadding, kSkip };

  template <typename Visitor>
  bool begin_frame(Visitor& visitor);
  template <typename Visitor>
  bool stream_payload(const char*& at, const char* end, Visitor& visitor);
  template <typename Visitor>
  bool begin_data(size_t padding, Visitor& visitor);
  bool match_preface(const char*& at, const char* end);

  std::string_view preface_;  // what has not come of it
  State state_ = State::kHeader;
  bool bad_preface_ = false;
  FrameHeader header_;
  size_t left_ = 0;     // of the payload, or of the padding
  size_t padding_ = 0;  // behind the data
  std::string partial_;
};

inline bool FrameReader::match_preface(const char*& at, const char* end) {
  size_t n = std::min(preface_.size(), static_cast<size_t>(end - at));
  bad_preface_ = std::memcmp(preface_.data(), at, n) != 0;
  preface_.remove_prefix(n);
  at += n;
  return !bad_preface_;
}

template <typename Visitor>
bool FrameReader::begin_data(size_t padding, Visitor& visitor) {
  padding_ = padding;
  state_ = State::kData;
  return visitor.on_data_begin(header_, padding);
}

// The frame's header is known: what to do with the payload.
template <typename Visitor>
bool FrameReader::begin_frame(Visitor& visitor) {
  left_ = header_.length;
  switch (visitor.take(header_)) {
    case Take::kWhole:
      state_ = State::kWhole;
      return true;
    case Take::kData:
      if (!header_.has(kFlagPadded)) return begin_data(0, visitor);
      state_ = State::kPadLength;
      return true;
    case Take::kSkip:
      state_ = State::kSkip;
      return true;
    case Take::kStop:
      break;
  }
  return false;
}

// DATA and skipped frames.
template <typename Visitor>
bool FrameReader::stream_payload(const char*& at, const char* end, Visitor& visitor) {
  if (state_ == State::kPadLength) {
    if (at == end) return true;
    size_t padding = static_cast<uint8_t>(*at++);
    left_ = left_ - 1 - padding;  // the visitor refuses a padding that does not fit (on_data_begin)
    if (!begin_data(padding, visitor)) return false;
  }
  if (state_ == State::kData) {
    size_t n = std::min(left_, static_cast<size_t>(end - at));
    if (n > 0) {
      left_ -= n;
      at += n;
      if (!visitor.on_data(at - n, n)) return false;
    }
    if (left_ > 0) return true;
    left_ = padding_;
    state_ = State::kPadding;
  }
  size_t n = std::min(left_, static_cast<size_t>(end - at));
  at += n;
  left_ -= n;
  if (left_ > 0) return true;
  bool data = state_ == State::kPadding;
  state_ = State::kHeader;
  return !data || visitor.on_data_end();
}

template <typename Visitor>
size_t FrameReader::read(const char* bytes, size_t size, Visitor& visitor) {
  const char* at = bytes;
  const char* const end = bytes + size;
  const auto taken = [&] { return static_cast<size_t>(at - bytes); };
  if (!preface_.empty() && !match_preface(at, end)) return taken();
  for (bool first = true;; first = false) {
    if (state_ == State::kHeader) {
      size_t have = static_cast<size_t>(end - at);
      if (!first && have != 0 && !visitor.go_on()) return taken();
      if (partial_.empty() && have >= kFrameHeaderBytes) {
        header_ = FrameHeader::read(at);
        at += kFrameHeaderBytes;
      } else {
        if (have == 0) return taken();
        size_t n = std::min(kFrameHeaderBytes - partial_.size(), have);
        partial_.append(at, n);
        at += n;
        if (partial_.size() < kFrameHeaderBytes) return taken();
        header_ = FrameHeader::read(partial_.data());
        partial_.clear();
      }
      if (!begin_frame(visitor)) return taken();
    }
    if (state_ != State::kWhole) {
      if (!stream_payload(at, end, visitor)) return taken();
      if (state_ != State::kHeader) return taken();
      continue;
    }
    size_t have = static_cast<size_t>(end - at);
    const char* payload = at;
    if (!partial_.empty() || have < header_.length) {
      size_t n = std::min(header_.length - partial_.size(), have);
      partial_.append(at, n);
      at += n;
      if (partial_.size() < header_.length) return taken();
      payload = partial_.data();
    } else {
      at += header_.length;
    }
    state_ = State::kHeader;
    if (!visitor.on_frame(header_, payload)) return taken();
    if (!partial_.empty()) partial_ = std::string();  // memory goes back
  }
}

}  // namespace drover::engine::http2
