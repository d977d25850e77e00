// Which flow a line from the network goes to.
#include <map>
#include <random>
#include <set>

#include "rtl/nic/nic_host_testing.h"

namespace drover::rtl {
namespace {

// A message of so many lines for a connection, whose key (the first 8 bytes) is given.
std::vector<LineSlot> message_of(uint16_t connection, uint32_t call, uint64_t key, uint32_t lines = 1) {
  std::vector<LineSlot> message;
  for (uint32_t i = 0; i < lines; ++i) {
    LineSlot line = line_of(connection, call);
    line.index = static_cast<uint8_t>(i);
    line.flags = i + 1 == lines ? kLineLast : 0;
    if (i == 0) std::memcpy(line.arguments, &key, sizeof key);
    message.push_back(line);
  }
  return message;
}

// Offers lines in order; one that is refused is offered again before the next of its connection.
void offer(NicBench* bench, std::vector<LineSlot> lines, BalancePolicy policy) {
  for (const LineSlot& line : lines) {
    bool done = false;
    while (!done) {
      bool heard = false;
      bench->nic().offer({line, static_cast<uint8_t>(line.connection % 4), policy}, [&](bool taken) {
        heard = true;
        done = taken;
      });
      while (!heard) bench->step();
    }
  }
}

NicBenchOptions four_flows() { return {.tx_interface = TxInterface::kMmio, .flows = 4, .rx_lines = 256}; }

void enable_all(NicBench* bench, uint32_t in_use) {
  for (uint32_t flow = 0; flow < 4; ++flow) bench->enable(flow);
  bench->set(offsetof(nic::ControlPage, flows_in_use), in_use);
  bench->settle();
}

TEST(NicBalance, RoundRobinSpreadsMessagesEvenlyOverTheFlowsInUse) {
  for (uint32_t in_use : {1u, 3u, 4u}) {
    NicBench bench(four_flows());
    enable_all(&bench, in_use);
    for (uint32_t i = 0; i < 120; ++i) offer(&bench, message_of(9, i, i), BalancePolicy::kRoundRobin);
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == 120; }));
    for (uint32_t flow = 0; flow < 4; ++flow) {
      EXPECT_EQ(bench.received(flow).size(), flow < in_use ? 120 / in_use : 0) << flow << " of " << in_use;
    }
  }
}

TEST(NicBalance, RoundRobinPassesAFlowThatIsFull) {
  NicBench bench(four_flows());
  enable_all(&bench, 4);
  bench.pause(2, true);
  for (uint32_t i = 0; i < 3000; ++i) offer(&bench, message_of(9, i, i), BalancePolicy::kRoundRobin);
  size_t waiting = 256 + Nic::kFlowLines;  // in its ring, and in its FIFO
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 3000 - waiting; }));
  EXPECT_EQ(bench.counter(offsetof(nic::NicCounters, rx_refused)), 0u);
  bench.pause(2, false);
  ASSERT_TRUE(bench.run_until([&] { return bench.received() == 3000; }));
}

TEST(NicBalance, AMessagesLinesGoToOneFlow) {
  for (BalancePolicy policy : {BalancePolicy::kRoundRobin, BalancePolicy::kKeyHash, BalancePolicy::kConnectionFlow}) {
    NicBench bench(four_flows());
    enable_all(&bench, 4);
    std::mt19937_64 random(static_cast<uint64_t>(policy));
    // Messages of many connections, whose lines the network mixes.
    std::map<uint16_t, std::vector<LineSlot>> open;
    size_t lines = 0;
    for (uint32_t call = 0; call < 300 || !open.empty();) {
      auto connection = static_cast<uint16_t>(random() % 20 * 51);
      std::vector<LineSlot>& rest = open[connection];
      if (rest.empty() && call < 300) {
        rest = message_of(connection, call++, random(), 1 + random() % 5);
        lines += rest.size();
      }
      if (!rest.empty()) {
        offer(&bench, {rest.front()}, policy);
        rest.erase(rest.begin());
      }
      if (rest.empty()) open.erase(connection);
    }
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == lines; }));
    std::map<uint32_t, std::pair<uint32_t, uint32_t>> seen;  // by call: flow, lines
    for (uint32_t flow = 0; flow < 4; ++flow) {
      EXPECT_FALSE(bench.received(flow).empty());
      for (const LineSlot& line : bench.received(flow)) {
        auto [at, first] = seen.try_emplace(line.call, flow, 0);
        ASSERT_EQ(at->second.first, flow) << "call " << line.call;
        ASSERT_EQ(line.index, at->second.second++);
        if (policy == BalancePolicy::kConnectionFlow) {
          ASSERT_EQ(flow, line.connection % 4u);
        }
      }
    }
  }
}

// Connections whose numbers are 1,024 apart would share what the NIC remembers of a message's first line.
TEST(NicBalance, ConnectionsBeyondTheNicsOwnMixNoMessages) {
  for (BalancePolicy policy : {BalancePolicy::kRoundRobin, BalancePolicy::kKeyHash}) {
    NicBench bench(four_flows());
    enable_all(&bench, 4);
    bench.set(offsetof(nic::ControlPage, key), nic::KeyRegister{.offset = 0, .length = 8}.encode());
    bench.settle();
    std::mt19937_64 random(static_cast<uint64_t>(policy));
    size_t lines = 0;
    for (uint32_t round = 0; round < 100; ++round) {
      // One message each of connections 7, 1031 and 64,519, a line of each in turn.
      std::vector<std::vector<LineSlot>> messages;
      for (uint16_t connection : {uint16_t{7}, uint16_t{7 + 1024}, uint16_t{7 + 63 * 1024}}) {
        messages.push_back(message_of(connection, connection << 8 | round, random(), 3));
      }
      for (uint32_t i = 0; i < 3; ++i) {
        for (const auto& message : messages) offer(&bench, {message[i]}, policy);
      }
      lines += 9;
      offer(&bench, message_of(1024 + 9, round, random()), policy);
      lines += 1;
    }
    ASSERT_TRUE(bench.run_until([&] { return bench.received() == lines; }));
    std::map<uint32_t, uint32_t> flow_of;             // by call, of messages of several lines
    std::map<uint16_t, std::set<uint32_t>> flows_of;  // by connection
    for (uint32_t flow = 0; flow < 4; ++flow) {
      for (const LineSlot& line : bench.received(flow)) {
        flows_of[line.connection].insert(flow);
        if (line.connection == 1024 + 9) continue;
        ASSERT_EQ(flow_of.try_emplace(line.call, flow).first->second, flow) << "call " << line.call;
      }
    }
    EXPECT_GE(flows_of[7].size(), 2u);
    EXPECT_GE(flows_of[1024 + 9].size(), 2u) << "a message of one line needs no memory of its flow";
    EXPECT_EQ(flows_of[7 + 1024], std::set<uint32_t>{(7 + 1024) % 4}) << "the connection's flow";
    EXPECT_EQ(flows_of[7 + 63 * 1024], std::set<uint32_t>{(7 + 63 * 1024) % 4});
  }
}

TEST(NicBalance, AKeyGoesToTheFlowThatTheDriverComputes) {
  for (uint32_t in_use : {1u, 3u, 4u}) {
    for (nic::KeyRegister key : {nic::KeyRegister{.offset = 0, .length = 8}, nic::KeyRegister{.offset = 5, .length = 3},
                                 nic::KeyRegister{.offset = 40, .length = 63}}) {
      NicBench bench(four_flows());
      enable_all(&bench, in_use);
      bench.set(offsetof(nic::ControlPage, key), key.encode());
      bench.settle();
      std::mt19937_64 random(in_use);
      for (uint32_t i = 0; i < 200; ++i) {
        LineSlot line = line_of(7, i);
        for (uint8_t& byte : line.arguments) byte = static_cast<uint8_t>(random());
        offer(&bench, {line}, BalancePolicy::kKeyHash);
      }
      ASSERT_TRUE(bench.run_until([&] { return bench.received() == 200; }));
      for (uint32_t flow = 0; flow < 4; ++flow) {
        for (const LineSlot& line : bench.received(flow)) {
          ASSERT_EQ(flow, nic_key_flow(line.arguments, key, in_use));
        }
      }
    }
  }
}

TEST(NicBalance, UsualKeysSpread) {
  for (uint32_t flows : {2u, 5u, 16u, 64u}) {
    for (uint64_t step : {uint64_t{1}, uint64_t{64}, uint64_t{1} << 32}) {
      std::vector<uint32_t> count(flows);
      for (uint64_t i = 0; i < 1000 * flows; ++i) {
        uint8_t arguments[kLineArguments] = {};
        uint64_t key = i * step;
        std::memcpy(arguments, &key, sizeof key);
        ++count.at(nic_key_flow(arguments, {.offset = 0, .length = 8}, flows));
      }
      for (uint32_t flow = 0; flow < flows; ++flow) {
        EXPECT_GT(count[flow], 500u) << flows << " flows, keys " << step << " apart";
        EXPECT_LT(count[flow], 1500u);
      }
    }
  }
}

}  // namespace
}  // namespace drover::rtl
