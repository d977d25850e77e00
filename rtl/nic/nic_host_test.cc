// The NIC's host half between hosts and a network that brings each line back: whatever the interface, timing and
// configuration, every line comes once, in its flow's order, to the flow it is for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "rtl/testing/nic_bench.h"

namespace drover::rtl {
namespace {

constexpr TxInterface kInterfaces[] = {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent,
                                       TxInterface::kCxl};

LineSlot line_of(uint32_t flow, uint32_t call) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = kLineLast;
  line.function = static_cast<uint16_t>(call * 7);
  line.call = call;
  line.connection = static_cast<uint16_t>(flow);
  line.length = kLineArguments;
  for (size_t i = 0; i < kLineArguments; ++i) line.arguments[i] = static_cast<uint8_t>(call * 31 + flow * 17 + i);
  return line;
}

bool same(const LineSlot& a, const LineSlot& b) {  // but for the ring's sequence
  return std::memcmp(reinterpret_cast<const char*>(&a) + 4, reinterpret_cast<const char*>(&b) + 4, 60) == 0;
}

// The flow got `count` lines of its own, from call 0 on.
void expect_own_lines(NicBench* bench, uint32_t flow, uint32_t count) {
  const std::vector<LineSlot>& lines = bench->received(flow);
  ASSERT_EQ(lines.size(), count) << "flow " << flow;
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_TRUE(same(lines[i], line_of(flow, i))) << "flow " << flow << " line " << i;
}

// Sends `count` lines on each flow, as fast as rings allow, `burst` for each announcement.
bool send_all(NicBench* bench, uint32_t flows, uint32_t count, uint32_t burst = 1, uint64_t cycles = 200'000) {
  std::vector<uint32_t> sent(flows);
  return bench->run_until(
      [&] {
        for (uint32_t flow = 0; flow < flows; ++flow) {
          if (sent[flow] < count && bench->send(flow, line_of(flow, sent[flow]), false)) ++sent[flow];
          if (sent[flow] % burst == 0 || sent[flow] == count || bench->sender(flow).room() == 0) bench->announce(flow);
        }
        return bench->received() == size_t{flows} * count;
      },
      cycles);
}

TEST(NicHost, BringsALineBackThroughEveryInterface) {
  for (TxInterface tx_interface : kInterfaces) {
    SCOPED_TRACE(nic::tx_interface_name(tx_interface));
    NicBench bench({.tx_interface = tx_interface});
    bench.enable(0);
    ASSERT_TRUE(send_all(&bench, 1, 1));
    expect_own_lines(&bench, 0, 1);
    EXPECT_EQ(bench.violations(), 0u);
  }
}

TEST(NicHost, KeepsEveryLineOnceAndInOrderUnderStalls) {
  int rounds = std::getenv("DROVER_RTL_ROUNDS") ? std::atoi(std::getenv("DROVER_RTL_ROUNDS")) : 3;
  for (TxInterface tx_interface : kInterfaces) {
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(testing::Message() << nic::tx_interface_name(tx_interface) << " round " << round);
      std::mt19937_64 random(static_cast<uint64_t>(round) * 4 + static_cast<uint64_t>(tx_interface));
      auto up_to = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
      NicBenchOptions options{.tx_interface = tx_interface, .flows = 1 + up_to(7)};
      options.tx_lines = 16u << up_to(4);
      options.rx_lines = 16u << up_to(4);
      options.stalls_of_256 = up_to(1) * up_to(150);
      options.seed = random();
      options.power_up_seed = up_to(1000);
      options.reads = {.latency = 1 + up_to(60),
                       .cached = 1 + up_to(4),
                       .snoop = 1 + up_to(30),
                       .stalls_of_256 = up_to(1) * up_to(150),
                       .seed = random()};
      options.writes = {.latency = 1 + up_to(60), .stalls_of_256 = up_to(1) * up_to(150), .seed = random()};
      NicBench bench(options);
      bench.set(offsetof(nic::ControlPage, batch), nic::BatchRegister{.tx_lines = static_cast<uint8_t>(1 + up_to(15)),
                                                                      .adaptive = up_to(1) != 0,
                                                                      .rx_lines = static_cast<uint8_t>(1 + up_to(15)),
                                                                      .rx_timeout = static_cast<uint16_t>(up_to(200))}
                                                       .encode());
      bench.set(offsetof(nic::ControlPage, poll), nic::PollRegister{.threshold = static_cast<uint16_t>(up_to(40)),
                                                                    .window = static_cast<uint16_t>(1 + up_to(300)),
                                                                    .interval = static_cast<uint16_t>(up_to(60)),
                                                                    .ahead = static_cast<uint8_t>(1 + up_to(7))}
                                                      .encode());
      for (uint32_t flow = 0; flow < options.flows; ++flow) bench.enable(flow);
      ASSERT_TRUE(send_all(&bench, options.flows, 300, 1 + up_to(10)));
      for (uint32_t flow = 0; flow < options.flows; ++flow) expect_own_lines(&bench, flow, 300);
      EXPECT_EQ(bench.counter(offsetof(nic::NicCounters, tx_lines)), 300 * options.flows);
      EXPECT_EQ(bench.counter(offsetof(nic::NicCounters, rx_lines)), 300 * options.flows);
      EXPECT_EQ(bench.violations(), 0u);
    }
  }
}

}  // namespace
}  // namespace drover::rtl
