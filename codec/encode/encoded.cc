#include "codec/encode/encoded.h"

#include <cstring>
#include <new>
#include <utility>

namespace drover {

void Encoded::copy_to(char* to) const {
  for (const Piece& piece : pieces()) {
    std::memcpy(to, piece.data, piece.size);
    to += piece.size;
  }
}

bool Encoded::more_pieces(Piece** first) {
  size_t used = static_cast<size_t>(pieces_end() - *first);
  size_t capacity = piece_capacity_ == 0 ? 16 : piece_capacity_ * 2;
  std::unique_ptr<Piece[]> more(new (std::nothrow) Piece[capacity]);
  if (more == nullptr) return false;
  if (used != 0) std::memcpy(more.get() + capacity - used, *first, used * sizeof(Piece));
  pieces_ = std::move(more);
  piece_capacity_ = capacity;
  first_piece_ = pieces_end();  // nothing is done yet
  *first = pieces_end() - used;
  return true;
}

size_t Encoded::buffer_bytes() const {
  size_t sum = 0;
  for (const Block& block : blocks_) sum += block.size;
  return sum;
}

}  // namespace drover
