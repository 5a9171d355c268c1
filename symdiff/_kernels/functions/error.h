/* Error functions without their exponential, the logarithm of the normal distribution's integral, and Faddeeva's
   function of a complex number with its derivatives.
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

/* Faddeeva's function w(z) = exp(-z^2) erfc(-iz), DLMF 7.2.3, is in the upper half of the plane a mean of 1 / (z - t)
   under the weight exp(-t^2), DLMF 7.7.2. The sum at points t that are 1/2 apart has 17 digits, with what the poles
   beside z contribute: Chiarella and Reichel, On the evaluation of integrals related to the error function (1968). The
   points are moved by 1/4 where z is near one. */

/* r = a b of complex numbers */
static __attribute__((unused)) void sd_complex_mul(const double *a, const double *b, double *r) {
  double re = a[0] * b[0] - a[1] * b[1];
  r[1] = a[0] * b[1] + a[1] * b[0];
  r[0] = re;
}

/* exp(-z^2), with the digits that squares lose */
static __attribute__((unused)) void sd_gaussian(double x, double y, double *r) {
  double xx = x * x, yy = y * y, difference = yy - xx, v = difference - yy, size;
  double rest = (yy - (difference - v)) + (-xx - v) + __builtin_fma(y, y, -yy) - __builtin_fma(x, x, -xx);
  double turn = 2 * x * y;
  size = __builtin_exp(difference) * (1 + rest);
  r[0] = size * __builtin_cos(turn);
  r[1] = -size * __builtin_sin(turn);
}

/* The derivatives of orders 0 to most <= 15 at z = x + iy for x >= 0 and y >= 0: pairs of real and imaginary parts. */
static __attribute__((unused)) void sd_faddeeva_upper(int most, double x, double y, double *w) {
  /* exp(-t^2) / (2 pi) at t = k / 2 and k / 2 + 1/4 */
  static const double weights[2][15] = {
      {0x1.45f306dc9c883p-3, 0x1.fbb2fd3e63b83p-4, 0x1.dfa3e572aa123p-5, 0x1.12d6a47eec4e7p-6, 0x1.7e13fd7d199b4p-9,
       0x1.422a769e2e126p-12, 0x1.4986a82011d6dp-16, 0x1.98de153524230p-21, 0x1.33b3574d5dd08p-26,
       0x1.18e738aad23efp-32, 0x1.3713b5406adeap-39, 0x1.a1e3ccc0d34dfp-47, 0x1.547e45cb47c08p-55,
       0x1.508a7dde1f085p-64, 0x1.9381935172be0p-74},
      {0x1.323378294c2bfp-3, 0x1.7370ce99b1cfcp-4, 0x1.114a6f33e6973p-5, 0x1.e7d5d560f7361p-8, 0x1.0815d6ae9a174p-10,
       0x1.5ad6cd7d941eap-14, 0x1.144a23e612150p-18, 0x1.0afbaf6c74746p-23, 0x1.38f537a79c317p-29,
       0x1.bd02cd510a96fp-36, 0x1.7fcd8aeb5d909p-43, 0x1.918a2e7cd92d1p-51, 0x1.fd9a442c5e80dp-60,
       0x1.8845ab0be88a0p-69}};
  const double pi = 3.14159265358979323846, step = 0.5, root_pi = 1.77245385090551602730;
  double z[2] = {x, y}, g[32], p[18] = {0, 1}, e[2], pole[2], kappa[2], power[2], part[2], place = 2 * x, size;
  int moved;
  if (__builtin_fabs(x) > 30 || y > 30) { /* backward from where the derivatives are small: Gautschi (1970), 2.3 */
    double r[34] = {0};
    e[0] = e[1] = 0;
    for (int n = 40; n >= 0; n--) { /* r[n - 1] = -2 n / (r[n] + 2 z), and at last 1 / (r[0] + 2 z) */
      double re = e[0] + 2 * x, im = e[1] + 2 * y, ratio, factor = n ? -2 * n : 1;
      if (__builtin_fabs(re) > __builtin_fabs(im)) { /* whose squares may overflow */
        ratio = im / re;
        e[0] = factor / re / (1 + ratio * ratio);
        e[1] = -e[0] * ratio;
      } else {
        ratio = re / im;
        e[1] = -factor / im / (1 + ratio * ratio);
        e[0] = -e[1] * ratio;
      }
      if (n && n <= 17) {
        r[2 * n - 2] = e[0];
        r[2 * n - 1] = e[1];
      }
    }
    w[0] = -e[1] * 2 / root_pi;
    w[1] = e[0] * 2 / root_pi;
    for (int n = 0; n < most; n++) sd_complex_mul(w + 2 * n, r + 2 * n, w + 2 * n + 2);
    return;
  }
  place -= __builtin_floor(place);
  moved = !(place >= 0.25 && place <= 0.75); /* points at odd quarters */
  for (int n = 0; n <= 2 * most + 1; n++) w[n] = 0;
  for (int k = -14; k <= 14; k++) {
    double t = step * k + (moved ? 0.25 : 0), dx = x - t;
    if (moved && k == 14) break;
    size = dx * dx + y * y;
    part[0] = dx / size; /* 1 / (z - t), by quotients: a derivative has powers of it, which cancel */
    part[1] = -y / size;
    size = weights[moved][k < 0 ? -k - moved : k];
    power[0] = -part[1] * size; /* i times it */
    power[1] = part[0] * size;
    for (int n = 0; n <= most; n++) {
      w[2 * n] += power[0];
      w[2 * n + 1] += power[1];
      if (n == most) break;
      sd_complex_mul(power, part, power);
      power[0] *= -(n + 1);
      power[1] *= -(n + 1);
    }
  }
  if (y >= pi / step) return;
  /* the poles: 2 exp(-z^2) G for G = 1 / (1 -+ E), E = exp(kappa z), and their derivatives by Leibniz's rule */
  kappa[0] = 0;
  kappa[1] = -2 * pi / step;
  size = __builtin_exp(-kappa[1] * y);
  /* E = size (cos - i sin) of 2 pi place */
  e[0] = size * __builtin_cos(2 * pi * place);
  e[1] = -size * __builtin_sin(2 * pi * place);
  if (!moved) {
    e[0] = -e[0];
    e[1] = -e[1];
  }
  part[0] = 1 + e[0];
  part[1] = e[1];
  size = part[0] * part[0] + part[1] * part[1];
  pole[0] = part[0] / size; /* G */
  pole[1] = -part[1] / size;
  sd_gaussian(x, y, g);
  g[0] *= 2;
  g[1] *= 2;
  for (int n = 0; n < most; n++) { /* derivatives of the Gaussian, DLMF 18.9.13 */
    sd_complex_mul(z, g + 2 * n, part);
    for (int i = 0; i < 2; i++) g[2 * n + 2 + i] = -2 * part[i] - (n ? 2 * n * g[2 * n - 2 + i] : 0);
  }
  power[0] = 1; /* kappa^n */
  power[1] = 0;
  for (int n = 0; n <= most; n++) { /* the derivative of G is kappa^n times the polynomial p of G */
    double q[18] = {0}, binomial = 1;
    part[0] = part[1] = 0;
    for (int i = n + 1; i >= 0; i--) {
      sd_complex_mul(part, pole, part);
      part[0] += p[i];
    }
    sd_complex_mul(part, power, part);
    for (int m = n; m <= most; m++) {
      sd_complex_mul(part, g + 2 * (m - n), e);
      w[2 * m] += binomial * e[0];
      w[2 * m + 1] += binomial * e[1];
      binomial *= (m + 1.) / (m + 1 - n);
    }
    for (int i = 1; i <= n + 1; i++) { /* G' = -kappa G (1 - G) */
      q[i] -= i * p[i];
      q[i + 1] += i * p[i];
    }
    for (int i = 0; i < 18; i++) p[i] = q[i];
    sd_complex_mul(power, kappa, power);
  }
}

/* One part of the derivative of order 0 <= n <= 10 at x + iy, the real one for 0 and the imaginary one for 1. */
static __attribute__((unused)) double sd_faddeeva(int part, double order, double x, double y) {
  int n = (int)order, odd = n % 2 != part; /* of x, in the upper half */
  double w[32], a = __builtin_fabs(x), value, g[4], m;
  if (x != x || y != y || !(order >= 0 && order <= 10)) return __builtin_nan("");
  if (y < 0) { /* w(z) = 2 exp(-z^2) - w(-z), DLMF 7.4.3 */
    double below = sd_faddeeva(part, order, -x, -y), size[2];
    sd_gaussian(x, y, g);
    g[2] = g[3] = 0;
    for (int k = 0; k < n; k++) { /* the derivatives after this one and before it */
      m = -2 * (x * g[0] - y * g[1]) - 2 * k * g[2];
      size[1] = -2 * (x * g[1] + y * g[0]) - 2 * k * g[3];
      g[2] = g[0];
      g[3] = g[1];
      g[0] = m;
      g[1] = size[1];
    }
    return 2 * g[part] - (n % 2 ? -below : below);
  }
  if (a == __builtin_inf() || y == __builtin_inf()) return 0;
  if (odd && a < 1e-3) { /* by the derivatives at iy, so that it is exact in x */
    sd_faddeeva_upper(n + 5, 0, y, w);
    m = x * x;
    return x * (w[2 * n + 2 + part] + m * (w[2 * n + 6 + part] / 6 + m * (w[2 * n + 10 + part] / 120)));
  }
  sd_faddeeva_upper(n, a, y, w);
  value = w[2 * n + part];
  return x < 0 && odd ? -value : value;
}

/* Re of the derivative of order n of w at x + iy */
static __attribute__((unused)) double sd_wofz_real(double order, double x, double y) {
  return sd_faddeeva(0, order, x, y);
}

/* Im of the derivative of order n of w at x + iy */
static __attribute__((unused)) double sd_wofz_imag(double order, double x, double y) {
  return sd_faddeeva(1, order, x, y);
}
