// The deserializer's limits: addresses that are not the host's, refused writes, how soon an error comes, and when
// writes begin.
#include <gtest/gtest.h>

#include <deque>

#include "rtl/deserializer/deserializer_testing.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/wire_mutation.h"

namespace drover::rtl {
namespace {

using testing::TestSchema;

class DeserializerLimits : public DeserializerTest {};
DROVER_INSTANTIATE_DESERIALIZER_TESTS(DeserializerLimits);

// A host that gives chunks and runs which are not its own gets an error, and nothing is written there.
TEST_P(DeserializerLimits, NothingIsWrittenOutsideTheRegion) {
  BenchOptions options = plain();
  options.bad_memory = true;
  DeserializerBench bench(options);
  bench.load(*parts().type("Text").image);
  std::deque<std::string> wires;
  for (int i = 0; i < 20; ++i) wires.push_back(field(2, std::string(static_cast<size_t>(i) * 300, 'o')));
  for (const std::string& wire : wires) bench.add(parts().type("Text"), wire);
  ASSERT_TRUE(bench.run());
  for (const Outcome& outcome : bench.outcomes()) {
    EXPECT_EQ(outcome.record.kind, RecordKind::kError);
    EXPECT_EQ(outcome.record.code, kBadAddress);
  }
  EXPECT_EQ(bench.host_counts().transactions, 0u);
}

// A refused write never ends in a message that is called done: its object, read from rubbish, would differ.
TEST_P(DeserializerLimits, ARefusedWriteMakesItsMessageAnError) {
  BenchOptions options = stalled(3, eager());
  options.host.refused_of_256 = 20;
  options.engine.refused_of_256 = 20;
  DeserializerBench bench(options);
  bench.load(*parts().type("Text").image);
  std::deque<std::string> wires;
  for (size_t i = 0; i < 400; ++i) {
    wires.push_back(field(2, std::string(1 + i * 37 % 900, static_cast<char>('a' + i % 26))) +
                    field(3, std::to_string(i * i)));
  }
  for (const std::string& wire : wires) bench.add(parts().type("Text"), wire);
  ASSERT_TRUE(bench.run());
  size_t errors = 0;
  for (const Outcome& outcome : bench.outcomes()) {
    EXPECT_EQ(outcome.difference, "");
    errors += outcome.record.kind == RecordKind::kError;
  }
  EXPECT_GT(errors, 10u);
  EXPECT_LE(errors, bench.host_counts().refused);
}

TEST_P(DeserializerLimits, APageThatTheTlbDoesNotKnowEndsInAnError) {
  BenchOptions options = plain();
  options.tlb_present = false;
  DeserializerBench bench(options);
  bench.load(*parts().type("Text").image);
  std::string wire("\x28\x01", 2);
  for (int i = 0; i < 9; ++i) bench.add(parts().type("Text"), wire);
  ASSERT_TRUE(bench.run());
  for (const Outcome& outcome : bench.outcomes()) EXPECT_EQ(outcome.record.code, kBadAddress);
  EXPECT_EQ(bench.host_counts().transactions, 0u);
}

// Within bytes/64 + 50 cycles behind a message's last word, with a memory that answers at once.
TEST_P(DeserializerLimits, ErrorsComeInTime) {
  std::deque<std::string> wires;
  std::string whole = field(2, std::string(3000, 'a')) + field(4, field(2, "xyz") + std::string("\x28\x07", 2));
  for (size_t size = 0; size < whole.size(); size += 7) wires.push_back(whole.substr(0, size) + "\x0f");
  wires.push_back(field(2, std::string(5000, '\xff')));
  wires.push_back("\x07" + std::string(20000, 'x'));
  for (const std::string& wire : wires) {
    DeserializerBench bench(
        BenchOptions{.eager = eager(), .lanes = 1, .host_bytes = 1 << 20, .engine_bytes = 1 << 20, .run_chunks = 64});
    bench.load(*parts().type("Text").image);
    uint64_t began = bench.cycles();
    bench.add(parts().type("Text"), wire);
    ASSERT_TRUE(bench.run());
    EXPECT_EQ(bench.outcomes()[0].difference, "");
    EXPECT_EQ(bench.outcomes()[0].record.kind, RecordKind::kError);
    uint64_t last_word = began + 1 + (wire.size() + 63) / 64;  // at the earliest
    EXPECT_LE(bench.outcomes()[0].cycle, last_word + wire.size() / 64 + 50) << wire.size();
  }
}

// Behind the last word, what waits in front of the lane (2 KB) is worked through first; small fields, unknown ones and
// empty messages make that up to kCyclesAByte.
TEST_P(DeserializerLimits, ErrorsOfAnyShapeComeInTime) {
  constexpr double kCyclesAByte = 4;
  size_t errors = 0, late = 0;
  double worst = 0;
  for (uint64_t seed = 900; seed < 930; ++seed) {
    TestSchema schema(workload::random_schema(seed, workload::SchemaOptions{}));
    std::vector<std::string> names = workload::message_names(schema.files());
    BenchOptions options = plain();
    options.lanes = 1;
    options.host_bytes = options.engine_bytes = size_t{8} << 20;
    std::deque<std::string> wires;  // what is left of one behind its error goes in front of the next
    DeserializerBench bench(options);
    bench.load(schema.type(names[0]).image[0]);
    workload::Random random(seed);
    workload::MessageOptions message_options;
    message_options.max_size = 2000;
    message_options.odd_permille = 50;
    message_options.unknown_permille = 200;
    for (uint64_t i = 0; i < 30; ++i) {
      schema::MessageType type = schema.type(names[i % names.size()]);
      std::string& wire = wires.emplace_back(workload::generate_wire(type, seed * 100 + i, message_options));
      workload::mutate_wire(random, &wire);
      bench.add(type, wire);
      ASSERT_TRUE(bench.run());
      const Outcome& outcome = bench.outcomes()[0];
      auto size = static_cast<double>(wire.size());
      double after = static_cast<double>(outcome.cycle) - static_cast<double>(bench.last_word());
      if (outcome.record.kind == RecordKind::kError) {
        ++errors;
        late += after > size / 64 + 50 ? 1 : 0;
        if (size != 0) worst = std::max(worst, (after - 50 - size / 64) / std::min(size, 2240.0));
        EXPECT_LE(after, size / 64 + 50 + kCyclesAByte * std::min(size, 2240.0)) << seed << ' ' << i;
      }
      bench.clear();
    }
  }
  // Unknown fields of two bytes: the slowest there is.
  DeserializerBench bench(plain());
  bench.load(*parts().type("Text").image);
  std::string unknown;
  for (int i = 0; i < 900; ++i) unknown += "\x78\x01";
  unknown += '\x0f';
  bench.add(parts().type("Text"), unknown);
  ASSERT_TRUE(bench.run());
  EXPECT_EQ(bench.outcomes()[0].record.kind, RecordKind::kError);
  auto slowest =
      static_cast<double>(bench.outcomes()[0].cycle - bench.last_word()) / static_cast<double>(unknown.size());
  EXPECT_LE(slowest, kCyclesAByte);
  std::printf("unknown fields of two bytes, then an error: %.2f cycles a byte\n", slowest);
  std::printf("errors: %zu, beyond bytes/64 + 50 cycles: %zu, at worst by %.2f cycles a byte\n", errors, late, worst);
  EXPECT_GT(errors, 100u);
}

// Packed varints have been stored by the time their error is found: the next object in the same buffer must not see
// them.
TEST_P(DeserializerLimits, AMessageThatIsGivenUpLeavesNothingBehind) {
  TestSchema schema(testing::parse_proto(R"(
      syntax = "proto2"; message P { repeated int32 a = 1 [packed = true]; optional P s = 2; optional int32 f = 3; })"));
  std::string bad = field(1, std::string(400, '\x11') + std::string(11, '\xff'));
  std::string good;
  for (int level = 0; level < 20; ++level) good = field(2, good);
  BenchOptions options = plain();
  options.lanes = 1;
  DeserializerBench bench(options);
  bench.load(*schema.type("P").image);
  for (const std::string* wire : {&bad, &bad, &good, &good, &bad, &good, &bad, &good}) {
    bench.add(schema.type("P"), *wire);
  }
  ASSERT_TRUE(bench.run());
  for (const Outcome& outcome : bench.outcomes()) EXPECT_EQ(outcome.difference, "");
  EXPECT_EQ(bench.outcomes()[0].record.kind, RecordKind::kError);
  EXPECT_EQ(bench.outcomes()[3].record.kind, RecordKind::kDone);
}

// The object is on its way while the message still comes, in bursts of 256 bytes and more.
TEST_P(DeserializerLimits, WritesBeginBeforeTheMessageEnds) {
  std::string wire;
  for (int i = 0; i < 40; ++i) wire += field(3, std::string(60, static_cast<char>('a' + i % 26)));
  BenchOptions options = plain();
  options.lanes = 1;
  options.rx_stalls = 200;
  DeserializerBench bench(options);
  bench.load(*parts().type("Text").image);
  bench.add(parts().type("Text"), wire);
  expect_done(&bench);
  const AxiCounts& counts = bench.host_counts();
  if (eager()) {
    EXPECT_GT(bench.beats_before_end(), counts.beats / 2);
    EXPECT_LE(counts.transactions, counts.beats / 4 + 2);
  } else {
    EXPECT_EQ(bench.beats_before_end(), 0u);
    EXPECT_EQ(counts.transactions, 1u);
  }
}

}  // namespace
}  // namespace drover::rtl
