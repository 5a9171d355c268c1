"""NumPy's select on symbols and in text: NumPy itself is the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, ParseError, ShapeError, SymdiffError

SHAPES: list[tuple[int, ...]] = [(), (3,), (1,), (2, 3), (2, 1)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_it_is_numpys(data: st.DataObject) -> None:
    """Conditions and choices of any shapes that broadcast, numbers among them; the first true condition counts."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    symbols: dict[str, sd.Array] = {}
    numbers: dict[str, Any] = {}

    def draw(kind: str) -> tuple[Any, Any]:
        if kind == "choice" and data.draw(st.booleans()):
            return 2.5, 2.5
        name = f"x{len(symbols)}"
        shape = data.draw(st.sampled_from(SHAPES))
        symbols[name], numbers[name] = sd.array(name, shape), rng.integers(-2, 3, shape).astype(float)
        if kind == "condition":
            return symbols[name] > 0, np.asarray(numbers[name] > 0)
        return 1 / symbols[name], 1 / np.asarray(numbers[name])

    with np.errstate(divide="ignore"):
        count = data.draw(st.integers(1, 3))
        conditions = [draw("condition") for _ in range(count)]
        choices = [draw("choice") for _ in range(count)]
        default = data.draw(st.booleans())
        last: Any = draw("choice") if default else (0, 0)
        given_default = {"default": last[0]} if default else {}
        made = np.select([c for c, _ in conditions], [c for c, _ in choices], **given_default)
        wanted = np.select([c for _, c in conditions], [c for _, c in choices], default=last[1])
        assert isinstance(made, sd.Array)
        assert made.shape == wanted.shape
        for backend in ("interpreter", "numpy"):
            kernel = sd.compile(made, list(symbols.values()), backend=backend)
            np.testing.assert_array_equal(kernel(inputs=numbers), wanted)


def test_in_text() -> None:
    kernel = sd.compile("select([x > 1, x > 0], [x, 10], -x)", x=4, backend="interpreter")
    np.testing.assert_array_equal(kernel([2.0, 0.5, 0.0, -3.0]), [2.0, 10.0, 0.0, 3.0])
    assert sd.compile("select([x > 1], [x], default=7)", backend="interpreter")(0.0) == 7.0
    assert sd.compile("select([x > 1], [[x, 2]])", backend="interpreter")(3.0).tolist() == [3.0, 2.0]


def test_what_is_not_chosen_is_not_observed() -> None:
    for slope in ("gradient", "hessian"):
        kernel = sd.compile(f"{slope}(select([x > 0, x < -1], [x * log(x), sqrt(-1 - x)], x**2), x)", backend="native")
        x = np.array([0.5, 0.0, -0.5, -2.0])
        first, second = [np.log(0.5) + 1, 0, -1, -0.5], [2, 2, 2, -0.25]
        np.testing.assert_allclose(kernel(x), first if slope == "gradient" else second)


def test_conditions_are_chosen_as_conditions() -> None:
    x = sd.scalar("x")
    assert np.select([x > 0], [x > 1], default=False).dtype == bool
    assert np.select([x > 0], [x > 1]).dtype == float  # the default is the number 0, as in NumPy
    assert np.select(condlist=[x > 0, True], choicelist=[x, 3.0]).shape == ()


REFUSED: list[tuple[Callable[[sd.Array], Any], type[SymdiffError], str]] = [
    (lambda v: np.select([v], [v]), DtypeError, "condition 0 is of real numbers"),
    (lambda v: np.select([v > 0, v > 1], [v]), ArgumentError, "2 conditions and 1 choices"),
    (lambda v: np.select([], [v]), ArgumentError, "0 conditions"),
    (lambda v: np.select([v > 0], [sd.vector("w", 4)]), ShapeError, "do not broadcast"),
    (lambda v: sd.select(v[0] > 0, 1.0, 2.0), ArgumentError, "expected lists"),
    (lambda v: sd.compile("select(x > 0, 1, 2)"), ArgumentError, "expected lists"),
    (lambda v: sd.compile("select([x > 0], [1], other=2)"), ParseError, "no argument 'other'"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_is_refused(place: int) -> None:
    call, error, words = REFUSED[place]
    with pytest.raises(error, match=words):
        call(sd.vector("v", 3))
