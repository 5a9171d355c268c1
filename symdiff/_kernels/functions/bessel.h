/* Derivatives of scaled modified Bessel functions, which sums of their neighbours cancel in, and Airy functions.
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

/* Ai, Ai', Bi or Bi' for which = 0 to 3, by Taylor steps from whole numbers, and far out by their asymptotic
   expansions. Relative error below 1e-14; below 0, where they oscillate, of their size
   there, and of the phase's rounding. */
static __attribute__((unused)) double sd_airy(int which, double x) {
  /* Ai, Ai', Bi, Bi' at -10 to 10 */
  static const double at[21][4] = {
      {0x1.49a7fe67fe71ap-5, 0x1.fe1673ad658b8p-1, -0x1.423b6de41fe2bp-2, 0x1.e91ec5fbbc316p-4},
      {-0x1.6aa38e8bd0844p-6, -0x1.f38a3ab3ed723p-1, 0x1.4cbefdbca6ec4p-2, -0x1.d6399a376dcfbp-5},
      {-0x1.afc28073abb84p-5, 0x1.df01d7e1f41fap-1, -0x1.53339d484c3a1p-2, -0x1.468dfb8b805b9p-3},
      {0x1.79683b0571a28p-3, -0x1.8ac195288a6bdp-1, 0x1.2ccff6edadfcfp-2, 0x1.fe33d46ed5876p-2},
      {-0x1.510b6eb1815d2p-2, 0x1.623ce99198c5bp-2, -0x1.2c7032d16920bp-3, -0x1.a0344501f8029p-1},
      {0x1.672de4d9e1d32p-2, 0x1.4f0ba25cb5a72p-2, -0x1.1b6146e96ced2p-3, 0x1.8e8bfce7baa41p-1},
      {-0x1.1fcec060d9f19p-4, -0x1.94cd44c4fb752p-1, 0x1.91a5f98578929p-2, -0x1.dde1f4f8dae06p-4},
      {-0x1.83e7e4ea6959ap-2, 0x1.42223f628d022p-2, -0x1.9618df2354b90p-3, -0x1.59e9b6d47ccdfp-1},
      {0x1.d1bafc57f31d0p-3, 0x1.3c8c724515c8fp-1, -0x1.a632a64d50c9ep-2, 0x1.1d7c7af0d64e9p-2},
      {0x1.1235093d83da5p-1, -0x1.4cf103bcc6624p-7, 0x1.a9f92aac23d81p-4, 0x1.2f4bdbacdde78p-1},
      {0x1.6b8c7962715b8p-2, -0x1.0907f42b70f8bp-2, 0x1.3ad7a9b4a3ea9p-1, 0x1.cb0c1a680c8a1p-2},
      {0x1.151430bbaf656p-3, -0x1.45ef17fce4faep-3, 0x1.3519b674bdc80p+0, 0x1.dd683e1f130cap-1},
      {0x1.1e1935c04b623p-5, -0x1.b2ea9b1bfccdcp-5, 0x1.a627fa1a00f78p+1, 0x1.0671931ff0625p+2},
      {0x1.aff4f7fbd1f1bp-8, -0x1.865d4aaccf1e1p-7, 0x1.c131cc82cd470p+3, 0x1.6ec1647b07e40p+4},
      {0x1.f2e4bcf7c4970p-11, -0x1.00b915a6c6845p-9, 0x1.4f6366aff2fd4p+6, 0x1.43da7642a41d5p+7},
      {0x1.c66df1a2952d5p-14, -0x1.036ea91e217e0p-12, 0x1.48e561b412157p+9, 0x1.66f46bcf6f424p+10},
      {0x1.4dca0b3cc0f9dp-17, -0x1.9f7db9ccfd7a0p-16, 0x1.9887233ecc0f4p+12, 0x1.eb6cd22b725a0p+13},
      {0x1.923b08f80599ap-21, -0x1.0d878a129feacp-19, 0x1.39c7ca6beee79p+16, 0x1.994855df32c34p+17},
      {0x1.930ebc96d9dddp-25, -0x1.201267c1c127ep-23, 0x1.24de2010e4cf5p+20, 0x1.9977328080357p+21},
      {0x1.53a28272eaba4p-29, -0x1.01086ae331e68p-27, 0x1.47a664e4351b6p+24, 0x1.e6d000e3f4ccep+25},
      {0x1.e5e028a1f8cdap-34, -0x1.831907393566ep-32, 0x1.b2888418c587cp+28, 0x1.54c1a699ee746p+30}};
  double a = __builtin_fabs(x), root, rest, zeta, low, even = 0, odd = 0, u = 1, scale, size, last = 1;
  const int slope = which & 1, second = which >> 1;
  if (x != x) return x;
  if (a <= 10) { /* y'' = x y, DLMF 9.2.1 */
    double middle = __builtin_rint(x), h = x - middle, sum, change;
    const double *row = at[(int)middle + 10];
    double before = 0, here = row[2 * second], next = row[2 * second + 1], after, power = 1;
    sum = change = 0;
    for (int k = 0; k < 34; k++) { /* here is the coefficient of h^k */
      sum += here * power;
      change += (k + 1) * next * power;
      after = (middle * here + before) / ((k + 1.) * (k + 2.));
      before = here;
      here = next;
      next = after;
      power *= h;
    }
    return slope ? change : sum;
  }
  if (a == __builtin_inf()) return x < 0 ? (slope ? __builtin_nan("") : 0) : second ? a : slope ? -0.0 : 0;
  root = __builtin_sqrt(a); /* 2/3 a^(3/2) and its rounding error */
  rest = __builtin_fma(-root, root, a) / (2 * root);
  zeta = a * root;
  low = a < 1e150 ? __builtin_fma(a, root, -zeta) + a * rest : 0;
  size = 2 * zeta / 3;
  low = (__builtin_fma(-3, size, 2 * zeta) + 2 * low) / 3;
  zeta = size;
  if (zeta == __builtin_inf() && x > 0) return second ? zeta : slope ? -0.0 : 0;
  for (int k = 0; k < 40; k++) { /* DLMF 9.7.2; terms of slopes in front of the parenthesis */
    double term = slope ? -(6. * k + 1) / (6. * k - 1) * u : u;
    if (__builtin_fabs(term) > last) break;
    last = __builtin_fabs(term);
    if (last < 1e-18) break;
    if (x < 0) term = k / 2 % 2 ? -term : term;
    if (k % 2) odd += term;
    else even += term;
    u *= (6. * k + 1) * (6. * k + 3) * (6. * k + 5) / (216. * (k + 1) * (2. * k + 1)) / zeta;
  }
  scale = slope ? __builtin_sqrt(root) : 1 / __builtin_sqrt(root);
  scale *= 0.56418958354775628695;
  if (x > 0) { /* DLMF 9.7.5 to 9.7.8; the exponential in two factors, neither of which overflows first */
    double half = __builtin_exp(second ? zeta / 2 : -zeta / 2);
    if (!second) return (slope ? -0.5 : 0.5) * scale * half * (1 - low) * (even - odd) * half;
    return scale * half * (1 + low) * (even + odd) * half;
  }
  if (zeta > 1e15) low = 0;
  {
    double turned = 0.70710678118654752440, c = __builtin_cos(zeta), s = __builtin_sin(zeta), cosine, sine;
    double c2 = c - s * low, s2 = s + c * low;
    cosine = turned * (c2 + s2); /* of zeta - pi / 4 */
    sine = turned * (s2 - c2);
    /* DLMF 9.7.9 to 9.7.12 */
    if (!slope) return scale * (second ? cosine * odd - sine * even : cosine * even + sine * odd);
    return scale * (second ? cosine * even + sine * odd : sine * even - cosine * odd);
  }
}

/* Ai, DLMF 9.2.2. */
static __attribute__((unused)) double sd_airyai(double x) {
  return sd_airy(0, x);
}

/* Its derivative. */
static __attribute__((unused)) double sd_airyaiprime(double x) {
  return sd_airy(1, x);
}

/* Bi, DLMF 9.2.2. */
static __attribute__((unused)) double sd_airybi(double x) {
  return sd_airy(2, x);
}

/* Its derivative. */
static __attribute__((unused)) double sd_airybiprime(double x) {
  return sd_airy(3, x);
}
