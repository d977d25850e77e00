// Streams that are no streams end in the error that the software's reader names, and in nothing else; commands and
// memories that lead astray in an error record.
#include "rtl/serializer/serializer_testing.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::rtl {
namespace {

// Streams of random records, damaged ones among them: the software's reader is the judge.
class HostileStreams : public ::testing::TestWithParam<int> {};

std::string random_records(Random& random) {
  std::string records;
  auto slot = [&](uint64_t word) { records.append(reinterpret_cast<const char*>(&word), 8); };
  uint64_t depth = 0;
  for (uint64_t n = random.below(40); n > 0; --n) {
    uint64_t op = random.below(14);
    if (random.chance(100)) op = 32 + random.below(10);
    if (random.chance(15)) op = random.below(128);
    if (op == kRecordEnd && !random.chance(50)) continue;
    if (op == kRecordClose) ++depth;
    if (op == kRecordOpen && depth == 0 && !random.chance(50)) continue;
    if (op == kRecordOpen && depth > 0) --depth;
    uint64_t value = random.next() >> random.below(64);
    if (op == kRecordInlineUtf8 || op == kRecordInline || op >= kRecordPayload) {
      value = random.chance(30) ? random.next() : random.below(90);
    }
    uint64_t tag = random.next() & 0xffff, flag = random.below(2);
    if (random.chance(200)) tag = 0;
    if (op == kRecordElements) tag = random.below(random.chance(100) ? 20 : 10);
    slot(record_head(op, value, tag, flag != 0));
    bool body = op == kRecordInlineUtf8 || op == kRecordInline || op == kRecordRawInline;
    if (body || op == kRecordElements) {
      if (flag != 0 && tag == 0 && op != kRecordElements && op != kRecordRawInline) slot(random.next());
      uint64_t slots = ((value & 0xffffffff) + 7) / 8;
      if (op == kRecordElements) slots = tag == 3 || tag == 6 || tag == 8 ? value : (value + 1) / 2;
      for (uint64_t i = 0; i < slots && i < 100; ++i) slot(random.next() >> random.below(64));
    } else if (random.chance(900)) {
      if (flag != 0 && tag == 0) slot(random.next());
      if (op == kRecordVarint64 || op == kRecordSint64 || op == kRecordFixed64) slot(random.next() >> random.below(64));
      if (op == kRecordEngine || op == kRecordRawEngine || op == kRecordHost || op == kRecordRawHost) {
        slot(random.chance(900) ? random.below(60000) : random.next());
      }
    }
  }
  while (depth-- > 0 && random.chance(950)) slot(record_head(kRecordOpen, 0, 0x0a));
  if (random.chance(950)) slot(0);
  return records;
}

// Streams that lie in the bench's memories. What is expected of them is known only when all are there: they may refer
// to each other's bytes.
struct Streams {
  std::vector<PreserializedOutput> streams;
  std::vector<SerializerCommand> commands;
  std::vector<Expectation> expected;

  // Some are pushed.
  void add(SerializerBench& bench, Random& random, const PreserializedOutput& stream) {
    streams.push_back(stream);
    commands.push_back(bench.command(stream, static_cast<uint16_t>(commands.size())));
    if (random.chance(400)) bench.push(&commands.back());
  }
  // Gives how many are streams.
  size_t send(SerializerBench& bench) {
    size_t fine = 0;
    for (size_t i = 0; i < streams.size(); ++i) {
      Expectation what;
      StreamError error = finish_preserialized({streams[i].buffer, streams[i].record_bytes},
                                               {streams[i].payload(), streams[i].payload_bytes}, bench.engine(),
                                               bench.host(), &what.packet);
      what.error = static_cast<SerializerError>(error);
      if (error == StreamError::kOk) ++fine;
      bench.send(commands[i]);
      expected.push_back(what);
    }
    return fine;
  }
};

SerializerBench::Options stalled_with_engine(uint64_t seed, uint32_t of_256) {
  SerializerBench::Options options = stalled(seed, of_256);
  options.engine_bytes = 1 << 18;
  return options;
}

TEST_P(HostileStreams, EndAsTheSoftwareSays) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  SerializerBench bench(stalled_with_engine(seed, GetParam() % 2 == 0 ? 0 : 60));
  Random random(seed);
  for (char& c : bench.engine()) c = static_cast<char>(random.next());
  Streams all;
  for (int i = 0; i < 300; ++i) {
    std::string records = random_records(random), payload(random.below(200), 'p');
    PreserializedOutput stream = bench.room(records.size() + payload.size() + 64);
    if (stream.buffer == nullptr) break;
    std::memcpy(stream.buffer, records.data(), records.size());
    std::memcpy(stream.buffer + stream.buffer_size - payload.size(), payload.data(), payload.size());
    stream.record_bytes = records.size();
    stream.payload_bytes = payload.size();
    all.add(bench, random, stream);
  }
  size_t fine = all.send(bench);
  EXPECT_GT(fine, 50u);
  EXPECT_LT(fine, 290u);
  expect_all(bench, all.expected);
}
INSTANTIATE_TEST_SUITE_P(Seeds, HostileStreams, ::testing::Range(1, 101));

// Streams of real messages with a few bytes changed, or cut.
class DamagedStreams : public ::testing::TestWithParam<int> {};

TEST_P(DamagedStreams, EndAsTheSoftwareSays) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  TestSchema schema(workload::random_schema(2000 + seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench bench(stalled_with_engine(seed, static_cast<uint32_t>(GetParam() % 3 * 50)));
  Random random(seed);
  for (char& c : bench.engine()) c = static_cast<char>(random.next());
  Streams all;
  for (int i = 0; i < 60; ++i) {
    TestObject object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions options;
    options.max_size = 1500;
    options.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    PreserializedOutput stream = bench.room(object.encode().size() * 9 + 1024);
    if (stream.buffer == nullptr) break;
    PreserializeOptions how;
    how.payload_threshold = random.chance(500) ? 16 : 256;
    ASSERT_TRUE(preserialize(object.type(), object.get(), how, &stream).ok());
    for (uint64_t n = random.below(3); n > 0; --n) {
      char* at = stream.buffer + random.below(stream.record_bytes);
      *at = static_cast<char>(random.chance(500) ? random.next() : *at ^ (1 << random.below(8)));
    }
    if (random.chance(200)) stream.record_bytes = random.below(stream.record_bytes + 1);
    if (random.chance(100)) stream.payload_bytes /= 2;
    all.add(bench, random, stream);
  }
  all.send(bench);
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << all.expected.size();
  forgive(bench, &all.expected);
  expect_all(bench, all.expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, DamagedStreams, ::testing::Range(1, 41));

// ---- what goes wrong outside

// Behind what the memories have, reads fail, though the serializer's limits allow them.
TEST(Serializer, AReadThatFailsEndsTheMessagesThatItWasForAndNoOther) {
  const uint64_t host_end = SerializerBench::kHostBase + (1 << 20),
                 engine_end = SerializerBench::kEngineBase + (1 << 16);
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SerializerBench::Options options = stalled(seed, seed % 3 * 60);
    options.host_bytes = 1 << 20;
    SerializerBench bench(options);
    bench.top().host_limit_i = host_end + 65536;
    bench.top().engine_size_i = (1 << 16) + 65536;
    bench.run(0);  // limits take effect a cycle later
    bench.load(*node_schema().type("Node").image);
    Random random(seed);
    std::vector<Expectation> expected;
    TestObject object(node_schema().type("Node"));
    ASSERT_TRUE(object.decode(many_strings(2, 700) + "\x18\x05").ok());
    for (int i = 0; i < 40; ++i) {
      auto cookie = static_cast<uint16_t>(expected.size());
      if (random.chance(300)) {
        ASSERT_NE(walk(bench, object, &expected), nullptr);
        continue;
      }
      PreserializedOutput stream = bench.room(4096);
      PreserializeOptions how;
      how.payload_threshold = random.chance(500) ? 256 : 1024;
      ASSERT_TRUE(preserialize(object.type(), object.get(), how, &stream).ok());
      SerializerCommand command = bench.command(stream, cookie);
      if (random.chance(300)) ASSERT_TRUE(bench.push(&command));
      expected.push_back({object.encode()});
      // Half of them are led astray, wholly or from some byte on.
      uint64_t which = random.below(10);
      if (which < 5) expected.back().error = SerializerError::kBus;
      if (which == 0) {
        command.walk = true;
        command.message = static_cast<uint16_t>(object.type().index);
        command.records = host_end;
      } else if (which == 1) {
        command.records = command.pushed ? engine_end : host_end;
      } else if (which == 2) {
        command.payload = host_end - random.below(command.payload_bytes != 0 ? command.payload_bytes : 1);
        if (command.payload_bytes == 0) expected.back().error = SerializerError::kNone;
      } else if (which <= 4) {  // a reference
        bool engine = which == 3;
        uint64_t word[3] = {record_head(engine ? kRecordEngine : kRecordHost, 700, 0x12),
                            (engine ? 1 << 16 : 1 << 20) - random.below(700), 0};
        std::memcpy(stream.buffer, word, sizeof(word));
        command = bench.command(stream, cookie);
        command.record_bytes = sizeof(word);
      }
      bench.send(command);
    }
    expect_all(bench, expected, 2'000'000, true);
  }
}

TEST(Serializer, SaysSoonWhatIsWrong) {
  Random random(77);
  for (int i = 0; i < 200; ++i) {
    SerializerBench bench({.host = {.latency = 1}, .engine = {.latency = 1}, .host_bytes = 1 << 16});
    std::string records = random_records(random);
    PreserializedOutput stream = bench.room(records.size());
    std::memcpy(stream.buffer, records.data(), records.size());
    stream.record_bytes = records.size();
    bench.send(bench.command(stream, 0));
    ASSERT_TRUE(bench.run(10000));
    if (bench.completions()[0].error == SerializerError::kNone) continue;
    // A cycle for each record or element before it, one for each line behind.
    uint64_t limit = records.size() / 4 + records.size() / 64 + 50;
    EXPECT_LE(bench.completions()[0].cycle - bench.first_command(), limit);
  }
}

TEST(Serializer, DoesNotWaitForALineBehindTheRecordsEnd) {
  SerializerBench bench({});
  std::vector<Expectation> expected;
  for (uint64_t last : {record_head(kRecordVarint64, 0, 0x08),  // its value is not there
                        record_head(kRecordInt32, 0, 0, true),  // nor its tag
                        record_head(kRecordEngine, 5, 0x12),    // nor its place
                        record_head(kRecordInline, 5, 0x12),    // nor its bytes
                        record_head(kRecordElements, 5, kRecordInt32)}) {
    PreserializedOutput stream = bench.room(64);
    const uint64_t number = record_head(kRecordInt32, 5, 0x08);
    for (int i = 0; i < 7; ++i) std::memcpy(stream.buffer + 8 * i, &number, 8);
    std::memcpy(stream.buffer + 56, &last, 8);
    stream.record_bytes = 64;
    bench.send(bench.command(stream, static_cast<uint16_t>(expected.size())));
    expected.push_back({"", SerializerError::kTruncated});
  }
  expect_all(bench, expected, 5000);
}

TEST(Serializer, RefusesACommandThatLeadsOutsideTheRegion) {
  SerializerBench bench({});
  uint64_t limit = SerializerBench::kHostBase + bench.host().size();
  std::vector<Expectation> expected;
  auto refuse = [&](SerializerCommand command, SerializerError error) {
    command.cookie = static_cast<uint16_t>(expected.size());
    bench.send(command);
    expected.push_back({"", error});
  };
  uint64_t base = SerializerBench::kHostBase;
  refuse({.records = limit, .record_bytes = 8, .payload = base}, SerializerError::kOutOfBounds);
  refuse({.records = limit - 64, .record_bytes = 72, .payload = base}, SerializerError::kOutOfBounds);
  refuse({.records = base - 64, .record_bytes = 64, .payload = base}, SerializerError::kOutOfBounds);
  refuse({.records = base, .record_bytes = 0xffffffff, .payload = base}, SerializerError::kOutOfBounds);
  refuse({.records = base, .record_bytes = 8, .payload = base - 1, .payload_bytes = 8}, SerializerError::kOutOfBounds);
  refuse({.records = base, .record_bytes = 8, .payload = ~uint64_t{0}, .payload_bytes = 8},
         SerializerError::kOutOfBounds);
  refuse({.records = base + 8, .record_bytes = 8, .payload = base}, SerializerError::kMisaligned);
  refuse({.records = base, .record_bytes = 0, .payload = base}, SerializerError::kTruncated);
  expect_all(bench, expected, 5000);
  EXPECT_EQ(bench.host_memory().counts().transactions, 0u);
}

TEST(Serializer, RefusesPushedRecordsOutsideTheEnginesMemory) {
  SerializerBench bench({});
  constexpr uint64_t kBase = SerializerBench::kEngineBase, kSize = 64 * 9 + 16;
  bench.top().engine_size_i = kSize;
  bench.run(0);
  std::vector<Expectation> expected;
  auto send = [&](uint64_t records, uint32_t bytes, SerializerError error, std::string packet = "") {
    SerializerCommand command;
    command.cookie = static_cast<uint16_t>(expected.size());
    command.pushed = true;
    command.records = records;
    command.record_bytes = bytes;
    command.payload = SerializerBench::kHostBase;
    bench.send(command);
    expected.push_back({std::move(packet), error});
  };
  uint64_t word = record_head(kRecordInt32, 5, 0x08);
  std::memcpy(bench.engine().data() + 64 * 9, &word, 8);  // and the end behind it
  send(kBase + 64 * 9, 16, SerializerError::kNone, std::string("\x08\x05"));
  send(kBase + 64 * 9, 17, SerializerError::kOutOfBounds);
  send(kBase + 64 * 9, 24, SerializerError::kOutOfBounds);
  send(kBase + 64 * 10, 0, SerializerError::kOutOfBounds);
  send(kBase + 64 * 10, 8, SerializerError::kOutOfBounds);
  send(kBase - 64, 64, SerializerError::kOutOfBounds);
  send(kBase, 0xffffffff, SerializerError::kOutOfBounds);
  send(SerializerBench::kHostBase, 8, SerializerError::kOutOfBounds);
  send(~uint64_t{63}, 64, SerializerError::kOutOfBounds);
  send(kBase + 8, 8, SerializerError::kMisaligned);
  send(kBase, 0, SerializerError::kTruncated);
  send(kBase, 8, SerializerError::kNone);  // an end
  expect_all(bench, expected, 5000);
  EXPECT_EQ(bench.engine_memory().counts().transactions, 2u);
  EXPECT_EQ(bench.host_memory().counts().transactions, 0u);
}

TEST(Serializer, ReferencesEndWithTheMemoryTheyReferTo) {
  constexpr uint64_t kSize = (1 << 14) + 40;
  SerializerBench bench({});
  bench.top().engine_size_i = kSize;
  bench.top().host_limit_i = SerializerBench::kHostBase + kSize;
  bench.run(0);
  for (size_t i = 0; i < bench.engine().size(); ++i) bench.engine()[i] = static_cast<char>(i * 7);
  struct Place {
    uint64_t at, size;
    bool good;
  };
  const Place places[] = {{0, 100, true},
                          {kSize - 100, 100, true},
                          {kSize - 100, 101, false},
                          {kSize - 99, 100, false},
                          {kSize, 0, true},
                          {kSize + 1, 0, false},
                          {0, kSize, true},
                          {0, kSize + 1, false},
                          {~uint64_t{0}, 1, false},
                          {~uint64_t{0}, 0, false},
                          {~uint64_t{99}, 100, false},
                          {uint64_t{1} << 32, 1, false},
                          {kSize, 1, false},
                          {kSize - 1, 1, true},
                          {1, 0xffffffff, false}};
  std::vector<PreserializedOutput> streams;
  std::vector<SerializerError> errors;
  for (const Place& place : places) {
    for (uint32_t op : {kRecordEngine, kRecordRawEngine, kRecordHost, kRecordRawHost}) {
      uint64_t words[3] = {record_head(op, place.size, 0x12), place.at, 0};
      PreserializedOutput stream = bench.room(sizeof(words));
      std::memcpy(stream.buffer, words, sizeof(words));
      stream.record_bytes = sizeof(words);
      streams.push_back(stream);
      errors.push_back(place.good ? SerializerError::kNone : SerializerError::kOutOfBounds);
    }
  }
  std::vector<Expectation> expected;
  for (size_t i = 0; i < streams.size(); ++i) {
    SerializerCommand command = bench.command(streams[i], static_cast<uint16_t>(i));
    command.payload = SerializerBench::kHostBase;
    Expectation what{"", errors[i]};
    StreamError error =
        finish_preserialized({streams[i].buffer, streams[i].record_bytes}, {}, bench.engine().subspan(0, kSize),
                             bench.host().subspan(0, kSize), &what.packet);
    EXPECT_EQ(static_cast<int>(error), static_cast<int>(errors[i])) << i;
    bench.send(command);
    expected.push_back(what);
  }
  expect_all(bench, expected);
}

}  // namespace
}  // namespace drover::rtl
