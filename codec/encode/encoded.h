// Encoded: the pieces that an encode makes, and the buffers for bytes that are not referred to in the object.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "codec/encode/encode_types.h"

namespace drover {

// Where encoded bytes are. Reuse one for many calls: in the steady state none of them allocates. The pieces are valid
// until the next call with it, and as long as the object. Thread-safety: one thread at a time.
class Encoded {
 public:
  Encoded() = default;
  Encoded(const Encoded&) = delete;
  Encoded& operator=(const Encoded&) = delete;

  std::span<const Piece> pieces() const { return {first_piece_, static_cast<size_t>(pieces_end() - first_piece_)}; }
  size_t size() const { return size_; }
  // Copies all pieces, one behind the other, to `to`, which has room for size() bytes.
  void copy_to(char* to) const;
  // Leaves its first `bytes`, at most size(), out of the pieces.
  void drop_front(size_t bytes);
  // Heap memory that it has, buffers and list of pieces; kept for the next call.
  size_t buffer_bytes() const { return buffer_bytes_; }

 private:
  friend class BackwardSink;
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  Piece* pieces_begin() const { return pieces_.get(); }
  Piece* pieces_end() const { return pieces_.get() + piece_capacity_; }
  void set_pieces(Piece* first, size_t size) {
    first_piece_ = first;
    size_ = size;
  }
  // Makes room in front of *first, which moves along. kOutOfMemory; kNoRoom: more than `max_bytes` of heap memory.
  EncodeError more_pieces(Piece** first, size_t max_bytes);

  std::vector<Block> blocks_;
  std::unique_ptr<Piece[]> pieces_;  // filled from the end
  size_t piece_capacity_ = 0;
  Piece* first_piece_ = nullptr;
  size_t size_ = 0;
  size_t buffer_bytes_ = 0;
};

}  // namespace drover
