// What the tests of runs of calls share: a system with other keys, its run, and what an engine counted.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/runs/calls.h"

namespace drover::sim {

using Pairs = std::vector<std::pair<std::string, std::string>>;

inline System system_named(const std::string& name, const Pairs& keys = {}) {
  SystemResult loaded = load_system(name);
  EXPECT_TRUE(loaded.ok()) << loaded.error;
  EXPECT_EQ(set_key(&loaded.system, "calls.time", "40us"), "");
  for (const auto& [key, value] : keys) EXPECT_EQ(set_key(&loaded.system, key, value), "");
  EXPECT_EQ(check_calls(loaded.system), "");
  return loaded.system;
}
inline CallResult run_of(const std::string& name, const Pairs& keys = {}) {
  CallResult result = run_calls(system_named(name, keys));
  EXPECT_EQ(result.error, "");
  return result;
}
inline uint64_t figure(const CallResult& result, size_t engine, const std::string& name) {
  for (const auto& [each, value] : result.engines[engine].figures) {
    if (each == name) return value;
  }
  ADD_FAILURE() << name;
  return 0;
}

}  // namespace drover::sim
