// Which machine this is. Code for newer machines is compiled function by function for them (the target attribute),
// never file by file: an inline function that both share must not be compiled for the newer one. Freestanding on other
// machines than x86-64, where it is empty.
#pragma once

#if defined(__x86_64__) && defined(__clang__) && __STDC_HOSTED__
#define DROVER_BMI2 1
#include <immintrin.h>
#else
#define DROVER_BMI2 0
#endif

namespace drover::cpu {

#if DROVER_BMI2
// All are false until static initialization; code that runs earlier uses the portable version.
struct Features {
  bool fast_bmi2 = false;  // pext and pdep in hardware: AMD's before Zen 3 run them in microcode, slower than shifts
  bool avx2 = false;       // with fast_bmi2
  bool avx512 = false;     // F, BW, VL and VBMI2, with avx2
};
extern const Features kFeatures;
inline bool has_fast_bmi2() { return kFeatures.fast_bmi2; }
inline bool has_avx2() { return kFeatures.avx2; }
inline bool has_avx512() { return kFeatures.avx512; }
#endif

}  // namespace drover::cpu
