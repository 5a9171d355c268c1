/* The instruction sets that code is compiled for, and the best of them that this processor has. */
#ifndef SYMDIFF_SETS_H
#define SYMDIFF_SETS_H

/* Functions between SD_BEGIN_AVX2 or SD_BEGIN_AVX512 and SD_END_SET are compiled for that set. */
#if defined __clang__
#define SD_BEGIN_AVX2 _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
#define SD_BEGIN_AVX512 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512dq,avx512vl,avx512bw\"))), apply_to = function)")
#define SD_END_SET _Pragma("clang attribute pop")
#else
#define SD_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define SD_BEGIN_AVX512 \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512dq,avx512vl,avx512bw\")")
#define SD_END_SET _Pragma("GCC pop_options")
#endif

enum { SD_SET_BASE, SD_SET_AVX2, SD_SET_AVX512 };

/* SSE2 or NEON (SD_SET_BASE), which every processor of the family has, or more. */
static inline int sd_best_set(void) {
#if defined __x86_64__
  static int known = -1; /* threads that ask at once find the same */
  int set = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (set >= 0) return set;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    set = SD_SET_AVX512;
  else
    set = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? SD_SET_AVX2 : SD_SET_BASE;
  __atomic_store_n(&known, set, __ATOMIC_RELAXED);
  return set;
#else
  return SD_SET_BASE;
#endif
}

#endif
