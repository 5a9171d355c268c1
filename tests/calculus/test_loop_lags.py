"""Loops of which the next state does not depend on the state, or on one part of it: lags, exchanges, restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

S, U, P = sd.scalar("s0"), sd.scalar("u0"), sd.scalar("p")

#: What the next state and the outputs are made of: the two parts of the state, the row, the parameter.
PIECES: dict[str, Callable[..., Any]] = {
    "first": lambda s, u, t, p: s,
    "second": lambda s, u, t, p: u,
    "row": lambda s, u, t, p: t * 1.0,
    "parameter": lambda s, u, t, p: p + 0.3,
    "both": lambda s, u, t, p: 0.5 * s * u + t,
    "scaled": lambda s, u, t, p: p * s,
    "product": lambda s, u, t, p: s * u * t,
    "kinked": lambda s, u, t, p: np.maximum(p, t) * 1.0,
}
names = st.sampled_from(sorted(PIECES))


def run(step: tuple[str, str, str], s: Any, u: Any, x: Any, p: Any) -> Any:
    """Return a number that the loop leads to, with NumPy."""
    written = 0.0
    for t in x:
        first, second, output = (PIECES[name](s, u, t, p) for name in step)
        s, u, written = first, second, written + np.sin(output)
    return s**2 + 2 * s * u + written


def formula(step: tuple[str, str, str], x: Any) -> Any:
    """Return the same as a formula."""

    def body(state: Any, t: Any) -> Any:
        first, second, output = (PIECES[name](*state, t, P) for name in step)
        return (first, second), output

    (last, other), outputs = sd.scan(body, (S, U), x)
    return last**2 + 2 * last * other + np.sin(outputs).sum()


def by_differences(f: Callable[..., Any], at: list[float], place: int) -> float:
    """Return a central difference of fourth order."""
    h = 1e-3
    moved = [[v + k * h * (j == place) for j, v in enumerate(at)] for k in (-2, -1, 1, 2)]
    a, b, c, d = (float(f(*one)) for one in moved)
    return (a - 8 * b + 8 * c - d) / (12 * h)


@settings(max_examples=40, deadline=None)
@given(st.tuples(names, names, names), st.sampled_from([3, "n"]), st.sampled_from(["interpreter", "numpy"]))
def test_slopes_by_what_a_loop_begins_with(step: tuple[str, str, str], size: Any, backend: str) -> None:
    rows = np.array([0.3, 0.9, 0.7])
    f, at = formula(step, sd.vector("x", size)), [0.9, 1.5, 0.55]
    inputs = [S, U, P, sd.vector("x", size)]

    def value(*numbers: float) -> float:
        s, u, p = numbers
        return float(run(step, s, u, rows, p))

    for place, symbol in enumerate((S, U, P)):
        expected = by_differences(value, at, place)
        for derive in (sd.gradient, sd.jacobian):
            kernel = sd.compile(derive(f, symbol, disconnected="zero"), inputs=inputs, backend=backend)
            assert kernel(*at, rows) == pytest.approx(expected, abs=1e-7)
        slope = sd.gradient(f, symbol, disconnected="zero")
        first = sd.compile(slope, inputs=inputs, backend=backend)
        for other, second in enumerate((S, U, P)):
            expected = by_differences(lambda *numbers: first(*numbers, rows), at, other)  # noqa: B023  # called at once
            twice = sd.compile(sd.gradient(slope, second, disconnected="zero"), inputs=inputs, backend=backend)
            assert twice(*at, rows) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
def test_a_lag_has_the_slope_of_its_first_row(backend: str) -> None:
    x = sd.vector("x", "n")
    _, outputs = sd.scan(lambda s, t: (t, s * t), S, x)
    slope = sd.compile(sd.gradient(outputs.sum(), S), inputs=[S, x], backend=backend)
    assert slope(2.0, [3.0, 5.0, 7.0]) == 3.0
    second = sd.compile(sd.hessian((outputs * outputs).sum(), S), inputs=[S, x], backend=backend)
    assert second(2.0, [3.0, 5.0, 7.0]) == 18.0
    np.testing.assert_array_equal(slope([2.0, 1.0], [[3.0, 5.0, 7.0], [4.0, 5.0, 7.0]]), [3.0, 4.0])


@pytest.mark.parametrize("n", [1, 3])
def test_a_step_that_forgets_has_second_derivatives(n: int) -> None:
    y, start = sd.vector("y", 3), sd.vector("v0", 3)
    for step in (lambda p: np.maximum(p, y), lambda p: sd.where(y < p, p, y), lambda p: np.tanh(p * y)):
        found = sd.hessian((sd.iterate(lambda s: step(P), start, n) ** 2).sum(), P)  # noqa: B023  # called at once
        expected = sd.compile(sd.hessian((step(P) ** 2).sum(), P), inputs=[P, y])
        at = (0.7, [0.2, 1.4, 0.5])
        assert sd.compile(found, inputs=[P, y, start])(*at, np.zeros(3)) == pytest.approx(expected(*at), rel=1e-13)
