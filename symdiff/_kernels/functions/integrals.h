/* Sine, cosine and Fresnel integrals, the inverse of w exp(w), and derivatives of complete elliptic integrals.
   No header is included; the compiler's builtins name the functions of libm. */

/* Re and Im of exp(ix) E1(ix), x >= 4, by the continued fraction DLMF 6.9.1, from its end. */
static __attribute__((unused)) void sd_e1_turned(double x, double *real, double *imag) {
  int many = 12 + (int)(x < 400 ? 400 / x : 0);
  double re = 1 + 2. * many, im = x, size;
  for (int i = many; i > 0; i--) {
    size = (double)i * i / (re * re + im * im);
    re = 2. * i - 1 - size * re;
    im = x + size * im;
  }
  size = im * (1 + re / im * (re / im));
  *real = re / im / size;
  *imag = -1 / size;
}

/* Sine integral, DLMF 6.2.9: relative error about 1e-15. */
static __attribute__((unused)) double sd_si(double x) {
  double a = __builtin_fabs(x), re, im, term = x, sum = x;
  if (x != x) return x;
  if (a == __builtin_inf()) return __builtin_copysign(1.57079632679489661923, x);
  if (a < 4) { /* DLMF 6.6.5 */
    for (int k = 1; k < 30; k++) {
      term *= -x * x / ((2. * k) * (2 * k + 1));
      sum += term / (2 * k + 1);
    }
    return sum;
  }
  sd_e1_turned(a, &re, &im);
  return __builtin_copysign(1.57079632679489661923 + (__builtin_cos(a) * im - __builtin_sin(a) * re), x);
}

/* Cosine integral of the argument's size, DLMF 6.2.11: error about 1e-15 of 1 / x where it oscillates, and of the
   logarithm below 4. */
static __attribute__((unused)) double sd_ci(double x) {
  double a = __builtin_fabs(x), re, im, term = 1, sum = 0;
  if (x != x) return x;
  if (a == __builtin_inf()) return 0;
  if (a < 4) { /* DLMF 6.6.6 */
    for (int k = 1; k < 30; k++) {
      term *= -x * x / ((2. * k) * (2 * k - 1));
      sum += term / (2 * k);
    }
    return 0.57721566490153286061 + __builtin_log(a) + sum;
  }
  sd_e1_turned(a, &re, &im);
  return -(__builtin_cos(a) * re + __builtin_sin(a) * im);
}

/* Both of Fresnel's integrals, DLMF 7.2.7 and 7.2.8, for x >= 0. */
static __attribute__((unused)) void sd_fresnel(double x, double *s, double *c) {
  const double half_pi = 1.57079632679489661923;
  double square = x * x, rest = __builtin_fma(x, x, -square), phase, re, im, size, cosine, sine, turn;
  if (x < 1.5) { /* DLMF 7.6.4 and 7.6.6 */
    double term = x, t = half_pi * square;
    *s = *c = 0;
    for (int k = 0; k < 30; k++) {
      *c += term / (4 * k + 1);
      term *= t / (2 * k + 1);
      *s += term / (4 * k + 3);
      term *= -t / (2 * k + 2);
    }
    return;
  }
  if (x > 1e17) {
    *s = *c = 0.5;
    return;
  }
  /* erfc's continued fraction, DLMF 7.9.2, at (1 - i) sqrt(pi) x / 2, from its end */
  int many = 12 + (int)(x < 12 ? 150 / square : 0);
  turn = -2 * half_pi * square;
  re = 1 + 4. * many;
  im = turn;
  for (int j = many; j > 0; j--) {
    size = -(2. * j - 1) * (2. * j) / (re * re + im * im);
    re = 4. * j - 3 + size * re;
    im = turn - size * im;
  }
  size = x / (re * re + im * im); /* x (1 - i) / (re + i im) */
  double hr = size * (re - im), hi = -size * (re + im);
  phase = half_pi * (__builtin_fmod(square, 4) + rest);
  cosine = __builtin_cos(phase);
  sine = __builtin_sin(phase);
  double pr = cosine * hr - sine * hi, pi = cosine * hi + sine * hr;
  *c = 0.5 * ((1 - pr) + pi);
  *s = 0.5 * ((1 - pr) - pi);
}

/* Fresnel's sine integral: relative error about 1e-15. */
static __attribute__((unused)) double sd_fresnels(double x) {
  double s, c;
  if (x != x) return x;
  sd_fresnel(__builtin_fabs(x), &s, &c);
  return x < 0 ? -s : s;
}

/* Fresnel's cosine integral: relative error about 1e-15. */
static __attribute__((unused)) double sd_fresnelc(double x) {
  double s, c;
  if (x != x) return x;
  sd_fresnel(__builtin_fabs(x), &s, &c);
  return x < 0 ? -c : c;
}

/* The solution w of w exp(w) = x of one branch, DLMF 4.13; `lower` below -1. */
static __attribute__((unused)) double sd_lambert(double x, int lower) {
  /* DLMF 4.13.6: w in powers of sqrt(2 (e x + 1)) */
  static const double branch[] = {
      -0x1.0000000000000p+0, 0x1.0000000000000p+0, -0x1.5555555555555p-2, 0x1.38e38e38e38e4p-3, -0x1.4629b7f0d462ap-4,
      0x1.6c901e573ac90p-5, -0x1.a9bbcb24fe29fp-6, 0x1.002c98983bc43p-6, -0x1.3b20565de449cp-7, 0x1.8a2b4a92630e7p-8,
      -0x1.f38df0d491306p-9, 0x1.3fee464a7d9c5p-9, -0x1.9d620108b4284p-10, 0x1.0d075d983b845p-10,
      -0x1.605a95d04e643p-11, 0x1.cff7754715cf2p-12, -0x1.32e4f1bc682e6p-12, 0x1.97a8dfca09940p-13,
      -0x1.0fbca7a215b09p-13, 0x1.6b701d0eab7e4p-14, -0x1.e77e059770444p-15, 0x1.47cc8ab17efb8p-15,
      -0x1.b9e1207154a3cp-16, 0x1.2a78f41328c77p-16};
  double t = __builtin_fma(2.718281828459045, x, 1) + 1.4456468917292502e-16 * x, p, w, z, q, l;
  if (x != x || t < -4e-16 || (lower && x > 0)) return __builtin_nan("");
  if (lower && x == 0) return -__builtin_inf();
  if (x == 0 || x == __builtin_inf()) return x;
  p = t > 0 ? __builtin_sqrt(2 * t) : 0;
  if (lower) p = -p;
  if (__builtin_fabs(p) < 0.4) {
    w = 0;
    for (int k = (int)(sizeof branch / sizeof *branch) - 1; k >= 0; k--) w = w * p + branch[k];
    return w;
  }
  if (lower) {
    l = __builtin_log(-x);
    q = __builtin_log(-l);
    w = x < -0.25 ? -1 + p * (1 - p / 3) : l - q + q / l;
  } else {
    l = __builtin_log1p(x);
    w = l * (1 - __builtin_log1p(l) / (2 + l));
  }
  for (int k = 0; k < 3; k++) { /* Fritsch, Shafer and Crowley, "Algorithm 443" (1973) */
    z = (__builtin_fabs(w) > 1e-290 ? __builtin_log(x / w) : 0) - w;
    q = 2 * (1 + w) * (1 + w + 2 * z / 3);
    w *= 1 + z / (1 + w) * (q - z) / (q - 2 * z);
  }
  return w;
}

/* Lambert's W on its main branch: relative error about 1e-15 away from 0 of 1 + W. */
static __attribute__((unused)) double sd_lambertw(double x) {
  return sd_lambert(x, 0);
}

/* W on the branch -1, from -1/e to 0. */
static __attribute__((unused)) double sd_lambertwm1(double x) {
  return sd_lambert(x, 1);
}

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
