// One message on its way in one direction, and its figures.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/platform/link.h"

namespace drover::sim {

enum class Direction : uint8_t { kReceive, kSend };

enum class Outcome : uint8_t {
  kEngine,    // the engine did it
  kSoftware,  // the engine left it to software; `reason` says why
};

// What an engine and its links have counted.
struct Counters {
  LinkCounters link;          // to host memory: DMA transactions, bytes and what they waited for
  LinkCounters card;          // to engine memory
  uint64_t input_stalls = 0;  // receive: cycles in which wire bytes waited for the engine
  uint64_t port_stalls = 0;   // cycles in which a DMA request or write waited at the engine's port
  uint64_t read_waits = 0;    // cycles in which reads were under way and nothing came (receive: of descriptors)
};
Counters operator-(const Counters& a, const Counters& b);
Counters& operator+=(Counters& sum, const Counters& more);

// A message in one direction. With more than one in flight, counters belong to the message that ended next.
struct Leg : Counters {
  Time time = 0;
  uint64_t cycles = 0;  // of the engine's clock, from its first byte or command to its record or last byte
  Time cpu = 0;         // of the host's CPU
  Time copies = 0;      // of the copy engine
  Outcome outcome = Outcome::kEngine;
  uint8_t reason = 0;  // of kSoftware; the engine names it
};

struct Transfer {
  uint32_t number = 0;   // its place in the run's list of transfers; engines use it as a cookie
  uint32_t message = 0;  // in the workload
  size_t result = 0;     // where its run keeps the figures
  Time began = 0, ended = 0;
  Leg leg;
};

}  // namespace drover::sim
