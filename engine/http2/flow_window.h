// Flow control (RFC 9113, 5.2 and 6.9): what may be sent, what may be received, and how large a receive window is worth
// its memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/http2/wire.h"

namespace drover::engine::http2 {

// Bytes that the peer lets us send, on a stream or on the connection. A change of SETTINGS_INITIAL_WINDOW_SIZE can
// make a stream's negative.
class SendWindow {
 public:
  explicit SendWindow(int64_t bytes = kDefaultWindow) : bytes_(bytes) {}
  int64_t bytes() const { return bytes_; }
  void spend(int64_t bytes) { bytes_ -= bytes; }
  // False: the window would pass 2^31 - 1, a FLOW_CONTROL_ERROR.
  bool grow(int64_t bytes) {
    bytes_ += bytes;
    return bytes_ <= kMaxWindow;
  }

 private:
  int64_t bytes_;
};

// Bytes that we let the peer send. What the application has taken is given back in large pieces.
//
//   size:  | open to the peer ... | received, held by the application ... | taken, not yet given back |
class ReceiveWindow {
 public:
  explicit ReceiveWindow(uint32_t size = kDefaultWindow) : size_(size), open_(size) {}

  // False: the peer sent more than it may.
  bool receive(uint32_t bytes) {
    open_ -= bytes;
    return open_ >= 0;
  }
  // The application is done with `bytes`. Returns the increment of a WINDOW_UPDATE that is due now, or 0.
  uint32_t consume(uint32_t bytes) {
    taken_ += bytes;
    return taken_ >= size_ / 2 ? give_back() : 0;
  }
  // Makes the window larger. Returns the increment of a WINDOW_UPDATE; 0 if it is that large.
  uint32_t resize(uint32_t size) {
    if (size <= size_) return 0;
    taken_ += size - size_;
    size_ = size;
    return give_back();
  }
  // As resize, where the peer learns the new size by SETTINGS_INITIAL_WINDOW_SIZE.
  void resized_by_setting(uint32_t size) {
    open_ += int64_t{size} - size_;
    size_ = size;
  }
  uint32_t size() const { return size_; }
  int64_t open() const { return open_; }

 private:
  uint32_t give_back() {
    uint32_t bytes = taken_;
    open_ += bytes;
    taken_ = 0;
    return bytes;
  }

  uint32_t size_;
  int64_t open_;        // below 0: the peer broke the rules
  uint32_t taken_ = 0;  // at most size_
};

// Measures the bandwidth-delay product with PING: the bytes that arrive between a ping and its answer are what one
// round trip carries. Windows follow it, from `initial` up to `max`, and do not shrink.
class BandwidthDelay {
 public:
  BandwidthDelay(uint32_t initial, uint32_t max) : window_(std::min(initial, max)), max_(max) {}

  // True: send a ping now. Only while a larger window could matter: at least a quarter of it came since the last ping.
  bool receive(uint32_t bytes) {
    if (window_ >= max_) return false;
    received_ += bytes;
    if (measuring_ || received_ < window_ / 4) return false;
    measuring_ = true;
    received_ = bytes;
    return true;
  }
  // The answer. True: the window grew.
  bool answered() {
    if (!measuring_) return false;
    measuring_ = false;
    bool grow = received_ >= window_ / 3 * 2;
    received_ = 0;
    if (grow) window_ = window_ > max_ / 2 ? max_ : window_ * 2;
    return grow;
  }
  uint32_t window() const { return window_; }

 private:
  uint32_t window_;
  const uint32_t max_;
  uint64_t received_ = 0;
  bool measuring_ = false;
};

}  // namespace drover::engine::http2
