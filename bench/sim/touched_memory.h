// The memory that a piece of work reads and writes. Flushes every cache line of it, so that it is in DRAM when the work
// begins. Other memory keeps its place in the caches: code, schema tables, stack, translations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drover::bench {

class TouchedMemory {
 public:
  // Keeps its capacity, so that recording memory does not change the observed heap.
  void clear() { pieces_.clear(); }
  void reserve(size_t pieces) { pieces_.reserve(pieces); }
  void add(const TouchedMemory& other) { pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end()); }
  void add(const void* at, size_t size) {
    if (size != 0) pieces_.push_back({reinterpret_cast<uintptr_t>(at), size});
  }
  // Flushed from all caches when this returns.
  void flush() const;

 private:
  struct Piece {
    uintptr_t at;
    size_t size;
  };
  std::vector<Piece> pieces_;
};

}  // namespace drover::bench
