// The serializer's ports when the other side breaks the protocol, and the serializer itself when it is reset or powered
// up with whatever its registers hold: each message ends in its bytes or in a named error, and no other is touched.
#include <array>

#include "rtl/serializer/serializer_testing.h"
#include "rtl/testing/read_faults.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::rtl {
namespace {

// ---- answers to reads

// What a read may be for; each is another reader, another memory or another part of the message.
enum class ReadOf { kRecords, kPushedRecords, kPayload, kHostReference, kEngineReference, kObject, kRun, kFarString };
constexpr ReadOf kReads[] = {ReadOf::kRecords,         ReadOf::kPushedRecords, ReadOf::kPayload, ReadOf::kHostReference,
                             ReadOf::kEngineReference, ReadOf::kObject,        ReadOf::kRun,     ReadOf::kFarString};

class BrokenAnswers : public ::testing::TestWithParam<std::tuple<ReadOf, ReadFault>> {};

// A message whose reads of that kind are broken, between two that are not.
TEST_P(BrokenAnswers, EndInABusErrorOfTheirMessageAlone) {
  const auto [read, fault] = GetParam();
  for (uint32_t stalls : {0u, 60u}) {
    SerializerBench::Options options = stalled(stalls + 1, stalls);
    options.engine_bytes = 1 << 17;
    SerializerBench bench(options);
    bench.load(*node_schema().type("Node").image);
    ReadFaults host(DROVER_AXI_READ_PORT(bench.top(), host)), engine(DROVER_AXI_READ_PORT(bench.top(), engine));
    bench.add(&host);
    bench.add(&engine);
    constexpr size_t kEngineBytes = 5000;
    for (size_t i = 0; i < kEngineBytes; ++i) bench.engine()[i] = static_cast<char>(i * 11);
    std::vector<Expectation> expected;
    for (bool breaks : {false, true, false, true, false}) {
      TestObject object(node_schema().type("Node"));
      // Short strings, so that records and object have several lines; a long one for payload and references.
      ASSERT_TRUE(object.decode(many_strings(20, 40) + many_strings(1, 3000)).ok());
      auto cookie = static_cast<uint16_t>(expected.size());
      Message* copy = place(bench, object);
      ASSERT_NE(copy, nullptr);
      uint64_t object_at =
          SerializerBench::kHostBase + static_cast<uint64_t>(copy->drover_bytes() - bench.host().data());
      uint64_t object_bytes = message::linearized_size(object.type(), *object.get());
      std::string wire = object.encode();
      SerializerCommand command;
      uint64_t at = object_at, bytes = object_bytes;  // where the reads to be broken lie
      ReadFaults* port = &host;
      if (read == ReadOf::kObject || read == ReadOf::kRun || read == ReadOf::kFarString) {
        command.walk = true;
        command.message = static_cast<uint16_t>(object.type().index);
        command.records = object_at;
        if (read == ReadOf::kRun) command.record_bytes = static_cast<uint32_t>(object_bytes);
        if (read == ReadOf::kObject) bytes = 3000;  // in front of the long string
        if (read == ReadOf::kFarString) at += bytes - 2048, bytes = 2048;
      } else {
        PreserializeOptions how;
        if (read == ReadOf::kHostReference) {
          how.host = {reinterpret_cast<uintptr_t>(bench.host().data()), bench.host().size()};
          how.reference_from = 1000;
        }
        PreserializedOutput stream = bench.room(wire.size() * 9 + 4096);
        ASSERT_NE(stream.buffer, nullptr);
        if (read == ReadOf::kEngineReference) {
          uint64_t words[3] = {record_head(kRecordEngine, kEngineBytes, 0x12), 0, 0};
          std::memcpy(stream.buffer, words, sizeof(words));
          stream.record_bytes = sizeof(words);
          stream.payload_bytes = 0;
          wire = length_prefixed('\x12', std::string(bench.engine().data(), kEngineBytes));
        } else {
          ASSERT_TRUE(preserialize(object.type(), copy, how, &stream).ok());
        }
        command = bench.command(stream, cookie);
        if (read == ReadOf::kPushedRecords) ASSERT_TRUE(bench.push(&command, kEngineBytes));
        if (read == ReadOf::kRecords || read == ReadOf::kPushedRecords) {
          at = command.records, bytes = command.record_bytes;
        } else if (read == ReadOf::kPayload) {
          at = command.payload, bytes = command.payload_bytes;
        }
        if (command.pushed) port = &engine;
        if (read == ReadOf::kEngineReference) {
          // All refer to the same bytes, so the broken one takes a run that starts elsewhere.
          port = &engine;
          at = SerializerBench::kEngineBase, bytes = kEngineBytes;
          if (!breaks) {
            uint64_t none = 0;
            std::memcpy(stream.buffer, &none, sizeof(none));
            command.record_bytes = sizeof(none);
            wire.clear();
          }
        }
      }
      if (breaks) {
        for (uint64_t line = at / 64 * 64; line < at + bytes; line += 64) port->at(line, fault);
      }
      command.cookie = cookie;
      bench.send(command);
      expected.push_back({wire, breaks ? SerializerError::kBus : SerializerError::kNone});
      ASSERT_NE(bytes, 0u);
    }
    expect_all(bench, expected, 100'000);
  }
}
INSTANTIATE_TEST_SUITE_P(Reads, BrokenAnswers,
                         ::testing::Combine(::testing::ValuesIn(kReads), ::testing::ValuesIn(kReadFaults)));

// Random messages by every way, some of whose lines are answered as a faulty interconnect does.
class RandomBrokenAnswers : public ::testing::TestWithParam<int> {};

TEST_P(RandomBrokenAnswers, EndInABusErrorOfTheirMessageAlone) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  TestSchema schema(workload::random_schema(4000 + seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench::Options options = stalled(seed, static_cast<uint32_t>(seed % 3 * 60));
  options.engine_bytes = 1 << 20;
  SerializerBench bench(options);
  bench.load(*schema.type(names[0]).image);
  ReadFaults host(DROVER_AXI_READ_PORT(bench.top(), host)), engine(DROVER_AXI_READ_PORT(bench.top(), engine));
  bench.add(&host);
  bench.add(&engine);
  struct Bytes {
    ReadFaults* port;
    uint64_t at, size;
  };
  std::vector<std::vector<Bytes>> own;  // what each message has in the memories
  std::vector<Expectation> expected;
  Random random(seed);
  for (int i = 0; i < 60; ++i) {
    TestObject object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions content;
    content.max_size = 5000;
    content.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), content, object.get(), *object.arena()).ok());
    Message* copy = place(bench, object);
    std::string wire = object.encode();
    PreserializedOutput stream = bench.room(wire.size() * 9 + 4096);
    if (copy == nullptr || stream.buffer == nullptr) break;
    SerializerCommand command;
    uint64_t object_at = SerializerBench::kHostBase + static_cast<uint64_t>(copy->drover_bytes() - bench.host().data());
    uint64_t object_bytes = message::linearized_size(object.type(), *object.get());
    own.push_back({{&host, object_at, object_bytes}});
    if (random.chance(400)) {
      command.walk = true;
      command.message = static_cast<uint16_t>(object.type().index);
      command.records = object_at;
      if (random.chance(500)) command.record_bytes = static_cast<uint32_t>(object_bytes);
    } else {
      PreserializeOptions how;
      how.payload_threshold = random.chance(500) ? 24 : 256;
      how.host = {reinterpret_cast<uintptr_t>(bench.host().data()), random.chance(500) ? bench.host().size() : 0};
      how.reference_from = 64;
      ASSERT_TRUE(preserialize(object.type(), copy, how, &stream).ok());
      command = bench.command(stream, 0);
      own.back().push_back({&host, command.payload, command.payload_bytes});
      bool pushed = random.chance(500) && bench.push(&command);
      own.back().push_back({pushed ? &engine : &host, command.records, command.record_bytes});
    }
    command.cookie = static_cast<uint16_t>(expected.size());
    for (const Bytes& part : own.back()) {
      if (part.size == 0 || !random.chance(300)) continue;
      part.port->at(part.at + random.below(part.size), kReadFaults[random.index(std::size(kReadFaults))]);
    }
    bench.send(command);
    expected.push_back({wire});
  }
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  EXPECT_EQ(forgive(bench, &expected), 0u);
  for (const SerializerCompletion& c : bench.completions()) {
    if (c.error != SerializerError::kBus) continue;
    bool hit = false;
    for (const Bytes& part : own[c.cookie]) hit = hit || (part.size != 0 && part.port->hit(part.at, part.size));
    EXPECT_TRUE(hit) << "message " << c.cookie << " failed, and no answer to it was broken";
    if (hit) expected[c.cookie].error = SerializerError::kBus;
  }
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomBrokenAnswers, ::testing::Range(1, 41));

TEST(SerializerPorts, TakeNoNoticeOfBeatsThatAnswerNothing) {
  SerializerBench bench(stalled(5, 30));
  bench.load(*node_schema().type("Node").image);
  ReadFaults host(DROVER_AXI_READ_PORT(bench.top(), host)), engine(DROVER_AXI_READ_PORT(bench.top(), engine));
  bench.add(&host);
  bench.add(&engine);
  host.answer_nothing(true);
  engine.answer_nothing(true);
  std::vector<Expectation> expected;
  TestObject object(node_schema().type("Node"));
  ASSERT_TRUE(object.decode(many_strings(3, 300)).ok());
  for (int i = 0; i < 6; ++i) {
    bench.step(500);
    ASSERT_TRUE(i % 2 == 0 ? send(bench, object, 256, &expected) : walk(bench, object, &expected) != nullptr);
    bench.step(500);
  }
  EXPECT_GT(host.beats_for_nothing(), 1000u);
  EXPECT_GT(engine.beats_for_nothing(), 1000u);
  expect_all(bench, expected, 20'000);
}

// ---- commands

// Sends commands that are refused, between messages that are not.
class Refusals {
 public:
  Refusals() : bench_(stalled(6, 30)), object_(node_schema().type("Node")) {
    bench_.load(*node_schema().type("Node").image);
    EXPECT_TRUE(object_.decode(many_strings(2, 300)).ok());
    EXPECT_TRUE(send(bench_, object_, 256, &expected_));
  }
  SerializerCommand stream() {
    PreserializedOutput out = bench_.room(8192);
    EXPECT_TRUE(preserialize(object_.type(), object_.get(), {}, &out).ok());
    return bench_.command(out, 0);
  }
  SerializerCommand object() {
    SerializerCommand command;
    command.walk = true;
    command.message = static_cast<uint16_t>(object_.type().index);
    command.records = SerializerBench::kHostBase +
                      static_cast<uint64_t>(place(bench_, object_)->drover_bytes() - bench_.host().data());
    return command;
  }
  void refuse(SerializerCommand command, SerializerError error) {
    command.cookie = static_cast<uint16_t>(expected_.size());
    bench_.send(command);
    expected_.push_back({"", error});
    EXPECT_TRUE(send(bench_, object_, 256, &expected_));
    EXPECT_NE(walk(bench_, object_, &expected_), nullptr);
  }
  void expect() { expect_all(bench_, expected_, 100'000); }

 private:
  SerializerBench bench_;
  TestObject object_;
  std::vector<Expectation> expected_;
};

TEST(SerializerPorts, RefuseAnUnknownMessageType) {
  Refusals refusals;
  uint32_t count = node_schema().type("Node").image->message_count();
  for (uint32_t index : {count, count + 1, 0x7fffu, 0xffffu}) {
    SerializerCommand command = refusals.object();
    command.message = static_cast<uint16_t>(index);
    refusals.refuse(command, SerializerError::kBadCommand);
    command.record_bytes = 64;
    refusals.refuse(command, SerializerError::kBadCommand);
  }
  refusals.expect();
}

TEST(SerializerPorts, RefuseAHeaderThatIsTooLongAndALengthOutsideIt) {
  Refusals refusals;
  for (bool walks : {false, true}) {
    SerializerCommand plain = walks ? refusals.object() : refusals.stream();
    SerializerCommand command = plain;
    command.header_size = 65;
    refusals.refuse(command, SerializerError::kBadCommand);
    command.header_size = 127;
    refusals.refuse(command, SerializerError::kBadCommand);
    command = plain;
    command.header = std::string(8, 'h');
    command.length_format = static_cast<decltype(command.length_format)>(3);
    refusals.refuse(command, SerializerError::kBadCommand);
    command.length_format = static_cast<decltype(command.length_format)>(1);
    command.length_at = 5;
    refusals.refuse(command, SerializerError::kBadCommand);
    command.length_at = 63;
    refusals.refuse(command, SerializerError::kBadCommand);
    command.header.clear();
    command.length_at = 0;
    refusals.refuse(command, SerializerError::kBadCommand);
  }
  refusals.expect();
}

TEST(SerializerPorts, RefuseAnObjectThatIsMisalignedOrOutsideTheRegion) {
  Refusals refusals;
  SerializerCommand command = refusals.object();
  const uint64_t good = command.records, limit = SerializerBench::kHostBase + (4 << 20);
  for (uint64_t offset = 1; offset < 8; ++offset) {
    command.records = good + offset;
    refusals.refuse(command, SerializerError::kMisaligned);
  }
  for (uint64_t at : {limit, limit - 8, SerializerBench::kHostBase - 8, uint64_t{0}, ~uint64_t{7}}) {
    command.records = at;
    refusals.refuse(command, SerializerError::kOutOfBounds);
  }
  refusals.expect();
}

// ---- reset and power-up

TEST(SerializerPorts, AResetInTheMiddleOfTrafficLeavesNothingBehind) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SerializerBench::Options options = stalled(seed, static_cast<uint32_t>(seed % 3 * 40));
    options.engine_bytes = 1 << 18;
    SerializerBench bench(options);
    bench.load(*node_schema().type("Node").image);
    Random random(seed);
    std::vector<Expectation> expected;
    for (int round = 0; round < 4; ++round) {
      expected.clear();
      for (int i = 0; i < 24; ++i) {
        TestObject object(node_schema().type("Node"));
        std::string wire = many_strings(1 + random.below(30), 1 + random.below(400)) + nested(random.below(10));
        ASSERT_TRUE(object.decode(wire).ok());
        auto run = static_cast<uint32_t>(random.chance(500) ? 1000 : 0);
        if (random.chance(500)) {
          ASSERT_NE(walk(bench, object, &expected, run), nullptr);
        } else {
          ASSERT_TRUE(send(bench, object, random.chance(500) ? 256 : 16, &expected));
        }
      }
      if (round == 3) break;
      bench.step(20 + random.below(1500));
      EXPECT_LT(bench.completions().size(), expected.size()) << "nothing was under way";
      bench.reset();
      bench.step(1 + random.below(20));
      EXPECT_EQ(bench.completions().size() + bench.packets().packets(), 0u);
    }
    expect_all(bench, expected, 200'000);
  }
}

// Other tests power up at random, too (`stalled`); here each seed's messages are the same.
TEST(SerializerPorts, DoTheSameWhateverRegistersAndMemoriesPowerUpWith) {
  std::vector<std::vector<uint64_t>> cycles;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SerializerBench::Options options = stalled(9, 40);
    options.power_up_seed = seed;
    SerializerBench bench(options);
    bench.load(*node_schema().type("Node").image);
    std::vector<Expectation> expected;
    for (const std::string& wire : {nested(5), many_strings(40, 30), many_strings(3, 700), std::string()}) {
      TestObject object(node_schema().type("Node"));
      ASSERT_TRUE(object.decode(wire).ok());
      ASSERT_TRUE(send(bench, object, 256, &expected));
      ASSERT_NE(walk(bench, object, &expected), nullptr);
      ASSERT_NE(walk(bench, object, &expected, 4000), nullptr);
    }
    expect_all(bench, expected, 200'000);
    cycles.emplace_back();
    for (const SerializerCompletion& c : bench.completions()) cycles.back().push_back(c.cycle);
  }
  for (const std::vector<uint64_t>& each : cycles) EXPECT_EQ(each, cycles[0]);
}

}  // namespace
}  // namespace drover::rtl
