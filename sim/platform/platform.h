// The environment of an engine in a run: time, the links to host memory, the host's memory and CPU, and the run itself,
// to which the engine reports how each transfer ended.
//
//   receive   run -> Engine::receive(transfer) -> ... -> finish(transfer) or fail(transfer)
//   send      run -> Engine::send(transfer) -> hand_over() -> ... -> finish(transfer) or fail(transfer)
//
// The platform does not depend on any engine. A run (sim/runs) derives from it and supplies time. Thread-safety: one
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/platform/cpu_cost.h"
#include "sim/platform/host_images.h"
#include "sim/platform/link.h"
#include "sim/platform/options.h"
#include "sim/platform/timeline.h"
#include "sim/platform/transfer.h"
#include "workload/workload.h"

namespace drover::sim {

// What goes out in front of a message.
enum class RpcHeader {
  kNone,
  kGrpc,  // five bytes: not compressed, and the message's length
};

// What a run brings; all of it outlives the platform.
struct PlatformSetup {
  const PlatformOptions& options;
  const workload::Workload& workload;
  const CostsResult& costs;
  PreparedHost& host;
  RpcHeader header = RpcHeader::kNone;
};

class Platform : public Timeline {
 public:
  explicit Platform(const PlatformSetup& setup)
      : setup_(setup), link_(setup.options.links.link), nic_link_(setup.options.links.nic_link) {}

  // ---- the run
  virtual Transfer* transfer(uint64_t number) = 0;  // null for a number that is not under way
  virtual void finish(Transfer* transfer) = 0;
  virtual void fail(const Transfer* transfer, const std::string& what) = 0;  // null: of no transfer
  const PlatformOptions& options() const { return setup_.options; }
  RpcHeader header() const { return setup_.header; }
  const workload::WorkloadMessage& message(const Transfer& t) const { return setup_.workload.messages[t.message]; }
  const MessageWork& work(const Transfer& t) const { return setup_.costs.work[t.message]; }
  PreparedHost& host() { return setup_.host; }
  const PreparedMessage& prepared(const Transfer& t) const { return setup_.host.messages[t.message]; }

  // ---- links and host memory
  Link& link() { return link_; }
  const Link& link() const { return link_; }
  // Between NIC and host memory where the engine is not in the NIC; else the engine's link.
  Link& nic_link() { return nic_apart() ? nic_link_ : link_; }
  bool nic_apart() const { return setup_.options.links.nic_apart; }
  // The next buffer of the host for a packet, a chunk or an object, in pages of its own. Only the TLB uses its address.
  uint64_t packet_buffer(uint64_t bytes);

  // ---- the host's CPU: one thread, first come, first served
  // Work of `cost` as soon as the CPU is free, beside copies by the copy engine; then `what`. Returns when the CPU is
  // done.
  Time on_cpu(Transfer* transfer, Time cost, Time copies, std::function<void()> what);
  const bool& cpu_busy() const { return cpu_busy_; }
  // The CPU decodes wire bytes in host memory, and the transfer ends.
  void decode_on_cpu(Transfer* transfer);
  // The CPU encodes; the NIC is told, and reads the bytes; the transfer ends.
  void encode_on_cpu(Transfer* transfer);
  // The host's share of a send: it pre-serializes where the system does, stores the lines that `pushed` has room for
  // (null: none) into the card, and rings. `then` runs as the doorbell arrives. pushed[i] becomes the arrival of line
  // i.
  void hand_over(Transfer* transfer, std::vector<Time>* pushed, std::function<void()> then);

 private:
  PlatformSetup setup_;
  Link link_, nic_link_;
  uint64_t buffers_ = 0;  // the next of the ring of buffers
  Time cpu_free_ = 0;
  bool cpu_busy_ = false;
};

}  // namespace drover::sim
