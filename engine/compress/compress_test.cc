// Inflater and Deflater, against zlib itself and against each other.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/compress/deflater.h"
#include "engine/compress/inflater.h"

namespace drover::engine {
namespace {

using Inflated = Inflater::Result;
using Deflated = Deflater::Result;

constexpr Compression kBoth[] = {Compression::kDeflate, Compression::kGzip};

std::string letters(size_t size, uint32_t seed = 1) {
  std::minstd_rand random(seed);
  std::string out(size, 0);
  for (char& c : out) c = static_cast<char>('a' + random() % 7);
  return out;
}

std::string noise(size_t size) {
  std::mt19937 random(7);
  std::string out(size, 0);
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// By zlib's own functions.
std::string packed(std::string_view text, Compression compression, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, window_bits(compression), 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Inflated run(Inflater& inflater, std::string_view message, Compression compression, size_t most = 64 << 20,
             Account* account = nullptr) {
  if (!inflater.begin(compression, message, most, account)) return inflater.result();
  while (inflater.step() == Inflated::kMore) {
  }
  return inflater.result();
}

Deflated run(Deflater& deflater, const std::vector<Piece>& pieces, Compression compression, int level = 6,
             Account* account = nullptr) {
  size_t size = 0;
  for (const Piece& piece : pieces) size += piece.size;
  if (!deflater.begin(compression, level, pieces, size, account)) return deflater.result();
  while (deflater.step() == Deflated::kMore) {
  }
  return deflater.result();
}

class CompressTest : public testing::Test {
 protected:
  static LedgerLimits limits() {
    LedgerLimits limits;
    limits[Level::kConnection].memory = 1 << 20;
    return limits;
  }
  size_t held() const { return account->held(Resource::kMemory); }

  ThreadMetrics metrics{0};
  Ledger ledger{limits(), metrics};
  AccountRef account = ledger.open_connection("192.0.2.1");
};

using InflaterTest = CompressTest;
using DeflaterTest = CompressTest;

TEST_F(InflaterTest, GivesBackWhatZlibHasPackedOneMessageAfterTheOther) {
  Inflater inflater;
  for (size_t size : {size_t{0}, size_t{1}, size_t{5000}, size_t{300'000}, size_t{3}, size_t{5'000'000}}) {
    for (Compression compression : kBoth) {
      for (int level : {0, 1, 9}) {
        const std::string text = letters(size);
        ASSERT_EQ(run(inflater, packed(text, compression, level), compression), Inflated::kDone);
        ASSERT_EQ(inflater.output(), text) << size;
      }
    }
  }
}

TEST_F(InflaterTest, SaysWhatIsWrongWithAMessage) {
  Inflater inflater;
  for (Compression compression : kBoth) {
    const std::string good = packed(letters(50'000), compression);
    for (size_t size : {size_t{0}, size_t{1}, size_t{9}, good.size() / 2, good.size() - 5, good.size() - 1}) {
      EXPECT_EQ(run(inflater, good.substr(0, size), compression), Inflated::kCut) << size;
    }
    EXPECT_EQ(run(inflater, good + "x", compression), Inflated::kTrailing);
    EXPECT_EQ(run(inflater, good + good, compression), Inflated::kTrailing);
    std::string bad = good;
    bad[bad.size() - 6] ^= 1;  // the check value, or what is in front of it
    EXPECT_EQ(run(inflater, bad, compression), Inflated::kCorrupt);
    EXPECT_EQ(run(inflater, "not compressed at all", compression), Inflated::kCorrupt);
    const Compression other = compression == Compression::kGzip ? Compression::kDeflate : Compression::kGzip;
    EXPECT_EQ(run(inflater, good, other), Inflated::kCorrupt);
    EXPECT_EQ(run(inflater, good, compression), Inflated::kDone);
  }
}

TEST_F(InflaterTest, AZlibStreamWithADictionaryIsCorrupt) {
  Inflater inflater;
  const unsigned char dictionary[] = {0x78, 0xbb, 1, 2, 3, 4, 0};  // FDICT
  EXPECT_EQ(run(inflater, {reinterpret_cast<const char*>(dictionary), sizeof dictionary}, Compression::kDeflate),
            Inflated::kCorrupt);
}

TEST_F(InflaterTest, AMessageMayBeAsLargeAsTheLimitAndNoLarger) {
  Inflater inflater;
  for (size_t size : {size_t{1}, size_t{4096}, size_t{100'000}, size_t{1 << 20}}) {
    const std::string message = packed(std::string(size, 'x'), Compression::kGzip);
    EXPECT_EQ(run(inflater, message, Compression::kGzip, size), Inflated::kDone);
    EXPECT_EQ(run(inflater, message, Compression::kGzip, size - 1), Inflated::kTooLarge);
    EXPECT_EQ(inflater.output().size(), size);  // one byte more than the limit was enough to know
  }
}

TEST_F(InflaterTest, ABombCostsNoMoreThanTheLimit) {
  Inflater inflater;
  const std::string bomb = packed(std::string(200 << 20, 0), Compression::kGzip, 9);
  EXPECT_LT(bomb.size(), size_t{210'000});
  ASSERT_TRUE(inflater.begin(Compression::kGzip, bomb, 100'000, account.get()));
  size_t steps = 1;
  while (inflater.step() == Inflated::kMore) ++steps;
  EXPECT_EQ(inflater.result(), Inflated::kTooLarge);
  EXPECT_LE(steps, size_t{4});
  EXPECT_LE(held(), 100'001 + ZlibMemory::kMostBytes);
}

TEST_F(InflaterTest, WhatItTakesIsChargedAndGivenBack) {
  Inflater inflater;
  const std::string message = packed(letters(200'000), Compression::kGzip);
  EXPECT_EQ(run(inflater, message, Compression::kGzip, 1 << 20, account.get()), Inflated::kDone);
  EXPECT_GE(held(), 200'000 + inflater.memory());
  EXPECT_GT(inflater.memory(), size_t{7000});
  inflater.end();
  EXPECT_EQ(held(), 0u);
}

TEST_F(InflaterTest, AnAccountOverItsBudgetEndsAMessage) {
  Inflater inflater;
  const std::string message = packed(letters(2 << 20), Compression::kGzip);
  EXPECT_EQ(run(inflater, message, Compression::kGzip, 4 << 20, account.get()), Inflated::kNoMemory);
  inflater.end();
  EXPECT_EQ(held(), 0u);
  ASSERT_TRUE(account->charge(Resource::kMemory, (1 << 20) - 100));
  EXPECT_EQ(run(inflater, message, Compression::kGzip, 4 << 20, account.get()), Inflated::kNoMemory);
  EXPECT_EQ(held(), size_t{(1 << 20) - 100});
  account->release(Resource::kMemory, (1 << 20) - 100);
  EXPECT_EQ(run(inflater, packed("fine", Compression::kGzip), Compression::kGzip, 100, account.get()), Inflated::kDone);
}

TEST_F(InflaterTest, BlocksWithoutOutputAreWorkedOnInSmallSteps) {
  // Empty blocks with codes of their own: the tables are built, and nothing comes out.
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string message(4 << 20, 0);
  stream.next_out = reinterpret_cast<Bytef*>(message.data());
  stream.avail_out = static_cast<uInt>(message.size());
  Bytef none = 0;
  stream.next_in = &none;
  for (int i = 0; i < 100'000; ++i) {
    deflate(&stream, Z_FULL_FLUSH);
    if (stream.avail_out == 0) break;
    deflatePrime(&stream, 3, 2);  // a block of fixed codes,
    deflatePrime(&stream, 7, 0);  // and its end
  }
  deflate(&stream, Z_FINISH);
  message.resize(stream.total_out);
  deflateEnd(&stream);
  Inflater inflater;
  ASSERT_TRUE(inflater.begin(Compression::kDeflate, message, 1000, nullptr));
  size_t steps = 1;
  while (inflater.step() == Inflated::kMore) ++steps;
  EXPECT_GE(steps, message.size() / Inflater::kInBytes);
}

TEST_F(DeflaterTest, WhatItPacksCanBeUnpacked) {
  Deflater deflater;
  Inflater inflater;
  for (size_t size : {size_t{100}, size_t{5000}, size_t{300'000}, size_t{2'000'000}}) {
    for (Compression compression : kBoth) {
      for (int level : {1, 6, 9}) {
        const std::string text = letters(size);
        ASSERT_EQ(run(deflater, {{text.data(), text.size()}}, compression, level), Deflated::kDone);
        ASSERT_LT(deflater.output().size(), size);
        ASSERT_EQ(run(inflater, deflater.output(), compression), Inflated::kDone);
        ASSERT_EQ(inflater.output(), text);
      }
    }
  }
}

TEST_F(DeflaterTest, TakesAMessageInPieces) {
  const std::string text = letters(100'000);
  std::vector<Piece> pieces;
  size_t at = 0;
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{4097}, size_t{0}, size_t{90'000}, size_t{0}}) {
    pieces.push_back({text.data() + at, size});
    at += size;
  }
  pieces.push_back({text.data() + at, text.size() - at});
  pieces.push_back({nullptr, 0});
  Deflater deflater;
  Inflater inflater;
  ASSERT_EQ(run(deflater, pieces, Compression::kGzip), Deflated::kDone);
  ASSERT_EQ(run(inflater, deflater.output(), Compression::kGzip), Inflated::kDone);
  EXPECT_EQ(inflater.output(), text);
}

TEST_F(DeflaterTest, WhatDoesNotBecomeSmallerIsNotWorthIt) {
  Deflater deflater;
  for (const std::string& text : {std::string(), std::string("x"), std::string("hello"), noise(100'000)}) {
    EXPECT_EQ(run(deflater, {{text.data(), text.size()}}, Compression::kGzip), Deflated::kGrew);
    EXPECT_LE(deflater.output().size(), text.size());
  }
}

TEST_F(DeflaterTest, WhatItTakesIsChargedUntilTheOutputIsGone) {
  Deflater deflater;
  const std::string text = letters(500'000);
  ASSERT_EQ(run(deflater, {{text.data(), text.size()}}, Compression::kGzip, 6, account.get()), Deflated::kDone);
  EXPECT_GT(deflater.memory(), size_t{256'000});
  EXPECT_EQ(held(), deflater.memory() + (held() - deflater.memory()));
  {
    ChargedBuffer output = deflater.take_output();
    deflater.end();
    EXPECT_GE(held(), output.size());
    EXPECT_EQ(held(), output.capacity());
  }
  EXPECT_EQ(held(), 0u);
}

TEST_F(DeflaterTest, AnAccountOverItsBudgetEndsAMessage) {
  ASSERT_TRUE(account->charge(Resource::kMemory, (1 << 20) - 1000));
  Deflater deflater;
  const std::string text = letters(500'000);
  EXPECT_EQ(run(deflater, {{text.data(), text.size()}}, Compression::kGzip, 6, account.get()), Deflated::kNoMemory);
  EXPECT_EQ(held(), size_t{(1 << 20) - 1000});
  // The same state, once there is room.
  EXPECT_EQ(run(deflater, {{text.data(), text.size()}}, Compression::kGzip), Deflated::kDone);
}

}  // namespace
}  // namespace drover::engine
