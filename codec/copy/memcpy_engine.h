// MemcpyEngine: what copies long strings into a pre-serialized stream. Freestanding.
//
// A MemcpyEngine is a class with
//
//   copy(to, from, size)   starts to copy; both stay as they are until wait()
//   wait()                 returns when all that was started is done
//
// Copies may overtake each other. PlainCopy uses the processor, IdxdCopy (codec/copy/idxd_copy.h) Intel's DSA, BestCopy
// (codec/copy/best_copy.h) the DSA if this process may use one. ModelledCopy (codec/copy/modelled_copy.h) is for tests
// and simulation.
#pragma once

#include <cstddef>
#include <cstring>

namespace drover {

template <typename E>
concept MemcpyEngine = requires(E engine, char* to, const char* from, size_t size) {
  engine.copy(to, from, size);
  engine.wait();
};

struct PlainCopy {
  void copy(char* to, const char* from, size_t size) { std::memcpy(to, from, size); }
  void wait() {}
};
static_assert(MemcpyEngine<PlainCopy>);

}  // namespace drover
