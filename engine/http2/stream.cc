#include "engine/http2/stream.h"

#include <random>

namespace drover::engine::http2 {

uint64_t StreamTable::secret() {
  std::random_device random;
  return uint64_t{random()} << 32 | random() | 1;
}

}  // namespace drover::engine::http2
