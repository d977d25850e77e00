// HostOptions: the host library's options, from the environment. Everything has a default; an invalid value is an error
// that names the variable.
//
//   DROVER_ENGINE       unix:PATH of an engine that runs as a service; unset: start one as a child
//   DROVER_DROVERD      the engine's executable
//   DROVER_CONFIG       a TOML file, handed to the engine that we start
//   DROVER_ENGINE_CPUS  CPUs of the engine that we start: "0", "0-1", "0,2-3"
//   DROVER_HOST_NAME    what the engine calls this process, in its log and metrics and where it spreads calls over
//   hosts
//                       by a hash (docs/balancing.md); default: the program's name
//   DROVER_HOST_CPUS    CPUs of our worker threads
//   DROVER_WORKERS      channels to each engine thread, and threads that run handlers side by side while none blocks;
//                       default: half of the CPUs that this process may use, at least 1, at most 4
//   DROVER_MAX_THREADS  how many synchronous handlers may run or block at once, over all workers; default 10000
//   DROVER_HOST_CHECK_REQUESTS  1: handlers see checked copies of requests, so that an engine that was taken over
//   cannot
//                       take this process (docs/channel.md, "The split is a security boundary"); default 0
//   DROVER_SPIN_US      the longest time that an idle worker spins before it sleeps; default 20, 0 if this process
//                       may use only one or two CPUs
//   DROVER_RX_BYTES     shared memory for requests, and DROVER_TX_BYTES for replies, of each of our workers and engine
//                       threads: bytes, or with KiB, MiB or GiB; default: the engine's channel.rx_bytes,
//                       channel.tx_bytes
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drover::host {

struct HostOptions {
  std::string engine;   // empty: child
  std::string droverd;  // empty: search
  std::string config;
  std::string name;
  std::vector<int> engine_cpus;  // empty: any
  std::vector<int> host_cpus;
  uint32_t workers = 1;
  uint32_t max_threads = 10'000;
  int64_t spin_ns = 0;
  int64_t takeover_ns = 1'000'000;               // a handler that runs longer is taken for blocked
  int64_t engine_wait_ns = 10'000'000'000;       // how long an engine may take until it listens
  int64_t reply_memory_wait_ns = 1'000'000'000;  // how long a reply waits for room in the region
  uint64_t rx_bytes = 0, tx_bytes = 0;           // as in Hello; 0: the engine's own setting
  bool check_requests = false;                   // requests are copied out of rx, with every pointer checked
  std::vector<std::string> engine_flags;         // more arguments for an engine that we start

  static std::optional<HostOptions> from_environment(std::string* error);
};

// "0,2-3" to {0, 2, 3}; false if it is not such a list.
bool parse_cpu_list(const std::string& text, std::vector<int>* cpus);
// The CPUs that the calling thread may use.
std::vector<int> usable_cpus();
// Pins the calling thread; an empty list changes nothing.
bool pin_this_thread(const std::vector<int>& cpus);

}  // namespace drover::host
