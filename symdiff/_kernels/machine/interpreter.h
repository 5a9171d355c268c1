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
   this architecture may have, and for float64 and float32. */

#ifndef SD_INTERPRETER_H
#define SD_INTERPRETER_H
#include "../system/sets.h"

/* The code of each instruction, which machine.h makes of the rows of the table below. The macros are the same for
   every kind of vector, so they are defined once; what they name (V, M, B, NAME, AT, VECTOR, the registers) is
   defined where they are used. */

/* Operations on vectors. */
#define F_add(x, y) ((x) + (y))
#define F_subtract(x, y) ((x) - (y))
#define F_multiply(x, y) ((x) * (y))
#define F_divide(x, y) ((x) / (y))
#define F_minimum(x, y) NAME(do_pick)((M)(x <= y) | (M)(x != x), x, y)
#define F_maximum(x, y) NAME(do_pick)((M)(x >= y) | (M)(x != x), x, y)
#define F_copysign(x, y) NAME(do_copysign)(x, y)
#define F_less(x, y) ((V)(M)(x < y))
#define F_less_equal(x, y) ((V)(M)(x <= y))
#define F_equal(x, y) ((V)(M)(x == y))
#define F_not_equal(x, y) ((V)(M)(x != y))
#define F_logical_and(x, y) ((V)((M)x & (M)y))
#define F_logical_or(x, y) ((V)((M)x | (M)y))
#define F_negative(x) (-(x))
#define F_abs(x) ((V)((M)x & ~SIGN))
#define F_sqrt(x) NAME(do_sqrt)(x)
#define F_floor(x) NAME(do_floor)(x)
#define F_ceil(x) NAME(do_ceil)(x)
#define F_rint(x) NAME(do_rint)(x)
#define F_trunc(x) NAME(do_trunc)(x)
#define F_sign(x) NAME(do_sign)(x)
#define F_fraction(x) NAME(do_fraction)(x)
#define F_exponent(x) NAME(do_exponent)(x)
#define F_logical_not(x) ((V) ~(M)x)
#define F_to_real(x) ((V)((M)x & (M)B(1.0)))

/* The same for every vector of a tile: the registers of the accumulator and the vectors of operands. */
#define SD_ONCE(X, ...) X(0, __VA_ARGS__)
#define SD_EIGHT(X, ...)                                                                           \
  X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__)        \
  X(5, __VA_ARGS__) X(6, __VA_ARGS__) X(7, __VA_ARGS__)
#define NEXT goto *table[*ip]
/* What reads operands from the code, and the operands by their names in the table. */
#define NONE ip += 1
#define ONE p = AT(ip[1]), ip += 2
#define TWO p = AT(ip[1]), q = AT(ip[2]), ip += 3
#define THREE p = AT(ip[1]), q = AT(ip[2]), r = AT(ip[3]), ip += 4
#define NUMBER_AT(k) const V number = VECTOR(consts + ip[k], 0)
#define NUMBER NUMBER_AT(1); ip += 2
#define ONE_NUMBER NUMBER_AT(2); p = AT(ip[1]), ip += 3
#define TWO_NUMBER NUMBER_AT(3); p = AT(ip[1]), q = AT(ip[2]), ip += 4
#define NUMBER_ONE NUMBER_AT(1); p = AT(ip[2]), ip += 3
#define OF_A(k) a##k
#define OF_B(k) b##k
#define OF_C(k) c##k
#define OF_K(k) number
#define OF_P(k) VECTOR(p, k)
#define OF_Q(k) VECTOR(q, k)
#define OF_R(k) VECTOR(r, k)

#define MOVE_TO(k, to, from) to(k) = from(k);
#define SAVE(k, to) ((V *)to)[k] = a##k;
#define SAVE_ROW(k, to) V_AT(to, (long)sizeof(V), k) = a##k;
#define SAVE_FIRST(k, to) if (k < groups) V_AT(to, (long)sizeof(V), k) = a##k;
#define ADD_FIRST(k, to) if (k < groups) to[k & 1] += a##k;
#define DO_UNARY(k, f, x) { const V x_ = x(k); a##k = f(x_); }
#define DO_BINARY(k, f, x, y) { const V x_ = x(k), y_ = y(k); a##k = f(x_, y_); }
#define DO_OUTER(k, f, g, x, y) { const V x_ = x(k), y_ = y(k), z_ = g(x_, y_); a##k = f(a##k, z_); }
#define DO_LATER(k, f, g, x, y) { const V x_ = x(k), y_ = y(k), z_ = g(x_, y_); a##k = f(z_, a##k); }
#define WHERE(k, m, x, y) a##k = NAME(do_pick)((M)m(k), x(k), y(k));
#define FMA(k, x, y, z) a##k = NAME(do_fma)(x(k), y(k), z(k));
#define CODE(name)
#define CODE_UNARY(name, form, x, read) \
  do_##name##_##form : { read; EVERY(DO_UNARY, F_##name, OF_##x) } NEXT;
#define CODE_BINARY(name, form, x, y, read) \
  do_##name##_##form : { read; EVERY(DO_BINARY, F_##name, OF_##x, OF_##y) } NEXT;
#define CODE_OUTER(name, inner, form, x, y, read) \
  do_##name##_##inner##_a##form : { read; EVERY(DO_OUTER, F_##name, F_##inner, OF_##x, OF_##y) } NEXT;
#define CODE_LATER(name, inner, form, x, y, read) \
  do_##name##_##inner##_##form##a : { read; EVERY(DO_LATER, F_##name, F_##inner, OF_##x, OF_##y) } NEXT;
#define ZERO(k, to) to(k) = B(0.0);

/* The instructions of the interpreter, one table: opcodes, their names for the assembler and the code of machine.h
   are all made of its rows. */

/* Every instruction, by where its operands are: a, b and c are tiles in registers, a the accumulator;
   m is a tile in memory, s the one before it once more, k a number, one vector for all of the tile.
   What is computed goes to the accumulator. A row has the name, the form, the operands by their names
   above, and what reads them from the code. Operands that may change places are in the order
   a, m, b, c, k. OUTER and LATER are two operations in one, the second on the result of the first;
   LATER has the accumulator behind it. */
#define SD_FORMS(X, name) \
  X(name, am, A, P, ONE) X(name, ma, P, A, ONE) X(name, mm, P, Q, TWO) X(name, aa, A, A, NONE)
#define SD_SYMMETRIC(X, name) \
  X(name, am, A, P, ONE) X(name, mm, P, Q, TWO) X(name, aa, A, A, NONE) \
  X(name, ms, P, P, ONE) X(name, ak, A, K, NUMBER) X(name, mk, P, K, ONE_NUMBER)
#define SD_ORDERED(X, name) \
  SD_FORMS(X, name) X(name, ak, A, K, NUMBER) X(name, ka, K, A, NUMBER) \
  X(name, mk, P, K, ONE_NUMBER) X(name, km, K, P, NUMBER_ONE)
#define SD_UNARY(X, name) X(name, a, A, NONE) X(name, m, P, ONE)
#define SD_PAIR(X, name, inner) X(name, inner, mm, P, Q, TWO)
#define SD_PAIRS(X, name) SD_PAIR(X, name, multiply) SD_PAIR(X, name, add) SD_PAIR(X, name, subtract)
#define SD_PRODUCT(X, name) X(name, multiply, ms, P, P, ONE) X(name, multiply, mk, P, K, ONE_NUMBER)
#define SD_INSTRUCTIONS(MOVE, UNARY, BINARY, OUTER, LATER) \
  MOVE(end) MOVE(load) MOVE(save) \
  MOVE(rows1) MOVE(rows2) MOVE(rows3) MOVE(rows4) MOVE(rows8) MOVE(column) MOVE(shared) \
  MOVE(stores) MOVE(columns) MOVE(fill_columns) MOVE(sums) \
  MOVE(to_column) MOVE(to_number) MOVE(to_sum) MOVE(ask_rows) MOVE(ask_column) \
  MOVE(call1) MOVE(call2) MOVE(lanes1) MOVE(lanes2) MOVE(lanes3) MOVE(lanes4) \
  MOVE(library1) MOVE(library2) MOVE(library3) MOVE(library4) \
  SD_SYMMETRIC(BINARY, add) SD_ORDERED(BINARY, subtract) \
  SD_SYMMETRIC(BINARY, multiply) SD_ORDERED(BINARY, divide) \
  SD_FORMS(BINARY, minimum) SD_FORMS(BINARY, maximum) SD_FORMS(BINARY, copysign) \
  SD_FORMS(BINARY, less) SD_FORMS(BINARY, less_equal) SD_FORMS(BINARY, equal) SD_FORMS(BINARY, not_equal) \
  SD_FORMS(BINARY, logical_and) SD_FORMS(BINARY, logical_or) \
  SD_PAIRS(OUTER, add) SD_PAIRS(OUTER, subtract) SD_PAIRS(OUTER, multiply) SD_PAIRS(OUTER, divide) \
  SD_PAIRS(LATER, subtract) SD_PAIRS(LATER, divide) \
  SD_PRODUCT(OUTER, add) SD_PRODUCT(OUTER, subtract) SD_PRODUCT(LATER, subtract) \
  SD_UNARY(UNARY, negative) SD_UNARY(UNARY, abs) SD_UNARY(UNARY, sqrt) SD_UNARY(UNARY, floor) \
  SD_UNARY(UNARY, ceil) SD_UNARY(UNARY, rint) SD_UNARY(UNARY, trunc) SD_UNARY(UNARY, sign) \
  SD_UNARY(UNARY, fraction) SD_UNARY(UNARY, exponent) SD_UNARY(UNARY, logical_not) SD_UNARY(UNARY, to_real) \
  MOVE(where_amm) MOVE(where_mam) MOVE(where_mma) MOVE(where_mmm) \
  MOVE(fma_amm) MOVE(fma_mma) MOVE(fma_mmm) MOVE(fma_amk) MOVE(fma_mmk)

/* Those that only machines with 32 vector registers have. */
#define SD_SYMMETRIC_REGISTERS(X, name) \
  X(name, ab, A, B, NONE) X(name, ac, A, C, NONE) X(name, mb, P, B, ONE) X(name, mc, P, C, ONE) \
  X(name, bb, B, B, NONE) X(name, bc, B, C, NONE) X(name, cc, C, C, NONE) \
  X(name, bk, B, K, NUMBER) X(name, ck, C, K, NUMBER)
#define SD_ORDERED_REGISTERS(X, name) \
  SD_SYMMETRIC_REGISTERS(X, name) X(name, ba, B, A, NONE) X(name, ca, C, A, NONE) \
  X(name, bm, B, P, ONE) X(name, cm, C, P, ONE) X(name, cb, C, B, NONE) \
  X(name, kb, K, B, NUMBER) X(name, kc, K, C, NUMBER)
#define SD_PRODUCT_REGISTERS(X, name) \
  X(name, multiply, mb, P, B, ONE) X(name, multiply, mc, P, C, ONE) X(name, multiply, bb, B, B, NONE) \
  X(name, multiply, bc, B, C, NONE) X(name, multiply, cc, C, C, NONE) \
  X(name, multiply, bk, B, K, NUMBER) X(name, multiply, ck, C, K, NUMBER)
#define SD_REGISTER_INSTRUCTIONS(MOVE, UNARY, BINARY, OUTER, LATER) \
  MOVE(put_b) MOVE(put_c) MOVE(load_b) MOVE(load_c) \
  SD_SYMMETRIC_REGISTERS(BINARY, add) SD_ORDERED_REGISTERS(BINARY, subtract) \
  SD_SYMMETRIC_REGISTERS(BINARY, multiply) SD_ORDERED_REGISTERS(BINARY, divide) \
  SD_PRODUCT_REGISTERS(OUTER, add) SD_PRODUCT_REGISTERS(OUTER, subtract) SD_PRODUCT_REGISTERS(LATER, subtract)

/* What to make of a row: its number, its name as text, and in machine.h its code. */
#define SD_NUMBER(name) SD_OP_##name,
#define SD_STRING(name) #name,
#define SD_LABEL(name) &&do_##name,
#define SD_EACH_ROW(LIST, X) LIST(X, X##_UNARY, X##_BINARY, X##_OUTER, X##_LATER)
#define SD_NUMBER_UNARY(name, form, x, read) SD_NUMBER(name##_##form)
#define SD_NUMBER_BINARY(name, form, x, y, read) SD_NUMBER(name##_##form)
#define SD_NUMBER_OUTER(name, inner, form, x, y, read) SD_NUMBER(name##_##inner##_a##form)
#define SD_NUMBER_LATER(name, inner, form, x, y, read) SD_NUMBER(name##_##inner##_##form##a)
#define SD_STRING_UNARY(name, form, x, read) SD_STRING(name##_##form)
#define SD_STRING_BINARY(name, form, x, y, read) SD_STRING(name##_##form)
#define SD_STRING_OUTER(name, inner, form, x, y, read) SD_STRING(name##_##inner##_a##form)
#define SD_STRING_LATER(name, inner, form, x, y, read) SD_STRING(name##_##inner##_##form##a)
#define SD_LABEL_UNARY(name, form, x, read) SD_LABEL(name##_##form)
#define SD_LABEL_BINARY(name, form, x, y, read) SD_LABEL(name##_##form)
#define SD_LABEL_OUTER(name, inner, form, x, y, read) SD_LABEL(name##_##inner##_a##form)
#define SD_LABEL_LATER(name, inner, form, x, y, read) SD_LABEL(name##_##inner##_##form##a)
enum {
  SD_EACH_ROW(SD_INSTRUCTIONS, SD_NUMBER) SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_NUMBER) SD_OPCODE_COUNT
};
static const char *const sd_opcodes[] = {
    SD_EACH_ROW(SD_INSTRUCTIONS, SD_STRING) SD_EACH_ROW(SD_REGISTER_INSTRUCTIONS, SD_STRING)};

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
SD_BEGIN_AVX512
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
SD_END_SET
SD_BEGIN_AVX2
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
SD_END_SET
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

/* Bessel functions of vectors of one kind. */
#define SD_BESSEL(X, kind) \
  X(do_j0_near##kind), X(do_j1_near##kind), X(do_y0_near##kind), X(do_y1_near##kind), X(do_i0##kind), X(do_i1##kind), \
      X(do_k0##kind), X(do_k1##kind), X(do_i0e##kind), X(do_i1e##kind), X(do_k0e##kind), X(do_k1e##kind)

/* Our own functions of vectors, by their names. */
typedef struct {
  const char *name;
  size_t function;
} sd_own_function;
#define SD_OWN(name) {#name, (size_t)name}
static const sd_own_function sd_own_functions[] = {
#if defined __x86_64__
    SD_OWN(do_exp_d8), SD_OWN(do_log_d8), SD_OWN(do_tanh_d8), SD_OWN(do_exp_d4), SD_OWN(do_log_d4), SD_OWN(do_tanh_d4),
    SD_OWN(do_sin_d8), SD_OWN(do_cos_d8), SD_OWN(do_power_d8), SD_OWN(do_power_d4),
    SD_OWN(do_power_f16), SD_OWN(do_power_f8),
    SD_OWN(do_lgamma_d8), SD_OWN(do_digamma_d8), SD_OWN(do_gamma_d8), SD_OWN(do_erfcx_d8),
    SD_OWN(do_ndtri_d8), SD_OWN(do_erfinv_d8), SD_OWN(do_erfcinv_d8), SD_OWN(do_ierfcx_d8), SD_OWN(do_log_ndtr_derivative_d8),
    SD_OWN(do_lgamma_d4), SD_OWN(do_digamma_d4), SD_OWN(do_gamma_d4), SD_OWN(do_erfcx_d4),
    SD_OWN(do_ndtri_d4), SD_OWN(do_erfinv_d4), SD_OWN(do_erfcinv_d4), SD_OWN(do_ierfcx_d4), SD_OWN(do_log_ndtr_derivative_d4),
    SD_OWN(do_lgamma_f16), SD_OWN(do_gamma_f16), SD_OWN(do_erfcx_f16),
    SD_OWN(do_ndtri_f16), SD_OWN(do_erfinv_f16), SD_OWN(do_erfcinv_f16), SD_OWN(do_ierfcx_f16), SD_OWN(do_log_ndtr_derivative_f16),
    SD_OWN(do_lgamma_f8), SD_OWN(do_gamma_f8), SD_OWN(do_erfcx_f8),
    SD_OWN(do_ndtri_f8), SD_OWN(do_erfinv_f8), SD_OWN(do_erfcinv_f8), SD_OWN(do_ierfcx_f8), SD_OWN(do_log_ndtr_derivative_f8),
    SD_BESSEL(SD_OWN, _d8), SD_BESSEL(SD_OWN, _d4), SD_BESSEL(SD_OWN, _f16), SD_BESSEL(SD_OWN, _f8),
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
#endif
