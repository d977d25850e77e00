#include "sim/platform/core.h"

namespace drover::sim {

const char* work_name(Work work) {
  static constexpr const char* kNames[kWorks] = {"push", "take", "poll", "mmio", "shared", "handler", "codec", "idle"};
  return kNames[static_cast<size_t>(work)];
}

void CoreOptions::add_keys(Keys* keys) {
  keys->text("cores.source", "where the costs of a core's operations come from", &source);
  keys->time("cores.push", "a line is made and stored into a ring", &push);
  keys->time("cores.take", "a line that came is loaded, copied and given to the program", &take);
  keys->time("cores.poll", "a look at a ring with nothing new", &poll);
  keys->time("cores.doorbell", "an uncached store of 8 bytes to the device", &doorbell);
  keys->time("cores.mmio_line", "uncached stores of a whole line", &mmio_line);
  keys->time("cores.device_line", "a line stored into coherent device memory", &device_line);
  keys->time("cores.store_shared", "besides cores.push, a store to a line that the device's cache shares",
             &store_shared);
  keys->time("cores.handler", "the application's work for a call", &handler);
}

}  // namespace drover::sim
