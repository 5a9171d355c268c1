/* Functions up to end_set.h are compiled for AVX2. Included many times, so there is no guard. */
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
