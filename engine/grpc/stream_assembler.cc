#include "engine/grpc/stream_assembler.h"

#include <algorithm>

namespace drover::engine {
namespace {

Status no_room() { return {StatusCode::kResourceExhausted, "too many bytes of requests wait for the service"}; }

}  // namespace

void StreamAssembler::clear() {
  buffer_.clear();
  behind_.clear();
  behind_at_ = 0;
  held_ = false;
  prefix_bytes_ = 0;
  size_ = 0;
  received_ = 0;
  account_ = nullptr;
}

Status StreamAssembler::collect(const char* data, size_t size) {
  while (size > 0) {
    if (buffer_.rest().empty() && !buffer_.grow(kFirstBuffer, size_)) return no_room();
    const size_t take = std::min(size, buffer_.rest().size());
    if (data != buffer_.rest().data()) std::memcpy(buffer_.rest().data(), data, take);
    data += take;
    size -= take;
    buffer_.add(take);
  }
  return {};
}

Status StreamAssembler::put_behind(const char* data, size_t size) {
  if (size == 0) return {};
  // A stream that never catches up would keep all that it ever sent. What is moved is at most three times what was
  // taken since the last time, however small the pieces are.
  if (size > behind_.rest().size() && behind_at_ > 0 && behind_at_ >= behind_.size() / 4) {
    behind_.drop_front(behind_at_);
    behind_at_ = 0;
  }
  const size_t whole = behind_.size() + size;
  const size_t more = behind_.capacity() + behind_.capacity() / 2;
  if (!behind_.reserve(std::max(whole, whole > behind_.capacity() ? more : 0)) && !behind_.reserve(whole)) {
    return no_room();
  }
  std::memcpy(behind_.rest().data(), data, size);
  behind_.add(size);
  return {};
}

Status StreamAssembler::finish() const {
  return partial() ? message_cut_short(prefix_bytes_, buffer_.size(), size_) : Status{};
}

}  // namespace drover::engine
