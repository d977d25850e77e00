// CodedInputStream: varints, fixed-width integers, tags and strings from a stream or an array, within limits, as
// protobuf C++ has it. For hand-written readers; generated classes parse whole pieces with codec/decode.
//
// The bytes may be hostile: every read is within the stream and the innermost limit, and a size that the bytes claim
// allocates only what comes. A position fits an int: a stream ends after 2^31 - 1 bytes.
#pragma once

#include <bit>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "streams/zero_copy_stream.h"

namespace drover::io {

static_assert(std::endian::native == std::endian::little);

class CodedInputStream {
 public:
  using Limit = int;

  // Asks the stream for its first buffer at once, so that ExpectTag finds it.
  explicit CodedInputStream(ZeroCopyInputStream* input) : input_(input) { refill(); }
  CodedInputStream(const uint8_t* data, int size)
      : at_(data), end_(data + (size > 0 ? size : 0)), total_read_(size > 0 ? size : 0), current_limit_(total_read_) {}
  CodedInputStream(const CodedInputStream&) = delete;
  CodedInputStream& operator=(const CodedInputStream&) = delete;
  ~CodedInputStream();  // gives back to the stream what it has lent and was not read

  // Whether it reads an array.
  bool IsFlat() const { return input_ == nullptr; }

  // ---- reading; false at the end, at the limit, or for what is malformed
  bool Skip(int count);
  // What is left of the buffer, which is not passed by this.
  bool GetDirectBufferPointer(const void** data, int* size);
  bool ReadRaw(void* buffer, int size);
  // Replaces *out.
  bool ReadString(std::string* out, int size);
  bool ReadLittleEndian32(uint32_t* value) { return ReadRaw(value, sizeof(*value)); }
  bool ReadLittleEndian64(uint64_t* value) { return ReadRaw(value, sizeof(*value)); }
  static const uint8_t* ReadLittleEndian32FromArray(const uint8_t* buffer, uint32_t* value) {
    std::memcpy(value, buffer, sizeof(*value));
    return buffer + sizeof(*value);
  }
  static const uint8_t* ReadLittleEndian64FromArray(const uint8_t* buffer, uint64_t* value) {
    std::memcpy(value, buffer, sizeof(*value));
    return buffer + sizeof(*value);
  }
  // Up to ten bytes, of which the lower 32 bits count.
  bool ReadVarint32(uint32_t* value);
  bool ReadVarint64(uint64_t* value);
  // False past 2^31 - 1.
  bool ReadVarintSizeAsInt(int* value);

  // ---- tags: 0 at the end, or if malformed; ConsumedEntireMessage() then tells which
  uint32_t ReadTag() { return last_tag_ = ReadTagNoLastTag(); }
  uint32_t ReadTagNoLastTag();
  // The tag, and whether it is in [1, cutoff].
  std::pair<uint32_t, bool> ReadTagWithCutoff(uint32_t cutoff) {
    last_tag_ = ReadTagNoLastTag();
    return {last_tag_, last_tag_ - 1 < cutoff};
  }
  std::pair<uint32_t, bool> ReadTagWithCutoffNoLastTag(uint32_t cutoff) {
    const uint32_t tag = ReadTagNoLastTag();
    return {tag, tag - 1 < cutoff};
  }
  // Passes the tag if it comes next in the buffer, and is at most two bytes long.
  bool ExpectTag(uint32_t expected);
  bool ExpectAtEnd();
  bool LastTagWas(uint32_t expected) const { return last_tag_ == expected; }
  void SetLastTag(uint32_t tag) { last_tag_ = tag; }
  // Whether the last tag was 0 since the stream, or the innermost limit, had ended.
  bool ConsumedEntireMessage() const { return legitimate_end_; }
  void SetConsumed() { legitimate_end_ = true; }

  // ---- limits. One that lies behind the one around it has no effect.
  Limit PushLimit(int byte_limit);
  void PopLimit(Limit limit);
  // -1: no limit.
  int BytesUntilLimit() const { return current_limit_ == INT_MAX ? -1 : current_limit_ - CurrentPosition(); }
  int CurrentPosition() const { return total_read_ - static_cast<int>(end_ - at_) - hidden_; }
  void SetTotalBytesLimit(int limit);
  int BytesUntilTotalBytesLimit() const { return total_limit_ == INT_MAX ? -1 : total_limit_ - CurrentPosition(); }
  Limit ReadLengthAndPushLimit();
  bool CheckEntireMessageConsumedAndPopLimit(Limit limit);

  // ---- nesting: a budget that callers keep
  void SetRecursionLimit(int limit);
  int RecursionBudget() const { return recursion_budget_; }
  static int GetDefaultRecursionLimit() { return kDefaultRecursionLimit; }
  bool IncrementRecursionDepth() { return --recursion_budget_ >= 0; }
  void DecrementRecursionDepth() {
    if (recursion_budget_ < recursion_limit_) ++recursion_budget_;
  }
  // The limit before, and the budget that is left.
  std::pair<Limit, int> IncrementRecursionDepthAndPushLimit(int byte_limit);
  bool DecrementRecursionDepthAndPopLimit(Limit limit);

 private:
  static constexpr int kDefaultRecursionLimit = 100;

  bool refill();
  void apply_limits();
  bool read_byte(uint8_t* byte);

  ZeroCopyInputStream* input_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;  // of the buffer, or of the innermost limit
  int hidden_ = 0;                // bytes of the buffer behind the limit
  int total_read_ = 0;            // bytes up to the buffer's end, with the hidden ones
  int current_limit_ = INT_MAX;   // positions
  int total_limit_ = INT_MAX;
  uint32_t last_tag_ = 0;
  bool legitimate_end_ = false;
  int recursion_budget_ = kDefaultRecursionLimit;
  int recursion_limit_ = kDefaultRecursionLimit;
};

}  // namespace drover::io
