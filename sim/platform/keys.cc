#include "sim/platform/keys.h"

#include <algorithm>
#include <cstdio>

namespace drover::sim {
namespace {

std::string plain(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace

void Keys::text(const std::string& name, const std::string& meaning, std::string* at) {
  add({name, meaning, [at](const std::string& value) { return *at = value, true; }, [at] { return *at; }});
}

void Keys::flag(const std::string& name, const std::string& meaning, bool* at) {
  add({name, meaning, [at](const std::string& value) { return parse_flag(value, at); },
       [at] { return *at ? "true" : "false"; }});
}

void Keys::number(const std::string& name, const std::string& meaning, double* at) {
  add({name, meaning, [at](const std::string& value) { return parse_number(value, at); }, [at] { return plain(*at); }});
}

void Keys::time(const std::string& name, const std::string& meaning, Time* at) {
  add({name, meaning, [at](const std::string& value) { return parse_time(value, at); },
       [at] { return format_time(*at); }});
}

void Keys::bandwidth(const std::string& name, const std::string& meaning, double* at) {
  add({name, meaning, [at](const std::string& value) { return parse_bandwidth(value, at); },
       [at] { return format_bandwidth(*at); }});
}

void Keys::frequency(const std::string& name, const std::string& meaning, uint64_t* at) {
  add({name, meaning, [at](const std::string& value) { return parse_frequency(value, at); },
       [at] { return format_frequency(*at); }});
}

const Key* Keys::find(const std::string& name) const {
  for (const Key& key : all_) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::string Keys::set(const std::string& name, const std::string& value) const {
  if (const Key* key = find(name); key != nullptr) {
    if (key->set(value)) return "";
    return "\"" + value + "\" is no value of " + name + ": " + key->meaning + "; now " + key->get();
  }
  // The keys of the same group, or else all groups.
  std::string group = name.substr(0, name.find('.') + 1), close;
  std::vector<std::string> groups;
  for (const Key& key : all_) {
    if (!group.empty() && key.name.starts_with(group)) close += (close.empty() ? "" : ", ") + key.name;
    size_t dot = key.name.find('.');
    std::string prefix = key.name.substr(0, dot) + (dot == std::string::npos ? "" : ".*");
    if (std::find(groups.begin(), groups.end(), prefix) == groups.end()) groups.push_back(prefix);
  }
  std::string all;
  for (const std::string& each : groups) all += (all.empty() ? "" : ", ") + each;
  return "there is no key " + name + "; there are " + (close.empty() ? all : close);
}

}  // namespace drover::sim
