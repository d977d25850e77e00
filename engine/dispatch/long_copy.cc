#include "engine/dispatch/long_copy.h"

#include <algorithm>
#include <cstring>

#include "engine/base/clock.h"

namespace drover::engine {

bool LongCopy::step(int64_t end_ns) {
  do {
    copy_slice();
  } while (!pieces_.empty() && monotonic_ns() < end_ns);
  return pieces_.empty();
}

void LongCopy::copy_slice() {
  for (size_t left = kSlice; left != 0 && !pieces_.empty();) {
    const Piece& piece = pieces_.front();
    size_t size = std::min(left, piece.size - done_);
    std::memcpy(to_, piece.data + done_, size);
    to_ += size;
    done_ += size;
    left -= size;
    if (done_ != piece.size) return;
    pieces_ = pieces_.subspan(1);
    done_ = 0;
  }
}

}  // namespace drover::engine
