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
      "asynchronous (the NIC publishes how far it has taken the TX rings), synchronous (the answers to calls say so)",
      &threading, {{"asynchronous", Threading::kAsynchronous}, {"synchronous", Threading::kSynchronous}});
  keys->choice("line_nic.transport", "between NICs: reliable, udp (what the network loses is lost)", &transport,
               {{"reliable", Transport::kReliable}, {"udp", Transport::kUdp}});
  keys->time("line_nic.reclaim",
             "synchronous over udp: a TX ring that has had no room for so long begins anew, without what the NIC has "
             "not taken of it",
             &reclaim);
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
         (synchronous() ? ", synchronous" : "");
}

uint32_t NicOptions::tx_lines() const { return in_host_memory() ? ring_lines : rtl::NicDevice::kFlowLines; }

// What its hosts must keep to: rtl/driver/nic_answers.h.
std::string NicOptions::synchronous_refuses(const CallShape& shape) const {
  if (reliable() && shape.timeout != 0) {
    return "gives up no call over the reliable transport, which loses none: calls.timeout is 0";
  }
  if (!reliable() && shape.timeout == 0) {
    return "needs a calls.timeout with line_nic.transport = udp: nothing else ends a call that lost a packet";
  }
  if (!reliable() && reclaim <= shape.timeout) {
    return "needs a line_nic.reclaim that is longer than calls.timeout: a ring begins anew when no answer can free it";
  }
  const bool spread = balance != BalancePolicy::kConnectionFlow;
  const uint64_t clients_of_a_server = spread ? shape.clients : (shape.clients + shape.servers - 1) / shape.servers;
  const uint64_t connections = clients_of_a_server * (shape.connections / shape.clients);
  const uint64_t lines = connections * shape.window * shape.response_lines;
  if (lines <= tx_lines()) return "";
  const std::string has = "needs room for the responses to all calls under way in a server's ring: ";
  if (in_host_memory()) return has + "line_nic.ring_lines is at least " + std::to_string(lines);
  return has + "these are " + std::to_string(lines) + " lines, and the NIC's windows of this interface hold " +
         std::to_string(tx_lines());
}

// Two calls with one key are in order if the NIC gives them to one flow.
std::string NicOptions::order_refuses(const CallShape& shape) const {
  if (!shape.ordered_key || shape.servers == 1 || balance == BalancePolicy::kConnectionFlow) return "";
  const std::string because = "calls.program sends calls of one key that must not overtake each other: ";
  if (balance == BalancePolicy::kRoundRobin) {
    return because + "line_nic.balance = round-robin gives them to different servers";
  }
  if (key_offset < shape.ordered_key->offset ||
      key_offset + key_length > shape.ordered_key->offset + shape.ordered_key->length) {
    return because +
           "line_nic.balance = key needs line_nic.key_offset and line_nic.key_length inside its key, which is " +
           std::to_string(shape.ordered_key->length) + " bytes from " + std::to_string(shape.ordered_key->offset);
  }
  if (change_every != 0) return because + "line_nic.change_every changes which server has a key";
  return "";
}

std::string NicOptions::refuses(const CallShape& shape) const {
  if (shape.clients > rtl::NicDevice::kFlows || shape.servers > rtl::NicDevice::kFlows) {
    return "the NIC has " + std::to_string(rtl::NicDevice::kFlows) +
           " flows: calls.clients and calls.servers are at most that";
  }
  if (shape.request_lines > most_request_lines()) {
    return "calls.request is " + std::to_string(shape.request_lines) + " lines, and a TX ring holds " +
           std::to_string(tx_lines()) + (in_host_memory() ? " (line_nic.ring_lines)" : ", the NIC's window") +
           ": it would never be sent";
  }
  if (synchronous()) {
    if (std::string refused = synchronous_refuses(shape); !refused.empty()) {
      return "line_nic.threading = synchronous " + refused;
    }
  }
  if (std::string refused = order_refuses(shape); !refused.empty()) return refused;
  if (shape.longer && balance != BalancePolicy::kConnectionFlow && shape.connections > rtl::DroverNic::kConnections) {
    return "line_nic.balance remembers where a longer message goes for " +
           std::to_string(rtl::DroverNic::kConnections) +
           " connections: more need line_nic.balance = connection, or messages of a line";
  }
  return "";
}

}  // namespace drover::sim
