/* The embedded interpreter: bytecode of a scheduled program, run over tiles of samples.

   It is an accumulator machine whose accumulator is a whole tile, eight vector registers wide. An
   instruction is straight-line code over those registers, so what is computed from the value just
   before it never goes to memory, and dispatch is paid once for eight vectors. Where a processor has
   32 vector registers, 16 of them are two more tiles, b and c, for values that are used again soon:
   loads and stores take most of the time. What fits one vector, a single sample above all, is run by the same
   machine with tiles of one vector, whose workspace is an eighth. symdiff/codegen/bytecode/assemble.py writes the
   code. The machine takes the place of a generated kernel (see ../batch/unit.h): same lanes, same vector functions,
   same order of sums, no contraction, hence the same bits.

   This header has what all machines share: the bytecode, the scalar functions and the choice of a machine where
   it runs. machine.h and tiles.h are the machine itself, compiled once for every instruction set that a processor of
   this architecture may have, and for float64 and float32. Needs libm, ../functions, instructions.h and handlers.h. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../functions/scalar.h"
#include "../functions/special.h"
#include "../functions/error.h"
#include "../functions/incomplete.h"
#include "../functions/tails.h"
#include "../functions/integrals.h"
#include "../functions/hypergeometric.h"
#include "handlers.h"
#include "instructions.h"

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

/* Vectors in a tile, the most; tiles.h names its registers one by one. SD_AHEAD tiles ahead of where it is, the
   machine asks for what it will read and write, SD_LINES lines of the cache at once; rows further apart
   than SD_FAR bytes would fill the second cache. */
enum { SD_VECTORS = 8, SD_AHEAD = 2, SD_LINES = 16, SD_LINE = 64, SD_FAR = 4096 };

typedef struct {
  const int32_t *code;
  const char *consts;     /* end of the numbers that are tiles: operands below 0 are distances from here;
                             and beginning of those that are one vector each */
  const char *rows;       /* rows of eight numbers that are stored as they are */
  void *const *functions; /* of the vector library or of libm */
  const int32_t *checks;  /* where the checked values stand */
  long checked;
} sd_bytecode;

/* Functions that are computed lane by lane where the vector library lacks them. */
typedef struct {
  const char *name;
  void (*function)(void);
} sd_scalar;
#define SD_ONE(name, function) {name, (void (*)(void))(double (*)(double))function}
#define SD_TWO(name, function) {name, (void (*)(void))(double (*)(double, double))function}
#define SD_THREE(name, function) {name, (void (*)(void))(double (*)(double, double, double))function}
#define SD_FOUR(name, function) {name, (void (*)(void))(double (*)(double, double, double, double))function}
static const sd_scalar sd_scalars[] = {
    SD_ONE("exp", exp),                 SD_ONE("exp2", exp2),               SD_ONE("expm1", expm1),
    SD_ONE("log", log),                 SD_ONE("log2", log2),               SD_ONE("log10", log10),
    SD_ONE("log1p", log1p),             SD_ONE("cbrt", cbrt),               SD_ONE("sin", sin),
    SD_ONE("cos", cos),                 SD_ONE("tan", tan),                 SD_ONE("arcsin", asin),
    SD_ONE("arccos", acos),             SD_ONE("arctan", atan),             SD_ONE("sinh", sinh),
    SD_ONE("cosh", cosh),               SD_ONE("tanh", tanh),               SD_ONE("arcsinh", asinh),
    SD_ONE("arccosh", acosh),           SD_ONE("arctanh", atanh),           SD_ONE("erf", erf),
    SD_ONE("erfc", erfc),               SD_ONE("gamma", sd_gamma),          SD_ONE("lgamma", sd_lgamma),
    SD_ONE("digamma", sd_digamma),      SD_TWO("polygamma", sd_polygamma),  SD_TWO("spherical_jn", sd_spherical_jn),
    SD_TWO("power", pow),               SD_TWO("arctan2", atan2),           SD_TWO("hypot", hypot),
    SD_TWO("mod", sd_mod),
    SD_ONE("erfcx", sd_erfcx),
    SD_TWO("zeta", sd_zeta),
    SD_TWO("beta", sd_beta),
    SD_TWO("betaln", sd_betaln),
    SD_TWO("ierfcx", sd_ierfcx),
    SD_TWO("log_ndtr_derivative", sd_log_ndtr_derivative),
    SD_TWO("i_moment", sd_i_moment),
    SD_TWO("ellipk_derivative", sd_ellipk_derivative),
    SD_TWO("ellipe_derivative", sd_ellipe_derivative),
    SD_ONE("si", sd_si),
    SD_ONE("ci", sd_ci),
    SD_ONE("fresnels", sd_fresnels),
    SD_ONE("fresnelc", sd_fresnelc),
    SD_ONE("airyai", sd_airyai),
    SD_ONE("airyaiprime", sd_airyaiprime),
    SD_ONE("airybi", sd_airybi),
    SD_ONE("airybiprime", sd_airybiprime),
    SD_ONE("lambertw", sd_lambertw),
    SD_ONE("lambertwm1", sd_lambertwm1),
    SD_THREE("polygamma_gap", sd_polygamma_gap),
    SD_THREE("k_moment", sd_k_moment),
    SD_THREE("bessel_far", sd_bessel_far),
    SD_TWO("gammainc_by_a", sd_gammainc_by_a),
    SD_TWO("gammainc_by_aa", sd_gammainc_by_aa),
    SD_TWO("gammainc_by_aaa", sd_gammainc_by_aaa),
    SD_TWO("log_gammainc", sd_log_gammainc),
    SD_TWO("log_gammainc_by_x", sd_log_gammainc_by_x),
    SD_TWO("log_gammainc_by_a", sd_log_gammainc_by_a),
    SD_TWO("log_gammainc_by_aa", sd_log_gammainc_by_aa),
    SD_TWO("log_gammainc_by_aaa", sd_log_gammainc_by_aaa),
    SD_TWO("log_gammaincc", sd_log_gammaincc),
    SD_TWO("log_gammaincc_by_x", sd_log_gammaincc_by_x),
    SD_TWO("log_gammaincc_by_a", sd_log_gammaincc_by_a),
    SD_TWO("log_gammaincc_by_aa", sd_log_gammaincc_by_aa),
    SD_TWO("log_gammaincc_by_aaa", sd_log_gammaincc_by_aaa),
    SD_TWO("stdtr", sd_stdtr),
    SD_TWO("stdtr_by_df", sd_stdtr_by_df),
    SD_TWO("log_stdtr", sd_log_stdtr),
    SD_TWO("log_stdtr_by_df", sd_log_stdtr_by_df),
    SD_TWO("log_stdtr_by_x", sd_log_stdtr_by_x),
    SD_THREE("beta_density", sd_beta_density),
    SD_THREE("betainc_by_a", sd_betainc_by_a),
    SD_THREE("betainc_by_b", sd_betainc_by_b),
    SD_THREE("betainc_by_aa", sd_betainc_by_aa),
    SD_THREE("betainc_by_ab", sd_betainc_by_ab),
    SD_THREE("betainc_by_bb", sd_betainc_by_bb),
    SD_THREE("betainc_by_aaa", sd_betainc_by_aaa),
    SD_THREE("betainc_by_aab", sd_betainc_by_aab),
    SD_THREE("betainc_by_abb", sd_betainc_by_abb),
    SD_THREE("betainc_by_bbb", sd_betainc_by_bbb),
    SD_THREE("log_betainc", sd_log_betainc),
    SD_THREE("log_betainc_by_x", sd_log_betainc_by_x),
    SD_THREE("log_betainc_by_a", sd_log_betainc_by_a),
    SD_THREE("log_betainc_by_b", sd_log_betainc_by_b),
    SD_THREE("log_betainc_by_aa", sd_log_betainc_by_aa),
    SD_THREE("log_betainc_by_ab", sd_log_betainc_by_ab),
    SD_THREE("log_betainc_by_bb", sd_log_betainc_by_bb),
    SD_THREE("log_betainc_by_aaa", sd_log_betainc_by_aaa),
    SD_THREE("log_betainc_by_aab", sd_log_betainc_by_aab),
    SD_THREE("log_betainc_by_abb", sd_log_betainc_by_abb),
    SD_THREE("log_betainc_by_bbb", sd_log_betainc_by_bbb),
    SD_TWO("hyp0f1", sd_hyp0f1),
    SD_THREE("hyp1f1", sd_hyp1f1),
    SD_FOUR("hyp2f1", sd_hyp2f1),
    SD_THREE("wofz_real", sd_wofz_real),
    SD_THREE("wofz_imag", sd_wofz_imag),
    SD_THREE("zeta_by_s", sd_zeta_by_s),
};
enum { SD_SCALARS = sizeof sd_scalars / sizeof *sd_scalars };

#define SD_JOIN_(a, b) a##b
#define SD_JOIN(a, b) SD_JOIN_(a, b)

#if defined __x86_64__
#include "../system/sets/begin_avx512.h"
#define SD_REGISTERS 1
#define SINGLE 0
#define W 8
#include "machine.h"
#undef W
#undef SINGLE
#define SINGLE 1
#define W 16
#include "machine.h"
#undef W
#undef SINGLE
#undef SD_REGISTERS
#include "../system/sets/end_set.h"
#include "../system/sets/begin_avx2.h"
#define SD_REGISTERS 0
#define SINGLE 0
#define W 4
#include "machine.h"
#undef W
#undef SINGLE
#define SINGLE 1
#define W 8
#include "machine.h"
#undef W
#undef SINGLE
#undef SD_REGISTERS
#include "../system/sets/end_set.h"
#endif
/* SSE2 and NEON, which every x86-64 and every AArch64 has; elsewhere what the compiler makes of two lanes */
#if defined __aarch64__
#define SD_REGISTERS 1
#else
#define SD_REGISTERS 0
#endif
#define SINGLE 0
#define W 2
#include "machine.h"
#undef W
#undef SINGLE
#define SINGLE 1
#define W 4
#include "machine.h"
#undef W
#undef SINGLE

/* Address of the machine for vectors of this many numbers, or 0. */
static size_t sd_machine(long lanes, int single) {
#if defined __x86_64__
  if (lanes == 8 && !single) return (size_t)sd_interpret_d8;
  if (lanes == 16 && single) return (size_t)sd_interpret_f16;
  if (lanes == 4 && !single) return (size_t)sd_interpret_d4;
  if (lanes == 8 && single) return (size_t)sd_interpret_f8;
#endif
  if (lanes == 2 && !single) return (size_t)sd_interpret_d2;
  return lanes == 4 && single ? (size_t)sd_interpret_f4 : 0;
}

/* Our own functions of vectors, by their names. */
typedef struct {
  const char *name;
  size_t function;
} sd_own_function;
#define SD_OWN(name) {#name, (size_t)name}
static const sd_own_function sd_own_functions[] = {
#if defined __x86_64__
    SD_OWN(do_exp_d8), SD_OWN(do_log_d8), SD_OWN(do_tanh_d8), SD_OWN(do_exp_d4), SD_OWN(do_log_d4), SD_OWN(do_tanh_d4),
    SD_OWN(do_sin_d8), SD_OWN(do_cos_d8),
    SD_OWN(do_lgamma_d8), SD_OWN(do_digamma_d8), SD_OWN(do_gamma_d8), SD_OWN(do_erfcx_d8),
    SD_OWN(do_ndtri_d8), SD_OWN(do_erfinv_d8), SD_OWN(do_erfcinv_d8),
    SD_OWN(do_lgamma_d4), SD_OWN(do_digamma_d4), SD_OWN(do_gamma_d4), SD_OWN(do_erfcx_d4),
    SD_OWN(do_ndtri_d4), SD_OWN(do_erfinv_d4), SD_OWN(do_erfcinv_d4),
    SD_OWN(do_lgamma_f16), SD_OWN(do_gamma_f16), SD_OWN(do_erfcx_f16),
    SD_OWN(do_ndtri_f16), SD_OWN(do_erfinv_f16), SD_OWN(do_erfcinv_f16),
    SD_OWN(do_lgamma_f8), SD_OWN(do_gamma_f8), SD_OWN(do_erfcx_f8),
    SD_OWN(do_ndtri_f8), SD_OWN(do_erfinv_f8), SD_OWN(do_erfcinv_f8),
#endif
    {"", 0}};
enum { SD_OWN_FUNCTIONS = sizeof sd_own_functions / sizeof *sd_own_functions - 1 };

/* Tiles in registers besides the accumulator that the machine for such vectors has. */
static long sd_registers(long lanes, int single) {
#if defined __aarch64__
  return lanes == (single ? 4 : 2) ? 2 : 0;
#elif defined __x86_64__
  return lanes == (single ? 16 : 8) ? 2 : 0;
#else
  return 0 * (lanes + single);
#endif
}
