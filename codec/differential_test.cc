// The codec beside protobuf C++: random messages of random schemas have the same bytes and values, random garbage is
// accepted or refused by both.
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <random>

#include "testing/deterministic.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/random_schema.h"

namespace drover {
namespace {

using testing::deterministic;
using testing::RandomMessages;
using testing::TestObject;
using testing::TestSchema;

// How far two well-formed results are compared. Map entries have no order of their own; and where a closed enum does
// not know a damaged value, dynamic messages (unlike generated ones) cut it to 32 bits.
enum class Compare { kBytes, kBytesOfMaps, kAcceptance };

// Both parse `wire`; both must agree on whether it is well formed, and then on what it says.
void expect_same(const TestSchema& schema, const std::string& name, const std::string& wire, Compare compare,
                 const DecodeOptions& options = {}) {
  auto peer = schema.peer(name);
  TestObject object(schema.type(name));
  bool peer_ok = peer->ParsePartialFromString(wire);
  DecodeResult result = object.decode(wire, options);
  // protobuf C++ 3.21 cuts an overlong tag to 32 bits where we refuse it.
  if (result.error == DecodeError::kBadTag && peer_ok) return;
  ASSERT_EQ(result.ok(), peer_ok) << to_string(result) << "\n" << testing::to_hex(wire);
  if (!peer_ok) return;
  std::string ours = object.encode();
  EXPECT_EQ(encoded_size(object.type(), object.get()), ours.size());
  if (compare == Compare::kAcceptance) return;
  if (compare == Compare::kBytes) {
    ASSERT_EQ(ours, deterministic(*peer)) << peer->DebugString() << "\n---\n" << object.text();
    return;
  }
  auto again = schema.peer(name);
  ASSERT_TRUE(again->ParsePartialFromString(ours));
  ASSERT_EQ(deterministic(*again), deterministic(*peer)) << peer->DebugString() << "\n---\n" << object.text();
}

class Differential : public ::testing::TestWithParam<int> {};

TEST_P(Differential, RandomMessagesOfRandomSchemasRoundTrip) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  bool maps = GetParam() % 4 == 3;
  TestSchema schema(workload::random_schema(static_cast<uint64_t>(GetParam()), {.maps = maps}));
  const std::vector<std::string> names = workload::message_names(schema.files());
  Compare compare = maps ? Compare::kBytesOfMaps : Compare::kBytes;
  Compare compare_damaged = schema.proto3() && !maps ? compare : Compare::kAcceptance;
  for (int round = 0; round < 20; ++round) {
    const std::string& name = names[random() % names.size()];
    auto message = schema.peer(name);
    RandomMessages(random).fill(message.get(), 4);
    std::string wire = deterministic(*message);
    expect_same(schema, name, wire, compare);
    expect_same(schema, name, wire, compare, {.alias = true});
    // The same bytes for another type: most fields are unknown or of another wire type there.
    const std::string& other = names[random() % names.size()];
    expect_same(schema, other, wire, compare_damaged);
    for (int damage = 0; damage < 5; ++damage) {
      std::string damaged = wire;
      testing::damage(random, &damaged);
      expect_same(schema, name, damaged, compare_damaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Differential, testing::seeds(30));

TEST(DifferentialGarbage, RandomBytesAreTakenOrRefusedByBoth) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10000 * testing::test_factor(); ++i) {
    std::string wire = testing::random_wire(random);
    expect_same(testing::every_schema(), "t.Every", wire, Compare::kBytes);
    expect_same(testing::every_schema(), "t.Maps", wire, Compare::kBytesOfMaps);
    expect_same(testing::implicit_schema(), "t3.Implicit", wire, Compare::kBytesOfMaps);
    if (HasFatalFailure()) return;
  }
}

// protobuf C++ logs each refused string.
auto* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace
}  // namespace drover
