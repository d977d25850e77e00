// A bench for nic_net: one verilated network half with its host half, its network and its connection table played by
// C++.
//
//   lines.send() ==> +---------+ ==> out: frames
//   received     <== | nic_net | <== in: frames
//   registers    <=> +---------+ <=> table: ConnectionEntry[]
//
//   NicNet<Vnic_net_udp> nic(options);
//   nic.open(7, entry); nic.lines.send(line, flow); nic.cycle(); ...
//
// Several of them are cycled side by side; what runs while one waits for a register is `also`.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "datagram/frame_testing.h"
#include "rtl/model/axi_memory.h"
#include "rtl/model/simulation.h"
#include "rtl/nic/connection_format.h"
#include "rtl/testing/stalls.h"

namespace drover::rtl::nic {

using Frame = std::vector<std::byte>;
inline constexpr unsigned kBenchFlows = 4;  // of the verilated variants

struct BenchOptions {
  NetworkEnd own = testing::kClientEnd;
  bool with_table = true;
  uint32_t stalls_of_256 = 0;   // of every handshake
  uint32_t refused_of_256 = 0;  // lines that find no room in their flow
  uint64_t seed = 1;
  AxiTiming table = {.latency = 20};
  PowerUp power_up = {.random = true};
};

inline uint16_t swap16(uint16_t value) { return static_cast<uint16_t>(value << 8 | value >> 8); }

inline ConnectionEntry make_entry(const NetworkEnd& to, uint16_t remote, uint32_t key_in, uint32_t key_out,
                                  uint8_t flow) {
  ConnectionEntry entry{};
  entry.flow = flow;
  entry.remote = remote;
  entry.key_in = key_in;
  entry.key_out = key_out;
  std::memcpy(entry.mac, to.mac.data(), 6);
  entry.port[0] = static_cast<uint8_t>(to.port >> 8);
  entry.port[1] = static_cast<uint8_t>(to.port);
  for (int i = 0; i < 4; ++i) entry.address[i] = static_cast<uint8_t>(to.address >> (24 - 8 * i));
  return entry;
}

template <typename Top>
class LineSource final : public Part {
 public:
  LineSource(Top* top, Stall stall) : top_(*top), stall_(std::move(stall)) {}
  void send(const LineSlot& line, uint8_t flow) { queue_.push_back({line, flow}); }
  bool idle() const { return queue_.empty(); }
  // Offers only lines of flows with room, as the host half's scheduler does.
  bool heeds_room = false;

  void drive() override {
    if (!valid_ && !queue_.empty() && !held_back(stall_)) {
      auto next = queue_.begin();
      if (heeds_room) {
        while (next != queue_.end() && (top_.tx_room_o >> next->flow & 1) == 0) ++next;
      }
      if (next != queue_.end()) {
        std::memcpy(&top_.tx_line_i, &next->line, sizeof(LineSlot));
        top_.tx_flow_i = next->flow;
        queue_.erase(next);
        valid_ = true;
      }
    }
    top_.tx_valid_i = valid_;
  }
  void sample() override {
    if (valid_ && top_.tx_ready_o) valid_ = false;
  }
  void reset() override {
    queue_.clear();
    top_.tx_valid_i = valid_ = false;
  }

 private:
  struct Item {
    LineSlot line;
    uint8_t flow;
  };
  Top& top_;
  Stall stall_;
  std::deque<Item> queue_;
  bool valid_ = false;
};

struct ReceivedLine {
  LineSlot line;
  uint8_t flow, policy;
};

template <typename Top>
class LineSink final : public Part {
 public:
  LineSink(Top* top, Stall stall, Stall refuse) : top_(*top), stall_(std::move(stall)), refuse_(std::move(refuse)) {}
  std::deque<ReceivedLine> received;
  uint64_t full_flows = 0;  // these refuse all lines
  bool ready = true;

  void drive() override {
    top_.rx_ready_i = ready && !held_back(stall_);
    refuses_ = held_back(refuse_);
    top_.rx_room_i = ~full_flows & ((1u << kBenchFlows) - 1);
    top_.rx_refused_i = 0;
    top_.eval();  // refused depends on the flow that is offered
    top_.rx_refused_i = refuses_ || (full_flows >> top_.rx_flow_o & 1) != 0;
  }
  void sample() override {
    if (!top_.rx_valid_o || !top_.rx_ready_i || top_.rx_refused_i) return;
    ReceivedLine line;
    std::memcpy(&line.line, &top_.rx_line_o, sizeof(LineSlot));
    line.flow = static_cast<uint8_t>(top_.rx_flow_o);
    line.policy = static_cast<uint8_t>(top_.rx_policy_o);
    received.push_back(line);
  }
  void reset() override {
    received.clear();
    top_.rx_ready_i = 0;
  }

 private:
  Top& top_;
  Stall stall_, refuse_;
  bool refuses_ = false;
};

// Both directions of the network: frames leave into `out` and come from `in`. A frame longer than a beat takes several.
template <typename Top>
class NetworkPort final : public Part {
 public:
  NetworkPort(Top* top, Stall out_stall, Stall in_stall)
      : top_(*top), out_stall_(std::move(out_stall)), in_stall_(std::move(in_stall)) {}
  std::deque<Frame> out, in;
  bool damaged = false;  // what the MAC says of the frames in `in`
  uint64_t sent = 0;

  void drive() override {
    top_.net_tx_tready_i = !held_back(out_stall_);
    if (!valid_ && !in.empty() && !held_back(in_stall_)) {
      valid_ = true;
      const Frame& frame = in.front();
      size_t bytes = std::min<size_t>(kBeat, frame.size() - at_);
      std::memset(&top_.net_rx_tdata_i, 0xa5, kBeat);
      std::memcpy(&top_.net_rx_tdata_i, frame.data() + at_, bytes);
      for (size_t word = 0; word < 4; ++word) {
        size_t some = bytes > 32 * word ? std::min<size_t>(bytes - 32 * word, 32) : 0;
        top_.net_rx_tkeep_i[word] = some == 32 ? ~0u : (1u << some) - 1;
      }
      top_.net_rx_tlast_i = at_ + bytes == frame.size();
      top_.net_rx_tuser_i = damaged && top_.net_rx_tlast_i;
    }
    top_.net_rx_tvalid_i = valid_;
  }
  void sample() override {
    if (top_.net_tx_tvalid_o && top_.net_tx_tready_i) take();
    if (!valid_ || !top_.net_rx_tready_o) return;
    valid_ = false;
    at_ += kBeat;
    if (!top_.net_rx_tlast_i) return;
    at_ = 0;
    in.pop_front();
  }
  void reset() override {
    out.clear();
    in.clear();
    at_ = 0;
    top_.net_rx_tvalid_i = valid_ = false;
  }

 private:
  static constexpr size_t kBeat = 128;
  void take() {
    bool whole = top_.net_tx_tkeep_o[3] == ~0u;
    EXPECT_TRUE(top_.net_tx_tlast_o && top_.net_tx_tkeep_o[1] == ~0u && top_.net_tx_tkeep_o[2] == (whole ? ~0u : 0u));
    Frame frame(whole ? kBeat : kBeat / 2);
    std::memcpy(frame.data(), &top_.net_tx_tdata_o, frame.size());
    out.push_back(std::move(frame));
    ++sent;
  }

  Top& top_;
  Stall out_stall_, in_stall_;
  bool valid_ = false;
  size_t at_ = 0;
};

template <typename Top>
class NicNet {
 public:
  explicit NicNet(const BenchOptions& options = {})
      : options_(options),
        sim_(options.power_up),
        table_(kTableEntries * sizeof(ConnectionEntry)),
        lines(&top(), stalls(1)),
        host(&top(), stalls(2), Stalls(options.refused_of_256, options.seed * 7 + 3)),
        network(&top(), stalls(4), stalls(5)),
        table_reads_(DROVER_AXI_READ_PORT(top(), table), table_, options.table.reads(), kTableAt),
        table_writes_(DROVER_AXI_WRITE_PORT(top(), table), table_, options.table.writes(), kTableAt) {
    for (Part* part : std::initializer_list<Part*>{&lines, &host, &network, &table_reads_, &table_writes_})
      sim_.add(part);
    top().reg_req_i = 0;
    sim_.reset();
    uint64_t mac = 0;
    std::memcpy(&mac, options.own.mac.data(), 6);
    write(offsetof(NetworkRegisters, own_mac), mac);
    uint64_t port = swap16(options.own.port);
    write(offsetof(NetworkRegisters, own_address), __builtin_bswap32(options.own.address) | port << 32);
    if (options.with_table) write(offsetof(NetworkRegisters, host_table), kTableAt | kTableEnabled);
    set_timing({});
  }

  Top& top() { return sim_.top(); }
  void cycle() {
    sim_.cycle();
    if (also) also();
  }
  void cycles(size_t count) {
    for (size_t i = 0; i < count; ++i) cycle();
  }
  uint64_t now() const { return sim_.cycles(); }
  std::function<void()> also;  // with each cycle of this one

  void write(size_t at, uint64_t value) { request(at, true, value); }
  uint64_t read(size_t at) { return request(at, false, 0); }
  uint64_t frames(FrameRefusal reason) {
    return read(offsetof(NetworkRegisters, frames) + 8 * static_cast<size_t>(reason));
  }
  uint64_t count(size_t at) { return read(at); }

  struct Timing {
    uint32_t tick_cycles = 64, resend_ticks = 8, max_doublings = 4, max_resends = 12;
  };
  void set_timing(const Timing& timing) {
    write(offsetof(NetworkRegisters, timing), timing.tick_cycles | uint64_t{timing.resend_ticks} << 32 |
                                                  uint64_t{timing.max_doublings} << 40 |
                                                  uint64_t{timing.max_resends} << 48);
  }
  CommandResult command(ConnectionCommand command, uint16_t number) {
    write(offsetof(NetworkRegisters, command), number | uint64_t{static_cast<uint8_t>(command)} << 16);
    for (int i = 0; i < 100000; ++i) {
      auto result = static_cast<CommandResult>(read(offsetof(NetworkRegisters, command)) >> 24 & 7);
      if (result != CommandResult::kBusy) return result;
    }
    ADD_FAILURE() << "the command does not end";
    return CommandResult::kBusy;
  }
  void set_entry(const ConnectionEntry& entry) {
    uint64_t words[8];
    std::memcpy(words, &entry, sizeof words);
    for (size_t i = 0; i < 8; ++i) write(offsetof(NetworkRegisters, entry) + 8 * i, words[i]);
  }
  CommandResult open(uint16_t number, const ConnectionEntry& entry) {
    set_entry(entry);
    return command(ConnectionCommand::kOpen, number);
  }
  CommandResult change(uint16_t number, const ConnectionEntry& entry) {
    set_entry(entry);
    return command(ConnectionCommand::kChange, number);
  }
  CommandResult close(uint16_t number) { return command(ConnectionCommand::kClose, number); }
  CommandResult read_entry(uint16_t number, ConnectionEntry* entry) {
    CommandResult result = command(ConnectionCommand::kRead, number);
    uint64_t words[8];
    for (size_t i = 0; i < 8; ++i) words[i] = read(offsetof(NetworkRegisters, entry) + 8 * i);
    std::memcpy(static_cast<void*>(entry), words, sizeof words);
    return result;
  }
  ConnectionEntry& in_table(uint16_t number) { return reinterpret_cast<ConnectionEntry*>(table_.data())[number]; }
  uint64_t table_violations() const { return table_reads_.counts().violations + table_writes_.counts().violations; }

 private:
  static constexpr uint64_t kTableAt = 0x7f00'0000'0000;
  BenchOptions options_;
  Simulation<Top> sim_;
  std::vector<char> table_;

  Stalls stalls(uint64_t which) const { return Stalls(options_.stalls_of_256, options_.seed * 16 + which); }
  uint64_t request(size_t at, bool write, uint64_t value) {
    top().reg_req_i = 1;
    top().reg_we_i = write;
    top().reg_addr_i = static_cast<uint16_t>(at);
    top().reg_wdata_i = value;
    for (int i = 0; i < 8; ++i) {
      bool acknowledged = top().reg_ack_o != 0;
      uint64_t data = top().reg_rdata_o;
      if (acknowledged) {
        top().reg_req_i = 0;
        cycle();
        return data;
      }
      cycle();
    }
    ADD_FAILURE() << "register " << at << " does not answer";
    return 0;
  }

 public:
  LineSource<Top> lines;
  LineSink<Top> host;
  NetworkPort<Top> network;

 private:
  AxiReadMemory table_reads_;
  AxiWriteMemory table_writes_;
};

}  // namespace drover::rtl::nic
