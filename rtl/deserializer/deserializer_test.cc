// Directed tests of the deserializer: a feature or a corner each, always against the software codec.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "message/raw.h"
#include "rtl/deserializer/deserializer_testing.h"
#include "rtl/driver/schema_table.h"
#include "testing/every_schema.h"
#include "testing/test_schema.h"
#include "workload/hyperproto_like.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/wire_mutation.h"
#include "workload/workload.h"

namespace drover::rtl {
namespace {

using testing::parse_proto;
using testing::TestSchema;

const TestSchema& scalars() {
  static const TestSchema schema(parse_proto(R"(
      syntax = "proto2";
      message Flat {
        optional int32 a = 1; optional int64 b = 2; optional uint32 c = 3; optional uint64 d = 4;
        optional sint32 e = 5; optional sint64 f = 6; optional bool g = 7; optional fixed32 h = 8;
        optional fixed64 i = 9; optional sfixed32 j = 10; optional sfixed64 k = 11; optional float l = 12;
        optional double m = 13; optional int32 n = 16; optional bool o = 31;
      })"));
  return schema;
}

DROVER_INSTANTIATE_DESERIALIZER_TESTS(DeserializerTest);

TEST_P(DeserializerTest, FlatMessagesOfScalars) {
  DeserializerBench bench(plain());
  bench.load(*scalars().type("Flat").image);
  std::vector<std::string> wires;
  for (uint64_t seed = 0; seed < 50; ++seed) wires.push_back(workload::generate_wire(scalars().type("Flat"), seed));
  wires.push_back("");
  for (const std::string& wire : wires) bench.add(scalars().type("Flat"), wire);
  expect_done(&bench);
}

// A FieldStep cannot name has-bits from 62 on: the side word does.
TEST_P(DeserializerTest, HasBitsThatNoStepCanNameAreSet) {
  std::string text = "syntax = \"proto2\"; message Wide {";
  for (int i = 1; i <= 66; ++i) text += "optional int32 f" + std::to_string(i) + " = " + std::to_string(i) + ";";
  TestSchema schema(parse_proto(text + "}"));
  DeserializerBench bench(plain());
  bench.load(*schema.type("Wide").image);
  std::deque<std::string> wires;
  for (uint32_t number = 1; number <= 66; ++number) {
    wires.push_back(varint(number << 3) + '\x05');
    bench.add(schema.type("Wide"), wires.back());
  }
  ASSERT_TRUE(bench.run()) << "hangs";
  for (size_t bit = 0; bit < wires.size(); ++bit) {
    const Outcome& outcome = bench.outcomes()[bit];
    if (bit < 64) {
      EXPECT_EQ(outcome.record.kind, RecordKind::kDone) << bit;
      EXPECT_EQ(outcome.difference, "") << bit;
    } else {
      ASSERT_EQ(outcome.record.kind, RecordKind::kSoftware) << bit;
      EXPECT_EQ(left_to_software_reason(outcome.record.code), "has_bit") << bit;
    }
  }
}

// ---- strings, memory, errors

TEST_P(DeserializerTest, StringsOfEveryLengthAtEveryAlignment) {
  DeserializerBench bench(BenchOptions{.eager = eager(), .rx_stalls = 20, .host = {5, 8, 20, 3}});
  bench.load(*parts().type("Text").image);
  std::deque<std::string> wires;
  for (size_t length :
       {0, 1, 2, 7, 8, 9, 31, 32, 63, 64, 65, 127, 128, 129, 500, 511, 512, 4000, 4095, 4096, 4097, 9000}) {
    for (size_t lead = 0; lead < 66; lead += length > 200 ? 13 : 1) {
      std::string content(length, 'a');
      for (size_t i = 0; i < length; ++i) content[i] = static_cast<char>('a' + i % 23);
      wires.push_back(field(1, std::string(lead, 'x')) + field(2, content) + field(3, content) + field(3, "") +
                      std::string("\x28\x07", 2));
    }
  }
  for (const std::string& wire : wires) bench.add(parts().type("Text"), wire);
  expect_done(&bench);
}

TEST_P(DeserializerTest, Utf8IsCheckedExactly) {
  DeserializerBench bench(plain());
  bench.load(*parts().type("Text").image);
  const char* const pieces[] = {"\x7f",
                                "\xc2\x80",
                                "\xc1\xbf",
                                "\xdf\xbf",
                                "\xe0\xa0\x80",
                                "\xe0\x9f\xbf",
                                "\xed\x9f\xbf",
                                "\xed\xa0\x80",
                                "\xef\xbf\xbf",
                                "\x80",
                                "\xc2",
                                "\xe1\x80",
                                "\xf0\x90\x80\x80",
                                "\xf0\x8f\xbf\xbf",
                                "\xf4\x8f\xbf\xbf",
                                "\xf4\x90\x80\x80",
                                "\xf5\x80\x80\x80",
                                "\xf1\x80\x80",
                                "\xff",
                                "\xc2\xc2\x80",
                                "\xe1\x80\x80\x80"};
  std::deque<std::string> wires;
  for (const char* piece : pieces) {
    for (size_t lead : {0, 1, 5, 60, 61, 62, 63, 64, 65, 125, 126, 127}) {
      for (size_t tail : {0, 1, 70}) wires.push_back(field(2, std::string(lead, 'a') + piece + std::string(tail, 'b')));
    }
  }
  for (const std::string& wire : wires) bench.add(parts().type("Text"), wire);
  ASSERT_TRUE(bench.run());
  size_t refused = 0;
  for (const Outcome& outcome : bench.outcomes()) {
    EXPECT_EQ(outcome.difference, "");
    EXPECT_NE(outcome.record.kind, RecordKind::kSoftware);
    refused += outcome.record.kind == RecordKind::kError;
  }
  EXPECT_EQ(refused, 13u * 36);
}

// Sub-messages fill chunk after chunk; what their parents get afterwards is patched by writes of its own.
TEST_P(DeserializerTest, ObjectsInManyChunks) {
  DeserializerBench bench(stalled(5, eager()));
  bench.load(*parts().type("Text").image);
  std::deque<std::string> wires;
  for (int round = 0; round < 20; ++round) {
    std::string wire;
    for (int level = 0; level < 60; ++level) {
      std::string before = field(3, std::string(static_cast<size_t>(level * 7 % 90), 'p'));
      wire = field(1, std::string(static_cast<size_t>(round * 13 % 200), 'q')) + before + before + before +
             (level == 0 ? "" : field(4, wire)) + std::string("\x28\x09", 2) + field(2, "after");
    }
    wires.push_back(wire);
    bench.add(parts().type("Text"), wires.back());
  }
  expect_done(&bench);
}

TEST_P(DeserializerTest, PayloadsGoToEngineMemoryWhereTheTargetBitSaysSo) {
  TestSchema schema(parse_proto(R"(
      syntax = "proto3"; message T { bytes a = 1; string b = 2; repeated fixed32 c = 3; repeated bytes d = 4; })"));
  schema::MessageType type = schema.type("T");
  DeserializerBench bench(stalled(9, eager()));
  bench.load(*type.image);
  std::deque<std::string> wires;
  for (size_t length : {1, 63, 64, 300, 5000}) {
    std::string content(length, 'e');
    wires.push_back(field(1, content) + field(2, content) + field(3, std::string(length * 4, 'f')) + field(4, content));
  }
  for (const std::string& wire : wires) bench.add(type, wire);
  expect_done(&bench);
  EXPECT_EQ(bench.engine_counts().beats, 0u);
  bench.clear();
  for (uint32_t number : {1u, 3u, 4u}) {  // while the engine runs: the driver writes two side words
    auto& entry = const_cast<schema::FieldEntry&>(*type.find_field(number));
    entry.flags |= schema::kFieldFlagTarget;
    bench.load_words(field_words(*type.image, type.entry(), entry));
  }
  for (const std::string& wire : wires) bench.add(type, wire);
  expect_done(&bench);
  EXPECT_GT(bench.engine_counts().beats, 3u * 5000 / 64);
  for (size_t i = 0; i < wires.size(); ++i) {
    const char* object = bench.memory() + bench.outcomes()[i].record.root;
    auto in_engine = [&](uint32_t number) {
      return raw::words(object, type.find_field(number)->offset)->begin() >= bench.memory() + bench.host_bytes();
    };
    EXPECT_TRUE(in_engine(1));
    EXPECT_FALSE(in_engine(2));
    EXPECT_TRUE(in_engine(3));
  }
}

TEST_P(DeserializerTest, PackedVarintsOfAnyLength) {
  TestSchema schema(parse_proto(R"(
      syntax = "proto2"; enum E { A = 1; B = 5; C = 9; }
      message P {
        repeated int32 a = 1 [packed = true]; repeated uint64 b = 2 [packed = true]; repeated bool c = 3 [packed = true];
        repeated sint32 d = 4 [packed = true]; repeated E e = 5 [packed = true]; optional int32 f = 6;
      })"));
  for (bool one_shot : {true, false}) {
    BenchOptions options = stalled(31, eager());
    options.one_shot = one_shot;
    DeserializerBench bench(options);
    bench.load(*schema.type("P").image);
    workload::Random random(5);
    std::deque<std::string> wires;
    for (size_t count : {1, 7, 63, 64, 65, 300, 600, 1500, 4097}) {
      std::string wire;
      for (uint32_t number = 1; number <= 5; ++number) {
        std::string content;
        for (size_t i = 0; i < count; ++i)
          content += varint(number == 5 ? 1 + 4 * random.below(3) : random.next() >> random.below(64));
        wire += field(number, content) + std::string("\x30\x07", 2);
      }
      wires.push_back(wire);
      bench.add(schema.type("P"), wires.back());
    }
    expect_done(&bench);
  }
}

// The ProtoACC baseline: each field's descriptor and has-bits are read, each store is a write of its own.
TEST_P(DeserializerTest, ProtoAccsWayGivesTheSameObjects) {
  BenchOptions options = plain();
  options.one_shot = false;
  options.protoacc = true;
  options.lanes = 1;
  std::string wire;
  for (uint32_t i : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 16u}) wire += varint(i << 3) + "\x05";
  std::deque<uint64_t> cycles;
  for (uint32_t latency : {10u, 100u}) {
    options.descriptors.latency = latency;
    DeserializerBench bench(options);
    bench.load(*scalars().type("Flat").image);
    for (int i = 0; i < 4; ++i) bench.add(scalars().type("Flat"), wire);
    expect_done(&bench);
    EXPECT_EQ(bench.descriptor_counts().transactions, 4u * 8 * 2);
    EXPECT_GE(bench.host_counts().transactions, 4u * 8 * 2);
    cycles.push_back(bench.cycles_of_run());
  }
  EXPECT_GE(cycles[1] - cycles[0], 4u * 8 * 2 * 90);
}

TEST_P(DeserializerTest, TheDepthLimitIsTheCodecs) {
  for (int limit : {0, 3, 100}) {
    BenchOptions options = plain();
    options.depth_limit = limit;
    DeserializerBench bench(options);
    bench.load(*parts().type("Text").image);
    std::deque<std::string> wires(1);
    for (int level = 0; level < 104; ++level) wires.push_back(field(4, wires.back()));
    for (const std::string& wire : wires) bench.add(parts().type("Text"), wire);
    ASSERT_TRUE(bench.run());
    for (size_t i = 0; i < wires.size(); ++i) {
      EXPECT_EQ(bench.outcomes()[i].difference, "") << i;
      EXPECT_EQ(bench.outcomes()[i].record.kind, static_cast<int>(i) <= limit ? RecordKind::kDone : RecordKind::kError);
    }
  }
}

TEST_P(DeserializerTest, TheDecodersFuzzingCorpus) {
  Tally tally;
  std::deque<std::string> wires;
  const testing::TestSchema* const schemas[] = {&testing::every_schema(), &testing::implicit_schema()};
  for (const auto* schema : schemas) {
    bool implicit = schema == schemas[1];
    DeserializerBench bench(stalled(77, eager()));
    bench.load(*schema->type(implicit ? "t3.Implicit" : "t.Every").image);
    for (const auto& entry : std::filesystem::directory_iterator(DROVER_DECODE_CORPUS)) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      wires.push_back(bytes.substr(std::min<size_t>(1, bytes.size())));
      bench.add(schema->type(implicit ? "t3.Implicit" : "t.Every"), wires.back());
      if (!implicit) bench.add(schema->type("t.Maps"), wires.back());
    }
    ASSERT_TRUE(bench.run());
    for (const Outcome& outcome : bench.outcomes()) EXPECT_EQ(outcome.difference, "");
    tally.add(bench);
  }
  tally.print("decode_fuzz corpus");
  tally.expect_software_at_most(36);
  EXPECT_GT(tally.messages, 300u);
}

// ---- keys of maps

const TestSchema& maps() {
  static const TestSchema schema(parse_proto(R"(
      syntax = "proto3";
      message Maps {
        map<string, int32> s = 1; map<int32, int32> i = 2; map<int64, int32> l = 3; map<sint64, bool> z = 4;
        map<bool, int32> b = 5; map<fixed64, int32> f = 6;
      })"));
  return schema;
}
std::string text_entry(std::string_view key) { return field(1, field(1, key) + "\x10\x07"); }
std::string entry(uint32_t number, std::string_view key) {
  return field(number, "\x08" + std::string(key) + "\x10\x01");
}

// Keys as people make them: none of these is taken for another.
TEST_P(DeserializerTest, MapsOfUsualKeysAreDoneInHardware) {
  DeserializerBench bench(stalled(3, eager()));
  schema::MessageType type = maps().type("Maps");
  bench.load(*type.image);
  std::deque<std::string> wires;
  for (int count : {2, 10, 80, 200}) {
    std::vector<std::string> kinds(11);
    for (int i = 0; i < count; ++i) {
      char key[256];
      auto text = [&](size_t kind, const char* format, auto... values) {
        std::snprintf(key, sizeof key, format, values...);
        kinds[kind] += text_entry(key);
      };
      text(0, "key%05d", i);
      text(1, "user-%d", i);
      text(2, "%019d", i * 77);
      text(3, "/var/lib/service/%d/data-%d.json", i % 7, i);
      text(4, "host-%03d.rack-%02d.example.com:8080", i, i % 20);
      text(5, "%08x-%04x-4000-8000-%012x", i * 2654435761u, i % 65536, i);
      text(6, "%0100d/%d/%0100d", i % 3, i, i % 5);
      auto value = static_cast<uint64_t>(i);
      kinds[7] += entry(2, varint(value)) + entry(2, varint(~value));
      kinds[8] += entry(3, varint(value << 32));
      kinds[9] += entry(4, varint(value * 4096));
      kinds[10] += entry(3, varint(~value * 1000));
    }
    for (const std::string& kind : kinds) {
      if (kind.size() < 12000) wires.push_back(kind);
    }
  }
  wires.push_back(field(5, std::string("\x08\x00", 2)) + field(5, std::string("\x08\x01", 2)));
  for (const std::string& wire : wires) bench.add(type, wire);
  expect_done(&bench);
}

// The bound of docs/rtl.md, from below: only what differs by a multiple of the fingerprints' polynomial is the same.
TEST_P(DeserializerTest, KeysWithTheSameFingerprintAreLeftToSoftware) {
  DeserializerBench bench(plain());
  schema::MessageType type = maps().type("Maps");
  bench.load(*type.image);
  struct Pair {
    std::string one, other;
    bool same;
  };
  const Pair pairs[] = {
      {"key", "key", true},
      {"key", "kez", false},
      {"", "a", false},
      {"12345678", "12345679", false},
      {"0123456789", "0123456798", false},
      {"aBCDEFGH0", "zBCDEFGH1", true},  // x^64 + x^4 + x^3 + x + 1
      {"aBCDEFGH0", "zBCDEFGH2", false},
      {std::string("a\0", 2), "a", true},  // NULs at the end do not count
      {std::string("\0a", 2), "a", false},
      {std::string(300, 'x') + "1", std::string(300, 'x') + "2", false},
      {std::string(300, 'x'), std::string(300, 'x'), true},
  };
  std::deque<std::string> wires;
  for (const Pair& pair : pairs) wires.push_back(text_entry(pair.one) + text_entry(pair.other));
  wires.push_back(entry(2, varint(5)) + entry(2, varint(uint64_t{5} | uint64_t{1} << 40)));  // an int32 each: the same
  for (const std::string& wire : wires) bench.add(type, wire);
  ASSERT_TRUE(bench.run());
  for (size_t i = 0; i < wires.size(); ++i) {
    const Outcome& outcome = bench.outcomes()[i];
    bool same = i == std::size(pairs) || pairs[i].same;
    EXPECT_EQ(outcome.difference, "") << i;
    EXPECT_EQ(outcome.record.kind, same ? RecordKind::kSoftware : RecordKind::kDone) << i;
    if (same) EXPECT_STREQ(left_to_software_reason(outcome.record.code), "map_entries");
  }
}

// ---- generated messages

TEST_P(DeserializerTest, WorkloadWithTheShapeOfHyperProtoBench) {
  workload::WorkloadResult made = workload::hyperproto_like();
  ASSERT_TRUE(made.ok());
  Tally tally;
  for (size_t group = 0; group < made.workload.groups.size(); ++group) {
    DeserializerBench bench(plain());
    bench.load(made.workload.groups[group].image.image());
    for (const auto& message : made.workload.messages) {
      if (message.group == group) bench.add(message.type, message.wire);
    }
    ASSERT_TRUE(bench.run()) << made.workload.groups[group].name;
    for (const Outcome& outcome : bench.outcomes()) EXPECT_EQ(outcome.difference, "");
    tally.add(bench);
  }
  tally.print("hyperproto-like");
  tally.expect_software_at_most(0);
  EXPECT_EQ(tally.errors, 0u);
  EXPECT_EQ(tally.done, tally.messages);
}

void random_round(uint64_t seed, const workload::MessageOptions& message_options, bool one_shot, bool mutate,
                  bool eager, Tally* tally) {
  workload::SchemaOptions schema_options;
  TestSchema schema(workload::random_schema(seed, schema_options));
  std::vector<std::string> names = workload::message_names(schema.files());
  BenchOptions options = stalled(seed, eager);
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

// DROVER_RTL_ROUNDS=20 in the environment: twenty times as many schemas, from other seeds. Of 1,000 messages, at most
// `software` may be left to software.
void random_rounds(uint64_t first, uint64_t count, const workload::MessageOptions& options, bool one_shot, bool mutate,
                   bool eager, size_t software, Tally* tally) {
  const char* more = std::getenv("DROVER_RTL_ROUNDS");
  if (more != nullptr) {
    first *= 1000;
    count *= std::strtoul(more, nullptr, 10);
  }
  for (uint64_t seed = first; seed < first + count && !::testing::Test::HasFatalFailure(); ++seed) {
    random_round(seed, options, one_shot, mutate, eager, tally);
  }
  tally->expect_software_at_most(tally->messages * software / 1000);
}

TEST_P(DeserializerTest, RandomMessagesOfRandomSchemas) {
  Tally tally;
  workload::MessageOptions options;
  options.utf8 = true;
  options.max_size = 20000;
  random_rounds(1, 20, options, true, false, eager(), 0, &tally);
  tally.print("random");
  EXPECT_EQ(tally.errors, 0u);
}

TEST_P(DeserializerTest, OddFormsAndUnknownFields) {
  Tally tally;
  workload::MessageOptions options;
  options.max_size = 5000;
  options.odd_permille = 50;
  options.unknown_permille = 200;
  random_rounds(101, 40, options, true, false, eager(), 439, &tally);
  tally.print("odd");
  EXPECT_EQ(tally.errors, 0u);
}

TEST_P(DeserializerTest, FieldByField) {
  Tally tally;
  workload::MessageOptions options;
  options.max_size = 3000;
  random_rounds(201, 15, options, false, false, eager(), 0, &tally);
  tally.print("field by field");
}

TEST_P(DeserializerTest, MutatedMessagesFailAsInSoftware) {
  Tally tally;
  workload::MessageOptions options;
  options.max_size = 2000;
  random_rounds(301, 100, options, true, true, eager(), 115, &tally);
  tally.print("mutated");
  // The base: the hardware does all of these schemas' messages when they are whole, so that the share above is the
  // mutations' alone.
  Tally base;
  random_rounds(301, 20, options, true, false, eager(), 0, &base);
  base.print("the same, whole");
}

}  // namespace
}  // namespace drover::rtl
