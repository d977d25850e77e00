#include "sim/runs/system.h"

#include <algorithm>

#include "sim/runs/engines.h"

namespace drover::sim {
namespace {

std::string kinds() {
  std::string text;
  for (const EngineType& type : engines()) {
    text += (text.empty() ? "" : ", ") + type.kind + (type.meaning.empty() ? "" : " (" + type.meaning + ")");
  }
  return text;
}

// Keys of one group ("link.") together, groups in the order of their first keys.
Keys grouped(const Keys& keys) {
  auto group = [](const Key& key) { return key.name.substr(0, key.name.find('.') + 1); };
  std::vector<std::string> groups;
  Keys out;
  for (const Key& first : keys.all()) {
    if (std::find(groups.begin(), groups.end(), group(first)) != groups.end()) continue;
    groups.push_back(group(first));
    for (const Key& key : keys.all()) {
      if (group(key) == groups.back()) out.add(key);
    }
  }
  return out;
}

}  // namespace

void RunOptions::add_keys(Keys* keys) {
  keys->text("run.target",
             "fields whose payloads lie in engine memory: none, >=BYTES (on average), or full names with commas",
             &target);
  keys->choice("run.header", "what the engine puts in front of each message that it sends: none, grpc (length prefix)",
               &header, {{"none", RpcHeader::kNone}, {"grpc", RpcHeader::kGrpc}});
  keys->count("run.in_flight", "messages that are under way at once; 1: each by itself", &in_flight, 1, 1024);
  keys->count("run.repeat", "rounds over the workload", &repeat, 1, 1000);
}

System::System() {
  for (const EngineType& type : sim::engines()) engines.emplace(type.kind, EngineOptionsCopy(type.make_options()));
}

const EngineType& System::engine_type() const { return *find_engine(engine); }
const EngineOptions& System::engine_options() const { return *engines.at(engine); }
const EngineOptions* System::base_options() const {
  const std::string& base = engine_type().base;
  return base.empty() ? nullptr : &*engines.at(base);
}
std::string System::engine_summary() const {
  return (base_options() == nullptr ? "" : base_options()->summary()) + engine_options().summary();
}
bool System::reliable() const {
  return engine_options().reliable() || (base_options() != nullptr && base_options()->reliable());
}

Keys System::keys() {
  Keys keys;
  keys.text("name", "of the system", &name);
  keys.text("description", "in one line", &description);
  keys.add({"engine.kind", "who has the codec: " + kinds(),
            [this](const std::string& kind) {
              if (!engines.contains(kind)) return false;
              engine = kind;
              return true;
            },
            [this] { return engine; }});
  platform.handover.add_keys(&keys);
  platform.links.add_keys(&keys);
  platform.cpu.add_keys(&keys);
  for (const EngineType& type : sim::engines()) {
    if (auto own = engines.find(type.kind); own != engines.end()) (*own->second).add_keys(&keys);
  }
  run.add_keys(&keys);
  platform.cores.add_keys(&keys);
  add_coherent_keys(&platform.coherent, &keys);
  platform.network.add_keys(&keys);
  calls.add_keys(&keys);
  return grouped(keys);
}

std::vector<SystemKey> system_keys(const System& system) {
  std::vector<SystemKey> out;
  System copy = system;
  Keys keys = copy.keys();
  for (const Key& key : keys.all()) out.push_back({key.name, key.meaning, key.get()});
  return out;
}
std::vector<SystemKey> system_keys() { return system_keys(System()); }

std::string set_key(System* system, const std::string& name, const std::string& value) {
  return system->keys().set(name, value);
}

std::string get_key(const System& system, const std::string& name) {
  System copy = system;
  Keys keys = copy.keys();
  const Key* key = keys.find(name);
  return key == nullptr ? "" : key->get();
}

}  // namespace drover::sim
