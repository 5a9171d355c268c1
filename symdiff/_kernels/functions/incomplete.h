/* Incomplete gamma and beta functions: their derivatives by the parameters, and those of their logarithms, which have
   all digits far out, where the functions underflow. Needs special.h. No header is included; the compiler's builtins
   name the functions of libm.

   A tail is an integral of a density whose logarithm has the parameters in front of log t, and of log(1 - t). So its
   logarithm has as derivatives the cumulants of these logarithms over the tail, less those over the whole. Below the
   middle they are those of a series of positive terms, whose derivatives are sums of reciprocals; elsewhere, and where
   such a series is long, of an integral by the double exponential rule, all of whose values have one sign. The other
   tail is 1 less this one. */

/* log(1 + u) - u, without its cancellation; q is 1 + u, by its own digits */
static __attribute__((unused)) double sd_log1p_rest(double u, double q) {
  double s, square, sum = 0;
  if (u < -0.4 || u > 0.6) return __builtin_log(q) - u;
  s = u / (2 + u); /* log(1 + u) = 2 artanh(s), DLMF 4.6.4 */
  square = s * s;
  for (int k = 33; k >= 3; k -= 2) sum = sum * square + 1.0 / k;
  return s * (2 * square * sum - u);
}

/* log(x^a exp(-x) / gamma(a)), without the cancellation of large logarithms; for a < 1 that of gamma(1 + a) */
static __attribute__((unused)) double sd_gamma_front(double a, double x) {
  double power = 1 / a, square = power * power, sum = 0;
  if (a < 15) return a * __builtin_log(x) - x - sd_log_gamma(a < 1 ? 1 + a : a);
  for (int j = 0; j < 8; j++) { /* DLMF 5.11.1 */
    sum += sd_stirling(j) * power;
    power *= square;
  }
  return a * sd_log1p_rest((x - a) / a, x / a) + 0.5 * __builtin_log(a / (2 * SD_PI)) - sum;
}

/* log(x^a y^b / beta(a, b)) for y = 1 - x */
static __attribute__((unused)) double sd_beta_front(double a, double b, double x, double y) {
  double sum = 0, both = a + b, off = x * b - y * a;
  if (a < 15 || b < 15) { /* the logarithm of what is nearly 1 by what it is less */
    double log_x = y < 0.5 ? __builtin_log1p(-y) : __builtin_log(x);
    double log_y = x < 0.5 ? __builtin_log1p(-x) : __builtin_log(y);
    return a * log_x + b * log_y - sd_betaln(a, b);
  }
  for (int j = 7; j >= 0; j--) /* DLMF 5.11.1 */
    sum += sd_stirling(j) *
           (__builtin_pow(a, -2 * j - 1) + __builtin_pow(b, -2 * j - 1) - __builtin_pow(both, -2 * j - 1));
  return a * sd_log1p_rest(off / a, x * (both / a)) + b * sd_log1p_rest(-off / b, y * (both / b)) - sum +
         0.5 * __builtin_log(a / both * (b / (2 * SD_PI)));
}

/* A derivative of exp(f) over exp(f) by derivatives of f, those by p and then by q: m times by p and n times by q, of
   c[m + 4 n]. */
static __attribute__((unused)) double sd_of_logarithm(const double *c, int m, int n) {
  double p = c[1], q = c[4];
  if (m + n == 0) return 1;
  if (m + n == 1) return m ? p : q;
  if (m + n == 2) return c[m + 4 * n] + (m ? p : q) * (n ? q : p);
  if (n == 0) return c[3] + 3 * p * c[2] + p * p * p;
  if (m == 0) return c[12] + 3 * q * c[8] + q * q * q;
  if (m == 2) return c[6] + 2 * p * c[5] + q * c[2] + p * p * q;
  return c[9] + 2 * q * c[5] + p * c[8] + p * q * q;
}

/* The reverse: from derivatives of g over g, r[m + 4 n], that of the logarithm of g. */
static __attribute__((unused)) double sd_to_logarithm(const double *r, int m, int n) {
  double p = r[1], q = r[4];
  if (m + n < 2) return r[m + 4 * n];
  if (m + n == 2) return r[m + 4 * n] - (m ? p : q) * (n ? q : p);
  if (n == 0) return r[3] - 3 * p * r[2] + 2 * p * p * p;
  if (m == 0) return r[12] - 3 * q * r[8] + 2 * q * q * q;
  if (m == 2) return r[6] - 2 * p * r[5] - q * r[2] + 2 * p * p * q;
  return r[9] - 2 * q * r[5] - p * r[8] + 2 * p * q * q;
}

/* Sums of the weights w of up to 700 nodes, and joint cumulants of p and q over them: c[m + 4 n] for m + n <= 3 if
   most is above 1. */
static __attribute__((unused)) double sd_cumulants(int most, int count, const double *w, const double *p,
                                                   const double *q, double *c) {
  double sum = 0, first = 0, second = 0;
  for (int i = 0; i < count; i++) {
    sum += w[i];
    first += w[i] * p[i];
    second += w[i] * q[i];
  }
  for (int i = 0; i < 16; i++) c[i] = 0;
  c[1] = first /= sum;
  c[4] = second /= sum;
  for (int i = 0; i < count && most > 1; i++) {
    double here = w[i] / sum, u = p[i] - first, v = q[i] - second;
    c[2] += here * (u * u);
    c[5] += here * (u * v);
    c[8] += here * (v * v);
    c[3] += here * (u * u * u);
    c[6] += here * (u * u * v);
    c[9] += here * (u * v * v);
    c[12] += here * (v * v * v);
  }
  return sum;
}

/* log(1 - exp(x)) for x <= 0 */
static __attribute__((unused)) double sd_log_of_rest(double x) {
  return x > -0.69314718055994530942 ? __builtin_log(-__builtin_expm1(x)) : __builtin_log1p(-__builtin_exp(x));
}

/* The sum of positive terms, each the one before times x (d + k) / (e + k), from 1 on (without d times x / (e + k));
   c[m + 4 n] are derivatives of its logarithm for m + n <= most, by p in d = q + p, e = 1 + p and by q, which d alone
   has. */
static __attribute__((unused)) double sd_rising_sum(int most, int has_d, double x, double d, double e, double *c) {
  double sum = 1, term = 1, up1 = 0, up2 = 0, up3 = 0, down1 = 0, down2 = 0, down3 = 0, r[16] = {0}, f[16] = {0};
  for (int k = 0; k < 20000; k++) {
    double low = 1 / (e + k), high;
    term *= has_d ? x * ((d + k) * low) : x * low;
    sum += term;
    if (most == 0 && term < 1e-18 * sum && x * (has_d ? d + k : 1) < e + k) break;
    if (most == 0) continue;
    high = has_d ? 1 / (d + k) : 0;
    down1 += low;
    down2 += low * low;
    down3 += 2 * low * low * low;
    up1 += high;
    up2 += high * high;
    up3 += 2 * high * high * high;
    f[1] = up1 - down1;
    f[2] = down2 - up2;
    f[3] = up3 - down3;
    f[4] = up1;
    f[5] = f[8] = -up2;
    f[6] = f[9] = f[12] = up3;
    for (int n = 0; n <= (has_d ? most : 0); n++)
      for (int m = n ? 0 : 1; m + n <= most; m++) r[m + 4 * n] += term * sd_of_logarithm(f, m, n);
    if (term * (1 + down1 * down1 * down1 + up1 * up1 * up1) < 1e-18 * sum && x * (has_d ? d + k : 1) < e + k) break;
  }
  for (int i = 0; i < 16; i++) {
    r[i] /= sum;
    c[i] = 0;
  }
  for (int n = 0; n <= most; n++)
    for (int m = 0; m + n <= most; m++) c[m + 4 * n] = sd_to_logarithm(r, m, n);
  return sum;
}

/* The logarithm of a tail of the gamma distribution, the derivatives of it by a, c[1], c[2] and c[3], and those of the
   tail over the tail, r, up to order most; and the density over the tail. It is the lower tail if the result of this
   function is 0, else the upper one. */
static __attribute__((unused)) double sd_gamma_tail(int most, double a, double x, double *log_tail, double *slope,
                                                    double *c, double *r) {
  double w[700], p[700], zero[700], length, total, start, largest = 0, step = 0.0625;
  int count = 0, upper = x > 1 && x > a - 0.3, apart = a < 1;
  if (!upper && (a < 2000 || x < 0.8 * a)) { /* DLMF 8.7.1 */
    total = sd_rising_sum(most, 0, x, 0, 1 + a, c);
    *slope = a / (x * total);
    *log_tail = sd_gamma_front(a, x) - (apart ? 0 : __builtin_log(a)) + __builtin_log(total);
    if (most > 0) c[1] += __builtin_log(x) - sd_digamma(1 + a);
    for (int i = 1; i < most; i++) c[i + 1] -= sd_polygamma(i, 1 + a);
    for (int i = 1; i <= most; i++) r[i] = sd_of_logarithm(c, i, 0);
    if (apart && x <= 1) { /* near 1 for a small a, which is a factor of all that is added here; DLMF 8.7.1 */
      double power = 1, rest = 0;
      for (int k = 1; k < 20; k++) {
        power *= -x / k;
        rest += power / (a + k);
      }
      *log_tail = a * __builtin_log(x) - sd_lgamma_gap(1, a) + __builtin_log1p(a * rest);
    }
    return 0;
  }
  if (upper) /* t = x + r */
    length = 1 / ((1 - (a - 1) / x > 0 ? 1 - (a - 1) / x : 0) + 0.7 / __builtin_sqrt(x + a));
  else /* t = x exp(-r) */
    length = 1 / (a - x + 0.7 * __builtin_sqrt(a));
  for (int i = 0; i < 700; i++) {
    double y = -3.75 + i * step, inner = __builtin_exp(-y), unit = __builtin_exp(y - inner), t = length * unit, f;
    if (upper) {
      p[count] = __builtin_log1p(t / x);
      f = a > 15 && t < x ? (a - 1) * sd_log1p_rest(t / x, 1 + t / x) + t * ((a - 1 - x) / x) : (a - 1) * p[count] - t;
    } else {
      p[count] = -t;
      f = -a * t - x * __builtin_expm1(-t);
      if (t < 0.5) { /* by t + expm1(-t), which cancels */
        double g = 0;
        for (int k = 18; k >= 2; k--) g = 1 - g * t / (k + 1);
        f = (a - x) * __builtin_expm1(-t) - a * (0.5 * t * t * g);
      }
    }
    w[count] = __builtin_exp(f) * unit * (1 + inner);
    zero[count] = 0;
    if (w[count] < 1e-24 * largest) break;
    if (w[count] > largest) largest = w[count];
    count++;
  }
  total = sd_cumulants(most, count, w, p, zero, c) * step * length;
  *slope = upper ? 1 / total : 1 / (x * total);
  *log_tail = sd_gamma_front(a, x) + __builtin_log(upper ? total / x : total) + (apart ? __builtin_log(a) : 0);
  if (most == 0) return upper;
  start = __builtin_log(x) - sd_digamma(apart ? 1 + a : a);
  if (a > 15) { /* which cancels there; DLMF 5.11.2 */
    double y = 1 / (a * a), gap = (x - a) / a;
    start = gap < -0.5 ? __builtin_log(x / a) : __builtin_log1p(gap);
    start += 0.5 / a + y * (1 / 12. - y * (1 / 120. - y * (1 / 252. - y / 240)));
  }
  c[1] += start;
  for (int i = 1; i < most; i++) c[i + 1] -= sd_polygamma(i, apart ? 1 + a : a);
  for (int i = 0; i <= most; i++) r[i] = sd_of_logarithm(c, i, 0);
  if (apart) { /* a times the rest, whose derivatives near a = 0 are far smaller than those of their logarithms */
    for (int i = most; i > 0; i--) r[i] += i * r[i - 1] / a;
    c[1] += 1 / a;
    c[2] -= 1 / (a * a);
    c[3] += 2 / (a * a * a);
  }
  return upper;
}

/* The derivative of order n by a of the regularized incomplete gamma function, of its logarithm with in_logarithm; of
   the upper one with above. 0 <= n <= 3, and -1 for the first derivative of a logarithm by x. Relative error about
   1e-14, and that of the logarithm's rounding far out. */
static __attribute__((unused)) double sd_gamma_by(int n, int in_logarithm, int above, double a, double x) {
  double log_tail, slope, c[16], r[16], other;
  int upper;
  if (a != a || x != x || !(a > 0) || !(x >= 0) || a == __builtin_inf()) return __builtin_nan("");
  if (x == 0 || x == __builtin_inf()) {
    if (in_logarithm && (x == 0) == !above)
      return n == 0 ? -__builtin_inf() : n < 0 && x == 0 ? __builtin_inf() : __builtin_nan("");
    if (n < 0 && x == 0 && a <= 1) return a < 1 ? -__builtin_inf() : -1;
    return n || in_logarithm ? 0 : (x == 0) == above;
  }
  upper = sd_gamma_tail(n > 0 ? n : 0, a, x, &log_tail, &slope, c, r);
  if (n < 0) {
    if (upper != above) slope *= __builtin_exp(log_tail) / -__builtin_expm1(log_tail);
    return above ? -slope : slope;
  }
  if (n == 0 && upper == above) return in_logarithm ? log_tail : __builtin_exp(log_tail);
  if (n == 0) return in_logarithm ? sd_log_of_rest(log_tail) : -__builtin_expm1(log_tail);
  if (in_logarithm && upper == above) return c[n];
  other = __builtin_exp(log_tail);
  if (!in_logarithm) return (upper == above ? other : -other) * r[n];
  for (int i = 1; i <= n; i++) r[i] *= other / __builtin_expm1(log_tail);
  r[4] = 0;
  return sd_to_logarithm(r, n, 0);
}

/* polygamma(n, whole) - polygamma(n, start) for whole = start + by, which keeps its digits where start is far above */
static __attribute__((unused)) double sd_polygamma_less(int n, double whole, double start, double by) {
  return by < -0.5 * start ? sd_polygamma(n, whole) - sd_polygamma(n, start) : sd_polygamma_gap(n, start, by);
}

/* The lower tail of the beta distribution over x^a (1 - x)^b / beta(a, b) for x below a / (a + b), by the continued
   fraction DLMF 8.17.22, from its start; 0 where that is long. */
static __attribute__((unused)) double sd_beta_fraction(double a, double b, double x) {
  double above = 1, under = 1, above_before = 0, under_before = 1, value = 1, next;
  for (int m = 0; m < 60; m++) {
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2));
    above_before = above + odd * above_before;
    under_before = under + odd * under_before;
    above = above_before + even * above;
    under = under_before + even * under;
    if (m % 4 != 3) continue;
    next = above / under;
    if (__builtin_fabs(next - value) < 1e-16 * next) return next / a;
    value = next;
    if (!(__builtin_fabs(under) > 1e-200 && __builtin_fabs(under) < 1e200)) return 0;
  }
  return 0;
}

/* The logarithm of the lower tail of the beta distribution below x = 1 - y, the derivatives of it by a and b,
   c[m + 4 n] for m + n <= most, and those of the tail over the tail, r; and the density over the tail. */
static __attribute__((unused)) void sd_beta_tail(int most, double a, double b, double x, double y, double *log_tail,
                                                 double *slope, double *c, double *r) {
  double w[700], p[700], q[700], length, total, largest = 0, step = 0.0625, ratio = x / y;
  double tilt = ((b - 1) * x - a * y) / y;
  double log_x = y < 0.5 ? __builtin_log1p(-y) : __builtin_log(x);
  double log_y = x < 0.5 ? __builtin_log1p(-x) : __builtin_log(y);
  double start_a, start_b, by_a, by_b, both = a + b, f[16] = {0}, of_b[3];
  int count = 0, apart = b < 1, near = 0;
  total = most == 0 ? sd_beta_fraction(a, b, x) : 0;
  if (total > 0) {
    start_a = a;
    by_a = b;
  } else if (a <= 1 || (x < 0.9 && (x * both < 0.8 * a || a * both < 3000 * b))) { /* DLMF 8.17.8 */
    total = sd_rising_sum(most, 1, x, both, 1 + a, c) / a;
    start_a = 1 + a;
    by_a = b - 1;
  } else { /* t = x exp(-r) */
    length = 1 / ((tilt < 0 ? -tilt : 0) + 0.7 * __builtin_sqrt(a + b * x) / __builtin_sqrt(y));
    for (int i = 0; i < 700; i++) {
      double s = -3.75 + i * step, inner = __builtin_exp(-s), unit = __builtin_exp(s - inner), t = length * unit, f;
      double v = -ratio * __builtin_expm1(-t);
      p[count] = -t;
      q[count] = __builtin_log1p(v);
      f = -a * t + (b - 1) * q[count];
      if (t < 0.5 && v < 0.5) { /* by t + expm1(-t), which cancels */
        double g = 0;
        for (int k = 18; k >= 2; k--) g = 1 - g * t / (k + 1);
        f = tilt * t + (b - 1) * (sd_log1p_rest(v, 1 + v) - ratio * (0.5 * t * t * g));
      }
      w[count] = __builtin_exp(f) * unit * (1 + inner);
      if (w[count] < 1e-24 * largest) break;
      if (w[count] > largest) largest = w[count];
      count++;
    }
    total = sd_cumulants(most, count, w, p, q, c) * step * length / y;
    start_a = a;
    by_a = b;
  }
  *log_tail = sd_beta_front(a, b, x, y) + __builtin_log(total);
  if (a < 1 && x < 0.96 && *log_tail > -0.5) { /* a is a factor of all that is added here; DLMF 8.17.7 */
    double p[4] = {1, 0, 0, 0}, rest[4] = {0, 0, 0, 0}, size = 1; /* with three derivatives by b */
    for (int k = 1; k < 2000 && size > 1e-18; k++) {
      size = 0;
      for (int i = 3; i >= 0; i--) {
        p[i] = (p[i] * (k - b) - (i ? i * p[i - 1] : 0)) / k * x;
        rest[i] += p[i] / (a + k);
        size += __builtin_fabs(p[i]);
      }
    }
    *log_tail = a * log_x - sd_lgamma_gap(1, a) + sd_lgamma_gap(b, a) + __builtin_log1p(a * rest[0]);
    for (int i = 1; i <= most; i++) f[4 * i] = a * rest[i] / (1 + a * rest[0]);
    for (int i = 1; i <= most; i++) of_b[i - 1] = sd_to_logarithm(f, 0, i) + sd_polygamma_gap(i - 1, b, a);
    near = 1;
  }
  *slope = 1 / (x * y * total);
  if (most == 0) return;
  start_b = apart ? 1 + b : b;
  by_b = apart ? a - 1 : a;
  for (int k = 0; k < most && !near; k++) of_b[k] = c[4 * k + 4] + (k ? 0 : log_y) + sd_polygamma_less(k, both, b, a);
  c[1] += log_x + sd_polygamma_less(0, both, start_a, by_a);
  c[4] += log_y + sd_polygamma_less(0, both, start_b, by_b);
  for (int k = 2; k <= most; k++) { /* the derivatives of order k */
    double joint = sd_polygamma(k - 1, both);
    c[k] += sd_polygamma_less(k - 1, both, start_a, by_a);
    c[4 * k] += sd_polygamma_less(k - 1, both, start_b, by_b);
    for (int n = 1; n < k; n++) c[k + 3 * n] += joint;
  }
  for (int k = 0; k < most && near && !apart; k++) c[4 * k + 4] = of_b[k];
  for (int n = 0; n <= most; n++)
    for (int m = 0; m + n <= most; m++) f[m + 4 * n] = sd_of_logarithm(c, m, n);
  for (int n = 0; n <= most; n++)
    for (int m = 0; m + n <= most; m++) r[m + 4 * n] = f[m + 4 * n] + (apart && n ? n * f[m + 4 * n - 4] / b : 0);
  if (apart) { /* b times the rest, whose derivatives near b = 0 are far smaller than those of their logarithms */
    for (int k = 0; k < most; k++) c[4 * k + 4] = of_b[k];
    for (int n = 1; n <= most && a < b; n++) /* near 1, where the rest is nearly 1 / b */
      for (int m = 0; m + n <= most; m++) r[m + 4 * n] = sd_of_logarithm(c, m, n);
  }
}

/* The derivative by a and b, m and n times, of the regularized incomplete beta function at x = 1 - y, of its logarithm
   with in_logarithm, for m + n <= 3; m = -1 for the first derivative of the logarithm by x. Relative error
   about 1e-14, and that of the logarithm's rounding far out. */
static __attribute__((unused)) double sd_beta_of(int m, int n, int in_logarithm, double a, double b, double x,
                                                 double y) {
  double log_tail, slope, c[16], r[16], other;
  int upper = x * (a + b) > a, i = m + 4 * n, most = m < 0 ? 0 : m + n;
  if (a != a || b != b || x != x || !(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || a + b == __builtin_inf())
    return __builtin_nan("");
  if (x == 0 || y == 0) {
    if (in_logarithm && x == 0) return i == 0 ? -__builtin_inf() : i < 0 ? __builtin_inf() : __builtin_nan("");
    if (i < 0) return b < 1 ? __builtin_inf() : b > 1 ? 0 : a;
    return i || in_logarithm ? 0 : x;
  }
  if (!upper && a <= 1 && x > 0.95) upper = 1;
  if (upper && b <= 1 && y > 0.95) upper = 0;
  if (!upper) {
    sd_beta_tail(most, a, b, x, y, &log_tail, &slope, c, r);
    if (i < 0) return slope;
    if (in_logarithm) return i ? c[i] : log_tail;
    return __builtin_exp(log_tail) * (i ? r[i] : 1);
  }
  sd_beta_tail(most, b, a, y, x, &log_tail, &slope, r, c); /* with a and b exchanged */
  if (i < 0) return slope * (__builtin_exp(log_tail) / -__builtin_expm1(log_tail));
  if (i == 0) return in_logarithm ? sd_log_of_rest(log_tail) : -__builtin_expm1(log_tail);
  other = __builtin_exp(log_tail);
  if (!in_logarithm) return -other * c[n + 4 * m];
  for (int k = 0; k <= most; k++)
    for (int j = 0; j + k <= most; j++) r[j + 4 * k] = c[k + 4 * j] * (other / __builtin_expm1(log_tail));
  return sd_to_logarithm(r, m, n);
}
