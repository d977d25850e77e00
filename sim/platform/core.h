// A core of a simulated host: it runs a program, and what the program does takes time.
//
// The program is ordinary C++ on a stack of its own: spend() returns when that much simulated time has passed. What
// each operation costs is stated in the system file with its source, or measured on the machine at hand (`make
// fit-cpu-costs` prints the figures); cores.source says which, and every result repeats it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/platform/keys.h"
#include "sim/platform/units.h"

namespace drover::sim {

// What a core's time goes to.
enum class Work : uint8_t {
  kPush,     // a line is made and stored into a ring, or device memory
  kTake,     // a line that came is loaded, copied and given to the program
  kPoll,     // a look at a ring with nothing new
  kMmio,     // stores to the device that are not cached: doorbells, whole lines
  kShared,   // waiting for the ownership of a line that the device shares
  kHandler,  // the application
  kCodec,    // encoding, decoding, pre-serializing (cpu.*)
  kIdle,     // waiting where nothing is to be done: the client's own pauses
};
inline constexpr size_t kWorks = 8;
const char* work_name(Work work);

struct CoreOptions {
  std::string source = "not stated";  // where these figures come from
  Time push = 0, take = 0, poll = 0;  // the library's work and its accesses to lines in the processor's caches
  Time doorbell = 0;                  // an uncached store of 8 bytes
  Time mmio_line = 0;                 // uncached stores of a line
  Time device_line = 0;               // a line stored into coherent device memory
  Time store_shared = 0;              // besides push, where the device shares the line
  Time handler = 0;                   // the application's work for a call
  void add_keys(Keys* keys);
};

class Core {
 public:
  virtual ~Core() = default;
  // From the core's program only.
  virtual void spend(Work what, Time time) = 0;
  virtual Time now() const = 0;

  const std::array<Time, kWorks>& spent() const { return spent_; }

 protected:
  void count(Work what, Time time) { spent_[static_cast<size_t>(what)] += time; }

 private:
  std::array<Time, kWorks> spent_{};
};

}  // namespace drover::sim
