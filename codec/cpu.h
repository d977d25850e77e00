// Which machine this is. Code for newer machines is compiled function by function for them (the target attribute),
// never file by file: an inline function that both share must not be compiled for the newer one. Freestanding where it
// has nothing to say.
#pragma once

#if defined(__x86_64__) && defined(__clang__) && __STDC_HOSTED__
#define DROVER_BMI2 1
#include <immintrin.h>
#else
#define DROVER_BMI2 0
#endif

namespace drover::cpu {

#if DROVER_BMI2
// pext and pdep, in hardware: AMD's before Zen 3 run them in microcode, slower than shifts and masks.
extern const bool kFastBmi2;
inline bool has_fast_bmi2() { return kFastBmi2; }
#endif

}  // namespace drover::cpu
