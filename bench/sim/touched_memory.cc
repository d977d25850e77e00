#include "bench/sim/touched_memory.h"

#include <immintrin.h>

namespace drover::bench {
namespace {

constexpr uintptr_t kLine = 64;

}  // namespace

void TouchedMemory::flush() const {
  for (const Piece& piece : pieces_) {
    for (uintptr_t line = piece.at & ~(kLine - 1); line < piece.at + piece.size; line += kLine) {
      _mm_clflush(reinterpret_cast<const void*>(line));
    }
  }
  _mm_mfence();
}

}  // namespace drover::bench
