// BestCopy: the MemcpyEngine (codec/copy/memcpy_engine.h) that is chosen when the program runs: Intel's DSA where this
// process may use one, the processor otherwise.
#pragma once

#include <cstring>
#include <string>

#include "codec/copy/idxd_copy.h"
#include "codec/copy/memcpy_engine.h"

namespace drover {

class BestCopy {
 public:
  // By that queue, which must outlive it; null: by the processor.
  explicit BestCopy(IdxdQueue* queue, std::string what)
      : device_(queue == nullptr ? nullptr : IdxdCopy::make(queue)), what_(std::move(what)) {}

  void copy(char* to, const char* from, size_t size) {
    if (device_ == nullptr) {
      std::memcpy(to, from, size);
    } else {
      device_->copy(to, from, size);
    }
  }
  void wait() {
    if (device_ != nullptr) device_->wait();
  }
  // "Intel DSA, wq0.0", or "the processor (no DSA: ...)".
  const std::string& what() const { return what_; }

 private:
  std::unique_ptr<IdxdCopy> device_;
  std::string what_;
};
static_assert(MemcpyEngine<BestCopy>);

// This thread's; all threads share a queue, which the first call in the process opens.
BestCopy& best_memcpy_engine();

}  // namespace drover
