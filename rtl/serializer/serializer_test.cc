// The serializer in RTL beside the software: packets are byte for byte what the encoder writes.
#include "rtl/serializer/serializer_testing.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::rtl {
namespace {

TEST(Serializer, SendsAScalar) {
  TestSchema schema(testing::parse_proto("syntax='proto2'; message M { optional int32 a = 1; }"));
  TestObject object(schema.type("M"));
  ASSERT_TRUE(object.decode(std::string("\x08\x96\x01", 3)).ok());
  SerializerBench bench({});
  std::vector<Expectation> expected;
  ASSERT_TRUE(send(bench, object, 256, &expected));
  expect_all(bench, expected, 2000);
}

TEST(Serializer, SendsTheEmptyMessageAsABeatWithoutBytes) {
  TestSchema schema(testing::parse_proto("syntax='proto2'; message M { optional int32 a = 1; }"));
  TestObject object(schema.type("M"));
  SerializerBench bench({});
  std::vector<Expectation> expected;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(bench, object, 256, &expected));
  expect_all(bench, expected, 2000);
}

TEST(Serializer, PutsAHeaderInFrontWithTheLengthInIt) {
  TestSchema schema(testing::parse_proto("syntax='proto2'; message M { optional bytes a = 1; }"));
  for (size_t size : {0u, 1u, 57u, 58u, 59u, 300u, 5000u}) {
    SCOPED_TRACE(size);
    SerializerBench bench({});
    std::vector<Expectation> expected;
    for (size_t header = 0; header <= 64; header += header < 8 ? 1 : 7) {
      TestObject object(schema.type("M"));
      std::string wire = "\x0a";
      for (size_t left = size;; left >>= 7) {
        wire.push_back(static_cast<char>((left & 0x7f) | (left >= 0x80 ? 0x80 : 0)));
        if (left < 0x80) break;
      }
      wire.append(size, 'x');
      ASSERT_TRUE(object.decode(wire).ok());
      PreserializedOutput stream = bench.room(8192);
      ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &stream).ok());
      SerializerCommand command = bench.command(stream, static_cast<uint16_t>(expected.size()));
      for (size_t i = 0; i < header; ++i) command.header.push_back(static_cast<char>(i));
      std::string packet = command.header + wire;
      if (header >= 5) {
        command.length_format = header % 2 == 0 ? LengthFormat::kBigEndian : LengthFormat::kLittleEndian;
        command.length_at = static_cast<uint8_t>(header - 5);
        for (size_t i = 0; i < 4; ++i) {
          size_t shift = 8 * (header % 2 == 0 ? 3 - i : i);
          packet[header - 5 + i] = static_cast<char>(wire.size() >> shift);
        }
      }
      bench.send(command);
      expected.push_back({packet});
    }
    expect_all(bench, expected, 100000);
  }
}

class RandomSchemas : public ::testing::TestWithParam<int> {};

TEST_P(RandomSchemas, AreSerializedAsTheEncoderDoes) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  TestSchema schema(workload::random_schema(seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench bench(stalled(seed, GetParam() % 3 == 0 ? 0 : GetParam() % 3 == 1 ? 60 : 160));
  std::vector<Expectation> expected;
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    TestObject object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions options;
    options.max_size = 20000;
    options.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    size_t thresholds[] = {1, 24, 256, 1 << 30};
    if (!send(bench, object, thresholds[random.index(4)], &expected)) break;
  }
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  size_t left = forgive(bench, &expected);
  EXPECT_EQ(left, 0u);
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchemas, ::testing::Range(1, 31));

TEST(Serializer, SendsHyperProtoBenchLikeMessages) {
  workload::WorkloadResult loaded = workload::hyperproto_like();
  ASSERT_TRUE(loaded.ok());
  size_t sent = 0, left = 0;
  for (uint64_t part = 0; part < 4; ++part) {
    SerializerBench::Options options = stalled(part + 1, part % 2 == 0 ? 0 : 40);
    options.host_bytes = 64 << 20;
    SerializerBench bench(options);
    std::vector<Expectation> expected;
    for (size_t i = part; i < loaded.workload.messages.size(); i += 4) {
      const workload::WorkloadMessage& message = loaded.workload.messages[i];
      if (message.wire.size() > 400000) continue;  // time
      TestObject object(message.type);
      ASSERT_TRUE(object.decode(message.wire).ok());
      ASSERT_TRUE(send(bench, object, 256, &expected));
    }
    ASSERT_TRUE(bench.run(4'000'000));
    for (const SerializerCompletion& c : bench.completions()) {
      ++sent;
      if (!left_to_software(c.error)) continue;
      ++left;
      expected[c.cookie].error = c.error;
    }
    expect_all(bench, expected, 1);
  }
  std::printf("%zu messages, of which %zu were left to software\n", sent, left);
  EXPECT_EQ(left, 0u);
}

// Fields whose bytes lie among the records, in the payload, in the engine's or the host's memory, in any order.
TEST(Serializer, TakesFieldsFromWhereverTheyLie) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SerializerBench::Options memories = stalled(seed, seed % 2 == 0 ? 80 : 0);
    memories.engine_bytes = 1 << 17;
    SerializerBench bench(memories);
    Random random(seed);
    // Bytes to refer to, below what streams are written into.
    constexpr size_t kFields = 1 << 16;
    std::span<char> engine = bench.engine().subspan(0, kFields), host = bench.host().subspan(0, kFields);
    bench.room(kFields);
    for (char& c : engine) c = static_cast<char>(random.next());
    for (char& c : host) c = static_cast<char>(random.next());
    std::vector<Expectation> expected;
    for (int round = 0; round < 40; ++round) {
      std::string records, wire, payload;
      auto slot = [&](uint64_t word) { records.append(reinterpret_cast<const char*>(&word), 8); };
      for (uint64_t i = random.below(8); i > 0; --i) {  // last first
        uint64_t longest = random.chance(300) ? 6000 : random.chance(500) ? 130 : 10;
        auto size = static_cast<uint32_t>(random.below(longest));
        bool raw = random.chance(200);
        uint64_t from = random.below(4), tag = raw ? 0 : 0x12;
        std::string bytes;
        if (from < 2) {  // the engine's memory, the host's
          uint64_t place = random.below(kFields - size);
          uint32_t op = from == 0 ? (raw ? kRecordRawEngine : kRecordEngine) : (raw ? kRecordRawHost : kRecordHost);
          slot(record_head(op, size, tag));
          slot(place);
          bytes.assign((from == 0 ? engine : host).data() + place, size);
        } else {
          for (uint32_t n = 0; n < size; ++n) bytes.push_back(static_cast<char>(random.next()));
          uint32_t op =
              from == 2 ? (raw ? kRecordRawPayload : kRecordPayload) : (raw ? kRecordRawInline : kRecordInline);
          slot(record_head(op, size, tag));
          if (from == 2) payload = bytes + payload;
          if (from == 3) records.append(bytes).append((8 - size % 8) % 8, '\0');
        }
        wire = (raw ? bytes : length_prefixed('\x12', bytes)) + wire;
        slot(record_head(kRecordInt32, 5, 0x08));
        wire = std::string("\x08\x05") + wire;
      }
      slot(0);
      // Payload that no record uses stands in front of what they do.
      if (random.chance(200)) payload = std::string(random.below(300), 'u') + payload;
      PreserializedOutput stream = bench.room(records.size() + payload.size());
      ASSERT_NE(stream.buffer, nullptr);
      std::memcpy(stream.buffer, records.data(), records.size());
      std::memcpy(stream.buffer + stream.buffer_size - payload.size(), payload.data(), payload.size());
      stream.record_bytes = records.size();
      stream.payload_bytes = payload.size();
      SerializerCommand command = bench.command(stream, static_cast<uint16_t>(expected.size()));
      if (random.chance(500)) bench.push(&command, kFields);
      bench.send(command);
      expected.push_back({wire});
    }
    expect_all(bench, expected);
  }
}

// Objects in the host's memory, by every way that there is: streams that copy, streams that refer to the object, either
// of them pushed, and the object itself.
class EveryWay : public ::testing::TestWithParam<int> {};

TEST_P(EveryWay, AreSerializedAsTheEncoderDoes) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  TestSchema schema(workload::random_schema(3000 + seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench::Options memories = stalled(seed, static_cast<uint32_t>(seed % 3 * 60));
  memories.engine_bytes = 1 << 20;
  SerializerBench bench(memories);
  bench.load(*schema.type(names[0]).image);
  std::vector<Expectation> expected;
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    TestObject object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions content;
    content.max_size = 9000;
    content.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), content, object.get(), *object.arena()).ok());
    if (random.chance(200)) {
      if (walk(bench, object, &expected) == nullptr) break;
      continue;
    }
    Message* copy = place(bench, object);
    if (copy == nullptr) break;
    PreserializeOptions how;
    const size_t thresholds[] = {1, 24, 256, 1 << 30};
    how.payload_threshold = thresholds[random.index(4)];
    how.host = {reinterpret_cast<uintptr_t>(bench.host().data()), random.chance(700) ? bench.host().size() : 0};
    how.reference_from = thresholds[random.index(4)];
    std::string wire = object.encode();
    PreserializedOutput stream = bench.room(wire.size() * 9 + 4096);
    if (stream.buffer == nullptr) break;
    ASSERT_TRUE(preserialize(object.type(), copy, how, &stream).ok());
    SerializerCommand command = bench.command(stream, static_cast<uint16_t>(expected.size()));
    if (random.chance(500)) bench.push(&command);
    bench.send(command);
    expected.push_back({wire});
  }
  EXPECT_GT(expected.size(), 10u);
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  size_t left = forgive(bench, &expected);
  EXPECT_EQ(left, 0u);
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, EveryWay, ::testing::Range(1, 31));

// ---- what is left to software, and what goes wrong outside

TEST(Serializer, LeavesToSoftwareWhatDoesNotFitIntoItsMemories) {
  expect_left(many_strings(300, 250), 256, SerializerError::kLeftArena, false);
  expect_left(many_strings(1025, 8), 1, SerializerError::kLeftPieces, false);
  expect_left(nested(65), 256, SerializerError::kLeftDepth, false);
}
TEST(Serializer, TakesTheLargestThatFits) {
  std::vector<Expectation> expected;
  SerializerBench bench(stalled(9, 20));
  // 65,471 bytes of the arena, the header's 64 apart; 1,024 pieces; 64 levels.
  for (int round = 0; round < 3; ++round) {
    for (const auto& [wire, threshold] :
         {std::pair<std::string, size_t>{many_strings(258, 250) + length_prefixed('\x12', std::string(194, 'x')), 256},
          {many_strings(1024, 8), 1},
          {nested(64), 256}}) {
      TestObject object(node_schema().type("Node"));
      ASSERT_TRUE(object.decode(wire).ok());
      ASSERT_TRUE(send(bench, object, threshold, &expected));
    }
  }
  expect_all(bench, expected);
}

TEST(Serializer, AMessageOfAMegabyteGoesOutInOnePacket) {
  SerializerBench bench(stalled(4, 0));
  std::vector<Expectation> expected;
  TestObject object(node_schema().type("Node"));
  ASSERT_TRUE(object.decode(many_strings(17, 65536) + "\x18\x05").ok());
  ASSERT_TRUE(object.encode().size() > 1 << 20);
  PreserializedOutput stream = bench.room((1 << 20) + (1 << 18));
  ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &stream).ok());
  bench.send(bench.command(stream, 0));
  expected.push_back({object.encode()});
  expect_all(bench, expected);
}

}  // namespace
}  // namespace drover::rtl
