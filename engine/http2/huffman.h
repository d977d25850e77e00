// HPACK's Huffman code (RFC 7541, 5.2 and appendix B).
//
// The code is canonical: within a length, codes ascend with the symbol. So the lengths alone define it, and both
// tables are computed from them at compile time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace drover::engine::http2 {

// The bytes that `coded` bytes may decode to, at most (the shortest code has 5 bits).
constexpr size_t huffman_decoded_bound(size_t coded) { return coded * 8 / 5; }

// Decodes `coded` into `out`, which has room for huffman_decoded_bound bytes. Returns the number of bytes written;
// nothing if `coded` holds EOS, or ends in anything but fewer than 8 one bits.
std::optional<size_t> huffman_decode(std::string_view coded, char* out);

// The bytes that `text` is coded in.
size_t huffman_encoded_size(std::string_view text);
void append_huffman(std::string_view text, std::string& out);

}  // namespace drover::engine::http2
