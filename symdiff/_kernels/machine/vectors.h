/* Types and functions of vectors of W numbers, float32 if SINGLE and float64 if not, and moves of blocks of rows.

   The first part of machine.h, for each kind of vector anew; included with SD_END, it takes its names back. Needs W,
   SINGLE, SD_JOIN of interpreter.h and the functions of ../functions. */

#ifdef SD_END
#undef NAME
#undef T
#undef SD_INTEGER
#undef BITS
#undef KIND
#undef X86
#undef V
#undef U
#undef M
#undef D
#undef Q
#undef H
#undef F
#undef G
#undef INLINE
#undef SLOW
#undef APART
#undef ALL
#undef B
#undef SIGN
#undef VECTOR
#undef LOAD8
#undef BACK_4
#undef D_AT
#undef EACH
#undef EACH_2_LANES
#undef EACH_4_LANES
#undef EACH_8_LANES
#undef EVEN
#undef EVENS_4
#undef FOURS
#undef FOUR_OF
#undef FRONT_4
#undef GATHER
#undef GATHERED
#undef HALF
#undef HIGH
#undef HIGH_4
#undef H_AT
#undef INTO
#undef INTO_LAST
#undef INTO_TWO
#undef JOIN_2
#undef JOIN_4
#undef LEFT
#undef LEFT_4
#undef LOAD2
#undef LOAD4
#undef LOADROW2
#undef LOADROW3
#undef LOW
#undef LOW_4
#undef ODD
#undef ODDS_4
#undef OUT_OF
#undef OUT_OF_LAST
#undef OUT_OF_TWO
#undef PAIR_OF
#undef PAIR_TO
#undef PARTS_4
#undef PART_2
#undef PART_4
#undef Q_AT
#undef LAID
#undef MASK
#undef WIDENED
#undef NARROWED
#undef V_GET
#undef V_PUT
#undef RIGHT
#undef RIGHT_4
#undef ROWS_4
#undef SCATTER
#undef SCATTERED
#undef SHUFFLE
#undef STORE2
#undef STORE4
#undef STORE8
#undef STOREROW2
#undef STOREROW3
#undef TURN
#undef V_AT
#else
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
#endif
