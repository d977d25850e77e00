// CodedOutputStream: varints, fixed-width integers, tags and strings into a stream, as protobuf C++ has it. For
// hand-written writers; generated classes serialize with codec/encode.
//
// After an error the rest is dropped and HadError() is true. The static forms write into an array that has the room.
#pragma once

#include <bit>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "streams/zero_copy_stream.h"

namespace drover::io {

class CodedOutputStream {
 public:
  // Asks the stream for its first buffer at once, or at the first write.
  explicit CodedOutputStream(ZeroCopyOutputStream* output, bool do_eager_refresh = true);
  CodedOutputStream(const CodedOutputStream&) = delete;
  CodedOutputStream& operator=(const CodedOutputStream&) = delete;
  ~CodedOutputStream() { Trim(); }

  bool HadError() const { return failed_; }
  // Gives the buffer's rest back to the stream, whose ByteCount() is then right.
  void Trim();
  // Passes room without writing to it: its bytes are unspecified.
  bool Skip(int count);
  bool GetDirectBufferPointer(void** data, int* size);
  // Room for `size` bytes in one piece, all of which count as written; null if the buffer has less.
  uint8_t* GetDirectBufferForNBytesAndAdvance(int size);
  // Bytes written through this object.
  int ByteCount() const { return static_cast<int>(output_->ByteCount() - began_at_ - (end_ - at_)); }

  void EnableAliasing(bool enabled) { aliases_ = enabled && output_->AllowsAliasing(); }
  void WriteRaw(const void* data, int size);
  void WriteRawMaybeAliased(const void* data, int size);
  // More than 2^31 - 1 bytes are an error.
  void WriteString(std::string_view text) {
    if (text.size() > INT_MAX) {
      failed_ = true;
    } else {
      WriteRaw(text.data(), static_cast<int>(text.size()));
    }
  }
  void WriteLittleEndian32(uint32_t value) { WriteRaw(&value, sizeof(value)); }
  void WriteLittleEndian64(uint64_t value) { WriteRaw(&value, sizeof(value)); }
  void WriteVarint32(uint32_t value) { WriteVarint64(value); }
  void WriteVarint64(uint64_t value);
  // Of an int32 or enum: a negative one takes ten bytes.
  void WriteVarint32SignExtended(int32_t value) { WriteVarint64(static_cast<uint64_t>(int64_t{value})); }
  void WriteTag(uint32_t value) { WriteVarint32(value); }

  static uint8_t* WriteRawToArray(const void* data, int size, uint8_t* target) {
    if (size <= 0) return target;
    std::memcpy(target, data, static_cast<size_t>(size));
    return target + size;
  }
  static uint8_t* WriteStringToArray(std::string_view text, uint8_t* target) {
    if (!text.empty()) std::memcpy(target, text.data(), text.size());
    return target + text.size();
  }
  static uint8_t* WriteStringWithSizeToArray(std::string_view text, uint8_t* target) {
    return WriteStringToArray(text, WriteVarint32ToArray(static_cast<uint32_t>(text.size()), target));
  }
  static uint8_t* WriteLittleEndian32ToArray(uint32_t value, uint8_t* target) {
    return WriteRawToArray(&value, sizeof(value), target);
  }
  static uint8_t* WriteLittleEndian64ToArray(uint64_t value, uint8_t* target) {
    return WriteRawToArray(&value, sizeof(value), target);
  }
  static uint8_t* WriteVarint32ToArray(uint32_t value, uint8_t* target) { return WriteVarint64ToArray(value, target); }
  static uint8_t* WriteVarint64ToArray(uint64_t value, uint8_t* target) {
    for (; value >= 0x80; value >>= 7) *target++ = static_cast<uint8_t>(value | 0x80);
    *target++ = static_cast<uint8_t>(value);
    return target;
  }
  static uint8_t* WriteVarint32SignExtendedToArray(int32_t value, uint8_t* target) {
    return WriteVarint64ToArray(static_cast<uint64_t>(int64_t{value}), target);
  }
  static uint8_t* WriteTagToArray(uint32_t value, uint8_t* target) { return WriteVarint32ToArray(value, target); }

  static constexpr size_t VarintSize64(uint64_t value) {
    return static_cast<size_t>(std::bit_width(value | 1) + 6) / 7;
  }
  static constexpr size_t VarintSize32(uint32_t value) { return VarintSize64(value); }
  static constexpr size_t VarintSize32SignExtended(int32_t value) {
    return VarintSize64(static_cast<uint64_t>(int64_t{value}));
  }

 private:
  bool refill();

  ZeroCopyOutputStream* output_;
  int64_t began_at_;
  uint8_t* at_ = nullptr;
  uint8_t* end_ = nullptr;
  bool failed_ = false;
  bool aliases_ = false;
};

}  // namespace drover::io
