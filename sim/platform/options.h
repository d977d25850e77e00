// The options of the platform, which every engine shares: the links to host memory, the host's CPU and what its codec
// costs, and how the host and an engine hand objects to each other. Each struct adds its keys.
#pragma once

#include <limits>
#include <string>

#include "sim/platform/coherent_link.h"
#include "sim/platform/core.h"
#include "sim/platform/keys.h"
#include "sim/platform/link.h"
#include "sim/platform/network.h"
#include "sim/platform/stated_costs.h"
#include "sim/platform/units.h"

namespace drover::sim {

// "PREFIX.latency" and so on.
void add_link_keys(const std::string& prefix, const std::string& what, LinkConfig* link, Keys* keys);

struct LinkOptions {
  LinkConfig link;         // between engine and host memory; without an engine between NIC and host memory
  bool nic_apart = false;  // the engine is not in the NIC: wire bytes cross nic_link too, once each way
  LinkConfig nic_link;
  void add_keys(Keys* keys);
};

// ---- how objects are handed over

enum class SendMode {
  kMemoryAffinity,  // the host writes a pre-serialized stream, the engine reads and encodes that
  kNicOnly,         // the engine walks the object in host memory
  kEither,          // by the object: up to `walk_limit` bytes it is walked
};

struct HandoverOptions {
  bool one_shot = true;  // received objects are written in whole chunks; else field by field
  SendMode send = SendMode::kMemoryAffinity;
  uint64_t walk_limit = 0;           // kEither: bytes of objects, arrays and short strings
  uint64_t payload_threshold = 256;  // memory-affinity: strings from this size on are not among the records
  bool memcpy_engine = false;        // the long ones of these are copied by a copy engine, not by the CPU
  uint64_t reference_from = 0;       // memory-affinity: strings from this size on are referred to, not copied; 0: none
  bool one_piece = false;            // objects that are walked lie in one piece, which the engine reads at once
  uint64_t prefetch = 0;             // bytes of the long strings that are read ahead when the command comes
  void add_keys(Keys* keys);
};

// ---- the host's CPU

enum class CpuModel {
  kStated,    // nanoseconds for each class of work: deterministic
  kMeasured,  // the software codec is timed on the machine that runs the simulation
};

// A cost that the system does not state: cpu.codec and cpu.caches decide.
inline constexpr double kAsStated = std::numeric_limits<double>::quiet_NaN();
inline constexpr CodecCost kAllAsStated = {kAsStated, kAsStated, kAsStated, kAsStated, kAsStated, kAsStated};

struct CpuOptions {
  CpuModel model = CpuModel::kStated;
  double scale = 1;               // all costs of the host's CPU, times this
  Codec codec = Codec::kDrover;   // of the host's CPU where it decodes and encodes, and of a SmartNIC's cores
  Caches caches = Caches::kWarm;  // the state that its costs were measured in
  // Override the stated costs of codec and caches (stated_costs.h). Read them by cost().
  CodecCost decode = kAllAsStated, encode = kAllAsStated, preserialize = kAllAsStated;
  uint64_t copy_from = 4096;     // bytes from which on the copy engine, if the system has one, copies a string
  double copy_submit = 60;       // ns of CPU to hand one copy to it
  double copy_bandwidth = 3e10;  // bytes/s of it
  double push_line = 8;          // ns of CPU for each 64-byte line that it stores into the card, a doorbell among them

  // What a job costs, at scale 1.
  CodecCost cost(Job job) const;
  // The cost of a 64-byte line that the CPU stores into the card.
  Time line_cost() const { return static_cast<Time>(push_line * scale * kNanosecond); }
  void add_keys(Keys* keys);

 private:
  void add_cost_keys(const std::string& prefix, const std::string& what, Job job, CodecCost* own, Keys* keys);
};

struct PlatformOptions {
  LinkOptions links;
  HandoverOptions handover;
  CpuOptions cpu;
  // Of runs of calls.
  CoherentConfig coherent;
  CoreOptions cores;
  NetworkConfig network;
};

// "coherent.latency" and so on.
void add_coherent_keys(CoherentConfig* coherent, Keys* keys);

}  // namespace drover::sim
