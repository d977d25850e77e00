// What the other sides of the deserializer's ports may do wrong: packets that are not as long as their commands say,
// types that were not loaded, refused and unsolicited responses, a reset at any time. Each ends in an error record;
// nothing hangs, and the other messages come out as ever.
#include <gtest/gtest.h>

#include <deque>

#include "rtl/deserializer/deserializer_testing.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random.h"
#include "workload/random_schema.h"

namespace drover::rtl {
namespace {

using testing::TestSchema;

class DeserializerProtocol : public DeserializerTest {};
DROVER_INSTANTIATE_DESERIALIZER_TESTS(DeserializerProtocol);

// Every other message is as it should be.
void expect_every_other_wrong(DeserializerBench* bench, uint8_t code) {
  ASSERT_TRUE(bench->run()) << "hangs";
  for (size_t i = 0; i < bench->outcomes().size(); ++i) {
    const Outcome& outcome = bench->outcomes()[i];
    EXPECT_EQ(outcome.difference, "") << i;
    EXPECT_EQ(outcome.record.kind, i % 2 == 0 ? RecordKind::kError : RecordKind::kDone) << i;
    EXPECT_EQ(outcome.record.code, i % 2 == 0 ? code : 0) << i;
  }
}

TEST_P(DeserializerProtocol, ACommandLongerThanItsPacketEndsInAnError) {
  for (bool one_shot : {true, false}) {
    BenchOptions options = plain();
    options.one_shot = one_shot;
    options.lanes = 1;
    DeserializerBench bench(options);
    schema::MessageType type = parts().type("Text");
    bench.load(*type.image);
    std::deque<std::string> wires;
    for (size_t length : {3, 62, 100, 128, 700, 4096, 9000}) {
      std::string whole = field(1, std::string(length, 'b')) + field(4, field(6, std::string(length * 8, 'f'))) +
                          field(2, std::string(length, 's'));
      for (size_t missing : {1, 2, 63, 64, 65, 128, 600}) {
        if (missing > whole.size()) continue;
        wires.push_back(whole.substr(0, whole.size() - missing));
        bench.add_misframed(type, wires.back(), static_cast<uint32_t>(whole.size()));
        wires.push_back(field(1, "whole"));
        bench.add(type, wires.back());
      }
    }
    expect_every_other_wrong(&bench, kPacketLength);
  }
}

TEST_P(DeserializerProtocol, ACommandOf4GiBIsOverWithItsPacket) {
  DeserializerBench bench(plain());
  schema::MessageType type = parts().type("Text");
  bench.load(*type.image);
  std::string start = "\x28\x05" + varint(1 << 3 | 2) + varint(0x7ffffff0u) + std::string(500, 'x');
  std::string field_only = "\x28\x05", good = field(2, "good");
  for (int i = 0; i < 9; ++i) {
    bench.add_misframed(type, field_only, 0xffffffffu);
    bench.add(type, good);
  }
  expect_every_other_wrong(&bench, kPacketLength);
  bench.clear();
  bench.add_misframed(type, start, 0xffffffffu);  // too long for any run: to be left to software, were it whole
  bench.add(type, good);
  expect_every_other_wrong(&bench, kPacketLength);
}

TEST_P(DeserializerProtocol, APacketLongerThanItsCommandEndsInAnError) {
  DeserializerBench bench(stalled(3, eager()));
  schema::MessageType type = parts().type("Text");
  bench.load(*type.image);
  std::deque<std::string> wires;
  for (size_t length : {0, 1, 60, 61, 62, 63, 64, 125, 126, 190, 3000}) {
    std::string whole = length == 0 ? "" : field(1, std::string(length, 'b'));
    for (size_t more : {1, 2, 63, 64, 65, 128, 6000}) {
      wires.push_back(whole + field(2, std::string(more + 4, 'm')).substr(0, more));
      bench.add_misframed(type, wires.back(), static_cast<uint32_t>(whole.size()));
      wires.push_back(field(1, "whole"));
      bench.add(type, wires.back());
    }
  }
  expect_every_other_wrong(&bench, kPacketLength);
}

TEST_P(DeserializerProtocol, BytesThatAreNotKeptEndInAnError) {
  DeserializerBench bench(plain());
  schema::MessageType type = parts().type("Text");
  bench.load(*type.image);
  std::deque<std::string> wires;
  for (size_t length : {1, 61, 62, 200}) {
    for (uint64_t hole : {uint64_t{1}, uint64_t{4}, uint64_t{1} << 63}) {
      wires.push_back(field(1, std::string(length, 'b')));
      // In a last beat that is not full, the last bit is not set anyway.
      if (wires.back().size() < 64 && hole >> 63 != 0) continue;
      bench.add_misframed(type, wires.back(), static_cast<uint32_t>(wires.back().size()), hole);
      bench.add(type, wires.back());
    }
  }
  expect_every_other_wrong(&bench, kPacketLength);
}

// A packet that is wrong behind a reason for software ends in an error too: software would not have its bytes.
TEST_P(DeserializerProtocol, NothingWithAWrongPacketIsLeftToSoftware) {
  DeserializerBench bench(plain());
  schema::MessageType type = parts().type("Text");
  bench.load(*type.image);
  std::string twice = field(4, field(2, "a")) + field(4, field(2, "b")), good = field(2, "good");
  std::string tail = twice + field(1, std::string(3000, 'x'));
  bench.add(type, tail);
  ASSERT_TRUE(bench.run());
  ASSERT_EQ(bench.outcomes()[0].record.kind, RecordKind::kSoftware);
  bench.clear();
  for (uint32_t length : {static_cast<uint32_t>(tail.size() + 1), static_cast<uint32_t>(tail.size() - 1), 2000u, 64u}) {
    bench.add_misframed(type, tail, length);
    bench.add(type, good);
  }
  expect_every_other_wrong(&bench, kPacketLength);
}

void misframed_round(uint64_t seed, bool eager, bool one_shot, size_t* wrong, size_t* software) {
  TestSchema schema(workload::random_schema(seed, workload::SchemaOptions{}));
  std::vector<std::string> names = workload::message_names(schema.files());
  BenchOptions options = seed % 3 == 0 ? BenchOptions{.eager = eager} : stalled(seed, eager);
  options.one_shot = one_shot;
  options.host_bytes = options.engine_bytes = size_t{8} << 20;
  options.run_chunks = 256;
  DeserializerBench bench(options);
  bench.load(*schema.type(names[0]).image);
  workload::MessageOptions message_options;
  message_options.max_size = 3000;
  message_options.utf8 = true;
  message_options.odd_permille = 10;
  workload::Random random(seed);
  std::deque<std::string> wires;
  for (uint64_t i = 0; i < 40; ++i) {
    schema::MessageType type = schema.type(names[i % names.size()]);
    wires.push_back(workload::generate_wire(type, seed * 100 + i, message_options));
    std::string& wire = wires.back();
    auto length = static_cast<uint32_t>(wire.size());
    switch (random.below(4)) {
      case 0: {  // the packet is cut off
        if (length == 0) {
          bench.add_misframed(type, wire, 1);
        } else {
          wire.resize(length - std::min<size_t>(length, 1 + random.below(random.below(2) == 0 ? 3 : length)));
          bench.add_misframed(type, wire, length);
        }
        ++*wrong;
        break;
      }
      case 1:  // or longer
        wire.append(1 + random.below(random.below(2) == 0 ? 3 : 500), 'x');
        bench.add_misframed(type, wire, length);
        ++*wrong;
        break;
      default:
        bench.add(type, wire);
    }
  }
  ASSERT_TRUE(bench.run()) << "hangs; schema seed " << seed;
  for (size_t i = 0; i < wires.size(); ++i) {
    ASSERT_EQ(bench.outcomes()[i].difference, "") << "schema seed " << seed << ", message " << i;
    *software += bench.outcomes()[i].record.kind == RecordKind::kSoftware;
  }
}

TEST_P(DeserializerProtocol, RandomMessagesInPacketsOfOtherLengths) {
  size_t wrong = 0, software = 0;
  for (uint64_t seed = 401; seed < 421 && !HasFatalFailure(); ++seed) {
    misframed_round(seed, eager(), seed % 4 != 0, &wrong, &software);
  }
  EXPECT_GT(wrong, 250u);
  EXPECT_LT(software, 150u);
}

TEST_P(DeserializerProtocol, ACommandOfAnUnknownTypeEndsInAnError) {
  DeserializerBench bench(plain());
  schema::MessageType type = parts().type("Text");
  std::string wire = field(1, std::string(300, 'b')), empty, good = field(2, "good");
  for (int i = 0; i < 5; ++i) bench.add_unknown(0, wire);  // nothing is loaded yet
  ASSERT_TRUE(bench.run());
  for (const Outcome& outcome : bench.outcomes()) EXPECT_EQ(outcome.difference, "");
  bench.clear();
  bench.load(*type.image);
  for (uint32_t unknown : {type.image->message_count(), 500u, 1023u, 1024u, 65535u}) {
    bench.add_unknown(static_cast<uint16_t>(unknown), unknown % 2 == 0 ? wire : empty);
    bench.add(type, good);
  }
  expect_every_other_wrong(&bench, kUnknownType);
}

TEST_P(DeserializerProtocol, ARefusedReadMakesItsMessageAnError) {
  for (bool refused : {true, false}) {
    BenchOptions options = plain();
    options.one_shot = false;
    options.protoacc = true;
    options.descriptors.latency = 20;
    (refused ? options.descriptors.refused_of_256 : options.descriptors.no_rlast_of_256) = 30;
    DeserializerBench bench(options);
    schema::MessageType type = parts().type("Text");
    bench.load(*type.image);
    std::string wire = field(2, "text") + "\x28\x05";
    for (int i = 0; i < 200; ++i) bench.add(type, wire);
    ASSERT_TRUE(bench.run()) << "hangs";
    size_t errors = 0;
    for (const Outcome& outcome : bench.outcomes()) {
      EXPECT_EQ(outcome.difference, "");
      if (outcome.record.kind == RecordKind::kDone) continue;
      EXPECT_EQ(outcome.record.kind, RecordKind::kError);
      EXPECT_EQ(outcome.record.code, kReadRefused);
      ++errors;
    }
    EXPECT_GT(errors, 20u);
    EXPECT_LT(errors, 180u);
  }
}

// Unsolicited answers are not taken for those of a later burst, whose message would then be called done
// before it is written.
TEST_P(DeserializerProtocol, UnaskedResponsesAreIgnored) {
  for (bool one_shot : {true, false}) {
    BenchOptions options = plain();
    options.one_shot = one_shot;
    options.host = {.latency = 60, .unasked_of_256 = 100};
    options.engine = options.host;
    DeserializerBench bench(options);
    schema::MessageType type = parts().type("Text");
    bench.load(*type.image);
    bench.run_for(500);
    std::deque<std::string> wires;
    for (size_t i = 0; i < 40; ++i) wires.push_back(field(2, std::string(1 + i * 50, 't')) + "\x28\x05");
    for (const std::string& wire : wires) {
      bench.add(type, wire);
      ASSERT_TRUE(bench.run());
      EXPECT_GE(bench.cycles_of_run(), options.host.latency);
      bench.run_for(300);
    }
    for (const Outcome& outcome : bench.outcomes()) {
      EXPECT_EQ(outcome.record.kind, RecordKind::kDone);
      EXPECT_EQ(outcome.difference, "");
    }
  }
}

// More bursts on their way than the counters of a lane tell apart.
TEST_P(DeserializerProtocol, AMemoryThatAnswersLateHoldsTheWritesBack) {
  BenchOptions options = plain();
  options.one_shot = false;
  options.lanes = 1;
  options.host = {.latency = 5000, .in_flight = 100000};
  DeserializerBench bench(options);
  schema::MessageType type = parts().type("Text");
  bench.load(*type.image);
  std::string wire, elements;
  for (int i = 0; i < 30; ++i) elements += "\x31" + std::string(8, 'e');
  for (int level = 0; level < 90; ++level) wire = field(4, wire) + elements;
  for (int i = 0; i < 3; ++i) bench.add(type, wire);
  expect_done(&bench);
  EXPECT_GT(bench.host_counts().transactions, 3 * 2600u);
  EXPECT_GE(bench.outcomes()[0].cycle, 2 * options.host.latency);
}

TEST_P(DeserializerProtocol, RecordsThatAreTakenLateHoldTheWritesBack) {
  BenchOptions options = plain();
  options.one_shot = false;
  options.lanes = 1;
  options.cmpl_stalls = 255;
  DeserializerBench bench(options);
  schema::MessageType type = parts().type("Text");
  bench.load(*type.image);
  std::string wire;
  for (int level = 0; level < 50; ++level) wire = field(4, wire) + "\x28\x05";
  for (int i = 0; i < 120; ++i) bench.add(type, wire);
  expect_done(&bench);
}

// Nor keys of maps, which would be taken for those of the first messages after it.
TEST_P(DeserializerProtocol, AResetInTheMiddleLeavesNothingBehind) {
  TestSchema schema(testing::parse_proto(R"(
      syntax = "proto3";
      message M { map<int32, string> a = 1; M m = 2; repeated bytes b = 3; map<string, M> c = 4; repeated int64 d = 5; }
  )"));
  std::vector<std::string> names = workload::message_names(schema.files());
  workload::MessageOptions message_options;
  message_options.max_size = 4000;
  message_options.utf8 = true;
  std::deque<std::string> wires;
  for (uint64_t i = 0; i < 30; ++i) {
    wires.push_back(workload::generate_wire(schema.type(names[i % names.size()]), i, message_options));
  }
  DeserializerBench bench(stalled(5, eager()));
  for (uint64_t round = 0; round < 30; ++round) {
    bench.load(*schema.type(names[0]).image);
    for (size_t i = 0; i < wires.size(); ++i) bench.add(schema.type(names[i % names.size()]), wires[i]);
    if (round < 29) {
      bench.run_for(20 + round * 37);
      bench.reset();
    }
  }
  ASSERT_TRUE(bench.run()) << "hangs";
  for (size_t i = 0; i < wires.size(); ++i) {
    EXPECT_EQ(bench.outcomes()[i].difference, "") << i;
    EXPECT_EQ(bench.outcomes()[i].record.kind, RecordKind::kDone) << i;
  }
}

// Whatever registers and memories hold at power-up, nothing is written before a command, and messages come out right.
TEST_P(DeserializerProtocol, AnyStateAtPowerUp) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    BenchOptions options = plain();
    options.power_up_seed = seed;
    options.host_bytes = options.engine_bytes = size_t{8} << 20;
    options.run_chunks = 256;
    DeserializerBench bench(options);
    schema::MessageType type = parts().type("Text");
    bench.run_for(seed * 9);
    EXPECT_EQ(bench.host_counts().transactions + bench.engine_counts().transactions, 0u);
    bench.load(*type.image);
    std::deque<std::string> wires;
    for (size_t i = 0; i < 12; ++i) wires.push_back(field(2, std::string(i * 90, 'p')) + field(3, "q") + field(4, ""));
    for (const std::string& wire : wires) bench.add(type, wire);
    expect_done(&bench);
  }
}

}  // namespace
}  // namespace drover::rtl
