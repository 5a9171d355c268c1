"""Functions that exported NumPy source has of its own: against many digits, and at the ends of the doubles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

import symdiff as sd
from symdiff.codegen.numpy import special
from symdiff.codegen.numpy.alone import BY_MATH
from symdiff.graph.reference import numeric
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.functions import FUNCTIONS
from tests.graph.test_functions import PAIRS, POINTS

#: Functions by their names in the table, of which some have another one in NumPy source.
WRITTEN: dict[str, Callable[..., Any]] = {
    name: getattr(special, row.numpy.removeprefix("special."))
    for name, row in FUNCTIONS.items()
    if row.numpy and not name.startswith("hyp") and (
        row.numpy in vars(special) or row.numpy.removeprefix("special.") in BY_MATH
    )
}
#: Functions that are SciPy's under another name: their digits are its own.
OF_SCIPY = {"beta", "betaln", "zeta", "si", "ci", "fresnels", "fresnelc", "lambertw", "lambertwm1", "spherical_jn"}
OF_SCIPY |= {"stdtr", "polygamma", "airyai", "airyaiprime", "airybi", "airybiprime", "ellipk_derivative"}
OF_SCIPY |= {"ellipe_derivative", "i_moment"}
#: Where the many digits of a reference take long.
RNG = np.random.default_rng(5)


def reference(name: str) -> Callable[..., Any]:
    """Return the function of SciPy's or of symdiff's compiled code."""
    called = FUNCTIONS[f"{name}_near" if f"{name}_near" in FUNCTIONS else name].numpy
    found: Callable[..., Any] = getattr(
        scipy.special if called.startswith("special.") else numeric,
        called[8:] if called.startswith("special.") else called,
    )
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_digits(name: str) -> None:
    given = PAIRS[name] if FUNCTIONS[name].arity > 1 else [(x,) for x in POINTS[name]]
    drawn = [
        tuple(low if low == high else RNG.uniform(low, high) for low, high in FUNCTIONS[name].domain) for _ in range(5)
    ]
    for point in [*given, *drawn]:
        with mpmath.workdps(60):
            exact = list(map(mpmath.mpf, map(float, point)))
            value = SCALARS[name](*exact)
            # what half a unit of the arguments changes, and eight units of the result
            room = abs(value) * mpmath.mpf(2) ** -49 + mpmath.mpf(5e-324)
            if name in OF_SCIPY:
                room = abs(value) * mpmath.mpf(1e-10) + mpmath.mpf(1e-300)
            for place, one in enumerate(exact):
                if not FUNCTIONS[name].orders or place:
                    moved = [*exact[:place], one * (1 + mpmath.mpf(2) ** -51), *exact[place + 1 :]]
                    room += abs(SCALARS[name](*moved) - value)
            with np.errstate(all="ignore"):  # as in exported modules
                found = float(WRITTEN[name](*map(np.float64, point)))
            if not mpmath.isfinite(value) or abs(value) > 1.7e308:
                assert found == float(value) or (math.isnan(found) and mpmath.isnan(value)), point
            else:
                has_zeros = name in ("ci", "j0", "j1", "y0", "y1")
                assert abs(mpmath.mpf(found) - value) <= room + 2e-15 * has_zeros, (point, found)


ENDS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 5e-324, 1e-300, 1e-8, 2.0, -2.5, 3.0, 30.5, -30.5, 171.7, 709.5, 745.0]
ENDS += [1e4, 1e8, 1e100, -1e100, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", WRITTEN)
def test_ends(name: str) -> None:
    """Nothing raises at the ends of the doubles, and numbers are SciPy's; where either has none, both may differ."""
    row, function, other = FUNCTIONS[name], WRITTEN[name], reference(name)
    free = row.arity - bool(row.orders)
    some = [*ENDS, *(10.0 ** RNG.uniform(-3, 3, 20)).tolist()] if free == 1 else ENDS[:: 1 if free == 2 else 4]
    orders = [(n,) for n in (0.0, 1.0, 2.0, 5.0)] if row.orders else [()]
    for order, point in itertools.product(orders, itertools.product(some, repeat=free)):
        with np.errstate(all="ignore"):  # as in exported modules
            found = float(function(*order, *map(np.float64, point)))
            try:
                wanted = float(other(*order, *point))
            except (ArithmeticError, sd.UnsupportedError):  # orders that are not offered
                continue
        if not (math.isfinite(found) and math.isfinite(wanted)) or max(map(abs, point)) > 1e5:
            continue  # SciPy loses digits far out, and overflows first
        if name in OF_SCIPY and any(0 < abs(one) < 1e-9 for one in point):
            continue
        if name == "polygamma_gap" and not (point[0] > 0 and sum(point) > 0):
            continue  # a difference of SciPy's functions
        if found != pytest.approx(wanted, rel=2e-11, abs=1e-290):
            with mpmath.workdps(60):
                wanted = float(SCALARS[name](*map(mpmath.mpf, map(float, (*order, *point)))))
        assert found == pytest.approx(wanted, rel=2e-11, abs=1e-290), (order, point)


def test_arrays_broadcast_and_keep_their_shapes() -> None:
    for name, function in WRITTEN.items():
        row = FUNCTIONS[name]
        first = [2.0] if row.orders else []
        points = [np.full((2, 1), low * 0.6 + high * 0.4) for low, high in row.domain[len(first) :]]
        found = function(*first, *points)
        assert found.shape == (2, 1), name
        assert found.dtype == np.float64
        assert function(*(2.0 for _ in first), *(p[0, 0] for p in points)).shape == ()
        assert function(*first, *(p[:0] for p in points)).shape == (0, 1)
