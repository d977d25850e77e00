// Messages of fixed shape: generated classes whose bytes in memory are their bytes on the way (docs/lines.md has the
// layout's rules). Sending one copies its bytes; receiving one checks them in place, and nothing is decoded.
//
//   GetRequestFixed          [ u64 members ][ u32 ... ][ u16 ... ][ strings, bools ][ presence bits ][ padding ]
//
// What comes from the other side is hostile: view() takes exactly kFixedBytes, and asks the class whether each bool is
// 0 or 1, each enum has a declared value, each string fits its maximum, and no presence bit is set that no field has.
// Fields that are absent are not looked at, since no accessor shows them. Bytes behind a string's end, and padding,
// have no meaning.
//
// A generated class F has: kFixedBytes (its sizeof), kLayout (a hash of its layout, every part of it),
// `const char* drover_check() const` (null, or what is wrong, with the field's name), and is trivially copyable.
//
// Thread-safety: as an int's.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "channel/line.h"
#include "codec/utf8.h"

namespace drover::lines {

static_assert(std::endian::native == std::endian::little, "the layout of fixed messages is little-endian");

template <typename M>
concept FixedMessage = std::is_trivially_copyable_v<M> && requires(const M& message) {
  { M::kFixedBytes } -> std::convertible_to<size_t>;
  { M::kWrongSize } -> std::convertible_to<const char*>;
  { message.drover_check() } -> std::same_as<const char*>;
};

// A string or bytes of at most N: its size in a byte (N up to 255) or two, then N bytes. Aligned as its size is.
template <size_t N>
class BoundedString {
 public:
  using Size = std::conditional_t<N <= 255, uint8_t, uint16_t>;
  static_assert(N >= 1 && N <= 65'535);

  // Only if valid().
  std::string_view view() const { return {bytes_, size_}; }
  // False: longer than N, and nothing was changed. Bytes behind the end become zero: none that lay there are sent.
  bool set(std::string_view value) {
    if (value.size() > N) return false;
    size_ = static_cast<Size>(value.size());
    if (!value.empty()) std::memmove(bytes_, value.data(), value.size());
    std::memset(bytes_ + value.size(), 0, N - value.size());
    return true;
  }
  bool valid() const { return size_ <= N; }
  bool valid_utf8() const { return is_valid_utf8(bytes_, size_); }  // if valid()

 private:
  Size size_;
  char bytes_[N];
};

// A bool as it is sent. Its reader looks at a byte, since a C++ bool of another value than 0 and 1 is undefined.
class FixedBool {
 public:
  bool get() const { return byte_ != 0; }
  void set(bool value) { byte_ = value ? 1 : 0; }
  bool valid() const { return byte_ <= 1; }

 private:
  uint8_t byte_;
};

template <FixedMessage M>
std::span<const std::byte> fixed_bytes(const M& message) {
  static_assert(sizeof(M) == M::kFixedBytes);
  return std::as_bytes(std::span(&message, 1));
}

// The message in place, or null and what is wrong. `bytes` is private memory, and aligned for M: what lines hand over
// is aligned to 16 bytes.
template <FixedMessage M>
const M* view_fixed(std::span<const std::byte> bytes, const char** why) {
  static_assert(alignof(M) <= 8);
  if (bytes.size() != M::kFixedBytes) [[unlikely]]
    return *why = M::kWrongSize, nullptr;
  const auto* message = reinterpret_cast<const M*>(bytes.data());
  *why = message->drover_check();
  return *why == nullptr ? message : nullptr;
}

}  // namespace drover::lines
