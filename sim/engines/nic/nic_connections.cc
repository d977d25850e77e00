#include "sim/engines/nic/nic_connections.h"

#include <cstring>
#include <iterator>

#include "datagram/frame_format.h"

namespace drover::sim {
namespace {

using rtl::nic::BalancePolicy;
using rtl::nic::CommandResult;
using rtl::nic::CommandWord;
using rtl::nic::ConnectionEntry;
using rtl::nic::NetworkRegisters;

// Where a host's NIC is, by the host's place in the network; bytes as on the network.
struct NicAddress {
  explicit NicAddress(uint32_t host)
      : mac{2, 0, 0, 0, 0, static_cast<uint8_t>(host + 1)},
        address{10, 0, 0, static_cast<uint8_t>(host + 1)},
        port{0x10, static_cast<uint8_t>(host)} {}
  uint8_t mac[6], address[4], port[2];
};

// What frames of a connection to that host have to name.
constexpr uint32_t key_of(uint16_t connection, uint32_t host) { return (host + 1) << 16 | connection; }

}  // namespace

ConnectionTable::ConnectionTable(rtl::AxiReadPort reads, rtl::AxiWritePort writes, HostNode* host, const Time* now)
    : now_(*now),
      address_(host->allocate(rtl::nic::kTableEntries * sizeof(ConnectionEntry))),
      reads_(
          reads,
          [this, host](Time time, uint64_t at, uint64_t bytes) {
            return begun_ ? host->link().read(time, bytes, at) : Link::Read{time, time, time};
          },
          host->memory(), 0, now),
      writes_(
          writes,
          [this, host](Time time, uint64_t at, uint64_t bytes) {
            return begun_ ? host->link().write(time, bytes, at) : Link::Write{time, time, time};
          },
          host->memory(), 0, now, Ordering::kPosted) {}

void configure_network(const NetworkRegisterPort& port, const NicOptions& options, uint32_t host, uint64_t table) {
  uint64_t mac = 0, address = 0;
  const NicAddress own(host);
  std::memcpy(&mac, own.mac, sizeof own.mac);
  std::memcpy(&address, own.address, sizeof own.address);
  std::memcpy(reinterpret_cast<char*>(&address) + sizeof own.address, own.port, sizeof own.port);
  port.write(offsetof(NetworkRegisters, own_mac), mac);
  port.write(offsetof(NetworkRegisters, own_address), address);
  port.write(offsetof(NetworkRegisters, host_table), table | rtl::nic::kTableEnabled);
  port.write(offsetof(NetworkRegisters, timing),
             rtl::nic::TimingWord{.tick_cycles = options.tick,
                                  .resend_ticks = static_cast<uint8_t>(options.resend_ticks),
                                  .max_doublings = static_cast<uint8_t>(options.max_doublings),
                                  .max_resends = static_cast<uint8_t>(options.max_resends)}
                 .encode());
}

std::string open_connection(const NetworkRegisterPort& port, const NicOptions& options, uint32_t host,
                            const CallConnection& connection) {
  ConnectionEntry entry{};
  entry.flow = connection.flow;
  // A response goes back to the flow that its call came from.
  entry.balance = static_cast<uint8_t>(connection.serves ? options.balance : BalancePolicy::kConnectionFlow);
  entry.remote = connection.number;
  entry.key_in = key_of(connection.number, host);
  entry.key_out = key_of(connection.number, connection.other);
  const NicAddress other(connection.other);
  std::memcpy(entry.mac, other.mac, sizeof entry.mac);
  std::memcpy(entry.port, other.port, sizeof entry.port);
  std::memcpy(entry.address, other.address, sizeof entry.address);
  uint64_t words[sizeof entry / sizeof(uint64_t)];
  std::memcpy(words, &entry, sizeof entry);
  for (size_t i = 0; i < std::size(words); ++i) {
    port.write(offsetof(NetworkRegisters, entry) + i * sizeof(uint64_t), words[i]);
  }
  CommandWord command{.number = connection.number, .command = rtl::nic::ConnectionCommand::kOpen};
  port.write(offsetof(NetworkRegisters, command), command.encode());
  do {
    command = CommandWord::decode(port.read(offsetof(NetworkRegisters, command)));
  } while (command.result == CommandResult::kBusy);
  if (command.result == CommandResult::kOk) return "";
  return "connection " + std::to_string(connection.number) +
         " does not open: " + rtl::nic::command_result_name(command.result);
}

Figures network_figures(const NetworkRegisterPort& port) {
  Figures all;
#define DROVER_COUNTER(name) all.emplace_back(#name, port.read(offsetof(NetworkRegisters, name)))
  DROVER_COUNTER(tx_again);
  DROVER_COUNTER(tx_acks);
  DROVER_COUNTER(timeouts);
  DROVER_COUNTER(gaps);
  DROVER_COUNTER(deaths);
  DROVER_COUNTER(misses);
  DROVER_COUNTER(evictions);
#undef DROVER_COUNTER
  for (uint8_t reason = 0; reason <= static_cast<uint8_t>(FrameRefusal::kBusy); ++reason) {
    all.emplace_back(std::string("frames_") + frame_refusal_name(static_cast<FrameRefusal>(reason)),
                     port.read(offsetof(NetworkRegisters, frames) + reason * sizeof(uint64_t)));
  }
  return all;
}

uint64_t key_of_frame(const Frame& frame) {
  uint16_t connection = 0;
  std::memcpy(&connection, frame.data() + offsetof(FrameHead, connection), sizeof connection);
  return connection;
}

}  // namespace drover::sim
