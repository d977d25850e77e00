// The keys of the RTL engine: its clock, the deserializer's modes, its memories and its inbox.
#pragma once

#include <string>

#include "sim/engines/engine.h"
#include "sim/platform/link.h"

namespace drover::sim {

class RtlOptions final : public CopyableEngineOptions<RtlOptions> {
 public:
  void add_keys(Keys* keys) override;
  std::string summary() const override;

  uint64_t clock = 250'000'000;  // Hz
  uint64_t lanes = 4;            // of the deserializer, 1 to 4
  bool eager = false;            // deserializer, with one_shot: final rows are written while the link would idle
  bool protoacc = false;         // deserializer: reads a descriptor for each field, and has-bits before it changes them
  uint64_t push_limit = 0;       // records or objects up to this size are pushed into the inbox; 0: none
  LinkConfig engine_memory;      // the engine's own, for fields with the target bit
  LinkConfig descriptors;        // where `protoacc` reads
  // SRAM at a port of the engine's, one line a cycle at 250 MHz (sim/platform/inbox.h).
  LinkConfig inbox = {.one_way = 4 * kNanosecond, .bandwidth = 16e9};
  uint64_t inbox_size = 64 << 10;
};

}  // namespace drover::sim
