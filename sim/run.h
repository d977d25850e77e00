// One run: a workload's messages through a system, received (wire bytes to an object that the host can read) and sent
// (an object of the host's to wire bytes at the transport), each by itself or several under way at once.
//
//   receive   from the first byte at the engine (or NIC) to the host seeing the completion record behind the object
//   send      from the host's send command to the last wire byte at the transport
//
// What the RTL makes is compared with the software codec, every message: the object by encoding it, the packet by its
// bytes; a difference ends the run with an error. Deterministic given system, workload and costs. Each run has a
// process of its own (SystemC has one simulation a process), so that runs may be started side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/cpu_cost.h"
#include "sim/system.h"
#include "workload/workload.h"

namespace drover::sim {

enum class Outcome : uint8_t {
  kEngine,    // the RTL did it
  kSoftware,  // the RTL left it to software; `reason` says why
  kCpu,       // the system has no engine
  kCores,     // the SmartNIC's cores, by the cost model
};

// One message in one direction. With more than one in flight, counters belong to the message that ended next.
struct Leg {
  Time time = 0;
  uint64_t cycles = 0;        // of the engine's clock, from its first byte or command to its record or last byte
  Time cpu = 0;               // of the host's CPU
  Time copies = 0;            // of the copy engine
  LinkCounters link;          // to host memory: DMA transactions, bytes and what they waited for
  LinkCounters card;          // to engine memory
  uint64_t input_stalls = 0;  // receive: cycles in which wire bytes waited for the engine
  uint64_t port_stalls = 0;   // cycles in which a DMA request or write waited at the engine's port
  uint64_t read_waits = 0;    // cycles in which reads were under way and nothing came (receive: of descriptors)
  Outcome outcome = Outcome::kEngine;
  uint8_t reason = 0;
};

struct MessageResult {
  uint32_t message = 0;  // in the workload
  Leg receive, send;
};

struct RunResult {
  std::vector<MessageResult> messages;   // in the order of the workload, `repeat` times
  Time receive_time = 0, send_time = 0;  // of all together
  std::string error;
  bool ok() const { return error.empty(); }
};

// In a child process; `trace` names a VCD file to write, or is empty.
RunResult run(const System& system, const workload::Workload& workload, const CostsResult& costs,
              const std::string& trace = "");

// Several systems, `jobs` at once; `ended` is told how many have ended. costs[i] are of systems[i].
std::vector<RunResult> run_all(const std::vector<System>& systems, const workload::Workload& workload,
                               const std::vector<CostsResult>& costs, unsigned jobs,
                               const std::function<void(size_t)>& ended);

}  // namespace drover::sim
