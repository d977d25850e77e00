// Directed tests of the deserializer: a feature or a corner each, always against the software codec.
#include <gtest/gtest.h>

#include "rtl/deserializer/deserializer_bench.h"
#include "workload/hyperproto_like.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/wire_mutation.h"
#include "workload/workload.h"
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

// ---- generated messages

struct Tally {
  size_t done = 0, errors = 0, messages = 0;
  std::map<std::string, size_t> software;
  void add(const DeserializerBench& bench) {
    for (const Outcome& outcome : bench.outcomes()) {
      ++messages;
      if (outcome.record.type == RecordType::kDone) ++done;
      if (outcome.record.type == RecordType::kError) ++errors;
      if (outcome.record.type == RecordType::kSoftware) ++software[left_to_software_reason(outcome.record.code)];
    }
  }
  void print(const char* what) const {
    std::printf("%s: %zu messages, %zu done, %zu errors; left to software:", what, messages, done, errors);
    for (const auto& [reason, count] : software) std::printf(" %s %zu", reason.c_str(), count);
    std::printf("\n");
  }
};

BenchOptions stalled(uint64_t seed) {
  BenchOptions options;
  options.rx_stalls = 60;
  options.cmd_stalls = 30;
  options.cmpl_stalls = 80;
  options.free_stalls = 100;
  options.host = {20, 8, 60, seed};
  options.engine = {30, 4, 80, seed + 7};
  options.seed = seed;
  return options;
}

TEST(Deserializer, WorkloadWithTheShapeOfHyperProtoBench) {
  workload::WorkloadResult made = workload::hyperproto_like();
  ASSERT_TRUE(made.ok());
  Tally tally;
  for (size_t group = 0; group < made.workload.groups.size(); ++group) {
    DeserializerBench bench;
    bench.load(made.workload.groups[group].image.image());
    for (const auto& message : made.workload.messages) {
      if (message.group == group) bench.add(message.type, message.wire);
    }
    ASSERT_TRUE(bench.run()) << made.workload.groups[group].name;
    for (const Outcome& outcome : bench.outcomes()) EXPECT_EQ(outcome.difference, "");
    tally.add(bench);
  }
  tally.print("hyperproto-like");
  EXPECT_EQ(tally.errors, 0u);
}

void random_round(uint64_t seed, const workload::MessageOptions& message_options, bool one_shot, bool mutate,
                  Tally* tally) {
  workload::SchemaOptions schema_options;
  PeerSchema schema(workload::random_schema(seed, schema_options));
  std::vector<std::string> names = workload::message_names(schema.files());
  BenchOptions options = stalled(seed);
  options.one_shot = one_shot;
  options.host_bytes = size_t{8} << 20;
  options.engine_bytes = size_t{8} << 20;
  options.run_chunks = 256;
  DeserializerBench bench(options);
  bench.load(schema.type(names[0]).image[0]);
  std::deque<std::string> wires;
  workload::Random random(seed);
  for (int i = 0; i < 40; ++i) {
    const std::string& name = names[static_cast<size_t>(i) % names.size()];
    wires.push_back(workload::generate_wire(schema.type(name), seed * 100 + static_cast<uint64_t>(i), message_options));
    if (mutate) workload::mutate_wire(random, &wires.back());
    bench.add(schema.type(name), wires.back());
  }
  ASSERT_TRUE(bench.run()) << "hangs; schema seed " << seed;
  for (size_t i = 0; i < bench.outcomes().size(); ++i) {
    ASSERT_EQ(bench.outcomes()[i].difference, "") << "schema seed " << seed << ", message " << i;
  }
  tally->add(bench);
}

TEST(Deserializer, RandomMessagesOfRandomSchemas) {
  Tally tally;
  workload::MessageOptions options;
  options.utf8 = true;
  options.max_size = 20000;
  for (uint64_t seed = 1; seed <= 60 && !HasFatalFailure(); ++seed) random_round(seed, options, true, false, &tally);
  tally.print("random");
  EXPECT_EQ(tally.errors, 0u);
}

TEST(Deserializer, OddFormsAndUnknownFields) {
  Tally tally;
  workload::MessageOptions options;
  options.max_size = 5000;
  options.odd_permille = 50;
  options.unknown_permille = 200;
  for (uint64_t seed = 101; seed <= 140 && !HasFatalFailure(); ++seed) random_round(seed, options, true, false, &tally);
  tally.print("odd");
  EXPECT_EQ(tally.errors, 0u);
}

TEST(Deserializer, FieldByField) {
  Tally tally;
  workload::MessageOptions options;
  options.max_size = 3000;
  for (uint64_t seed = 201; seed <= 215 && !HasFatalFailure(); ++seed) random_round(seed, options, false, false, &tally);
  tally.print("field by field");
}

TEST(Deserializer, MutatedMessagesFailAsInSoftware) {
  Tally tally;
  workload::MessageOptions options;
  options.max_size = 2000;
  for (uint64_t seed = 301; seed <= 400 && !HasFatalFailure(); ++seed) random_round(seed, options, true, true, &tally);
  tally.print("mutated");
}

}  // namespace
}  // namespace drover::rtl
