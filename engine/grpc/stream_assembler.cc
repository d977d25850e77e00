#include "engine/grpc/stream_assembler.h"

#include <algorithm>
#include <new>

namespace drover::engine {

void StreamAssembler::clear() {
  drop_buffer();
  prefix_bytes_ = 0;
  size_ = 0;
  filled_ = 0;
  received_ = 0;
  account_ = nullptr;
}

void StreamAssembler::drop_buffer() {
  if (capacity_ != 0 && account_ != nullptr) account_->release(Resource::kMemory, capacity_);
  buffer_.reset();
  capacity_ = 0;
}

// False: over the account's budget, or no memory.
bool StreamAssembler::grow() {
  const size_t capacity = std::min<size_t>(size_, std::max(kFirstBuffer, 2 * capacity_));
  const size_t more = capacity - capacity_;
  if (account_ != nullptr && !account_->charge(Resource::kMemory, more)) return false;
  std::unique_ptr<char[]> buffer(new (std::nothrow) char[capacity]);
  if (buffer == nullptr) {
    if (account_ != nullptr) account_->release(Resource::kMemory, more);
    return false;
  }
  if (filled_ > 0) std::memcpy(buffer.get(), buffer_.get(), filled_);
  buffer_ = std::move(buffer);
  capacity_ = capacity;
  return true;
}

Status StreamAssembler::collect(const char* data, size_t size) {
  while (size > 0) {
    if (filled_ == capacity_ && !grow()) {
      return {StatusCode::kResourceExhausted, "too many bytes of requests wait for the service"};
    }
    const size_t take = std::min(size, capacity_ - filled_);
    if (data != buffer_.get() + filled_) std::memcpy(buffer_.get() + filled_, data, take);
    data += take;
    size -= take;
    filled_ += take;
  }
  return {};
}

Status StreamAssembler::finish() const {
  return partial() ? message_cut_short(prefix_bytes_, filled_, size_) : Status{};
}

}  // namespace drover::engine
