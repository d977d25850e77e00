// The ways for newer machines agree with the portable ones: packed varints of all lengths and mixes, and UTF-8 over all
// short sequences. On a machine without AVX2 there is nothing to compare, and the tests say so.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "codec/decode/packed_varints.h"
#include "codec/utf8.h"

namespace drover {
namespace {

std::string varints(std::mt19937_64& random, size_t count, int longest, std::vector<uint64_t>* values) {
  std::string wire;
  for (size_t i = 0; i < count; ++i) {
    unsigned bits = 1 + static_cast<unsigned>(random() % static_cast<unsigned>(longest * 7));
    uint64_t value = random() >> (bits >= 64 ? 0 : 64 - bits);
    char bytes[10];
    wire.append(bytes, wire::write_varint(bytes, value));
    values->push_back(value);
  }
  return wire;
}

// The plain decoding of one varint is the yardstick.
template <uint32_t kOp, typename T>
void expect_same(const std::string& wire, const std::vector<uint64_t>& values) {
  std::string padded = wire + std::string(16, '\x80');
  auto size = static_cast<uint32_t>(wire.size());
  ASSERT_EQ(count_varints(padded.data(), size), values.size());
  // One element more, to see that nothing is written behind the last.
  std::vector<T> got(values.size() + 1, static_cast<T>(0x5a)), want = got;
  for (size_t i = 0; i < values.size(); ++i) store_varint<kOp>(reinterpret_cast<char*>(&want[i]), values[i]);
  PackedResult result = read_packed_varints(kOp, padded.data(), size, reinterpret_cast<char*>(got.data()),
                                            static_cast<uint32_t>(values.size()));
  ASSERT_EQ(result.error_at, nullptr);
  ASSERT_EQ(got, want);
}

TEST(PackedVarints, AreReadAlikeWhateverTheirLengths) {
  std::mt19937_64 random(1);
  for (int longest = 1; longest <= 10; ++longest) {
    for (size_t count : {1u, 2u, 7u, 31u, 32u, 63u, 64u, 65u, 127u, 128u, 129u, 1000u}) {
      std::vector<uint64_t> values;
      std::string wire = varints(random, count, longest, &values);
      expect_same<schema::kOpVarint64, uint64_t>(wire, values);
      expect_same<schema::kOpUint32, uint32_t>(wire, values);
      expect_same<schema::kOpSint32, int32_t>(wire, values);
      expect_same<schema::kOpSint64, int64_t>(wire, values);
      expect_same<schema::kOpBool, uint8_t>(wire, values);
    }
  }
}

TEST(PackedVarints, MayBeLongerThanTheyNeedToBe) {
  std::string wire;
  std::vector<uint64_t> values;
  for (int i = 0; i < 200; ++i) {  // i % 10 bytes more than needed, up to ten
    wire += static_cast<char>(0x80 | (i & 0x7f));
    wire.append(static_cast<size_t>(i % 9), '\x80');
    wire += '\0';
    values.push_back(i & 0x7f);
  }
  expect_same<schema::kOpVarint64, uint64_t>(wire, values);
  expect_same<schema::kOpUint32, uint32_t>(wire, values);
}

TEST(PackedVarints, OfElevenBytesAreAnErrorWhereverTheyStand) {
  for (size_t before : {0u, 1u, 50u, 60u, 64u, 100u}) {
    for (size_t behind : {0u, 1u, 63u, 200u}) {
      std::string wire = std::string(before, '\1') + std::string(10, '\x80') + '\1' + std::string(behind, '\2');
      auto size = static_cast<uint32_t>(wire.size());
      wire += std::string(16, '\0');
      uint32_t count = count_varints(wire.data(), size);
      std::vector<uint64_t> out(count + 1, 0x5a);  // what was stored before the error is not stored behind the array
      PackedResult result =
          read_packed_varints(schema::kOpVarint64, wire.data(), size, reinterpret_cast<char*>(out.data()), count);
      ASSERT_EQ(out[count], 0x5au);
      ASSERT_NE(result.error_at, nullptr) << before << " " << behind;
      EXPECT_EQ(result.error_at - wire.data(), static_cast<ptrdiff_t>(before));
    }
  }
}

// RFC 3629, one sequence at a time.
bool is_sequence(const std::string& s) {
  auto byte = [&s](size_t i) { return static_cast<uint8_t>(s[i]); };
  auto continued = [&](size_t from) {
    for (size_t i = from; i < s.size(); ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    return true;
  };
  switch (s.size()) {
    case 1:
      return byte(0) < 0x80;
    case 2:
      return byte(0) >= 0xc2 && byte(0) <= 0xdf && continued(1);
    case 3:
      return (byte(0) & 0xf0) == 0xe0 && continued(1) && !(byte(0) == 0xe0 && byte(1) < 0xa0) &&
             !(byte(0) == 0xed && byte(1) >= 0xa0);
    default:
      return byte(0) >= 0xf0 && byte(0) <= 0xf4 && continued(1) && !(byte(0) == 0xf0 && byte(1) < 0x90) &&
             !(byte(0) == 0xf4 && byte(1) >= 0x90);
  }
}

// Valid if it can be cut into sequences; each beginning has one possible length.
bool is_utf8(const std::string& s) {
  for (size_t i = 0; i < s.size();) {
    auto lead = static_cast<uint8_t>(s[i]);
    size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (i + size > s.size() || !is_sequence(s.substr(i, size))) return false;
    i += size;
  }
  return true;
}

TEST(Utf8, AgreesWithTheRfcOnAllPairsAndManyQuadruplesAnywhere) {
  std::mt19937 random(2);
  const uint8_t telling[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                             0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
  for (uint8_t a : telling) {
    for (uint8_t b : telling) {
      for (uint8_t c : telling) {
        for (uint8_t d : telling) {
          std::string four = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(d)};
          std::string text(64 + random() % 70, 'x');
          text.insert(random() % (text.size() + 1), four);
          ASSERT_EQ(is_valid_utf8(text.data(), text.size()), is_utf8(four)) << int{a} << " " << int{b};
          ASSERT_EQ(is_valid_utf8(four.data(), 4), is_utf8(four));
        }
      }
    }
  }
}

TEST(Utf8, FindsASequenceThatIsCutOffAtTheEnd) {
  const std::string euro = "\xe2\x82\xac";
  for (size_t size = 60; size < 200; ++size) {
    for (size_t cut = 1; cut <= 2; ++cut) {
      std::string text = std::string(size, 'a') + euro;
      ASSERT_TRUE(is_valid_utf8(text.data(), text.size()));
      ASSERT_FALSE(is_valid_utf8(text.data(), text.size() - cut)) << size;
      // In a row with others that are whole.
      std::string many;
      while (many.size() < size) many += euro;
      ASSERT_TRUE(is_valid_utf8(many.data(), many.size()));
      ASSERT_FALSE(is_valid_utf8(many.data(), many.size() - cut)) << size;
    }
  }
}

}  // namespace
}  // namespace drover
