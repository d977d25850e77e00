// The keys of what stands between the halves of a NIC whose RPCs are objects. The NIC itself has line_nic.*.
#pragma once

#include <string>

#include "sim/engines/engine.h"

namespace drover::sim {

struct ObjectsOptions final : CopyableEngineOptions<ObjectsOptions> {
  uint64_t clock = 250'000'000;  // Hz, of deserializer and serializer
  uint64_t lanes = 4;            // of the deserializer
  bool eager = false, protoacc = false;
  uint32_t messages = 32;  // that are under way each way at the most

  void add_keys(Keys* keys) override;
  std::string summary() const override;
  std::string refuses(const CallShape& shape) const override;
  bool has_codec() const override { return true; }
  Time period() const { return 1'000'000'000'000 / clock; }
};

}  // namespace drover::sim
