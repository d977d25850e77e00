// The models themselves: faults that memories inject, reset in the middle of traffic, random power-up.
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "codec/preserialize/preserialize.h"
#include "rtl/testing/deserializer_bench.h"
#include "rtl/testing/serializer_bench.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::rtl {
namespace {

using testing::TestObject;
using testing::TestSchema;

const TestSchema& schema() {
  static const TestSchema built(testing::parse_proto(
      "syntax = 'proto3'; message Text { bytes b = 1; repeated string r = 2; Text t = 3; int64 n = 4; }"));
  return built;
}

std::string text_wire(size_t i) {
  std::string wire = std::string("\x20") + static_cast<char>(i % 127 + 1);
  for (size_t n = 0; n < 4; ++n) {
    std::string value(1 + (i * 31 + n * 17) % 100, static_cast<char>('a' + n));
    wire += std::string("\x12") + static_cast<char>(value.size()) + value;
  }
  return wire;
}

// ---- AxiReadMemory, by hand

struct ReadSignals {
  QData araddr = 0;
  CData arlen = 0, arid = 0, arvalid = 0, arready = 0;
  VlWide<16> rdata;
  CData rid = 0, rresp = 0, rlast = 0, rvalid = 0, rready = 1;
  AxiReadPort port() {
    return {&araddr, &arlen, &arid, &arvalid, &arready, &rdata, &rid, &rresp, &rlast, &rvalid, &rready};
  }
};

// (response, last) of each beat of one burst of `beats`.
std::vector<std::pair<int, int>> burst(const AxiFault& fault, uint32_t beats) {
  std::array<char, 512> bytes{};
  ReadSignals signals;
  AxiReadMemory memory(signals.port(), bytes, {.faults = [fault](uint64_t, uint32_t) { return fault; }});
  std::vector<std::pair<int, int>> seen;
  signals.arlen = static_cast<CData>(beats - 1);
  signals.arvalid = 1;
  for (int cycle = 0; cycle < 20; ++cycle) {
    memory.drive();
    if (signals.rvalid) seen.emplace_back(signals.rresp, signals.rlast);
    bool taken = signals.arvalid && signals.arready;
    memory.sample();
    if (taken) signals.arvalid = 0;
  }
  return seen;
}

TEST(AxiReadMemory, AnswersABurstByTheProtocol) {
  EXPECT_EQ(burst({}, 3), (std::vector<std::pair<int, int>>{{0, 0}, {0, 0}, {0, 1}}));
}

TEST(AxiReadMemory, AnswersWithTheFaultThatItIsGiven) {
  EXPECT_EQ(burst({.response = kAxiSlaveError, .from_beat = 1}, 3),
            (std::vector<std::pair<int, int>>{{0, 0}, {2, 0}, {2, 1}}));
  EXPECT_EQ(burst({.response = kAxiDecodeError}, 2), (std::vector<std::pair<int, int>>{{3, 0}, {3, 1}}));
  EXPECT_EQ(burst({.last_missing = true}, 2), (std::vector<std::pair<int, int>>{{0, 0}, {0, 0}}));
  EXPECT_EQ(burst({.last_early = true}, 2), (std::vector<std::pair<int, int>>{{0, 1}, {0, 1}}));
}

// ---- AxiStreamSource, by hand

TEST(AxiStreamSource, SendsBeatsAsTheyAreWrittenBetweenPackets) {
  VlWide<16> data;
  QData keep = 0;
  CData last = 0, valid = 0, ready = 1;
  AxiStreamSource source({&data, &keep, &last, &valid, &ready});
  std::string packet(70, 'p');
  source.send(packet);
  source.send_beat({"ab", 0x5, false});
  source.send_beat({"", 0, true});
  source.send("qrs", 0x2);
  std::vector<std::pair<uint64_t, int>> seen;
  while (!source.idle()) {
    source.drive();
    if (valid) seen.emplace_back(keep, last);
    source.sample();
  }
  EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, int>>{{~uint64_t{0}, 0}, {0x3f, 1}, {0x5, 0}, {0, 1}, {0x5, 1}}));
  EXPECT_EQ(source.packets_sent(), 3u);
}

// ---- the deserializer

std::deque<std::string> wires(size_t count) {
  std::deque<std::string> list;
  for (size_t i = 0; i < count; ++i) list.push_back(text_wire(i));
  return list;
}

void expect_all_done(DeserializerBench* bench, const std::deque<std::string>& messages) {
  for (const std::string& wire : messages) bench->add(schema().type("Text"), wire);
  ASSERT_TRUE(bench->run());
  for (const Outcome& outcome : bench->outcomes()) {
    EXPECT_EQ(outcome.record.kind, RecordKind::kDone);
    EXPECT_EQ(outcome.difference, "");
  }
}

TEST(DeserializerModel, AResetInTheMiddleOfTrafficLeavesNothingBehind) {
  std::deque<std::string> messages = wires(40);
  for (uint64_t cycles = 1; cycles < 400; cycles += 23) {
    SCOPED_TRACE(cycles);
    BenchOptions options{.rx_stalls = 40, .cmpl_stalls = 40, .seed = cycles};
    options.host = {20, 8, 60, cycles};
    options.host_bytes = options.engine_bytes = size_t{8} << 20;
    DeserializerBench bench(options);
    bench.load(*schema().type("Text").image);
    for (const std::string& wire : messages) bench.add(schema().type("Text"), wire);
    bench.run_for(cycles);
    bench.reset();
    bench.load(*schema().type("Text").image);
    expect_all_done(&bench, messages);
  }
}

TEST(DeserializerModel, RandomPowerUpChangesNeitherObjectsNorCycles) {
  std::deque<std::string> messages = wires(40);
  uint64_t cycles = 0;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    BenchOptions options{.power_up_seed = seed};
    options.host_bytes = options.engine_bytes = size_t{8} << 20;
    DeserializerBench bench(options);
    bench.load(*schema().type("Text").image);
    expect_all_done(&bench, messages);
    if (seed == 0) cycles = bench.cycles_of_run();
    EXPECT_EQ(bench.cycles_of_run(), cycles);
  }
}

// ---- the serializer

// Sends `count` messages as streams; run() for them is the caller's.
std::vector<std::string> send_streams(SerializerBench* bench, size_t count) {
  std::vector<std::string> sent;
  for (size_t i = 0; i < count; ++i) {
    TestObject object(schema().type("Text"));
    EXPECT_TRUE(object.decode(text_wire(i)).ok());
    PreserializedOutput stream = bench->room(4096);
    EXPECT_TRUE(preserialize(object.type(), object.get(), {}, &stream).ok());
    bench->send(bench->command(stream, static_cast<uint16_t>(i)));
    sent.push_back(object.encode());
  }
  return sent;
}

void expect_packets(SerializerBench* bench, const std::vector<std::string>& sent) {
  ASSERT_TRUE(bench->run(200'000));
  ASSERT_EQ(bench->packets().packets(), sent.size());
  for (const std::string& wire : sent) EXPECT_EQ(bench->packets().take(), wire);
}

TEST(SerializerModel, AResetInTheMiddleOfTrafficLeavesNothingBehind) {
  for (uint64_t cycles = 1; cycles < 400; cycles += 23) {
    SCOPED_TRACE(cycles);
    SerializerBench::Options options{.stalls_of_256 = 40, .seed = cycles};
    SerializerBench bench(options);
    send_streams(&bench, 40);
    bench.step(cycles);
    bench.reset();
    expect_packets(&bench, send_streams(&bench, 40));
  }
}

TEST(SerializerModel, RandomPowerUpChangesNeitherPacketsNorCycles) {
  std::vector<uint64_t> beats;
  for (uint32_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    SerializerBench bench({.power_up_seed = seed});
    expect_packets(&bench, send_streams(&bench, 40));
    if (seed == 0) beats = bench.last_beats();
    EXPECT_EQ(bench.last_beats(), beats);
  }
}

}  // namespace
}  // namespace drover::rtl
