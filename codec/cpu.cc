#include "codec/cpu.h"

#include <cstdlib>
#include <cstring>

namespace drover::cpu {

#if DROVER_BMI2
namespace {

// DROVER_CPU=portable, bmi2 or avx2 restricts the codec to these instructions; for tests and measurements.
Features ask() {
  __builtin_cpu_init();
  const char* held = std::getenv("DROVER_CPU");
  auto at_most = [held](const char* level) { return held != nullptr && std::strcmp(held, level) == 0; };
  Features has;
  if (at_most("portable")) return has;
  has.fast_bmi2 = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") &&
                  !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2") && !__builtin_cpu_is("bdver4");
  if (at_most("bmi2")) return has;
  has.avx2 = has.fast_bmi2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  if (at_most("avx2")) return has;
  has.avx512 = has.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
  return has;
}

}  // namespace

const Features kFeatures = ask();
#endif

}  // namespace drover::cpu
