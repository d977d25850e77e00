#include "engine/binary_log/entry_ring.h"

#include <algorithm>
#include <cstring>

#include "binlog/entry_format.h"

namespace drover::engine::binary_log {
namespace {

using Size = uint32_t;

}  // namespace

EntryRing::EntryRing(size_t bytes) : capacity_(bytes), bytes_(new char[bytes]) {}

void EntryRing::put(size_t& at, const char* bytes, size_t size) {
  const size_t place = at % capacity_;
  const size_t first = std::min(size, capacity_ - place);
  std::memcpy(bytes_.get() + place, bytes, first);
  if (size != first) std::memcpy(bytes_.get(), bytes + first, size - first);
  at += size;
}

void EntryRing::get(size_t& at, char* bytes, size_t size) const {
  const size_t place = at % capacity_;
  const size_t first = std::min(size, capacity_ - place);
  std::memcpy(bytes, bytes_.get() + place, first);
  if (size != first) std::memcpy(bytes + first, bytes_.get(), size - first);
  at += size;
}

bool EntryRing::push(std::span<const Piece> pieces) {
  size_t size = 0;
  for (const Piece& piece : pieces) size += piece.size;
  if (size > UINT32_MAX) return false;
  size_t at = written_.load(std::memory_order_relaxed);
  const size_t needed = sizeof(Size) + size;
  if (needed > capacity_ - (at - known_read_)) {
    known_read_ = read_.load(std::memory_order_acquire);
    if (needed > capacity_ - (at - known_read_)) return false;
  }
  const auto count = static_cast<Size>(size);
  put(at, reinterpret_cast<const char*>(&count), sizeof count);
  for (const Piece& piece : pieces) {
    if (piece.size != 0) put(at, piece.data, piece.size);
  }
  written_.store(at, std::memory_order_release);
  return true;
}

size_t EntryRing::pop(size_t most, std::string* out) {
  size_t at = read_.load(std::memory_order_relaxed);
  const size_t end = written_.load(std::memory_order_acquire);
  size_t count = 0;
  for (; at != end && out->size() < most; ++count) {
    Size size;
    get(at, reinterpret_cast<char*>(&size), sizeof size);
    binlog::append_varint(size, out);
    const size_t before = out->size();
    out->resize(before + size);
    get(at, out->data() + before, size);
  }
  read_.store(at, std::memory_order_release);
  return count;
}

}  // namespace drover::engine::binary_log
