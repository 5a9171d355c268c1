/* The machine of interpreter.h for vectors of W numbers, float32 if SINGLE and float64 if not: functions that
   run bytecode, for tiles of eight vectors and of one. Included once for each kind of vector, under the options of an
   instruction set that has such registers; all names end in W or are undefined at the end.

   Needs interpreter.h, which includes it, vectors.h and tiles.h. */

#include "vectors.h"

#if X86 >= 256
#define APART(a) __asm__ volatile("" : : "r"(a) : "memory"); __builtin_ia32_vzeroupper();
#else
#define APART(a)
#endif

#if !SINGLE && W >= 4
#include "../functions/special_vectors.h"
#endif

#if SINGLE && W >= 8
/* Our own functions of float64, for each half of the lanes. */
#if W == 16
#define IN_DOUBLE(x) SD_JOIN(x, _d8)
#else
#define IN_DOUBLE(x) SD_JOIN(x, _d4)
#endif
typedef T NAME(sd_half) __attribute__((vector_size(sizeof(T) * W / 2)));
#define IN_HALVES(f) \
  SLOW V NAME(f)(V x) { \
    union { V whole; NAME(sd_half) half[2]; } lanes = {x}; \
    for (int k = 0; k < 2; k++) \
      lanes.half[k] = __builtin_convertvector( \
          IN_DOUBLE(f)(__builtin_convertvector(lanes.half[k], IN_DOUBLE(sd_v))), NAME(sd_half)); \
    return lanes.whole; \
  }
IN_HALVES(do_lgamma)
IN_HALVES(do_gamma)
IN_HALVES(do_erfcx)
IN_HALVES(do_ndtri)
IN_HALVES(do_erfinv)
IN_HALVES(do_erfcinv)
IN_HALVES(do_j0_near)
IN_HALVES(do_j1_near)
IN_HALVES(do_y0_near)
IN_HALVES(do_y1_near)
IN_HALVES(do_i0)
IN_HALVES(do_i1)
IN_HALVES(do_i0e)
IN_HALVES(do_i1e)
IN_HALVES(do_k0)
IN_HALVES(do_k1)
IN_HALVES(do_k0e)
IN_HALVES(do_k1e)
#define TWO_IN_HALVES(f, own) \
  SLOW V NAME(f)(V x, V y) { \
    union { V whole; NAME(sd_half) half[2]; } a = {x}, b = {y}; \
    for (int k = 0; k < 2; k++) \
      a.half[k] = __builtin_convertvector( \
          IN_DOUBLE(own)(__builtin_convertvector(a.half[k], IN_DOUBLE(sd_v)), \
                         __builtin_convertvector(b.half[k], IN_DOUBLE(sd_v))), NAME(sd_half)); \
    return a.whole; \
  }
TWO_IN_HALVES(do_power, do_short_power)
TWO_IN_HALVES(do_ierfcx, do_ierfcx)
TWO_IN_HALVES(do_log_ndtr_derivative, do_log_ndtr_derivative)
#undef TWO_IN_HALVES
#undef IN_DOUBLE
#undef IN_HALVES
#endif

#define VECTOR(p, g) (((const V *)(p))[g])

#define TILE 1
#include "tiles.h"
#define TILE 8
#include "tiles.h"

#define SD_END
#include "vectors.h"
#undef SD_END
