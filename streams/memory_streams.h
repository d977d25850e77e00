// Streams over memory: an array, a string. The memory is the caller's and outlives the stream.
#pragma once

#include <cstdint>
#include <string>

#include "streams/zero_copy_stream.h"

namespace drover::io {

// `block_size` is the most that one Next lends; below 1: all.
class ArrayInputStream final : public ZeroCopyInputStream {
 public:
  ArrayInputStream(const void* data, int size, int block_size = -1);
  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;
  int64_t ByteCount() const override { return position_; }

 private:
  const uint8_t* data_;
  int size_;
  int block_size_;
  int position_ = 0;
  int lent_ = 0;  // by the last Next
};

class ArrayOutputStream final : public ZeroCopyOutputStream {
 public:
  ArrayOutputStream(void* data, int size, int block_size = -1);
  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  int64_t ByteCount() const override { return position_; }

 private:
  uint8_t* data_;
  int size_;
  int block_size_;
  int position_ = 0;
  int lent_ = 0;
};

// Appends to *target, which nothing else changes meanwhile; it grows by doubling.
class StringOutputStream final : public ZeroCopyOutputStream {
 public:
  explicit StringOutputStream(std::string* target) : target_(target) {}
  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  int64_t ByteCount() const override { return static_cast<int64_t>(target_->size()); }

 private:
  std::string* target_;
  int lent_ = 0;
};

}  // namespace drover::io
