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

void Encoded::drop_front(size_t bytes) {
  size_ -= bytes;
  for (; bytes != 0 && first_piece_->size <= bytes; ++first_piece_) bytes -= first_piece_->size;
  if (bytes == 0) return;
  first_piece_->data += bytes;
  first_piece_->size -= bytes;
}

EncodeError Encoded::more_pieces(Piece** first, size_t max_bytes) {
  size_t used = static_cast<size_t>(pieces_end() - *first);
  size_t capacity = piece_capacity_ == 0 ? 16 : piece_capacity_ * 2;
  size_t bytes = buffer_bytes_ + (capacity - piece_capacity_) * sizeof(Piece);
  if (bytes > max_bytes) return EncodeError::kNoRoom;
  std::unique_ptr<Piece[]> more(new (std::nothrow) Piece[capacity]);
  if (more == nullptr) return EncodeError::kOutOfMemory;
  buffer_bytes_ = bytes;
  if (used != 0) std::memcpy(more.get() + capacity - used, *first, used * sizeof(Piece));
  pieces_ = std::move(more);
  piece_capacity_ = capacity;
  first_piece_ = pieces_end();  // nothing is done yet
  *first = pieces_end() - used;
  return EncodeError::kOk;
}

}  // namespace drover
