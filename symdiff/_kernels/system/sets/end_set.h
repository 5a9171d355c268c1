/* Functions are compiled for every processor of the family again. Included many times, so there is no guard. */
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
