// What hosts may do wrong, rings that are full, flows that come and go: one flow's trouble stays its own.
#include <random>

#include "rtl/nic/nic_host_testing.h"

namespace drover::rtl {
namespace {

#define COUNTER(bench, name) (bench).counter(offsetof(nic::NicCounters, name))

void steps(NicBench* bench, int cycles) {
  for (int i = 0; i < cycles; ++i) bench->step();
}
void load_and_expect(NicBench* bench, uint32_t address, uint64_t value) {
  EXPECT_EQ(bench->nic().load64_now(address), value) << std::hex << address;
}

// ---- registers

TEST(NicRegisters, ReadWhatWasWrittenWithinTheirLimits) {
  NicBench bench({});
  auto expect = [&](size_t at, uint64_t written, uint64_t read) {
    bench.set(at, written);
    bench.settle();
    load_and_expect(&bench, nic_control(at), read);
  };
  nic::HardRegister hard{.tx_interface = TxInterface::kCoherent,
                         .threading = nic::Threading::kAsynchronous,
                         .flows = Nic::kFlows,
                         .flow_lines = Nic::kFlowLines};
  load_and_expect(&bench, nic_control(offsetof(nic::ControlPage, hard)), hard.encode());
  expect(offsetof(nic::ControlPage, flows_in_use), 3, 3);
  expect(offsetof(nic::ControlPage, flows_in_use), 0, 1);
  expect(offsetof(nic::ControlPage, flows_in_use), 1000, Nic::kFlows);
  nic::BatchRegister batch{.tx_lines = 7, .adaptive = true, .rx_lines = 16, .rx_timeout = 999};
  expect(offsetof(nic::ControlPage, batch), batch.encode(), batch.encode());
  nic::BatchRegister most{.tx_lines = 16, .adaptive = true, .rx_lines = 16, .rx_timeout = 0xffff};
  expect(offsetof(nic::ControlPage, batch), ~uint64_t{0}, most.encode());
  expect(offsetof(nic::ControlPage, batch), 0, nic::BatchRegister{.tx_lines = 1, .rx_lines = 1}.encode());
  nic::PollRegister poll{.threshold = 1, .window = 2, .interval = 3, .ahead = 8};
  expect(offsetof(nic::ControlPage, poll), poll.encode(), poll.encode());
  poll.ahead = 15;
  expect(offsetof(nic::ControlPage, poll), poll.encode(),
         nic::PollRegister{.threshold = 1, .window = 2, .interval = 3, .ahead = 8}.encode());
  nic::IntervalRegister interval{.publish = 5, .look = 6, .refresh = 7};
  expect(offsetof(nic::ControlPage, interval), interval.encode(), interval.encode());
  nic::KeyRegister key{.offset = 3, .length = 9};
  expect(offsetof(nic::ControlPage, key), key.encode(), key.encode());
  EXPECT_EQ(bench.nic().stores_refused(), 0u);
}

TEST(NicRegisters, RingsAndAddressesAreBroughtWithinTheirLimits) {
  NicBench bench({});
  auto expect = [&](uint32_t flow, size_t at, uint64_t written, uint64_t read) {
    bench.store(nic_flow_register(flow, at), written);
    bench.settle();
    load_and_expect(&bench, nic_flow_register(flow, at), read);
  };
  for (size_t at : {offsetof(nic::FlowRegisters, tx_ring), offsetof(nic::FlowRegisters, rx_ring)}) {
    expect(3, at, nic_ring_word(0x123456789000, 1024), nic_ring_word(0x123456789000, 1024));
    expect(3, at, nic::RingRegister{.lines_log = 2, .page = 5}.encode(),
           nic::RingRegister{.lines_log = nic::kMinRingLog, .page = 5}.encode());
    expect(15, at, nic::RingRegister{.lines_log = 31, .page = 5}.encode(),
           nic::RingRegister{.lines_log = nic::kMaxRingLog, .page = 5}.encode());
  }
  expect(0, offsetof(nic::FlowRegisters, tx_position), 0xabcdef7f, 0xabcdef40);
  expect(1, offsetof(nic::FlowRegisters, rx_position), 0xabcdef3f, 0xabcdef00);
}

TEST(NicRegisters, StoresElsewhereAreAnsweredWithAnErrorAndChangeNothing) {
  NicBench bench({});
  char line[64] = {};
  auto refused = [&](uint32_t address, size_t size) {
    uint64_t before = bench.nic().stores_refused();
    bench.nic().store(address, line, size);
    bench.settle();
    return bench.nic().stores_refused() - before == 1;
  };
  EXPECT_TRUE(refused(nic_control(offsetof(nic::ControlPage, hard)), 8));
  EXPECT_TRUE(refused(nic_control(offsetof(nic::ControlPage, batch)), 4));          // not the whole register
  EXPECT_TRUE(refused(nic_control(offsetof(nic::ControlPage, batch)) & ~63u, 64));  // more than one
  EXPECT_TRUE(refused(nic_control(sizeof(nic::ControlPage)), 8));
  EXPECT_TRUE(refused(nic_flow_register(Nic::kFlows, 0), 8));
  EXPECT_TRUE(refused(nic_flow_register(0, offsetof(nic::FlowRegisters, status)), 8));
  EXPECT_TRUE(refused(nic_counter(0), 8));
  EXPECT_TRUE(refused(nic_window(0), 64));   // not of this interface
  EXPECT_TRUE(refused(nic_doorbell(0), 8));  // neither
  EXPECT_TRUE(refused(nic_window(Nic::kFlows), 64));
  EXPECT_TRUE(refused(nic::kNetworkAt + nic::kNetworkBytes, 8));
  EXPECT_TRUE(refused(nic::kMmioBytes - 8, 8));
  EXPECT_FALSE(refused(nic_control(offsetof(nic::ControlPage, batch)), 8));
}

TEST(NicRegisters, TheNetworkHalfsGoThroughInOrder) {
  NicBench bench({});
  std::vector<std::pair<uint32_t, uint64_t>> written;
  bench.nic().on_register([&](bool write, uint16_t address, uint64_t value) {
    if (write) written.emplace_back(address, value);
    return uint64_t{address} + 1000 + written.size();
  });
  for (uint32_t i = 0; i < 6; ++i) bench.store(nic::kNetworkAt + 8 * i, i * 11);
  bench.settle();
  for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(written.at(i), std::make_pair(8 * i, uint64_t{i} * 11));
  load_and_expect(&bench, nic::kNetworkAt + 0xfff8, 0xfff8 + 1000 + 6);
}

// ---- stores into windows

TEST(NicStore, WhatFindsNoRoomIsDroppedAndCounted) {
  NicBench bench({.tx_interface = TxInterface::kMmio, .flows = 2});
  bench.enable(0);
  bench.enable(1);
  bench.hold(true);
  LineSlot line = line_of(0, 0);
  for (uint32_t i = 0; i < 100; ++i) {  // a host that looks at no position
    line = line_of(0, i);
    bench.nic().store(nic_window(0), &line, 64);
  }
  bench.settle();
  EXPECT_TRUE(bench.send(1, line_of(1, 0)));  // the slave and the other flow go on
  bench.settle();
  bench.hold(false);
  uint64_t dropped = COUNTER(bench, tx_no_room);
  EXPECT_GE(dropped, 100 - Nic::kFlowLines - 8);  // 4 lines in the output
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 101 - dropped; }, 1000));
  bench.received(0).resize(100 - dropped);
  expect_own_lines(&bench, 0, static_cast<uint32_t>(100 - dropped));  // those that had room are the first
  expect_own_lines(&bench, 1, 1);
}

TEST(NicStore, PartsOfLinesAndLinesOfDisabledFlowsAreDropped) {
  NicBench bench({.tx_interface = TxInterface::kMmio, .flows = 2});
  bench.enable(0);
  LineSlot line = line_of(0, 0);
  bench.nic().store(nic_window(0), &line, 32);
  bench.nic().store(nic_window(0) + 32, &line, 32);
  bench.nic().store(nic_window(1), &line, 64);
  ASSERT_TRUE(bench.send(0, line));
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 1; }, 300));
  EXPECT_EQ(COUNTER(bench, tx_partial), 2u);
  EXPECT_EQ(COUNTER(bench, tx_disabled), 1u);
  EXPECT_EQ(COUNTER(bench, tx_lines), 1u);
}

TEST(NicCxl, TakesLinesInTheirOrderHoweverTheyAreWritten) {
  NicBench bench({.tx_interface = TxInterface::kCxl});
  bench.enable(0);
  std::mt19937_64 random(5);
  for (uint32_t base = 0; base < 10 * Nic::kFlowLines; base += Nic::kFlowLines) {
    // A ring's lines, whole or in parts of which the one with the sequence comes last, in any order of lines.
    std::vector<uint32_t> order(Nic::kFlowLines);
    for (uint32_t i = 0; i < Nic::kFlowLines; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (uint32_t i : order) {
      LineSlot line = line_of(0, base + i);
      line.sequence = base / Nic::kFlowLines + 1;
      const char* bytes = reinterpret_cast<const char*>(&line);
      uint32_t at = nic_window(0) + i * 64;
      if (random() % 2 != 0) {
        bench.nic().store(at, bytes, 64);
      } else {
        bench.nic().store(at + 8, bytes + 8, 24);
        bench.nic().store(at + 32, bytes + 32, 32);
        bench.nic().store(at, bytes, 8);
      }
    }
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == base + Nic::kFlowLines; }, 2000));
  }
  expect_own_lines(&bench, 0, 10 * Nic::kFlowLines);
}

TEST(NicCxl, TheHostReadsWhatItWrote) {
  NicBench bench({.tx_interface = TxInterface::kCxl, .flows = 2});
  bench.enable(0);
  bench.enable(1);
  for (uint64_t i = 0; i < Nic::kFlowLines * 8; ++i) bench.store(nic_window(1) + static_cast<uint32_t>(i) * 8, i << 32);
  ASSERT_TRUE(send_all(&bench, 1, 50));  // beside traffic
  for (uint64_t i = 0; i < Nic::kFlowLines * 8; ++i) {
    load_and_expect(&bench, nic_window(1) + static_cast<uint32_t>(i) * 8, i << 32);
  }
}

// ---- positions that cannot be, and reads that fail: that flow stops, and begins anew when it is enabled again

void expect_stopped_alone(NicBench* bench, nic::FlowStop tx_stop, nic::FlowStop rx_stop) {
  steps(bench, 600);
  EXPECT_EQ(bench->status(0).tx_stop, tx_stop);
  EXPECT_EQ(bench->status(0).rx_stop, rx_stop);
  EXPECT_EQ(bench->status(1).tx_stop, nic::FlowStop::kNone);
  EXPECT_EQ(bench->status(1).rx_stop, nic::FlowStop::kNone);
  uint32_t before = static_cast<uint32_t>(bench->received(1).size());
  for (uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(bench->run_until([&] { return bench->send(1, line_of(1, before + i)); }));
  }
  ASSERT_TRUE(bench->run_until([&] { return bench->received(1).size() == before + 200; }));
  expect_own_lines(bench, 1, before + 200);
}
void expect_begins_anew(NicBench* bench) {
  bench->disable(0);
  bench->enable(0);
  bench->received(0).clear();
  for (uint32_t i = 0; i < 40; ++i) ASSERT_TRUE(bench->run_until([&] { return bench->send(0, line_of(0, i)); }));
  ASSERT_TRUE(bench->run_until([&] { return bench->received(0).size() == 40; }));
  expect_own_lines(bench, 0, 40);
  EXPECT_EQ(bench->status(0).tx_stop, nic::FlowStop::kNone);
  EXPECT_EQ(bench->violations(), 0u);
}

TEST(NicStop, ADoorbellBeyondTheRingOrBackwards) {
  for (uint64_t position : {uint64_t{65}, ~uint64_t{0}, uint64_t{4}, uint64_t{1} << 40}) {
    SCOPED_TRACE(position);
    NicBench bench({.tx_interface = TxInterface::kDoorbell, .flows = 2, .tx_lines = 64});
    bench.enable(0);
    bench.enable(1);
    if (position == 4) {  // backwards
      ASSERT_TRUE(send_all(&bench, 1, 8));
    }
    bench.store(nic_doorbell(0), position);
    expect_stopped_alone(&bench, nic::FlowStop::kPosition, nic::FlowStop::kNone);
    expect_begins_anew(&bench);
  }
}

TEST(NicStop, ADoorbellForALineThatIsNotThere) {
  NicBench bench({.tx_interface = TxInterface::kDoorbell, .flows = 2});
  bench.enable(0);
  bench.enable(1);
  bench.store(nic_doorbell(0), 3);
  expect_stopped_alone(&bench, nic::FlowStop::kSequence, nic::FlowStop::kNone);
  EXPECT_TRUE(bench.received(0).empty());
  expect_begins_anew(&bench);
}

TEST(NicStop, AReadOfATxRingThatFails) {
  for (TxInterface tx_interface : {TxInterface::kDoorbell, TxInterface::kCoherent}) {
    NicBench bench({.tx_interface = tx_interface, .flows = 2});
    bool broken = false;
    bench.reads().refuse([&](uint64_t address) { return broken && address == bench.layout(0).tx_ring + 5 * 64; });
    bench.enable(0);
    bench.enable(1);
    ASSERT_TRUE(bench.send(0, line_of(0, 0)));
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == 1; }, 500));
    broken = true;
    for (uint32_t i = 1; i < 10; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
    expect_stopped_alone(&bench, nic::FlowStop::kBus, nic::FlowStop::kNone);
    expect_own_lines(&bench, 0, 5);  // those before it
    broken = false;
    expect_begins_anew(&bench);
  }
}

TEST(NicStop, AnRxPositionThatCannotBe) {
  for (uint64_t position : {uint64_t{17}, ~uint64_t{0}, uint64_t{1} << 33}) {
    NicBench bench({.tx_interface = TxInterface::kMmio, .flows = 2, .rx_lines = 16, .lossy = 1});
    bench.enable(0);
    bench.enable(1);
    bench.pause(0, true);
    bench.position(bench.layout(0).rx_position)->position = position;
    for (uint32_t i = 0; i < 16; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
    ASSERT_TRUE(bench.run_until([&] { return COUNTER(bench, positions_read) != 0; }, 1000));
    expect_stopped_alone(&bench, nic::FlowStop::kNone, nic::FlowStop::kPosition);
    bench.pause(0, false);
    expect_begins_anew(&bench);
  }
}

TEST(NicStop, AReadOfAnRxPositionThatFails) {
  NicBench bench({.tx_interface = TxInterface::kMmio, .flows = 2, .rx_lines = 16, .lossy = 1});
  bool broken = true;
  bench.reads().refuse([&](uint64_t address) { return broken && address == bench.layout(0).rx_position; });
  bench.enable(0);
  bench.enable(1);
  for (uint32_t i = 0; i < 16; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  expect_stopped_alone(&bench, nic::FlowStop::kNone, nic::FlowStop::kBus);
  broken = false;
  expect_begins_anew(&bench);
}

TEST(NicStop, AWriteThatFails) {
  NicBench bench({.tx_interface = TxInterface::kMmio, .flows = 2, .lossy = 1, .refuse_write_of = 0});
  bench.enable(0);
  bench.enable(1);
  bench.break_writes(true);
  for (uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(bench.send(0, line_of(0, i)));
  expect_stopped_alone(&bench, nic::FlowStop::kBus, nic::FlowStop::kBus);  // position, lines
  bench.break_writes(false);
  expect_begins_anew(&bench);
}

// ---- full rings

TEST(NicHost, AFullRxRingStopsItsFlowAlone) {
  for (TxInterface tx_interface : kInterfaces) {
    NicBench bench({.tx_interface = tx_interface, .flows = 3, .rx_lines = 16});
    for (uint32_t flow = 0; flow < 3; ++flow) bench.enable(flow);
    bench.pause(1, true);
    std::vector<uint32_t> sent(3);
    auto send = [&] {
      for (uint32_t flow = 0; flow < 3; ++flow) {
        if (sent[flow] < 300 && bench.send(flow, line_of(flow, sent[flow]))) ++sent[flow];
      }
    };
    ASSERT_TRUE(
        bench.run_until([&] { return send(), bench.received(0).size() == 300 && bench.received(2).size() == 300; }));
    EXPECT_TRUE(bench.received(1).empty());
    EXPECT_GE(COUNTER(bench, rx_refused), 1u);
    bench.pause(1, false);
    ASSERT_TRUE(bench.run_until([&] { return send(), bench.received(1).size() == 300; }));
    for (uint32_t flow = 0; flow < 3; ++flow) expect_own_lines(&bench, flow, 300);
    EXPECT_EQ(COUNTER(bench, rx_dropped), 0u);
  }
}

TEST(NicHost, AFlowThatTheNetworkHoldsBackStopsNoOther) {
  for (TxInterface tx_interface : kInterfaces) {
    NicBench bench({.tx_interface = tx_interface, .flows = 3});
    for (uint32_t flow = 0; flow < 3; ++flow) bench.enable(flow);
    bench.nic().allow(~uint64_t{0b010});
    std::vector<uint32_t> sent(3);
    auto send = [&] {
      for (uint32_t flow = 0; flow < 3; ++flow) {
        if (sent[flow] < 300 && bench.send(flow, line_of(flow, sent[flow]))) ++sent[flow];
      }
    };
    ASSERT_TRUE(
        bench.run_until([&] { return send(), bench.received(0).size() == 300 && bench.received(2).size() == 300; }));
    EXPECT_TRUE(bench.received(1).empty());
    bench.nic().allow(~uint64_t{0});
    ASSERT_TRUE(bench.run_until([&] { return send(), bench.received(1).size() == 300; }));
    for (uint32_t flow = 0; flow < 3; ++flow) expect_own_lines(&bench, flow, 300);
  }
}

// ---- flows that come and go, and configuration that changes, while others run

TEST(NicHost, ConfigurationChangesWhileLinesFlow) {
  for (TxInterface tx_interface : kInterfaces) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(testing::Message() << nic::tx_interface_name(tx_interface) << " seed " << seed);
      constexpr uint32_t kFlows = 5;
      NicBench bench({.tx_interface = tx_interface,
                      .flows = kFlows,
                      .rx_lines = 32,
                      .stalls_of_256 = 30,
                      .lossy = 0b11000,
                      .seed = seed});
      std::mt19937_64 random(seed);
      for (uint32_t flow = 0; flow < kFlows; ++flow) bench.enable(flow);
      std::vector<uint32_t> sent(kFlows);
      // Flows 0 to 2 keep on; 3 and 4 end whatever they do, and begin anew.
      for (int round = 0; round < 60; ++round) {
        bench.set(offsetof(nic::ControlPage, batch), random());
        nic::PollRegister poll = nic::PollRegister::decode(random());
        poll.window %= 300, poll.interval %= 100, poll.threshold %= 50;
        bench.set(offsetof(nic::ControlPage, poll), poll.encode());
        bench.set(offsetof(nic::ControlPage, interval),
                  nic::IntervalRegister{.publish = static_cast<uint16_t>(random() % 400),
                                        .look = static_cast<uint16_t>(random() % 300)}
                      .encode());
        bench.set(offsetof(nic::ControlPage, flows_in_use), random() % 20);
        uint32_t resting = 3 + round % 2;
        bench.disable(resting);
        bench.received(resting).clear();
        bench.enable(resting);
        sent[resting] = 0;
        for (int cycle = 0; cycle < 150; ++cycle) {
          for (uint32_t flow = 0; flow < kFlows; ++flow) {
            bool mine = flow < 3 && sent[flow] - bench.received(flow).size() < 8;  // so that none is refused
            if ((mine || flow >= 3) && bench.send(flow, line_of(flow, sent[flow]))) ++sent[flow];
          }
          bench.step();
        }
        const std::vector<LineSlot>& lines = bench.received(resting);
        for (size_t i = 0; i < lines.size(); ++i) {
          ASSERT_TRUE(lines[i].connection == resting && (i == 0 || lines[i].call > lines[i - 1].call));
        }
      }
      ASSERT_TRUE(bench.run_until([&] {
        return std::ranges::all_of(std::array{0u, 1u, 2u},
                                   [&](uint32_t flow) { return bench.received(flow).size() == sent[flow]; });
      }));
      for (uint32_t flow = 0; flow < 3; ++flow) expect_own_lines(&bench, flow, sent[flow]);
      EXPECT_EQ(bench.violations(), 0u);
    }
  }
}

}  // namespace
}  // namespace drover::rtl
