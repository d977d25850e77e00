// The built-in workload.
#include "workload/workload.h"

namespace drover::workload {

WorkloadResult hyperproto_like(uint64_t seed) {
  (void)seed;
  WorkloadResult result;
  result.error = "hyperproto-like: not built yet";
  return result;
}

}  // namespace drover::workload
