// The control server's limits on hosts, and the sizes that it gives them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "channel/control.h"
#include "engine/balance/balance_rules.h"
#include "engine/control/host_policy.h"
#include "engine/control/line_peers.h"
#include "engine/tls/identities.h"

namespace drover::engine {

// Whether several hosts may serve one method at one address: then they share its calls.
enum class Sharing { kShared, kFirstCome };

struct ControlOptions {
  std::string name = "droverd";  // told to hosts
  uint32_t ring_slots = 128;     // of each ring, unless a host asks for something else
  uint64_t rx_bytes = 16 << 20;  // chunks of a channel, unless a host asks for something else
  uint64_t tx_bytes = 16 << 20;
  uint64_t max_region_bytes = uint64_t{16} << 30;  // address space of one host's region; memory is used as touched
  uint64_t max_total_region_bytes = uint64_t{64} << 30;  // of all, those of dead hosts included that calls still use
  HostPolicy policy;                                     // what the hosts of each user may serve
  Sharing sharing = Sharing::kShared;
  const tls::Identities* identities = nullptr;  // of the configuration; null: none
  // How calls are spread over hosts; never null.
  std::shared_ptr<const BalanceRules> balance = std::make_shared<const BalanceRules>();
  uint32_t max_hosts = 64;                          // connections on the control socket
  uint32_t max_listeners = 64;                      // of one host
  uint32_t max_open_listeners = 1024;               // of all hosts, those that are gone included
  uint64_t max_image_bytes = 256 << 20;             // of one host's images together
  uint64_t max_total_descriptor_bytes = 256 << 20;  // of all hosts' descriptors for reflection, with their indexes
  uint32_t max_routes = 16'384;                     // of one host: methods x addresses
  uint32_t max_total_routes = 65'536;               // of all hosts
  uint32_t max_line_names = 64;                     // of one host
  LinePeers line_peers;                             // engines that serve names which no host here serves
  uint64_t max_path_bytes = 4 << 20;                // of one host's method paths together
  int64_t handshake_timeout_ns = 10'000'000'000;    // from connecting to Start
  // What Describe is answered with; flags are the session's.
  Description description;
  bool child = false;                         // started by a host: ends when none is left
  int64_t orphan_timeout_ns = 5'000'000'000;  // with child: how long it waits for one
};

// Empty if a host with one worker can attach with these sizes; else the reason, in terms of the configuration's keys.
std::string check_channel_options(const ControlOptions& options, uint32_t engine_threads);

}  // namespace drover::engine
