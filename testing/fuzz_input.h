// FuzzInput: a fuzzer's bytes, taken from the front. What is missing is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drover::testing {

class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool more() const { return size_ != 0; }
  template <typename T>
  T take() {
    T value{};
    copy_to(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  // At most what is left; the rest stays as it is.
  void copy_to(char* to, size_t most) {
    size_t n = std::min(most, size_);
    if (n != 0) std::memcpy(to, data_, n);
    data_ += n;
    size_ -= n;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace drover::testing
