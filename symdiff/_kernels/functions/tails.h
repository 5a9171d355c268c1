/* Incomplete gamma and beta functions and Student's distribution, their logarithms and their derivatives, by name.
   Needs special.h, error.h and incomplete.h. No header is included; the compiler's builtins name the functions of libm. */

/* that of sd_beta_of at y = 1 - x */
static __attribute__((unused)) double sd_beta_by(int m, int n, int in_logarithm, double a, double b, double x) {
  return sd_beta_of(m, n, in_logarithm, a, b, x, 1 - x);
}

/* The same for t <= 0 where it is the normal distribution but for a term of the order of 1 / df, Abramowitz and Stegun
   26.7.8: there the incomplete beta function has an argument whose complement vanishes. */
static __attribute__((unused)) double sd_log_normal(int by, double df, double t) {
  double whole = sd_erfcx(-0.70710678118654752440 * t), slope = 0.79788456080286535588 / whole;
  if (by == 0) return __builtin_log(0.5 * whole) - 0.5 * t * t;
  return by == 2 ? slope : slope * (t * (1 + t * t) / (4 * df) / df);
}

/* stdtr(df, t) for t < 0; 0 where that is below 1e-290, or far out. With many degrees of freedom by the error function
   and a series in 1 / df^2, DiDonato and Morris, "Algorithm 708" (1992), (9) to (11). */
static __attribute__((unused)) double sd_student_tail(double df, double t) {
  static const double p[] = {0x1.0000000000000p+0, -0x1.5555555555555p-4, 0x1.9999999999999p-8, -0x1.0865dbb310866p-11,
                             0x1.6c60baaaf4a3dp-15, -0x1.057b65ad0bb01p-18, 0x1.80c1f9a72d1a5p-22,
                             -0x1.1fbdb794f72fep-25, 0x1.b3598129ce0ffp-29, -0x1.4c2aa0b41fbaap-32,
                             0x1.fe3f1d56cc09fp-36, -0x1.89fae5b0640d1p-39, 0x1.31875404941d5p-42};
  double square = t * t, whole = df + square, x = df / whole, y = square / whole, a = 0.5 * df, front, value, c[16];
  double log_x = -__builtin_log1p(square / df);
  if (!(df > 0.01 && df < 1e15 && square < 1e30 && square > 1e-30 && -a * log_x < 660)) return 0;
  if (df >= 16 && x > 0.3) {
    double T = a - 0.25, u = -T * log_x, root = __builtin_sqrt(u), lead = root * 0.56418958354775628695, turn = 1;
    double here = sd_erfcx(root), less = 1 / (4 * T * T), sum = here;
    for (int n = 0; n < 12; n++) {
      double step = 2 * n + 1.5;
      here = less * ((step - 1) * step * here + lead * (u + step) * turn);
      turn *= 0.25 * log_x * log_x;
      sum += p[n + 1] * here;
      if (here < 1e-16 * sum) break;
    }
    return 0.5 * __builtin_exp(sd_lgamma_gap(a, 0.5) - u) / __builtin_sqrt(T) * sum;
  }
  front = __builtin_exp(a * log_x) * __builtin_sqrt(y) / sd_beta(a, 0.5);
  if (x * (a + 0.5) > a) return 0.5 - front * sd_rising_sum(0, 1, y, a + 0.5, 1.5, c); /* DLMF 8.17.8 */
  value = sd_beta_fraction(a, 0.5, x);
  if (value == 0) value = sd_rising_sum(0, 1, x, a + 0.5, 1 + a, c) / a;
  return 0.5 * front * value;
}

/* log(stdtr(df, t)) for by = 0, its derivative wrt df for 1 and wrt t for 2; half of the incomplete beta function of
   df / (df + t^2), DLMF 8.17.4, whose both arguments have all digits. */
static __attribute__((unused)) double sd_log_student(int by, double df, double t) {
  double far = t * t > 1e300, whole = df + t * t, x = far ? df / t / t : df / whole, y = far ? 1 : t * (t / whole);
  double a = 0.5 * df, log_tail, slope, tail;
  if (t != t || !(df > 0)) return __builtin_nan("");
  if (t == 0 && by == 2) return 2 * __builtin_exp(-sd_betaln(a, 0.5)) / __builtin_sqrt(df);
  if (t == 0) return by == 0 ? -0.69314718055994530942 : 0;
  if (t > 0) { /* 1 less the other tail */
    log_tail = sd_log_student(0, df, -t);
    if (by == 0) return __builtin_log1p(-__builtin_exp(log_tail));
    slope = sd_log_student(by, df, -t);
    return (by == 1 ? -slope : slope) * (__builtin_exp(log_tail) / -__builtin_expm1(log_tail));
  }
  tail = by == 0 ? sd_student_tail(df, t) : 0;
  if (tail > 0) return __builtin_log(tail);
  if (df > 1e100 || (df > (by == 1 ? 1e13 : 4e15) && t > -0.01)) return sd_log_normal(by, df, t);
  if (x == 0) return by == 0 ? -__builtin_inf() : by == 1 ? __builtin_nan("") : 0;
  if (by == 0) return sd_beta_of(0, 0, 1, a, 0.5, x, y) - 0.69314718055994530942;
  slope = sd_beta_of(-1, 0, 1, a, 0.5, x, y) * x;
  return by == 1 ? 0.5 * sd_beta_of(1, 0, 1, a, 0.5, x, y) + slope * (y / df) : 2 * slope * (y / -t);
}

/* d^1 gammainc(a, x) / d a^1 */
static __attribute__((unused)) double sd_gammainc_by_a(double a, double x) { return sd_gamma_by(1, 0, 0, a, x); }

/* d^2 gammainc(a, x) / d a^2 */
static __attribute__((unused)) double sd_gammainc_by_aa(double a, double x) { return sd_gamma_by(2, 0, 0, a, x); }

/* d^3 gammainc(a, x) / d a^3 */
static __attribute__((unused)) double sd_gammainc_by_aaa(double a, double x) { return sd_gamma_by(3, 0, 0, a, x); }

/* log(gammainc(a, x)) */
static __attribute__((unused)) double sd_log_gammainc(double a, double x) { return sd_gamma_by(0, 1, 0, a, x); }

/* its derivative wrt x */
static __attribute__((unused)) double sd_log_gammainc_by_x(double a, double x) { return sd_gamma_by(-1, 1, 0, a, x); }

/* its derivative wrt a */
static __attribute__((unused)) double sd_log_gammainc_by_a(double a, double x) { return sd_gamma_by(1, 1, 0, a, x); }

/* its derivative wrt a, then a */
static __attribute__((unused)) double sd_log_gammainc_by_aa(double a, double x) { return sd_gamma_by(2, 1, 0, a, x); }

/* its derivative wrt a, then a, then a */
static __attribute__((unused)) double sd_log_gammainc_by_aaa(double a, double x) { return sd_gamma_by(3, 1, 0, a, x); }

/* log(gammaincc(a, x)) */
static __attribute__((unused)) double sd_log_gammaincc(double a, double x) { return sd_gamma_by(0, 1, 1, a, x); }

/* its derivative wrt x */
static __attribute__((unused)) double sd_log_gammaincc_by_x(double a, double x) { return sd_gamma_by(-1, 1, 1, a, x); }

/* its derivative wrt a */
static __attribute__((unused)) double sd_log_gammaincc_by_a(double a, double x) { return sd_gamma_by(1, 1, 1, a, x); }

/* its derivative wrt a, then a */
static __attribute__((unused)) double sd_log_gammaincc_by_aa(double a, double x) { return sd_gamma_by(2, 1, 1, a, x); }

/* its derivative wrt a, then a, then a */
static __attribute__((unused)) double sd_log_gammaincc_by_aaa(double a, double x) { return sd_gamma_by(3, 1, 1, a, x); }

/* the derivative of betainc(a, b, x) by a */
static __attribute__((unused)) double sd_betainc_by_a(double a, double b, double x) {
  return sd_beta_by(1, 0, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by b */
static __attribute__((unused)) double sd_betainc_by_b(double a, double b, double x) {
  return sd_beta_by(0, 1, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by a, then a */
static __attribute__((unused)) double sd_betainc_by_aa(double a, double b, double x) {
  return sd_beta_by(2, 0, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by a, then b */
static __attribute__((unused)) double sd_betainc_by_ab(double a, double b, double x) {
  return sd_beta_by(1, 1, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by b, then b */
static __attribute__((unused)) double sd_betainc_by_bb(double a, double b, double x) {
  return sd_beta_by(0, 2, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by a, then a, then a */
static __attribute__((unused)) double sd_betainc_by_aaa(double a, double b, double x) {
  return sd_beta_by(3, 0, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by a, then a, then b */
static __attribute__((unused)) double sd_betainc_by_aab(double a, double b, double x) {
  return sd_beta_by(2, 1, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by a, then b, then b */
static __attribute__((unused)) double sd_betainc_by_abb(double a, double b, double x) {
  return sd_beta_by(1, 2, 0, a, b, x);
}

/* the derivative of betainc(a, b, x) by b, then b, then b */
static __attribute__((unused)) double sd_betainc_by_bbb(double a, double b, double x) {
  return sd_beta_by(0, 3, 0, a, b, x);
}

/* log(betainc(a, b, x)) */
static __attribute__((unused)) double sd_log_betainc(double a, double b, double x) {
  return sd_beta_by(0, 0, 1, a, b, x);
}

/* its derivative wrt x */
static __attribute__((unused)) double sd_log_betainc_by_x(double a, double b, double x) {
  return sd_beta_by(-1, 0, 1, a, b, x);
}

/* its derivative wrt a */
static __attribute__((unused)) double sd_log_betainc_by_a(double a, double b, double x) {
  return sd_beta_by(1, 0, 1, a, b, x);
}

/* its derivative wrt b */
static __attribute__((unused)) double sd_log_betainc_by_b(double a, double b, double x) {
  return sd_beta_by(0, 1, 1, a, b, x);
}

/* its derivative wrt a, then a */
static __attribute__((unused)) double sd_log_betainc_by_aa(double a, double b, double x) {
  return sd_beta_by(2, 0, 1, a, b, x);
}

/* its derivative wrt a, then b */
static __attribute__((unused)) double sd_log_betainc_by_ab(double a, double b, double x) {
  return sd_beta_by(1, 1, 1, a, b, x);
}

/* its derivative wrt b, then b */
static __attribute__((unused)) double sd_log_betainc_by_bb(double a, double b, double x) {
  return sd_beta_by(0, 2, 1, a, b, x);
}

/* its derivative wrt a, then a, then a */
static __attribute__((unused)) double sd_log_betainc_by_aaa(double a, double b, double x) {
  return sd_beta_by(3, 0, 1, a, b, x);
}

/* its derivative wrt a, then a, then b */
static __attribute__((unused)) double sd_log_betainc_by_aab(double a, double b, double x) {
  return sd_beta_by(2, 1, 1, a, b, x);
}

/* its derivative wrt a, then b, then b */
static __attribute__((unused)) double sd_log_betainc_by_abb(double a, double b, double x) {
  return sd_beta_by(1, 2, 1, a, b, x);
}

/* its derivative wrt b, then b, then b */
static __attribute__((unused)) double sd_log_betainc_by_bbb(double a, double b, double x) {
  return sd_beta_by(0, 3, 1, a, b, x);
}

/* Student's distribution of df degrees of freedom up to t */
static __attribute__((unused)) double sd_stdtr(double df, double t) {
  double tail = sd_student_tail(df, -__builtin_fabs(t));
  if (!(tail > 0)) tail = __builtin_exp(sd_log_student(0, df, -__builtin_fabs(t)));
  return t < 0 ? tail : 1 - tail;
}

/* its derivative wrt df */
static __attribute__((unused)) double sd_stdtr_by_df(double df, double t) {
  double below = -__builtin_fabs(t), slope;
  if (t == 0 || __builtin_isinf(t)) return 0;
  slope = __builtin_exp(sd_log_student(0, df, below)) * sd_log_student(1, df, below);
  return t < 0 ? slope : -slope;
}

/* log(stdtr(df, t)) */
static __attribute__((unused)) double sd_log_stdtr(double df, double t) { return sd_log_student(0, df, t); }

/* its derivative wrt df */
static __attribute__((unused)) double sd_log_stdtr_by_df(double df, double t) { return sd_log_student(1, df, t); }

/* its derivative wrt t */
static __attribute__((unused)) double sd_log_stdtr_by_x(double df, double t) { return sd_log_student(2, df, t); }

/* x^(a - 1) (1 - x)^(b - 1) / beta(a, b), without the cancellation of large logarithms */
static __attribute__((unused)) double sd_beta_density(double a, double b, double x) {
  double y = 1 - x, at = x == 0 ? a : b, other = x == 0 ? b : a;
  if (a != a || b != b || !(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return __builtin_nan("");
  if (x == 0 || y == 0) return at > 1 ? 0 : at < 1 ? __builtin_inf() : other;
  return __builtin_exp(sd_beta_front(a, b, x, y)) / x / y;
}
