#include "streams/coded_input.h"

#include <algorithm>

namespace drover::io {

CodedInputStream::~CodedInputStream() {
  if (input_ == nullptr) return;
  const int unread = static_cast<int>(end_ - at_) + hidden_;
  if (unread > 0) input_->BackUp(unread);
}

// Sets end_ and hidden_ by the limits.
void CodedInputStream::apply_limits() {
  end_ += hidden_;
  const int limit = std::min(current_limit_, total_limit_);
  hidden_ = total_read_ > limit ? total_read_ - limit : 0;
  end_ -= hidden_;
}

// The next buffer; false if a limit, or the stream, ends here.
bool CodedInputStream::refill() {
  if (at_ < end_) return true;
  if (input_ == nullptr || hidden_ > 0 || total_read_ == current_limit_ || total_read_ >= total_limit_) return false;
  const void* data = nullptr;
  int size = 0;
  do {
    if (!input_->Next(&data, &size)) {
      at_ = end_ = nullptr;
      return false;
    }
  } while (size <= 0);
  if (const int room = INT_MAX - total_read_; size > room) {
    input_->BackUp(size - room);
    size = room;
  }
  at_ = static_cast<const uint8_t*>(data);
  end_ = at_ + size;
  total_read_ += size;
  apply_limits();
  return at_ < end_;
}

bool CodedInputStream::Skip(int count) {
  if (count < 0) return false;
  while (count > 0) {
    if (!refill()) return false;
    const int some = std::min(count, static_cast<int>(end_ - at_));
    at_ += some;
    count -= some;
  }
  return true;
}

bool CodedInputStream::GetDirectBufferPointer(const void** data, int* size) {
  if (!refill()) return false;
  *data = at_;
  *size = static_cast<int>(end_ - at_);
  return true;
}

bool CodedInputStream::ReadRaw(void* buffer, int size) {
  auto* to = static_cast<uint8_t*>(buffer);
  while (size > 0) {
    if (!refill()) return false;
    const int some = std::min(size, static_cast<int>(end_ - at_));
    std::memcpy(to, at_, static_cast<size_t>(some));
    at_ += some;
    to += some;
    size -= some;
  }
  return size == 0;
}

bool CodedInputStream::ReadString(std::string* out, int size) {
  if (size < 0) return false;
  out->clear();
  while (size > 0) {
    if (!refill()) return false;
    const int some = std::min(size, static_cast<int>(end_ - at_));
    out->append(reinterpret_cast<const char*>(at_), static_cast<size_t>(some));
    at_ += some;
    size -= some;
  }
  return true;
}

bool CodedInputStream::read_byte(uint8_t* byte) {
  if (at_ == end_ && !refill()) return false;
  *byte = *at_++;
  return true;
}

bool CodedInputStream::ReadVarint64(uint64_t* value) {
  constexpr int kLongest = 10;
  uint64_t bits = 0;
  for (int i = 0; i < kLongest; ++i) {
    uint8_t byte;
    if (!read_byte(&byte)) return false;
    bits |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      *value = bits;
      return true;
    }
  }
  return false;
}

bool CodedInputStream::ReadVarint32(uint32_t* value) {
  uint64_t bits;
  if (!ReadVarint64(&bits)) return false;
  *value = static_cast<uint32_t>(bits);
  return true;
}

bool CodedInputStream::ReadVarintSizeAsInt(int* value) {
  uint64_t bits;
  if (!ReadVarint64(&bits) || bits > INT_MAX) return false;
  *value = static_cast<int>(bits);
  return true;
}

uint32_t CodedInputStream::ReadTagNoLastTag() {
  if (at_ == end_ && !refill()) {
    // The total limit cuts a message off, unless the message's own limit is there.
    const int position = CurrentPosition();
    legitimate_end_ = position < total_limit_ || position == current_limit_;
    return 0;
  }
  uint32_t tag;
  return ReadVarint32(&tag) ? tag : 0;
}

bool CodedInputStream::ExpectTag(uint32_t expected) {
  if (expected < 1u << 7) {
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }
  if (expected >= 1u << 14 || end_ - at_ < 2) return false;
  if (at_[0] != static_cast<uint8_t>(expected | 0x80) || at_[1] != static_cast<uint8_t>(expected >> 7)) return false;
  at_ += 2;
  return true;
}

bool CodedInputStream::ExpectAtEnd() {
  if (at_ != end_ || (hidden_ == 0 && total_read_ != current_limit_)) return false;
  last_tag_ = 0;
  legitimate_end_ = true;
  return true;
}

CodedInputStream::Limit CodedInputStream::PushLimit(int byte_limit) {
  const int position = CurrentPosition();
  const Limit old = current_limit_;
  if (byte_limit >= 0 && byte_limit < old - position) {
    current_limit_ = position + byte_limit;
    apply_limits();
  }
  return old;
}

void CodedInputStream::PopLimit(Limit limit) {
  current_limit_ = limit;
  apply_limits();
  legitimate_end_ = false;
}

void CodedInputStream::SetTotalBytesLimit(int limit) {
  total_limit_ = std::max(CurrentPosition(), limit);
  apply_limits();
}

CodedInputStream::Limit CodedInputStream::ReadLengthAndPushLimit() {
  int length;
  return PushLimit(ReadVarintSizeAsInt(&length) ? length : 0);
}

bool CodedInputStream::CheckEntireMessageConsumedAndPopLimit(Limit limit) {
  const bool consumed = ConsumedEntireMessage();
  PopLimit(limit);
  return consumed;
}

void CodedInputStream::SetRecursionLimit(int limit) {
  recursion_budget_ += limit - recursion_limit_;
  recursion_limit_ = limit;
}

std::pair<CodedInputStream::Limit, int> CodedInputStream::IncrementRecursionDepthAndPushLimit(int byte_limit) {
  return {PushLimit(byte_limit), --recursion_budget_};
}

bool CodedInputStream::DecrementRecursionDepthAndPopLimit(Limit limit) {
  const bool consumed = ConsumedEntireMessage();
  PopLimit(limit);
  ++recursion_budget_;
  return consumed;
}

}  // namespace drover::io
