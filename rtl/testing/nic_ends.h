// Whole NICs with hosts around them, and a network between two of them that loses, repeats, reorders and damages
// frames.
//
//   NicEnd a(options, transport, kNicClient), b(options, transport, kNicServer);
//   NicNetwork network(&a, &b, {.loss = 5}, seed);
//   a.open(7, kNicServer, key_in, key_out, flow, policy); b.open(7, kNicClient, ...);
//   a.step();  // both, and the network
#pragma once

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "datagram/frame.h"
#include "rtl/model/drover_nic.h"
#include "rtl/testing/nic_hosts.h"

namespace drover::rtl {

inline constexpr NetworkEnd kNicClient{{2, 0, 0, 0, 0, 1}, 0x0a000001, 4000};
inline constexpr NetworkEnd kNicServer{{2, 0, 0, 0, 0, 2}, 0x0a000002, 5000};

struct NicWeather {
  uint32_t loss = 0, repeat = 0, reorder = 0, damage = 0;  // per cent of frames
};

// What is on its way to one end.
class NicWay {
 public:
  NicWay(const NicWeather& weather, uint32_t seed) : weather_(weather), random_(seed) {}
  void send(NicFrame frame) {
    if (chance(weather_.loss)) return;
    if (chance(weather_.damage)) frame[random_() % frame.size()] ^= static_cast<std::byte>(1 + random_() % 255);
    for (int copies = chance(weather_.repeat) ? 2 : 1; copies > 0; --copies) {
      size_t back = chance(weather_.reorder) ? random_() % (frames_.size() + 1) : 0;
      frames_.insert(frames_.end() - static_cast<std::ptrdiff_t>(back), {frame, kLatency});
    }
  }
  void change(const NicWeather& weather) { weather_ = weather; }
  void move(DroverNic* to) {
    for (auto& [frame, left] : frames_) left -= left != 0;
    while (!frames_.empty() && frames_.front().second == 0) {
      to->receive(std::move(frames_.front().first));
      frames_.pop_front();
    }
  }

 private:
  static constexpr int kLatency = 40;
  bool chance(uint32_t per_cent) { return random_() % 100 < per_cent; }
  NicWeather weather_;
  std::mt19937 random_;
  std::deque<std::pair<NicFrame, int>> frames_;
};

// The NIC is made before the hosts around it.
struct WholeNic {
  WholeNic(const NicBenchOptions& options, nic::Transport transport)
      : device(DroverNic::make({.tx_interface = options.tx_interface,
                                .synchronous = options.synchronous,
                                .joined = options.joined,
                                .power_up = {true, options.power_up_seed},
                                .store_stall = Stalls(options.stalls_of_256, options.seed + 10),
                                .line_stall = Stalls(options.stalls_of_256, options.seed + 12)},
                               transport)),
        table(nic::kTableEntries * sizeof(nic::ConnectionEntry)),
        table_reads(device->table_read_port(), table, AxiTiming{.latency = 30}.reads(), kTableAt),
        table_writes(device->table_write_port(), table, AxiTiming{.latency = 30}.writes(), kTableAt) {}
  static constexpr uint64_t kTableAt = 0x7f00'0000'0000;
  std::unique_ptr<DroverNic> device;
  std::vector<char> table;
  AxiReadMemory table_reads;
  AxiWriteMemory table_writes;
};

class NicEnd final : private WholeNic, public NicHosts {
 public:
  NicEnd(const NicBenchOptions& options, nic::Transport transport, const NetworkEnd& own)
      : WholeNic(options, transport), NicHosts(options, device.get()) {
    device->add(&table_reads);
    device->add(&table_writes);
    device->reset();
    uint64_t mac = 0;
    std::memcpy(&mac, own.mac.data(), 6);
    network(offsetof(nic::NetworkRegisters, own_mac), mac);
    network(offsetof(nic::NetworkRegisters, own_address),
            __builtin_bswap32(own.address) | uint64_t{static_cast<uint16_t>(own.port << 8 | own.port >> 8)} << 32);
    network(offsetof(nic::NetworkRegisters, host_table), kTableAt | nic::kTableEnabled);
    network(offsetof(nic::NetworkRegisters, timing),
            nic::TimingWord{.tick_cycles = 100, .resend_ticks = 8, .max_doublings = 3, .max_resends = 40}.encode());
  }
  DroverNic& nic() { return *device; }
  uint64_t cycles() const { return device->cycles(); }
  void network(size_t at, uint64_t value) {
    store(nic::kNetworkAt + static_cast<uint32_t>(at), value);
    while (!device->stores_done()) step();
  }
  uint64_t network(size_t at) { return device->load64_now(nic::kNetworkAt + static_cast<uint32_t>(at)); }
  void open(uint16_t number, const NetworkEnd& to, uint32_t key_in, uint32_t key_out, uint8_t flow,
            BalancePolicy policy) {
    nic::ConnectionEntry entry{};
    entry.flow = flow;
    entry.balance = static_cast<uint8_t>(policy);
    entry.remote = number;
    entry.key_in = key_in;
    entry.key_out = key_out;
    std::memcpy(entry.mac, to.mac.data(), 6);
    entry.port[0] = static_cast<uint8_t>(to.port >> 8);
    entry.port[1] = static_cast<uint8_t>(to.port);
    for (int i = 0; i < 4; ++i) entry.address[i] = static_cast<uint8_t>(to.address >> (24 - 8 * i));
    uint64_t words[8];
    std::memcpy(words, &entry, sizeof words);
    for (size_t i = 0; i < 8; ++i) network(offsetof(nic::NetworkRegisters, entry) + 8 * i, words[i]);
    nic::CommandWord command{.number = number, .command = nic::ConnectionCommand::kOpen};
    network(offsetof(nic::NetworkRegisters, command), command.encode());
    do {
      command = nic::CommandWord::decode(network(offsetof(nic::NetworkRegisters, command)));
    } while (command.result == nic::CommandResult::kBusy);
    if (command.result != nic::CommandResult::kOk) std::abort();
  }

  std::function<void()> others;  // what goes on with a cycle of this one

 private:
  void cycle() override {
    device->cycle();
    if (others) others();
  }
};

// Joins two ends: a step of the first is a step of both.
class NicNetwork {
 public:
  NicNetwork(NicEnd* first, NicEnd* second, const NicWeather& weather, uint32_t seed)
      : to_first_(weather, seed), to_second_(weather, seed + 1) {
    first->nic().on_frame([this](NicFrame frame) {
      if (watcher_) watcher_(frame);
      to_second_.send(std::move(frame));
    });
    second->nic().on_frame([this](NicFrame frame) { to_first_.send(std::move(frame)); });
    first->others = [this, first, second] {
      second->step();
      to_first_.move(&first->nic());
      to_second_.move(&second->nic());
    };
  }
  NicNetwork(const NicNetwork&) = delete;
  NicNetwork& operator=(const NicNetwork&) = delete;
  // Told of each frame of the first's, whatever becomes of it.
  void watch(std::function<void(const NicFrame&)> watcher) { watcher_ = std::move(watcher); }
  // From now on.
  void change(const NicWeather& to_first, const NicWeather& to_second) {
    to_first_.change(to_first);
    to_second_.change(to_second);
  }

 private:
  NicWay to_first_, to_second_;
  std::function<void(const NicFrame&)> watcher_;
};

}  // namespace drover::rtl
