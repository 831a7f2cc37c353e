#include "vectors.h"

int chosen_variant = BASELINE;

int best_variant(void) {
#if PBW_HAS_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
      return AVX512;
    return AVX2;
  }
#endif
  return BASELINE;
}
