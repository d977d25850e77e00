// A system: which engine does the RPC work, how far it is from the host's memory, what the host's CPU costs, and how a
// run goes over the workload.
//
// A system is data: a TOML file of sim/systems/, which are compiled in, or a file of the user's. Its keys are those of
// the platform (sim/platform/options.h), of every engine (sim/engines/*) and of the run; `--set key=value` uses
// the same names. A key that the file does not set has the default that system_keys() shows. An unknown
// key, or a text that is no value of its key, is an error that lists what is expected.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engines/engine.h"
#include "sim/platform/keys.h"
#include "sim/platform/options.h"
#include "sim/runs/call_options.h"

namespace drover::sim {

struct RunOptions {
  std::string target = "none";  // fields whose payloads lie in engine memory: sim/platform/target_fields.h
  RpcHeader header = RpcHeader::kNone;
  uint64_t in_flight = 1;  // messages that are under way at once
  uint64_t repeat = 1;     // rounds over the workload
  void add_keys(Keys* keys);
};

// A copy of an engine's options.
class EngineOptionsCopy {
 public:
  explicit EngineOptionsCopy(std::unique_ptr<EngineOptions> options) : options_(std::move(options)) {}
  EngineOptionsCopy(const EngineOptionsCopy& other) : options_(other.options_->clone()) {}
  EngineOptionsCopy(EngineOptionsCopy&&) = default;
  EngineOptionsCopy& operator=(const EngineOptionsCopy& other) { return *this = EngineOptionsCopy(other); }
  EngineOptionsCopy& operator=(EngineOptionsCopy&&) = default;
  EngineOptions& operator*() const { return *options_; }

 private:
  std::unique_ptr<EngineOptions> options_;
};

struct System {
  System();  // with every engine that is registered

  std::string name, description;
  std::string engine = "rtl";  // engine.kind
  PlatformOptions platform;
  RunOptions run;
  CallOptions calls;
  std::map<std::string, EngineOptionsCopy> engines;  // by kind

  const EngineType& engine_type() const;
  // Runs of calls are for engines that serve hosts, runs of messages for those that only move messages.
  bool for_calls() const { return engine_type().make_for_calls != nullptr; }
  const EngineOptions& engine_options() const;
  const EngineOptions* base_options() const;  // of EngineType::base, or null
  // The engine's part of a result table's heading.
  std::string engine_summary() const;
  // Of calls: none is lost, whatever the network loses.
  bool reliable() const;
  // All keys, those of one group together. They are bound to this object.
  Keys keys();
};

struct SystemKey {
  std::string name;     // "link.latency"
  std::string meaning;  // with the unit
  std::string value;    // the default, as it would be written
};
// Sorted as they are documented.
std::vector<SystemKey> system_keys();
// The same with the system's own values.
std::vector<SystemKey> system_keys(const System& system);

// Sets one key; an empty string, or what is wrong and which keys exist.
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
