// IdxdCopy: a MemcpyEngine (codec/copy/memcpy_engine.h) that has Intel's DSA copy, by a queue that the kernel's idxd
// driver gave (codec/copy/idxd_queue.h). The processor copies
//
//   short strings                             handing them over takes longer
//   strings that find the queue full, or 64 copies of this engine under way
//   the rest of a copy that the device stopped at a missing page (the device does not wait for the kernel)
//   copies that the device refused
//
// so that all copies are complete when wait() returns. Thread-safety: none; several engines may share a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "codec/copy/idxd_queue.h"
#include "codec/copy/memcpy_engine.h"

namespace drover {

class IdxdCopy {
 public:
  static constexpr size_t kFrom = 4096;  // bytes from which on a copy is worth handing over
  static constexpr size_t kUnderWay = 64;

  // `queue` must outlive it. Null where the build has no DSA.
  static std::unique_ptr<IdxdCopy> make(IdxdQueue* queue);
  virtual ~IdxdCopy() = default;  // when all copies are done

  virtual void copy(char* to, const char* from, size_t size) = 0;
  virtual void wait() = 0;

  // Since it was made: bytes that the device copied, and those of copies of kFrom bytes or more that it did not.
  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t processor_bytes() const { return processor_bytes_; }

 protected:
  uint64_t device_bytes_ = 0, processor_bytes_ = 0;
};
static_assert(MemcpyEngine<IdxdCopy&>);

}  // namespace drover
