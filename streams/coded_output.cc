#include "streams/coded_output.h"

#include <algorithm>

namespace drover::io {

CodedOutputStream::CodedOutputStream(ZeroCopyOutputStream* output, bool do_eager_refresh)
    : output_(output), began_at_(output->ByteCount()) {
  if (!do_eager_refresh || !refill()) failed_ = false;  // no room yet is no error
}

void CodedOutputStream::Trim() {
  if (at_ < end_) output_->BackUp(static_cast<int>(end_ - at_));
  at_ = end_ = nullptr;
}

// The next buffer, if this one is full.
bool CodedOutputStream::refill() {
  if (failed_) return false;
  if (at_ < end_) return true;
  void* data = nullptr;
  int size = 0;
  do {
    if (!output_->Next(&data, &size)) {
      at_ = end_ = nullptr;
      failed_ = true;
      return false;
    }
  } while (size <= 0);
  at_ = static_cast<uint8_t*>(data);
  end_ = at_ + size;
  return true;
}

bool CodedOutputStream::Skip(int count) {
  if (count < 0) return false;
  while (count > 0) {
    if (!refill()) return false;
    const int some = std::min(count, static_cast<int>(end_ - at_));
    at_ += some;
    count -= some;
  }
  return true;
}

bool CodedOutputStream::GetDirectBufferPointer(void** data, int* size) {
  if (!refill()) return false;
  *data = at_;
  *size = static_cast<int>(end_ - at_);
  return true;
}

uint8_t* CodedOutputStream::GetDirectBufferForNBytesAndAdvance(int size) {
  if (size < 0 || end_ - at_ < size) return nullptr;
  uint8_t* room = at_;
  at_ += size;
  return room;
}

void CodedOutputStream::WriteRaw(const void* data, int size) {
  const auto* from = static_cast<const uint8_t*>(data);
  while (size > 0 && refill()) {
    const int some = std::min(size, static_cast<int>(end_ - at_));
    std::memcpy(at_, from, static_cast<size_t>(some));
    at_ += some;
    from += some;
    size -= some;
  }
}

void CodedOutputStream::WriteRawMaybeAliased(const void* data, int size) {
  if (!aliases_) return WriteRaw(data, size);
  if (failed_) return;
  Trim();
  if (!output_->WriteAliasedRaw(data, size)) failed_ = true;
}

void CodedOutputStream::WriteVarint64(uint64_t value) {
  uint8_t bytes[10];
  WriteRaw(bytes, static_cast<int>(WriteVarint64ToArray(value, bytes) - bytes));
}

}  // namespace drover::io
