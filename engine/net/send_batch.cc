#include "engine/net/send_batch.h"

#include <algorithm>
#include <cstring>

namespace drover::engine {

SendBatch::SendBatch() : buffer_(new char[kBuffer]) { parts_.reserve(kMaxParts); }

void SendBatch::clear() {
  used_ = first_used_ = 0;
  first_part_ = 0;
  bytes_ = 0;
  extendable_ = false;
  parts_.clear();
  if (!oversized_.empty()) {
    oversized_.clear();
    oversized_parts_.clear();
  }
}

void SendBatch::begin() {
  first_used_ = used_;
  first_part_ = parts_.size();
  bytes_ = 0;
  extendable_ = false;
}

void SendBatch::drop() {
  used_ = first_used_;
  bytes_ = 0;
  extendable_ = false;
  parts_.resize(first_part_);
  while (!oversized_parts_.empty() && oversized_parts_.back() >= first_part_) {
    oversized_parts_.pop_back();
    oversized_.pop_back();
  }
}

// Copied bytes that do not continue the last part.
void SendBatch::append_part(const void* bytes, size_t size) {
  char* to = buffer_.get() + used_;
  extendable_ = size <= kBuffer - used_;
  if (extendable_) {
    used_ += size;
  } else {
    oversized_.emplace_back(new char[size]);
    to = oversized_.back().get();
    oversized_parts_.push_back(parts_.size());
  }
  std::memcpy(to, bytes, size);
  parts_.push_back({to, size});
  bytes_ += size;
}

void SendBatch::append_reference(const void* bytes, size_t size) {
  extendable_ = false;
  parts_.push_back({const_cast<void*>(bytes), size});
  bytes_ += size;
}

bool SendBatch::is_copied(const iovec& part) const {
  auto at = reinterpret_cast<uintptr_t>(part.iov_base);
  auto buffer = reinterpret_cast<uintptr_t>(buffer_.get());
  if (at >= buffer && at < buffer + kBuffer) return true;
  return std::find(oversized_parts_.begin(), oversized_parts_.end(), &part - parts_.data()) != oversized_parts_.end();
}

void UnsentQueue::take(const SendBatch& batch, std::span<const iovec> parts, size_t sent) {
  size_t begin = 0;
  while (begin < parts.size() && sent >= parts[begin].iov_len) sent -= parts[begin++].iov_len;
  size_t to_copy = 0;
  for (size_t i = begin; i < parts.size(); ++i) to_copy += batch.is_copied(parts[i]) ? parts[i].iov_len : 0;

  copied_.reset(to_copy > 0 ? new char[to_copy] : nullptr);
  copied_bytes_ = to_copy;
  char* to = copied_.get();
  parts_.clear();
  first_ = 0;
  bytes_ = 0;
  for (size_t i = begin; i < parts.size(); ++i) {
    char* from = static_cast<char*>(parts[i].iov_base) + sent;
    size_t size = parts[i].iov_len - sent;
    sent = 0;
    bytes_ += size;
    if (batch.is_copied(parts[i])) {
      std::memcpy(to, from, size);
      parts_.push_back({to, size});
      to += size;
    } else {
      parts_.push_back({from, size});
    }
  }
}

void UnsentQueue::remove(size_t left) {
  bytes_ -= left;
  while (left > 0 && left >= parts_[first_].iov_len) left -= parts_[first_++].iov_len;
  if (left > 0) {
    parts_[first_].iov_base = static_cast<char*>(parts_[first_].iov_base) + left;
    parts_[first_].iov_len -= left;
  }
  if (!empty()) return;
  constexpr size_t kKeptParts = 16;  // of an idle connection
  parts_.clear();
  if (parts_.capacity() > kKeptParts) parts_ = {};
  first_ = 0;
  copied_.reset();
  copied_bytes_ = 0;
}

}  // namespace drover::engine
