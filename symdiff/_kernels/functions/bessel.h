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
