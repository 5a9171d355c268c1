"""Functions that NumPy lacks, as exported source has them: against many digits, and at the ends of the doubles."""

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
from symdiff.codegen.numpy.standins import basic, bessels, elliptic, gammas, incomplete, integrals, normal
from symdiff.graph.reference import numeric
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.functions import FUNCTIONS
from tests.graph.test_functions import PAIRS, POINTS

MODULES = (basic, bessels, elliptic, gammas, incomplete, integrals, normal)
WRITTEN: dict[str, Callable[..., Any]] = {
    name: getattr(module, name) for module in MODULES for name in module.__all__ if name in FUNCTIONS
}
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
            for place, one in enumerate(exact):
                if not FUNCTIONS[name].orders or place:
                    moved = [*exact[:place], one * (1 + mpmath.mpf(2) ** -51), *exact[place + 1 :]]
                    room += abs(SCALARS[name](*moved) - value)
            found = float(WRITTEN[name](*point))
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
    some = [*ENDS, *(10.0 ** RNG.uniform(-3, 3, 20)).tolist()] if free == 1 else ENDS[: 26 if free == 2 else 20]
    orders = [(n,) for n in (0.0, 1.0, 2.0, 5.0)] if row.orders else [()]
    for order, point in itertools.product(orders, itertools.product(some, repeat=free)):
        with np.errstate(all="ignore"):  # as in exported modules
            found = float(function(*order, *point))
            try:
                wanted = float(other(*order, *point))
            except (ArithmeticError, sd.UnsupportedError):  # orders that are not offered
                continue
        if not (math.isfinite(found) and math.isfinite(wanted)) or max(map(abs, point)) > 1e5:
            continue  # SciPy loses digits far out, and overflows first
        if found != pytest.approx(wanted, rel=2e-11, abs=1e-290):
            with mpmath.workdps(60):
                wanted = float(SCALARS[name](*map(mpmath.mpf, map(float, (*order, *point)))))
        assert found == pytest.approx(wanted, rel=2e-11, abs=1e-290), (order, point)


def test_arrays_broadcast_and_keep_their_shapes() -> None:
    for name, function in WRITTEN.items():
        row = FUNCTIONS[name]
        first = [[2.0]] if row.orders else []
        points = [np.full((2, 1), low * 0.6 + high * 0.4) for low, high in row.domain[len(first) :]]
        found = function(*first, *points)
        assert found.shape == (2, 1), name
        assert found.dtype == np.float64
        assert function(*(2.0 for _ in first), *(p[0, 0] for p in points)).shape == ()
        assert function(*first, *(p[:0] for p in points)).shape == (0, 1)


@pytest.mark.parametrize(
    ("function", "point"),
    [(incomplete.gammaincc, (1e15, 1e15)), (incomplete.betainc, (1e17, 1e17, 0.5)), (incomplete.poch, (1e308, 1e308))],
)
def test_what_does_not_converge_is_nan(function: Callable[..., Any], point: tuple[float, ...]) -> None:
    assert np.isnan(function(*point))
