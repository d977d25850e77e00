// A run of calls: clients and servers on the cores of two simulated hosts, a NIC for each host, a network between them.
//
//   client cores --ports--> NIC --network--> NIC --ports--> server cores
//
// The programs on the cores are host/lines' client and server, the same source as on a real channel. Each request's and
// each response's bytes are derived from the call's number and compared at the other end; a call that is served twice,
// or whose response belongs to another, ends the run with an error, and so does one that never ends.
// Private to sim/runs: calls.h starts it in a process of its own, since SystemC has one simulation a process.
#pragma once

#include "sim/runs/call_result.h"
#include "sim/runs/system.h"

namespace drover::sim {

// In this process: elaborates, simulates, and must not be called again in it.
CallResult simulate_calls(const System& system);

}  // namespace drover::sim
