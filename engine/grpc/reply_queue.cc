#include "engine/grpc/reply_queue.h"

#include "engine/http2/wire.h"

namespace drover::engine {

void ReplyQueue::put_prefix(char* to, size_t size, bool compressed) {
  to[0] = compressed ? 1 : 0;
  http2::put_u32(to + 1, static_cast<uint32_t>(size));
}

void ReplyQueue::append(std::string& to, std::span<const Piece> pieces, size_t size, bool compressed) {
  char prefix[kGrpcPrefixBytes];
  put_prefix(prefix, size, compressed);
  to.append(prefix, sizeof(prefix));
  for (const Piece& piece : pieces) to.append(piece.data, piece.size);
}

bool ReplyQueue::push(std::span<const Piece> pieces, size_t size, bool compressed) {
  const size_t bytes = size + kGrpcPrefixBytes;
  const bool copy = copies(size);
  if (copy && !parts_.empty()) {
    Part& last = *parts_.back();
    const bool open = parts_.size() > next_ + (in_body_ ? 1 : 0);
    if (open && last.is_copy() && last.size + bytes <= kCopiedPart) {
      last.copied.reserve(last.copied.size() + bytes);
      append(last.copied, pieces, size, compressed);
      last.size += bytes;
      copied_ += bytes;
      return true;
    }
  }
  if (!copy) return push_referenced(pieces, size), false;
  parts_.reserve();
  auto part = std::make_unique<Part>();
  part->copied.reserve(bytes);
  append(part->copied, pieces, size, compressed);
  part->size = bytes;
  copied_ += bytes;
  parts_.push(std::move(part));
  return true;
}

ReplyQueue::Part& ReplyQueue::push_referenced(std::span<const Piece> pieces, size_t size) {
  parts_.reserve();
  auto part = std::make_unique<Part>();
  put_prefix(part->prefix, size, false);
  part->pieces = pieces;
  part->size = size;
  ++referenced_;
  parts_.push(std::move(part));
  return *parts_.back();
}

void ReplyQueue::push_compressed(ChargedBuffer bytes) { stop_waiting(push_referenced({}, 0), std::move(bytes)); }

void ReplyQueue::push_waiting(std::span<const Piece> pieces, size_t size) {
  push_referenced(pieces, size).waits = true;
}

ReplyQueue::Part* ReplyQueue::waiting() {
  for (size_t i = next_; i < parts_.size(); ++i) {
    if (parts_.at(i)->waits) return parts_.at(i).get();
  }
  return nullptr;
}

void ReplyQueue::stop_waiting(Part& part, ChargedBuffer bytes) {
  part.waits = false;
  if (bytes.size() == 0) return;
  part.compressed = std::move(bytes);
  part.piece = {part.compressed.data(), part.compressed.size()};
  part.pieces = {&part.piece, 1};
  part.size = part.piece.size;
  put_prefix(part.prefix, part.size, true);
}

ReplyQueue::Part& ReplyQueue::produced(uint64_t until) {
  Part& part = *parts_.at(next_++);
  in_body_ = false;
  part.until = until;
  moved_ += part.bytes();
  return part;
}

bool ReplyQueue::sent() {
  std::unique_ptr<Part> part = parts_.pop();
  --next_;
  if (part->is_copy()) {
    copied_ -= part->size;
  } else {
    --referenced_;
  }
  return !part->is_copy();
}

void ReplyQueue::clear() {
  parts_.clear();
  next_ = copied_ = referenced_ = 0;
  in_body_ = false;
  moved_ = moved_before = 0;
}

}  // namespace drover::engine
