"""Every scalar function of the table, to third order, at ordinary points and where it is hardest.

The reference is mpmath with 150 digits. A derivative may be off by some units of the last
place, and by what half a unit of its argument would change; a formula that cancels fails.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from exact import SCALARS, missing_scalars

import symdiff as sd
from symdiff import Array, UnsupportedError
from symdiff.graph import BOOL, constant
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.scalars.functions import FUNCTIONS, Partial, apply
from symdiff.graph.scalars.remainders import REMAINDERS

DIGITS = 150
ZERO_STEP = 170
LARGEST = np.finfo(float).max
TINY = 1e-307

#: Rows that are tested in test_remainders.
QUOTIENTS = {name for each in REMAINDERS for name in (each.name, each.name_by_square)}
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
    "soft_sign": [*EVERYWHERE[4:], 300.0, -1e30, 1e50],
    "abs": EVERYWHERE,
}
#: Pairs of numbers above 0, some of them nearly equal, some with a quotient beyond a double.
RATIOS = [(1.0, 1.0), (2.0, 2.0 + 1e-9), (3.0, 3.0 - 1e-3), (1e-8, 7.0), (7.0, 1e-8), (1e-200, 1e150), (1e200, 1e-150)]
#: Relative errors that are larger than of the others: SciPy's own.
BOUNDS = dict.fromkeys(("binom", "poch", "j0", "j1", "jv", "y0", "y1", "yv"), 1e-12)
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
    "betaln": [(1e-8, 5.0), (0.5, 0.5), (30.0, 1.0), (1e5, 0.5)],
    "beta_slope": [(0.5, 0.5), (3.0, 1.0)],
    "beta": [(0.5, 0.5), (30.0, 1.0), (1e5, 0.5)],
    "poch": [(0.5, 1e-8), (30.0, 5.0), (1e5, 0.5), (3.0, -0.5)],
    "binom": [(10.0, 3.0), (10.0, 5.0), (0.5, 0.3), (1e3, 2.5)],
    "jv": [(0.0, 0.5), (1.0, 1e-8), (2.0, 7.0), (7.5, 1.0)],
    "yv": [(7.5, 1.0)],
    "iv": [(0.0, 0.5), (1.0, 1e-8), (2.0, 7.0), (7.5, 1.0)],
    "iv_far": [(0.5, 2.0)],
    "kv": [(7.5, 1.0)],
    "gammainc": [(0.5, 1e-8), (3.0, 0.5), (20.0, 25.0), (1.0, 2.0)],
    "gammaincc": [(0.5, 1e-8), (3.0, 0.5), (20.0, 25.0), (1.0, 2.0)],
    "gamma_density": [(n, a, x) for n in (0.0, 1.0) for a, x in ((0.5, 1e-8), (3.0, 0.5), (40.0, 30.0), (40.0, 90.0))],
    "betainc": [(0.5, 0.5, 1e-8), (3.0, 2.0, 0.5), (20.0, 25.0, 0.4), (1.0, 1.0, 0.3)],
    "dawsn_derivative": [(1.0, x) for x in (0.0, 1e-8, 3.0, -7.01, 1e9)],
    "owens_t": [(0.0, 0.5), (2.0, 1.5), (-1.0, -0.3)],
    "gammaincinv": [(3.0, 0.5)],
    "gammainccinv": [(3.0, 0.5)],
    "betaincinv": [(3.0, 2.0, 0.5)],
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
    given = PAIRS[name] if row.arity > 1 else [(x,) for x in POINTS[name]]
    return [tuple(map(float, p)) for p in (*drawn, *given)]


def active(name: str) -> list[int]:
    """Return the arguments a function is differentiated by."""
    return [i for i, p in enumerate(FUNCTIONS[name].partials) if not isinstance(p, Partial)]


def partials(name: str) -> list[tuple[int, ...]]:
    """Return the partial derivatives up to third order, as the arguments in order of differentiation."""
    most = 2 if name == "polygamma_gap" else 3  # its values take long in many digits, and betaln has its thirds
    return [by for k in range(most + 1) for by in itertools.product(active(name), repeat=k)]


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


# ---------------------------------------------------------------------------- what no reference by differences can tell


def everywhere(f: Array, **values: float) -> set[float]:
    """Evaluate by every means; -0.0 is told from 0.0 by its sign."""
    names = [sd.scalar(name) for name in values]
    found = {float(evaluate([f.node], values, [a.node for a in names])[0])}
    for backend in ("numpy", "native"):
        found.add(float(sd.compile(f, names, backend=backend)(*values.values())))
    return found


ODD = ["sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p", "erf", "cbrt", "sqrt"]


@pytest.mark.parametrize("name", [*ODD, "floor", "ceil", "rint", "trunc"])
def test_the_sign_of_zero_stays(name: str) -> None:
    x = sd.scalar("x")
    f = applied(name, [x])
    for value in everywhere(f, x=-0.0):
        assert value == 0
        assert math.copysign(1.0, value) == -1.0
    for value in everywhere(f, x=0.0):
        assert math.copysign(1.0, value) == 1.0
    assert {math.copysign(1.0, v) for v in everywhere(-x, x=0.0)} == {-1.0}
    assert {math.copysign(1.0, v) for v in everywhere(abs(x), x=-0.0)} == {1.0}


@pytest.mark.parametrize("name", PIECES)
def test_pieces_have_slope_zero(name: str) -> None:
    x = sd.scalar("x")
    f = applied(name, [x, *([0.5] * (FUNCTIONS[name].arity - 1))])
    assert everywhere(sd.gradient(f * x, x), x=1.25) == everywhere(f, x=1.25)
    assert everywhere(sd.gradient(f, x, disconnected="zero"), x=1.0) == {0.0}


#: Base, exponent, value, slope by the base for a constant exponent; NumPy's and C's meaning of each.
POWERS = [
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 1.0, 0.0, 1.0),
    (0.0, 2.0, 0.0, 0.0),
    (0.0, 3.0, 0.0, 0.0),
    (0.0, 0.5, 0.0, math.inf),
    (0.0, 1.5, 0.0, 0.0),
    (0.0, -1.0, math.inf, -math.inf),
    (0.0, -2.0, math.inf, -math.inf),
    (-2.0, 0.0, 1.0, 0.0),
    (-2.0, 1.0, -2.0, 1.0),
    (-2.0, 2.0, 4.0, -4.0),
    (-2.0, 3.0, -8.0, 12.0),
    (-2.0, -1.0, -0.5, -0.25),
    (-2.0, -2.0, 0.25, 0.25),
    (-2.0, -3.0, -0.125, -0.1875),
    (-2.0, 0.5, math.nan, math.nan),
    (2.0, 10.0, 1024.0, 5120.0),
    (1.0, 1e300, 1.0, 1e300),
    (math.inf, 2.0, math.inf, math.inf),
    (math.inf, -1.0, 0.0, 0.0),
    (math.nan, 2.0, math.nan, math.nan),
]


@pytest.mark.parametrize(("x0", "y0", "value", "by_base"), POWERS)
def test_powers_by_constant_and_by_variable_exponents(x0: float, y0: float, value: float, by_base: float) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for got in everywhere(x**y0, x=x0) | everywhere(x**y, x=x0, y=y0):
        np.testing.assert_equal(got, value)
    slopes = everywhere(sd.gradient(x**y0, x, disconnected="zero"), x=x0) | everywhere(sd.gradient(x**y, x), x=x0, y=y0)
    for got in slopes:
        assert got == by_base or (math.isnan(got) and math.isnan(by_base))


@pytest.mark.parametrize(("y0", "slope_"), [(0.0, -math.inf), (0.5, 0.0), (1.0, 0.0), (2.0, 0.0)])
def test_powers_of_zero_by_the_exponent(y0: float, slope_: float) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert everywhere(sd.gradient(x**y, y), x=0.0, y=y0) == {slope_}


def test_mixed_partials_of_a_power_of_zero_agree() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for exponent, want in ((1.0, -math.inf), (1.5, 0.0), (2.0, 0.0)):
        for first, second in ((x, y), (y, x)):
            assert everywhere(sd.gradient(sd.gradient(x**y, first), second), x=0.0, y=exponent) == {want}


def test_mixed_partials_of_a_power_at_exponent_zero() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    for first, second in ((x, y), (y, x)):
        assert everywhere(sd.gradient(sd.gradient(x**y, first), second), x=2.0, y=0.0) == {0.5}
        got = everywhere(sd.gradient(sd.gradient(sd.xlogy(x, y), first), second), x=0.0, y=2.0)
        assert got == {0.5}


KINKS = [
    ("abs", (0.0,), (0.0,)),
    ("maximum", (1.5, 1.5), (0.5, 0.5)),
    ("minimum", (-2.0, -2.0), (0.5, 0.5)),
    ("maximum", (0.0, -0.0), (0.5, 0.5)),
    ("hypot", (0.0, 0.0), (0.0, 0.0)),
]


@pytest.mark.parametrize(("name", "at", "slopes"), KINKS)
def test_a_kink_has_the_mean_of_its_sides(name: str, at: tuple[float, ...], slopes: tuple[float, ...]) -> None:
    args = symbols(name)
    f = applied(name, args)
    values = {f"x{i}": x for i, x in enumerate(at)}
    for arg, want in zip(args, slopes, strict=True):
        assert everywhere(sd.gradient(f, arg), **values) == {want}


def test_nan_reaches_the_derivative_of_a_maximum() -> None:
    x, y, v = sd.scalar("x"), sd.scalar("y"), sd.vector("v", 3)
    for f in (sd.maximum(x, y), sd.minimum(x, y), sd.clip(x, 0.0, y), sd.max(v * x + y), sd.relu(x) + y):
        for slope_ in (f, sd.gradient(f, x)):
            for backend in ("numpy", "native"):
                kernel = sd.compile(slope_, [x, y, v], backend=backend)
                assert math.isnan(kernel(math.nan, 1.0, [1.0, 2.0, 3.0]))
                assert not math.isnan(kernel(0.5, 1.0, [1.0, 2.0, 3.0]))


def test_a_quotient_that_rounds_up_is_not_reached() -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    assert everywhere(x // y, x=1.0, y=0.1) == {9.0}
    assert everywhere(sd.gradient(x % y, y), x=1.0, y=0.1) == {-9.0}
    for a, b in ((1.0, 0.0), (-1.0, math.inf), (1.0, -math.inf), (math.inf, math.inf), (7.5, -2.0), (-7.5, 2.0)):
        with np.errstate(all="ignore"):
            want = np.floor_divide(a, b)
        for got in everywhere(x // y, x=a, y=b):
            np.testing.assert_equal(got, want)


#: At the end of the domain: the limit of the slope from inside.
ENDS = [
    ("sqrt", 0.0, math.inf),
    ("log", 0.0, math.inf),
    ("log2", 0.0, math.inf),
    ("log10", 0.0, math.inf),
    ("log1p", -1.0, math.inf),
    ("arcsin", 1.0, math.inf),
    ("arcsin", -1.0, math.inf),
    ("arccos", 1.0, -math.inf),
    ("arccosh", 1.0, math.inf),
    ("arctanh", 1.0, math.inf),
    ("cbrt", 0.0, math.inf),
    ("exp", math.inf, math.inf),
    ("exp", -math.inf, 0.0),
    ("tanh", math.inf, 0.0),
    ("sigmoid", math.inf, 0.0),
    ("sigmoid", -math.inf, 0.0),
    ("softplus", math.inf, 1.0),
    ("softplus", -math.inf, 0.0),
    ("log_sigmoid", -math.inf, 1.0),
    ("arctan", math.inf, 0.0),
    ("erf", -math.inf, 0.0),
    ("arcsinh", math.inf, 0.0),
    ("log", math.inf, 0.0),
]


@pytest.mark.parametrize(("name", "at", "want"), ENDS)
def test_ends_of_the_domain(name: str, at: float, want: float) -> None:
    x = sd.scalar("x")
    assert everywhere(sd.gradient(applied(name, [x]), x), x=at) == {want}


@pytest.mark.parametrize("name", SMOOTH)
def test_nan_in_gives_nan_out_of_every_derivative(name: str) -> None:
    args = symbols(name)
    order = 1.0 if name in ORDERED else None
    f = formula(name, order, args)
    for i in active(name):
        by = sd.gradient(sd.gradient(f * f * f, args[i]), args[i])
        values = {f"x{k}": math.nan for k in range(len(args))}
        assert all(math.isnan(v) for v in everywhere(by, **values))


EXTREMES = (0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, LARGEST, -LARGEST, 5e-324, 3.0, -800.0, 1e10)


@pytest.mark.parametrize(
    "name", [n for n, row in FUNCTIONS.items() if row.takes is not BOOL and n not in ("where", *QUOTIENTS)]
)
def test_every_backend_says_the_same_far_out(name: str) -> None:
    args = symbols(name)
    at = np.array(list(itertools.product(EXTREMES, repeat=len(args))))
    orders = [k for k in (0.0, 1.0, 3.0) if k >= FUNCTIONS[name].domain[0][0]]
    for order in orders if name in ORDERED else (None,):
        f = formula(name, order, args) * 1.0
        by_numpy, by_interpreter = (
            sd.compile(f, args, backend=backend)(*at.T) for backend in ("numpy", "interpreter")
        )
        np.testing.assert_allclose(by_interpreter, by_numpy, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", [n for n, row in FUNCTIONS.items() if BOOL in (row.gives, row.takes)])
def test_conditions_have_no_slope(name: str) -> None:
    row = FUNCTIONS[name]
    x = variable("x")
    args = [apply("less", x, float(i)) if row.takes is BOOL else x * (i + 1.0) for i in range(row.arity)]
    f = sd.where(Array(apply(name, *args)), 2.0, 3.0) * Array(x)
    (value,) = everywhere(f, x=0.5)
    assert everywhere(sd.gradient(f, Array(x)), x=0.5) == {value / 0.5}


@pytest.mark.parametrize("degree", [10**7, -1, 2.5, 201])
def test_a_degree_out_of_range_is_told_with_the_range(degree: float) -> None:
    with pytest.raises(UnsupportedError, match=f"of a degree {re.escape(f'{degree:g}')}; .* from 0 to 200"):
        sd.eval_legendre(degree, sd.scalar("x"))
