/* The embedded interpreter: bytecode of a scheduled program, run over tiles of samples.

   It is an accumulator machine whose accumulator is a whole tile, eight vector registers wide. An
   instruction is straight-line code over those registers, so what is computed from the value just
   before it never goes to memory, and dispatch is paid once for eight vectors. Where a processor has
   32 vector registers, 16 of them are two more tiles, b and c, for values that are wanted again soon:
   what takes time is loads and stores. symdiff/codegen/bytecode/assemble.py writes the code. The machine takes the place
   of a generated kernel (see ../batch/unit.h): same lanes, same vector functions, same order of sums, no
   contraction, hence the same bits.

   machine.h is the machine itself. It is compiled once for every instruction set that a processor of
   this architecture may have, and for float64 and float32; which one runs is decided where it runs. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../functions/special.h"

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

/* Vectors in a tile; machine.h names its registers one by one. SD_AHEAD tiles ahead of where it is, the
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

static double sd_mod(double a, double b) {
  double r = __builtin_fmod(a, b);
  if (b == 0) return r;
  if (r == 0) return __builtin_copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/* The plain lgamma writes a global variable, which threads would share. */
extern double lgamma_r(double, int *);
static double sd_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

/* Functions that are computed lane by lane where the vector library lacks them. */
typedef struct {
  const char *name;
  void (*function)(void);
} sd_scalar;
#define SD_ONE(name, function) {name, (void (*)(void))(double (*)(double))function}
#define SD_TWO(name, function) {name, (void (*)(void))(double (*)(double, double))function}
static const sd_scalar sd_scalars[] = {
    SD_ONE("exp", exp),                 SD_ONE("exp2", exp2),               SD_ONE("expm1", expm1),
    SD_ONE("log", log),                 SD_ONE("log2", log2),               SD_ONE("log10", log10),
    SD_ONE("log1p", log1p),             SD_ONE("cbrt", cbrt),               SD_ONE("sin", sin),
    SD_ONE("cos", cos),                 SD_ONE("tan", tan),                 SD_ONE("arcsin", asin),
    SD_ONE("arccos", acos),             SD_ONE("arctan", atan),             SD_ONE("sinh", sinh),
    SD_ONE("cosh", cosh),               SD_ONE("tanh", tanh),               SD_ONE("arcsinh", asinh),
    SD_ONE("arccosh", acosh),           SD_ONE("arctanh", atanh),           SD_ONE("erf", erf),
    SD_ONE("erfc", erfc),               SD_ONE("gamma", tgamma),            SD_ONE("lgamma", sd_lgamma),
    SD_ONE("digamma", sd_digamma),      SD_TWO("polygamma", sd_polygamma),  SD_TWO("spherical_jn", sd_spherical_jn),
    SD_TWO("power", pow),               SD_TWO("arctan2", atan2),           SD_TWO("hypot", hypot),
    SD_TWO("mod", sd_mod),
};
enum { SD_SCALARS = sizeof sd_scalars / sizeof *sd_scalars };

/* Every instruction, by where its operands are: a, b and c are tiles in registers, a the accumulator;
   m is a tile in memory, s the one before it once more, k a number, one vector for all of the tile.
   What is computed goes to the accumulator. A row has the name, the form, the operands by their names
   in machine.h, and what reads them from the code. Operands that may change places are in the order
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
  MOVE(stores) MOVE(columns) MOVE(sums) \
  MOVE(to_column) MOVE(to_number) MOVE(to_sum) MOVE(ask_rows) MOVE(ask_column) \
  MOVE(call1) MOVE(call2) MOVE(lanes1) MOVE(lanes2) \
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
  SD_UNARY(UNARY, logical_not) SD_UNARY(UNARY, to_real) \
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

#define SD_JOIN_(a, b) a##b
#define SD_JOIN(a, b) SD_JOIN_(a, b)

#if defined __x86_64__
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw")
#endif
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
#if defined __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
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
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
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

/* Address of the exponential of vectors of this many float64, or 0. */
static size_t sd_exponential(long lanes) {
#if defined __x86_64__
  return lanes == 8 ? (size_t)do_exp_d8 : lanes == 4 ? (size_t)do_exp_d4 : 0;
#else
  return 0 * lanes;
#endif
}

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
