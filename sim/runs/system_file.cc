// System files: TOML, flattened to the keys of system_keys().
#include <fstream>
#include <sstream>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "sim/runs/system.h"

namespace drover::sim {
namespace {

std::string set_node(System* system, const std::string& key, const toml::node& node);

std::string set_table(System* system, const std::string& prefix, const toml::table& table) {
  for (const auto& [name, node] : table) {
    std::string key = prefix + std::string(name.str());
    std::string error = set_node(system, key, node);
    if (!error.empty()) return error;
  }
  return "";
}

std::string set_node(System* system, const std::string& key, const toml::node& node) {
  if (const toml::table* table = node.as_table()) return set_table(system, key + ".", *table);
  std::string error, text;
  if (const auto* string = node.as_string()) {
    text = string->get();
  } else if (const auto* flag = node.as_boolean()) {
    text = flag->get() ? "true" : "false";
  } else if (node.is_number()) {
    std::ostringstream out;
    out << *node.value<double>();
    text = out.str();
  } else {
    error = key + " is neither a string, a number nor a flag";
  }
  if (error.empty()) error = set_key(system, key, text);
  if (error.empty()) return "";
  return "line " + std::to_string(node.source().begin.line) + ": " + error;
}

}  // namespace

SystemResult parse_system(std::string_view text, const std::string& where) {
  SystemResult result;
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    result.error = where + ", line " + std::to_string(parsed.error().source().begin.line) + ": " +
                   std::string(parsed.error().description());
    return result;
  }
  result.error = set_table(&result.system, "", parsed.table());
  if (!result.error.empty()) {
    result.error = where + ", " + result.error;
  } else if (result.system.name.empty()) {
    result.error = where + ": a system needs a name (name = \"...\")";
  }
  return result;
}

SystemResult load_system(const std::string& name) {
  if (name.ends_with(".toml")) {
    std::ifstream file(name, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (file.good()) return parse_system(text.str(), name);
    SystemResult result;
    result.error = "cannot read " + name;
    return result;
  }
  std::string names;
  for (const BuiltInSystem& system : built_in_systems()) {
    if (system.name == name) return parse_system(system.toml, "sim/systems/" + name + ".toml");
    names += (names.empty() ? "" : ", ") + std::string(system.name);
  }
  SystemResult result;
  result.error = "there is no system " + name + "; there are " + names + ", or a file that ends in .toml";
  return result;
}

}  // namespace drover::sim
