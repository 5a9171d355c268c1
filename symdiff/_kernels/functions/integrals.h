/* Sine, cosine and Fresnel integrals, the inverse of w exp(w), derivatives of complete elliptic integrals and of scaled
   modified Bessel functions, and Airy functions.
   No header is included; the compiler's builtins name the functions of libm. */

/* The polynomial of many coefficients at x, even and odd powers apart: half as long a chain of operations. */
static __attribute__((unused)) double sd_powers(int many, const double *c, double x) {
  double square = x * x, even = c[(many - 1) & ~1], odd = c[(many - 2) | 1];
  for (int i = (many - 3) & ~1; i >= 0; i -= 2) even = even * square + c[i];
  for (int i = (many - 4) | 1; i >= 0; i -= 2) odd = odd * square + c[i];
  return even + odd * x;
}

/* x f(x) and x^2 g(x) of the auxiliary functions of sine and cosine integrals, DLMF 6.2(iii), of s = 1 / x^2 for x from
   4, and from 8 on: quotients of polynomials that interpolate at Chebyshev's points, at 60 digits; what they leave out is
   below 2^-52 of g, and 2^-55 of f. */
static __attribute__((unused)) void sd_sine_rest(double x, double *f, double *g) {
  static const double at[8][10] = {
      {0x1.fffffea42978dp-1, 0x1.aec94cb99689ep+7, 0x1.d5692632f35e7p+13, 0x1.a1cd85495dbabp+18,
       0x1.39dae9daa428fp+22, 0x1.7014c27e89d69p+24, 0x1.08d736174848cp+25, 0x1.a1b6bb51996d9p+22},
      {0x1.0000000000000p+0, 0x1.b2c9484e7033dp+7, 0x1.e23f8ea630693p+13, 0x1.bb8bf75c105f3p+18,
       0x1.61dcc26f8fa59p+22, 0x1.d0f2159031966p+24, 0x1.a852a91691192p+25, 0x1.52b3fb239a843p+24},
      {0x1.fffff47495ad4p-1, 0x1.deb36eda519dfp+7, 0x1.206d5b26ab68cp+14, 0x1.1984b458951cep+19,
       0x1.c97474f83fa95p+22, 0x1.1b1d7d0f46412p+25, 0x1.9578f5e06953dp+25, 0x1.aa3381505abd4p+22},
      {0x1.0000000000000p+0, 0x1.eab34760eee25p+7, 0x1.358e51ea43a1dp+14, 0x1.479f290c91395p+19,
       0x1.322002563c014p+23, 0x1.e4df898b4d6cbp+25, 0x1.192d2a2e03598p+27, 0x1.41ea68c11d802p+26},
      {0x1.0000000000000p+0, 0x1.0130bab4963bcp+10, 0x1.775fb4ca357b3p+18, 0x1.00d930b6caa0bp+26,
       0x1.633b29f8ccb11p+32, 0x1.f30bb3a8c0abep+37, 0x1.538b00d7d8165p+42, 0x1.8e25f24214be1p+45,
       0x1.3564ca4b76d9ap+47, 0x1.19d6e4a6ca731p+46},
      {0x1.0000000000000p+0, 0x1.01b0bab4963b7p+10, 0x1.795d163f9eb17p+18, 0x1.03b47651c85acp+26,
       0x1.6ad600474cae3p+32, 0x1.0390455849938p+38, 0x1.6d9ee0413ae6dp+42, 0x1.cc0bc7ef29bfbp+45,
       0x1.a61c8cf11c211p+47, 0x1.56ca9fd872c2fp+47},
      {0x1.ffffffffffffdp-1, 0x1.17c4660c053bcp+10, 0x1.bdf24a3e7439ep+18, 0x1.4e9f6a68e8b01p+26,
       0x1.fd7f85b808eb0p+32, 0x1.8b29b2afcd27ap+38, 0x1.28f0aba942c5bp+43, 0x1.7db9b2d5e91ecp+46,
       0x1.3a01285bf5a89p+48, 0x1.bfb9b3e6bb1a7p+46},
      {0x1.0000000000000p+0, 0x1.1944660c05378p+10, 0x1.c46be4a2bcecap+18, 0x1.58bb05b4da7a4p+26,
       0x1.0d68e01fffcd6p+33, 0x1.b568c07bbdce5p+38, 0x1.64df225d08034p+43, 0x1.0caa04c9077ccp+47,
       0x1.389ddab5b4473p+49, 0x1.6f9a667ac092fp+49}};
  double s = 1 / (x * x);
  const int far = x >= 8, many = far ? 10 : 8;
  const double(*row)[10] = at + 4 * far;
  *f = sd_powers(many, row[0], s) / (sd_powers(many, row[1], s) * x);
  *g = sd_powers(many, row[2], s) / sd_powers(many, row[3], s) * s;
}

/* Sine integral, DLMF 6.2.9: relative error about 1e-15. */
static __attribute__((unused)) double sd_si(double x) {
  /* (-1)^k / ((2k + 1) (2k + 1)!), DLMF 6.6.5 */
  static const double near[] = {
      0x1.0000000000000p+0, -0x1.c71c71c71c71cp-5, 0x1.b4e81b4e81b4fp-10, -0x1.db8b6f9266dd5p-16,
      0x1.48c5892f7cd83p-22, -0x1.390327a26bdbdp-29, 0x1.b2a2edd1e100cp-37, -0x1.cb3264bf2e688p-45,
      0x1.7d570699739afp-53, -0x1.feccf9f2a88ffp-62, 0x1.19b179783c732p-70, -0x1.043f7b43bfa81p-79,
      0x1.989fbfc45992ap-89, -0x1.13f39eebbbcd2p-98, 0x1.43ff8e04a5032p-108, -0x1.4dbb06adacc1dp-118,
      0x1.30011c6a7cedbp-128, -0x1.ed4c16c0c85b5p-139};
  double a = __builtin_fabs(x), f, g;
  if (x != x) return x;
  if (a == __builtin_inf()) return __builtin_copysign(1.57079632679489661923, x);
  if (a < 4) return x * sd_powers(18, near, x * x);
  sd_sine_rest(a, &f, &g);
  return __builtin_copysign(1.57079632679489661923 - (__builtin_cos(a) * f + __builtin_sin(a) * g), x);
}

/* Cosine integral of the argument's size, DLMF 6.2.11: error about 1e-15 of 1 / x where it oscillates, and of the
   logarithm below 4. */
static __attribute__((unused)) double sd_ci(double x) {
  /* (-1)^k / (2k (2k)!) from k = 1 on, DLMF 6.6.6 */
  static const double near[] = {
      -0x1.0000000000000p-2, 0x1.5555555555555p-7, -0x1.e573ac901e574p-13, 0x1.a01a01a01a01ap-19,
      -0x1.d96e5f25a9894p-26, 0x1.7e9213ff67620p-33, -0x1.cd3f30a008e6ap-41, 0x1.ae7f3e733b81fp-49,
      -0x1.402321fc15331p-57, 0x1.843561cce681ep-66, -0x1.871c7e568af04p-75, 0x1.4c8a010f74e50p-84,
      -0x1.e394271bdea47p-94, 0x1.301c274cee4fdp-103, -0x1.4e14055a1f565p-113, 0x1.434d2e783f5bcp-123,
      -0x1.15b4d5c00ee91p-133, 0x1.aa4e65d6027b3p-144};
  double a = __builtin_fabs(x), square = x * x, f, g;
  if (x != x) return x;
  if (a == __builtin_inf()) return 0;
  if (a < 4) return 0.57721566490153286061 + __builtin_log(a) + square * sd_powers(18, near, square);
  sd_sine_rest(a, &f, &g);
  return __builtin_sin(a) * f - __builtin_cos(a) * g;
}

/* One of Fresnel's integrals, DLMF 7.2.7 and 7.2.8, for x >= 0: S for sine, else C. From 1.5 on by their auxiliary
   functions, DLMF 7.5.3, pi x f(x) and pi^2 x^3 g(x) of (pi x^2)^-2 as those above, from 1.5 and from sqrt(6) on. */
static __attribute__((unused)) double sd_fresnel(int sine, double x) {
  /* (-1)^k / ((2k)! (4k + 1)) and (-1)^k / ((2k + 1)! (4k + 3)), DLMF 7.6.4 and 7.6.6 */
  static const double near[2][16] = {
      {0x1.0000000000000p+0, -0x1.999999999999ap-4, 0x1.2f684bda12f68p-8, -0x1.c01c01c01c01cp-14, 0x1.87a00187a0018p-20,
       -0x1.c2e3054870b38p-27, 0x1.6f448e13e85e1p-34, -0x1.bd577e658d020p-42, 0x1.a173a167fba4dp-50, -0x1.377c2110f2083p-58,
       0x1.7abd72258fb6ep-67, -0x1.7e6b81382cd42p-76, 0x1.45c0a838efe59p-85, -0x1.da7460554e5dbp-95, 0x1.2ac65385f79acp-104,
       -0x1.4899fcdef0a8dp-114},
      {0x1.5555555555555p-2, -0x1.8618618618618p-6, 0x1.8d3018d3018d3p-11, -0x1.bbd779334ef0bp-17, 0x1.3777c55568ccdp-23,
       -0x1.2b67310aa9f3ap-30, 0x1.a289ee7e40f74p-38, -0x1.bc6250fb14231p-46, 0x1.7271cbe5863ecp-54, -0x1.f1b4073b34a68p-63,
       0x1.13246abce1bddp-71, -0x1.fd6bebd65107ap-81, 0x1.909c9de3a31c5p-90, -0x1.0eef30fa10d2cp-99, 0x1.3e81bb5701ac5p-109,
       -0x1.486eea20c2656p-119}};
  static const double at[8][10] = {
      {0x1.fffffff9c519ap-1, 0x1.3476709be6571p+10, 0x1.0478dcaa7cca7p+19, 0x1.8fb331c6635e4p+26,
       0x1.2da12d2fe2823p+33, 0x1.c3fa2ffa2dfd7p+38, 0x1.4235083779d4bp+43, 0x1.87eddd6f0d0d5p+46,
       0x1.3f1d225a1cab6p+48, 0x1.5b68c5f81cf1dp+47},
      {0x1.0000000000000p+0, 0x1.3536708e7b2b4p+10, 0x1.063b8e8f7b4e8p+19, 0x1.9563e7887c2bap+26,
       0x1.35c60b21e2812p+33, 0x1.da14ecc1e703fp+38, 0x1.5e713cac0a718p+43, 0x1.c71559bddbe64p+46,
       0x1.a6f63ded58ee3p+48, 0x1.4dc84b944ee50p+48},
      {0x1.ffffff8d5dd17p-1, 0x1.53be27aa39d0fp+10, 0x1.3b75c3d9cfbd4p+19, 0x1.094dd0b7afb58p+27,
       0x1.b48f736da2abcp+33, 0x1.6188a59c69edep+39, 0x1.0c86887311aecp+44, 0x1.52cf6ada46b61p+47,
       0x1.0be91d20ee022p+49, 0x1.8a3215fe364cdp+47},
      {0x1.0000000000000p+0, 0x1.577e26a81d2e2p+10, 0x1.450fdac075f6cp+19, 0x1.1a219d96bfe13p+27,
       0x1.e874238a163efp+33, 0x1.aceec629fe22ep+39, 0x1.7322c3980f2b6p+44, 0x1.236d9a661c7bap+48,
       0x1.5c52c5aea6519p+50, 0x1.9ba5df432f5d4p+50},
      {0x1.0000000000000p+0, 0x1.1ffee952aa132p+12, 0x1.d85fde8d6ed01p+22, 0x1.6c3c0182ab37ap+32,
       0x1.1c5870803dc53p+41, 0x1.c35dd420d8f74p+48, 0x1.5b30200ea758ep+55, 0x1.cd42e595b4718p+60,
       0x1.9b6cd5b6307c0p+64, 0x1.dea54d392e8f9p+65},
      {0x1.0000000000000p+0, 0x1.202ee952aa132p+12, 0x1.d9365dbc6ccfcp+22, 0x1.6d97afb01d581p+32,
       0x1.1e65ef55b6498p+41, 0x1.c98f0234de1b7p+48, 0x1.646fe94f8543cp+55, 0x1.e6b76188fca1cp+60,
       0x1.d1aa8e15ad377p+64, 0x1.6205434b2fcdap+66},
      {0x1.0000000000000p+0, 0x1.39337183abc25p+12, 0x1.18c985a1151bap+23, 0x1.dc2589f84eab0p+32,
       0x1.9b6e68de711f1p+41, 0x1.6bf543b0ed81ep+49, 0x1.39ed86ed0ebbfp+56, 0x1.d4289ec13c239p+61,
       0x1.ca41c10d8c115p+65, 0x1.d0c4c2528cbd1p+66},
      {0x1.0000000000000p+0, 0x1.3a237183abc23p+12, 0x1.1b0f2615ebffcp+23, 0x1.e42a11a7924dbp+32,
       0x1.a8aba2c548414p+41, 0x1.81d90d4054ed5p+49, 0x1.5de103d62b112p+56, 0x1.209d8ebeb1002p+62,
       0x1.659ee5fe81733p+66, 0x1.a3354f8344e78p+68}};
  double square = x * x, rest = __builtin_fma(x, x, -square), t = 1.57079632679489661923 * square, s, f, g, phase;
  const double(*row)[10] = at + (square < 6 ? 0 : 4);
  if (x < 1.5) return x * (sine ? t : 1) * sd_powers(16, near[sine], t * t);
  if (x > 1e17) return 0.5;
  s = 0.25 / (t * t);
  t = 1 / (3.14159265358979323846 * x);
  f = sd_powers(10, row[0], s) / sd_powers(10, row[1], s) * t;
  g = sd_powers(10, row[2], s) / sd_powers(10, row[3], s) * (t / (3.14159265358979323846 * square));
  phase = 1.57079632679489661923 * ((square - 4 * __builtin_floor(0.25 * square)) + rest);
  if (sine) return 0.5 - (f * __builtin_cos(phase) + g * __builtin_sin(phase));
  return 0.5 + (f * __builtin_sin(phase) - g * __builtin_cos(phase));
}

/* Fresnel's sine integral: relative error about 1e-15. */
static __attribute__((unused)) double sd_fresnels(double x) {
  return x != x ? x : __builtin_copysign(sd_fresnel(1, __builtin_fabs(x)), x);
}

/* Fresnel's cosine integral: relative error about 1e-15. */
static __attribute__((unused)) double sd_fresnelc(double x) {
  return x != x ? x : __builtin_copysign(sd_fresnel(0, __builtin_fabs(x)), x);
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
  if (n && x < 1e-18) { /* exp(t) / 2 in place of cosh t - 1, whose steps would be thousands */
    sum = __builtin_pow(2 / x, n + v) * __builtin_tgamma(n + v);
    if (v < 1) sum += __builtin_pow(2 / x, n - v) * __builtin_tgamma(n - v);
    return __builtin_ldexp(sum, -n - 1);
  }
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

/* Bessel functions where SciPy's have no digits, and 0 where they have: J_v(x) or Y_v(x) for which = 0 or 1 and x from
   1e8 on, by the first terms of Debye's expansions, DLMF 10.19.6, and K_v(x) for which = 2 and v from 600 on, by the
   uniform expansion, DLMF 10.41.4. nan between where J and Y oscillate and where they are 0 and infinite. */
static __attribute__((unused)) double sd_bessel_far(double which, double v, double x) {
  double s, r, phase, turn, c, n, p, square, sum, size;
  if (v != v || x != x) return __builtin_nan("");
  if (which == 2) {
    v = __builtin_fabs(v);
    if (v < 600 || !(v < 1e300) || !(x > 0)) return 0;
    r = __builtin_hypot(v, x);
    p = v / r;
    square = p * p;
    sum = 1 - p * (3 - 5 * square) / 24 / v + square * (81 - square * (462 - 385 * square)) / 1152 / v / v -
          square * p * (30375 - square * (369603 - square * (765765 - 425425 * square))) / 414720 / v / v / v;
    size = v * __builtin_asinh(v / x) - r; /* in two factors, since a rounded exponent of 700 has lost digits already */
    c = __builtin_exp(0.5 * size);
    return c * (__builtin_sqrt(1.57079632679489661923 / r) * sum) * c;
  }
  if (x < 1e8) return 0;
  if (x == __builtin_inf()) return __builtin_isinf(v) ? __builtin_nan("") : 0;
  s = v / x;
  if (!(__builtin_fabs(s) <= 0.5)) {
    if (!(v > 4 * x)) return __builtin_nan("");
    return which == 0 ? 0 : -__builtin_inf();
  }
  size = __builtin_sqrt((1 - s) * (1 + s));
  /* what sqrt(x^2 - v^2) + v asin(v / x) is more than x, less the next term */
  phase = x * (s * (__builtin_asin(s) - s / (1 + size))) - (1 + 5. / 3 * (s / size) * (s / size)) / (8 * x * size);
  n = v - 4 * __builtin_floor(0.25 * v); /* the order modulo 4, exactly */
  turn = phase - 1.57079632679489661923 * (n + 0.5);
  if (which == 1) turn -= 1.57079632679489661923;
  c = __builtin_cos(x) * __builtin_cos(turn) - __builtin_sin(x) * __builtin_sin(turn);
  return c * (0.79788456080286535588 / __builtin_sqrt(x * size));
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
