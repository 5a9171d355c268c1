/* Functions that C's mathematical library lacks. The text is compiled into symdiff._kernels.special
   and, where a formula uses one of them, into generated kernels: one source, the same bits.
   No header is included; the compiler's builtins name the functions of libm. */

#define SD_PI 3.14159265358979323846

/* pi cot(pi x) needs cot exactly 0 at a half, which the rounded pi / 2 does not give. */
static double sd_cotangent(double x) {
  if (__builtin_fabs(x) <= 0.25) return 1 / __builtin_tan(SD_PI * x);
  return __builtin_copysign(__builtin_tan(SD_PI * (0.5 - __builtin_fabs(x))), x);
}

/* digamma, relative error below 1e-14; beside its zeros below 0 that is an absolute error. */
static __attribute__((unused)) double sd_digamma(double x) {
  /* Taylor series at the zero above 0: (-1)^(k+1) zeta(k+1, zero), DLMF 5.15.1 */
  static const double taylor[] = {
      0x1.ef72bc8ee38acp-1,  -0x1.c563b54aa1a37p-2,  0x1.08b4294d50382p-2,  -0x1.4fc1317257daap-3, 0x1.b9a5b6370f3aep-4,
      -0x1.27baba261cc2ep-4, 0x1.8fce02b239caap-5,   -0x1.0fa7ec36a7d91p-5, 0x1.723d6807edcc4p-6,  -0x1.f970508e1b6a8p-7,
      0x1.5955caaa962f8p-7,  -0x1.d828079282ebfp-8,  0x1.42e1acf81d8e1p-8,  -0x1.b9afc7cee8a1bp-9, 0x1.2e23345f79ab4p-9,
      -0x1.9d626f71d1f82p-10, 0x1.1acebbd76108ep-10, -0x1.82f6345c65b3dp-11, 0x1.08bdae1a261dbp-11, -0x1.6a3fddea1130dp-12,
      0x1.efacab6fb8991p-13, -0x1.531f5dc5eb56cp-13, 0x1.d0080f810fac2p-14, -0x1.3d7972688af70p-14};
  const double zero = 1.4616321449683622, at_zero = -9.241265521729427e-17;
  double sum = 0, y, t;
  if (x != x || x == __builtin_inf()) return x;
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (x < 0) { /* reflection, DLMF 5.5.4 */
    t = x - __builtin_rint(x);
    if (t == 0 || x == -__builtin_inf()) return __builtin_nan("");
    sum = -SD_PI * sd_cotangent(t);
    x = 1 - x;
  }
  t = x - zero;
  if (__builtin_fabs(t) < 0.25) {
    y = taylor[23];
    for (int k = 22; k >= 0; k--) y = y * t + taylor[k];
    return sum + (y * t + at_zero);
  }
  for (; x < 10; x += 1) sum -= 1 / x; /* recurrence, DLMF 5.5.2 */
  y = 1 / (x * x);                     /* asymptotic expansion, DLMF 5.11.2 */
  t = 1 / 132. - y * (691 / 32760. - y * (1 / 12. - y * (3617 / 8160.)));
  t = y * (1 / 12. - y * (1 / 120. - y * (1 / 252. - y * (1 / 240. - y * t))));
  return sum + ((__builtin_log(x) - 0.5 / x) - t);
}

/* n! / x^(n+1), without the overflow of its parts */
static double sd_factorial_over_power(int n, double x) {
  double y = 1 / x;
  for (int k = n; k > 0; k--) y *= k / x;
  return y;
}

/* The derivative of order n of pi cot(pi x), up to sign: a polynomial in the cotangent c, whose
   coefficients follow from dc/dx = -pi (1 + c^2). All have one sign, so nothing cancels. */
static double sd_cotangent_derivative(int n, double x) {
  double p[103] = {0}, c = sd_cotangent(x), y = 0;
  p[1] = SD_PI;
  for (int k = 1; k <= n; k++) { /* from degree k to degree k + 1 */
    for (int i = 0; i < k; i++) p[i] = SD_PI * (i + 1) * p[i + 1];
    p[k] = 0;
    for (int i = k + 1; i >= 2; i--) p[i] += p[i - 2];
  }
  for (int i = n + 1; i >= 0; i--) y = y * c + p[i];
  return y;
}

/* B(2j + 2) / (2j + 2)!, DLMF 24.2.1 */
static __attribute__((unused)) double sd_bernoulli(int j) {
  static const double numbers[] = {1 / 12.,           -1 / 720.,
                                   1 / 30240.,        -1 / 1209600.,
                                   1 / 47900160.,     -691 / 1307674368000.,
                                   1 / 74724249600.,  -3617 / 10670622842880000.,
                                   43867 / 5109094217170944000., -174611 / 802857662698291200000.};
  return numbers[j];
}

/* polygamma of order 0 <= n <= 100, relative error about 1e-14; beside its zeros that is an absolute error. */
static __attribute__((unused)) double sd_polygamma(double order, double x) {
  const double odd = (int)order % 2 ? 1 : -1;
  double sum = 0, power, scale, reflected = 0;
  int n, mirrored = x < 0;
  if (order == 0) return sd_digamma(x);
  if (x != x) return x;
  if (x == __builtin_inf()) return odd * 0.0;
  if (x == -__builtin_inf() || !(order > 0 && order <= 100)) return __builtin_nan("");
  if (x == 0) return odd > 0 ? __builtin_inf() : __builtin_copysign(__builtin_inf(), -x);
  n = (int)order;
  if (mirrored) { /* reflection, DLMF 5.15.6 */
    double t = x - __builtin_rint(x);
    if (t == 0) return odd > 0 ? __builtin_inf() : __builtin_nan("");
    reflected = odd * sd_cotangent_derivative(n, t);
    x = 1 - x;
  }
  /* n! zeta(n+1, x) by Euler and Maclaurin, DLMF 25.11.5, from where its terms fall quickly */
  power = sd_factorial_over_power(n, x);
  while (x < 15 + n / 2. && power > 1e-19 * sum) {
    sum += power;
    x += 1;
    power = sd_factorial_over_power(n, x);
  }
  if (sum == 0 || power > 1e-19 * sum) { /* far out, power underflows before the integral does */
    sum += sd_factorial_over_power(n - 1, x) + 0.5 * power;
    scale = power * (n + 1) / x;
    for (int j = 0; j < 10; j++) {
      sum += sd_bernoulli(j) * scale;
      scale *= (n + 2 * j + 2.) * (n + 2 * j + 3.) / (x * x);
    }
  }
  return mirrored ? reflected - sum : odd * sum;
}

/* polygamma(n, x + d) - polygamma(n, x), without their cancellation where d is small: relative error about 1e-14
   for x > 0 and x + d > 0. */
static __attribute__((unused)) double sd_polygamma_gap(double order, double x, double d) {
  double sum = 0, above, far, scale, wide;
  int n = (int)order;
  if (x != x || d != d || !(order >= 0 && order <= 100)) return __builtin_nan("");
  if (!(x > 0) || !(x + d > 0) || x + d > 1e300) return sd_polygamma(order, x + d) - sd_polygamma(order, x);
  if (d > 3 * x || d < -0.5 * x) return sd_polygamma(order, x + d) - sd_polygamma(order, x);
  if (d == 0) return 0;
  above = 15 + n / 2.;
  /* Terms of n! zeta(n+1, x), DLMF 25.11.1: each is that of x times expm1(-(n + 1) log1p(d / x)). */
  for (above -= d < 0 ? d : 0; x < above; x += 1)
    sum += sd_factorial_over_power(n, x) * __builtin_expm1(-(n + 1) * __builtin_log1p(d / x));
  /* the rest by Euler and Maclaurin, DLMF 25.11.5 */
  wide = __builtin_log1p(d / x);
  far = sd_factorial_over_power(n, x);
  sum += n ? sd_factorial_over_power(n - 1, x) * __builtin_expm1(-n * wide) : -wide;
  sum += 0.5 * far * __builtin_expm1(-(n + 1) * wide);
  scale = far * (n + 1) / x;
  for (int j = 0; j < 10; j++) {
    sum += sd_bernoulli(j) * scale * __builtin_expm1(-(n + 2 + 2 * j) * wide);
    scale *= (n + 2 * j + 2.) * (n + 2 * j + 3.) / (x * x);
  }
  return n % 2 ? sum : -sum;
}

/* B(2j + 2) / ((2j + 1) (2j + 2)), the coefficients of DLMF 5.11.1 */
static __attribute__((unused)) double sd_stirling(int j) {
  static const double numbers[] = {1 / 12.,  -1 / 360.,       1 / 1260., -1 / 1680.,
                                   1 / 1188., -691 / 360360., 1 / 156.,  -3617 / 122400.};
  return numbers[j];
}

/* log(gamma(x + d) / gamma(x)) for x > 0 and d > 0, one of them at most 1 or d at most x, without the cancellation of
   large logarithms. */
static __attribute__((unused)) double sd_lgamma_gap(double x, double d) {
  double sum = 0, grown = 0, wide, power, square, far, less, gap;
  if (x < 0.5) {
    sum -= __builtin_log1p(d / x);
    x += 1;
  }
  for (; x < 10; x += 1) grown += d / x * (1 + grown); /* the product of 1 + d / x, less 1; DLMF 5.5.1 */
  if (grown > 0) sum -= __builtin_log1p(grown);
  wide = __builtin_log1p(d / x);
  sum += d * (__builtin_log(x + d) - 1) + (x - 0.5) * wide; /* DLMF 5.11.1 */
  power = 1 / x;
  square = power * power;
  far = x + d;
  gap = -(d / far);                 /* x / far less 1 */
  less = gap * ((x + far) / far); /* the square of x / far less 1 */
  for (int j = 0; j < 8; j++) {
    sum += sd_stirling(j) * power * gap;
    power *= square;
    gap += less * (1 + gap);
  }
  return sum;
}

/* gamma(x) for 0 < x < 20 by that of numbers beside 2, whose polynomial interpolates at Chebyshev's points. */
static __attribute__((unused)) double sd_gamma_product(double x) {
  static const double near[] = {
      0x1.0000000000000p+0, 0x1.b0ee6072093cep-2, 0x1.a5b978b96bed0p-2, 0x1.4e2399846508ap-4, 0x1.301fbb0f23723p-4,
      -0x1.17f3740ec72a0p-12, 0x1.6d7eeacd72a91p-7, -0x1.75e6e90ba3cefp-9, 0x1.13c4485aa4efbp-9,
      -0x1.e21f19a7b3331p-11, 0x1.011b279719403p-11, -0x1.f94b1c3d6053ep-13, 0x1.fe3e7148c5ff1p-14,
      -0x1.fddfed1c8199bp-15, 0x1.007e03354bf19p-15, -0x1.00a11030605acp-16, 0x1.e4493add6e9e0p-18,
      -0x1.e472c38c79d24p-19, 0x1.60719ffb53cb2p-19, -0x1.607cdc66fc45bp-20};
  double n = __builtin_rint(x), s = x - n, square = s * s, even = near[18], odd = near[19], under = 1;
  for (int i = 16; i >= 0; i -= 2) even = even * square + near[i];
  for (int i = 17; i >= 0; i -= 2) odd = odd * square + near[i];
  even += odd * s;
  for (; n > 2; n -= 1) even *= x -= 1; /* DLMF 5.5.1 */
  for (; n < 2; n += 1) {
    under *= x;
    x += 1;
  }
  return even / under;
}

/* log(gamma(x)) for x > 0; beside its zeros the error is an absolute one. */
static __attribute__((unused)) double sd_log_gamma(double x) {
  double power = 1 / x, square = power * power, sum;
  if (x < 1e-100) return -__builtin_log(x);
  if (x < 20) return __builtin_log(sd_gamma_product(x));
  sum = 0.91893853320467274178 + ((x - 0.5) * __builtin_log(x) - x);
  for (int j = 0; j < 8; j++) {
    sum += sd_stirling(j) * power;
    power *= square;
  }
  return sum;
}

/* beta(a, b) for 0 < a <= b whose sum is below 12 */
static __attribute__((unused)) double sd_beta_product(double a, double b) {
  return sd_gamma_product(a) * (sd_gamma_product(b) / sd_gamma_product(a + b));
}

/* log(abs(beta(a, b))), relative error about 1e-14 above 0; beside its zeros that is an absolute error. */
static __attribute__((unused)) double sd_betaln(double a, double b) {
  double small = a < b ? a : b, large = a < b ? b : a;
  if (a != a || b != b) return __builtin_nan("");
  if (small > 1e-100 && small + large < 12) return __builtin_log(sd_beta_product(small, large));
  if (small > 0 && large < 1e300) return sd_log_gamma(small) - sd_lgamma_gap(large, small);
  return __builtin_log(__builtin_fabs(__builtin_tgamma(small) * (__builtin_tgamma(large) / __builtin_tgamma(a + b))));
}

/* beta(a, b), relative error that of its logarithm. */
static __attribute__((unused)) double sd_beta(double a, double b) {
  double small = a < b ? a : b, large = a < b ? b : a;
  if (small > 1e-100 && small + large < 12) return sd_beta_product(small, large);
  if (small > 0 && large < 1e300) return __builtin_exp(sd_betaln(a, b));
  return __builtin_tgamma(small) * (__builtin_tgamma(large) / __builtin_tgamma(a + b));
}

/* Hurwitz's zeta function for s > 1 and q > 0 by Euler and Maclaurin, DLMF 25.11.5; nan for others, inf at s = 1.
   Relative error about 1e-15. */
static __attribute__((unused)) double sd_zeta(double s, double q) {
  double sum = 0, power, scale;
  if (s != s || q != q || s < 1 || q < 0) return __builtin_nan("");
  if (s == 1 || q == 0) return __builtin_inf();
  if (s == __builtin_inf()) return q > 1 ? 0 : q == 1 ? 1 : __builtin_inf();
  if (q == __builtin_inf()) return 0;
  power = __builtin_pow(q, -s);
  /* what is left is about power (1 + q / (s - 1)), which near s = 1 is far more than its first term */
  while (q < 8 + s && power * (1 + q / (s - 1)) > 1e-19 * sum) { /* ten terms then leave out less than 1e-15 */
    sum += power;
    q += 1;
    power = __builtin_pow(q, -s);
  }
  if (sum > 0 && power * (1 + q / (s - 1)) <= 1e-19 * sum) return sum;
  sum += __builtin_pow(q, 1 - s) / (s - 1) + 0.5 * power; /* far out, power underflows before the integral does */
  scale = power * s / q;
  for (int j = 0; j < 10; j++) {
    sum += sd_bernoulli(j) * scale;
    scale *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}

/* The derivative of order 0 <= n <= 10 of Hurwitz's zeta function by s, term by term. Relative error about 1e-14; beside
   its zeros, for q < 1, that is an absolute error. */
static __attribute__((unused)) double sd_zeta_by_s(double order, double s, double q) {
  double sum = 0, power, scale, log_q, here, series[11], product[11] = {0};
  int n = (int)order;
  if (s != s || q != q || s < 1 || q < 0 || !(order >= 0 && order <= 10)) return __builtin_nan("");
  if (n == 0) return sd_zeta(s, q);
  if (q == 0) return __builtin_inf();
  if (s == 1) return n % 2 ? -__builtin_inf() : __builtin_inf();
  if (q == __builtin_inf()) return 0;
  if (s == __builtin_inf()) return q >= 1 ? 0 : __builtin_inf();
  for (;; q += 1) {
    power = __builtin_pow(q, -s);
    log_q = __builtin_log(q);
    here = power;
    for (int i = 0; i < n; i++) here *= -log_q;
    if (!(q < 15 + s / 2)) break;
    if (q > 2 && __builtin_fabs(here) * (1 + q / (s - 1)) <= 1e-19 * __builtin_fabs(sum)) return sum;
    sum += here;
  }
  sum += 0.5 * here;
  series[0] = 1; /* of q^-e by powers of e */
  for (int k = 1; k <= n; k++) series[k] = series[k - 1] * (-log_q / k);
  scale = __builtin_pow(q, 1 - s) / (s - 1); /* q^(1 - s - e) / (s - 1 + e) */
  here = 0;
  for (int k = 0; k <= n; k++) here = series[k] - here / (s - 1);
  here *= scale;
  product[0] = s / q; /* s (s + 1) ... by powers of e, over as many of q */
  if (n) product[1] = 1 / q;
  for (int j = 0; j < 10; j++) {
    double part = 0;
    for (int k = 0; k <= n; k++) part += product[k] * series[n - k];
    here += sd_bernoulli(j) * power * part;
    for (int i = 1; i <= 2; i++)
      for (int k = n; k >= 0; k--) product[k] = (product[k] * (s + 2 * j + i) + (k ? product[k - 1] : 0)) / q;
  }
  for (int k = 2; k <= n; k++) here *= k;
  return sum + here;
}

/* Spherical Bessel function of order 0 <= n <= 100, relative error about 1e-14 for |x| <= n + 1;
   beyond, where it oscillates, that is an error relative to 1 / x. */
static __attribute__((unused)) double sd_spherical_jn(double order, double x) {
  double sign = x < 0 && (int)order % 2 ? -1 : 1, before, here, next;
  int n = (int)order;
  if (x != x || !(order >= 0 && order <= 100)) return __builtin_nan("");
  x = __builtin_fabs(x);
  if (x == __builtin_inf()) return 0;
  if (x * x < n + 1.5) { /* power series, DLMF 10.53.1: its terms fall from the first one on */
    double term = sign, sum, half = x * x / 2;
    for (int k = 1; k <= n; k++) term *= x / (2 * k + 1);
    sum = term;
    for (int k = 1; k < 40; k++) sum += term *= -half / (k * (2 * n + 2 * k + 1.));
    return sum;
  }
  before = __builtin_sin(x) / x; /* DLMF 10.49.3 */
  if (n == 0) return before;
  here = (before - __builtin_cos(x)) / x;
  if (n <= x) { /* upward recurrence, DLMF 10.51.1, is stable here */
    for (int k = 1; k < n; k++) {
      next = (2 * k + 1) / x * here - before;
      before = here;
      here = next;
    }
    return sign * here;
  }
  { /* Miller's algorithm, DLMF 3.6(iii): downward from far above, scaled by the larger of orders 0 and 1 */
    double up = 0, now = 1e-290, found = 0, down;
    for (int k = n + 40; k > 0; k--) {
      if (k == n) found = now;
      if (k == 1) break;
      down = (2 * k + 1) / x * now - up;
      up = now;
      now = down;
    }
    down = 3 / x * now - up; /* now of order 1, down of order 0 */
    return sign * found * (__builtin_fabs(before) > __builtin_fabs(here) ? before / down : here / now);
  }
}
