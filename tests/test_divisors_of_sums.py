"""Divisors of derivatives that a sum takes in: ``s**2 * (1 + (z / s)**2)`` is ``s**2 + z**2``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

SHOWN = [
    ("log(1/(pi*s*(1+((x-m)/s)**2)))", "m", {"x": (), "m": (), "s": ()}, "2 * (x - m) / (s ** 2 + (x - m) ** 2)"),
    ("-(nu+1)/2*log(1+((x-m)/s)**2/nu)", "m", {"x": (), "m": (), "s": (), "nu": ()},
     "(x - m) * (nu + 1) / (nu * s ** 2 + (x - m) ** 2)"),
    ("sum(log(1+(r/c)**2))", "r", {"r": "n", "c": ()}, "2 * r / (c ** 2 + r ** 2)"),
    ("arctan((x-a)/b)", "x", {"x": (), "a": (), "b": ()}, None),
    ("log(1 + (r/c)**2 + (t/d)**2)", "r", {"r": (), "c": (), "t": (), "d": ()}, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wrt", "shapes", "shown"), SHOWN, ids=[row[0] for row in SHOWN])
def test_forms(text: str, wrt: str, shapes: dict[str, object], shown: str | None) -> None:
    found = sd.gradient(text, wrt, **shapes)
    assert shown is None or str(found) == shown
    values = {name: np.array([0.7, -1.3]) if shape else 0.4 + len(name) for name, shape in shapes.items()}
    values |= {"m": 0.2, "s": 0.6} if "m" in shapes else {}
    kernel = sd.compile(text, **shapes)
    at = [values[p.name] for p in kernel.inputs]
    place = [p.name for p in kernel.inputs].index(wrt)
    slope = sd.compile(found)
    got = slope(*[values[p.name] for p in slope.inputs])
    expected = np.zeros(np.shape(at[place]))
    for i in np.ndindex(expected.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [np.array(v, float) for v in at]
            moved[place][i] += step
            ends.append(kernel(*moved))
        expected[i] = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(got, expected, rtol=2e-7)


numbers = st.floats(0.05, 20).map(lambda v: round(v, 3))


@settings(max_examples=60, deadline=None)
@given(c=numbers, x=numbers, s=numbers, p=st.integers(1, 4), q=st.integers(1, 2), k=st.integers(1, 3))
def test_random_sums_have_the_slope_of_the_formula(c: float, x: float, s: float, p: int, q: int, k: int) -> None:
    """The slope of log(c + (x/s)**p ± (x**q/s)**k) by x, beside the formula in NumPy."""
    formula = f"log({c} + (x/s)**{p} + {c}*(x**{q}/s)**{k})"
    found = sd.compile(sd.gradient(formula, "x", x=(), s=()), backend="interpreter")
    arguments = {"x": x, "s": s}
    top = p * x ** (p - 1) / s**p + c * q * k * x ** (q * k - 1) / s**k
    expected = top / (c + (x / s) ** p + c * (x**q / s) ** k)
    np.testing.assert_allclose(found(*[arguments[i.name] for i in found.inputs]), expected, rtol=1e-11)


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1.0, 1e90])
def test_it_is_right_where_the_divisor_is_far_from_the_rest(scale: float) -> None:
    slope = sd.compile("gradient(log(1+(r/c)**2), r)", r=(), c=())
    arguments = {"r": 3.0, "c": 2.0 * scale}
    expected = 2 * 3.0 / (float(np.square(2.0 * scale)) + 9.0)
    np.testing.assert_allclose(slope(*[arguments[i.name] for i in slope.inputs]), expected, rtol=1e-14)
