// LaneQueue: the workers of one host that await something, in the order in which they came to await it. Each worker is
// in it at most once, which its owner sees to, so that the queue never grows after it was made.
// Thread-safety: none; one engine thread.
#pragma once

#include <cstdint>
#include <vector>

namespace drover::engine {

class LaneQueue {
 public:
  explicit LaneQueue(uint32_t workers) : ring_(workers) {}

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Only of a queue that is not empty.
  uint32_t front() const { return ring_[head_]; }
  uint32_t pop() {
    uint32_t worker = ring_[head_];
    if (++head_ == ring_.size()) head_ = 0;
    --size_;
    return worker;
  }
  // Only of a worker that is not in it.
  void push(uint32_t worker) {
    uint32_t at = head_ + size_;
    if (at >= ring_.size()) at -= static_cast<uint32_t>(ring_.size());
    ring_[at] = worker;
    ++size_;
  }
  // The n-th from the front; n < size().
  uint32_t operator[](uint32_t n) const {
    uint32_t at = head_ + n;
    return ring_[at < ring_.size() ? at : at - ring_.size()];
  }

 private:
  std::vector<uint32_t> ring_;
  uint32_t head_ = 0;
  uint32_t size_ = 0;
};

}  // namespace drover::engine
