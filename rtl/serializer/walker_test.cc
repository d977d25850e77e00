// NIC-only: the object itself lies in host memory, and is serialized as the encoder does it.
#include "rtl/serializer/serializer_testing.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::rtl {
namespace {

// What a command may say of an object's run: nothing, all of it, a part, more, what leaves the region.
uint32_t some_run(TestObject& object, Random& random) {
  auto size = static_cast<uint32_t>(message::linearized_size(object.type(), *object.get()));
  switch (random.below(6)) {
    case 0:
      return 0;
    case 1:
      return static_cast<uint32_t>(random.below(size + 1));
    case 2:
      return size + static_cast<uint32_t>(random.below(5000));
    case 3:
      return static_cast<uint32_t>(random.next());
    default:
      return size;
  }
}

class WalkedSchemas : public ::testing::TestWithParam<int> {};

TEST_P(WalkedSchemas, AreSerializedAsTheEncoderDoes) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  TestSchema schema(workload::random_schema(seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench bench(stalled(seed, GetParam() % 3 == 0 ? 0 : GetParam() % 3 == 1 ? 60 : 160));
  bench.load(*schema.type(names[0]).image, seed % 4 != 0);
  std::vector<Expectation> expected;
  Random random(seed);
  for (int i = 0; i < 30; ++i) {
    TestObject object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions options;
    options.presence_permille = seed % 2 == 0 ? 750 : 60;
    options.max_size = 8000;
    options.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    if (walk(bench, object, &expected, some_run(object, random)) == nullptr) break;
    // A pre-serialized stream in between: both ways share the encoder.
    if (i % 7 == 0 && !send(bench, object, 256, &expected)) break;
  }
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  size_t left = forgive(bench, &expected);
  EXPECT_EQ(left, 0u);
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, WalkedSchemas, ::testing::Range(1, 31));

TEST(Walker, SendsHyperProtoBenchLikeMessages) {
  workload::WorkloadResult loaded = workload::hyperproto_like();
  ASSERT_TRUE(loaded.ok());
  size_t sent = 0, left = 0;
  for (size_t group = 0; group < loaded.workload.groups.size(); ++group) {
    SerializerBench::Options options = stalled(group + 1, group % 2 == 0 ? 0 : 40);
    options.host_bytes = 16 << 20;
    SerializerBench bench(options);
    bench.load(loaded.workload.groups[group].image.image());
    std::vector<Expectation> expected;
    for (const workload::WorkloadMessage& message : loaded.workload.messages) {
      if (message.group != group || message.wire.size() > 100000) continue;  // time
      TestObject object(message.type);
      ASSERT_TRUE(object.decode(message.wire).ok());
      uint32_t run = group % 3 == 0 ? 0 : static_cast<uint32_t>(message::linearized_size(message.type, *object.get()));
      ASSERT_NE(walk(bench, object, &expected, run), nullptr);
    }
    ASSERT_TRUE(bench.run(4'000'000));
    sent += expected.size();
    left += forgive(bench, &expected);
    expect_all(bench, expected, 1);
  }
  std::printf("%zu messages, of which %zu were left to software\n", sent, left);
  EXPECT_EQ(left, 0u);
}

// Objects that were scribbled on: whatever is there, the walk ends, and with what the encoder makes of it, or an error.
class HostileObjects : public ::testing::TestWithParam<int> {};

TEST_P(HostileObjects, EndInWhatTheEncoderMakesOfThemOrInAnError) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  TestSchema schema(workload::random_schema(1000 + seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  Random random(seed);
  size_t fine = 0, refused = 0;
  SerializerBench bench(stalled(seed, GetParam() % 2 == 0 ? 0 : 60));
  bench.load(*schema.type(names[0]).image);
  std::vector<Expectation> expected;
  std::vector<std::pair<TestObject*, Message*>> sent;
  std::vector<std::unique_ptr<TestObject>> objects;
  for (int i = 0; i < 60; ++i) {
    objects.push_back(std::make_unique<TestObject>(schema.type(names[random.index(names.size())])));
    TestObject& object = *objects.back();
    workload::MessageOptions options;
    options.max_size = 600;
    options.max_levels = 4;
    options.unknown_permille = 300;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    Message* copy = walk(bench, object, &expected, some_run(object, random));
    if (copy == nullptr) break;
    sent.emplace_back(&object, copy);
    size_t size = message::linearized_size(object.type(), *object.get());
    for (uint64_t n = random.below(4); n > 0; --n) {
      char* at = copy->drover_bytes() + random.below(size);
      if (random.chance(500)) {
        *at = static_cast<char>(random.chance(300) ? random.next() : random.chance(500) ? 0xff : 0);
      } else {  // a word: small and negative offsets lead in circles
        int64_t word = (static_cast<int64_t>(random.below(64)) - 32) * 8;
        std::memcpy(reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(at) & ~uintptr_t{7}), &word, 8);
      }
    }
  }
  ASSERT_TRUE(bench.run(10'000'000)) << "it hangs";
  EXPECT_EQ(bench.host_memory().counts().violations, 0u);
  Bounds bounds{bench.host().data(), bench.host().size()};
  EncodeOptions options;
  options.bounds = &bounds;
  options.max_bytes = 1 << 22;
  for (const SerializerCompletion& c : bench.completions()) {
    Encoded encoded;
    EncodeResult result = encode(sent[c.cookie].first->type(), sent[c.cookie].second, options, &encoded);
    expected[c.cookie].error = c.error;
    if (left_to_software(c.error)) continue;
    EXPECT_EQ(result.ok(), c.error == SerializerError::kNone) << to_string(result) << " " << static_cast<int>(c.error);
    ++(result.ok() ? fine : refused);
    if (!result.ok()) continue;
    expected[c.cookie].packet.assign(encoded.size(), 0);
    encoded.copy_to(expected[c.cookie].packet.data());
  }
  EXPECT_GT(fine + refused, 30u);
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, HostileObjects, ::testing::Range(1, 41));

TEST(Walker, LeavesToSoftwareWhatDoesNotFitIntoItsMemories) {
  expect_left(many_strings(1025, 8), 256, SerializerError::kLeftPieces, true);
  expect_left(nested(65), 256, SerializerError::kLeftDepth, true);
  std::string fields = "syntax='proto2'; message Big { optional Big n = 1; ";
  for (int i = 2; i < 300; ++i) fields += "optional int64 f" + std::to_string(i) + " = " + std::to_string(i) + "; ";
  TestSchema big(testing::parse_proto(fields + "}"));
  TestObject object(big.type("Big"));
  ASSERT_TRUE(object.decode(nested(20).replace(nested(20).size() - 2, 2, std::string("\x10\x05", 2))).ok());
  SerializerBench bench({});
  bench.load(*object.type().image);
  std::vector<Expectation> expected;
  ASSERT_NE(walk(bench, object, &expected), nullptr);
  expected.back().error = SerializerError::kLeftObject;
  expect_all(bench, expected);
}

}  // namespace
}  // namespace drover::rtl
