// Seeded messages of seeded schemas: deterministic, read alike by protobuf C++ and the codec, of the size asked for.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "message/operations.h"
#include "testing/deterministic.h"
#include "testing/long_runs.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/statistics.h"

namespace drover::workload {
namespace {

using testing::deterministic;
using testing::TestObject;
using testing::TestSchema;

class GeneratorOfSeed : public ::testing::TestWithParam<uint64_t> {};

TEST_P(GeneratorOfSeed, TheSameSeedGivesTheSameSchemaAndBytes) {
  EXPECT_EQ(random_schema(GetParam()).SerializeAsString(), random_schema(GetParam()).SerializeAsString());
  TestSchema schema(random_schema(GetParam()));
  schema::MessageType type = schema.type("r.M0");
  MessageOptions options;
  options.unknown_permille = 300;
  EXPECT_EQ(generate_wire(type, 7, options), generate_wire(type, 7, options));
}

TEST_P(GeneratorOfSeed, WhatItMakesSurvivesTheCodecAndProtobufUnchanged) {
  SchemaOptions schema_options;
  schema_options.maps = GetParam() % 2 == 0;
  TestSchema schema(random_schema(GetParam(), schema_options));
  MessageOptions options;
  options.unknown_permille = 200;
  options.utf8 = true;
  options.max_levels = 4;
  options.max_size = 20000;
  for (const std::string& name : message_names(schema.files())) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      std::string wire = generate_wire(schema.type(name), seed, options);
      TestObject object(schema.type(name));
      DecodeResult result = object.decode(wire);
      ASSERT_TRUE(result.ok()) << to_string(result);
      EXPECT_TRUE(message::is_initialized(object.type(), *object.get())) << name;
      EXPECT_EQ(object.encode() == wire, true) << name << " " << seed;
      auto peer = schema.peer(name);
      ASSERT_TRUE(peer->ParseFromString(wire)) << name << " " << seed;
      if (!schema_options.maps) {
        EXPECT_EQ(deterministic(*peer) == wire, true) << name << " " << seed;
      }
      Statistics statistics;
      EXPECT_TRUE(add_message(schema.type(name), wire, &statistics));
    }
  }
}

TEST_P(GeneratorOfSeed, OddFormsSayTheSameAsPlainOnes) {
  TestSchema schema(random_schema(GetParam()));
  MessageOptions options;
  options.max_levels = 4;
  options.max_size = 5000;
  size_t odd_messages = 0;
  for (const std::string& name : message_names(schema.files())) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      options.odd_permille = 0;
      std::string plain = generate_wire(schema.type(name), seed, options);
      options.odd_permille = 300;
      std::string odd = generate_wire(schema.type(name), seed, options);
      odd_messages += odd != plain;
      auto peer = schema.peer(name), odd_peer = schema.peer(name);
      ASSERT_TRUE(peer->ParsePartialFromString(plain));
      ASSERT_TRUE(odd_peer->ParsePartialFromString(odd)) << name << " " << seed;
      EXPECT_EQ(deterministic(*peer) == deterministic(*odd_peer), true) << name << " " << seed;
    }
  }
  if (message_names(schema.files()).size() > 3) {
    EXPECT_GT(odd_messages, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GeneratorOfSeed, testing::seeds<uint64_t>(20));

TEST(Generator, ReachesTheTargetSizeWithinAFewBytes) {
  for (const char* fields : {"string a = 1", "repeated bytes b = 3", "repeated int32 c = 2 [packed=true]", "Sub d = 9",
                             "map<string, int64> e = 4", "repeated Sub f = 5"}) {
    TestSchema schema(testing::parse_proto("syntax = \"proto3\"; package t; message M { int32 x = 15; " +
                                           std::string(fields) + "; } message Sub { string s = 1; bool z = 2; }"));
    for (size_t target : {100u, 1000u, 70000u}) {
      MessageOptions options;
      options.target_size = target;
      options.presence_permille = 1000;
      std::string wire = generate_wire(schema.type("t.M"), 3, options);
      EXPECT_NEAR(static_cast<double>(wire.size()), static_cast<double>(target), 0.15 * static_cast<double>(target))
          << fields;
      EXPECT_TRUE(schema.peer("t.M")->ParseFromString(wire)) << fields;
    }
  }
}

TEST(Generator, KeepsTheOptionsItIsGiven) {
  TestSchema schema(testing::parse_proto(R"(syntax = "proto2"; package t;
    message M { optional M m = 1; optional int32 a = 2; repeated int32 r = 3; optional string s = 4; })"));
  MessageOptions options;
  options.max_levels = 5;
  options.presence_permille = 1000;
  std::fill(std::begin(options.repeated_counts), std::end(options.repeated_counts), 0);
  options.repeated_counts[3] = 1;  // 4 to 7
  std::fill(std::begin(options.varint_lengths), std::end(options.varint_lengths), 0);
  options.varint_lengths[2] = 1;  // three bytes
  Statistics statistics;
  ASSERT_TRUE(add_message(schema.type("t.M"), generate_wire(schema.type("t.M"), 1, options), &statistics));
  EXPECT_EQ(statistics.depths[0], 5u);
  EXPECT_EQ(statistics.objects, 5u);
  uint64_t numbers = statistics.values[static_cast<size_t>(schema::Kind::kInt32)];
  EXPECT_GE(numbers, 5 * 5u);
  EXPECT_LE(numbers, 8 * 5u);
  EXPECT_EQ(statistics.varints[3], numbers);
  options.presence_permille = 0;
  EXPECT_EQ(generate_wire(schema.type("t.M"), 1, options), "");
}

TEST(Generator, FillsAnObject) {
  TestSchema schema(random_schema(4));
  schema::MessageType type = schema.type("r.M0");
  TestObject object(type);
  ASSERT_TRUE(fill_object(type, 11, {}, object.get(), *object.arena()).ok());
  EXPECT_EQ(object.encode(), generate_wire(type, 11));
}

}  // namespace
}  // namespace drover::workload
