/* Functions up to end_set.h are compiled for AVX-512. Included many times, so there is no guard. */
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw")
#endif
