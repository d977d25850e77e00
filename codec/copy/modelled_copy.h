// ModelledCopy: a MemcpyEngine (codec/copy/memcpy_engine.h) for tests and simulation. It copies nothing before wait(),
// and then the last first, which exposes code that relies on an order or reads bytes too early. It counts the work that
// a simulated engine is charged for. Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "codec/copy/memcpy_engine.h"

namespace drover {

class ModelledCopy {
 public:
  void copy(char* to, const char* from, size_t size) {
    jobs_.push_back({to, from, size});
    ++copies_;
    bytes_ += size;
  }
  void wait() {
    for (; !jobs_.empty(); jobs_.pop_back()) std::memcpy(jobs_.back().to, jobs_.back().from, jobs_.back().size);
  }

  // Since it was made.
  uint64_t copies() const { return copies_; }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Job {
    char* to;
    const char* from;
    size_t size;
  };
  std::vector<Job> jobs_;
  uint64_t copies_ = 0, bytes_ = 0;
};
static_assert(MemcpyEngine<ModelledCopy>);

}  // namespace drover
