"""Every scalar function of the table, to third order, at ordinary points and where it is hardest.

The reference is mpmath with 150 digits. A derivative may be off by some units of the last
place, and by what half a unit of its argument would change; a formula that cancels fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff import Array
from symdiff.graph import BOOL, constant
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.differences import DIFFERENCES
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply
from symdiff.graph.scalars.remainders import REMAINDERS
from symdiff.tools.checking.multiprecision import missing_scalars

DIGITS = 150
ZERO_STEP = 170
LARGEST = np.finfo(float).max
TINY = 1e-307

#: Rows that are tested in test_remainders, and in test_divided_differences.
QUOTIENTS = {name for each in REMAINDERS for name in (each.name, each.name_by_square)}
QUOTIENTS |= {each.name for each in DIFFERENCES}
#: Functions of real numbers with values in them; conditions are tested on their own.
REALS = [
    name
    for name, row in FUNCTIONS.items()
    if BOOL not in (row.takes, row.gives) and name != "where" and name not in QUOTIENTS
]
PIECES = [name for name in REALS if all(p is Partial.ZERO for p in FUNCTIONS[name].partials)]
SMOOTH = [name for name in REALS if name not in PIECES]
#: Functions whose first argument is an order, known beforehand.
ORDERED = [name for name in REALS if FUNCTIONS[name].partials[0] is Partial.NONE]

EVERYWHERE = [s * x for x in (1e-300, 1e-150, 1e-20, 1e-8, 1e-3, 0.3, 1.0, 2.5, 17.0, 40.0) for s in (1, -1)]
STEPS = [s * x for x in (1e-300, 1e-20, 1e-8, 0.1, 0.3, 1.0, 2.5, 17.0, 40.0) for s in (1, -1)]
FAR = [s * x for x in (300.0, 700.0, 1e4, 1e80, 1e150, 1e300) for s in (1, -1)]
RIGHT = [1e-300, 1e-150, 1e-8, 1e-3, 0.4, 1.0, 1.5, 40.0, 1e5, 1e80, 1e300]
INNER = (0.0, 1e-300, 1e-160, 1e-20, 1e-8, 0.1, 0.3, 0.9, 1 - 2**-30, np.nextafter(1, 0))
INSIDE = [s * x for x in INNER for s in (1, -1)]
SMALL = [0.0, 1e-300, -1e-300, 1e-8, -1e-3, 0.5, -0.9]

#: Where functions of one argument are looked at, besides random points of their domain.
POINTS: dict[str, list[float]] = {
    "negative": [0.0, *EVERYWHERE, *FAR],
    "sqrt": RIGHT,
    "cbrt": [s * x for x in RIGHT[1:] for s in (1, -1)],
    "exp": [0.0, *EVERYWHERE, -700.0, 700.0, -800.0, 800.0],
    "exp2": [0.0, *EVERYWHERE, -1000.0, 1000.0, 1100.0],
    "expm1": [0.0, *EVERYWHERE, -700.0, 700.0],
    "log": RIGHT,
    "log2": RIGHT,
    "log10": RIGHT,
    "log1p": [*SMALL, -1 + 2**-30, np.nextafter(-1, 0), 1e5, 1e80, 1e300],
    "sin": [0.0, *EVERYWHERE, 1e5, 1e15, math.pi],
    "cos": [0.0, *EVERYWHERE, 1e5, 1e15, math.pi / 2],
    "tan": [0.0, 1e-300, 1e-8, -1e-3, 0.7, -1.5, 1.57, 3.0, 100.0],
    "arcsin": INSIDE,
    "arccos": INSIDE,
    "arctan": [0.0, *EVERYWHERE, 300.0, -1e4, 1e30, 1e70, -1e77, 1e100, 1e150, -1e300],
    "sinh": [0.0, *EVERYWHERE, 700.0, -700.0],
    "cosh": [0.0, *EVERYWHERE, 700.0, -700.0],
    "tanh": [0.0, *EVERYWHERE, 100.0, -100.0, 720.0, -1e3],
    "sech": [0.0, 1e-300, 1e-8, *STEPS, 100.0, -100.0, 300.0, 720.0, -1e3],
    "csch": [1e-8, -1e-3, 0.3, 1.0, -2.5, 17.0, 300.0, -700.0],
    "log_cosh": [0.0, *STEPS[2:], 300.0, -700.0, 1e3],
    "log_sinh_quotient": [0.0, *STEPS[2:], 1e-5, 1.0, 300.0, -700.0, 1e3],
    "log_exp_quotient": [0.0, *STEPS[6:], 1.0, 300.0, -700.0, 1e3],
    "arcsinh": [0.0, *EVERYWHERE, 300.0, -1e4, 1e30, -1e30, 1e100, 1e150, 1e160, -1e300],
    "arccosh": [1.5, 1 + 2**-40, np.nextafter(1, 2), 3.0, 1e5, 1e30, 1e100, 1e150, 1e160, 1e300],
    "arctanh": INSIDE,
    "erf": [0.0, 1e-8, -1e-3, *STEPS[:8], 5.0, -20.0, 26.0],
    "erfc": [0.0, 1e-8, -1e-3, *STEPS[:8], 5.0, -20.0, 26.0],
    "gamma": [1e-30, 1e-8, 0.1, 0.5, 1.0, 2.0, 1.4616321449683622, 10.0, 100.0, 150.0, -0.5, -2.5, -7.3],
    "lgamma": [1e-30, 1e-8, 0.1, 0.5, 1.0 + 2**-20, 2.0 - 2**-20, 10.0, 1e5, 1e80, 1e160, -0.5, -2.5],
    "digamma": [1e-100, 1e-8, 0.1, 1.0, 1.4616321449683622, 2.0, 10.0, 1e5, 1e50, 1e100, 1e160, -0.5, -2.5],
    "erfcx": [1e-8, -1e-3, 0.5, 0.61, 3.0, 9.9, 10.1, 30.0, -1.0, -5.0, -20.0],
    "erfinv": [1e-8, 0.3, -0.9, 0.999],
    "erfcinv": [1 - 1e-8, 0.3, 1e-8, 1.9],
    "ndtr": [1e-8, -0.3, 1.0, 5.0, -10.0, -20.0, 8.0],
    "log_ndtr": [1e-8, -0.7, 1.0, -0.84, -0.86, -10.0, -37.0, -300.0, 8.0],
    "ndtri": [0.5 + 1e-8, 0.3, 1e-8, 0.9],
    "j0": [1e-8, 0.5, -7.0],
    "j1": [1e-8, 0.5, -7.0],
    "y0": [1e-8, 0.5, 7.5],
    "y1": [0.5, 7.0],
    "j0_near": [1e-8, 0.5, -7.0],
    "j1_near": [1e-8, 0.5, -7.0],
    "y0_near": [1e-8, 0.5, 7.5],
    "y1_near": [0.5, 7.0],
    "i0": [1e-8, 0.5, -7.0, 300.0],
    "i1": [1e-8, 0.5, -7.0, 300.0],
    "k0": [0.5],
    "k1": [0.5],
    "k0e": [1e-3, 30.0],
    "k1e": [30.0],
    "ellipk": [0.0, 1e-8, -1e-8, 0.5 - 2**-20, 0.51, 0.999, -1e3],
    "ellipkm1": [1e-20, 1e-8, 0.5, 1.0 - 1e-8, 1.5, 30.0, 1e4],
    "ellipe": [0.0, 1e-8, -1e-8, 0.5 - 2**-20, 0.51, 0.999, -1e3],
    "si": [0.0, 1e-100, 1e-8, 3.99, -4.01, 9.0, 1e4],
    "ci": [1e-100, 1e-8, 3.99, 4.01, 9.0, 1e4],
    "fresnels": [1e-100, 1e-8, 1.49, -1.51, 4.0, 40.3],
    "fresnelc": [1e-100, 1e-8, 1.49, -1.51, 4.0, 40.3],
    "airyai": [0.0, 1e-8, 0.49, 9.7, 10.3, 40.0, -0.51, -9.99, -10.3],
    "airyaiprime": [0.0, 1e-8, 0.49, 9.7, 10.3, 40.0, -0.51, -9.99, -10.3],
    "airybi": [0.0, 1e-8, 0.49, 9.7, 10.3, 40.0, -0.51, -9.99, -10.3],
    "airybiprime": [0.0, 1e-8, 0.49, 9.7, 10.3, 40.0, -0.51, -9.99, -10.3],
    "lambertw": [0.0, 1e-100, -1e-8, -0.36, -0.33, 0.5, 30.0, 1e100],
    "lambertwm1": [-1e-100, -1e-8, -0.36, -0.3, -0.26, -0.24],
    "dawsn": [0.0, 1e-8, -0.5, 3.0, 7.01, -20.0, 1e4, 1e9],
    "exp1": [1e-8, 0.5, 30.0],
    "log_gamma": [1e-30, 1e-8, 0.1, 0.5, 1.0 + 2**-20, 2.0 - 2**-20, 10.0, 1e5, 1e80, 1e160, -1.5, -3.3],
    "log_erfc": [0.0, 1e-8, -1e-3, 0.49, 0.51, 3.0, 9.9, 30.0, -1.0, -5.0, -9.0],
    "log_i0": [0.1, 0.5, 0.99, 1.01, -7.0, 300.0, 1e4, -1e8],
    "log_i1": [0.1, 0.5, 7.0, 300.0, 1e4],
    "log_erfcx": [-30.0, -2.0, -1e-9, 1e-9, 0.5, 40.0, 1e9],
    "log_k0": [1e-3, 0.5, 30.0, 1e3, 1e6],
    "log_k1": [1e-3, 0.5, 30.0, 1e3, 1e6],
    "log_exp1": [1e-3, 0.5, 9.9, 10.1, 1e3, 1e6, 1e60],
    "log_exp1_slope": [1e-3, 0.5, 9.9, 10.1, 1e3, 1e6],
    "log_expi_slope": [0.5, 49.0, 51.0, 1e3, 1e6],
    "log_expi": [0.5, 49.0, 51.0, 1e3, 1e6],
    "i_ratio": [0.1, 0.5, -3.0, 39.9, 40.1, 1e4],
    "k_ratio": [1e-3, 0.5, 30.0, 1e3, 1e6],
    "expi": [1e-8, 30.0, -2.0],
    "spence": [1e-8, 0.49, 0.51, 1.0 - 1e-8, 1.0 + 1e-8, 1.5, 30.0],
    "i0e": [1e-8, 0.5, -3.0, 39.9, 40.1, 1e4],
    "i1e": [1e-8, 0.5, -3.0, 39.9, 40.1, 1e4],
    "cos_of_root": [0.0, 1e-300, 1e-8, 0.3, 1.0, 2.5, 3.99, 4.01, 9.0, 50.0, 1e4],
    "cosh_of_root": [0.0, 1e-300, 1e-8, 0.3, 0.99, 1.01, 2.5, 9.0, 50.0, 1e4],
    "one_minus_square": [*INSIDE, 3.0, -1e100],
    "lorentzian": [0.0, *EVERYWHERE, 300.0, -1e4, 1e30, 1e60, -1e77, 1e100],
    "sigmoid_slope": [0.0, *STEPS, 300.0, -300.0, 700.0, -700.0, 1e3, -1e3],
    "sigmoid": [0.0, *STEPS, 300.0, -300.0, 700.0, -700.0, 1e3, -1e3],
    "log_sigmoid": [0.0, *STEPS, 300.0, -300.0, 700.0, -700.0, 1e3, -1e3],
    "softplus": [0.0, *STEPS, 300.0, -300.0, 700.0, -700.0, 1e3, -1e3],
    "sinc": [0.0, 1e-300, 1e-100, 1e-8, -1e-3, 0.5, 1.0, 1.5, -2.0, 7.3, 100.5],
    "logit": [1e-300, 1e-20, 1e-3, 0.2499, 0.2501, 0.5 - 2**-30, 0.5 + 2**-50, 0.75, 0.9, 1 - 2**-40],
    "log1mexp": [1e-300, 1e-20, 1e-3, 0.69, 0.7, 2.5, 17.0, 40.0, 300.0, 700.0],
    "entr": RIGHT,
    "bounded": [*EVERYWHERE],
    "arccos_square": [-0.9, 0.0, 0.74, 0.76, 1 - 1e-9, 1.0],
    "arccosh_square": [1.0, 1 + 1e-9, 1.24, 1.26, 50.0],
    "gelu_argument": [*EVERYWHERE, 23.9, -23.9, 24.1, 1e50],
    "soft_sign": [*EVERYWHERE[4:], 300.0, -1e30, 1e50],
    "abs": EVERYWHERE,
}
#: Pairs of numbers above 0, some of them nearly equal, some with a quotient beyond a double.
RATIOS = [(1.0, 1.0), (2.0, 2.0 + 1e-9), (3.0, 3.0 - 1e-3), (1e-8, 7.0), (7.0, 1e-8), (1e-200, 1e150), (1e200, 1e-150)]
#: Relative errors that are larger than of the others: SciPy's own.
BOUNDS = dict.fromkeys(("binom", "poch", "j0", "j1", "jv", "y0", "y1", "yv"), 1e-12)
BOUNDS |= {f"{name}_near": 1e-12 for name in ("j0", "j1", "jv", "y0", "y1", "yv")}
#: Third derivatives of logarithms of incomplete functions, as products, cancel beside their zeros.
BOUNDS |= {name: 4e-12 for name in FUNCTIONS if name.startswith("log_") and ("inc" in name or "stdtr" in name)} | {
    "betainc_by_bbb": 1e-12,
    "gammaincinv": 5e-13,  # a sum of products of slopes
    "log_gammainc_by_x": 2e-11,
    # Slopes by a are powers of 1 / a times derivatives of log Γ, which cancel where a is no longer small.
    "log_rising": 2e-11,
    "log_rising_slope": 2e-11,
    # Derivatives of Faddeeva's function near the real axis are sums beside a pole, which cancel.
    **dict.fromkeys(("voigt_profile", "voigt_real", "voigt_imag", "wofz_real", "wofz_imag"), 2e-11),
    # Sums over neighbouring orders, which cancel up to where the expansion far out has all digits.
    **dict.fromkeys(("ive", "ive_near", "ive_derivative"), 1e-11),
    "log_iv": 1e-12,
    # Less the first terms of its expansion, from which on that expansion serves.
    **dict.fromkeys(("expi_scaled", "log_expi"), 2e-11),
    "log_expi_slope": 1e-10,
}
FARTHEST = [(1e200, 1e200), (1e250, -1e-50), (1e-300, 1e300), (1e160, 3e160)]
LENGTHS = [
    *((3.0, 4.0), (-3.0, 4.0), (2.0, 2.0), (0.5, 1.0), (1e30, 2e30), (1e-30, 2e-30), (0.0, 2.0), (2.0, 0.0)),
    *((1e-8, 1.0), (1.0, 1e-8), (1.0, -1e-200), (1e-200, 1.0), (1e20, 1e-20), (1e-80, 1e-140), (1e-140, -1e-80)),
    *FARTHEST,
]
#: Functions of a point in the plane, which one coordinate may hardly move.
PLANE = ("arctan2", "hypot", "direction_cos", "direction_sin", "inversion_x", "inversion_y")
#: Functions that differ from a constant, far out, by as little as exp(-1e3).
LEVEL = (
    *("expm1", "tanh", "erf", "erfc", "sigmoid", "log_sigmoid", "softplus", "logaddexp", "log_cosh"),
    *("exp_share", "log_exp_sum", "log1mexp"),
)
EXPONENTIALS = [(b, c, t) for b, c in ((1.0, 1.0), (2.0, 0.3)) for t in (0.0, 1e-8, -3.0, 40.0, -40.0, 300.0)]
PAIRS: Mapping[str, Sequence[tuple[float, ...]]] = {
    "add": [(1.0, -1.0), (1e300, 1e-300), (0.0, 0.0)],
    "subtract": [(1.0, 1.0), (1e300, 1e-300), (0.0, 0.0)],
    "multiply": [(0.0, 3.0), (1e200, 1e-200), (-2.0, 0.0)],
    "divide": [(0.0, 3.0), (1e200, 1e200), (1.0, 1e-50), (1e50, 1e50), (-2.0, 7.0), (3.0, -1e100), (1e-300, 1e-10)],
    "power": [
        *((2.0, 0.0), (2.0, 1.0), (2.0, 0.5), (2.0, -3.5), (1e-8, 2.5), (1e-100, 0.1), (1e50, 3.0), (1e50, -1.5)),
        *((1.0, 40.0), (1 + 1e-9, 1e6), (0.5, 100.0), (1e-20, 0.0), (7.0, 1e-300), (1.0, 0.0), (0.9999, -2000.0)),
        *((1e-300, 1.5), (1e-300, 2.0), (1e-160, 2.5), (1e300, 1.5), (1e160, 2.0), (1e-160, -1.5), (1e100, -3.0)),
    ],
    "power_log": [(n, x, y) for n in (1.0, 2.0) for x in (1e-60, 0.3, 7.0, 1e80) for y in (-0.5, 0.0, 1.5)],
    "pseudo_huber_loss": [(d, r) for d in (0.5, 3.0, 1e8) for r in (-50.0, -0.7, 0.0, 1e-9, 3.0)],
    "pseudo_huber_force": [(d, r) for d in (0.5, 3.0, 1e8) for r in (-50.0, -0.7, 1e-9, 3.0)],
    "pseudo_huber_slope": [(d, r) for d in (0.5, 3.0) for r in (-0.7, 1e-9, 3.0)],
    "power_remainder": [(0.0, x, t) for x in (1e-60, 0.3, 1.1, 1e80) for t in (-1.5, -1e-3, 0.0, 1e-9, 0.4, 2.0)],
    "arctan2": [
        *((1.0, 1.0), (1.0, -1.0), (-1.0, -2.0), (1e-8, 3.0), (1e-8, -3.0), (3.0, 0.0), (0.0, 2.0), (-2.0, 1e-300)),
        *((1e30, 2e30), (1e-30, 2e-30), (-5e20, 3e21), *LENGTHS),
    ],
    "hypot": LENGTHS,
    "direction_cos": [*LENGTHS[::4], *FARTHEST],
    "direction_sin": [*LENGTHS[::4], *FARTHEST],
    "inversion_x": [*LENGTHS[::4], *FARTHEST],
    "inversion_y": [*LENGTHS[::4], *FARTHEST],
    "logaddexp": [
        (0.0, 0.0),
        (1e3, 1e3),
        (500.0, -500.0),
        (-1e4, -1e4 + 1),
        (300.0, 0.0),
        (0.0, 350.0),
        (0.1, 0.0),
        (5.0, 5.0),
        *((0.0, 1e-300), (0.0, 1e-20), (0.0, 1e-8), (5.0, 5.0 + 1e-10), (0.0, 30.0), (36.0, 0.0)),
    ],
    "exp_gap": [(-3.0, 1e-20), (2.0, -40.0), (-800.0, 801.0), (700.0, -90.0), (0.5, 0.3), (300.0, 1e-8)],
    "exp_share": EXPONENTIALS,
    "log_exp_sum": [point for point in EXPONENTIALS if abs(point[2]) < 5],  # far out c F(c, b, -t) cancels
    "xlog_sigmoid": [(0.0, 2.0), (0.0, -1e300), (2.0, -800.0), (3.0, 800.0), (0.5, 1e-20), (1e100, -3.0)],
    "xlog1py": [(0.0, 2.0), (2.0, 1e-20), (-2.0, -1e-300), (3.0, -0.9), (1e100, 1e-9), (3.0, 1e80)],
    "rel_entr": RATIOS[:-2],
    "kl_div": [*RATIOS[:-2], (1.4, 1.0), (1.6, 1.0), (0.4, 1.0)],
    "log_ratio": RATIOS,
    "log_product": [(2.0, 3.0), (1e-300, 1e200), (0.5, 2.0 + 1e-9), (-2.0, -3.0)],
    "log_quotient": [(2.0, 3.0), (1e-150, 1e150), (0.5, 7.0), (-2.0, -3.0)],
    "part_of": [*RATIOS[:-2], (0.0, 2.0)],
    "xlogy": [(0.0, 2.0), (0.0, 1e-300), (1e-300, 1e-300), (2.0, 1.0), (-2.0, 3.0), (1e100, 1 + 1e-9), (3.0, 1e80)],
    "mod": [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (0.3, 5.0), (1e10 + 0.5, 3.0), (1.0, 0.1), (-1.0, 0.3)],
    "maximum": [(1.0, 2.0), (2.0, 1.0), (-1e300, 1e300), (1e-3, -0.5)],
    "minimum": [(1.0, 2.0), (2.0, 1.0), (-1e300, 1e300), (1e-3, -0.5)],
    "polygamma": [(n, x) for n in (1.0, 2.0, 5.0) for x in (1e-30, 0.1, 1.0, 10.0, 1e5, 1e30, 1e100, 1e150, -0.5)],
    "polygamma_gap": [(0.0, 14.9, 1e-8), (0.0, 40.0, -15.0)],
    "ierfcx": [(1.0, x) for x in (1e-8, 0.59, 2.0, 20.0, -3.0)],
    "log_ndtr_derivative": [(n, x) for n in (1.0, 2.0) for x in (-0.86, -3.0, -30.0, 9.0)],
    "log_rising": [(n, y, a) for n in (0.0,) for y in (0.7, 7.0) for a in (1e-9, 1e-3, 0.039, 2.0)],
    "log_rising_slope": [(n, y, a) for n in (0.0,) for y in (0.7, 7.0) for a in (1e-9, 1e-3, 0.039, 2.0)],
    "root_gap": [(1.0, 1e-20), (-1.0, 1.0), (3.0, -8.9), (0.5, 2.0)],
    "root_quotient": [(1.0, 1e-20), (-1.0, 1.0), (3.0, -8.9), (0.5, 2.0)],
    "erfc_ratio": [(0.3, 0.2), (30.0, 31.0), (-4.0, 15.0), (30.0, 1.0)],
    "ndtr_ratio": [(0.3, 0.2), (-40.0, -41.0), (4.0, -20.0), (-45.0, 1.0)],
    "log_ndtr_between": [(0.3, 0.2), (2.0, 1.0), (-3.0, -3.3), (3.0, -50.0), (1.0, 0.5001), (1.0, 0.4999)],
    "log_beta": [(1e-8, 5.0), (0.5, 0.5), (30.0, 1.0), (500.0, 700.0)],
    "log_binom": [(10.0, 3.0), (10.0, 5.0), (0.5, 0.3), (1e3, 2.5), (2000.0, 1000.0)],
    "log_poch": [(30.0, 5.0), (1e5, 0.5), (3.0, -0.5), (500.0, 400.0)],
    "log_kv": [(7.5, 1.0), (2.0, 300.0)],
    "gated": [(0.5, 0.3), (-700.0, 1e-300), (1e30, 1.0)],
    "arccos_quotient": [(0.0, x) for x in (-0.9, 0.0, 0.74, 0.76, 1 - 1e-9, 1.0)],
    "arccosh_quotient": [(0.0, x) for x in (1.0, 1 + 1e-9, 1.24, 1.26, 50.0)],
    "log_iv": [(7.5, 1.0), (2.0, 300.0), (0.5, 2e3)],
    "exp1_moment": [(1.0, x) for x in (1e-3, 9.9, 10.1, 1e3)],
    "expi_scaled": [(1.0, x) for x in (0.5, 49.0, 51.0, 1e3)],
    "betaln": [(1e-8, 5.0), (0.5, 0.5), (30.0, 1.0), (1e5, 0.5)],
    "beta_slope": [(0.5, 0.5), (3.0, 1.0)],
    "beta": [(0.5, 0.5), (30.0, 1.0), (1e5, 0.5)],
    "poch": [(0.5, 1e-8), (30.0, 5.0), (1e5, 0.5), (3.0, -0.5)],
    "binom": [(10.0, 3.0), (10.0, 5.0), (0.5, 0.3), (1e3, 2.5)],
    "jv": [(0.0, 0.5), (1.0, 1e-8), (2.0, 7.0), (7.5, 1.0)],
    "yv": [(7.5, 1.0)],
    "yv_near": [(7.5, 1.0)],
    "jv_near": [(0.0, 0.5), (2.0, 7.0), (7.5, 1.0)],
    "bessel_far": [(0.0, 0.5, 1e8), (1.0, 2.5, 1e9), (2.0, 800.5, 700.0)],
    "kve_near": [(0.5, 1e-3), (7.5, 1.0), (2.0, 300.0)],
    "iv": [(0.0, 0.5), (1.0, 1e-8), (2.0, 7.0), (7.5, 1.0)],
    "iv_far": [(0.5, 2.0)],
    "ive": [(0.5, 1e-3), (2.0, -7.0), (7.5, 1.0), (0.0, 19.9), (0.0, 20.1), (3.0, -1e4), (40.0, 1e4)],
    "ive_near": [(0.5, 2.0)],
    "ive_derivative": [(1.0, 0.3, 0.5), (1.0, 0.3, 26.0), (1.0, 2.0, -1e5)],
    "kv": [(7.5, 1.0)],
    "gammainc": [(0.5, 1e-8), (3.0, 0.5), (20.0, 28.0), (1.0, 2.0)],
    "gammaincc": [(0.5, 1e-8), (3.0, 0.5), (20.0, 28.0), (1.0, 2.0)],
    "gamma_density": [(n, a, x) for n in (0.0, 1.0) for a, x in ((0.5, 1e-8), (3.0, 0.5), (40.0, 30.0), (40.0, 90.0))],
    "betainc": [(0.5, 0.5, 1e-8), (3.0, 2.0, 0.5), (20.0, 25.0, 0.4), (1.0, 1.0, 0.3)],
    "dawsn_derivative": [(1.0, x) for x in (0.0, 1e-8, 3.0, -7.01, 1e9)],
    "owens_t": [(0.0, 0.5), (2.0, 1.5), (-1.0, -0.3)],
    "gammaincinv": [(3.0, 0.5)],
    "gammainccinv": [(3.0, 0.5)],
    "beta_density": [(3.0, 2.0, 0.3), (40.0, 60.0, 0.37), (0.5, 0.5, 1e-8)],
    "betaincinv": [(3.0, 2.0, 0.5)],
    "betaincinv_near": [(3.0, 2.0, 0.5)],
    **{name: [(3.0, 0.5)] for name in FUNCTIONS if name.startswith(("gammainc_by", "log_gammainc"))},
    **{name: [(3.0, 2.0, 0.6)] for name in FUNCTIONS if name.startswith(("betainc_by", "log_betainc"))},
    **{name: [(4.0, 0.5), (7.5, -3.0)] for name in FUNCTIONS if name.startswith(("stdtr_by", "log_stdtr"))},
    "hyp0f1": [(1.0, 0.5), (2.5, -400.0)],
    "hyp1f1": [(1.0, 2.0, -4.0), (0.5, 1.5, 3.0), (0.5, 1.5, -80.0)],
    "hyp2f1": [(1.0, 2.0, 1.5, -0.5), (0.5, 0.3, 1.2, 0.999), (0.5, 0.3, 1.2, -1e5)],
    **{name: [(n, x, 0.3) for n in (0.0, 1.0) for x in (0.0, -1.2, 40.0)] for name in ("wofz_real", "wofz_imag")},
    "voigt_profile": [(0.5, 1.5, 2.5), (30.0, 0.1, 0.2), (0.0, 1.0, 0.0)],
    **{name: [(1.0, 30.0, 0.1, 0.2)] for name in ("voigt_real", "voigt_imag")},
    "zeta_by_s": [(1.0, 2.0, 1.0), (1.0, 1.5, 50.0)],
    "stdtr": [(1.0, 0.5), (4.0, 1e-8), (7.5, -3.0), (100.0, 2.0)],
    "stdtrit": [(7.5, 0.01)],
    "zeta": [(2.0, 1.0), (1.5, 50.0)],
    "expn": [(n, x) for n in (1.0, 4.0) for x in (1e-8, 0.5, 30.0)],
    "k_moment": [(1.0, 0.3, 1e-3), (1.0, 2.5, 30.0)],
    "kve": [(0.5, 1e-3), (7.5, 1.0), (2.0, 300.0)],
    "ellipk_derivative": [(1.0, p) for p in (1e-8, 0.51, 1.0, 1.99, 2.01, 1e4)],
    "ellipe_derivative": [(1.0, p) for p in (1e-8, 0.51, 1.0, 1.99, 2.01, 1e4)],
    "i_moment": [(1.0, x) for x in (0.5, -3.0, 40.1)],
    "spherical_jn": [
        (n, x)
        for n in (0.0, 1.0, 3.0)
        for x in (0.0, 1e-300, 1e-150, 1e-50, 1e-8, -1e-3, 0.5, 3.0, -20.0, 100.0)
    ],
}


def points(name: str) -> list[tuple[float, ...]]:
    row = FUNCTIONS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    count = 3 if row.orders or row.library or row.special else 6  # many digits of these take long
    drawn = [tuple(low if low == high else rng.uniform(low, high) for low, high in row.domain) for _ in range(count)]
    assert name in POINTS or name in PAIRS, f"no arguments for {name}: add a line to POINTS, or to PAIRS for several"
    given = PAIRS[name] if row.arity > 1 else [(x,) for x in POINTS[name]]
    return [tuple(map(float, p)) for p in (*drawn, *given)]


def active(name: str) -> list[int]:
    """Return the arguments a function is differentiated by."""
    return [i for i, p in enumerate(FUNCTIONS[name].partials) if not isinstance(p, Partial)]


def partials(name: str) -> list[tuple[int, ...]]:
    """Return the partial derivatives up to third order, as the arguments in order of differentiation."""
    # values of the first take long in many digits, and betaln has its thirds; the second is a slope itself
    most = 2 if name in ("polygamma_gap", "log_rising_slope") else 3
    _, _, taken = name.partition("_by_")
    if taken and "x" not in taken:  # a derivative by parameters, which are offered to third order, and by x to any
        most = {1: 2, 2: 1, 3: 1}[len(taken)] if taken != "df" else 2
    every = (by for k in range(most + 1) for by in itertools.product(active(name), repeat=k))
    # Student's distribution has one derivative by df
    return [by for by in every if "stdtr" not in name or by.count(0) + (taken == "df") < 2]


def digits(name: str, point: tuple[float, ...]) -> int:
    """Return how many digits differences at ``point`` need: steps are far below the smallest argument."""
    far = abs(point[0] - point[1]) if name == "logaddexp" else max(map(abs, point))
    flat = 0 if name not in LEVEL else far * far if name.startswith("erf") else far
    near = 8 if name in PLANE else 4
    return DIGITS + math.ceil(flat) + near * max(math.ceil(abs(math.log10(abs(x)))) if x else ZERO_STEP for x in point)


def derivatives(f: Callable[..., Any], point: tuple[float, ...]) -> Callable[..., Any]:
    """Return the derivatives at ``point`` by central differences, steps relative to each argument.

    Those of each order share values on one grid, and each value is computed once.
    """
    at = [mpmath.mpf(x) for x in point]
    steps = [abs(x) * mpmath.mpf("1e-22") if x else mpmath.mpf(10) ** -ZERO_STEP for x in at]

    @cache
    def value(*moves: int) -> Any:
        return f(*(x + k * step for x, k, step in zip(at, moves, steps, strict=True)))

    @cache
    def slope(*by: int) -> Any:
        total, largest = mpmath.mpf(0), mpmath.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(by)):
            moves = [0] * len(at)
            for sign, i in zip(signs, by, strict=True):
                moves[i] += sign
            here = value(*moves)
            largest = max(largest, abs(here))
            total += math.prod(signs) * here
        scale = mpmath.fprod(2 * steps[i] for i in by)
        noise = largest * mpmath.mpf(10) ** (10 - mpmath.mp.dps) / scale
        return total / scale if abs(total / scale) > noise or not by else mpmath.mpf(0)

    return slope


def symbols(name: str) -> list[Array]:
    return [sd.scalar(f"x{i}") for i in range(FUNCTIONS[name].arity)]


def applied(name: str, args: list[Any]) -> Array:
    return Array(apply(name, *(a.node if isinstance(a, Array) else a for a in args)))


def formula(name: str, order: float | None, args: list[Array]) -> Array:
    """Apply the function; an order that must be known beforehand is a constant."""
    return applied(name, args if order is None else [constant(order), *args[1:]])


def computed(outputs: list[Array], inputs: list[Array], at: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the outputs at each point by every means there is, shape (points, outputs)."""
    columns = list(at.T)
    names = [str(a.node.payload) for a in inputs]
    result = {
        "interpreter": np.array(
            [
                evaluate([o.node for o in outputs], dict(zip(names, p, strict=True)), [a.node for a in inputs])
                for p in at
            ]
        )
    }
    for backend in ("numpy", "native"):
        kernel = sd.compile(outputs, inputs, backend=backend)
        result[backend] = np.stack([np.broadcast_to(part, len(at)) for part in kernel(*columns)], axis=1)
    return result


def test_the_reference_knows_every_function() -> None:
    assert not missing_scalars()
    assert {name for name in SMOOTH if FUNCTIONS[name].arity == 1} == set(POINTS)
    assert {name for name in SMOOTH if FUNCTIONS[name].arity > 1} == set(PAIRS)


def cases() -> list[tuple[str, float | None]]:
    found: list[tuple[str, float | None]] = []
    for name in SMOOTH:
        orders = sorted({p[0] for p in PAIRS[name]}) if name in ORDERED else [None]
        found.extend((name, order) for order in orders)
    return found


@pytest.mark.parametrize(("name", "order"), cases(), ids=lambda v: "" if v is None else str(v))
def test_function_to_third_order(name: str, order: float | None) -> None:
    args = symbols(name)
    f = formula(name, order, args)
    which = partials(name)
    outputs = []
    for by in which:
        out = f
        for i in by:
            out = sd.gradient(out, args[i], disconnected="zero")
        outputs.append(out)
    at = [p for p in points(name) if order is None or p[0] == order]
    results = computed(outputs, args, np.array(at))
    for row, p in enumerate(at):
        with mpmath.workdps(digits(name, p)):
            exact = derivatives(SCALARS[name], p)
            for column, by in enumerate(which):
                want = exact(*sorted(by))
                allowed = BOUNDS.get(name, 2e-13) * abs(want) + TINY
                moved = (abs(x) * abs(exact(*sorted((*by, i)))) for i, x in enumerate(p) if i in active(name))
                allowed += sum(moved) * 2e-16
                for means, got in results.items():
                    check(float(got[row, column]), want, allowed, f"{means}: d{list(by)} {name}{p}")


def check(got: float, want: Any, allowed: Any, what: str) -> None:
    if abs(want) > LARGEST:
        assert math.isinf(got), f"{what} = {got}; expected {mpmath.nstr(want, 17)}, beyond a double"
        assert (got > 0) == (want > 0), what
    elif abs(want) + allowed < LARGEST:
        assert math.isfinite(got), f"{what} = {got}; expected {mpmath.nstr(want, 17)}"
        error = abs(got - want)
        assert error <= allowed, (
            f"{what} = {got!r}; expected {mpmath.nstr(want, 17)}, off by {mpmath.nstr(error / allowed, 3)} x limit"
        )
