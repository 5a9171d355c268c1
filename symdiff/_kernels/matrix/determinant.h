/* Determinants of triangular factors, one matrix at a time, without overflow or underflow on the way: mantissas are
   multiplied, exponents added. Needs libm. */

#ifndef SD_DETERMINANT_H
#define SD_DETERMINANT_H
#include <math.h>
#include <string.h>

/* x = mantissa 2^exponent with 0.5 <= mantissa < 1, as frexp has it, for x that is finite and not negative. */
static inline double sd_mantissa(double x, long *exponent) {
  unsigned long long bits;
  *exponent = 0;
  if (x < 0x1p-1022) {
    if (x == 0) return 0;
    x *= 0x1p54;
    *exponent = -54;
  }
  memcpy(&bits, &x, sizeof bits);
  *exponent += (long)(bits >> 52) - 1022;
  bits = (bits & 0xfffffffffffffULL) | 1022ULL << 52;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* |det U| = mantissa 2^exponent, 0.7 < mantissa < 1.5, or the mantissa is 0, inf or nan; ``step`` is from one
   element of the diagonal to the next. A product has 0 for a factor, or inf and 0: then it is 0, or nan. */
static inline double sd_split_product(long n, const double *u, long step, long *exponent, int *negative) {
  double product = 1, infinite = 1;
  long sum = 0, e;
  int sign = 0;
  for (long k = 0; k < n; k++) {
    double x = u[k * step], size = __builtin_fabs(x);
    sign ^= __builtin_signbit(x) != 0;
    if (!(size < __builtin_inf()))
      infinite *= size;
    else {
      product *= sd_mantissa(size, &e);
      sum += e;
    }
    if (k % 32 == 31) {
      product = sd_mantissa(product, &e);
      sum += e;
    }
  }
  if (product > 0) {
    product = sd_mantissa(product, &e);
    sum += e;
    if (product < 0.70710678118654752) {
      product *= 2;
      sum -= 1;
    }
  }
  *exponent = sum;
  *negative = sign;
  return infinite == 1 ? product : infinite * product;
}

/* The parity of exchanges of rows. */
static inline int sd_parity(long n, const int *pivots) {
  int odd = 0;
  for (long k = 0; k < n; k++) odd ^= pivots[k] != k;
  return odd;
}

/* The number mantissa 2^exponent. */
static inline double sd_scaled(double mantissa, long exponent) {
  if (exponent > 4000) exponent = 4000;
  if (exponent < -4000) exponent = -4000;
  return __builtin_ldexp(mantissa, (int)exponent);
}

/* Its logarithm. log 2 is in two parts, the first of which has 32 bits. */
static inline double sd_logarithm(double mantissa, long exponent) {
  if (mantissa == 0 || !(mantissa < __builtin_inf())) return __builtin_log(mantissa);
  return exponent * 0x1.62e42feep-1 + (exponent * 0x1.a39ef35793c76p-33 + __builtin_log(mantissa));
}

static inline double sd_product(long n, const double *lu, const int *pivots) {
  long exponent;
  int negative;
  double size = sd_split_product(n, lu, n + 1, &exponent, &negative);
  size = sd_scaled(size, exponent);
  if (size == 0) return 0;
  return negative ^ sd_parity(n, pivots) ? -size : size;
}

/* log |det A|, and the sign of det A: 0 where that is 0. */
static inline double sd_log_product(long n, const double *lu, const int *pivots, double *sign) {
  long exponent;
  int negative;
  double size = sd_split_product(n, lu, n + 1, &exponent, &negative);
  *sign = size == 0 ? 0 : size != size ? size : negative ^ sd_parity(n, pivots) ? -1 : 1;
  return sd_logarithm(size, exponent);
}
#endif
