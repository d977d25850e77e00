// The keys of the NIC in RTL (rtl/nic): its interface to the processor, and its soft configuration.
#pragma once

#include <algorithm>

#include "rtl/nic/connection_format.h"
#include "rtl/nic/nic_format.h"
#include "sim/engines/engine.h"

namespace drover::sim {

struct NicOptions final : CopyableEngineOptions<NicOptions> {
  rtl::nic::TxInterface interface = rtl::nic::TxInterface::kCoherent;
  uint64_t clock = 400'000'000;             // Hz
  uint32_t batch = 4;                       // lines of a poll (coherent) or of a doorbell
  bool adaptive = false;                    // coherent: the batch follows the load
  Time doorbell_wait = 2000 * kNanosecond;  // doorbell: a part of a batch is rung for after so long
  uint32_t threshold = 0, threshold_window = 400, interval = 4, ahead = 4;
  uint32_t rx_batch = 4, rx_timeout = 40;
  uint32_t publish = 64, look = 64;
  uint32_t ring_lines = 256;
  rtl::nic::BalancePolicy balance = rtl::nic::BalancePolicy::kConnectionFlow;
  uint32_t key_offset = 0, key_length = 8;
  Time change_every = 0;
  rtl::nic::Threading threading = rtl::nic::Threading::kAsynchronous;
  rtl::nic::Transport transport = rtl::nic::Transport::kReliable;
  Time reclaim = 50'000 * kNanosecond;  // synchronous, udp: a ring without room for so long begins anew
  uint32_t tick = 400;                  // cycles of the reliable transport's clock
  uint32_t resend_ticks = 8, max_doublings = 3, max_resends = 40;

  void add_keys(Keys* keys) override;
  std::string summary() const override;
  std::string refuses(const CallShape& shape) const override;
  uint32_t most_request_lines() const override { return std::min(tx_lines(), kMaxMessageLines); }
  bool reliable() const override { return transport == rtl::nic::Transport::kReliable; }
  bool synchronous() const { return threading == rtl::nic::Threading::kSynchronous; }
  // Whether a line travels to the NIC through a ring in host memory, or through the flow's window of it.
  bool in_host_memory() const {
    return interface == rtl::nic::TxInterface::kCoherent || interface == rtl::nic::TxInterface::kDoorbell;
  }
  uint32_t tx_lines() const;  // of a flow's TX ring
  Time period() const { return 1'000'000'000'000 / clock; }

 private:
  std::string synchronous_refuses(const CallShape& shape) const;
  std::string order_refuses(const CallShape& shape) const;
};

}  // namespace drover::sim
