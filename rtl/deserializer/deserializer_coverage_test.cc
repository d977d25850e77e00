// Every kind of field, with every label, every length of its value, and wherever it may stand in the stream's beats:
// a message for each, compared with the codec. What random messages reach of these is printed beside.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

#include "rtl/testing/deserializer_bench.h"
#include "rtl/testing/field_sweep.h"
#include "rtl/testing/wire_coverage.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random.h"
#include "workload/random_schema.h"

namespace drover::rtl {
namespace {

using testing::parse_proto;
using testing::TestSchema;
using Cover = WireCoverage;

void report(const char* what, const Cover& cover) { std::printf("%s\n%s", what, cover.coverage().report(8).c_str()); }

class CoverageSweep : public ::testing::TestWithParam<bool> {};

TEST_P(CoverageSweep, EveryKindLabelLengthAndPlace) {
  TestSchema schema(parse_proto(every_field()));
  schema::MessageType type = schema.type("All");
  BenchOptions options;
  options.one_shot = GetParam();
  DeserializerBench bench(options);
  bench.load(*type.image);
  Cover cover("kind x label x length x place");
  std::deque<std::string> wires = field_sweep(overlong_varint);
  for (size_t done = 0; done < wires.size();) {
    bench.clear();
    size_t end = std::min(done + 256, wires.size());
    for (size_t i = done; i < end; ++i) bench.add(type, wires[i]);
    ASSERT_TRUE(bench.run()) << "hangs";
    for (size_t i = done; i < end; ++i) {
      const Outcome& outcome = bench.outcomes()[i - done];
      ASSERT_EQ(outcome.record.kind, RecordKind::kDone) << i << ' ' << left_to_software_reason(outcome.record.code);
      ASSERT_EQ(outcome.difference, "") << i;
      cover.add(type, wires[i]);
    }
    done = end;
  }
  report(GetParam() ? "directed, one-shot writes" : "directed, field by field", cover);
  EXPECT_EQ(cover.coverage().reached(), cover.coverage().total());
  EXPECT_EQ(cover.coverage().impossible(), 0u);
}
INSTANTIATE_TEST_SUITE_P(OneShot, CoverageSweep, ::testing::Bool());

TEST(Coverage, OfRandomMessages) {
  Cover cover("kind x label x length x place");
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestSchema schema(workload::random_schema(seed));
    std::vector<std::string> names = workload::message_names(schema.files());
    BenchOptions bench_options;
    bench_options.rx_stalls = 60;
    bench_options.seed = seed;
    DeserializerBench bench(bench_options);
    bench.load(*schema.type(names[0]).image);
    workload::MessageOptions options;
    options.max_size = 5000;
    options.odd_permille = 50;
    std::deque<std::string> wires;
    for (size_t i = 0; i < 40; ++i) {
      wires.push_back(workload::generate_wire(schema.type(names[i % names.size()]), seed * 100 + i, options));
      bench.add(schema.type(names[i % names.size()]), wires.back());
    }
    ASSERT_TRUE(bench.run()) << "hangs; schema seed " << seed;
    for (size_t i = 0; i < wires.size(); ++i) {
      ASSERT_EQ(bench.outcomes()[i].difference, "") << "schema seed " << seed << ", message " << i;
      if (bench.outcomes()[i].record.kind == RecordKind::kDone)
        cover.add(schema.type(names[i % names.size()]), wires[i]);
    }
  }
  report("random messages of random schemas", cover);
  // What these reach without anybody having aimed: a generator that lost a kind or a label would fall below.
  EXPECT_GT(cover.coverage().reached(), cover.coverage().total() * 2 / 5);
}

}  // namespace
}  // namespace drover::rtl
