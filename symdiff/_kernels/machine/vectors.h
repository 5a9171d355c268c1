/* Types and functions of vectors of W numbers, float32 if SINGLE and float64 if not, and moves of blocks of rows.

   The first part of machine.h, for each kind of vector anew; undefine.h takes its names back. Needs W, SINGLE,
   SD_JOIN of interpreter.h and the functions of ../functions. */

#if SINGLE
#define NAME(x) SD_JOIN(SD_JOIN(x, _f), W)
#define T float
#define SD_INTEGER int
#define BITS (32 * W)
#define KIND(before, after) SD_JOIN(SD_JOIN(before, s), after)
#else
#define NAME(x) SD_JOIN(SD_JOIN(x, _d), W)
#define T double
#define SD_INTEGER long long
#define BITS (64 * W)
#define KIND(before, after) SD_JOIN(SD_JOIN(before, d), after)
#endif
#if defined __x86_64__
#define X86 BITS
#else
#define X86 0
#endif
#define V NAME(sd_v)
#define U NAME(sd_u)
#define M NAME(sd_m)
#define D NAME(sd_number)
#define Q NAME(sd_16_bytes)
#define H NAME(sd_32_bytes)
#define F NAME(sd_pair)
#define G NAME(sd_pairs)
#define INLINE static inline __attribute__((always_inline, unused))
#define SLOW static __attribute__((noinline, unused))

typedef T V __attribute__((vector_size(sizeof(T) * W), may_alias));
typedef T U __attribute__((vector_size(sizeof(T) * W), aligned(sizeof(T)), may_alias));
typedef SD_INTEGER M __attribute__((vector_size(sizeof(T) * W)));
typedef T D __attribute__((may_alias));
typedef T Q __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
typedef T H __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
#if SINGLE
typedef double F __attribute__((aligned(4), may_alias));
typedef double G __attribute__((vector_size(4 * W), may_alias));
#endif
typedef T NAME(sd_row) __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));

#if W == 16
#define ALL(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#elif W == 8
#define ALL(x) x, x, x, x, x, x, x, x
#elif W == 4
#define ALL(x) x, x, x, x
#else
#define ALL(x) x, x
#endif
#define B(x) ((V){ALL(x)})
#define SIGN ((M)B(-0.0))

#include "../functions/vector.h"
#if !SINGLE && W >= 4
#include "../functions/exponential.h"
#endif
#if !SINGLE && W == 8
#include "../functions/sines.h"
#endif

#include "../functions/transpose.h"
/* Blocks wider than the shuffles take are moved by parts: whole rows of eight seldom lie in one line of the cache. */
#ifndef LOAD4
#define LOAD4(p, s, c0, c1, c2, c3) { LOAD2(p, s, c0, c1) LOAD2((p) + 16, s, c2, c3) }
#define STORE4(p, s, c0, c1, c2, c3) { STORE2(p, s, c0, c1) STORE2((p) + 16, s, c2, c3) }
#endif
#define LOAD8(p, s, c0, c1, c2, c3, c4, c5, c6, c7) { \
  LOAD4(p, s, c0, c1, c2, c3) LOAD4((p) + 4 * sizeof(T), s, c4, c5, c6, c7) }
#ifndef STORE8
#define STORE8(p, s, c0, c1, c2, c3, c4, c5, c6, c7) { \
  STORE4(p, s, c0, c1, c2, c3) STORE4((p) + 4 * sizeof(T), s, c4, c5, c6, c7) }
#endif
