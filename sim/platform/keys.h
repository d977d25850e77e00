// The keys of a system: "link.latency" and the like, each with its documentation, bound to one member of an options
// struct. Every part of a system (a link, the host's CPU, an engine) adds the keys of its own options; files, --set and
// --sweep use the same names. Keys refer to the struct that added them and must not outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/platform/units.h"

namespace drover::sim {

struct Key {
  std::string name;                             // "link.latency"
  std::string meaning;                          // with the unit
  std::function<bool(const std::string&)> set;  // false for a text that is no value of the key
  std::function<std::string()> get;             // as it would be written
};

class Keys {
 public:
  void add(Key key) { all_.push_back(std::move(key)); }
  void text(const std::string& name, const std::string& meaning, std::string* at);
  void flag(const std::string& name, const std::string& meaning, bool* at);
  void number(const std::string& name, const std::string& meaning, double* at);
  void time(const std::string& name, const std::string& meaning, Time* at);
  void bandwidth(const std::string& name, const std::string& meaning, double* at);
  void frequency(const std::string& name, const std::string& meaning, uint64_t* at);
  // A whole number of a 32-bit or 64-bit member.
  template <typename Integer>
  void count(const std::string& name, const std::string& meaning, Integer* at, uint64_t least, uint64_t most) {
    add({name, meaning,
         [=](const std::string& value) {
           uint64_t number = 0;
           if (!parse_size(value, &number) || number < least || number > most) return false;
           *at = static_cast<Integer>(number);
           return true;
         },
         [at] { return std::to_string(*at); }});
  }
  template <typename Enum>
  void choice(const std::string& name, const std::string& meaning, Enum* at,
              std::vector<std::pair<std::string, Enum>> words) {
    auto set = [at, words](const std::string& value) {
      for (const auto& [word, each] : words) {
        if (word == value) return *at = each, true;
      }
      return false;
    };
    auto get = [at, words] {
      for (const auto& [word, each] : words) {
        if (each == *at) return word;
      }
      return std::string();
    };
    add({name, meaning, set, get});
  }

  const std::vector<Key>& all() const& { return all_; }
  const std::vector<Key>& all() const&& = delete;  // keys of a temporary
  const Key* find(const std::string& name) const;
  // Sets one key; an empty string, or what is wrong and which keys exist.
  std::string set(const std::string& name, const std::string& value) const;

 private:
  std::vector<Key> all_;
};

}  // namespace drover::sim
