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

/* (3/2 + 2 a)^2 exp(a^2) i erfc(a) of t = (a - 4) / (a + 4) for a >= 0: interpolated at Chebyshev's points, at 100
   digits; what is left out is below 2^-58. */
INLINE V NAME(do_ierfcx_rest)(V t) {
  V a0 = NAME(do_fma)(B(-0x1.def9d2d7e255ap-2), t, B(0x1.76182194ceda0p+0));
  V a1 = NAME(do_fma)(B(0x1.851ec230fb563p-3), t, B(0x1.6508fa476b54fp-4));
  V a2 = NAME(do_fma)(B(0x1.cd8cd2a6264a4p-3), t, B(-0x1.21f7791f2448dp-2));
  V a3 = NAME(do_fma)(B(0x1.e6f40d5966d74p-7), t, B(-0x1.bf359ea232c0ep-4));
  V a4 = NAME(do_fma)(B(-0x1.dba5cef627f12p-6), t, B(0x1.be9d67fcae7e8p-6));
  V a5 = NAME(do_fma)(B(-0x1.2dc7094036ed0p-8), t, B(0x1.02639f6821fd4p-6));
  V a6 = NAME(do_fma)(B(0x1.60f20e018f708p-11), t, B(-0x1.1258ba322aefbp-14));
  V a7 = NAME(do_fma)(B(-0x1.2ce8aec996f4bp-15), t, B(-0x1.c9b4df2fcbb36p-13));
  V a8 = NAME(do_fma)(B(-0x1.b64742803c4f5p-19), t, B(0x1.6038ac769e5bdp-15));
  V a9 = NAME(do_fma)(B(0x1.7b83dd1fc536fp-20), t, B(-0x1.9b5eda4a284a7p-18));
  V a10 = NAME(do_fma)(B(-0x1.4efe246094b9cp-22), t, B(0x1.cfea257d6299cp-21));
  V a11 = NAME(do_fma)(B(0x1.e0c3e2f742fc4p-25), t, B(-0x1.15f03cdde11e0p-23));
  V a12 = NAME(do_fma)(B(-0x1.0c9328e05c285p-27), t, B(0x1.5ddcc97f815a7p-26));
  V a13 = NAME(do_fma)(B(0x1.5459afe84ad96p-31), t, B(-0x1.8500d9662c12cp-29));
  V a14 = B(0x1.ff9bb8ad65d84p-33);
  V t2 = t * t;
  V b0 = NAME(do_fma)(a1, t2, a0);
  V b1 = NAME(do_fma)(a3, t2, a2);
  V b2 = NAME(do_fma)(a5, t2, a4);
  V b3 = NAME(do_fma)(a7, t2, a6);
  V b4 = NAME(do_fma)(a9, t2, a8);
  V b5 = NAME(do_fma)(a11, t2, a10);
  V b6 = NAME(do_fma)(a13, t2, a12);
  V t4 = t2 * t2;
  V c0 = NAME(do_fma)(b1, t4, b0);
  V c1 = NAME(do_fma)(b3, t4, b2);
  V c2 = NAME(do_fma)(b5, t4, b4);
  V c3 = NAME(do_fma)(a14, t4, b6);
  V t8 = t4 * t4;
  V d0 = NAME(do_fma)(c1, t8, c0);
  V d1 = NAME(do_fma)(c3, t8, c2);
  V t16 = t8 * t8;
  return NAME(do_fma)(d1, t16, d0);
}

/* f(x, y) in the lanes of m, whose numbers are few, and r in the others. */
SLOW V NAME(do_rare_two)(double (*f)(double, double), M m, V x, V y, V r) {
  V x_[1] = {x}, y_[1] = {y}, r_[1] = {r};
  M m_[1] = {m};
  APART(x_) APART(y_) APART(r_) APART(m_)
  for (int l = 0; l < W; l++)
    if ((*m_)[l]) ((T *)r_)[l] = f(((T *)x_)[l], ((T *)y_)[l]);
  return *r_;
}

/* exp(x^2) i erfc(x), below 0 by 1 / sqrt(pi) - x erfcx(x), where nothing cancels; other orders by numbers. */
SLOW V NAME(do_ierfcx)(V n, V x) {
  V a = (V)((M)x & ~SIGN), c = NAME(do_least)(B(0x1p60), a), d = B(0.75) + a;
  V r = B(0.25) * NAME(do_ierfcx_rest)((c - B(4.0)) / (c + B(4.0))) / d / d;
  M below = (M)(x < B(0.0)), other = ~(M)(n == B(1.0));
  if (NAME(do_any)(below))
    r = NAME(do_pick)(below, NAME(do_fma)(a, NAME(do_erfcx)(x), B(0x1.20dd750429b6dp-1)), r);
  return NAME(do_any)(other) ? NAME(do_rare_two)(sd_ierfcx, other, n, x, r) : r;
}

/* The derivatives of log(Phi(x)) of orders 1 and 2; other orders by numbers. With z = |x| / sqrt(2) they are
   h = sqrt(2 / pi) / erfcx(z) and -h sqrt(2) exp(z^2) i erfc(z) / erfcx(z) below 0, and from the density above, whose
   square has twice the digits. */
SLOW V NAME(do_log_ndtr_derivative)(V n, V x) {
  V a = (V)((M)x & ~SIGN), z = B(0x1.6a09e667f3bcdp-1) * a, w = NAME(do_erfcx)(z);
  V r = NAME(do_pick)((M)(z >= B(0x1p30)), a, B(0x1.9884533d43651p-1) / w); /* far out w leaves the range */
  M above = (M)(x > B(0.0)), second = (M)(n == B(2.0)), other = ~(M)(n == B(1.0)) & ~second;
  if (NAME(do_any)(above)) {
    V c = NAME(do_least)(B(0x1p6), x), h = c * c, e = NAME(do_exp)(B(-0.5) * h);
    e = NAME(do_fma)(e, B(-0.5) * NAME(do_fma)(c, c, -h), e);
    r = NAME(do_pick)(above, B(0x1.9884533d43651p-1) * e / NAME(do_fma)(-w, e, B(2.0)), r);
  }
  if (NAME(do_any)(second)) {
    V s = NAME(do_pick)(above, x + r, B(0x1.6a09e667f3bcdp+0) * NAME(do_ierfcx)(B(1.0), z) / w);
    s = NAME(do_pick)((M)(z >= B(0x1p30)), NAME(do_pick)(above, -r, B(-1.0)), -r * s);
    r = NAME(do_pick)(second, s, r);
  }
  return NAME(do_any)(other) ? NAME(do_rare_two)(sd_log_ndtr_derivative, other, n, x, r) : r;
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

/* Bessel functions of orders 0 and 1 of whole vectors of float64, where a product and a sum are one instruction: the same
   text in the interpreter and in generated code, as vector.h has it. Polynomials have the least largest error, by Remez's
   algorithm at 50 digits; what they leave out is below 2^-54 of the value, or of the size of what oscillates. */

/* I0(x) of u = x^2 / 4 for x <= 12 */
INLINE V NAME(do_i0_near)(V u) {
  V a0 = NAME(do_fma)(B(0x1.0000000000000p+0), u, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(0x1.c71c71c71c665p-6), u, B(0x1.0000000000005p-2));
  V a2 = NAME(do_fma)(B(0x1.23456789a38b5p-14), u, B(0x1.c71c71c71d3e9p-10));
  V a3 = NAME(do_fma)(B(0x1.522a43eed2803p-25), u, B(0x1.02e85c09051f6p-19));
  V a4 = NAME(do_fma)(B(0x1.0b312f3818daap-37), u, B(0x1.522a44541ab65p-31));
  V a5 = NAME(do_fma)(B(0x1.69c8ddaaf6d5cp-51), u, B(0x1.5601b4e0b5c27p-44));
  V a6 = NAME(do_fma)(B(0x1.e68e6c64b800ap-66), u, B(0x1.41a4e3abb6209p-58));
  V a7 = NAME(do_fma)(B(0x1.5a580a7026cd6p-81), u, B(0x1.40a514df97a3ap-73));
  V a8 = NAME(do_fma)(B(0x1.e75b8d65f30a5p-99), u, B(0x1.aea10d8182ab7p-89));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V b2 = NAME(do_fma)(a5, u2, a4);
  V b3 = NAME(do_fma)(a7, u2, a6);
  V b4 = NAME(do_fma)(B(0x1.21ece14c10cb6p-104), u2, a8);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V c1 = NAME(do_fma)(b3, u4, b2);
  V u8 = u4 * u4;
  V d0 = NAME(do_fma)(c1, u8, c0);
  V u16 = u8 * u8;
  return NAME(do_fma)(b4, u16, d0);
}

/* sqrt(x) e^-x I0(x) of s = 24 / x - 1 for x >= 12 */
INLINE V NAME(do_i0_far)(V s) {
  V a0 = NAME(do_fma)(B(0x1.1e0569de02b21p-9), s, B(0x1.9ab25f8f56038p-2));
  V a1 = NAME(do_fma)(B(0x1.77807b30dcd0dp-19), s, B(0x1.d5a27f3779aadp-15));
  V a2 = NAME(do_fma)(B(0x1.96f6cf9e15697p-26), s, B(0x1.d2593fac8ccbfp-23));
  V a3 = NAME(do_fma)(B(0x1.644dd006c5530p-31), s, B(0x1.d94325c1e879dp-29));
  V a4 = NAME(do_fma)(B(0x1.a40cd9c4b5cc4p-35), s, B(0x1.57883b0b7c409p-33));
  V a5 = NAME(do_fma)(B(0x1.a30e3d45a58f2p-37), s, B(0x1.49baa16507db0p-36));
  V a6 = NAME(do_fma)(B(0x1.bbe323d06ec53p-41), s, B(0x1.3081d6359ca6cp-37));
  V a7 = NAME(do_fma)(B(-0x1.55ea510f1e34fp-39), s, B(-0x1.4cbb0e20247b0p-38));
  V a8 = NAME(do_fma)(B(0x1.219492da11ee8p-41), s, B(0x1.67dce04a37615p-41));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V s16 = s8 * s8;
  return NAME(do_fma)(a8, s16, d0);
}

/* 2 I1(x) / x of u = x^2 / 4 for x <= 12 */
INLINE V NAME(do_i1_near)(V u) {
  V a0 = NAME(do_fma)(B(0x1.0000000000000p-1), u, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(0x1.c71c71c71c6ccp-8), u, B(0x1.5555555555558p-4));
  V a2 = NAME(do_fma)(B(0x1.845c8a0cdf2a4p-17), u, B(0x1.6c16c16c1711fp-12));
  V a3 = NAME(do_fma)(B(0x1.522a43f1ba22dp-28), u, B(0x1.27e4fb77d15dbp-22));
  V a4 = NAME(do_fma)(B(0x1.ab81e6d8a5595p-41), u, B(0x1.2c975910f1fe2p-34));
  V a5 = NAME(do_fma)(B(0x1.e261c0561cbeep-55), u, B(0x1.f176c5f1fb20ep-48));
  V a6 = NAME(do_fma)(B(0x1.1619143fd5fd1p-69), u, B(0x1.8bdaf5bc7758bp-62));
  V a7 = NAME(do_fma)(B(0x1.5c7487027f284p-85), u, B(0x1.55944923efe85p-77));
  V a8 = NAME(do_fma)(B(0x1.e5c000a5a6df0p-103), u, B(0x1.8e8391c93b35ep-93));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V b2 = NAME(do_fma)(a5, u2, a4);
  V b3 = NAME(do_fma)(a7, u2, a6);
  V b4 = NAME(do_fma)(B(0x1.dcb8649814bf6p-109), u2, a8);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V c1 = NAME(do_fma)(b3, u4, b2);
  V u8 = u4 * u4;
  V d0 = NAME(do_fma)(c1, u8, c0);
  V u16 = u8 * u8;
  return NAME(do_fma)(b4, u16, d0);
}

/* sqrt(x) e^-x I1(x) of s = 24 / x - 1 for x >= 12 */
INLINE V NAME(do_i1_far)(V s) {
  V a0 = NAME(do_fma)(B(-0x1.a3c9adbe35629p-8), s, B(0x1.920c27c8dc633p-2));
  V a1 = NAME(do_fma)(B(-0x1.00e3b41a6d7ddp-18), s, B(-0x1.7eb85088a7450p-14));
  V a2 = NAME(do_fma)(B(-0x1.e56512bce3a9cp-26), s, B(-0x1.24caf526e84ffp-22));
  V a3 = NAME(do_fma)(B(-0x1.905949830564bp-31), s, B(-0x1.10a5f681502dep-28));
  V a4 = NAME(do_fma)(B(-0x1.c7d1517af4740p-35), s, B(-0x1.7a8f7dd881cdep-33));
  V a5 = NAME(do_fma)(B(-0x1.b913e11216bffp-37), s, B(-0x1.6062d48ca6a21p-36));
  V a6 = NAME(do_fma)(B(-0x1.11ae989a1c048p-40), s, B(-0x1.42253f90f5eb2p-37));
  V a7 = NAME(do_fma)(B(0x1.69eaff44ece62p-39), s, B(0x1.587b736613668p-38));
  V a8 = NAME(do_fma)(B(-0x1.2e5ce2e7a9ed9p-41), s, B(-0x1.6da2f20298b44p-41));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V s16 = s8 * s8;
  return NAME(do_fma)(a8, s16, d0);
}

/* e^x f, rounded once: f is between 2^-20 and 2^20. */
INLINE V NAME(do_exp_times)(V x, V f) {
  x = NAME(do_least)(B(0x1.8p9), NAME(do_most)(B(-0x1.8p9), x));
  V n = NAME(do_fma)(x, B(0x1.71547652b82fep0), B(0x1.8p52)) - B(0x1.8p52);
  V r = NAME(do_fma)(n, B(-0x1.62e42fefa38p-1), x);
  r = NAME(do_fma)(n, B(-0x1.ef35793c7673p-45), r);
  return NAME(do_scale)(NAME(do_fma)(f, NAME(do_fma)(NAME(do_exp_rest)(r), r * r, r), f), n);
}

SLOW V NAME(do_i0e)(V x) {
  V a = (V)((M)x & ~SIGN), c = NAME(do_least)(B(12.0), a), near = NAME(do_i0_near)(B(0.25) * c * c);
  V far = NAME(do_i0_far)(B(24.0) / NAME(do_most)(B(12.0), a) - B(1.0)) / NAME(do_sqrt)(a);
  return NAME(do_pick)((M)(a < B(12.0)), NAME(do_exp_times)(-c, near), far);
}

SLOW V NAME(do_i0)(V x) {
  V a = (V)((M)x & ~SIGN), c = NAME(do_least)(B(12.0), a), near = NAME(do_i0_near)(B(0.25) * c * c);
  V b = NAME(do_least)(B(720.0), NAME(do_most)(B(12.0), a));
  V far = NAME(do_exp_times)(b, NAME(do_i0_far)(B(24.0) / b - B(1.0)) / NAME(do_sqrt)(b));
  return NAME(do_pick)((M)(a <= B(12.0)), near, NAME(do_pick)((M)(a == a), far, a));
}

SLOW V NAME(do_i1e)(V x) {
  V a = (V)((M)x & ~SIGN), c = NAME(do_least)(B(12.0), a), near = NAME(do_i1_near)(B(0.25) * c * c);
  V far = NAME(do_i1_far)(B(24.0) / NAME(do_most)(B(12.0), a) - B(1.0)) / NAME(do_sqrt)(a);
  V r = NAME(do_pick)((M)(a < B(12.0)), NAME(do_exp_times)(-c, B(0.5) * near) * c, far);
  return (V)((M)r | ((M)x & SIGN));
}

SLOW V NAME(do_i1)(V x) {
  V a = (V)((M)x & ~SIGN), c = NAME(do_least)(B(12.0), a), near = NAME(do_i1_near)(B(0.25) * c * c);
  V b = NAME(do_least)(B(720.0), NAME(do_most)(B(12.0), a));
  V far = NAME(do_exp_times)(b, NAME(do_i1_far)(B(24.0) / b - B(1.0)) / NAME(do_sqrt)(b));
  V r = NAME(do_pick)((M)(a <= B(12.0)), B(0.5) * a * near, NAME(do_pick)((M)(a == a), far, a));
  return (V)((M)r | ((M)x & SIGN));
}

/* I0(x) of u = x^2 / 4 for x <= 2 */
INLINE V NAME(do_i0_part)(V u) {
  V a0 = NAME(do_fma)(B(0x1.fffffffffffc1p-1), u, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(0x1.c71c71c682581p-6), u, B(0x1.0000000000e29p-2));
  V a2 = NAME(do_fma)(B(0x1.23455dc797c52p-14), u, B(0x1.c71c71fb11593p-10));
  V a3 = NAME(do_fma)(B(0x1.519f65b8c6d94p-25), u, B(0x1.02ea7f6012aebp-19));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V u8 = u4 * u4;
  return NAME(do_fma)(B(0x1.65024cf0bf355p-31), u8, c0);
}

/* 2 I1(x) / x of u = x^2 / 4 for x <= 2 */
INLINE V NAME(do_i1_part)(V u) {
  V a0 = NAME(do_fma)(B(0x1.ffffffffffff1p-2), u, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(0x1.c71c71c6d9497p-8), u, B(0x1.5555555555ba9p-4));
  V a2 = NAME(do_fma)(B(0x1.845c81de5cc34p-17), u, B(0x1.6c16c18242cc8p-12));
  V a3 = NAME(do_fma)(B(0x1.51b90cb077c97p-28), u, B(0x1.27e6bf8064748p-22));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V u8 = u4 * u4;
  return NAME(do_fma)(B(0x1.3bc9bb4317ec7p-34), u8, c0);
}

/* K0(x) + log(x / 2) I0(x) of u = x^2 / 4 for x <= 2 */
INLINE V NAME(do_k0_part)(V u) {
  V a0 = NAME(do_fma)(B(0x1.b0ee6072093cfp-2), u, B(-0x1.2788cfc6fb619p-1));
  V a1 = NAME(do_fma)(B(0x1.1dd628653284dp-5), u, B(0x1.d877303904992p-3));
  V a2 = NAME(do_fma)(B(0x1.f0f15ad1725f2p-14), u, B(0x1.56b9b69da70c8p-9));
  V a3 = NAME(do_fma)(B(0x1.54d1db8065daap-24), u, B(0x1.e4e0c3222b7d4p-19));
  V a4 = NAME(do_fma)(B(0x1.3cee91bf064b1p-36), u, B(0x1.6967e5f910687p-30));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V u8 = u4 * u4;
  return NAME(do_fma)(a4, u8, c0);
}

/* (K1(x) - 1 / x - log(x / 2) I1(x)) / x of u = x^2 / 4 for x <= 2 */
INLINE V NAME(do_k1_part)(V u) {
  V a0 = NAME(do_fma)(B(-0x1.58773039049e7p-3), u, B(0x1.3c467e37db0c8p-5));
  V a1 = NAME(do_fma)(B(-0x1.3a47ef81a3a10p-8), u, B(-0x1.73ddae5ee6a19p-5));
  V a2 = NAME(do_fma)(B(-0x1.5b7a179243bccp-17), u, B(-0x1.2462822a1c8a3p-12));
  V a3 = NAME(do_fma)(B(-0x1.5f62835160d64p-28), u, B(-0x1.1fa40db52174bp-22));
  V a4 = NAME(do_fma)(B(-0x1.01eb3d66efcd4p-40), u, B(-0x1.49ae1bccf15d2p-34));
  V u2 = u * u;
  V b0 = NAME(do_fma)(a1, u2, a0);
  V b1 = NAME(do_fma)(a3, u2, a2);
  V u4 = u2 * u2;
  V c0 = NAME(do_fma)(b1, u4, b0);
  V u8 = u4 * u4;
  return NAME(do_fma)(a4, u8, c0);
}

/* sqrt(x) e^x K0(x) of s = 4 / x - 1 for x >= 2 */
INLINE V NAME(do_k0_far)(V s) {
  V a0 = NAME(do_fma)(B(-0x1.fd1328181db36p-6), s, B(0x1.37f5dd35f91a9p+0));
  V a1 = NAME(do_fma)(B(-0x1.f71306890c828p-12), s, B(0x1.8d86f6465e608p-9));
  V a2 = NAME(do_fma)(B(-0x1.9efce4ed75dcep-16), s, B(0x1.a19652e392e16p-14));
  V a3 = NAME(do_fma)(B(-0x1.261855920c55ap-19), s, B(0x1.d5e9aa108f994p-18));
  V a4 = NAME(do_fma)(B(-0x1.20ba6c0a1786fp-22), s, B(0x1.8ec6ea20ac78bp-21));
  V a5 = NAME(do_fma)(B(-0x1.635d576de9473p-25), s, B(0x1.ba2fc7fb74e8fp-24));
  V a6 = NAME(do_fma)(B(-0x1.ef34a16a0cda2p-28), s, B(0x1.24dc2e75f7753p-26));
  V a7 = NAME(do_fma)(B(-0x1.1c48294ae2ce2p-29), s, B(0x1.05d1d0256a6fdp-28));
  V a8 = NAME(do_fma)(B(0x1.6d9c61b89071bp-32), s, B(0x1.91b3d81d869e8p-35));
  V a9 = NAME(do_fma)(B(-0x1.6be59799fda06p-31), s, B(0x1.bff3f4062f3b4p-31));
  V a10 = NAME(do_fma)(B(0x1.22d25ae1179bcp-32), s, B(-0x1.57b4d493f386ap-32));
  V a11 = NAME(do_fma)(B(-0x1.50e87a4297533p-34), s, B(0x1.e10f6bf5fcc02p-34));
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
  V s16 = s8 * s8;
  return NAME(do_fma)(c2, s16, d0);
}

/* sqrt(x) e^x K1(x) of s = 4 / x - 1 for x >= 2 */
INLINE V NAME(do_k1_far)(V s) {
  V a0 = NAME(do_fma)(B(0x1.a7520dfb3f99ap-4), s, B(0x1.5cf785b4a0203p+0));
  V a1 = NAME(do_fma)(B(0x1.81bb39794df7bp-11), s, B(-0x1.6cd23ac7d4803p-8));
  V a2 = NAME(do_fma)(B(0x1.1383a9f6fa245p-15), s, B(-0x1.24bdedb118c6ep-13));
  V a3 = NAME(do_fma)(B(0x1.6e6b911160cbdp-19), s, B(-0x1.2cb02f66c5f67p-17));
  V a4 = NAME(do_fma)(B(0x1.5ac95768eb449p-22), s, B(-0x1.e6c92014775f9p-21));
  V a5 = NAME(do_fma)(B(0x1.a0ac5a7cd6c84p-25), s, B(-0x1.060f4ff680865p-23));
  V a6 = NAME(do_fma)(B(0x1.1ce2821c050dbp-27), s, B(-0x1.54805b3ee2d99p-26));
  V a7 = NAME(do_fma)(B(0x1.46dc4af410ccap-29), s, B(-0x1.29673b47b240dp-28));
  V a8 = NAME(do_fma)(B(-0x1.be63c24e88d2bp-32), s, B(-0x1.849931c5d72bep-34));
  V a9 = NAME(do_fma)(B(0x1.a36917dc5434dp-31), s, B(-0x1.e7b52c1ee4742p-31));
  V a10 = NAME(do_fma)(B(-0x1.4d9176ef5923dp-32), s, B(0x1.72a7f88587dffp-32));
  V a11 = NAME(do_fma)(B(0x1.7b74384aaa1e2p-34), s, B(-0x1.05c0ddab38073p-33));
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
  V s16 = s8 * s8;
  return NAME(do_fma)(c2, s16, d0);
}

/* K0(x) and K1(x) for x <= 2, nan below 0 and infinite at 0; DLMF 10.31.1, 10.31.2 */
INLINE V NAME(do_k0_near)(V x) {
  V u = B(0.25) * x * x, r = NAME(do_fma)(-NAME(do_log)(B(0.5) * x), NAME(do_i0_part)(u), NAME(do_k0_part)(u));
  return NAME(do_pick)((M)(x >= B(0.0)), r, B(__builtin_nan("")));
}

INLINE V NAME(do_k1_near)(V x) {
  V u = B(0.25) * x * x, half = B(0.5) * x;
  V r = NAME(do_fma)(NAME(do_log)(half), half * NAME(do_i1_part)(u), x * NAME(do_k1_part)(u)) + B(1.0) / x;
  V tiny = NAME(do_pick)((M)(x >= B(0.0)), B(1.0) / (V)((M)x & ~SIGN), B(__builtin_nan("")));
  return NAME(do_pick)((M)(x > B(0x1p-1000)), r, tiny);
}

SLOW V NAME(do_k0e)(V x) {
  V c = NAME(do_least)(B(2.0), x), far = NAME(do_k0_far)(B(4.0) / NAME(do_most)(B(2.0), x) - B(1.0)) / NAME(do_sqrt)(x);
  return NAME(do_pick)((M)(x > B(2.0)), far, NAME(do_k0_near)(c) * NAME(do_exp)(c));
}

SLOW V NAME(do_k0)(V x) {
  V b = NAME(do_least)(B(760.0), NAME(do_most)(B(2.0), x));
  V far = NAME(do_exp_times)(-b, NAME(do_k0_far)(B(4.0) / b - B(1.0)) / NAME(do_sqrt)(b));
  return NAME(do_pick)((M)(x > B(2.0)), far, NAME(do_k0_near)(NAME(do_least)(B(2.0), x)));
}

SLOW V NAME(do_k1e)(V x) {
  V c = NAME(do_least)(B(2.0), x), far = NAME(do_k1_far)(B(4.0) / NAME(do_most)(B(2.0), x) - B(1.0)) / NAME(do_sqrt)(x);
  return NAME(do_pick)((M)(x > B(2.0)), far, NAME(do_k1_near)(c) * NAME(do_exp)(c));
}

SLOW V NAME(do_k1)(V x) {
  V b = NAME(do_least)(B(760.0), NAME(do_most)(B(2.0), x));
  V far = NAME(do_exp_times)(-b, NAME(do_k1_far)(B(4.0) / b - B(1.0)) / NAME(do_sqrt)(b));
  return NAME(do_pick)((M)(x > B(2.0)), far, NAME(do_k1_near)(NAME(do_least)(B(2.0), x)));
}

/* J0(x) / ((x^2 - a^2) (x^2 - b^2)) of s = x^2 / 32 - 1 for x <= 8, where a and b are the zeros */
INLINE V NAME(do_j0_part)(V s) {
  V a0 = NAME(do_fma)(B(-0x1.15d87e4b8d5b1p-9), s, B(0x1.2bc29174dd587p-10));
  V a1 = NAME(do_fma)(B(-0x1.5059ea69f58a4p-11), s, B(0x1.99e65104a68d3p-10));
  V a2 = NAME(do_fma)(B(-0x1.08db6a2de263fp-15), s, B(0x1.6409a6fd7b18ap-13));
  V a3 = NAME(do_fma)(B(-0x1.f633ea85ead51p-22), s, B(0x1.250f537980333p-18));
  V a4 = NAME(do_fma)(B(-0x1.801f7f338e3f3p-29), s, B(0x1.577f683baef54p-25));
  V a5 = NAME(do_fma)(B(-0x1.1a4d9785dfb49p-37), s, B(0x1.65ec7d387de3ap-33));
  V a6 = NAME(do_fma)(B(-0x1.c036367722e7cp-47), s, B(0x1.7df1c71e44494p-42));
  V a7 = NAME(do_fma)(B(-0x1.a30635c623bc9p-57), s, B(0x1.ccaba6ac1d1d3p-52));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V s16 = s8 * s8;
  return NAME(do_fma)(B(0x1.4acb164a01272p-62), s16, d0);
}

/* Y0(x) - 2 / pi log(x) J0(x) of s = x^2 / 32 - 1 for x <= 8 */
INLINE V NAME(do_y0_part)(V s) {
  V a0 = NAME(do_fma)(B(-0x1.a828bfbfdc936p-1), s, B(-0x1.876cb72f1c7ebp-2));
  V a1 = NAME(do_fma)(B(0x1.272bb3b608b42p-3), s, B(0x1.a5a81d661f788p+0));
  V a2 = NAME(do_fma)(B(0x1.5827981135a27p-1), s, B(-0x1.13da2b14a486ep+0));
  V a3 = NAME(do_fma)(B(0x1.7bd6bf2ce9219p-5), s, B(-0x1.c06cc647f6a9dp-3));
  V a4 = NAME(do_fma)(B(0x1.a6a8c6c983949p-11), s, B(-0x1.cc70601236722p-8));
  V a5 = NAME(do_fma)(B(0x1.651b8ed9fa192p-18), s, B(-0x1.31537c5c91f45p-14));
  V a6 = NAME(do_fma)(B(0x1.1998aae2b45b1p-26), s, B(-0x1.5995ab83cf6e4p-22));
  V a7 = NAME(do_fma)(B(0x1.d7ca7889ad0f4p-36), s, B(-0x1.880052eb2347dp-31));
  V a8 = NAME(do_fma)(B(0x1.ccdf434eb730cp-46), s, B(-0x1.f1a7662c6e875p-41));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V s16 = s8 * s8;
  return NAME(do_fma)(a8, s16, d0);
}

/* The factor of the cosine in J0(x), of t = (8 / x)^2 for x >= 8; DLMF 10.17.3 */
INLINE V NAME(do_p0)(V t) {
  V a0 = NAME(do_fma)(B(-0x1.1ffffffffec67p-10), t, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(-0x1.251eda3080b2ep-19), t, B(0x1.cb5fffed800a2p-16));
  V a2 = NAME(do_fma)(B(-0x1.b76c550a94a28p-24), t, B(0x1.84b7af0ea8c9ep-22));
  V a3 = NAME(do_fma)(B(-0x1.a1e12a7414f17p-26), t, B(0x1.753f975f200c9p-25));
  V a4 = NAME(do_fma)(B(-0x1.255f6b2b0e6ecp-27), t, B(0x1.02c6d016e9fa5p-26));
  V a5 = NAME(do_fma)(B(-0x1.233057184e869p-30), t, B(0x1.00e3e64b7ad38p-28));
  V t2 = t * t;
  V b0 = NAME(do_fma)(a1, t2, a0);
  V b1 = NAME(do_fma)(a3, t2, a2);
  V b2 = NAME(do_fma)(a5, t2, a4);
  V t4 = t2 * t2;
  V c0 = NAME(do_fma)(b1, t4, b0);
  V c1 = NAME(do_fma)(B(0x1.374b504c5fc58p-33), t4, b2);
  V t8 = t4 * t4;
  return NAME(do_fma)(c1, t8, c0);
}

/* x times the factor of the sine in it */
INLINE V NAME(do_q0)(V t) {
  V a0 = NAME(do_fma)(B(0x1.2bffffffcf474p-10), t, B(-0x1.ffffffffffff6p-4));
  V a1 = NAME(do_fma)(B(0x1.ba4b9149c74f9p-18), t, B(-0x1.d11dfec5a45d1p-15));
  V a2 = NAME(do_fma)(B(0x1.11fa77755e1eap-21), t, B(-0x1.85f535d227de4p-20));
  V a3 = NAME(do_fma)(B(0x1.3f7a3ad910360p-23), t, B(-0x1.0ed5ec9955303p-22));
  V a4 = NAME(do_fma)(B(0x1.5005ca5072cd1p-25), t, B(-0x1.6e96bc37f1d59p-24));
  V a5 = NAME(do_fma)(B(0x1.cc0f74b58c862p-30), t, B(-0x1.94357eb883b7dp-27));
  V t2 = t * t;
  V b0 = NAME(do_fma)(a1, t2, a0);
  V b1 = NAME(do_fma)(a3, t2, a2);
  V b2 = NAME(do_fma)(a5, t2, a4);
  V t4 = t2 * t2;
  V c0 = NAME(do_fma)(b1, t4, b0);
  V t8 = t4 * t4;
  return NAME(do_fma)(b2, t8, c0);
}

/* J0(x) for 0 <= x <= 8; zeros are subtracted with twice the digits */
INLINE V NAME(do_j0_below)(V x) {
  V a = ((x - B(0x1.33d152e971b40p+1)) - B(-0x1.0f539d7da258ep-53)) * (x + B(0x1.33d152e971b40p+1));
  V b = ((x - B(0x1.6148f5b2c2e45p+2)) - B(0x1.75054cd60a517p-54)) * (x + B(0x1.6148f5b2c2e45p+2));
  return NAME(do_j0_part)(NAME(do_fma)(x, x * B(0x1p-5), B(-1.0))) * a * b;
}

/* J1(x) / x / ((x^2 - a^2) (x^2 - b^2)) of s = x^2 / 32 - 1 for x <= 8, where a and b are the zeros */
INLINE V NAME(do_j1_part)(V s) {
  V a0 = NAME(do_fma)(B(-0x1.1adb1329ed86fp-12), s, B(0x1.98ec1eee7c01ap-13));
  V a1 = NAME(do_fma)(B(-0x1.c5a7fc38dd1d2p-15), s, B(0x1.4c9bd11c0aa3bp-13));
  V a2 = NAME(do_fma)(B(-0x1.0af8bb9889ba5p-19), s, B(0x1.9ac7788fbda1dp-17));
  V a3 = NAME(do_fma)(B(-0x1.941a826756c61p-26), s, B(0x1.06438a6958c6bp-22));
  V a4 = NAME(do_fma)(B(-0x1.0137e01c30438p-33), s, B(0x1.f62979d65f9ffp-30));
  V a5 = NAME(do_fma)(B(-0x1.43c209f40f525p-42), s, B(0x1.ba3fb3164664ep-38));
  V a6 = NAME(do_fma)(B(-0x1.c17f06b848ba1p-52), s, B(0x1.98adeb7711342p-47));
  V a7 = NAME(do_fma)(B(-0x1.6f221e3524955p-62), s, B(0x1.b3b434c2b2957p-57));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V s8 = s4 * s4;
  return NAME(do_fma)(c1, s8, c0);
}

/* (Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x of s = x^2 / 32 - 1 for x <= 8 */
INLINE V NAME(do_y1_part)(V s) {
  V a0 = NAME(do_fma)(B(-0x1.f26fddceafd0ep-3), s, B(0x1.21d516f81acf6p-4));
  V a1 = NAME(do_fma)(B(0x1.e16d7a1d07b70p-3), s, B(0x1.7edab31507d03p-6));
  V a2 = NAME(do_fma)(B(0x1.41bb6917b15d4p-4), s, B(-0x1.923952d7c42a6p-3));
  V a3 = NAME(do_fma)(B(0x1.c097bb98fe19cp-9), s, B(-0x1.4198f92a31f53p-6));
  V a4 = NAME(do_fma)(B(0x1.76c164b803170p-15), s, B(-0x1.d1604f9cc83dap-12));
  V a5 = NAME(do_fma)(B(0x1.ff34fd19a3bdap-23), s, B(-0x1.e35169e135199p-19));
  V a6 = NAME(do_fma)(B(0x1.532eb1cb385e1p-31), s, B(-0x1.c3f1d57dc334bp-27));
  V a7 = NAME(do_fma)(B(0x1.ed15507b8c77ap-41), s, B(-0x1.b5d83c60d7a14p-36));
  V s2 = s * s;
  V b0 = NAME(do_fma)(a1, s2, a0);
  V b1 = NAME(do_fma)(a3, s2, a2);
  V b2 = NAME(do_fma)(a5, s2, a4);
  V b3 = NAME(do_fma)(a7, s2, a6);
  V s4 = s2 * s2;
  V c0 = NAME(do_fma)(b1, s4, b0);
  V c1 = NAME(do_fma)(b3, s4, b2);
  V s8 = s4 * s4;
  V d0 = NAME(do_fma)(c1, s8, c0);
  V s16 = s8 * s8;
  return NAME(do_fma)(B(-0x1.e076e67c9997fp-46), s16, d0);
}

/* The factor of the cosine in J1(x), of t = (8 / x)^2 for x >= 8; DLMF 10.17.3 */
INLINE V NAME(do_p1)(V t) {
  V a0 = NAME(do_fma)(B(0x1.dffffffffeb48p-10), t, B(0x1.0000000000000p+0));
  V a1 = NAME(do_fma)(B(0x1.5a6a4966f3438p-19), t, B(-0x1.274ffff638a90p-15));
  V a2 = NAME(do_fma)(B(0x1.e5b5b2143881ap-24), t, B(-0x1.b88c52c1b6781p-22));
  V a3 = NAME(do_fma)(B(0x1.c1b51ccd966a4p-26), t, B(-0x1.95e81cf512680p-25));
  V a4 = NAME(do_fma)(B(0x1.38a97cd57e1afp-27), t, B(-0x1.14c18b57096f0p-26));
  V a5 = NAME(do_fma)(B(0x1.355e0b7f86327p-30), t, B(-0x1.113e68a9dd7cbp-28));
  V t2 = t * t;
  V b0 = NAME(do_fma)(a1, t2, a0);
  V b1 = NAME(do_fma)(a3, t2, a2);
  V b2 = NAME(do_fma)(a5, t2, a4);
  V t4 = t2 * t2;
  V c0 = NAME(do_fma)(b1, t4, b0);
  V c1 = NAME(do_fma)(B(-0x1.4a7cd6831220dp-33), t4, b2);
  V t8 = t4 * t4;
  return NAME(do_fma)(c1, t8, c0);
}

/* x times the factor of the sine in it */
INLINE V NAME(do_q1)(V t) {
  V a0 = NAME(do_fma)(B(-0x1.a3ffffffcc7e2p-10), t, B(0x1.7fffffffffffdp-2));
  V a1 = NAME(do_fma)(B(-0x1.fe5744d612fdbp-18), t, B(0x1.1c3cff59d3617p-14));
  V a2 = NAME(do_fma)(B(-0x1.2c22f65acd5e7p-21), t, B(0x1.b3d7d96a4560cp-20));
  V a3 = NAME(do_fma)(B(-0x1.56b29de6b3e36p-23), t, B(0x1.24d87d452731fp-22));
  V a4 = NAME(do_fma)(B(-0x1.65f95ea1c1c7ep-25), t, B(0x1.877bc5581c05cp-24));
  V a5 = NAME(do_fma)(B(-0x1.e9105297013f5p-30), t, B(0x1.ae088cbf0c7c6p-27));
  V t2 = t * t;
  V b0 = NAME(do_fma)(a1, t2, a0);
  V b1 = NAME(do_fma)(a3, t2, a2);
  V b2 = NAME(do_fma)(a5, t2, a4);
  V t4 = t2 * t2;
  V c0 = NAME(do_fma)(b1, t4, b0);
  V t8 = t4 * t4;
  return NAME(do_fma)(b2, t8, c0);
}

/* J1(x) for 0 <= x <= 8; zeros are subtracted with twice the digits */
INLINE V NAME(do_j1_below)(V x) {
  V a = ((x - B(0x1.ea75575af6f09p+1)) - B(-0x1.60155a9d1b256p-53)) * (x + B(0x1.ea75575af6f09p+1));
  V b = ((x - B(0x1.c0ff5f3b47250p+2)) - B(-0x1.b226d9d243827p-54)) * (x + B(0x1.c0ff5f3b47250p+2));
  return x * NAME(do_j1_part)(NAME(do_fma)(x, x * B(0x1p-5), B(-1.0))) * a * b;
}

/* (P u + Q v) / sqrt(pi x) of DLMF 10.17.3 and 10.17.4, of t = 8 / x, p = P and q = x Q */
INLINE V NAME(do_waves)(V t, V p, V q, V u, V v) {
  return NAME(do_fma)(p, u, B(0.125) * t * q * v) * (B(0x1.9884533d43651p-3) * NAME(do_sqrt)(t));
}

SLOW V NAME(do_j0_near)(V x) {
  V a = (V)((M)x & ~SIGN), b = NAME(do_most)(B(8.0), a), t = B(8.0) / b, c, s = NAME(do_sin_cos)(b, &c);
  V near = NAME(do_j0_below)(NAME(do_least)(B(8.0), a));
  V far = NAME(do_waves)(t, NAME(do_p0)(t * t), NAME(do_q0)(t * t), c + s, c - s);
  V r = NAME(do_pick)((M)(a < B(8.0)), near, NAME(do_pick)((M)(a == a), far, a));
  return r;
}

SLOW V NAME(do_y0_near)(V x) {
  V a = NAME(do_least)(B(8.0), x), b = NAME(do_most)(B(8.0), x), t = B(8.0) / b, c, s = NAME(do_sin_cos)(b, &c);
  V rest = NAME(do_y0_part)(NAME(do_fma)(a, a * B(0x1p-5), B(-1.0)));
  V near = NAME(do_fma)(B(0x1.45f306dc9c883p-1) * NAME(do_log)(a), NAME(do_j0_below)(a), rest);
  V far = NAME(do_waves)(t, NAME(do_p0)(t * t), NAME(do_q0)(t * t), s - c, c + s);
  near = NAME(do_pick)((M)(x >= B(0.0)), near, B(__builtin_nan("")));
  return NAME(do_pick)((M)(x > B(8.0)), far, near);
}

SLOW V NAME(do_j1_near)(V x) {
  V a = (V)((M)x & ~SIGN), b = NAME(do_most)(B(8.0), a), t = B(8.0) / b, c, s = NAME(do_sin_cos)(b, &c);
  V near = NAME(do_j1_below)(NAME(do_least)(B(8.0), a));
  V far = NAME(do_waves)(t, NAME(do_p1)(t * t), NAME(do_q1)(t * t), s - c, c + s);
  V r = NAME(do_pick)((M)(a < B(8.0)), near, NAME(do_pick)((M)(a == a), far, a));
  return (V)((M)r ^ ((M)x & SIGN));
}

SLOW V NAME(do_y1_near)(V x) {
  V a = NAME(do_least)(B(8.0), x), b = NAME(do_most)(B(8.0), x), t = B(8.0) / b, c, s = NAME(do_sin_cos)(b, &c);
  V near = NAME(do_fma)(NAME(do_log)(a), NAME(do_j1_below)(a), B(-1.0) / a) * B(0x1.45f306dc9c883p-1);
  near = NAME(do_fma)(a, NAME(do_y1_part)(NAME(do_fma)(a, a * B(0x1p-5), B(-1.0))), near);
  near = NAME(do_pick)((M)(a > B(0x1p-1000)), near, B(-0x1.45f306dc9c883p-1) / (V)((M)a & ~SIGN));
  V far = NAME(do_waves)(t, NAME(do_p1)(t * t), NAME(do_q1)(t * t), -(c + s), s - c);
  near = NAME(do_pick)((M)(x >= B(0.0)), near, B(__builtin_nan("")));
  return NAME(do_pick)((M)(x > B(8.0)), far, near);
}
