// The serializer in RTL beside the software: packets are byte for byte what the encoder writes; streams that are no
// streams end in the error that the software's reader names, and in nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "codec/encode.h"
#include "message/operations.h"
#include "rtl/serializer/serializer_bench.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/workload.h"
#include "workload/workload_testing.h"

namespace drover::rtl {
namespace {

using workload::Random;
using workload::testing::Object;
using workload::testing::PeerSchema;

std::string hex(std::string_view bytes) {
  std::string text;
  for (char c : bytes) {
    char two[4];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned char>(c));
    text += two;
  }
  return text;
}

SerializerBench::Options stalled(uint64_t seed, uint32_t of_256 = 60) {
  SerializerBench::Options options;
  options.host = {.latency = 30, .in_flight = 8, .stalls_of_256 = of_256, .seed = seed};
  options.engine = {.latency = 15, .in_flight = 4, .stalls_of_256 = of_256, .seed = seed + 5};
  options.stalls_of_256 = of_256;
  options.seed = seed;
  return options;
}

// Commands sent, and what is expected of each.
struct Expectation {
  std::string packet;
  SerializerError error = SerializerError::none;
};

void expect_all(SerializerBench& bench, const std::vector<Expectation>& expected, uint64_t cycles = 2'000'000) {
  ASSERT_TRUE(bench.run(cycles)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  EXPECT_FALSE(bench.packets().protocol_broken());
  EXPECT_EQ(bench.host_memory().counts().violations, 0u);
  EXPECT_EQ(bench.engine_memory().counts().violations, 0u);
  std::map<uint16_t, SerializerCompletion> done;
  for (const SerializerCompletion& c : bench.completions()) {
    EXPECT_TRUE(done.emplace(c.cookie, c).second) << "two completions for one command";
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const SerializerCompletion& c = done.at(static_cast<uint16_t>(i));
    ASSERT_EQ(static_cast<int>(c.error), static_cast<int>(expected[i].error)) << i;
    if (c.error != SerializerError::none) continue;
    ASSERT_EQ(c.size, expected[i].packet.size()) << i;
    ASSERT_GT(bench.packets().packets(), 0u);
    std::string packet = bench.packets().take();
    ASSERT_EQ(packet.size(), expected[i].packet.size()) << i;
    if (packet != expected[i].packet) {
      size_t at = 0;
      while (packet[at] == expected[i].packet[at]) ++at;
      FAIL() << "message " << i << " differs at byte " << at << " of " << packet.size() << ": "
             << hex(packet.substr(at, 40)) << " for " << hex(expected[i].packet.substr(at, 40));
    }
  }
  EXPECT_EQ(bench.packets().packets(), 0u);
}

// What the hardware left to software is not compared.
size_t forgive(SerializerBench& bench, std::vector<Expectation>* expected) {
  size_t left = 0;
  for (const SerializerCompletion& c : bench.completions()) {
    if (!left_to_software(c.error)) continue;
    ++left;
    (*expected)[c.cookie].error = c.error;
  }
  return left;
}

// Pre-serializes into the bench's memory, sends the command; false: the memory is full.
bool send(SerializerBench& bench, Object& object, size_t threshold, std::vector<Expectation>* expected) {
  std::string wire = object.encode();
  PreserializedOutput stream = bench.room(wire.size() * 9 + 4096);
  if (stream.buffer == nullptr) return false;
  PreserializeOptions options;
  options.payload_threshold = threshold;
  EncodeResult result = preserialize(object.type(), object.get(), options, &stream);
  EXPECT_TRUE(result.ok()) << to_string(result);
  bench.send(bench.command(stream, static_cast<uint16_t>(expected->size())));
  expected->push_back({wire});
  return true;
}

TEST(SerializerPackage, HasTheNumbersOfTheDefinitionFile) {
  std::ifstream file(DROVER_SER_PKG);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(text.empty());
  size_t count = 0;
  auto expect = [&](const std::string& name, int number) {
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, std::regex("\\bRec" + name + " += 7'd([0-9]+)"))) << name;
    EXPECT_EQ(std::stoi(found[1]), number) << name;
    ++count;
  };
#define DROVER_RECORD_OP(name, number) expect(#name, number);
#include "codec/preserialized.def"
  std::regex any("\\bRec[A-Za-z0-9]+ += 7'd");
  EXPECT_EQ(count, static_cast<size_t>(
                       std::distance(std::sregex_iterator(text.begin(), text.end(), any), std::sregex_iterator())));
}

TEST(Serializer, SendsAScalar) {
  PeerSchema schema(workload::testing::parse_proto("syntax='proto2'; message M { optional int32 a = 1; }"));
  Object object(schema.type("M"));
  ASSERT_TRUE(object.decode(std::string("\x08\x96\x01", 3)).ok());
  SerializerBench bench({});
  std::vector<Expectation> expected;
  ASSERT_TRUE(send(bench, object, 256, &expected));
  expect_all(bench, expected, 2000);
}

TEST(Serializer, SendsTheEmptyMessageAsABeatWithoutBytes) {
  PeerSchema schema(workload::testing::parse_proto("syntax='proto2'; message M { optional int32 a = 1; }"));
  Object object(schema.type("M"));
  SerializerBench bench({});
  std::vector<Expectation> expected;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(bench, object, 256, &expected));
  expect_all(bench, expected, 2000);
}

TEST(Serializer, PutsAHeaderInFrontWithTheLengthInIt) {
  PeerSchema schema(workload::testing::parse_proto("syntax='proto2'; message M { optional bytes a = 1; }"));
  for (size_t size : {0u, 1u, 57u, 58u, 59u, 300u, 5000u}) {
    SCOPED_TRACE(size);
    SerializerBench bench({});
    std::vector<Expectation> expected;
    for (size_t header = 0; header <= 64; header += header < 8 ? 1 : 7) {
      Object object(schema.type("M"));
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
        command.length_format = header % 2 == 0 ? 1 : 2;
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
  PeerSchema schema(workload::random_schema(seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench bench(stalled(seed, GetParam() % 3 == 0 ? 0 : GetParam() % 3 == 1 ? 60 : 160));
  std::vector<Expectation> expected;
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    Object object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions options;
    options.max_size = 20000;
    options.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    size_t thresholds[] = {1, 24, 256, 1 << 30};
    if (!send(bench, object, thresholds[random.index(4)], &expected)) break;
  }
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  size_t left = forgive(bench, &expected);
  EXPECT_LE(left * 5, expected.size());
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
      Object object(message.type);
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
  EXPECT_LE(left * 20, sent);
}

TEST(Serializer, TakesFieldsFromTheEnginesMemory) {
  PeerSchema schema(
      workload::testing::parse_proto("syntax='proto2'; message M { optional int32 a = 1; repeated bytes b = 2; "
                                     "repeated fixed32 c = 3 [packed=true]; }"));
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SerializerBench bench(stalled(seed, seed % 2 == 0 ? 80 : 0));
    Random random(seed);
    for (char& c : bench.engine()) c = static_cast<char>(random.next());
    std::vector<Expectation> expected;
    for (int round = 0; round < 20; ++round) {
      std::string records, wire;
      auto slot = [&](uint64_t word) { records.append(reinterpret_cast<const char*>(&word), 8); };
      for (int i = 0; i < 6; ++i) {  // last first
        uint32_t size = static_cast<uint32_t>(1 + random.below(random.chance(300) ? 6000 : 90));
        uint64_t place = random.below(bench.engine().size() - size);
        slot(0x12 | uint64_t{kRecordEngine} << 17 | uint64_t{size} << 32);
        slot(place);
        std::string field = "\x12";
        for (size_t left = size;; left >>= 7) {
          field.push_back(static_cast<char>((left & 0x7f) | (left >= 0x80 ? 0x80 : 0)));
          if (left < 0x80) break;
        }
        wire = field + std::string(bench.engine().data() + place, size) + wire;
        slot(0x08 | uint64_t{kRecordInt32} << 17 | uint64_t{5} << 32);
        wire = std::string("\x08\x05") + wire;
      }
      slot(0);
      PreserializedOutput stream = bench.room(records.size());
      std::memcpy(stream.buffer, records.data(), records.size());
      stream.record_bytes = records.size();
      bench.send(bench.command(stream, static_cast<uint16_t>(expected.size())));
      expected.push_back({wire});
    }
    expect_all(bench, expected);
  }
}

// Streams of random records, damaged ones among them: the software's reader is the judge.
class HostileStreams : public ::testing::TestWithParam<int> {};

std::string random_records(Random& random) {
  std::string records;
  auto slot = [&](uint64_t word) { records.append(reinterpret_cast<const char*>(&word), 8); };
  uint64_t depth = 0;
  for (uint64_t n = random.below(40); n > 0; --n) {
    uint64_t op = random.below(14);
    if (random.chance(100)) op = 32 + random.below(8);
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
    slot(tag | op << 17 | flag << 16 | value << 32);
    bool body = op == kRecordInlineUtf8 || op == kRecordInline || op == kRecordRawInline;
    if (body || op == kRecordElements) {
      if (flag != 0 && tag == 0 && op != kRecordElements && op != kRecordRawInline) slot(random.next());
      uint64_t slots = ((value & 0xffffffff) + 7) / 8;
      if (op == kRecordElements) slots = tag == 3 || tag == 6 || tag == 8 ? value : (value + 1) / 2;
      for (uint64_t i = 0; i < slots && i < 100; ++i) slot(random.next() >> random.below(64));
    } else if (random.chance(900)) {
      if (flag != 0 && tag == 0) slot(random.next());
      if (op == kRecordVarint64 || op == kRecordSint64 || op == kRecordFixed64) slot(random.next() >> random.below(64));
      if (op == kRecordEngine || op == kRecordRawEngine) slot(random.chance(900) ? random.below(60000) : random.next());
    }
  }
  while (depth-- > 0 && random.chance(950)) slot(0x0a | uint64_t{kRecordOpen} << 17);
  if (random.chance(950)) slot(0);
  return records;
}

TEST_P(HostileStreams, EndAsTheSoftwareSays) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  SerializerBench bench(stalled(seed, GetParam() % 2 == 0 ? 0 : 60));
  Random random(seed);
  for (char& c : bench.engine()) c = static_cast<char>(random.next());
  std::vector<Expectation> expected;
  size_t fine = 0;
  for (int i = 0; i < 300; ++i) {
    std::string records = random_records(random), payload(random.below(200), 'p');
    PreserializedOutput stream = bench.room(records.size() + payload.size() + 64);
    if (stream.buffer == nullptr) break;
    std::memcpy(stream.buffer, records.data(), records.size());
    std::memcpy(stream.buffer + stream.buffer_size - payload.size(), payload.data(), payload.size());
    stream.record_bytes = records.size();
    stream.payload_bytes = payload.size();
    Expectation what;
    StreamError error = finish_preserialized(records, payload, bench.engine(), bench.host(), &what.packet);
    what.error = static_cast<SerializerError>(error);
    if (error == StreamError::ok) ++fine;
    bench.send(bench.command(stream, static_cast<uint16_t>(expected.size())));
    expected.push_back(what);
  }
  EXPECT_GT(fine, 50u);
  EXPECT_LT(fine, 290u);
  expect_all(bench, expected);
}
INSTANTIATE_TEST_SUITE_P(Seeds, HostileStreams, ::testing::Range(1, 101));

// Streams of real messages with a few bytes changed, or cut.
class DamagedStreams : public ::testing::TestWithParam<int> {};

TEST_P(DamagedStreams, EndAsTheSoftwareSays) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  PeerSchema schema(workload::random_schema(2000 + seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench bench(stalled(seed, GetParam() % 3 * 50));
  Random random(seed);
  for (char& c : bench.engine()) c = static_cast<char>(random.next());
  std::vector<Expectation> expected;
  for (int i = 0; i < 60; ++i) {
    Object object(schema.type(names[random.index(names.size())]));
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
    Expectation what;
    StreamError error =
        finish_preserialized({stream.buffer, stream.record_bytes}, {stream.payload(), stream.payload_bytes},
                             bench.engine(), bench.host(), &what.packet);
    what.error = static_cast<SerializerError>(error);
    bench.send(bench.command(stream, static_cast<uint16_t>(expected.size())));
    expected.push_back(what);
  }
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  forgive(bench, &expected);
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, DamagedStreams, ::testing::Range(1, 41));

// ---- NIC-only: the object itself lies in host memory

// Copies the object into the bench's memory, in one piece, and sends the command; null: the memory is full.
Message* walk(SerializerBench& bench, Object& object, std::vector<Expectation>* expected) {
  size_t size = message::linearized_size(object.type(), *object.get());
  PreserializedOutput room = bench.room(size);
  if (room.buffer == nullptr) return nullptr;
  Arena arena(heap_block_source(), room.buffer, size);
  Message* copy = message::deep_copy_into(object.type(), *object.get(), &arena);
  EXPECT_TRUE(arena.only_initial_block());
  SerializerCommand command;
  command.walk = true;
  command.message = static_cast<uint16_t>(object.type().index);
  command.cookie = static_cast<uint16_t>(expected->size());
  command.records = SerializerBench::kHostBase + static_cast<uint64_t>(copy->drover_bytes() - bench.host().data());
  bench.send(command);
  expected->push_back({object.encode()});
  return copy;
}

class WalkedSchemas : public ::testing::TestWithParam<int> {};

TEST_P(WalkedSchemas, AreSerializedAsTheEncoderDoes) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  PeerSchema schema(workload::random_schema(seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  SerializerBench bench(stalled(seed, GetParam() % 3 == 0 ? 0 : GetParam() % 3 == 1 ? 60 : 160));
  bench.load(*schema.type(names[0]).image, seed % 4 != 0);
  std::vector<Expectation> expected;
  Random random(seed);
  for (int i = 0; i < 30; ++i) {
    Object object(schema.type(names[random.index(names.size())]));
    workload::MessageOptions options;
    options.presence_permille = seed % 2 == 0 ? 750 : 60;
    options.max_size = 8000;
    options.unknown_permille = 200;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    if (walk(bench, object, &expected) == nullptr) break;
    // A pre-serialized stream in between: both ways share the encoder.
    if (i % 7 == 0 && !send(bench, object, 256, &expected)) break;
  }
  ASSERT_TRUE(bench.run(3'000'000)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  size_t left = forgive(bench, &expected);
  EXPECT_LE(left * 5, expected.size());
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
      Object object(message.type);
      ASSERT_TRUE(object.decode(message.wire).ok());
      ASSERT_NE(walk(bench, object, &expected), nullptr);
    }
    ASSERT_TRUE(bench.run(4'000'000));
    sent += expected.size();
    left += forgive(bench, &expected);
    expect_all(bench, expected, 1);
  }
  std::printf("%zu messages, of which %zu were left to software\n", sent, left);
  EXPECT_LE(left * 10, sent);
}

// Objects that were scribbled on: whatever is there, the walk ends, and with what the encoder makes of it, or an error.
class HostileObjects : public ::testing::TestWithParam<int> {};

TEST_P(HostileObjects, EndInWhatTheEncoderMakesOfThemOrInAnError) {
  uint64_t seed = static_cast<uint64_t>(GetParam());
  PeerSchema schema(workload::random_schema(1000 + seed));
  std::vector<std::string> names = workload::message_names(schema.files());
  Random random(seed);
  size_t fine = 0, refused = 0;
  SerializerBench bench(stalled(seed, GetParam() % 2 == 0 ? 0 : 60));
  bench.load(*schema.type(names[0]).image);
  std::vector<Expectation> expected;
  std::vector<std::pair<Object*, Message*>> sent;
  std::vector<std::unique_ptr<Object>> objects;
  for (int i = 0; i < 60; ++i) {
    objects.push_back(std::make_unique<Object>(schema.type(names[random.index(names.size())])));
    Object& object = *objects.back();
    workload::MessageOptions options;
    options.max_size = 600;
    options.max_levels = 4;
    options.unknown_permille = 300;
    ASSERT_TRUE(workload::fill_object(object.type(), random.next(), options, object.get(), *object.arena()).ok());
    Message* copy = walk(bench, object, &expected);
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
    EXPECT_EQ(result.ok(), c.error == SerializerError::none) << to_string(result) << " " << static_cast<int>(c.error);
    ++(result.ok() ? fine : refused);
    if (!result.ok()) continue;
    expected[c.cookie].packet.assign(encoded.size(), 0);
    encoded.copy_to(expected[c.cookie].packet.data());
  }
  EXPECT_GT(fine + refused, 30u);
  expect_all(bench, expected, 1);
}
INSTANTIATE_TEST_SUITE_P(Seeds, HostileObjects, ::testing::Range(1, 41));

// ---- what is left to software, and what goes wrong outside

std::string length_prefixed(char tag, const std::string& content) {
  std::string field(1, tag);
  for (size_t left = content.size();; left >>= 7) {
    field.push_back(static_cast<char>((left & 0x7f) | (left >= 0x80 ? 0x80 : 0)));
    if (left < 0x80) break;
  }
  return field + content;
}

const PeerSchema& node_schema() {
  static const PeerSchema schema(workload::testing::parse_proto(
      "syntax='proto2'; message Node { optional Node n = 1; repeated bytes b = 2; optional int32 v = 3; }"));
  return schema;
}

// Sends what the hardware has to leave, between messages that it must not; `walks`: NIC-only.
void expect_left(const std::string& wire, size_t threshold, SerializerError why, bool walks) {
  SerializerBench bench(stalled(3, walks ? 0 : 30));
  bench.load(*node_schema().type("Node").image);
  std::vector<Expectation> expected;
  for (const std::string& each : {std::string("\x18\x05"), wire, length_prefixed('\x12', std::string(3000, 'x')), wire,
                                  std::string("\x18\x07")}) {
    Object object(node_schema().type("Node"));
    ASSERT_TRUE(object.decode(each).ok());
    if (walks) {
      ASSERT_NE(walk(bench, object, &expected), nullptr);
    } else {
      ASSERT_TRUE(send(bench, object, threshold, &expected));
    }
    if (each == wire) expected.back().error = why;
  }
  expect_all(bench, expected);
}

std::string nested(size_t levels) {
  std::string wire = "\x18\x01";
  for (size_t i = 0; i < levels; ++i) wire = length_prefixed('\x0a', wire);
  return wire;
}
std::string many_strings(size_t count, size_t size) {
  std::string wire;
  for (size_t i = 0; i < count; ++i)
    wire += length_prefixed('\x12', std::string(size, static_cast<char>('a' + i % 26)));
  return wire;
}

TEST(Serializer, LeavesToSoftwareWhatDoesNotFitIntoItsMemories) {
  expect_left(many_strings(300, 250), 256, SerializerError::left_arena, false);
  expect_left(many_strings(1025, 8), 1, SerializerError::left_pieces, false);
  expect_left(nested(65), 256, SerializerError::left_depth, false);
}
TEST(Walker, LeavesToSoftwareWhatDoesNotFitIntoItsMemories) {
  expect_left(many_strings(1025, 8), 256, SerializerError::left_pieces, true);
  expect_left(nested(65), 256, SerializerError::left_depth, true);
  std::string fields = "syntax='proto2'; message Big { optional Big n = 1; ";
  for (int i = 2; i < 300; ++i) fields += "optional int64 f" + std::to_string(i) + " = " + std::to_string(i) + "; ";
  PeerSchema big(workload::testing::parse_proto(fields + "}"));
  Object object(big.type("Big"));
  ASSERT_TRUE(object.decode(nested(20).replace(nested(20).size() - 2, 2, std::string("\x10\x05", 2))).ok());
  SerializerBench bench({});
  bench.load(*object.type().image);
  std::vector<Expectation> expected;
  ASSERT_NE(walk(bench, object, &expected), nullptr);
  expected.back().error = SerializerError::left_object;
  expect_all(bench, expected);
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
      Object object(node_schema().type("Node"));
      ASSERT_TRUE(object.decode(wire).ok());
      ASSERT_TRUE(send(bench, object, threshold, &expected));
    }
  }
  expect_all(bench, expected);
}

TEST(Serializer, AMessageOfAMegabyteGoesOutInOnePacket) {
  SerializerBench bench(stalled(4, 0));
  std::vector<Expectation> expected;
  Object object(node_schema().type("Node"));
  ASSERT_TRUE(object.decode(many_strings(17, 65536) + "\x18\x05").ok());
  ASSERT_TRUE(object.encode().size() > 1 << 20);
  PreserializedOutput stream = bench.room((1 << 20) + (1 << 18));
  ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &stream).ok());
  bench.send(bench.command(stream, 0));
  expected.push_back({object.encode()});
  expect_all(bench, expected);
}

TEST(Serializer, AReadThatFailsEndsTheMessageAndAllThatFollow) {
  for (bool records : {true, false}) {
    SerializerBench bench({});
    uint64_t end = SerializerBench::kHostBase + bench.host().size();
    bench.top().host_limit_i = end + 65536;  // behind which there is no memory
    Object object(node_schema().type("Node"));
    ASSERT_TRUE(object.decode(many_strings(1, 1000)).ok());
    PreserializedOutput stream = bench.room(4096);
    ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &stream).ok());
    SerializerCommand command = bench.command(stream, 0);
    (records ? command.records : command.payload) = end;
    bench.send(command);
    command = bench.command(stream, 1);
    bench.send(command);
    ASSERT_TRUE(bench.run(10000));
    for (const SerializerCompletion& c : bench.completions()) EXPECT_EQ(c.error, SerializerError::bus);
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
    if (bench.completions()[0].error == SerializerError::none) continue;
    // A cycle for each record or element before it, one for each line behind.
    uint64_t limit = records.size() / 4 + records.size() / 64 + 50;
    EXPECT_LE(bench.completions()[0].cycle - bench.first_command(), limit);
  }
}

TEST(Serializer, DoesNotWaitForALineBehindTheRecordsEnd) {
  SerializerBench bench({});
  std::vector<Expectation> expected;
  for (uint64_t last : {0x08 | uint64_t{kRecordVarint64} << 17,                    // its value is not there
                        uint64_t{1} << 16 | uint64_t{kRecordInt32} << 17,          // nor its tag
                        0x12 | uint64_t{kRecordEngine} << 17 | uint64_t{5} << 32,  // nor its place
                        0x12 | uint64_t{kRecordInline} << 17 | uint64_t{5} << 32,  // nor its bytes
                        uint64_t{1} | uint64_t{kRecordElements} << 17 | uint64_t{5} << 32}) {
    PreserializedOutput stream = bench.room(64);
    for (int i = 0; i < 7; ++i) std::memcpy(stream.buffer + 8 * i, "\x08\0\x02\0\x05\0\0\0", 8);
    std::memcpy(stream.buffer + 56, &last, 8);
    stream.record_bytes = 64;
    bench.send(bench.command(stream, static_cast<uint16_t>(expected.size())));
    expected.push_back({"", SerializerError::truncated});
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
  refuse({.records = limit, .record_bytes = 8, .payload = base}, SerializerError::out_of_bounds);
  refuse({.records = limit - 64, .record_bytes = 72, .payload = base}, SerializerError::out_of_bounds);
  refuse({.records = base - 64, .record_bytes = 64, .payload = base}, SerializerError::out_of_bounds);
  refuse({.records = base, .record_bytes = 0xffffffff, .payload = base}, SerializerError::out_of_bounds);
  refuse({.records = base, .record_bytes = 8, .payload = base - 1, .payload_bytes = 8}, SerializerError::out_of_bounds);
  refuse({.records = base, .record_bytes = 8, .payload = ~uint64_t{0}, .payload_bytes = 8},
         SerializerError::out_of_bounds);
  refuse({.records = base + 8, .record_bytes = 8, .payload = base}, SerializerError::misaligned);
  refuse({.records = base, .record_bytes = 0, .payload = base}, SerializerError::truncated);
  expect_all(bench, expected, 5000);
  EXPECT_EQ(bench.host_memory().counts().transactions, 0u);
}

}  // namespace
}  // namespace drover::rtl
