// A system: which engine does the RPC work, at which clock, how far from the host's memory, and what the host's CPU
// costs.
//
// Described in data: one TOML file under sim/systems/ for each, which are compiled in, or a file of the user's. Its
// keys are the rows of system_keys(); `--set key=value` writes the same keys, with the same words. A key that is not in
// the file has the default that system_keys() shows. Unknown keys, and values that are none, are errors that say what
// there is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/link.h"
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
};
enum class CpuModel {
  kStated,    // nanoseconds for each class of work, from the system file: deterministic
  kMeasured,  // the software codec is timed on the machine that runs the simulation
};

// What the software codec costs, in nanoseconds at scale 1, for each class of work.
struct CodecCost {
  double message = 0;  // once a message
  double object = 0;   // each message in it, itself included
  double scalar = 0;   // each number, bool and enum value
  double string = 0;   // each string and bytes value
  double byte = 0;     // each byte of these
};

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

  LinkConfig link;   // between engine and host memory; with EngineKind::kNone between NIC and host memory
  bool nic = false;  // the engine does not stand in the NIC: wire bytes cross `nic_link` too, once each way
  LinkConfig nic_link;
  LinkConfig engine_memory;  // the engine's own, for fields with the target bit
  LinkConfig descriptors;    // where `protoacc` reads

  CpuModel cpu_model = CpuModel::kStated;
  double cpu_scale = 1;  // all costs of the host's CPU, times this
  // Drover's own codec on a Sapphire Rapids at 2 GHz, caches warm: fitted to what cpu.model = measured gave for the
  // built-in workload's 40 messages (docs/sim.md, with how far off the fit is).
  CodecCost decode = {29, 4.9, 3.2, 6.4, 0.0196};
  CodecCost encode = {0, 9.3, 1.5, 4.1, 0.0172};
  CodecCost preserialize = {0, 6.4, 1.2, 2.9, 0.0169};
  uint64_t copy_from = 4096;     // bytes from which on a copy engine, where there is one, copies a string
  double copy_submit = 60;       // ns of CPU to hand one copy to it
  double copy_bandwidth = 3e10;  // bytes/s of it
  double cores_scale = 2;        // EngineKind::kCores: the codec's costs there, times this
  double cores_dma = 100;        // ns of a core to start one DMA transfer

  uint64_t in_flight = 1;  // messages that are under way at once
  uint64_t repeat = 1;     // rounds over the workload
};

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
