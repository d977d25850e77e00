// The map seed of a core that has no source of randomness: its program sets it.
#include "codec/freestanding/codec.h"
#include "object/map_base.h"

namespace drover {
namespace {
uint64_t seed = 0;
}

uint64_t map_seed() { return seed; }

namespace freestanding {
void set_map_seed(uint64_t value) { seed = value; }
}  // namespace freestanding

}  // namespace drover
