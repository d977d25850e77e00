// What the deserializer's test programs share: every test runs twice, with rows going out when a chunk is full, and
// eagerly.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "rtl/testing/deserializer_bench.h"
#include "testing/test_schema.h"

namespace drover::rtl {

class DeserializerTest : public ::testing::TestWithParam<bool> {
 protected:
  static bool eager() { return GetParam(); }
  static BenchOptions plain() { return {.eager = eager()}; }
};
#define DROVER_INSTANTIATE_DESERIALIZER_TESTS(suite)         \
  INSTANTIATE_TEST_SUITE_P(Writes, suite, ::testing::Bool(), \
                           [](const auto& info) { return info.param ? "Eager" : "WhenFull"; })

inline void expect_done(DeserializerBench* bench) {
  ASSERT_TRUE(bench->run()) << "hangs";
  for (size_t i = 0; i < bench->outcomes().size(); ++i) {
    const Outcome& outcome = bench->outcomes()[i];
    EXPECT_EQ(outcome.record.kind, RecordKind::kDone)
        << i << ": code " << int{outcome.record.code} << ' '
        << (outcome.record.kind == RecordKind::kSoftware ? left_to_software_reason(outcome.record.code) : "");
    EXPECT_EQ(outcome.difference, "") << i;
  }
}

struct Tally {
  size_t done = 0, errors = 0, messages = 0;
  std::map<std::string, size_t> software;
  void add(const DeserializerBench& bench) {
    for (const Outcome& outcome : bench.outcomes()) {
      ++messages;
      if (outcome.record.kind == RecordKind::kDone) ++done;
      if (outcome.record.kind == RecordKind::kError) ++errors;
      if (outcome.record.kind == RecordKind::kSoftware) ++software[left_to_software_reason(outcome.record.code)];
    }
  }
  // Hardware must not do less than it does today.
  void expect_software_at_most(size_t most) const {
    size_t left = 0;
    for (const auto& [reason, count] : software) left += count;
    EXPECT_LE(left, most);
  }
  void print(const char* what) const {
    std::printf("%s: %zu messages, %zu done, %zu errors; left to software:", what, messages, done, errors);
    for (const auto& [reason, count] : software) std::printf(" %s %zu", reason.c_str(), count);
    std::printf("\n");
  }
};

inline BenchOptions stalled(uint64_t seed, bool eager) {
  BenchOptions options{.eager = eager};
  options.rx_stalls = 60;
  options.cmd_stalls = 30;
  options.cmpl_stalls = 80;
  options.free_stalls = 100;
  options.host = {20, 8, 60, seed};
  options.engine = {30, 4, 80, seed + 7};
  options.seed = seed;
  options.power_up_seed = seed;
  return options;
}

inline const testing::TestSchema& parts() {
  static const testing::TestSchema schema(testing::parse_proto(R"(
      syntax = "proto3";
      message Text { bytes b = 1; string s = 2; repeated string r = 3; Text t = 4; int64 n = 5; repeated fixed64 f = 6; }
  )"));
  return schema;
}
inline std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
inline std::string field(uint32_t number, std::string_view content) {
  return varint(number << 3 | 2) + varint(content.size()) + std::string(content);
}

}  // namespace drover::rtl
