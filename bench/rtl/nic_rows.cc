// The NIC's rows of `make bench-rtl`: its host half in simulation, as JSON on the standard output.
//
// A case is an interface, flows with lines to send at any time, and lines for each read and burst. Host memory answers
// after 100 cycles (250 ns at 400 MHz) and takes a beat in every cycle; the network brings each line back.
// cycles_per_rpc is what a 64-byte line takes out and in at the same time, with all of it busy; latency_cycles is what
// one line takes from the host's store (coherent: from the store's invalidation, 20 cycles later) to its RX ring, when
// nothing else moves.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/rtl/rows.h"
#include "rtl/testing/nic_bench.h"
#include "rtl/testing/nic_ends.h"

namespace {
using namespace drover;
using namespace drover::rtl;
using bench::kNone;

constexpr uint32_t kMemoryCycles = 100, kSnoopCycles = 20;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "nic_rows: %s\n", what.c_str());
  std::exit(1);
}

LineSlot line_of(uint32_t flow, uint32_t call) {
  LineSlot line{};
  line.type = kLineType;
  line.flags = kLineLast;
  line.call = call;
  line.connection = static_cast<uint16_t>(flow);
  line.length = kLineArguments;
  return line;
}

NicBenchOptions options(TxInterface tx_interface, uint32_t flows) {
  return {.tx_interface = tx_interface,
          .flows = flows,
          .tx_lines = 1024,
          .rx_lines = 1024,
          .reads = {.latency = kMemoryCycles, .cached = 10, .snoop = kSnoopCycles, .in_flight = 256},
          .writes = {.latency = kMemoryCycles, .in_flight = 256}};
}
void configure(NicHosts* bench, uint32_t flows, uint8_t lines) {
  bench->set(offsetof(nic::ControlPage, batch),
             nic::BatchRegister{.tx_lines = lines, .rx_lines = lines, .rx_timeout = 100}.encode());
  bench->set(offsetof(nic::ControlPage, poll),
             nic::PollRegister{.threshold = 4, .window = 1000, .interval = 50, .ahead = 8}.encode());
  for (uint32_t flow = 0; flow < flows; ++flow) bench->enable(flow);
}

double cycles_per_rpc(TxInterface tx_interface, uint32_t flows, uint8_t lines) {
  constexpr size_t kWarm = 8000, kMeasured = 32000;
  NicBench bench(options(tx_interface, flows));
  configure(&bench, flows, lines);
  std::vector<uint32_t> sent(flows);
  uint64_t begin = 0;
  bool done = bench.run_until(
      [&] {
        for (uint32_t flow = 0; flow < flows; ++flow) {
          for (int i = 0; i < 4 && bench.send(flow, line_of(flow, sent[flow]), false); ++i) ++sent[flow];
          bench.announce(flow);
        }
        if (begin == 0 && bench.received() >= kWarm) begin = bench.nic().cycles();
        return bench.received() >= kWarm + kMeasured;
      },
      8'000'000);
  if (!done || bench.violations() != 0) fail("lines were lost, or a protocol broken");
  return static_cast<double>(bench.nic().cycles() - begin) / kMeasured;
}

double latency(TxInterface tx_interface) {
  NicBench bench(options(tx_interface, 1));
  configure(&bench, 1, 1);
  uint64_t cycles = 0;
  constexpr uint32_t kCalls = 20;
  for (uint32_t i = 0; i < kCalls; ++i) {
    for (int pause = 0; pause < 1500; ++pause) bench.step();
    uint64_t begin = bench.nic().cycles();
    if (!bench.send(0, line_of(0, i))) fail("a ring is full");
    if (!bench.run_until([&] { return bench.received() == i + 1; })) fail("a line was lost");
    cycles += bench.nic().cycles() - begin;
  }
  return static_cast<double>(cycles) / kCalls;
}

// Two whole NICs that send to each other at once, 16 connections and flows: cycles of a line out and one in, at either.
double whole_cycles_per_rpc(TxInterface tx_interface, nic::Transport transport) {
  constexpr uint32_t kConnections = 16;
  constexpr size_t kWarm = 4000, kMeasured = 16000;
  NicEnd a(options(tx_interface, kConnections), transport, kNicClient);
  NicEnd b(options(tx_interface, kConnections), transport, kNicServer);
  configure(&a, kConnections, 16);
  configure(&b, kConnections, 16);
  for (uint16_t c = 0; c < kConnections; ++c) {
    a.open(c, kNicServer, 100 + c, 200 + c, static_cast<uint8_t>(c), BalancePolicy::kConnectionFlow);
    b.open(c, kNicClient, 200 + c, 100 + c, static_cast<uint8_t>(c), BalancePolicy::kConnectionFlow);
  }
  NicNetwork network(&a, &b, {}, 1);
  std::vector<uint32_t> sent(2 * kConnections);
  uint64_t begin = 0;
  auto send = [&](NicEnd* end, uint32_t* count) {
    for (uint32_t flow = 0; flow < kConnections; ++flow) {
      for (int i = 0; i < 4 && end->send(flow, line_of(flow, count[flow]), false); ++i) ++count[flow];
      end->announce(flow);
    }
  };
  bool done = a.run_until(
      [&] {
        send(&a, sent.data());
        send(&b, sent.data() + kConnections);
        if (begin == 0 && a.received() >= kWarm && b.received() >= kWarm) begin = a.nic().cycles();
        return a.received() >= kWarm + kMeasured && b.received() >= kWarm + kMeasured;
      },
      1'000'000);
  if (!done || a.violations() + b.violations() != 0) fail("lines were lost, or a protocol broken");
  return static_cast<double>(a.nic().cycles() - begin) / kMeasured;
}

}  // namespace

int main() {
  bench::Rows rows;
  for (TxInterface tx_interface :
       {TxInterface::kMmio, TxInterface::kDoorbell, TxInterface::kCoherent, TxInterface::kCxl}) {
    std::string name = std::string("nic-") + nic::tx_interface_name(tx_interface);
    // A position takes a beat on the port: after each quarter of a window (32 lines), or of a ring (1,024).
    bool window = tx_interface == TxInterface::kMmio || tx_interface == TxInterface::kCxl;
    double goal = window ? 1.15 : 1.05;
    for (auto [flows, lines] : {std::pair<uint32_t, uint8_t>{16, 16}, {16, 4}, {16, 1}, {1, 16}, {1, 1}}) {
      rows.add(name + "-" + std::to_string(flows) + "x" + std::to_string(lines), "cycles_per_rpc",
               cycles_per_rpc(tx_interface, flows, lines), kNone, flows == 1 ? kNone : std::optional(goal));
    }
    rows.add(name, "latency_cycles", latency(tx_interface), kNone, kNone);
    rows.add("drover-" + name + "-reliable-16x16", "cycles_per_rpc",
             whole_cycles_per_rpc(tx_interface, nic::Transport::kReliable), kNone, goal);
  }
  rows.add("drover-nic-coherent-udp-16x16", "cycles_per_rpc",
           whole_cycles_per_rpc(TxInterface::kCoherent, nic::Transport::kUdp), kNone, 1.05);
  return 0;
}
