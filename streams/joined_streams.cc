#include "streams/joined_streams.h"

#include "object/owner.h"

namespace drover::io {

void ConcatenatingInputStream::retire() {
  retired_bytes_ += streams_[0]->ByteCount();
  ++streams_;
  --left_;
}

bool ConcatenatingInputStream::Next(const void** data, int* size) {
  for (; left_ > 0; retire()) {
    if (streams_[0]->Next(data, size)) return true;
  }
  return false;
}

void ConcatenatingInputStream::BackUp(int count) {
  if (left_ == 0) fatal("BackUp(count) of a stream that has ended");
  streams_[0]->BackUp(count);
}

bool ConcatenatingInputStream::Skip(int count) {
  if (count < 0) return false;
  for (; left_ > 0; retire()) {
    const int64_t before = streams_[0]->ByteCount();
    if (streams_[0]->Skip(count)) return true;
    const int64_t skipped = streams_[0]->ByteCount() - before;
    if (skipped < 0 || skipped > count) return false;
    count -= static_cast<int>(skipped);
  }
  return count == 0;
}

int64_t ConcatenatingInputStream::ByteCount() const {
  return left_ == 0 ? retired_bytes_ : retired_bytes_ + streams_[0]->ByteCount();
}

LimitingInputStream::~LimitingInputStream() {
  if (limit_ < 0) stream_->BackUp(static_cast<int>(-limit_));
}

bool LimitingInputStream::Next(const void** data, int* size) {
  if (limit_ <= 0 || !stream_->Next(data, size)) return false;
  limit_ -= *size;
  if (limit_ < 0) *size += static_cast<int>(limit_);
  return true;
}

void LimitingInputStream::BackUp(int count) {
  const int64_t over = limit_ < 0 ? -limit_ : 0;
  stream_->BackUp(count + static_cast<int>(over));
  limit_ += count + over;
}

bool LimitingInputStream::Skip(int count) {
  if (count < 0) return false;
  if (count > limit_) {
    if (limit_ > 0) {
      stream_->Skip(static_cast<int>(limit_));
      limit_ = 0;
    }
    return false;
  }
  if (!stream_->Skip(count)) return false;
  limit_ -= count;
  return true;
}

int64_t LimitingInputStream::ByteCount() const { return stream_->ByteCount() - began_at_ + (limit_ < 0 ? limit_ : 0); }

}  // namespace drover::io
