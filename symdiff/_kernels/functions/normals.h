/* The scaled complementary error function and inverses of the normal distribution, of whole vectors of float64,
      where a
   product and a sum are one instruction: the same text in the interpreter and in generated code, as vector.h has it.

   Needs vector.h, lanes.h, exponential.h, and what these need. */

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
