/* Rows of neighbouring elements combined by whole vectors: the largest or smallest of one, and rows onto each other.
   Each function is there for each set of vector instructions, of which the processor's widest runs.

   Needs nest.h. */

#ifndef SD_ROWS_H
#define SD_ROWS_H
#include <math.h>
#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#define SD_X86
#endif

#include "../../system/sets/which.h"
#include "nest.h"

/* Bytes ahead that long rows are prefetched. */
enum { SD_STREAMED = 8192 };

/* The largest or smallest of at least eight vectors of neighbours; nan if there is one. The instructions pass over
   nan in their first operand, so two vectors at a time are compared for that. */
#define SD_EXTREME(NAME, TYPE, VECTOR, ODD, LOAD, STORE, BETTER, UNORDERED, ANY, OP)                     \
  static TYPE NAME(const TYPE *x, long count) {                                                          \
    enum { LANES = sizeof(VECTOR) / sizeof(TYPE) };                                                      \
    VECTOR a = LOAD(x), b = LOAD(x + LANES), c = LOAD(x + 2 * LANES), d = LOAD(x + 3 * LANES);           \
    VECTOR e = LOAD(x + 4 * LANES), f = LOAD(x + 5 * LANES), g = LOAD(x + 6 * LANES);                    \
    VECTOR h = LOAD(x + 7 * LANES);                                                                      \
    ODD odd = UNORDERED(a, b) | UNORDERED(c, d) | UNORDERED(e, f) | UNORDERED(g, h);                     \
    TYPE lanes[LANES], best;                                                                             \
    for (long i = 8 * LANES; i < count; i += 8 * LANES) {                                                \
      const TYPE *at = x + (i + 8 * LANES <= count ? i : count - 8 * LANES); /* some of them once more */ \
      for (int k = 0; k < 8 * (int)sizeof(VECTOR); k += SD_LINE)                                         \
        __builtin_prefetch((const char *)at + SD_STREAMED + k);                                          \
      VECTOR p = LOAD(at), q = LOAD(at + LANES), r = LOAD(at + 2 * LANES), s = LOAD(at + 3 * LANES);     \
      VECTOR t = LOAD(at + 4 * LANES), u = LOAD(at + 5 * LANES), v = LOAD(at + 6 * LANES);               \
      VECTOR w = LOAD(at + 7 * LANES);                                                                   \
      odd |= UNORDERED(p, q) | UNORDERED(r, s);                                                          \
      odd |= UNORDERED(t, u) | UNORDERED(v, w);                                                          \
      a = BETTER(p, a), b = BETTER(q, b), c = BETTER(r, c), d = BETTER(s, d);                            \
      e = BETTER(t, e), f = BETTER(u, f), g = BETTER(v, g), h = BETTER(w, h);                            \
    }                                                                                                    \
    if (ANY(odd)) return NAN;                                                                            \
    a = BETTER(BETTER(a, b), BETTER(c, d)), e = BETTER(BETTER(e, f), BETTER(g, h));                      \
    STORE(lanes, BETTER(a, e));                                                                          \
    best = lanes[0];                                                                                     \
    for (int l = 1; l < LANES; l++)                                                                      \
      if (lanes[l] OP best) best = lanes[l];                                                             \
    return best;                                                                                         \
  }

/* Combine `rows` rows, `stride` bytes apart, with what is in `to`, in their order; a few vectors of each at a time,
   which stay in registers. */
#define SD_COMBINE_ROWS(NAME, TYPE, VECTOR, WHOLE, COMBINE)                                              \
  static void NAME(TYPE *to, const char *from, long stride, long rows, long count) {                     \
    enum { LANES = sizeof(VECTOR) / sizeof(TYPE) };                                                      \
    typedef VECTOR loose __attribute__((aligned(1), may_alias));                                         \
    typedef TYPE one __attribute__((aligned(1), may_alias));                                             \
    long i = 0;                                                                                          \
    for (; i + 4 * LANES <= count; i += 4 * LANES) {                                                     \
      loose *at = (loose *)((one *)to + i);                                                              \
      VECTOR a = at[0], b = at[1], c = at[2], d = at[3];                                                 \
      for (long r = 0; r < rows; r++) {                                                                  \
        const loose *x = (const loose *)((const one *)(from + r * stride) + i);                          \
        COMBINE(VECTOR, WHOLE, a, x[0]) COMBINE(VECTOR, WHOLE, b, x[1])                                  \
        COMBINE(VECTOR, WHOLE, c, x[2]) COMBINE(VECTOR, WHOLE, d, x[3])                                  \
      }                                                                                                  \
      at[0] = a, at[1] = b, at[2] = c, at[3] = d;                                                        \
    }                                                                                                    \
    for (; i + LANES <= count; i += LANES) {                                                             \
      VECTOR a = *(loose *)((one *)to + i);                                                              \
      for (long r = 0; r < rows; r++) {                                                                  \
        const loose *x = (const loose *)((const one *)(from + r * stride) + i);                          \
        COMBINE(VECTOR, WHOLE, a, x[0])                                                                  \
      }                                                                                                  \
      *(loose *)((one *)to + i) = a;                                                                     \
    }                                                                                                    \
    for (; i < count; i++) {                                                                             \
      VECTOR a = {((one *)to)[i]};                                                                       \
      for (long r = 0; r < rows; r++) {                                                                  \
        VECTOR x = {((const one *)(from + r * stride))[i]};                                              \
        COMBINE(VECTOR, WHOLE, a, x)                                                                     \
      }                                                                                                  \
      ((one *)to)[i] = a[0];                                                                             \
    }                                                                                                    \
  }
#define SD_PLUS(VECTOR, WHOLE, a, x) a += x;
#define SD_TIMES(VECTOR, WHOLE, a, x) a *= x;
#define SD_BETTER(VECTOR, WHOLE, a, x, OP)                          \
  {                                                                 \
    VECTOR y = x;                                                   \
    WHOLE keep = (WHOLE)(a OP y) | (WHOLE)(a != a);                 \
    a = (VECTOR)((keep & (WHOLE)a) | (~keep & (WHOLE)y));           \
  }
#define SD_LARGER(VECTOR, WHOLE, a, x) SD_BETTER(VECTOR, WHOLE, a, x, >)
#define SD_SMALLER(VECTOR, WHOLE, a, x) SD_BETTER(VECTOR, WHOLE, a, x, <)

typedef struct sd_row_functions {
  double (*largest_d)(const double *, long), (*smallest_d)(const double *, long);
  float (*largest_f)(const float *, long), (*smallest_f)(const float *, long);
  void (*rows_d[4])(double *, const char *, long, long, long); /* as operations are numbered */
  void (*rows_f[4])(float *, const char *, long, long, long);
  long extreme;                          /* bytes of which there is a largest by vectors, at least */
  const struct sd_row_functions *narrower; /* or null */
} sd_row_functions;

#define SD_ROWS_SET(SET, BYTES)                                                                          \
  typedef double sd_d_##SET __attribute__((vector_size(BYTES)));                                         \
  typedef float sd_f_##SET __attribute__((vector_size(BYTES)));                                          \
  typedef long long sd_l_##SET __attribute__((vector_size(BYTES)));                                      \
  typedef int sd_i_##SET __attribute__((vector_size(BYTES)));                                            \
  SD_COMBINE_ROWS(sd_plus_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_PLUS)                              \
  SD_COMBINE_ROWS(sd_times_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_TIMES)                            \
  SD_COMBINE_ROWS(sd_larger_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_LARGER)                          \
  SD_COMBINE_ROWS(sd_smaller_d_##SET, double, sd_d_##SET, sd_l_##SET, SD_SMALLER)                        \
  SD_COMBINE_ROWS(sd_plus_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_PLUS)                               \
  SD_COMBINE_ROWS(sd_times_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_TIMES)                             \
  SD_COMBINE_ROWS(sd_larger_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_LARGER)                           \
  SD_COMBINE_ROWS(sd_smaller_f_##SET, float, sd_f_##SET, sd_i_##SET, SD_SMALLER)
#define SD_ROWS_OF_SET(SET)                                                                              \
  {sd_plus_d_##SET, sd_times_d_##SET, sd_larger_d_##SET, sd_smaller_d_##SET},                            \
  {sd_plus_f_##SET, sd_times_f_##SET, sd_larger_f_##SET, sd_smaller_f_##SET}
#define SD_EXTREMES_OF_SET(SET) sd_largest_d_##SET, sd_smallest_d_##SET, sd_largest_f_##SET, sd_smallest_f_##SET

SD_ROWS_SET(narrow, 16)
#ifdef SD_X86
#define SD_ODD_D(a, b) _mm_castpd_si128(_mm_cmpunord_pd(a, b))
#define SD_ODD_F(a, b) _mm_castps_si128(_mm_cmpunord_ps(a, b))
SD_EXTREME(sd_largest_d_narrow, double, __m128d, __m128i, _mm_loadu_pd, _mm_storeu_pd, _mm_max_pd,
           SD_ODD_D, _mm_movemask_epi8, >)
SD_EXTREME(sd_smallest_d_narrow, double, __m128d, __m128i, _mm_loadu_pd, _mm_storeu_pd, _mm_min_pd,
           SD_ODD_D, _mm_movemask_epi8, <)
SD_EXTREME(sd_largest_f_narrow, float, __m128, __m128i, _mm_loadu_ps, _mm_storeu_ps, _mm_max_ps,
           SD_ODD_F, _mm_movemask_epi8, >)
SD_EXTREME(sd_smallest_f_narrow, float, __m128, __m128i, _mm_loadu_ps, _mm_storeu_ps, _mm_min_ps,
           SD_ODD_F, _mm_movemask_epi8, <)
#undef SD_ODD_D
#undef SD_ODD_F
static const sd_row_functions sd_rows_narrow = {SD_EXTREMES_OF_SET(narrow), SD_ROWS_OF_SET(narrow), 128, 0};
#else
static const sd_row_functions sd_rows_narrow = {0, 0, 0, 0, SD_ROWS_OF_SET(narrow), LONG_MAX, 0};
#endif

#ifdef SD_X86
#include "../../system/sets/begin_avx2.h"
SD_ROWS_SET(avx2, 32)
#define SD_ODD_D(a, b) _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_UNORD_Q))
#define SD_ODD_F(a, b) _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q))
SD_EXTREME(sd_largest_d_avx2, double, __m256d, __m256i, _mm256_loadu_pd, _mm256_storeu_pd,
           _mm256_max_pd, SD_ODD_D, _mm256_movemask_epi8, >)
SD_EXTREME(sd_smallest_d_avx2, double, __m256d, __m256i, _mm256_loadu_pd, _mm256_storeu_pd,
           _mm256_min_pd, SD_ODD_D, _mm256_movemask_epi8, <)
SD_EXTREME(sd_largest_f_avx2, float, __m256, __m256i, _mm256_loadu_ps, _mm256_storeu_ps,
           _mm256_max_ps, SD_ODD_F, _mm256_movemask_epi8, >)
SD_EXTREME(sd_smallest_f_avx2, float, __m256, __m256i, _mm256_loadu_ps, _mm256_storeu_ps,
           _mm256_min_ps, SD_ODD_F, _mm256_movemask_epi8, <)
#undef SD_ODD_D
#undef SD_ODD_F
static const sd_row_functions sd_rows_avx2 = {SD_EXTREMES_OF_SET(avx2), SD_ROWS_OF_SET(avx2), 256, &sd_rows_narrow};
#include "../../system/sets/end_set.h"
#include "../../system/sets/begin_avx512.h"
SD_ROWS_SET(avx512, 64)
#define SD_ODD_D(a, b) _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q)
#define SD_ODD_F(a, b) _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)
SD_EXTREME(sd_largest_d_avx512, double, __m512d, int, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_max_pd, SD_ODD_D, , >)
SD_EXTREME(sd_smallest_d_avx512, double, __m512d, int, _mm512_loadu_pd, _mm512_storeu_pd,
           _mm512_min_pd, SD_ODD_D, , <)
SD_EXTREME(sd_largest_f_avx512, float, __m512, int, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_max_ps, SD_ODD_F, , >)
SD_EXTREME(sd_smallest_f_avx512, float, __m512, int, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_min_ps, SD_ODD_F, , <)
#undef SD_ODD_D
#undef SD_ODD_F
static const sd_row_functions sd_rows_avx512 = {SD_EXTREMES_OF_SET(avx512), SD_ROWS_OF_SET(avx512), 512, &sd_rows_avx2};
#include "../../system/sets/end_set.h"
#endif

/* The functions for this processor. */
static const sd_row_functions *sd_find_rows(void) {
#ifdef SD_X86
  const int set = sd_best_set();
  if (set == SD_SET_AVX512) return &sd_rows_avx512;
  if (set == SD_SET_AVX2) return &sd_rows_avx2;
#endif
  return &sd_rows_narrow;
}
#endif
