/* Matrix products with bits of their own: each element is one sum over k in one order, whatever the sizes, its place
   and the strides, so a row has the same bits alone and among others. Numbers that are not finite stay in the rows and
   columns that they are in.

   gemm_kernels.h is compiled for each type and instruction set; which one runs is decided once. Operands have any
   strides, counted in numbers; memory is the caller's (sd_gemm_bytes of call.h). */

#ifndef SD_GEMM_H
#define SD_GEMM_H
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#include "../system/sets.h"
#include "call.h"

/* c = alpha * a b, m × k times k × n; strides in numbers. */
typedef struct {
  long m, n, k, am, ak, bk, bn, cm, cn;
} sd_gemm_sizes;

#define SD_GEMM_JOIN_(a, b) a##b
#define SD_GEMM_JOIN(a, b) SD_GEMM_JOIN_(a, b)
#define SD_GEMM_INLINE static inline __attribute__((always_inline, unused))
#define SD_GEMM_UNROLL _Pragma("GCC unroll 16")
#if defined __clang__ || __GNUC__ >= 12
#define SD_GEMM_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SD_GEMM_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (M){__VA_ARGS__})
#endif

#if defined __x86_64__
SD_BEGIN_AVX512
#define SET 2
#define SINGLE 0
#define W 8
#include "gemm_kernels.h"
#undef W
#undef SINGLE
#define SINGLE 1
#define W 16
#include "gemm_kernels.h"
#undef W
#undef SINGLE
#undef SET
SD_END_SET
SD_BEGIN_AVX2
#define SET 1
#define SINGLE 0
#define W 4
#include "gemm_kernels.h"
#undef W
#undef SINGLE
#define SINGLE 1
#define W 8
#include "gemm_kernels.h"
#undef W
#undef SINGLE
#undef SET
SD_END_SET
#endif
#define SET 0
#define SINGLE 0
#define W 2
#include "gemm_kernels.h"
#undef W
#undef SINGLE
#define SINGLE 1
#define W 4
#include "gemm_kernels.h"
#undef W
#undef SINGLE
#undef SET

typedef struct {
  void (*run)(const sd_gemm_sizes *, double, const void *, const void *, void *, int, int, char *);
  double (*dot)(long, const void *, long, const void *, long);
  void (*vector)(long, long, double, const void *, long, long, const void *, long, void *, long, int);
} sd_gemm_kernels;

/* By instruction set, for float64 and float32. */
#define SD_GEMM_SET(kind) {sd_gemm_run_##kind, sd_gemm_dot_##kind, sd_gemm_vector_##kind}
static const sd_gemm_kernels sd_gemm_sets[][2] = {
    {SD_GEMM_SET(d2), SD_GEMM_SET(s4)},
#if defined __x86_64__
    {SD_GEMM_SET(d4), SD_GEMM_SET(s8)},
    {SD_GEMM_SET(d8), SD_GEMM_SET(s16)},
#endif
};

#undef SD_GEMM_SET

/* Whether the transposed product is made: rows of c that lie in memory as they are make whole stores. */
static inline int sd_gemm_turns(long cm, long cn) { return cn != 1 && cm == 1; }

static inline void sd_gemm_on(int set, int single, const sd_gemm_sizes *s, double alpha, const void *a, const void *b,
                              void *c, int add, int half, char *scratch) {
  sd_gemm_sizes turned = {s->n, s->m, s->k, s->bn, s->bk, s->ak, s->am, s->cn, s->cm};
  const int turns = sd_gemm_turns(s->cm, s->cn);
  if (set > 1 && single && (turns ? s->m : s->n) <= 8) set = 1; /* the columns fill half a vector at most */
  if (turns)
    sd_gemm_sets[set][single].run(&turned, alpha, b, a, c, add, half, scratch);
  else
    sd_gemm_sets[set][single].run(s, alpha, a, b, c, add, half, scratch);
}

/* Put a product into c, or add it to what is there. k is not 0; c overlaps nothing. */
static inline void sd_gemm(int single, const sd_gemm_sizes *s, double alpha, const void *a, const void *b, void *c,
                           int add, char *scratch) {
  sd_gemm_on(sd_best_set(), single, s, alpha, a, b, c, add, 0, scratch);
}

/* The same for a product that equals its transpose, of which only the triangle below the diagonal is made, or where
   sd_gemm_turns, the one above. What is on the other side has no meaning. */
static inline void sd_gemm_half(int single, const sd_gemm_sizes *s, double alpha, const void *a, const void *b, void *c,
                                int add, char *scratch) {
  sd_gemm_on(sd_best_set(), single, s, alpha, a, b, c, add, 1, scratch);
}

/* A matrix of m × k numbers times a vector, in an order of its own, which reads rows as they lie in memory: a row's bits
   are not those of sd_gemm. */
static inline void sd_gemv(int single, long m, long k, double alpha, const void *a, long am, long ak, const void *b,
                           long bk, void *c, long cm, int add) {
  sd_gemm_sets[sd_best_set()][single].vector(m, k, alpha, a, am, ak, b, bk, c, cm, add);
}

/* A product of two vectors, in an order of its own: quicker than one row times one column. */
static inline double sd_gemm_dot(int single, long k, const void *a, long ak, const void *b, long bk) {
  return sd_gemm_sets[sd_best_set()][single].dot(k, a, ak, b, bk);
}
#endif
