// Directed tests of the deserializer: a feature or a corner each, always against the software codec.
#include <gtest/gtest.h>

#include "rtl/deserializer/deserializer_bench.h"
#include "workload/message_generator.h"
#include "workload/workload_testing.h"

namespace drover::rtl {
namespace {

using workload::testing::parse_proto;
using workload::testing::PeerSchema;

const PeerSchema& scalars() {
  static const PeerSchema schema(parse_proto(R"(
      syntax = "proto2";
      message Flat {
        optional int32 a = 1; optional int64 b = 2; optional uint32 c = 3; optional uint64 d = 4;
        optional sint32 e = 5; optional sint64 f = 6; optional bool g = 7; optional fixed32 h = 8;
        optional fixed64 i = 9; optional sfixed32 j = 10; optional sfixed64 k = 11; optional float l = 12;
        optional double m = 13; optional int32 n = 16; optional bool o = 31;
      })"));
  return schema;
}

void expect_done(DeserializerBench* bench) {
  ASSERT_TRUE(bench->run()) << "hangs";
  for (size_t i = 0; i < bench->outcomes().size(); ++i) {
    const Outcome& outcome = bench->outcomes()[i];
    EXPECT_EQ(outcome.record.type, RecordType::kDone)
        << i << ": code " << int{outcome.record.code} << ' '
        << (outcome.record.type == RecordType::kSoftware ? left_to_software_reason(outcome.record.code) : "");
    EXPECT_EQ(outcome.difference, "") << i;
  }
}

TEST(Deserializer, FlatMessagesOfScalars) {
  DeserializerBench bench;
  bench.load(*scalars().type("Flat").image);
  std::vector<std::string> wires;
  for (uint64_t seed = 0; seed < 50; ++seed) wires.push_back(workload::generate_wire(scalars().type("Flat"), seed));
  wires.push_back("");
  for (const std::string& wire : wires) bench.add(scalars().type("Flat"), wire);
  expect_done(&bench);
}

}  // namespace
}  // namespace drover::rtl
