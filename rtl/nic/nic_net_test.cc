// The network half with the unreliable transport: frames, checks, connections that come and go, and its rate. The C++
// frames of datagram/ are the reference.
#include <Vnic_net_udp.h>

#include <map>
#include <random>
#include <set>

#include "rtl/nic/nic_net_network_testing.h"

namespace drover::rtl::nic {
namespace {

using testing::kClientEnd;
using testing::kServerEnd;
using testing::make_line;
using testing::same_line;

using Nic = NicNet<Vnic_net_udp>;
constexpr uint32_t kKeyIn = 0x11223344, kKeyOut = 0x55667788;
constexpr FrameRules kRules{.reliable = false, .max_lines = 1};

ConnectionEntry to_server(uint16_t remote = 9, uint8_t flow = 1) {
  return make_entry(kServerEnd, remote, kKeyIn, kKeyOut, flow);
}
// A frame for connection `number` of a NIC at kClientEnd that has to_server().
Frame frame_for(uint16_t number, const LineSlot& line, uint32_t key = kKeyIn) {
  FrameFields fields{.kind = FrameKind::kLines, .key = key, .connection = number};
  return build_frame(kServerEnd, kClientEnd, fields, {&line, 1});
}
void run_until(Nic& nic, const std::function<bool()>& done, size_t cycles = 20000) {
  for (size_t i = 0; i < cycles && !done(); ++i) nic.cycle();
  EXPECT_TRUE(done());
}

TEST(NicNet, SendsTheFramesOfTheReference) {
  Nic nic;
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  for (uint32_t i = 0; i < 20; ++i) nic.lines.send(make_line(i * 0x10203, 3), 1);
  run_until(nic, [&] { return nic.network.out.size() == 20; });
  for (uint32_t i = 0; i < 20; ++i) {
    LineSlot line = make_line(i * 0x10203);
    FrameFields fields{.kind = FrameKind::kLines, .key = kKeyOut, .connection = 9};
    EXPECT_TRUE(nic.network.out[i] == build_frame(kClientEnd, kServerEnd, fields, {&line, 1})) << i;
  }
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, tx_lines)), 20u);
}

TEST(NicNet, GivesLinesToTheFlowOfTheirConnection) {
  Nic nic;
  ConnectionEntry entry = to_server(9, 2);
  entry.balance = 1;
  ASSERT_EQ(nic.open(3, entry), CommandResult::kOk);
  nic.network.in.push_back(frame_for(3, make_line(77, 3)));
  run_until(nic, [&] { return !nic.host.received.empty(); });
  EXPECT_TRUE(same_line(nic.host.received[0].line, make_line(77, 3)));
  EXPECT_EQ(nic.host.received[0].flow, 2);
  EXPECT_EQ(nic.host.received[0].policy, 1);
}

TEST(NicNet, ALineTakesAFewCyclesEachWay) {
  Nic nic;
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  nic.cycles(100);
  uint64_t begin = nic.now();
  nic.lines.send(make_line(1, 3), 1);
  run_until(nic, [&] { return nic.network.sent == 1; });
  uint64_t out = nic.now() - begin;
  begin = nic.now();
  nic.network.in.push_back(frame_for(3, make_line(1, 3)));
  run_until(nic, [&] { return !nic.host.received.empty(); });
  RecordProperty("cycles_out", static_cast<int>(out));
  RecordProperty("cycles_in", static_cast<int>(nic.now() - begin));
  EXPECT_LE(out, 14u);
  EXPECT_LE(nic.now() - begin, 12u);
}

TEST(NicNet, ALineACycleEachWayAtOnce) {
  constexpr size_t kLines = 4000;
  Nic nic;
  for (uint16_t c = 0; c < 8; ++c) ASSERT_EQ(nic.open(c, to_server(c, c % 4)), CommandResult::kOk);
  for (uint32_t i = 0; i < kLines; ++i) {
    nic.lines.send(make_line(i, i % 8), i % 4);
    nic.network.in.push_back(frame_for(i % 8, make_line(i, i % 8)));
  }
  uint64_t begin = nic.now();
  run_until(nic, [&] { return nic.network.sent == kLines && nic.host.received.size() == kLines; });
  EXPECT_LE(nic.now() - begin, kLines + 20);
}

TEST(NicNet, ALineACycleOnOneConnection) {
  constexpr size_t kLines = 2000;
  Nic nic;
  ASSERT_EQ(nic.open(5, to_server()), CommandResult::kOk);
  for (uint32_t i = 0; i < kLines; ++i) {
    nic.lines.send(make_line(i, 5), 0);
    nic.network.in.push_back(frame_for(5, make_line(i, 5)));
  }
  uint64_t begin = nic.now();
  run_until(nic, [&] { return nic.network.sent == kLines && nic.host.received.size() == kLines; });
  EXPECT_LE(nic.now() - begin, kLines + 20);
  for (uint32_t i = 0; i < kLines; ++i) ASSERT_TRUE(same_line(nic.host.received[i].line, make_line(i, 5)));
}

// ---- refusals

// Changes a good frame at random: sometimes with right checksums.
Frame spoil(Frame frame, std::mt19937& random) {
  auto put16 = [&](size_t at, uint32_t value) {
    frame[at] = static_cast<std::byte>(value >> 8);
    frame[at + 1] = static_cast<std::byte>(value);
  };
  switch (random() % 4) {
    case 0:
      frame.resize(random() % 400);
      return frame;
    case 1:
      frame[random() % frame.size()] ^= static_cast<std::byte>(1 << random() % 8);
      return frame;
    default:
      break;
  }
  static constexpr size_t kOften[] = {14, 16, 17, 20, 21, 23, 37, 39, 42, 44, 45,
                                      46, 48, 60, 61, 64, 68, 69, 76, 78, 79};
  for (size_t count = 1 + random() % 2; count > 0; --count) {
    size_t at = random() % 3 != 0 ? kOften[random() % std::size(kOften)] : random() % frame.size();
    frame[at] = static_cast<std::byte>(random() % 2 != 0 ? random() : random() % 4);
  }
  put16(24, 0);
  put16(24, ~internet_sum({&frame[14], 20}));
  if (random() % 2 == 0) put16(40, 0);
  return frame;
}

TEST(NicNet, RefusesWhatTheReferenceRefusesAndCountsWhy) {
  std::mt19937 random(7);
  Nic nic({.stalls_of_256 = 40});
  for (uint16_t c : {0, 3, 7}) ASSERT_EQ(nic.open(c, to_server()), CommandResult::kOk);
  std::map<FrameRefusal, uint64_t> expected;
  size_t lines = 0;
  for (int i = 0; i < 6000; ++i) {
    uint16_t number = i % 10 == 0 ? 4 : i % 3 == 0 ? 3 : 7;
    Frame frame = frame_for(number, make_line(i, number), i % 11 == 0 ? kKeyOut : kKeyIn);
    if (random() % 8 != 0) frame = spoil(std::move(frame), random);
    if (frame.empty()) continue;
    CheckedFrame checked;
    FrameRefusal refusal = check_frame(frame, kClientEnd, kRules, &checked);
    if (refusal == FrameRefusal::kOk) {
      uint16_t to = checked.fields.connection;
      bool known = to == 0 || to == 3 || to == 7;
      if (!known)
        refusal = FrameRefusal::kUnknownConnection;
      else if (checked.source.address != kServerEnd.address || checked.source.port != kServerEnd.port)
        refusal = FrameRefusal::kSource;
      else if (checked.fields.key != kKeyIn)
        refusal = FrameRefusal::kKey;
      else
        ++lines;
    }
    ++expected[refusal];
    nic.network.in.push_back(std::move(frame));
  }
  run_until(nic, [&] { return nic.network.in.empty(); }, 100000);
  nic.cycles(1000);
  EXPECT_EQ(nic.host.received.size(), lines);
  EXPECT_GT(expected.size(), 19u);
  for (size_t reason = 0; reason < 26; ++reason) {
    EXPECT_EQ(nic.frames(FrameRefusal(reason)), expected[FrameRefusal(reason)])
        << frame_refusal_name(FrameRefusal(reason));
  }
}

TEST(NicNet, DropsWhatTheMacFoundDamaged) {
  Nic nic;
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  nic.network.damaged = true;
  nic.network.in.push_back(frame_for(3, make_line(1, 3)));
  nic.cycles(50);
  EXPECT_EQ(nic.frames(FrameRefusal::kDamaged), 1u);
  EXPECT_TRUE(nic.host.received.empty());
}

TEST(NicNet, LinesOfTheHostThatMayNotTravelAreDropped) {
  Nic nic;
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  LineSlot line = make_line(1, 3);
  line.length = 49;
  nic.lines.send(line, 0);
  nic.lines.send(make_line(2, 4), 0);  // not open
  nic.lines.send(make_line(3, 3), 0);
  run_until(nic, [&] { return nic.network.sent == 1; });
  nic.cycles(20);
  EXPECT_EQ(nic.network.sent, 1u);
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, tx_bad_line)), 1u);
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, tx_unknown)), 1u);
}

TEST(NicNet, AHostThatIsNotReadyForLongLosesLinesOnly) {
  Nic nic;
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  nic.host.ready = false;
  for (uint32_t i = 0; i < 200; ++i) nic.network.in.push_back(frame_for(3, make_line(i, 3)));
  run_until(nic, [&] { return nic.network.in.empty(); });
  nic.cycles(200);
  nic.host.ready = true;
  nic.network.in.push_back(frame_for(3, make_line(1000, 3)));
  run_until(nic, [&] { return !nic.host.received.empty(); });
  EXPECT_TRUE(same_line(nic.host.received.back().line, make_line(1000, 3)));
  EXPECT_EQ(nic.frames(FrameRefusal::kNoRoom) + nic.host.received.size(), 201u);
}

// ---- connections

TEST(NicNet, ConnectionsAreReadChangedAndClosed) {
  for (bool with_table : {false, true}) {
    Nic nic({.with_table = with_table});
    ConnectionEntry entry = to_server(), back{};
    ASSERT_EQ(nic.open(3, entry), CommandResult::kOk);
    // Place 3 of 16 is taken: 19 goes to host memory, or nowhere.
    ASSERT_EQ(nic.open(19, entry), with_table ? CommandResult::kOk : CommandResult::kNoSlot);
    for (uint16_t number : {3, 19}) {
      if (number == 19 && !with_table) continue;
      entry.flow = 1;
      ASSERT_EQ(nic.read_entry(number, &back), CommandResult::kOk);
      entry.state = static_cast<uint8_t>(ConnectionState::kOpen);
      entry.number = number;
      EXPECT_EQ(std::memcmp(&back, &entry, sizeof entry), 0);
      entry.flow = 3;
      EXPECT_EQ(nic.change(number, entry), CommandResult::kOk);
      ASSERT_EQ(nic.read_entry(number, &back), CommandResult::kOk);
      EXPECT_EQ(back.flow, 3);
      EXPECT_EQ(nic.close(number), CommandResult::kOk);
      EXPECT_EQ(nic.read_entry(number, &back), CommandResult::kNotOpen);
      EXPECT_EQ(nic.change(number, entry), CommandResult::kNotOpen);
    }
    EXPECT_EQ(nic.close(5), with_table ? CommandResult::kOk : CommandResult::kNotOpen);
    entry.flow = 4;
    EXPECT_EQ(nic.open(3, entry), CommandResult::kBadEntry);
    EXPECT_EQ(nic.table_violations(), 0u);
  }
}

TEST(NicNet, MoreConnectionsThanPlacesLoseNothing) {
  constexpr uint16_t kConnections = 64;  // for 16 places
  std::mt19937 random(3);
  Nic nic({.stalls_of_256 = 20, .table = {.latency = 30, .stalls_of_256 = 60}});
  for (uint16_t c = 0; c < kConnections; ++c) ASSERT_EQ(nic.open(c, to_server(c, c % 4)), CommandResult::kOk);
  std::map<uint16_t, uint32_t> sent, next_in, next_out;
  size_t in = 0, out = 0;
  for (int step = 0; step < 600; ++step) {
    uint16_t c = static_cast<uint16_t>(random() % kConnections);
    for (uint32_t burst = random() % 4; burst > 0; --burst, ++out) nic.lines.send(make_line(sent[c]++, c), c % 4);
    c = static_cast<uint16_t>(random() % kConnections);
    // Few enough at a time for the queue of those that miss.
    for (uint32_t burst = random() % 3; burst > 0; --burst, ++in)
      nic.network.in.push_back(frame_for(c, make_line(next_in[c]++, c)));
    run_until(nic, [&] { return nic.host.received.size() + nic.frames(FrameRefusal::kBusy) == in; });
  }
  run_until(nic, [&] { return nic.network.sent == out; }, 200000);
  EXPECT_EQ(nic.frames(FrameRefusal::kBusy), 0u);
  next_in.clear();
  for (const ReceivedLine& line : nic.host.received) {
    uint16_t c = line.line.connection;
    ASSERT_TRUE(same_line(line.line, make_line(next_in[c]++, c)));
    EXPECT_EQ(line.flow, c % 4);
  }
  for (const Frame& frame : nic.network.out) {
    CheckedFrame checked;
    ASSERT_EQ(check_frame(frame, kServerEnd, kRules, &checked), FrameRefusal::kOk);
    uint16_t c = checked.fields.connection;
    ASSERT_TRUE(same_line(checked.lines[0], make_line(next_out[c]++, c)));
  }
  EXPECT_GT(nic.count(offsetof(NetworkRegisters, evictions)), 100u);
  EXPECT_EQ(nic.table_violations(), 0u);
}

// Frames come one by one while the entry does: before, between, and after.
TEST(NicNet, FramesThatWaitedForTheirEntryGoFirst) {
  for (uint32_t latency = 1; latency <= 24; ++latency) {
    Nic nic({.table = {.latency = latency}});
    ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
    ASSERT_EQ(nic.open(19, to_server()), CommandResult::kOk);
    size_t sent = 0;
    for (uint32_t gap = 1; gap <= 12; ++gap) {
      nic.network.in.push_back(frame_for(3, make_line(0, 3)));  // makes the other's entry go
      ++sent;
      nic.cycles(400);
      for (uint32_t i = 0; i < 8; ++i, ++sent) {
        nic.network.in.push_back(frame_for(19, make_line(i, 19)));
        nic.cycles(gap);
      }
      nic.cycles(400);
    }
    ASSERT_EQ(nic.host.received.size(), sent);
    for (size_t i = 0; i < sent; ++i) {
      ASSERT_EQ(nic.host.received[i].line.call, i % 9 == 0 ? 0 : i % 9 - 1) << "latency " << latency;
    }
  }
}

TEST(NicNet, AFrameWithAWrongKeyMakesNoEntryGo) {
  Nic nic;
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  ASSERT_EQ(nic.open(19, to_server()), CommandResult::kOk);
  nic.network.in.push_back(frame_for(19, make_line(1, 19), 1));
  nic.network.in.push_back(frame_for(35, make_line(1, 35)));
  nic.cycles(300);
  EXPECT_EQ(nic.frames(FrameRefusal::kKey), 1u);
  EXPECT_EQ(nic.frames(FrameRefusal::kUnknownConnection), 1u);
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, misses)), 2u);
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, evictions)), 0u);
}

TEST(NicNet, HitsGoOnWhileOthersMiss) {
  Nic nic({.table = {.latency = 1000}});
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  ASSERT_EQ(nic.open(19, to_server()), CommandResult::kOk);
  ASSERT_EQ(nic.open(4, to_server()), CommandResult::kOk);
  nic.lines.send(make_line(0, 19), 0);
  nic.network.in.push_back(frame_for(35, make_line(1, 35)));
  nic.cycles(60);
  uint64_t begin = nic.now();
  for (uint32_t i = 0; i < 500; ++i) {
    nic.lines.send(make_line(i, 4), 1);
    nic.network.in.push_back(frame_for(4, make_line(i, 4)));
  }
  run_until(nic, [&] { return nic.network.sent >= 500 && nic.host.received.size() >= 500; });
  EXPECT_LE(nic.now() - begin, 560u);
  run_until(nic, [&] { return nic.network.sent == 501; });
}

// Frames that name random connections cost a look at host memory each, and some cycles in which nothing is issued.
TEST(NicNet, AFloodOfFramesForNoConnectionLeavesMostOfTheRate) {
  constexpr uint32_t kLines = 2000;
  std::mt19937 random(5);
  Nic nic({.table = {.latency = 100}});
  ASSERT_EQ(nic.open(4, to_server()), CommandResult::kOk);
  for (uint32_t i = 0; i < kLines; ++i) {
    nic.lines.send(make_line(i, 4), 1);
    nic.network.in.push_back(frame_for(4, make_line(i, 4)));
    auto nowhere = static_cast<uint16_t>(100 + random() % 60000);
    nic.network.in.push_back(frame_for(nowhere, make_line(i, nowhere)));
  }
  uint64_t begin = nic.now();
  run_until(nic, [&] { return nic.network.in.empty(); });
  uint64_t cycles = nic.now() - begin;
  RecordProperty("cycles", static_cast<int>(cycles));
  EXPECT_LE(cycles, 2 * kLines * 5 / 4);
  nic.cycles(3000);
  EXPECT_EQ(nic.network.sent, kLines);
  EXPECT_EQ(nic.host.received.size(), kLines);
}

TEST(NicNet, ABusErrorOfTheTableIsAnUnknownConnection) {
  Nic nic({.table = {.refused_of_256 = 256}});
  ASSERT_EQ(nic.open(3, to_server()), CommandResult::kOk);
  EXPECT_EQ(nic.open(19, to_server()), CommandResult::kBus);
  nic.lines.send(make_line(0, 19), 0);
  nic.lines.send(make_line(0, 3), 0);
  run_until(nic, [&] { return nic.network.sent == 1; });
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, tx_unknown)), 1u);
  EXPECT_EQ(nic.count(offsetof(NetworkRegisters, table_errors)), 2u);
}

TEST(NicNet, ConnectionsAreOpenedAndClosedWhileTrafficRuns) {
  std::mt19937 random(11);
  Nic nic({.stalls_of_256 = 30});
  std::set<uint16_t> open;
  ASSERT_EQ(nic.open(0, to_server(0, 0)), CommandResult::kOk);  // stays
  uint32_t steady_in = 0, steady_out = 0;
  for (int step = 0; step < 300; ++step) {
    uint16_t c = static_cast<uint16_t>(1 + random() % 40);
    for (int i = 0; i < 8; ++i) {
      nic.lines.send(make_line(steady_out++, 0), 0);
      nic.network.in.push_back(frame_for(0, make_line(steady_in++, 0)));
      nic.lines.send(make_line(i, c), 1);
      nic.network.in.push_back(frame_for(c, make_line(i, c)));
    }
    if (open.contains(c)) {
      ASSERT_EQ(nic.close(c), CommandResult::kOk);
      open.erase(c);
    } else {
      ASSERT_EQ(nic.open(c, to_server(c, 1)), CommandResult::kOk);
      open.insert(c);
    }
  }
  run_until(nic, [&] { return nic.network.in.empty() && nic.lines.idle(); }, 100000);
  nic.cycles(20000);
  // The connection that stayed lost nothing but what a queue of misses had no room for: its place was wanted by others.
  uint32_t next = 0, came = 0;
  for (const ReceivedLine& line : nic.host.received) {
    if (line.line.connection != 0) continue;
    ASSERT_GE(line.line.call, next);
    next = line.line.call + 1;
    ++came;
  }
  EXPECT_LE(steady_in - came, nic.frames(FrameRefusal::kBusy));
  next = 0;
  for (const Frame& frame : nic.network.out) {
    CheckedFrame checked;
    ASSERT_EQ(check_frame(frame, kServerEnd, kRules, &checked), FrameRefusal::kOk);
    if (checked.fields.connection == 0) ASSERT_TRUE(same_line(checked.lines[0], make_line(next++, 0)));
  }
  EXPECT_EQ(next, steady_out);
}

// ---- two of them

TEST(NicNet, TwoOverABadNetworkGiveOnlyWhatWasSent) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    Nic a({.stalls_of_256 = 50, .seed = seed}), b({.own = kServerEnd, .stalls_of_256 = 50, .seed = seed + 100});
    for (uint16_t c = 0; c < 8; ++c) {
      ASSERT_EQ(a.open(c, make_entry(kServerEnd, c + 20, 100 + c, 200 + c, c % 4)), CommandResult::kOk);
      ASSERT_EQ(b.open(c + 20, make_entry(kClientEnd, c, 200 + c, 100 + c, c % 4)), CommandResult::kOk);
    }
    Network network(seed == 1 ? Weather{} : Weather{.loss = 10, .repeat = 10, .reorder = 10, .damage = 10}, seed);
    constexpr uint32_t kLines = 800;
    for (uint32_t i = 0; i < kLines; ++i)
      a.lines.send(make_line(i, i % 8), i % 4), b.lines.send(make_line(i, i % 8 + 20), i % 4);
    for (int cycle = 0; cycle < 4000; ++cycle) {
      a.cycle();
      b.cycle();
      network.move(a.network.out, b.network.in);
      network.move_back(b.network.out, a.network.in);
    }
    for (auto [nic, first] : {std::pair(&a, 0), std::pair(&b, 20)}) {
      std::set<uint32_t> calls;
      for (const ReceivedLine& line : nic->host.received) {
        ASSERT_LT(line.line.call, kLines);
        ASSERT_TRUE(same_line(line.line, make_line(line.line.call, static_cast<uint16_t>(line.line.call % 8 + first))));
        calls.insert(line.line.call);
      }
      EXPECT_GT(calls.size(), kLines * 7 / 10);
      if (seed == 1) EXPECT_EQ(nic->host.received.size(), kLines);
    }
    EXPECT_EQ(a.host.received.size() + b.host.received.size(),
              a.frames(FrameRefusal::kOk) + b.frames(FrameRefusal::kOk));
  }
}

}  // namespace
}  // namespace drover::rtl::nic
