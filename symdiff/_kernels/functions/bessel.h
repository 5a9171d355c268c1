/* Derivatives of scaled modified Bessel functions, which sums of their neighbours cancel in.
   No header is included; the compiler's builtins name the functions of libm. */

/* The mean of (1 - cos t)^n exp(-|x| (1 - cos t)) over a period, 0 <= n <= 10: for x > 0 the derivative of order n of
   exp(-x) I_0(x), up to sign. Relative error about 1e-15. */
static __attribute__((unused)) double sd_i_moment(double order, double x) {
  double z = 2 * __builtin_fabs(x), factor = 1, term = 1, sum = 1;
  int n = (int)order;
  if (x != x || !(order >= 0 && order <= 10)) return __builtin_nan("");
  if (z == __builtin_inf()) return 0;
  if (z < 80) { /* M(n + 1/2, n + 1, -z) by Kummer's transformation, DLMF 13.2.39 */
    for (int k = 1; k <= n; k++) factor *= (2 * k - 1.) / k;
    for (int s = 0; s < 400 && term > 1e-18 * sum; s++) sum += term *= (s + 0.5) * z / ((n + 1. + s) * (s + 1.));
    return factor * __builtin_exp(-z) * sum;
  }
  /* DLMF 13.7.2 */
  for (int k = 1; k <= n; k++) factor *= (2 * k - 1.) / z;
  for (int s = 0; s < 60 && term > 1e-18 * sum; s++) sum += term *= (n + 0.5 + s) * (s + 0.5) / ((s + 1.) * z);
  return factor * sum * 0.56418958354775628695 / __builtin_sqrt(z);
}

/* The integral of (cosh t - 1)^n cosh(v t) exp(-x (cosh t - 1)) over t > 0, 0 <= n <= 10: for x > 0 the derivative of
   order n of exp(x) K_v(x), up to sign, DLMF 10.32.9. All is positive, and the trapezoidal rule converges as fast as
   for periodic functions. Relative error about 1e-15, and that of an exponential where the result is large. */
static __attribute__((unused)) double sd_k_moment(double order, double v, double x) {
  double sum, step;
  int n = (int)order;
  if (x != x || v != v || x < 0 || !(order >= 0 && order <= 10) || __builtin_isinf(v)) return __builtin_nan("");
  if (x == 0) return __builtin_inf();
  if (x == __builtin_inf()) return 0;
  v = __builtin_fabs(v);
  /* never a constant, whose sinh a compiler rounds otherwise than the C library, which has two versions of hypot */
  step = 0.42 / __builtin_sqrt((x > v + n ? x : v + n) + 6);
  sum = n ? 0 : 0.5;
  for (int k = 1; k < 200000; k++) {
    double t = k * step, half = __builtin_sinh(t / 2), u = 2 * half * half, term;
    term = 0.5 * (__builtin_exp(v * t - x * u) + __builtin_exp(-v * t - x * u));
    if (term > 0)
      for (int i = 0; i < n; i++) term *= u;
    sum += term;
    if (sum == __builtin_inf()) break;
    if (term <= 1e-18 * sum && x * __builtin_sinh(t) > v + n / __builtin_tanh(t / 2)) break;
  }
  return sum * step;
}
