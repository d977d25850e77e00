// The CPU's stated costs: which codec's and caches' they are, and what a copy engine takes off.
#include "sim/cpu_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace drover::sim {
namespace {

System with(const std::vector<std::pair<std::string, std::string>>& keys) {
  System system;
  for (const auto& [key, value] : keys) EXPECT_EQ(set_key(&system, key, value), "");
  return system;
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

TEST(CpuCost, IsOfTheCodecAndTheCachesThatTheSystemNames) {
  for (const char* codec : {"drover", "protobuf", "protobuf-arena"}) {
    SCOPED_TRACE(codec);
    MessageCost warm = stated_costs(with({{"cpu.codec", codec}}), some_work());
    MessageCost cold = stated_costs(with({{"cpu.codec", codec}, {"cpu.caches", "cold"}}), some_work());
    EXPECT_GT(cold.decode, warm.decode);
    EXPECT_GT(cold.encode, warm.encode);
    EXPECT_GT(cold.preserialize, warm.preserialize);
  }
  EXPECT_NE(stated_costs(with({{"cpu.codec", "protobuf"}}), some_work()).decode,
            stated_costs(with({{"cpu.codec", "drover"}}), some_work()).decode);
}

TEST(CpuCost, OfPreserializationIsTheSameWithAnyCodec) {
  EXPECT_EQ(stated_costs(with({{"cpu.codec", "protobuf"}}), some_work()).preserialize,
            stated_costs(with({{"cpu.codec", "drover"}}), some_work()).preserialize);
}

TEST(CpuCost, ASystemsOwnCostWinsInWhateverOrderItIsSet) {
  System first = with({{"cpu.decode_scalar", "7"}, {"cpu.codec", "protobuf"}, {"cpu.caches", "cold"}});
  System last = with({{"cpu.codec", "protobuf"}, {"cpu.caches", "cold"}, {"cpu.decode_scalar", "7"}});
  EXPECT_EQ(codec_cost(first, Job::kDecode).scalar, 7);
  EXPECT_EQ(codec_cost(last, Job::kDecode).scalar, 7);
  EXPECT_EQ(get_key(first, "cpu.decode_scalar"), "7");
  EXPECT_EQ(codec_cost(first, Job::kDecode).object,
            stated_codec_cost(Codec::kProtobuf, Job::kDecode, Caches::kCold).object);
  EXPECT_EQ(codec_cost(first, Job::kEncode).scalar,
            stated_codec_cost(Codec::kProtobuf, Job::kEncode, Caches::kCold).scalar);
}

TEST(CpuCost, IsTheSumOfItsParts) {
  CodecCost cost = {1, 10, 100, 1000, 0.5, 10000};
  EXPECT_EQ(stated_cost(cost, some_work()), Time{1 + 30 + 2000 + 2000 + 5005} * kNanosecond);
  EXPECT_EQ(stated_cost(cost, untouched(some_work(), 1, 10'000)), Time{1 + 30 + 2000 + 1000 + 5 + 10000} * kNanosecond);
}

TEST(CpuCost, ACopyEngineTakesTheBytesOfLongStringsAndWantsToBeTold) {
  System system = with({{"serializer.memcpy_engine", "true"}, {"cpu.copy_submit", "60"}, {"cpu.copy_from", "4096"}});
  MessageCost cost = stated_costs(system, some_work());
  EXPECT_EQ(cost.preserialize,
            stated_cost(codec_cost(system, Job::kPreserialize), untouched(some_work(), 1, 10'000)) + 60 * kNanosecond);
  EXPECT_GT(cost.copies, 0u);
  EXPECT_EQ(stated_costs(with({}), some_work()).copies, 0u);
}

TEST(CpuCost, WithoutAnEngineInTheSystemTheCopiesAreTheEncoders) {
  System none = with({{"engine.kind", "none"}, {"cpu.codec", "protobuf"}});
  System copied = with({{"engine.kind", "none"}, {"cpu.codec", "protobuf"}, {"serializer.memcpy_engine", "true"}});
  EXPECT_LT(stated_costs(copied, some_work()).encode, stated_costs(none, some_work()).encode);
  EXPECT_EQ(stated_costs(copied, some_work()).encode_copies, stated_costs(copied, some_work()).copies);
  System rtl = with({{"serializer.memcpy_engine", "true"}});
  EXPECT_EQ(stated_costs(rtl, some_work()).encode_copies, 0u);
}

TEST(CpuCost, OnlyWhatCanBeMeasuredIsMeasured) {
  workload::Workload none;
  EXPECT_EQ(workload_costs(with({{"cpu.model", "measured"}}), none).error, "");
  for (auto key : {std::pair("cpu.codec", "protobuf"), std::pair("cpu.caches", "cold")}) {
    EXPECT_THAT(workload_costs(with({{"cpu.model", "measured"}, key}), none).error, testing::HasSubstr("cpu.model"));
  }
}

}  // namespace
}  // namespace drover::sim
