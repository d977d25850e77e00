// The CPU's stated costs: which codec's and caches' they are, and what a copy engine takes off.
#include "sim/platform/cpu_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drover::sim {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Keys keys_of(PlatformOptions* options) {
  Keys keys;
  options->handover.add_keys(&keys);
  options->cpu.add_keys(&keys);
  return keys;
}
PlatformOptions with(const Pairs& pairs) {
  PlatformOptions options;
  Keys keys = keys_of(&options);
  for (const auto& [key, value] : pairs) EXPECT_EQ(keys.set(key, value), "");
  return options;
}

MessageWork some_work() {
  MessageWork work;
  work.objects = 3;
  work.scalars = 20;
  work.strings = 2;
  work.string_bytes = 10'010;
  work.string_sizes = {10, 10'000};
  return work;
}

MessageCost costs_with(const Pairs& pairs, bool host_encodes = false) {
  PlatformOptions options = with(pairs);
  return stated_costs({.options = options, .host_encodes = host_encodes}, some_work());
}

TEST(CpuCost, IsOfTheCodecAndTheCachesThatTheSystemNames) {
  for (const char* codec : {"drover", "protobuf", "protobuf-arena"}) {
    SCOPED_TRACE(codec);
    MessageCost warm = costs_with({{"cpu.codec", codec}});
    MessageCost cold = costs_with({{"cpu.codec", codec}, {"cpu.caches", "cold"}});
    EXPECT_GT(cold.decode, warm.decode);
    EXPECT_GT(cold.encode, warm.encode);
    EXPECT_GT(cold.preserialize, warm.preserialize);
  }
  EXPECT_NE(costs_with({{"cpu.codec", "protobuf"}}).decode, costs_with({{"cpu.codec", "drover"}}).decode);
}

TEST(CpuCost, OfPreserializationIsTheSameWithAnyCodec) {
  EXPECT_EQ(costs_with({{"cpu.codec", "protobuf"}}).preserialize, costs_with({{"cpu.codec", "drover"}}).preserialize);
}

TEST(CpuCost, ASystemsOwnCostWinsInWhateverOrderItIsSet) {
  PlatformOptions first = with({{"cpu.decode_scalar", "7"}, {"cpu.codec", "protobuf"}, {"cpu.caches", "cold"}});
  PlatformOptions last = with({{"cpu.codec", "protobuf"}, {"cpu.caches", "cold"}, {"cpu.decode_scalar", "7"}});
  EXPECT_EQ(first.cpu.cost(Job::kDecode).scalar, 7);
  EXPECT_EQ(last.cpu.cost(Job::kDecode).scalar, 7);
  EXPECT_EQ(keys_of(&first).find("cpu.decode_scalar")->get(), "7");
  EXPECT_EQ(first.cpu.cost(Job::kDecode).object,
            stated_codec_cost(Codec::kProtobuf, Job::kDecode, Caches::kCold).object);
  EXPECT_EQ(first.cpu.cost(Job::kEncode).scalar,
            stated_codec_cost(Codec::kProtobuf, Job::kEncode, Caches::kCold).scalar);
}

TEST(CpuCost, IsTheSumOfItsParts) {
  CodecCost cost = {1, 10, 100, 1000, 0.5, 10000};
  EXPECT_EQ(stated_cost(cost, some_work()), Time{1 + 30 + 2000 + 2000 + 5005} * kNanosecond);
  EXPECT_EQ(stated_cost(cost, untouched(some_work(), 1, 10'000)), Time{1 + 30 + 2000 + 1000 + 5 + 10000} * kNanosecond);
}

TEST(CpuCost, ACopyEngineTakesTheBytesOfLongStringsAndWantsToBeTold) {
  Pairs pairs = {{"serializer.memcpy_engine", "true"}, {"cpu.copy_submit", "60"}, {"cpu.copy_from", "4096"}};
  MessageCost cost = costs_with(pairs);
  EXPECT_EQ(
      cost.preserialize,
      stated_cost(with(pairs).cpu.cost(Job::kPreserialize), untouched(some_work(), 1, 10'000)) + 60 * kNanosecond);
  EXPECT_GT(cost.copies, 0u);
  EXPECT_EQ(costs_with({}).copies, 0u);
}

TEST(CpuCost, WhereTheHostEncodesTheCopiesAreTheEncoders) {
  MessageCost none = costs_with({{"cpu.codec", "protobuf"}}, true);
  MessageCost copied = costs_with({{"cpu.codec", "protobuf"}, {"serializer.memcpy_engine", "true"}}, true);
  EXPECT_LT(copied.encode, none.encode);
  EXPECT_EQ(copied.encode_copies, copied.copies);
  EXPECT_EQ(costs_with({{"serializer.memcpy_engine", "true"}}).encode_copies, 0u);
}

TEST(CpuCost, OnlyWhatCanBeMeasuredIsMeasured) {
  workload::Workload none;
  auto error = [&](const Pairs& pairs) {
    PlatformOptions options = with(pairs);
    return workload_costs({.options = options}, none).error;
  };
  EXPECT_EQ(error({{"cpu.model", "measured"}}), "");
  for (auto key : {std::pair("cpu.codec", "protobuf"), std::pair("cpu.caches", "cold")}) {
    EXPECT_THAT(error({{"cpu.model", "measured"}, key}), testing::HasSubstr("cpu.model"));
  }
}

}  // namespace
}  // namespace drover::sim
