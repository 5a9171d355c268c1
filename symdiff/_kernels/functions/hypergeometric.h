/* Confluent and Gauss's hypergeometric functions of real arguments. No header is included; the compiler's builtins name
   the functions of libm.

   Series are summed in pairs of doubles, whose second one has what the first one lacks: of terms that cancel, up to
   sixteen digits may be lost. */

/* Terms that one value may take: some thousandths of a second. What takes more is nan. */
static __attribute__((unused)) int sd_hyper_terms(void) { return 30000; }

/* r = a + b, exactly */
static __attribute__((unused)) void sd_pair_of_sum(double a, double b, double *r) {
  double s = a + b, v = s - a;
  r[1] = (a - (s - v)) + (b - v);
  r[0] = s;
}

/* r = a + b of pairs */
static __attribute__((unused)) void sd_pair_add(const double *a, const double *b, double *r) {
  double s[2], t[2];
  sd_pair_of_sum(a[0], b[0], s);
  sd_pair_of_sum(a[1], b[1], t);
  s[1] += t[0];
  t[0] = s[0] + s[1];
  s[1] = s[1] - (t[0] - s[0]) + t[1];
  r[0] = t[0] + s[1];
  r[1] = s[1] - (r[0] - t[0]);
}

/* r = a b of pairs */
static __attribute__((unused)) void sd_pair_mul(const double *a, const double *b, double *r) {
  double p = a[0] * b[0], e = __builtin_fma(a[0], b[0], -p) + (a[0] * b[1] + a[1] * b[0]);
  r[0] = p + e;
  r[1] = e - (r[0] - p);
}

/* r = a / b of pairs */
static __attribute__((unused)) void sd_pair_div(const double *a, const double *b, double *r) {
  double q = a[0] / b[0], rest;
  rest = (__builtin_fma(-q, b[0], a[0]) + a[1]) - q * b[1];
  rest /= b[0];
  r[0] = q + rest;
  r[1] = rest - (r[0] - q);
}

/* whether x is 0 or a negative whole number */
static __attribute__((unused)) int sd_is_pole(double x) { return x <= 0 && x == __builtin_floor(x); }

/* The series of p parameters a, b above and c below, DLMF 16.2.1, at the pair x: the sum and x times its slope, pairs
   that are to be taken times 2 to the power of the result. Where c is a pole, a or b ends it before. nan where it has
   more terms than are left, or where they cancel by more than 16 digits. Terms end below until times the sum. */
static __attribute__((unused)) int sd_hyper_sum(int *left, double until, int p, const double *a, const double *b,
                                                double c, const double *x, double *sum, double *turn) {
  double term[2] = {1, 0}, factor[2], n[2] = {0, 0}, largest = 1;
  int power = 0;
  sum[0] = 1;
  sum[1] = turn[0] = turn[1] = 0;
  for (double k = 0; --*left > 0; k++) {
    double size, before = __builtin_fabs(term[0]);
    sd_pair_mul(term, x, term);
    n[0] = k;
    if (p > 0) {
      sd_pair_add(a, n, factor);
      sd_pair_mul(term, factor, term);
    }
    if (p > 1) {
      sd_pair_add(b, n, factor);
      sd_pair_mul(term, factor, term);
    }
    if (term[0] == 0) {
      if (largest > 1e16 * __builtin_fabs(sum[0])) break;
      return power;
    }
    sd_pair_of_sum(c, k, factor);
    sd_pair_div(term, factor, term);
    sd_pair_add(turn, term, turn);
    n[0] = k + 1;
    sd_pair_div(term, n, term);
    sd_pair_add(sum, term, sum);
    size = __builtin_fabs(term[0]);
    largest = size > largest ? size : largest;
    if (!(size < 1e300)) break;
    if (size < until * __builtin_fabs(sum[0]) && size < 0.95 * before && c + k > 1 && (p < 1 || a[0] + k > 0) &&
        (p < 2 || b[0] + k > 0)) {
      if (largest > 1e16 * __builtin_fabs(sum[0])) break;
      return power;
    }
    if (largest > 1e36 * __builtin_fabs(sum[0]) && size < 1e-3 * largest && size < before) break;
    if (size > 1e200 || __builtin_fabs(sum[0]) > 1e200) {
      power += 600;
      largest = __builtin_ldexp(largest, -600);
      for (int i = 0; i < 2; i++) {
        term[i] = __builtin_ldexp(term[i], -600);
        sum[i] = __builtin_ldexp(sum[i], -600);
        turn[i] = __builtin_ldexp(turn[i], -600);
      }
    }
  }
  sum[0] = turn[0] = __builtin_nan("");
  return power;
}

/* The same sum in doubles, where its terms neither cancel nor are many, so that it has 15 digits; 0 elsewhere. */
static __attribute__((unused)) int sd_hyper_short(int p, const double *a, const double *b, double c, const double *x,
                                                  double *sum) {
  const double z = x[0], first = p > 0 ? a[0] : 1, second = p > 1 ? b[0] : 1;
  double term = 1, size = 1, turn = 0, total = 1, rest = 0, k = 0, next = 1;
  for (; k < 400; k = next, next += 1) {
    double below = (c + k) * next, factor = z, here;
    if (p > 0) factor *= first + k;
    if (p > 1) factor *= second + k;
    term *= factor / below;
    turn += next * term;
    here = total + term;
    rest += (total - here) + term; /* exactly what is lost, where the sum is larger than the term */
    total = here;
    here = __builtin_fabs(term);
    size += here;
    if (!(here < 1e-17 * size)) continue;
    if (c + k > 1 && (p < 1 || first + k > 0) && (p < 2 || second + k > 0) && __builtin_fabs(factor) < 0.95 * below) {
      if (!(size < 6 * __builtin_fabs(total))) return 0;
      *sum = total + (rest + turn * (x[1] / z));
      return 1;
    }
  }
  return 0;
}

/* y 2^power exp(x), where its factors may overflow and underflow */
static __attribute__((unused)) double sd_times_exp(double y, int power, double x) {
  double n = __builtin_rint(x * 1.44269504088896340736), rest;
  if (!(__builtin_fabs(x) < 1e6)) return y == 0 || x != x ? y : x < 0 ? y * 0 : y * __builtin_inf();
  rest = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  return __builtin_ldexp(y * __builtin_exp(rest), (int)n + power);
}

/* The confluent function 0F1 of b at x, DLMF 16.2.1: below 0, where it oscillates, from two orders near 1 and by
   Hankel's expansions, DLMF 10.17.3. */
static __attribute__((unused)) double sd_hyp0f1(double b, double x) {
  double pair[2] = {x, 0}, none[2] = {0, 0}, sum[2], turn[2], f[2], order, z, rest;
  int power, up, left = sd_hyper_terms();
  if (b != b || x != x) return __builtin_nan("");
  if (sd_is_pole(b)) return __builtin_inf();
  if (x == 0) return 1;
  /* the largest term, of k = x / (b + k), is above exp(k) / sqrt(7 k) */
  if (b > 0 && 2 * (x / (b + __builtin_sqrt(b * b + 4 * x))) > 720) return __builtin_inf();
  if (sd_hyper_short(0, none, none, b, pair, sum)) return sum[0];
  if (x > -250 || x > -12 * __builtin_fabs(b)) {
    power = sd_hyper_sum(&left, 1e-19, 0, none, none, b, pair, sum, turn);
    return __builtin_ldexp(sum[0], power);
  }
  if (!(__builtin_fabs(b) < 4e3) || x < -1e300) return __builtin_nan("");
  /* 0F1(b + 1, -z^2 / 4) = gamma(b + 1) (2 / z)^b J_b(z) for b and b + 1 in [0, 2), DLMF 10.16.9 */
  z = __builtin_sqrt(-x);
  rest = __builtin_fma(z, z, x) / -(2 * z); /* the root is z + rest */
  z *= 2;
  rest *= 2;
  order = b - __builtin_floor(b);
  for (int i = 0; i < 2; i++) {
    double v = order + i, p = 0, q = 0, term = 1, phase, c, s, cosine, sine;
    for (int k = 1; k < 60; k++) { /* term is a_k(v) / z^k */
      if (k % 2 == 1) p += (k / 2) % 2 ? -term : term;
      term *= (4 * v * v - (2. * k - 1) * (2 * k - 1)) / (8 * k * z);
      if (k % 2 == 1) q += (k / 2) % 2 ? -term : term;
      if (__builtin_fabs(term) < 1e-18) break;
    }
    phase = 1.57079632679489661923 * v + 0.78539816339744830962;
    c = __builtin_cos(z);
    s = __builtin_sin(z);
    cosine = c - s * rest; /* of z + rest */
    sine = s + c * rest;
    c = __builtin_cos(phase);
    s = __builtin_sin(phase);
    f[i] = p * (cosine * c + sine * s) - q * (sine * c - cosine * s);
    f[i] *= __builtin_tgamma(v + 1) * __builtin_pow(0.5 * z, -v - 0.5) / 1.77245385090551602730;
  }
  /* f are those of b = order + 1, order + 2; up and down by DLMF 10.6.1, and where J falls beyond z, from above */
  up = (int)__builtin_rint(b - (order + 1));
  power = 0;
  if (up > z) {
    double first[2], value = 0;
    first[0] = first[1] = 1;
    for (int i = up + 40 + (int)(8 * __builtin_cbrt(b)); i > 0; i--) {
      double at = order + 1 + i, next = first[0] + x / at * (first[1] / (at - 1));
      first[1] = first[0];
      first[0] = next;
      if (i == up + 1) {
        value = next;
        power = 0;
      }
      if (__builtin_fabs(next) < 1e-200) {
        first[0] = __builtin_ldexp(first[0], 600);
        first[1] = __builtin_ldexp(first[1], 600);
        power += 600;
      }
    }
    up = __builtin_fabs(f[1]) > __builtin_fabs(f[0]);
    return __builtin_ldexp(value * (f[up] / first[up]), power);
  }
  for (int i = 0; i < up; i++) {
    double at = order + 2 + i, next = (f[0] - f[1]) * (at * ((at - 1) / x));
    f[0] = f[1];
    f[1] = next;
    if (__builtin_fabs(f[0]) + __builtin_fabs(f[1]) < 1e-200) {
      f[0] = __builtin_ldexp(f[0], 600);
      f[1] = __builtin_ldexp(f[1], 600);
      power -= 600;
    }
  }
  for (int i = 0; i > up; i--) {
    double at = order + 1 + i, next = f[0] + x / at * (f[1] / (at - 1));
    f[1] = f[0];
    f[0] = next;
  }
  return __builtin_ldexp(f[0], power);
}

/* Kummer's function of the pair a, and b, at the pair x above 0 where the terms of its series cancel: by the series at
   the next of x / 2, x / 4, .. where they do not, and from there in steps by the series of the differential equation,
   DLMF 13.2.1. To be taken times 2 to the power of the result. */
static __attribute__((unused)) int sd_kummer_steps(int *left, const double *a, double b, const double *x, double *value) {
  double here[2] = {x[0], x[1]}, f[2], slope[2];
  int power = 0;
  value[0] = value[1] = __builtin_nan("");
  for (int i = 0; i < 12; i++) {
    here[0] *= 0.5;
    here[1] *= 0.5;
    power = sd_hyper_sum(left, 1e-30, 1, a, a, b, here, f, slope);
    if (f[0] == f[0]) break;
  }
  if (f[0] != f[0]) return 0;
  sd_pair_div(slope, here, slope);
  for (int i = 0; i < 4000; i++) {
    double wave = __builtin_sqrt(1 + __builtin_fabs(a[0]) / here[0]) + __builtin_fabs(b - here[0]) / here[0], size = 0;
    double rest[2], back[2] = {-here[0], -here[1]}, h[2], u[2] = {f[0], f[1]}, v[2], sum[2], turn[2], n[2] = {b, 0};
    double shift[2];
    int last;
    sd_pair_add(x, back, rest);
    last = rest[0] <= 0.5 * here[0] && rest[0] * wave <= 8;
    h[0] = last ? rest[0] : __builtin_fmin(0.5 * here[0], 8 / wave);
    h[1] = last ? rest[1] : 0;
    sd_pair_mul(slope, h, v);
    sd_pair_add(u, v, sum);
    turn[0] = v[0]; /* h times the slope */
    turn[1] = v[1];
    sd_pair_add(n, back, shift); /* b - x */
    for (double k = 0; k < 500 && (*left -= 2) > 0; k++) {
      double one[2], other[2], below[2] = {(k + 1) * (k + 2), 0}, times[2] = {-(k + 1), 0};
      n[0] = k;
      sd_pair_add(a, n, one);
      sd_pair_mul(one, u, one);
      sd_pair_mul(one, h, one);
      sd_pair_add(shift, n, other);
      sd_pair_mul(other, v, other);
      sd_pair_mul(other, times, other);
      sd_pair_add(one, other, one);
      sd_pair_mul(one, h, one);
      sd_pair_div(one, here, one);
      sd_pair_div(one, below, one);
      u[0] = v[0];
      u[1] = v[1];
      v[0] = one[0];
      v[1] = one[1];
      sd_pair_add(sum, v, sum);
      n[0] = k + 2;
      sd_pair_mul(v, n, one);
      sd_pair_add(turn, one, turn);
      size = __builtin_fabs(u[0]) + __builtin_fabs(v[0]) * n[0];
      if (size < 1e-24 * (__builtin_fabs(sum[0]) + __builtin_fabs(turn[0]))) break;
    }
    if (!(size < 1e-20 * (__builtin_fabs(sum[0]) + __builtin_fabs(turn[0])))) return 0;
    sd_pair_div(turn, h, slope);
    f[0] = sum[0];
    f[1] = sum[1];
    if (last) {
      value[0] = f[0];
      value[1] = f[1];
      return power;
    }
    sd_pair_add(here, h, here);
    if (__builtin_fabs(f[0]) + __builtin_fabs(slope[0]) > 1e150) {
      power += 400;
      for (int j = 0; j < 2; j++) {
        f[j] = __builtin_ldexp(f[j], -400);
        slope[j] = __builtin_ldexp(slope[j], -400);
      }
    }
  }
  return 0;
}

/* Kummer's function 1F1 of a, b at x, DLMF 13.2.2: exact at whole negative a, or b - a, by exp(x) and -x below 0, DLMF
   13.2.39, in steps where terms cancel, and far out DLMF 13.7.1. */
static __attribute__((unused)) double sd_hyp1f1(double a, double b, double x) {
  double first[2] = {a, 0}, none[2] = {0, 0}, pair[2] = {x, 0}, sum[2], turn[2], gap[2], other[2], far = 0, term = 1;
  int power, turned = 0, left = sd_hyper_terms();
  if (a != a || b != b || x != x) return __builtin_nan("");
  if (sd_is_pole(b) && !(sd_is_pole(a) && a >= b)) return __builtin_inf();
  if (x == 0 || a == 0) return 1;
  if (!(__builtin_fabs(a) < 1e300 && __builtin_fabs(b) < 1e300)) return __builtin_nan("");
  sd_pair_of_sum(b, -a, gap);
  if (!sd_is_pole(a)) turned = x < -1 || (x > 1 && gap[1] == 0 && sd_is_pole(gap[0]));
  other[0] = turned ? a : gap[0];
  other[1] = turned ? 0 : gap[1];
  if (turned) {
    first[0] = gap[0];
    first[1] = gap[1];
    pair[0] = -x;
  }
  if (sd_hyper_short(1, first, none, b, pair, sum)) return turned ? sd_times_exp(sum[0], 0, x) : sum[0];
  if (pair[0] > 50 && !sd_is_pole(first[0])) {
    double up = 1 - first[0], down = other[0];
    for (int k = 0; k < 200; k++) {
      double next = term * ((up + k) * (down + k) / ((k + 1) * pair[0]));
      far += term;
      if (__builtin_fabs(next) < 1e-18 * __builtin_fabs(far)) {
        double ratio = __builtin_tgamma(b) / __builtin_tgamma(first[0]);
        if (!(__builtin_fabs(b) < 170 && __builtin_fabs(first[0]) < 170)) break;
        return sd_times_exp(far * ratio * __builtin_pow(pair[0], -other[0]), 0, turned ? 0 : x);
      }
      if (!(__builtin_fabs(next) < __builtin_fabs(term))) break;
      term = next;
    }
  }
  if (!(__builtin_fabs(pair[0]) < 1e5)) return __builtin_nan("");
  power = sd_hyper_sum(&left, 1e-19, 1, first, none, b, pair, sum, turn);
  if (sum[0] != sum[0] && pair[0] > 0) power = sd_kummer_steps(&left, first, b, pair, sum);
  return turned ? sd_times_exp(sum[0], power, x) : __builtin_ldexp(sum[0], power);
}

/* Gauss's function at z = 1 - w for w from 0 to 1, of the parameters a, b, which are pairs, and c: from where its series
   near 0 has its digits in steps of half of the distance to 0 or 1, each by the series of the differential equation,
   DLMF 15.10.1. Below 1e-18 of it, by the exponents 0 and c - a - b of the equation at 1. Growth is what a slope at the
   start that is wrong by its own size changes, relative to the value. To be taken times 2 to the power of the result. */
static __attribute__((unused)) int sd_hyper_steps(int *left, const double *a, const double *b, double c,
                                                  const double *w, double *value, double *growth) {
  double one[2] = {1, 0}, f[2], slope[2], here[2] = {0.5, 0}, both[2], excess[2], z[2] = {0.5, 0}, h[2];
  double g = 0, g_slope; /* the change, in doubles */
  int power = 0;
  value[0] = value[1] = f[0] = *growth = __builtin_nan("");
  for (int i = 0; i < 8 && f[0] != f[0]; i++) { /* a start between 0 and z */
    z[0] = __builtin_ldexp(w[0] < 0.5 ? 1 : 1 - w[0], -1 - i);
    power = sd_hyper_sum(left, 1e-30, 2, a, b, c, z, f, slope);
  }
  if (f[0] != f[0]) return 0;
  sd_pair_div(slope, z, slope);
  g_slope = slope[0];
  h[0] = -z[0];
  h[1] = 0;
  sd_pair_add(one, h, here);
  sd_pair_add(a, b, both);
  sd_pair_add(both, one, both); /* a + b + 1 */
  while (here[0] > w[0]) {
    double last, next[2], square[2], den[2], lead[2], linear[2], slant[2], reach;
    double u[2], v[2], up[2], down[2], n[2] = {0, 0}, sum[2], turn[2], done = 0, gu = g, gv, g_sum, g_turn;
    down[0] = -here[0];
    down[1] = -here[1];
    sd_pair_add(one, down, z);
    reach = z[0] * here[0]; /* so far that terms grow to about exp(20) */
    reach = 20 / (__builtin_sqrt(1 + __builtin_fabs(a[0] * b[0]) / reach) + __builtin_fabs(both[0] * z[0] - c) / reach);
    reach = __builtin_fmin(reach, 0.5 * __builtin_fmin(z[0], here[0]));
    if (here[0] < 1e-18) break;
    last = here[0] - w[0] <= reach;
    next[0] = last ? w[0] : here[0] - reach;
    next[1] = last ? w[1] : 0;
    down[0] = -next[0];
    down[1] = -next[1];
    sd_pair_add(here, down, h);
    down[0] = -here[0];
    down[1] = -here[1];
    sd_pair_mul(h, h, square);
    sd_pair_mul(z, here, den);
    sd_pair_add(z, down, lead); /* 2 z - 1 */
    sd_pair_mul(both, z, linear);
    n[0] = -c;
    sd_pair_add(linear, n, linear); /* (a + b + 1) z - c */
    u[0] = f[0];
    u[1] = f[1];
    sd_pair_mul(slope, h, v);
    sd_pair_add(u, v, sum);
    turn[0] = v[0]; /* h times the slope */
    turn[1] = v[1];
    g_turn = gv = g_slope * h[0];
    g_sum = gu + gv;
    for (double k = 0; k < 400 && (*left -= 2) > 0; k++) {
      double g_up = (k + a[0]) * (k + b[0]) * square[0] * gu + (lead[0] * k + linear[0]) * h[0] * gv * (k + 1);
      g_up /= den[0] * (k + 1);
      gu = gv;
      gv = g_up / (k + 2);
      g_turn += g_up;
      g_sum += gv;
      n[0] = k;
      sd_pair_add(a, n, up);
      sd_pair_add(b, n, down);
      sd_pair_mul(up, down, up);
      sd_pair_mul(up, u, up);
      sd_pair_mul(up, square, up); /* (k + a) (k + b) h^2 u */
      sd_pair_mul(lead, n, slant);
      sd_pair_add(slant, linear, slant);
      sd_pair_mul(slant, h, slant);
      sd_pair_mul(slant, v, slant);
      n[0] = k + 1;
      sd_pair_mul(slant, n, slant);
      sd_pair_add(up, slant, up);
      sd_pair_mul(den, n, down);
      sd_pair_div(up, down, up); /* (k + 2) times the next coefficient */
      u[0] = v[0];
      u[1] = v[1];
      sd_pair_add(turn, up, turn);
      n[0] = k + 2;
      sd_pair_div(up, n, v);
      sd_pair_add(sum, v, sum);
      if ((__builtin_fabs(v[0]) + __builtin_fabs(u[0])) * (k + 2) <
              1e-26 * (__builtin_fabs(sum[0]) + __builtin_fabs(turn[0])) &&
          k > 2) {
        done = 1;
        break;
      }
    }
    if (!done) return 0;
    f[0] = sum[0];
    f[1] = sum[1];
    sd_pair_div(turn, h, slope);
    g = g_sum;
    g_slope = g_turn / h[0];
    here[0] = next[0];
    here[1] = next[1];
    if (__builtin_fabs(f[0]) + __builtin_fabs(slope[0]) > 1e200) {
      power += 600;
      for (int j = 0; j < 2; j++) {
        f[j] = __builtin_ldexp(f[j], -600);
        slope[j] = __builtin_ldexp(slope[j], -600);
      }
      g = __builtin_ldexp(g, -600);
      g_slope = __builtin_ldexp(g_slope, -600);
    }
  }
  value[0] = f[0];
  value[1] = f[1];
  if (here[0] > w[0]) { /* a constant and a multiple of w^s */
    double log_ratio = w[0] == 0 ? -__builtin_inf() : __builtin_log(w[0] / here[0]), s;
    sd_pair_of_sum(c, 1, excess);
    both[0] = -both[0];
    both[1] = -both[1];
    sd_pair_add(excess, both, excess);
    s = excess[0];
    log_ratio = here[0] * (s == 0 ? log_ratio : __builtin_expm1(s * log_ratio) / s);
    value[0] -= slope[0] * log_ratio;
    g -= g_slope * log_ratio;
  }
  *growth = __builtin_fabs(g / value[0]);
  return power;
}

/* a - b of pairs */
static __attribute__((unused)) void sd_pair_less(const double *a, const double *b, double *r) {
  double minus[2] = {-b[0], -b[1]};
  sd_pair_add(a, minus, r);
}

/* Gauss's function 2F1 of a, b, c at x up to 1, and of whole negative a or b anywhere. Of the forms by Euler's and
   Pfaff's transformations, DLMF 15.8.1, those whose terms cancel least come first: each by its series, DLMF 15.2.1, in doubles, then in pairs, and
   then each in steps, where the growth of an error of the start tells which digits are left. nan where none has ten. */
static __attribute__((unused)) double sd_hyp2f1(double a, double b, double c, double x) {
  const double one[2] = {1, 0};
  double first[2] = {a, 0}, second[2] = {b, 0}, third[2] = {c, 0}, at[2] = {x, 0}, w[2], sum[2], turn[2], less_a[2];
  double less_b[2], small[2], other[2];
  double forms[4][11]; /* the pairs a, b, z, 1 - z, p, and how much cancels, of (1 - x)^p times the function at z */
  int power, ends, count = 0, left = sd_hyper_terms();
  if (a != a || b != b || c != c || x != x) return __builtin_nan("");
  if (a > b) return sd_hyp2f1(b, a, c, x);
  ends = sd_is_pole(a) || sd_is_pole(b);
  if (sd_is_pole(c) && !((sd_is_pole(a) && a >= c) || (sd_is_pole(b) && b >= c))) return __builtin_inf();
  if (x == 0 || a == 0 || b == 0) return 1;
  if (!(__builtin_fabs(a) < 1e5 && __builtin_fabs(b) < 1e5 && __builtin_fabs(c) < 1e5)) return __builtin_nan("");
  sd_pair_of_sum(1, -x, w);
  sd_pair_less(third, first, less_a);
  sd_pair_less(third, second, less_b);
  if (x >= 1) {
    if (ends) {
      power = sd_hyper_sum(&left, 1e-19, 2, first, second, c, at, sum, turn);
      if (sum[0] == sum[0] || x > 1) return __builtin_ldexp(sum[0], power);
    }
    if (x > 1) return __builtin_nan("");
    sd_pair_less(less_a, second, other);
    if (other[0] <= 0) return __builtin_inf();
    return __builtin_tgamma(c) / __builtin_tgamma(less_a[0]) * (__builtin_tgamma(other[0]) / __builtin_tgamma(less_b[0]));
  }
  if (x == -__builtin_inf()) return a > 0 ? 0 : __builtin_nan("");
  sd_pair_div(one, w, small); /* 1 / (1 - x) */
  sd_pair_mul(small, at, turn);
  turn[0] = -turn[0];
  turn[1] = -turn[1]; /* x / (x - 1) */
  if (a > 0 && c > 0 && x < 0.9 && (x > 0 || less_b[0] > 0)) { /* the usual case: all terms have one sign */
    if (x > 0 && sd_hyper_short(2, first, second, c, at, sum)) return sum[0];
    if (x < 0 && turn[0] < 0.9 && sd_hyper_short(2, first, less_b, c, turn, sum)) {
      double change = __builtin_pow(w[0], -a) * (1 - a * (w[1] / w[0]));
      if (change > 1e-250) return change * sum[0];
    }
  }
  for (int turned = 0; turned < 2; turned++) /* at x, and at x / (x - 1) */
    for (int swapped = 0; swapped < 2; swapped++) {
      double *to = forms[count];
      const double *left_one = swapped ? less_a : first, *right_one = turned == swapped ? second : less_b;
      if (sd_is_pole(c) && turned + swapped) continue;
      if (turned ? x > 0 : x < -0.9) continue;
      for (int j = 0; j < 2; j++) {
        to[0 + j] = left_one[j];
        to[2 + j] = right_one[j];
        to[4 + j] = turned ? turn[j] : at[j];
        to[6 + j] = turned ? small[j] : w[j];
        to[8 + j] = turned ? -(swapped ? second[j] : first[j]) : 0;
      }
      if (!turned && swapped) sd_pair_less(less_a, second, to + 8);
      to[10] = -__builtin_fmin(0, to[0]) - __builtin_fmin(0, to[2]);
      if (to[4] < 0) to[10] += __builtin_fabs(to[0]) + __builtin_fabs(to[2]);
      count++;
    }
  for (int way = 0; way < 3; way++) {
    int open = (1 << count) - 1;
    while (open) {
      double *best = 0, change, log_w;
      int which = 0, before;
      for (int i = 0; i < count; i++)
        if (open >> i & 1 && (!best || forms[i][10] < best[10])) best = forms[which = i];
      open &= ~(1 << which);
      if (way == 2) {
        if (best[4] < 0) continue;
        power = sd_hyper_steps(&left, best + 0, best + 2, c, best + 6, sum, &change);
        if (!(change < 1e10)) continue;
      } else if (way == 0) {
        if (best[4] > 0.9 || !sd_hyper_short(2, best + 0, best + 2, c, best + 4, sum)) continue;
        power = 0;
      } else {
        int some = left < 1000 ? left : 1000, rest = left - some;
        if (best[4] > 0.9 && !sd_is_pole(best[0]) && !sd_is_pole(best[2])) continue;
        power = sd_hyper_sum(&some, 1e-19, 2, best + 0, best + 2, c, best + 4, sum, other);
        left = some + rest;
        if (sum[0] != sum[0]) continue;
      }
      if (best[8] == 0) return power ? __builtin_ldexp(sum[0], power) : sum[0];
      log_w = x < 0.5 ? __builtin_log1p(-x) : __builtin_log(w[0]);
      change = __builtin_pow(w[0], best[8]) * (1 + best[8] * (w[1] / w[0]) + best[9] * log_w);
      if (!(change > 1e-250 && change < 1e250)) return sd_times_exp(sum[0], power, best[8] * log_w);
      if (power == 0 && __builtin_fabs(sum[0]) < 1e50) return change * sum[0];
      sum[0] = __builtin_frexp(sum[0], &before);
      return __builtin_ldexp(change * sum[0], power + before);
    }
  }
  return __builtin_nan("");
}
