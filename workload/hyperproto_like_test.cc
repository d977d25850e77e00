// The built-in workload: deterministic, well formed by protobuf C++ and by the codec, and of HyperProtoBench's shape.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "testing/test_object.h"
#include "workload/hyperproto_shape.h"
#include "workload/statistics.h"
#include "workload/workload.h"

namespace drover::workload {
namespace {

uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325) {
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

uint64_t fingerprint(const Workload& workload) {
  uint64_t hash = fnv1a("");
  for (const Group& group : workload.groups) hash = fnv1a(group.files.SerializeAsString(), hash);
  for (const WorkloadMessage& message : workload.messages) hash = fnv1a(message.wire, fnv1a(message.name, hash));
  return hash;
}

// Decodes with the codec and writes again; empty if it does not decode.
std::string through_codec(const WorkloadMessage& message) {
  testing::TestObject object(message.type);
  return object.decode(message.wire).ok() ? object.encode() : "";
}

class EverySeed : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    WorkloadResult result = hyperproto_like(GetParam());
    ASSERT_TRUE(result.ok()) << result.error;
    workload_ = std::move(result.workload);
  }
  Workload workload_;
};

TEST_P(EverySeed, HasFortyMessagesAndTwentyMoreOfTheUnpublishedBenches) {
  EXPECT_EQ(workload_.messages.size(), 60u);
  EXPECT_EQ(total_statistics(workload_, WorkloadPart::kPublished).sizes.size(), 40u);
  WorkloadResult published = hyperproto_like(GetParam(), WorkloadPart::kPublished);
  ASSERT_TRUE(published.ok()) << published.error;
  ASSERT_EQ(published.workload.messages.size(), 40u);
  for (const WorkloadMessage& message : published.workload.messages) {
    ASSERT_NE(workload_.find(message.name), nullptr);
    EXPECT_EQ(workload_.find(message.name)->wire, message.wire) << "a message depends on its own group only";
  }
}

TEST_P(EverySeed, IsReadAndWrittenBackTheSameByTheCodecAndByProtobuf) {
  for (const Group& group : workload_.groups) {
    google::protobuf::DescriptorPool pool;
    for (const auto& file : group.files.file()) ASSERT_NE(pool.BuildFile(file), nullptr);
    google::protobuf::DynamicMessageFactory factory;
    for (const WorkloadMessage& message : workload_.messages) {
      if (&workload_.groups[message.group] != &group) continue;
      EXPECT_EQ(through_codec(message) == message.wire, true) << message.name;
      const auto* descriptor = pool.FindMessageTypeByName(std::string(message.full_name()));
      ASSERT_NE(descriptor, nullptr) << message.full_name();
      std::unique_ptr<google::protobuf::Message> peer(factory.GetPrototype(descriptor)->New());
      ASSERT_TRUE(peer->ParseFromString(message.wire)) << message.name;
      EXPECT_EQ(peer->SerializeAsString() == message.wire, true) << message.name;
    }
  }
}

TEST_P(EverySeed, ReachesFromSeventeenBytesToOneAndAHalfMegabytesAndFourteenLevels) {
  Statistics all = total_statistics(workload_, WorkloadPart::kAll);
  EXPECT_EQ(percentile(all.sizes, 0), 17u);
  EXPECT_EQ(percentile(all.sizes, 100), 1600000u);
  EXPECT_EQ(*std::max_element(all.depths.begin(), all.depths.end()), 14u);
  EXPECT_EQ(all.fields_present, all.fields_possible);
  EXPECT_EQ(all.unknown_fields, 0u);
}

// The tolerances of docs/workload.md: what is dealt out comes out exactly, what is drawn comes out near.
TEST_P(EverySeed, HasTheMeasuredShape) {
  for (uint32_t g = 0; g < workload_.groups.size(); ++g) {
    const Shape& shape = hyperproto_shapes()[g];
    SCOPED_TRACE(shape.name);
    Statistics found = group_statistics(workload_, g);
    for (size_t kind = 1; kind < schema::kKindCount; ++kind) EXPECT_EQ(found.fields[kind], shape.kinds[kind]) << kind;
    for (size_t m = 0; m < 10; ++m) {
      EXPECT_EQ(found.depths[m], shape.messages[m].depth) << m;
      if (shape.messages[m].wire_size == 0) continue;
      EXPECT_NEAR(static_cast<double>(found.sizes[m]), shape.messages[m].wire_size, 2) << m;
    }
    uint64_t types = 0;
    for (const MessageShape& message : shape.messages) types += message.types;
    EXPECT_EQ(found.types, types);
    if (!shape.published) continue;
    for (size_t n = 2; n <= 10; ++n) {
      uint64_t expected = uint64_t{shape.int32[n - 1]} + shape.int64[n - 1] + shape.uint32[n - 1] + shape.uint64[n - 1];
      EXPECT_EQ(found.varints[n], expected) << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EverySeed, ::testing::Range(uint64_t{1}, uint64_t{9}));

TEST(HyperProtoLike, IsTheSameOnEveryMachine) {
  // A change here changes what every benchmark measures: say so in the commit.
  EXPECT_EQ(fingerprint(hyperproto_like(1).workload), 18416406441275776421u);
  std::set<uint64_t> fingerprints;
  for (uint64_t seed = 1; seed <= 5; ++seed) fingerprints.insert(fingerprint(hyperproto_like(seed).workload));
  EXPECT_EQ(fingerprints.size(), 5u);
}

double ratio(uint64_t a, uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// Against the published messages themselves, where they are.
TEST(HyperProtoLike, MatchesThePublishedPopulation) {
  const char* directory = std::getenv("HYPERPROTOBENCH");
  if (directory == nullptr || *directory == '\0') GTEST_SKIP() << "HYPERPROTOBENCH names no directory";
  WorkloadResult published = load_hyperprotobench(directory);
  ASSERT_TRUE(published.ok()) << published.error;
  Statistics theirs = total_statistics(published.workload, WorkloadPart::kPublished);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Statistics ours = total_statistics(hyperproto_like(seed).workload, WorkloadPart::kPublished);
    EXPECT_EQ(ours.fields, theirs.fields);
    EXPECT_EQ(ours.values, theirs.values);
    EXPECT_EQ(ours.types, theirs.types);
    EXPECT_EQ(ours.objects, theirs.objects);
    EXPECT_EQ(ours.varints, theirs.varints);
    EXPECT_EQ(ours.depths, theirs.depths);
    EXPECT_EQ(ours.repeated_fields, theirs.repeated_fields);
    for (unsigned percent : {0u, 10u, 25u, 50u, 75u, 90u, 100u}) {
      EXPECT_NEAR(ratio(percentile(ours.sizes, percent), percentile(theirs.sizes, percent)), 1, 0.01) << percent;
    }
    for (unsigned percent : {25u, 50u, 75u, 90u, 100u}) {
      EXPECT_NEAR(std::log2(ratio(percentile(ours.string_sizes, percent), percentile(theirs.string_sizes, percent))), 0,
                  1)
          << percent;
      EXPECT_NEAR(std::log2(ratio(percentile(ours.bytes_sizes, percent), percentile(theirs.bytes_sizes, percent))), 0,
                  2)
          << percent;
    }
    for (unsigned percent : {50u, 90u, 100u}) {
      EXPECT_NEAR(ratio(percentile(ours.field_numbers, percent), percentile(theirs.field_numbers, percent)), 1, 0.35);
      EXPECT_NEAR(ratio(percentile(ours.type_fields, percent), percentile(theirs.type_fields, percent)), 1, 0.65);
    }
  }
}

}  // namespace
}  // namespace drover::workload
