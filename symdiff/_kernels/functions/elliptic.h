/* Derivatives of complete elliptic integrals, by hypergeometric series of positive terms.
   No header is included; the compiler's builtins name the functions of libm. */

/* F(a, b; a + b + k; z) for 0 <= z < 1 and x = 1 - z > 0, where a and b are half of odd numbers. */
static __attribute__((unused)) double sd_gauss(double a, double b, int k, double z, double x) {
  double c = a + b + k, term = 1, sum = 1, finite = 0, psi;
  if (z <= 0.5) { /* DLMF 15.2.1 */
    for (int s = 0; s < 100 && term > 1e-18 * sum; s++) sum += term *= (a + s) * (b + s) / ((c + s) * (s + 1)) * z;
    return sum;
  }
  for (int s = 1; s < k; s++) term *= s; /* DLMF 15.8.10 */
  for (int s = 0; s < k; s++) {
    finite += term;
    if (s < k - 1) term *= -(a + s) * (b + s) * x / ((s + 1.) * (k - s - 1));
  }
  finite /= __builtin_tgamma(a + k) * __builtin_tgamma(b + k);
  psi = __builtin_log(x) - 2.7725887222397812377; /* digammas of halves, DLMF 5.4.15: less 4 log 2 */
  for (double s = 0.5; s < a + k; s++) psi += 1 / s;
  for (double s = 0.5; s < b + k; s++) psi += 1 / s;
  for (int s = 1; s <= k; s++) psi -= 1. / s;
  term = 1;
  for (int s = 1; s <= k; s++) term *= -x / s;
  sum = 0;
  for (int s = 0; s < 100 && __builtin_fabs(term * psi) > 1e-19 * __builtin_fabs(sum); s++) {
    sum += term * psi;
    psi += 1 / (a + k + s) + 1 / (b + k + s) - 1 / (s + 1.) - 1 / (k + s + 1.);
    term *= (a + k + s) * (b + k + s) * x / ((s + 1.) * (k + s + 1.));
  }
  return __builtin_tgamma(c) * (finite - sum / (__builtin_tgamma(a) * __builtin_tgamma(b)));
}

/* (1/2)_n (start)_n / n! pi / 2 */
static __attribute__((unused)) double sd_elliptic_factor(int n, double start) {
  double factor = 1.57079632679489661923;
  for (int k = 0; k < n; k++) factor *= (0.5 + k) * (start + k) / (k + 1);
  return factor;
}

/* The derivative of order 1 <= n <= 10 of K by its parameter m, at m = 1 - p, DLMF 19.5.1; by the transformations
   DLMF 15.8.1 no term is negative. Relative error about 2e-15 up to order 3, 8e-14 at order 10. */
static __attribute__((unused)) double sd_ellipk_derivative(double order, double p) {
  int n = (int)order;
  double factor;
  if (p != p || p < 0 || !(order >= 1 && order <= 10)) return __builtin_nan("");
  if (p == 0) return __builtin_inf();
  if (p == __builtin_inf()) return 0;
  factor = sd_elliptic_factor(n, 0.5);
  for (int k = 0; k < n; k++) factor /= p;
  if (p <= 1) return factor * sd_gauss(0.5, 0.5, n, 1 - p, p);
  return factor / __builtin_sqrt(p) * sd_gauss(n + 0.5, 0.5, 0, (p - 1) / p, 1 / p);
}

/* That of E; relative error below 6e-15 up to order 3, 3e-12 at order 10. */
static __attribute__((unused)) double sd_ellipe_derivative(double order, double p) {
  int n = (int)order;
  double factor;
  if (p != p || p < 0 || !(order >= 1 && order <= 10)) return __builtin_nan("");
  if (p == 0) return -__builtin_inf();
  if (p == __builtin_inf()) return 0;
  factor = sd_elliptic_factor(n, -0.5);
  for (int k = 1; k < n; k++) factor /= p;
  if (p <= 1) return factor * sd_gauss(1.5, 0.5, n - 1, 1 - p, p);
  return factor / __builtin_sqrt(p) * sd_gauss(n - 0.5, 0.5, 1, (p - 1) / p, 1 / p);
}
