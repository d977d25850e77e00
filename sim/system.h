// A system: which engine does the RPC work, at which clock, how far from the host's memory, and what the host's CPU
// costs.
//
// Described in data: one TOML file under sim/systems/ for each, which are compiled in, or a file of the user's. Its
// keys are the rows of system_keys(); `--set key=value` writes the same keys, with the same words. A key that is not in
// the file has the default that system_keys() shows. Unknown keys, and values that are none, are errors that say what
// there is.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/link.h"
#include "sim/stated_costs.h"
#include "sim/units.h"

namespace drover::sim {

enum class EngineKind {
  kNone,   // the host's CPU runs the software codec on wire bytes that a plain NIC brings
  kRtl,    // the verilated deserializer and serializer
  kCores,  // the software codec on the SmartNIC's cores, by the cost model
};
enum class SendMode {
  kMemoryAffinity,  // the host writes a pre-serialized stream, the engine reads and encodes that
  kNicOnly,         // the engine walks the object in host memory
  kEither,          // by the object: up to `walk_limit` bytes it is walked
};
// What goes out in front of a message.
enum class RpcHeader {
  kNone,
  kGrpc,  // five bytes: not compressed, and the message's length
};
enum class CpuModel {
  kStated,    // nanoseconds for each class of work, from the system file: deterministic
  kMeasured,  // the software codec is timed on the machine that runs the simulation
};

// A cost that a system does not state itself: cpu.codec and cpu.caches say it.
inline constexpr double kAsStated = std::numeric_limits<double>::quiet_NaN();
inline constexpr CodecCost kAllAsStated = {kAsStated, kAsStated, kAsStated, kAsStated, kAsStated, kAsStated};

struct System {
  std::string name, description;

  EngineKind engine = EngineKind::kRtl;
  uint64_t clock = 250'000'000;  // of the RTL, in Hz
  uint64_t lanes = 4;            // of the deserializer, 1 to 4
  bool one_shot = true;          // deserializer: whole chunks by one DMA write; else a write for each field
  bool eager = false;            // deserializer, with one_shot: what is final is written while the link would idle
  bool protoacc = false;         // deserializer: reads a descriptor for each field, and has-bits before it changes them
  SendMode send = SendMode::kMemoryAffinity;
  uint64_t payload_threshold = 256;  // memory-affinity: strings from this size on are not among the records
  bool memcpy_engine = false;        // those of these that are long are copied by a copy engine, not by the CPU
  uint64_t reference_from = 0;       // memory-affinity: strings from this size on are referred to, not copied; 0: none
  uint64_t walk_limit = 0;  // kEither: bytes of objects, arrays and short strings up to which an object is walked
  uint64_t push_limit = 0;  // records or objects of at most so many bytes are pushed into the inbox; 0: none
  bool one_piece = false;   // objects that are walked lie in one piece, which the engine reads at once
  uint64_t prefetch = 0;    // so many bytes of what a command refers to are read ahead into the inbox

  LinkConfig link;   // between engine and host memory; with EngineKind::kNone between NIC and host memory
  bool nic = false;  // the engine does not stand in the NIC: wire bytes cross `nic_link` too, once each way
  LinkConfig nic_link;
  LinkConfig engine_memory;  // the engine's own, for fields with the target bit
  LinkConfig descriptors;    // where `protoacc` reads
  // The card's inbox (sim/inbox.h): SRAM at a port of the engine's, one line a cycle at 250 MHz.
  LinkConfig inbox = {.one_way = 4 * kNanosecond, .bandwidth = 16e9};
  uint64_t inbox_size = 64 << 10;

  CpuModel cpu_model = CpuModel::kStated;
  double cpu_scale = 1;           // all costs of the host's CPU, times this
  Codec codec = Codec::kDrover;   // of the host's CPU where it decodes and encodes, and of the SmartNIC's cores
  Caches caches = Caches::kWarm;  // what its costs are of
  // Instead of what these two say (sim/stated_costs.h). Read them by codec_cost().
  CodecCost decode = kAllAsStated, encode = kAllAsStated, preserialize = kAllAsStated;
  uint64_t copy_from = 4096;     // bytes from which on a copy engine, where there is one, copies a string
  double copy_submit = 60;       // ns of CPU to hand one copy to it
  double copy_bandwidth = 3e10;  // bytes/s of it
  double push_line = 8;          // ns of CPU for each 64-byte line that it stores into the card, a doorbell among them
  double cores_scale = 2;        // EngineKind::kCores: the codec's costs there, times this
  double cores_dma = 100;        // ns of a core to start one DMA transfer

  std::string target = "none";  // fields whose payloads lie in engine memory: sim/target_fields.h
  RpcHeader header = RpcHeader::kNone;
  uint64_t in_flight = 1;  // messages that are under way at once
  uint64_t repeat = 1;     // rounds over the workload
};

// What a job costs in this system, at scale 1: what it states itself, and for the rest what codec and caches say.
CodecCost codec_cost(const System& system, Job job);

struct SystemKey {
  std::string name;     // "link.latency"
  std::string meaning;  // with the unit
  std::string value;    // the default, as it would be written
};
// Sorted as they are documented.
std::vector<SystemKey> system_keys();

// Sets one key; an empty string, or what is wrong and what there is.
std::string set_key(System* system, const std::string& key, const std::string& value);
// The key's value, as it would be written; empty for an unknown key.
std::string get_key(const System& system, const std::string& key);

struct SystemResult {
  System system;
  std::string error;
  bool ok() const { return error.empty(); }
};
// One of the compiled-in systems by name, or a file that ends in ".toml".
SystemResult load_system(const std::string& name_or_file);
SystemResult parse_system(std::string_view toml, const std::string& where);

// Name and text of those that are compiled in, by name.
struct BuiltInSystem {
  std::string_view name, toml;
};
std::vector<BuiltInSystem> built_in_systems();

}  // namespace drover::sim
