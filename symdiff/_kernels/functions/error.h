/* Error functions without their exponential, and the logarithm of the normal distribution's integral.
   No header is included; the compiler's builtins name the functions of libm. */

/* exp(x^2) erfc(x) where erfc does not vanish; the square's rounding error is made good. */
static __attribute__((unused)) double sd_erfcx_beside_zero(double x) {
  double square = x * x, rest = __builtin_fma(x, x, -square);
  if (square > 710) return __builtin_inf();
  return __builtin_exp(square) * (1 + rest) * __builtin_erfc(x);
}

/* I(k) / I(k-1) for I(k) = exp(x^2) i^k erfc(x), k = 0 to count, x > 0: the minimal solution of DLMF 7.18.7, whose
   quotients are taken downward from far above. I(-1) is 2 / sqrt(pi). */
static __attribute__((unused)) void sd_ierfcx_quotients(int count, double x, double *quotients) {
  double many = 220 / (x * x) + 30 * __builtin_sqrt(count) / x;
  int from = count + 12 + (int)many;
  double q = 1 / (x + __builtin_sqrt(x * x + 2. * from));
  for (int k = from - 1; k >= 0; k--) {
    q = 1 / (2 * (x + (k + 1) * q));
    if (k <= count) quotients[k] = q;
  }
}

/* exp(x^2) i^n erfc(x), the repeated integrals of the error function, for 0 <= n <= 30. Relative error about 1e-15;
   between 0 and 0.6 it grows with the order, to 1e-12 of order 30. */
static __attribute__((unused)) double sd_ierfcx(double order, double x) {
  const double two_over_root_pi = 1.12837916709551257390;
  int n = (int)order;
  if (x != x || !(order >= 0 && order <= 30)) return __builtin_nan("");
  if (x == __builtin_inf()) return 0;
  if (x < (n ? 0.6 : 10)) { /* upward recurrence, DLMF 7.18.7: terms of one sign below 0 */
    double before = two_over_root_pi, here = sd_erfcx_beside_zero(x), next;
    for (int k = 1; k <= n; k++) {
      next = (0.5 * before - x * here) / k;
      before = here;
      here = next;
    }
    return here;
  }
  {
    double quotients[31] = {0}, value = two_over_root_pi;
    sd_ierfcx_quotients(n, x, quotients);
    for (int k = 0; k <= n; k++) value *= quotients[k];
    return value;
  }
}

/* exp(x^2) erfc(x) */
static __attribute__((unused)) double sd_erfcx(double x) { return sd_ierfcx(0, x); }

/* The derivative of order 1 <= n <= 10 of the logarithm of the standard normal distribution's integral. */
static __attribute__((unused)) double sd_log_ndtr_derivative(double order, double x) {
  const double root_half = 0.70710678118654752440, root_two = 1.41421356237309504880;
  int n = (int)order;
  if (x != x || !(order >= 1 && order <= 10)) return __builtin_nan("");
  if (x < -0.85) { /* cumulants of the density exp(-t u - u^2 / 2) of u > 0, t = -x, from its moments */
    double quotients[11] = {0}, moment[11], cumulant[11];
    sd_ierfcx_quotients(n, -x * root_half, quotients);
    moment[0] = 1;
    for (int k = 1; k <= n; k++) moment[k] = moment[k - 1] * quotients[k] * k * root_two;
    if (n == 1) return moment[1] - x;
    for (int k = 1; k <= n; k++) {
      double sum = moment[k], choose = 1;
      for (int j = 1; j < k; j++) {
        sum -= choose * cumulant[j] * moment[k - j];
        choose *= (k - j) / (double)j;
      }
      cumulant[k] = sum;
    }
    return n == 2 ? cumulant[2] - 1 : cumulant[n];
  }
  { /* h = phi / Phi has h' = -h (x + h), differentiated by Leibniz's rule */
    double h[11], g[11];
    h[0] = 0.79788456080286535588 * __builtin_exp(-0.5 * x * x) / __builtin_erfc(-x * root_half);
    g[0] = x + h[0];
    for (int k = 1; k < n; k++) {
      double sum = 0, choose = 1;
      for (int j = 0; j < k; j++) {
        sum -= choose * h[j] * g[k - 1 - j];
        choose *= (k - 1 - j) / (j + 1.);
      }
      h[k] = sum;
      g[k] = sum + (k == 1);
    }
    return h[0] == 0 ? 0 : h[n - 1];
  }
}
