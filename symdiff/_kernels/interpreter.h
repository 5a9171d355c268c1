/* The embedded interpreter: bytecode of a scheduled program, run over tiles of samples.

   It is an accumulator machine whose accumulator is a whole tile, eight vector registers wide. An
   instruction is straight-line code over those registers, so what is computed from the value just
   before it never goes to memory, and dispatch is paid once for eight vectors. symdiff/bytecode.py
   writes the code. The machine takes the place of a generated kernel (see pack.h): same lanes, same
   vector functions, same order of sums, no contraction, hence the same bits.

   tiles.h is the machine itself. It is compiled once for every instruction set that a processor of
   this architecture may have, and for float64 and float32; which one runs is decided where it runs. */

#include <stdint.h>
#include <string.h>

#include "special.h"

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

/* Vectors in a tile; tiles.h names its registers one by one. Rows up to SD_FAR bytes apart are asked
   for ahead; of longer ones two tiles would fill the second cache. */
enum { SD_VECTORS = 8, SD_FAR = 4096 };

typedef struct {
  const int32_t *code;
  const char *consts;     /* end of the numbers, a tile of each: operands below 0 are distances from here */
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
    SD_ONE("exp", __builtin_exp),       SD_ONE("exp2", __builtin_exp2),       SD_ONE("expm1", __builtin_expm1),
    SD_ONE("log", __builtin_log),       SD_ONE("log2", __builtin_log2),       SD_ONE("log10", __builtin_log10),
    SD_ONE("log1p", __builtin_log1p),   SD_ONE("cbrt", __builtin_cbrt),       SD_ONE("sin", __builtin_sin),
    SD_ONE("cos", __builtin_cos),       SD_ONE("tan", __builtin_tan),         SD_ONE("arcsin", __builtin_asin),
    SD_ONE("arccos", __builtin_acos),   SD_ONE("arctan", __builtin_atan),     SD_ONE("sinh", __builtin_sinh),
    SD_ONE("cosh", __builtin_cosh),     SD_ONE("tanh", __builtin_tanh),       SD_ONE("arcsinh", __builtin_asinh),
    SD_ONE("arccosh", __builtin_acosh), SD_ONE("arctanh", __builtin_atanh),   SD_ONE("erf", __builtin_erf),
    SD_ONE("erfc", __builtin_erfc),     SD_ONE("gamma", __builtin_tgamma),    SD_ONE("lgamma", sd_lgamma),
    SD_ONE("digamma", sd_digamma),      SD_TWO("polygamma", sd_polygamma),    SD_TWO("spherical_jn", sd_spherical_jn),
    SD_TWO("power", __builtin_pow),     SD_TWO("arctan2", __builtin_atan2),   SD_TWO("hypot", __builtin_hypot),
    SD_TWO("mod", sd_mod),
};
enum { SD_SCALARS = sizeof sd_scalars / sizeof *sd_scalars };

/* Every instruction, by the forms its operands come in: a is the accumulator, m a tile in memory.
   The results of all but save, moves and the like go to the accumulator. */
#define SD_BINARY(X, name) X(name##_am) X(name##_ma) X(name##_mm) X(name##_aa)
#define SD_UNARY(X, name) X(name##_a) X(name##_m)
/* the second instruction's operands are in memory: a + m * m */
#define SD_PAIR(X, name, inner) X(name##_##inner##_am) X(name##_##inner##_ma)
#define SD_PAIRS(X, name) SD_PAIR(X, name, multiply) SD_PAIR(X, name, add) SD_PAIR(X, name, subtract)
#define SD_OPCODES(X) \
  X(end) X(load) X(save) X(rows) X(column) X(shared) X(stores) X(columns) X(sums) X(call1) X(call2) X(lanes1) X(lanes2) \
  SD_BINARY(X, add) SD_BINARY(X, subtract) SD_BINARY(X, multiply) SD_BINARY(X, divide) \
  SD_BINARY(X, minimum) SD_BINARY(X, maximum) SD_BINARY(X, copysign) \
  SD_BINARY(X, less) SD_BINARY(X, less_equal) SD_BINARY(X, equal) SD_BINARY(X, not_equal) \
  SD_BINARY(X, logical_and) SD_BINARY(X, logical_or) \
  SD_PAIRS(X, add) SD_PAIRS(X, subtract) SD_PAIRS(X, multiply) SD_PAIRS(X, divide) \
  SD_UNARY(X, negative) SD_UNARY(X, abs) SD_UNARY(X, sqrt) SD_UNARY(X, floor) SD_UNARY(X, ceil) \
  SD_UNARY(X, rint) SD_UNARY(X, trunc) SD_UNARY(X, sign) SD_UNARY(X, logical_not) SD_UNARY(X, to_mask) \
  SD_UNARY(X, to_real) \
  X(where_amm) X(where_mam) X(where_mma) X(where_mmm) X(fma_amm) X(fma_mma) X(fma_mmm)

#define SD_NUMBER(name) SD_OP_##name,
enum { SD_OPCODES(SD_NUMBER) SD_OPCODE_COUNT };
#define SD_STRING(name) #name,
static const char *const sd_opcodes[] = {SD_OPCODES(SD_STRING)};

#define SD_JOIN_(a, b) a##b
#define SD_JOIN(a, b) SD_JOIN_(a, b)

#if defined __x86_64__
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw")
#endif
#define SD_SINGLE 0
#define W 8
#include "tiles.h"
#undef W
#undef SD_SINGLE
#define SD_SINGLE 1
#define W 16
#include "tiles.h"
#undef W
#undef SD_SINGLE
#if defined __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SD_SINGLE 0
#define W 4
#include "tiles.h"
#undef W
#undef SD_SINGLE
#define SD_SINGLE 1
#define W 8
#include "tiles.h"
#undef W
#undef SD_SINGLE
#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
/* SSE2 and NEON, which every x86-64 and every AArch64 has; elsewhere what the compiler makes of two lanes */
#define SD_SINGLE 0
#define W 2
#include "tiles.h"
#undef W
#undef SD_SINGLE
#define SD_SINGLE 1
#define W 4
#include "tiles.h"
#undef W
#undef SD_SINGLE

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
