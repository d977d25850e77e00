// How messages are compressed: zlib's two containers of DEFLATE (RFC 1951), by the names that gRPC has for them.
#pragma once

#include <cstdint>

namespace drover::engine {

enum class Compression : uint8_t {
  kNone,
  kDeflate,  // RFC 1950: "deflate"
  kGzip,     // RFC 1952: "gzip"
};

// A set of Compressions.
class Compressions {
 public:
  constexpr Compressions() = default;
  constexpr Compressions(bool deflate, bool gzip) : bits_(static_cast<uint8_t>((deflate ? 2 : 0) | (gzip ? 4 : 0))) {}
  constexpr bool has(Compression one) const { return (bits_ >> static_cast<int>(one) & 1) != 0; }
  constexpr void add(Compression one) { bits_ = static_cast<uint8_t>(bits_ | 1 << static_cast<int>(one)); }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr Compressions operator&(Compressions a, Compressions b) {
    return Compressions(static_cast<uint8_t>(a.bits_ & b.bits_));
  }

 private:
  constexpr explicit Compressions(uint8_t bits) : bits_(bits) {}
  uint8_t bits_ = 0;  // 1 << Compression; never that of kNone
};

// zlib's windowBits of the container.
constexpr int window_bits(Compression compression) { return compression == Compression::kGzip ? 15 + 16 : 15; }

}  // namespace drover::engine
