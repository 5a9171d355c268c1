"""Second derivatives through maximum, minimum, relu and clip where their arguments are equal: means of both sides."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symdiff as sd

Function = Callable[[Any, Any], Any]

#: Two formulas of x and y that are equal at the point: as text, in many digits, and the point.
PAIRS: list[tuple[str, str, Function, Function, tuple[float, float]]] = [
    ("x", "y", lambda x, y: x, lambda x, y: y, (0.5, 0.5)),
    ("x", "0", lambda x, y: x, lambda x, y: mp.mpf(0), (0.0, 0.75)),
    ("-x", "0", lambda x, y: -x, lambda x, y: mp.mpf(0), (0.0, 0.75)),
    ("1", "x*y", lambda x, y: mp.mpf(1), lambda x, y: x * y, (2.0, 0.5)),
    ("x*y", "1 - y", lambda x, y: x * y, lambda x, y: 1 - y, (1.0, 0.5)),
    ("sin(x)", "x*cos(y)", lambda x, y: mp.sin(x), lambda x, y: x * mp.cos(y), (0.0, 0.3)),
]
#: What a formula makes of the two.
TIED: list[tuple[str, Function]] = [
    ("maximum({u}, {v})", max),
    ("minimum({u}, {v})", min),
    ("maximum({v}, {u})", max),
    ("minimum({v}, {u})", min),
    ("relu({u} - ({v}))", lambda u, v: max(u - v, 0)),
    ("relu({v} - ({u}))", lambda u, v: max(v - u, 0)),
    ("clip({u} - ({v}), -1, 0)", lambda u, v: max(min(u - v, 0), -1)),
]
OUTER: list[tuple[str, Callable[..., Any]]] = [
    ("({0})**2", lambda a: a**2),
    ("exp({0})", mp.exp),
    ("log(3 + {0})", lambda a: mp.log(3 + a)),
    ("sin({0})", mp.sin),
    ("({0} + 0.5)**3", lambda a: (a + mp.mpf(0.5)) ** 3),
]


def drawn(rng: random.Random) -> tuple[str, Function, tuple[float, float]]:
    """Return a formula, the same in many digits, and where it has a tie."""
    first, second, u, v, point = rng.choice(PAIRS)
    text, f = "", None
    for _ in range(rng.randint(1, 3)):
        inner, tied = rng.choice(TIED)
        outer, over = rng.choice(OUTER)
        term = outer.format(inner.format(u=first, v=second))

        def g(x: Any, y: Any, tied: Function = tied, over: Callable[..., Any] = over) -> Any:
            return over(tied(u(x, y), v(x, y)))

        times = rng.choice("*+")
        text, before = f"({text}) {times} {term}" if text else term, f
        f = g if before is None else joined(before, g, times)
    assert f is not None
    return text, f, point


def joined(f: Function, g: Function, times: str) -> Function:
    return lambda x, y: f(x, y) * g(x, y) if times == "*" else f(x, y) + g(x, y)


def sides(f: Function, point: tuple[float, float], rng: random.Random) -> np.ndarray[Any, Any]:
    """Return the mean of the second derivatives on both sides of a tie, very near to it."""
    with mp.workdps(80):
        step = mp.mpf(10) ** -30
        direction = [rng.uniform(0.5, 1.0), rng.choice([-1, 1]) * rng.uniform(0.1, 0.4)]
        near = [[p + s * step * d for p, d in zip(point, direction, strict=True)] for s in (1, -1)]
        orders = [(2, 0), (1, 1), (0, 2)]
        # steps within one side of the tie
        found = [[float(mp.diff(f, at, order, h=mp.mpf(10) ** -38)) for order in orders] for at in near]
    xx, xy, yy = np.mean(found, axis=0)
    return np.array([[xx, xy], [xy, yy]])


@pytest.mark.parametrize("seed", range(150))
def test_the_mean_of_both_sides(seed: int) -> None:
    rng = random.Random(seed)
    text, f, point = drawn(rng)
    expected = sides(f, point, rng)
    whole = sd.compile(sd.hessian(f"x = z[0]\ny = z[1]\n{text}", "z", z=2), ["z"], backend="interpreter")
    assert whole(np.array(point)) == pytest.approx(expected, abs=1e-9), text
    along = sd.compile(sd.hvp(f"x = z[0]\ny = z[1]\n{text}", "z", "d", z=2, d=2), ["z", "d"], backend="numpy")
    for direction, wanted in zip(np.eye(2), expected, strict=True):
        assert along(np.array(point), direction) == pytest.approx(wanted, abs=1e-9), text


def test_what_is_smooth_through_a_tie() -> None:
    k = sd.compile(sd.hessian("maximum(x, y)**2 + minimum(x, y)**2", ["x", "y"], x=(), y=()), ["x", "y"])
    assert np.array(k(1.0, 1.0), dtype=float).ravel().tolist() == [2.0, 0.0, 0.0, 2.0]
    x = sd.compile(sd.hessian("relu(x) * relu(-x)", "x", x=()), ["x"])
    assert x(0.0) == 0.0


def test_a_choice_of_the_user_keeps_its_branch() -> None:
    text = "where(x == 0, 0, x*log(abs(x))) * 0 + exp(relu(x))*where(0 < x, 2, 1)"
    k = sd.compile(sd.hessian(text, "x", x=()), ["x"])
    assert k(0.0) == 0.5


@pytest.mark.parametrize("text", ["log(1 + relu(x))", "exp(maximum(x, y))", "(1 - relu(1 - x*y))**2"])
def test_forms_stay_short(text: str) -> None:
    shapes: dict[str, tuple[int, ...]] = {"x": (), "y": ()} if "y" in text else {"x": ()}
    assert len(str(sd.hessian(text, "x", **shapes))) < 100
