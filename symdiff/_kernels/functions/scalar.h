/* Functions that C's library has otherwise than NumPy. The text is compiled into the interpreter and,
   where a formula uses one of them, into generated kernels and exported sources: one source, the same bits. */

/* The smaller number; nan is kept, as NumPy keeps it. */
static __attribute__((unused)) double sd_minimum(double a, double b) { return a <= b || a != a ? a : b; }

/* The larger number; nan is kept, as NumPy keeps it. */
static __attribute__((unused)) double sd_maximum(double a, double b) { return a >= b || a != a ? a : b; }

/* -1, 0 or 1; nan of nan. */
static __attribute__((unused)) double sd_sign(double x) { return x != x ? x : (double)(x > 0.0) - (double)(x < 0.0); }

/* A number's fraction in [1, 2), with its sign; 1 of zeros and infinities. */
static __attribute__((unused)) double sd_fraction(double x) {
  int exponent;
  if (x != x) return x;
  return __builtin_copysign(x == 0.0 || x - x != 0.0 ? 1.0 : 2.0 * __builtin_frexp(__builtin_fabs(x), &exponent), x);
}

/* The remainder with the divisor's sign. */
static __attribute__((unused)) double sd_mod(double a, double b) {
  double r = __builtin_fmod(a, b);
  if (b == 0.0) return r;
  if (r == 0.0) return __builtin_copysign(0.0, b);
  return (r < 0.0) != (b < 0.0) ? r + b : r;
}

/* The logarithm of |gamma|. The plain lgamma writes a global variable, which threads would share. */
extern double lgamma_r(double, int *);
static __attribute__((unused)) double sd_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

/* The gamma function by a name that has an address in C without headers. */
static __attribute__((unused)) double sd_gamma(double x) { return __builtin_tgamma(x); }
