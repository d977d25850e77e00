#include "codec/cpu.h"

namespace drover::cpu {

#if DROVER_BMI2
namespace {
bool ask_fast_bmi2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") && !__builtin_cpu_is("znver1") &&
         !__builtin_cpu_is("znver2") && !__builtin_cpu_is("bdver4");
}
}  // namespace

// False until it is initialized: what runs before then takes the portable way.
const bool kFastBmi2 = ask_fast_bmi2();
#endif

}  // namespace drover::cpu
