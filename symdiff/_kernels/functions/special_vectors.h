/* Special functions of whole vectors. */

/* Lanes that are not as the others: the same text in the interpreter and in generated code, as vector.h has it. */

/* f(x) in the lanes of m, whose numbers are few, and r in the others. */
SLOW V NAME(do_rare)(double (*f)(double), M m, V x, V r) {
  V x_[1] = {x}, r_[1] = {r};
  M m_[1] = {m};
  APART(x_) APART(r_) APART(m_)
  for (int l = 0; l < W; l++)
    if ((*m_)[l]) ((T *)r_)[l] = f(((T *)x_)[l]);
  return *r_;
}

/* The gamma function, its logarithm and the derivative of that, of whole vectors of float64 above 0,
      where a product and
   a sum are one instruction: the same text in the interpreter and in generated code,
      as vector.h has it. Other lanes, and
   what is not a number, have the function of numbers. Polynomials interpolate at Chebyshev's points, at 45 digits;
      what
   they leave out is below 2^-58 of the value. */

/* log(gamma(2 + s)) / s for -3/4 <= s <= 1/2 */
INLINE V NAME(do_lgamma_near_2)(V s) {
  V a0 = NAME(do_fma)(B(0x1.4a34cc4a60fa6p-2), s, B(0x1.b0ee6072093cep-2));
  V a1 = NAME(do_fma)(B(0x1.51322ac7d8458p-6), s, B(-0x1.13e001a557607p-4));
  V a2 = NAME(do_fma)(B(0x1.7add6eadbd2a5p-9), s, B(-0x1.e404fc218f529p-8));
  V a3 = NAME(do_fma)(B(0x1.0b36af82b8b9cp-11), s, B(-0x1.38ac5c2bfe506p-10));
  V a4 = NAME(do_fma)(B(0x1.a127b30fe8ad2p-14), s, B(-0x1.d3fd4c784b3a0p-13));
  V a5 = NAME(do_fma)(B(0x1.580d6c3f44442p-16), s, B(-0x1.78de598ab297dp-15));
  V a6 = NAME(do_fma)(B(0x1.25a2c3d9b6330p-18), s, B(-0x1.3cbd4eb2636b9p-17));
  V a7 = NAME(do_fma)(B(0x1.ff41e9499b0ebp-21), s, B(-0x1.119594af70305p-19));
  V a8 = NAME(do_fma)(B(0x1.d64a2b8de6ed4p-23), s, B(-0x1.e7c495562aea8p-22));
  V a9 = NAME(do_fma)(B(0x1.685408235bb58p-25), s, B(-0x1.65443daa6d837p-24));
  V a10 = NAME(do_fma)(B(0x1.526d9492eb1e1p-30), s, B(-0x1.d665f5b41f6c2p-25));
  V a11 = NAME(do_fma)(B(0x1.66958be1826e5p-26), s, B(0x1.4ac2700302a1ep-26));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V b4 = NAME(do_fma)(a9, s2, a8);
  V b5 = NAME(do_fma)(a11, s2, a10);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V c2 = NAME(do_fma)(b5, s4, b4);
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V d1 = c2;
  V s16 = s8 * s8;
  return NAME(do_fma)(d1, s16, d0);
}

/* x times what log(gamma(x)) has besides Stirling's formula, of y = 1 / x^2, for x >= 7.5; DLMF 5.11.1 */
INLINE V NAME(do_stirling)(V y) {
  V a0 = NAME(do_fma)(B(-0x1.6c16c16c169ebp-9), y, B(0x1.5555555555555p-4));
  V a1 = NAME(do_fma)(B(-0x1.38137cc19a572p-11), y, B(0x1.a01a019d963f7p-11));
  V a2 = NAME(do_fma)(B(-0x1.f5b9c1d4350bbp-10), y, B(0x1.b94df87cf7221p-11));
  V a3 = NAME(do_fma)(B(-0x1.47093e565ff37p-6), y, B(0x1.93aaf9bff9057p-8));
  V y2 = y * y;
  V b0 = NAME(do_fma)(a1, y2, a0);
  V b1 = NAME(do_fma)(a3, y2, a2);
  V y4 = y2 * y2;
  return NAME(do_fma)(b1, y4, b0);
}

/* log(gamma(x)): that of 2 + s, where x = n + s, and the logarithm of the numbers between; from 7.5 on Stirling's
   formula. One logarithm serves both. s is exact, and nothing cancels beside the zeros at 1 and 2, or much between
   them: from 1.25 on n is 2. */
SLOW V NAME(do_lgamma)(V x) {
  M far = (M)(x >= B(7.5)), below = (M)(x < B(1.25));
  V n = NAME(do_pick)((M)(x < B(2.0)) & ~below, B(2.0), NAME(do_rint)(x)), s = x - n, z = B(1.0) / x;
  V p = NAME(do_pick)((M)(n > B(2.5)), x - B(1.0), B(1.0));
  p = p * NAME(do_pick)((M)(n > B(3.5)), x - B(2.0), B(1.0));
  p = p * NAME(do_pick)((M)(n > B(4.5)), x - B(3.0), B(1.0));
  p = p * NAME(do_pick)((M)(n > B(5.5)), x - B(4.0), B(1.0));
  p = p * NAME(do_pick)((M)(n > B(6.5)), x - B(5.0), B(1.0));
  p = NAME(do_pick)(below, NAME(do_pick)((M)(n < B(0.5)), NAME(do_fma)(x, x, x), x), p);
  V g = NAME(do_log)(NAME(do_pick)(far, x, p));
  V near = NAME(do_fma)(s, NAME(do_lgamma_near_2)(s), (V)((M)g ^ (below & SIGN)));
  V rest = NAME(do_fma)(z, NAME(do_stirling)(z * z), B(0x1.acfe390c97d69p-2));
  V r = NAME(do_pick)(far, NAME(do_fma)(x - B(0.5), g - B(1.0), rest), near);
  M rare = ~(M)(x >= B(0.0));
  return NAME(do_any)(rare) ? NAME(do_rare)(sd_lgamma, rare, x, r) : r;
}

/* digamma(3/2 + u) over the distance from the zero, |u| <= 1/2 */
INLINE V NAME(do_digamma_rest)(V u) {
  V a0 = NAME(do_fma)(B(-0x1.b1cb63005ee96p-2), u, B(0x1.e6f0cbb873616p-1));
  V a1 = NAME(do_fma)(B(-0x1.2feeeb98a7e14p-3), u, B(0x1.eca189b8e6f7bp-3));
  V a2 = NAME(do_fma)(B(-0x1.fb4420299c39ep-5), u, B(0x1.8512e59037f3fp-4));
  V a3 = NAME(do_fma)(B(-0x1.b9f8b14eb372ep-6), u, B(0x1.4de9aa17fed5cp-5));
  V a4 = NAME(do_fma)(B(-0x1.8635595c28480p-7), u, B(0x1.256471573c163p-6));
  V a5 = NAME(do_fma)(B(-0x1.5a07ffdcf1525p-8), u, B(0x1.03c0b29031197p-7));
  V a6 = NAME(do_fma)(B(-0x1.335166d938f39p-9), u, B(0x1.cd1f2dbc0dbedp-9));
  V a7 = NAME(do_fma)(B(-0x1.1138fd323dc0cp-10), u, B(0x1.99e14548a2d9bp-10));
  V a8 = NAME(do_fma)(B(-0x1.e24e3f4fdc1dcp-12), u, B(0x1.69be71d89ad40p-11));
  V a9 = NAME(do_fma)(B(-0x1.c8e71b670fd14p-13), u, B(0x1.56ae8897d5d3dp-12));
  V a10 = NAME(do_fma)(B(-0x1.0081238b97022p-14), u, B(0x1.80c273fb322c5p-14));
  V a11 = NAME(do_fma)(B(-0x1.5600aebc07538p-14), u, B(0x1.0080971c5617fp-13));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V b2 = NAME(do_fma)(a5, u2, a4);
  V b3 = NAME(do_fma)(a7, u2, a6);
  V b4 = NAME(do_fma)(a9, u2, a8);
  V b5 = NAME(do_fma)(a11, u2, a10);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V c1 = NAME(do_fma)(b3, u4, b2);
  V c2 = NAME(do_fma)(b5, u4, b4);
  V u8 = u4 * u4;
  V d0 = NAME(do_fma)(c1, u8, c0);
  V d1 = c2;
  V u16 = u8 * u8;
  return NAME(do_fma)(d1, u16, d0);
}

/* x^2 times what log(x) - 1 / (2 x) is more than digamma(x), of y = 1 / x^2, for x >= 8; DLMF 5.11.2 */
INLINE V NAME(do_digamma_far)(V y) {
  V a0 = NAME(do_fma)(B(-0x1.1111111110d4fp-7), y, B(0x1.5555555555555p-4));
  V a1 = NAME(do_fma)(B(-0x1.11110c0ff8839p-8), y, B(0x1.0410410195bbfp-8));
  V a2 = NAME(do_fma)(B(-0x1.58e68c895ad5bp-6), y, B(0x1.f077209c326c0p-8));
  V a3 = NAME(do_fma)(B(-0x1.329c9079bcef2p-2), y, B(0x1.47c69710dec6fp-4));
  V y2 = y * y;
  V b0 = NAME(do_fma)(a1, y2, a0);
  V b1 = NAME(do_fma)(a3, y2, a2);
  V y4 = y2 * y2;
  return NAME(do_fma)(b1, y4, b0);
}

/* digamma(x): that of 1 + s, where x = n + s, and the sum of reciprocals between as one quotient; from 8 on the
   asymptotic expansion. The zero is subtracted with twice the digits. */
SLOW V NAME(do_digamma)(V x) {
  V n = NAME(do_floor)(x), s = x - n;
  M far = (M)(x >= B(8.0)), below = (M)(n < B(0.5)), more;
  V above = NAME(do_pick)(below, B(-1.0), B(0.0)), under = NAME(do_pick)(below, x, B(1.0)), d;
  for (int k = 1; k < 7; k++) {
    d = x - B((T)k), more = (M)(n > B((T)k + 0.5));
    above = NAME(do_pick)(more, NAME(do_fma)(above, d, under), above);
    under = NAME(do_pick)(more, under * d, under);
  }
  V q = NAME(do_pick)(far, B(1.0), above) / NAME(do_pick)(far, x, under), y = q * q;
  V zero = (s - B(0x1.d8b618d5af8fep-2)) + B(0x1.1e563779a1f5bp-56);
  V near = NAME(do_fma)(zero, NAME(do_digamma_rest)(s - B(0.5)), q);
  V r = (NAME(do_log)(x) - B(0.5) * q) - y * NAME(do_digamma_far)(y);
  M rare = ~(M)(x > B(0.0));
  r = NAME(do_pick)(far, r, near);
  return NAME(do_any)(rare) ? NAME(do_rare)(sd_digamma, rare, x, r) : r;
}

/* gamma(2 + s) for |s| <= 1/2 */
INLINE V NAME(do_gamma_near_2)(V s) {
  V a0 = NAME(do_fma)(B(0x1.b0ee6072093cep-2), s, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(0x1.4e2399846508ap-4), s, B(0x1.a5b978b96bed0p-2));
  V a2 = NAME(do_fma)(B(-0x1.17f3740ec72a0p-12), s, B(0x1.301fbb0f23723p-4));
  V a3 = NAME(do_fma)(B(-0x1.75e6e90ba3cefp-9), s, B(0x1.6d7eeacd72a91p-7));
  V a4 = NAME(do_fma)(B(-0x1.e21f19a7b3331p-11), s, B(0x1.13c4485aa4efbp-9));
  V a5 = NAME(do_fma)(B(-0x1.f94b1c3d6053ep-13), s, B(0x1.011b279719403p-11));
  V a6 = NAME(do_fma)(B(-0x1.fddfed1c8199bp-15), s, B(0x1.fe3e7148c5ff1p-14));
  V a7 = NAME(do_fma)(B(-0x1.00a11030605acp-16), s, B(0x1.007e03354bf19p-15));
  V a8 = NAME(do_fma)(B(-0x1.e472c38c79d24p-19), s, B(0x1.e4493add6e9e0p-18));
  V a9 = NAME(do_fma)(B(-0x1.607cdc66fc45bp-20), s, B(0x1.60719ffb53cb2p-19));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V b4 = NAME(do_fma)(a9, s2, a8);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V c2 = b4;
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V d1 = c2;
  V s16 = s8 * s8;
  return NAME(do_fma)(d1, s16, d0);
}

/* x (gamma(x) / sqrt(2 pi) x^(1/2 - x) e^x - 1) of z = 1 / x, for x >= 7.5; DLMF 5.11.3 */
INLINE V NAME(do_gamma_far)(V z) {
  V a0 = NAME(do_fma)(B(0x1.c71c71c71c720p-9), z, B(0x1.5555555555555p-4));
  V a1 = NAME(do_fma)(B(-0x1.e13ce46265a74p-13), z, B(-0x1.5f7268edaba36p-9));
  V a2 = NAME(do_fma)(B(0x1.247692807d17dp-14), z, B(0x1.9b0ff63579b0fp-11));
  V a3 = NAME(do_fma)(B(-0x1.ae191acda92f0p-15), z, B(-0x1.3679b92989914p-11));
  V a4 = NAME(do_fma)(B(0x1.421e33f5b831bp-13), z, B(0x1.b44e1d303dc8dp-11));
  V a5 = NAME(do_fma)(B(0x1.567c2f8f7389ap-9), z, B(-0x1.4a1a95105d5f3p-9));
  V z2 = z * z;
  V b0 = NAME(do_fma)(a1, z2, a0);
  V b1 = NAME(do_fma)(a3, z2, a2);
  V b2 = NAME(do_fma)(a5, z2, a4);
  V z4 = z2 * z2;
  V c0 = NAME(do_fma)(b1, z4, b0);
  V c1 = b2;
  V z8 = z4 * z4;
  return NAME(do_fma)(c1, z8, c0);
}

/* (log((1 + s) / (1 - s)) - 2 s) / s^3 of z = s^2 <= 1/25 */
INLINE V NAME(do_log_rest)(V z) {
  V a0 = NAME(do_fma)(B(0x1.9999999999f17p-2), z, B(0x1.5555555555555p-1));
  V a1 = NAME(do_fma)(B(0x1.c71c72df580fcp-3), z, B(0x1.24924923de6edp-2));
  V a2 = NAME(do_fma)(B(0x1.3b29d0452d426p-3), z, B(0x1.745cac43cc003p-3));
  V a3 = NAME(do_fma)(B(0x1.169c38cc826bep-3), z, B(0x1.0e8c55b42945fp-3));
  V z2 = z * z;
  V b0 = NAME(do_fma)(a1, z2, a0);
  V b1 = NAME(do_fma)(a3, z2, a2);
  V z4 = z2 * z2;
  return NAME(do_fma)(b1, z4, b0);
}

/* sqrt(2 pi) x^(x - 1/2) e^-x for 7.5 <= x <= 172. The exponent needs eight bits more than a number has,
      so it is a sum of
   two: log(x) = k log(2) + 2 s + ..., whose first parts are exact, times x - 1/2, which is exact. */
INLINE V NAME(do_gamma_power)(V x) {
  M e = ((M)x - (M)B(0.75)) >> 52;
  V k = (V)(e + (M)B(0x1.8p52)) - B(0x1.8p52), f = (V)((M)x - (e << 52)) - B(1.0);
  V d = B(2.0) + f, u = B(1.0) / d, s = f * u, z = s * s;
  V more = (NAME(do_fma)(-s, d, f) - s * (f - (d - B(2.0)))) * u;
  V a = k * B(0x1.62e42feep-1), b = s + s, sum = a + b;
  V less = NAME(do_fma)(s * z, NAME(do_log_rest)(z), NAME(do_fma)(k, B(0x1.a39ef35793c76p-33),
      more + more)) + ((a - sum) + b);
  V h = sum + less, y = x - B(0.5), p = y * h, t = p - x, v = t - p;
  less = NAME(do_fma)(y, (sum - h) + less, NAME(do_fma)(y, h, -p)) + ((p - (t - v)) - (x + v));
  V r = NAME(do_exp)(t) * B(0x1.40d931ff62706p+1);
  return NAME(do_fma)(r, less, r);
}

/* gamma(x): that of 2 + s, where x = n + s, times or over the numbers between; from 7.5 on Stirling's formula. */
SLOW V NAME(do_gamma)(V x) {
  V n = NAME(do_rint)(x), s = x - n, z = B(1.0) / x;
  M far = (M)(x >= B(7.5)), rare = ~(M)(x > B(0.0));
  V p = NAME(do_gamma_near_2)(s);
  for (int k = 1; k < 6; k++) p = p * NAME(do_pick)((M)(n > B((T)k + 1.5)), x - B((T)k), B(1.0));
  p = p * NAME(do_pick)((M)(n < B(1.5)), NAME(do_pick)((M)(n < B(0.5)), z / (B(1.0) + x), z), B(1.0));
  V r = NAME(do_gamma_power)(NAME(do_most)(B(7.5), NAME(do_least)(x, B(172.0))));
  r = NAME(do_fma)(r, z * NAME(do_gamma_far)(z), r);
  r = NAME(do_pick)((M)(x > B(171.7)), B(__builtin_inf()), NAME(do_pick)(far, r, p));
  return NAME(do_any)(rare) ? NAME(do_rare)(sd_gamma, rare, x, r) : r;
}

/* The scaled complementary error function and inverses of the normal distribution, of whole vectors of float64,
      where a
   product and a sum are one instruction: the same text in the interpreter and in generated code, as vector.h has it. */

/* (1 + 2 a) erfcx(a) of t = (a - 4) / (a + 4) for a >= 0: interpolated at Chebyshev's points, at 45 digits;
      what is left
   out is below 2^-58. */
INLINE V NAME(do_erfcx_rest)(V t) {
  V a0 = NAME(do_fma)(B(-0x1.1df1ad154a28ep-3), t, B(0x1.3ba5916e9fd7fp+0));
  V a1 = NAME(do_fma)(B(0x1.16ecefcfa5383p-4), t, B(0x1.f7f5df66fd6bap-7));
  V a2 = NAME(do_fma)(B(0x1.7fee004e1295bp-4), t, B(-0x1.9ddb23c3e89f3p-4));
  V a3 = NAME(do_fma)(B(0x1.3079edf67777bp-5), t, B(-0x1.0fb06dfe52605p-4));
  V a4 = NAME(do_fma)(B(0x1.49c6728a1a0f0p-8), t, B(-0x1.096238838fb04p-6));
  V a5 = NAME(do_fma)(B(-0x1.a1df289a58f28p-13), t, B(-0x1.8d4a9b0690e08p-11));
  V a6 = NAME(do_fma)(B(-0x1.9958e21c32f5cp-16), t, B(0x1.3be04c486a75ep-13));
  V a7 = NAME(do_fma)(B(0x1.7f2545048fbf3p-18), t, B(-0x1.78862b6b1e3abp-17));
  V a8 = NAME(do_fma)(B(-0x1.baf5e74545cc2p-21), t, B(0x1.398374178fe8cp-22));
  V a9 = NAME(do_fma)(B(0x1.d98825ca9deb5p-24), t, B(0x1.4cb0ece36623dp-24));
  V a10 = NAME(do_fma)(B(-0x1.fcc3a5268653fp-27), t, B(-0x1.611fc8f45b510p-26));
  V a11 = NAME(do_fma)(B(0x1.f5d7df6dfda8fp-30), t, B(0x1.b34e17ed4ff9fp-29));
  V a12 = NAME(do_fma)(B(-0x1.3ab58f87cfb03p-33), t, B(-0x1.24000f0a15ee9p-32));
  V t2 = t * t;
  V b0 = NAME(do_fma)(a1, t2, a0);
  V b1 = NAME(do_fma)(a3, t2, a2);
  V b2 = NAME(do_fma)(a5, t2, a4);
  V b3 = NAME(do_fma)(a7, t2, a6);
  V b4 = NAME(do_fma)(a9, t2, a8);
  V b5 = NAME(do_fma)(a11, t2, a10);
  V b6 = a12;
  V t4 = t2 * t2;
  V c0 = NAME(do_fma)(b1, t4, b0);
  V c1 = NAME(do_fma)(b3, t4, b2);
  V c2 = NAME(do_fma)(b5, t4, b4);
  V c3 = b6;
  V t8 = t4 * t4;
  V d0 = NAME(do_fma)(c1, t8, c0);
  V d1 = NAME(do_fma)(c3, t8, c2);
  V t16 = t8 * t8;
  return NAME(do_fma)(d1, t16, d0);
}

/* erfcx(x) = exp(x^2) erfc(x), below 0 by 2 exp(x^2) - erfcx(-x), where the square has twice the digits. */
SLOW V NAME(do_erfcx)(V x) {
  V a = (V)((M)x & ~SIGN), c = NAME(do_least)(B(0x1p60), a);
  V r = B(0.5) * NAME(do_erfcx_rest)((c - B(4.0)) / (c + B(4.0))) / (B(0.5) + a);
  M below = (M)(x < B(0.0));
  if (NAME(do_any)(below)) {
    c = NAME(do_least)(B(27.0), a);
    V h = c * c, e = NAME(do_exp)(h);
    e = NAME(do_pick)((M)(e < B(__builtin_inf())), NAME(do_fma)(e, NAME(do_fma)(c, c, -h), e), e);
    r = NAME(do_pick)(below, (e - r) + e, r);
  }
  return r;
}

/* The standard normal quantile of 1/2 + q for |q| <= 0.425: Wichura, Algorithm AS 241 (1988), PPND16. */
INLINE V NAME(do_quantile_near)(V q) {
  V x = NAME(do_fma)(-q, q, B(0.180625)), y = x * x;
  V a0 = NAME(do_fma)(B(1.3314166789178437745e+2), x, B(3.3871328727963666080e0)),
    a1 = NAME(do_fma)(B(1.3731693765509461125e+4), x, B(1.9715909503065514427e+3)),
    a2 = NAME(do_fma)(B(6.7265770927008700853e+4), x, B(4.5921953931549871457e+4)),
    a3 = NAME(do_fma)(B(2.5090809287301226727e+3), x, B(3.3430575583588128105e+4));
  V b0 = NAME(do_fma)(B(4.2313330701600911252e+1), x, B(1.0)),
    b1 = NAME(do_fma)(B(5.3941960214247511077e+3), x, B(6.8718700749205790830e+2)),
    b2 = NAME(do_fma)(B(3.9307895800092710610e+4), x, B(2.1213794301586595867e+4)),
    b3 = NAME(do_fma)(B(5.2264952788528545610e+3), x, B(2.8729085735721942674e+4));
  return q * NAME(do_fma)(NAME(do_fma)(a3, y, a2), y * y, NAME(do_fma)(a1, y, a0)) / NAME(do_fma)(NAME(do_fma)(b3,
      y, b2), y * y, NAME(do_fma)(b1, y, b0));
}

/* The standard normal quantile of 1 - p for p <= 0.075, by the same. Half of the least numbers is none: 2 p is given. */
SLOW V NAME(do_quantile_far)(V twice) {
  V r = NAME(do_sqrt)(B(0x1.62e42fefa39efp-1) - NAME(do_log)(twice));
  M deep = (M)(r > B(5.0));
  V x = r - NAME(do_pick)(deep, B(5.0), B(1.6)), y = x * x;
  V a0 = NAME(do_fma)(NAME(do_pick)(deep, B(5.46378491116411436990e0), B(4.63033784615654529590e0)), x,
      NAME(do_pick)(deep, B(6.65790464350110377720e0), B(1.42343711074968357734e0))),
    a1 = NAME(do_fma)(NAME(do_pick)(deep, B(2.96560571828504891230e-1), B(3.64784832476320460504e0)), x,
      NAME(do_pick)(deep, B(1.78482653991729133580e0), B(5.76949722146069140550e0))),
    a2 = NAME(do_fma)(NAME(do_pick)(deep, B(1.24266094738807843860e-3), B(2.41780725177450611770e-1)), x,
      NAME(do_pick)(deep, B(2.65321895265761230930e-2), B(1.27045825245236838258e0))),
    a3 = NAME(do_fma)(NAME(do_pick)(deep, B(2.01033439929228813265e-7), B(7.74545014278341407640e-4)), x,
      NAME(do_pick)(deep, B(2.71155556874348757815e-5), B(2.27238449892691845833e-2)));
  V b0 = NAME(do_fma)(NAME(do_pick)(deep, B(5.99832206555887937690e-1), B(2.05319162663775882187e0)), x, B(1.0)),
    b1 = NAME(do_fma)(NAME(do_pick)(deep, B(1.48753612908506148525e-2), B(6.89767334985100004550e-1)), x,
      NAME(do_pick)(deep, B(1.36929880922735805310e-1), B(1.67638483018380384940e0))),
    b2 = NAME(do_fma)(NAME(do_pick)(deep, B(1.84631831751005468180e-5), B(1.51986665636164571966e-2)), x,
      NAME(do_pick)(deep, B(7.86869131145613259100e-4), B(1.48103976427480074590e-1))),
    b3 = NAME(do_fma)(NAME(do_pick)(deep, B(2.04426310338993978564e-15), B(1.05075007164441684324e-9)), x,
      NAME(do_pick)(deep, B(1.42151175831644588870e-7), B(5.47593808499534494600e-4)));
  V z = NAME(do_fma)(NAME(do_fma)(a3, y, a2), y * y, NAME(do_fma)(a1, y, a0)) / NAME(do_fma)(NAME(do_fma)(b3, y,
      b2), y * y, NAME(do_fma)(b1, y, b0));
  z = NAME(do_pick)((M)(twice == B(0.0)), B(__builtin_inf()), z);
  return NAME(do_pick)((M)(twice >= B(0.0)), z, B(__builtin_nan("")));
}

/* The standard normal quantile of 1/2 + q, with twice the smaller of 1/2 - q and 1/2 + q in all its digits. */
SLOW V NAME(do_quantile)(V q, V twice) {
  M far = ~(M)((V)((M)q & ~SIGN) <= B(0.425));
  V r = NAME(do_quantile_near)(q);
  if (NAME(do_any)(far)) r = NAME(do_pick)(far, (V)((M)NAME(do_quantile_far)(twice) | ((M)q & SIGN)), r);
  return r;
}

SLOW V NAME(do_ndtri)(V x) {
  return NAME(do_quantile)(x - B(0.5), B(2.0) * NAME(do_pick)((M)(x < B(0.5)), x, B(1.0) - x));
}

SLOW V NAME(do_erfinv)(V x) {
  V half = B(0.5) * x, a = (V)((M)half & ~SIGN);
  V r = NAME(do_quantile)(half, B(1.0) - B(2.0) * a) * B(0x1.6a09e667f3bcdp-1);
  return NAME(do_pick)((M)(a < B(0x1p-1000)), B(0x1.c5bf891b4ef6bp-1) * x, r); /* half of the smallest number is 0 */
}

SLOW V NAME(do_erfcinv)(V x) {
  V twice = NAME(do_pick)((M)(x < B(1.0)), x, B(2.0) - x);
  return NAME(do_quantile)(B(0.5) - B(0.5) * x, twice) * B(0x1.6a09e667f3bcdp-1);
}
