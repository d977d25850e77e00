// The secret of this process's map indexes, from the operating system.
#include <random>

#include "object/map_base.h"

namespace drover {

uint64_t map_seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  return seed;
}

}  // namespace drover
