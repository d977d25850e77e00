#include "engine/http2/huffman.h"

#include <gtest/gtest.h>

#include <random>

#include "testing/hex.h"

namespace drover::engine::http2 {
namespace {

std::string encoded(std::string_view text) {
  std::string out;
  append_huffman(text, out);
  EXPECT_EQ(out.size(), huffman_encoded_size(text));
  return out;
}

std::optional<std::string> decoded(std::string_view coded) {
  std::string out(huffman_decoded_bound(coded.size()), '?');
  std::optional<size_t> size = huffman_decode(coded, out.data());
  if (!size) return std::nullopt;
  out.resize(*size);
  return out;
}

// RFC 7541, appendix C.4 and C.6.
TEST(Huffman, TheRfcsExamplesAreCodedAsItSays) {
  const std::pair<std::string_view, std::string_view> examples[] = {
      {"www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"},
      {"no-cache", "a8eb10649cbf"},
      {"custom-key", "25a849e95ba97d7f"},
      {"custom-value", "25a849e95bb8e8b4bf"},
      {"302", "6402"},
      {"private", "aec3771a4b"},
      {"Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"},
      {"https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"},
      {"foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
       "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007"}};
  for (const auto& [text, hex] : examples) {
    EXPECT_EQ(encoded(text), testing::from_hex(hex)) << text;
    EXPECT_EQ(decoded(testing::from_hex(hex)), text);
  }
}

TEST(Huffman, EveryByteAndRandomTextComesBack) {
  std::mt19937 random(7);
  for (int c = 0; c < 256; ++c) {
    std::string one(1, static_cast<char>(c));
    EXPECT_EQ(decoded(encoded(one)), one);
  }
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 80, '\0');
    for (char& c : text) c = static_cast<char>(round % 2 ? random() % 256 : 32 + random() % 95);
    EXPECT_EQ(decoded(encoded(text)), text);
  }
}

TEST(Huffman, PaddingMustBeFewerThanEightOnes) {
  EXPECT_EQ(decoded(std::string("\x1f", 1)), "a");           // 00011 and three ones
  EXPECT_EQ(decoded(std::string("\x18", 1)), std::nullopt);  // and three zeros
  EXPECT_EQ(decoded(std::string("\x1f\xff", 2)), std::nullopt) << "eleven ones";
  EXPECT_EQ(decoded("\xff"), std::nullopt) << "eight ones";
  EXPECT_EQ(decoded(""), "");
}

TEST(Huffman, TheEndOfStringSymbolIsRefused) {
  EXPECT_EQ(decoded("\xff\xff\xff\xff"), std::nullopt);
  EXPECT_EQ(decoded("\x1f\xff\xff\xff\xff"), std::nullopt);
}

}  // namespace
}  // namespace drover::engine::http2
