// Which machine this is, asked once. Code for newer machines is compiled function by function for them (clang's target
// attribute), never file by file: an inline function that both share must not be compiled for the newer one.
#pragma once

#if defined(__x86_64__) && defined(__clang__)
#define DROVER_X86_64_V3 1
// x86-64-v3 as far as the codec has a use for it.
#define DROVER_TARGET_V3 "avx,avx2,bmi,bmi2,lzcnt,popcnt"
#else
#define DROVER_X86_64_V3 0
#endif

namespace drover::cpu {

#if DROVER_X86_64_V3
namespace detail {
inline bool ask_x86_64_v3() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("lzcnt");
}
}  // namespace detail

inline bool has_x86_64_v3() {
  static const bool has = detail::ask_x86_64_v3();
  return has;
}
#endif

}  // namespace drover::cpu
