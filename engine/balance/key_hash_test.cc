#include "engine/balance/key_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace drover::engine {
namespace {

// The paper's key and messages: bytes that count up. The one of 15 bytes is its appendix A; the others are what
// `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:8 -in FILE SipHash` prints.
TEST(KeyHash, IsSipHashAsPublished) {
  const HashSeed seed{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (int i = 0; i < 63; ++i) text.push_back(static_cast<char>(i));
  const auto hash = [&](size_t size) { return key_hash(seed, std::string_view(text).substr(0, size)); };
  EXPECT_EQ(hash(0), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(hash(1), 0x74f839c593dc67fdu);
  EXPECT_EQ(hash(8), 0x93f5f5799a932462u);
  EXPECT_EQ(hash(15), 0xa129ca6149be45e5u);
  EXPECT_EQ(hash(63), 0x958a324ceb064572u);
}

TEST(KeyHash, OfALongTextIsThatOfItsBeginningAndItsSize) {
  const HashSeed seed{1, 2};
  const std::string text(kMostHashed, 'k');
  EXPECT_EQ(bounded_key_hash(seed, text), key_hash(seed, text));
  EXPECT_EQ(bounded_key_hash(seed, text + 'a'), bounded_key_hash(seed, text + 'b'));
  EXPECT_NE(bounded_key_hash(seed, text + 'a'), bounded_key_hash(seed, text + "aa"));
  EXPECT_NE(bounded_key_hash(seed, text + 'a'), bounded_key_hash(seed, text));
}

}  // namespace
}  // namespace drover::engine
