// What the serializer's tests share: benches that stall at random, commands with what is expected of them, messages.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codec/encode/encode.h"
#include "codec/preserialize/preserialized_format.h"
#include "message/operations.h"
#include "rtl/testing/serializer_bench.h"
#include "testing/hex.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/workload.h"

namespace drover::rtl {

using testing::TestObject;
using testing::TestSchema;
using workload::Random;

// The first slot of a record. `long_tag`: `tag` has two bytes, or is 0 and stands in the next slot as a u32. Of
// elements `tag` is their op.
inline uint64_t record_head(uint64_t op, uint64_t value, uint64_t tag = 0, bool long_tag = false) {
  return std::bit_cast<uint64_t>(
      RecordHead{.tag = static_cast<uint16_t>(tag),
                 .op = RecordOpByte{.long_tag = long_tag, .code = static_cast<uint8_t>(op)}.encode(),
                 .unused = 0,
                 .value = static_cast<uint32_t>(value)});
}

inline SerializerBench::Options stalled(uint64_t seed, uint32_t of_256 = 60) {
  SerializerBench::Options options;
  options.host = {.latency = 30, .in_flight = 8, .stalls_of_256 = of_256, .seed = seed};
  options.engine = {.latency = 15, .in_flight = 4, .stalls_of_256 = of_256, .seed = seed + 5};
  options.stalls_of_256 = of_256;
  options.seed = seed;
  options.power_up_seed = static_cast<uint32_t>(seed) + 1;
  return options;
}

// Commands sent, and what is expected of each.
struct Expectation {
  std::string packet;
  SerializerError error = SerializerError::kNone;
};

// `astray`: reads outside the memories are meant.
inline void expect_all(SerializerBench& bench, const std::vector<Expectation>& expected, uint64_t cycles = 2'000'000,
                       bool astray = false) {
  ASSERT_TRUE(bench.run(cycles)) << "it hangs: " << bench.completions().size() << " of " << expected.size();
  EXPECT_FALSE(bench.packets().protocol_broken());
  EXPECT_EQ(bench.host_memory().counts().violations + bench.engine_memory().counts().violations != 0, astray);
  std::map<uint16_t, SerializerCompletion> done;
  size_t packet = 0;
  for (const SerializerCompletion& c : bench.completions()) {
    EXPECT_TRUE(done.emplace(c.cookie, c).second) << "two completions for one command";
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const SerializerCompletion& c = done.at(static_cast<uint16_t>(i));
    ASSERT_EQ(static_cast<int>(c.error), static_cast<int>(expected[i].error)) << i;
    if (c.error == SerializerError::kBus && c.size != 0) {  // known only when part of it was out
      EXPECT_TRUE(bench.broken()[packet]);
      ++packet;
      bench.packets().take();
    }
    if (c.error != SerializerError::kNone) continue;
    EXPECT_FALSE(bench.broken()[packet]);
    ++packet;
    ASSERT_EQ(c.size, expected[i].packet.size()) << i;
    ASSERT_GT(bench.packets().packets(), 0u);
    std::string bytes = bench.packets().take();
    ASSERT_EQ(bytes.size(), expected[i].packet.size()) << i;
    if (bytes != expected[i].packet) {
      size_t at = 0;
      while (bytes[at] == expected[i].packet[at]) ++at;
      FAIL() << "message " << i << " differs at byte " << at << " of " << bytes.size() << ": "
             << testing::to_hex(bytes.substr(at, 40)) << " for " << testing::to_hex(expected[i].packet.substr(at, 40));
    }
  }
  EXPECT_EQ(bench.packets().packets(), 0u);
  EXPECT_EQ(packet, bench.broken().size());
}

// What the hardware left to software is not compared.
inline size_t forgive(SerializerBench& bench, std::vector<Expectation>* expected) {
  size_t left = 0;
  for (const SerializerCompletion& c : bench.completions()) {
    if (!left_to_software(c.error)) continue;
    ++left;
    (*expected)[c.cookie].error = c.error;
  }
  return left;
}

// Pre-serializes into the bench's memory, sends the command; false: the memory is full.
inline bool send(SerializerBench& bench, TestObject& object, size_t threshold, std::vector<Expectation>* expected) {
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

// A copy of the object in the bench's memory, in one piece; null: the memory is full.
inline Message* place(SerializerBench& bench, TestObject& object) {
  size_t size = message::linearized_size(object.type(), *object.get());
  PreserializedOutput room = bench.room(size);
  if (room.buffer == nullptr) return nullptr;
  Arena arena(heap_block_source(), room.buffer, size);
  Message* copy = message::deep_copy_into(object.type(), *object.get(), &arena);
  EXPECT_TRUE(arena.only_initial_block());
  return copy;
}

// Copies the object into the bench's memory and sends the command to walk it; null: the memory is full. `run`: how many
// bytes from the object on the command says to be in one piece with it, which are read at once.
inline Message* walk(SerializerBench& bench, TestObject& object, std::vector<Expectation>* expected, uint32_t run = 0) {
  Message* copy = place(bench, object);
  if (copy == nullptr) return nullptr;
  SerializerCommand command;
  command.walk = true;
  command.message = static_cast<uint16_t>(object.type().index);
  command.cookie = static_cast<uint16_t>(expected->size());
  command.records = SerializerBench::kHostBase + static_cast<uint64_t>(copy->drover_bytes() - bench.host().data());
  command.record_bytes = run;
  bench.send(command);
  expected->push_back({object.encode()});
  return copy;
}

// ---- messages

inline std::string length_prefixed(char tag, const std::string& content) {
  std::string field(1, tag);
  for (size_t left = content.size();; left >>= 7) {
    field.push_back(static_cast<char>((left & 0x7f) | (left >= 0x80 ? 0x80 : 0)));
    if (left < 0x80) break;
  }
  return field + content;
}

inline const TestSchema& node_schema() {
  static const TestSchema schema(testing::parse_proto(
      "syntax='proto2'; message Node { optional Node n = 1; repeated bytes b = 2; optional int32 v = 3; }"));
  return schema;
}

inline std::string nested(size_t levels) {
  std::string wire = "\x18\x01";
  for (size_t i = 0; i < levels; ++i) wire = length_prefixed('\x0a', wire);
  return wire;
}
inline std::string many_strings(size_t count, size_t size) {
  std::string wire;
  for (size_t i = 0; i < count; ++i)
    wire += length_prefixed('\x12', std::string(size, static_cast<char>('a' + i % 26)));
  return wire;
}

// Sends what the hardware has to leave, between messages that it must not; `walks`: NIC-only.
inline void expect_left(const std::string& wire, size_t threshold, SerializerError why, bool walks) {
  SerializerBench bench(stalled(3, walks ? 0 : 30));
  bench.load(*node_schema().type("Node").image);
  std::vector<Expectation> expected;
  for (const std::string& each : {std::string("\x18\x05"), wire, length_prefixed('\x12', std::string(3000, 'x')), wire,
                                  std::string("\x18\x07")}) {
    TestObject object(node_schema().type("Node"));
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

}  // namespace drover::rtl
