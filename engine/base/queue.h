// Queue: first in, first out, in a ring buffer that grows by doubling. Elements do not move while none is pushed. What
// a long queue has taken is given back when it is empty. Thread-safety: none.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace drover::engine {

template <typename T>
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& front() { return items_[first_]; }
  T& back() { return at(size_ - 1); }
  // i < size(), from the front.
  T& at(size_t i) { return items_[(first_ + i) & (capacity_ - 1)]; }

  // Heap bytes.
  size_t memory() const { return capacity_ * sizeof(T); }

  // Makes the next push succeed. Throws std::bad_alloc.
  void reserve() {
    if (size_ == capacity_) grow();
  }
  T& push(T item) {
    reserve();
    ++size_;
    return back() = std::move(item);
  }
  T pop() {
    T item = std::move(items_[first_]);
    first_ = (first_ + 1) & (capacity_ - 1);
    if (--size_ == 0 && capacity_ > kKept) clear();
    return item;
  }
  T pop_back() {
    T item = std::move(back());
    --size_;
    return item;
  }
  // Empty, and without memory.
  void clear() {
    items_.reset();
    capacity_ = first_ = size_ = 0;
  }

 private:
  static constexpr size_t kKept = 64;  // elements that an empty queue has room for

  void grow() {
    const size_t capacity = capacity_ == 0 ? 4 : 2 * capacity_;
    auto items = std::make_unique<T[]>(capacity);
    for (size_t i = 0; i < size_; ++i) items[i] = std::move(at(i));
    items_ = std::move(items);
    capacity_ = capacity;
    first_ = 0;
  }

  std::unique_ptr<T[]> items_;
  size_t capacity_ = 0;  // a power of two, or 0
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace drover::engine
