#include "streams/memory_streams.h"

#include <algorithm>
#include <limits>

#include "object/owner.h"

namespace drover::io {
namespace {

void check_back_up(int count, int lent) {
  if (count < 0 || count > lent) fatal("BackUp(count) of a stream: more than the last Next gave");
}

}  // namespace

ArrayInputStream::ArrayInputStream(const void* data, int size, int block_size)
    : data_(static_cast<const uint8_t*>(data)),
      size_(std::max(size, 0)),
      block_size_(block_size > 0 ? block_size : size_) {}

bool ArrayInputStream::Next(const void** data, int* size) {
  lent_ = std::min(block_size_, size_ - position_);
  if (lent_ == 0) return false;
  *data = data_ + position_;
  *size = lent_;
  position_ += lent_;
  return true;
}

void ArrayInputStream::BackUp(int count) {
  check_back_up(count, lent_);
  position_ -= count;
  lent_ = 0;
}

bool ArrayInputStream::Skip(int count) {
  lent_ = 0;
  if (count < 0) return false;
  const int left = size_ - position_;
  position_ += std::min(count, left);
  return count <= left;
}

ArrayOutputStream::ArrayOutputStream(void* data, int size, int block_size)
    : data_(static_cast<uint8_t*>(data)), size_(std::max(size, 0)), block_size_(block_size > 0 ? block_size : size_) {}

bool ArrayOutputStream::Next(void** data, int* size) {
  lent_ = std::min(block_size_, size_ - position_);
  if (lent_ == 0) return false;
  *data = data_ + position_;
  *size = lent_;
  position_ += lent_;
  return true;
}

void ArrayOutputStream::BackUp(int count) {
  check_back_up(count, lent_);
  position_ -= count;
  lent_ = 0;
}

bool StringOutputStream::Next(void** data, int* size) {
  constexpr size_t kLeast = 16;
  constexpr size_t kMost = std::numeric_limits<int>::max();  // of one loan
  const size_t old = target_->size();
  size_t grown = std::max(std::max(target_->capacity(), 2 * old), kLeast);
  if (target_->capacity() > old) grown = target_->capacity();
  grown = std::min(grown, old + kMost);
  target_->resize(grown);
  *data = target_->data() + old;
  lent_ = static_cast<int>(grown - old);
  *size = lent_;
  return true;
}

void StringOutputStream::BackUp(int count) {
  check_back_up(count, lent_);
  target_->resize(target_->size() - static_cast<size_t>(count));
  lent_ = 0;
}

}  // namespace drover::io
