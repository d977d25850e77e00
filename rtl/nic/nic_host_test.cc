// The NIC's host half between hosts and a network that brings each line back: whatever the interface, timing and
// configuration, every line comes once, in its flow's order, to the flow it is for.
#include <cstdlib>
#include <random>

#include "rtl/nic/nic_host_testing.h"

namespace drover::rtl {
namespace {

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
