// Two whole NICs, hosts with rings at either, and a network between them that may be bad: calls go out, are answered,
// and come back, each once and to its caller.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>

#include "rtl/testing/nic_ends.h"

namespace drover::rtl {
namespace {

using nic::NetworkRegisters;

LineSlot call_of(uint16_t connection, uint32_t call, uint32_t index, uint32_t lines) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = index + 1 == lines ? kLineLast : 0;
  line.function = static_cast<uint16_t>(call % 100);
  line.call = call;
  line.connection = connection;
  line.index = static_cast<uint8_t>(index);
  line.length = kLineArguments;
  for (size_t i = 0; i < kLineArguments; ++i)
    line.arguments[i] = static_cast<uint8_t>(call * 7 + connection + index + i);
  return line;
}

struct Case {
  TxInterface tx_interface = TxInterface::kCoherent;
  nic::Transport transport = nic::Transport::kReliable;
  NicWeather weather = {};
  BalancePolicy policy = BalancePolicy::kConnectionFlow;
  uint32_t connections = 8, flows = 4, calls = 60;
  uint32_t seed = 1;
  uint32_t stalls = 0;
  bool joined = false;
};

// A client and a server NIC. The client's flows send calls on connections of theirs; the server answers each line.
class TwoNics {
 public:
  explicit TwoNics(const Case& one)
      : case_(one),
        client_(options(one, 0), one.transport, kNicClient),
        server_(options(one, 100), one.transport, kNicServer),
        way_(&client_, &server_, one.weather, one.seed) {
    for (uint32_t flow = 0; flow < one.flows; ++flow) {
      client_.enable(flow);
      server_.enable(flow);
    }
    server_.set(offsetof(nic::ControlPage, flows_in_use), one.flows);
    server_.settle();
    for (uint16_t c = 0; c < one.connections; ++c) {
      auto flow = static_cast<uint8_t>(c % one.flows);
      client_.open(c, kNicServer, 1000 + c, 9000 + c, flow, BalancePolicy::kConnectionFlow);
      server_.open(c, kNicClient, 9000 + c, 1000 + c, flow, one.policy);
    }
  }

  // Until each call was answered, or for so many cycles. Checks all that comes.
  bool run(uint64_t cycles) {
    return client_.run_until(
        [&] { return send(), answer(), check(), answered_ == total() || ::testing::Test::HasFailure(); }, cycles);
  }
  size_t total() const { return size_t{case_.connections} * case_.calls; }
  size_t answered() const { return answered_; }
  NicEnd& client() { return client_; }
  // Told of each frame that the client's NIC sends, with its cycle.
  void watch(std::function<void(uint64_t, const NicFrame&)> watcher) {
    way_.watch([this, watcher = std::move(watcher)](const NicFrame& frame) { watcher(client_.cycles(), frame); });
  }
  NicEnd& server() { return server_; }

 private:
  static NicBenchOptions options(const Case& one, uint32_t more) {
    NicBenchOptions options{.tx_interface = one.tx_interface,
                            .joined = one.joined,
                            .flows = one.flows,
                            .tx_lines = 64,
                            .rx_lines = 64,
                            .stalls_of_256 = one.stalls,
                            .seed = one.seed + more,
                            .power_up_seed = one.seed + more + 1};
    options.reads.stalls_of_256 = options.writes.stalls_of_256 = one.stalls;
    return options;
  }
  // A call has as many lines as its number says; a connection's calls follow each other.
  uint32_t lines_of(uint32_t call) const { return 1 + call % 3; }
  void send() {
    for (uint16_t c = 0; c < case_.connections; ++c) {
      auto& [call, index] = sending_[c];
      if (call == case_.calls || !client_.send(c % case_.flows, call_of(c, call, index, lines_of(call)))) continue;
      if (++index == lines_of(call)) ++call, index = 0;
    }
  }
  // The server answers a call by its last line, on the connection's flow.
  void answer() {
    for (uint32_t flow = 0; flow < case_.flows; ++flow) {
      for (const LineSlot& line : std::exchange(server_.received(flow), {})) serve(flow, line);
      while (!answers_[flow].empty() && server_.send(flow, answers_[flow].front())) answers_[flow].pop_front();
    }
  }
  // A call's lines come to one flow, in order, each once. By connection_flow, so do a connection's calls.
  void serve(uint32_t flow, const LineSlot& line) {
    ASSERT_LT(line.connection, case_.connections);
    ASSERT_LT(line.call, case_.calls);
    LineSlot wanted = call_of(line.connection, line.call, line.index, lines_of(line.call));
    ASSERT_EQ(std::memcmp(&line.type, &wanted.type, kSlotSize - 4), 0);
    if (case_.policy == BalancePolicy::kConnectionFlow) {
      ASSERT_EQ(flow, line.connection % case_.flows);
      ASSERT_GE(line.call, in_order_[line.connection]);
      in_order_[line.connection] = line.call;
    }
    auto [at, fresh] = served_.try_emplace({line.connection, line.call}, flow, 0);
    auto& [first_flow, lines] = at->second;
    if (case_.transport == nic::Transport::kReliable) {
      ASSERT_EQ(line.index, lines) << "connection " << line.connection << " call " << line.call;
      ASSERT_EQ(flow, first_flow);
    }
    ++lines;
    ASSERT_LE(lines, lines_of(line.call));
    if ((line.flags & kLineLast) == 0) return;
    LineSlot response = call_of(line.connection, line.call, 0, 1);
    response.flags = kLineResponse | kLineLast;
    answers_[line.connection % case_.flows].push_back(response);
  }
  void check() {
    for (uint32_t flow = 0; flow < case_.flows; ++flow) {
      for (const LineSlot& line : std::exchange(client_.received(flow), {})) {
        ASSERT_EQ(line.flags, kLineResponse | kLineLast);
        ASSERT_EQ(flow, line.connection % case_.flows);
        ASSERT_TRUE(seen_.insert({line.connection, line.call}).second) << "call " << line.call << " answered twice";
        ++answered_;
      }
    }
  }

  Case case_;
  NicEnd client_, server_;
  NicNetwork way_;
  using Call = std::pair<uint16_t, uint32_t>;                  // connection, call
  std::map<uint16_t, std::pair<uint32_t, uint32_t>> sending_;  // by connection: call, line
  std::map<Call, std::pair<uint32_t, uint32_t>> served_;       // flow, lines
  std::map<uint16_t, uint32_t> in_order_;                      // the last call of each connection
  std::set<Call> seen_;                                        // answered
  std::map<uint32_t, std::deque<LineSlot>> answers_;           // by flow
  size_t answered_ = 0;
};

TEST(DroverNic, CallsAreAnsweredThroughEveryInterface) {
  for (TxInterface tx_interface :
       {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent, TxInterface::kCxl}) {
    SCOPED_TRACE(nic::tx_interface_name(tx_interface));
    TwoNics two({.tx_interface = tx_interface});
    EXPECT_TRUE(two.run(100'000)) << two.answered() << " of " << two.total();
    EXPECT_EQ(two.client().violations() + two.server().violations(), 0u);
  }
}

TEST(DroverNic, NoCallIsLostDoubledOrCrossedInBadWeather) {
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto some = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
    TwoNics two({.tx_interface = static_cast<TxInterface>(seed % 4),
                 .weather = {some(15), some(15), some(15), some(15)},
                 .policy = static_cast<BalancePolicy>(some(2)),
                 .connections = 1 + some(30),
                 .flows = 1 + some(5),
                 .calls = 30,
                 .seed = seed,
                 .stalls = some(1) * some(60)});
    EXPECT_TRUE(two.run(3'000'000)) << two.answered() << " of " << two.total();
    EXPECT_EQ(two.client().violations() + two.server().violations(), 0u);
  }
}

// Of its halves as of the module: each frame is the same, in the same cycle.
TEST(DroverNic, JoinedOfItsHalvesDoesTheSameInEachCycle) {
  for (TxInterface tx_interface :
       {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent, TxInterface::kCxl}) {
    SCOPED_TRACE(nic::tx_interface_name(tx_interface));
    std::vector<std::pair<uint64_t, NicFrame>> frames[2];
    for (bool joined : {false, true}) {
      TwoNics two({.tx_interface = tx_interface,
                   .weather = {.loss = 5, .repeat = 5, .reorder = 5, .damage = 5},
                   .calls = 30,
                   .stalls = 30,
                   .joined = joined});
      two.watch([&](uint64_t cycle, const NicFrame& frame) { frames[joined].emplace_back(cycle, frame); });
      EXPECT_TRUE(two.run(1'000'000)) << two.answered() << " of " << two.total();
    }
    EXPECT_GT(frames[0].size(), 1000u);
    EXPECT_TRUE(frames[0] == frames[1]);
  }
}

TEST(DroverNic, ConnectionsThatShareAPlaceInTheNicAreAllServed) {
  TwoNics two({.connections = 3 * DroverNic::kConnections, .calls = 5});
  EXPECT_TRUE(two.run(3'000'000)) << two.answered() << " of " << two.total();
  EXPECT_GT(two.client().network(offsetof(NetworkRegisters, evictions)), 0u);
}

TEST(DroverNic, TheUnreliableTransportLosesWhatTheNetworkLosesAndNothingElse) {
  for (TxInterface tx_interface :
       {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent, TxInterface::kCxl}) {
    SCOPED_TRACE(nic::tx_interface_name(tx_interface));
    TwoNics good({.tx_interface = tx_interface, .transport = nic::Transport::kUdp});
    EXPECT_TRUE(good.run(100'000)) << good.answered() << " of " << good.total();
  }
  TwoNics bad({.transport = nic::Transport::kUdp, .weather = {.loss = 10, .damage = 10}, .calls = 200});
  EXPECT_FALSE(bad.run(50'000));
  EXPECT_GT(bad.answered(), bad.total() / 4);  // a call of 3 lines and its answer: 0.8 ** 4
  EXPECT_LT(bad.answered(), bad.total());
}

}  // namespace
}  // namespace drover::rtl
