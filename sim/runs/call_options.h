// The load of a run of calls: who calls whom, how often, with what. Keys calls.*.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "sim/platform/keys.h"

namespace drover::sim {

enum class Load {
  kClosed,  // each client keeps `outstanding` calls under way
  kOpen,    // calls arrive at `rate`, whatever the answers do; latency counts from the intended time
};
enum class Calls {
  kTest,     // of any size, one function (sim/runs/call_programs.h)
  kLinesKv,  // examples/lines_kv: generated stubs, closed loop
};
enum class Arrivals { kPoisson, kFixed };

struct CallOptions {
  Calls program = Calls::kTest;
  Load load = Load::kClosed;
  uint32_t clients = 1,
           servers = 1;       // threads, each with a core and a flow of its own; client i calls server i % servers
  uint32_t connections = 1;   // of each client, which takes them in turn
  uint32_t outstanding = 64;  // of a client; open loop: at most so many, more wait in the client
  double rate = 1;            // millions of calls a second, of all clients together
  Arrivals arrivals = Arrivals::kPoisson;
  uint32_t request = 48, response = 48;  // bytes, where calls carry bytes
  std::string messages = "none";         // the built-in workload's group whose messages they carry instead
  uint64_t cut = 0;                      // strings of these are cut to so many bytes; 0: they are not
  uint32_t poll = 16;                    // lines that a thread takes at once
  Time warm_up = 20'000 * kNanosecond;   // not measured
  Time time = 100'000 * kNanosecond;     // measured
  Time timeout = 0;                      // of a call; 0: none
  uint64_t seed = 1;
  void add_keys(Keys* keys);
  // Of a client on one connection (lines::RpcClientOptions).
  uint32_t window() const { return std::bit_ceil(outstanding); }
};

}  // namespace drover::sim
