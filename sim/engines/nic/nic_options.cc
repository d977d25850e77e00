#include "sim/engines/nic/nic_options.h"

#include "rtl/model/drover_nic.h"

namespace drover::sim {

using rtl::nic::BalancePolicy;
using rtl::nic::Threading;
using rtl::nic::Transport;
using rtl::nic::TxInterface;

void NicOptions::add_keys(Keys* keys) {
  keys->choice("line_nic.interface", "how lines come from the processor: mmio, doorbell, coherent, cxl", &interface,
               {{"mmio", TxInterface::kMmio},
                {"doorbell", TxInterface::kDoorbell},
                {"coherent", TxInterface::kCoherent},
                {"cxl", TxInterface::kCxl}});
  keys->frequency("line_nic.clock", "of the NIC (\"400MHz\")", &clock);
  keys->count("line_nic.batch", "lines of a poll (coherent), or for which a doorbell rings", &batch, 1, 64);
  keys->flag("line_nic.adaptive", "coherent: a poll takes 1 to line_nic.batch lines, by what the last ones found",
             &adaptive);
  keys->time("line_nic.doorbell_wait", "doorbell: rings for less than a batch after so long", &doorbell_wait);
  keys->count(
      "line_nic.threshold",
      "coherent: a flow with more lines than this in line_nic.threshold_window polls the processor's cache directly",
      &threshold, 0, 65535);
  keys->count("line_nic.threshold_window", "cycles", &threshold_window, 1, 65535);
  keys->count("line_nic.interval", "coherent, direct: cycles between polls of a quiet flow", &interval, 0, 65535);
  keys->count("line_nic.ahead", "coherent, direct: polls of a flow under way at once", &ahead, 1, 8);
  keys->count("line_nic.rx_batch", "lines of a burst into an RX ring", &rx_batch, 1, rtl::nic::kMaxBatch);
  keys->count("line_nic.rx_timeout", "cycles that a line waits for a full burst at the most", &rx_timeout, 0, 65535);
  keys->count("line_nic.publish", "cycles between publications of the NIC's positions", &publish, 1, 65535);
  keys->count("line_nic.look", "cycles between looks at the position of an RX ring that is half full", &look, 1, 65535);
  keys->count("line_nic.ring_lines", "of each ring in host memory: a power of two", &ring_lines, 16, 65536);
  keys->choice("line_nic.balance",
               "of requests over the server's flows: connection (its flow), round-robin, key (its hash)", &balance,
               {{"connection", BalancePolicy::kConnectionFlow},
                {"round-robin", BalancePolicy::kRoundRobin},
                {"key", BalancePolicy::kKeyHash}});
  keys->count("line_nic.key_offset", "where in the arguments the key lies", &key_offset, 0, kLineArguments - 1);
  keys->count("line_nic.key_length", "its bytes", &key_length, 1, kLineArguments);
  keys->time(
      "line_nic.change_every",
      "the soft configuration (batches, polling, flows in use) changes this often while the run goes on; 0: never",
      &change_every);
  keys->choice(
      "line_nic.threading",
      "asynchronous (the NIC publishes how far it has taken the TX rings), synchronous (the answers to calls say "
      "so; coherent and reliable only)",
      &threading, {{"asynchronous", Threading::kAsynchronous}, {"synchronous", Threading::kSynchronous}});
  keys->choice("line_nic.transport", "between NICs: reliable, udp (coherent only; what the network loses is lost)",
               &transport, {{"reliable", Transport::kReliable}, {"udp", Transport::kUdp}});
  keys->count("line_nic.tick", "reliable: cycles between looks at what is not acknowledged", &tick,
              rtl::DroverNic::kConnections, (1 << 24) - 1);
  keys->count("line_nic.resend_ticks", "reliable: ticks without progress, after which lines are sent again",
              &resend_ticks, 1, 255);
  keys->count("line_nic.max_doublings", "reliable: how often that time doubles", &max_doublings, 0, 15);
  keys->count("line_nic.max_resends", "reliable: without a word from the other end, until the connection is dead",
              &max_resends, 1, 63);
}

std::string NicOptions::summary() const {
  return std::string("; ") + rtl::nic::tx_interface_name(interface) + ", batch " + std::to_string(batch) +
         (adaptive ? " adaptive" : "") + ", " + (reliable() ? "reliable" : "UDP") +
         (threading == Threading::kSynchronous ? ", synchronous" : "");
}

// What its hosts must keep to: rtl/driver/nic_answers.h.
std::string NicOptions::synchronous_refuses(const CallShape& shape) const {
  if (interface != TxInterface::kCoherent || !reliable()) {
    return "is there for line_nic.interface = coherent and line_nic.transport = reliable alone";
  }
  if (shape.times_out) return "gives up no call: calls.timeout is 0";
  const bool spread = balance != BalancePolicy::kConnectionFlow;
  const uint64_t clients_of_a_server = spread ? shape.clients : (shape.clients + shape.servers - 1) / shape.servers;
  const uint64_t connections = clients_of_a_server * (shape.connections / shape.clients);
  const uint64_t lines = connections * shape.window * shape.response_lines;
  if (lines <= ring_lines) return "";
  return "needs room for the responses to all calls under way in a server's ring: line_nic.ring_lines is at least " +
         std::to_string(lines);
}

std::string NicOptions::refuses(const CallShape& shape) const {
  if (shape.clients > rtl::NicDevice::kFlows || shape.servers > rtl::NicDevice::kFlows) {
    return "the NIC has " + std::to_string(rtl::NicDevice::kFlows) +
           " flows: calls.clients and calls.servers are at most that";
  }
  if (!reliable() && interface != TxInterface::kCoherent) {
    return "there is a NIC with line_nic.transport = udp for line_nic.interface = coherent alone";
  }
  if (threading == Threading::kSynchronous) {
    if (std::string refused = synchronous_refuses(shape); !refused.empty()) {
      return "line_nic.threading = synchronous " + refused;
    }
  }
  if (shape.longer && balance != BalancePolicy::kConnectionFlow && shape.connections > rtl::DroverNic::kConnections) {
    return "line_nic.balance remembers where a longer message goes for " +
           std::to_string(rtl::DroverNic::kConnections) +
           " connections: more need line_nic.balance = connection, or messages of a line";
  }
  return "";
}

}  // namespace drover::sim
