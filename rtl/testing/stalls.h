// Random stalls and faults for the parts of rtl/model. The sequences depend on the seed alone.
#pragma once

#include <cstdint>

#include "rtl/model/axi_memory.h"

namespace drover::rtl {

// True in so many of 256 cycles.
class Stalls {
 public:
  explicit Stalls(uint32_t of_256 = 0, uint64_t seed = 1) : of_256_(of_256), state_(seed * 2 + 1) {}
  bool operator()() {
    if (of_256_ == 0) return false;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 56) < of_256_;
  }

 private:
  uint32_t of_256_;
  uint64_t state_;
};

// A memory's timing as a test says it: constant latency, random stalls on every channel, random faults.
struct AxiTiming {
  uint32_t latency = 1;  // cycles from the request (a write's last beat) to the response
  uint32_t in_flight = 64;
  uint32_t stalls_of_256 = 0;
  uint64_t seed = 1;
  uint32_t refused_of_256 = 0;   // bursts that are answered with SLVERR, though nothing is wrong with them
  uint32_t no_rlast_of_256 = 0;  // bursts read whose last beat has no RLAST, against the protocol
  uint32_t unasked_of_256 = 0;   // cycles without a write under way in which a write is answered

  AxiWriteBehaviour writes() const {
    AxiWriteBehaviour behaviour{latency, in_flight};
    behaviour.address = Stalls(stalls_of_256, seed);
    behaviour.data = Stalls(stalls_of_256, seed + 1);
    behaviour.response = Stalls(stalls_of_256, seed + 2);
    behaviour.faults = [refuse = Stalls(refused_of_256, seed + 3)](uint64_t, uint32_t) mutable {
      return AxiFault{.response = refuse() ? kAxiSlaveError : kAxiOkay};
    };
    behaviour.unasked = Stalls(unasked_of_256, seed + 4);
    return behaviour;
  }
  AxiReadBehaviour reads() const {
    AxiReadBehaviour behaviour{latency, in_flight};
    behaviour.address = Stalls(stalls_of_256, seed);
    behaviour.data = Stalls(stalls_of_256, seed + 1);
    behaviour.faults = [refuse = Stalls(refused_of_256, seed + 2), mute = Stalls(no_rlast_of_256, seed + 3)](
                           uint64_t address, uint32_t beats) mutable {
      AxiFault fault{.last_missing = mute()};
      // From any of its beats on.
      if (refuse()) fault.response = kAxiSlaveError, fault.from_beat = static_cast<uint32_t>(address / 64 % beats);
      return fault;
    };
    return behaviour;
  }
};

}  // namespace drover::rtl
