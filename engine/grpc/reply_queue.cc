#include "engine/grpc/reply_queue.h"

#include "engine/http2/wire.h"

namespace drover::engine {

void ReplyQueue::append(std::string& to, std::span<const Piece> pieces, size_t size) {
  char prefix[kGrpcPrefixBytes] = {};
  http2::put_u32(prefix + 1, static_cast<uint32_t>(size));
  to.append(prefix, sizeof(prefix));
  for (const Piece& piece : pieces) to.append(piece.data, piece.size);
}

bool ReplyQueue::push(std::span<const Piece> pieces, size_t size) {
  const size_t bytes = size + kGrpcPrefixBytes;
  const bool copy = size <= kCopiedMessage && copied_ + bytes <= kMaxCopied;
  if (copy && !parts_.empty()) {
    Part& last = *parts_.back();
    const bool open = parts_.size() > next_ + (in_body_ ? 1 : 0);
    if (open && last.is_copy() && last.size + bytes <= kCopiedPart) {
      last.copied.reserve(last.copied.size() + bytes);
      append(last.copied, pieces, size);
      last.size += bytes;
      copied_ += bytes;
      return true;
    }
  }
  parts_.reserve();
  auto part = std::make_unique<Part>();
  if (copy) {
    part->copied.reserve(bytes);
    append(part->copied, pieces, size);
    part->size = bytes;
    copied_ += bytes;
  } else {
    part->prefix[0] = 0;
    http2::put_u32(part->prefix + 1, static_cast<uint32_t>(size));
    part->pieces = pieces;
    part->size = size;
    ++referenced_;
  }
  parts_.push(std::move(part));
  return copy;
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
