"""The facts in the table of scalar functions, each at random and extreme points against mpmath, and what follows."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from symdiff.graph import Node, constant, contract, input
from symdiff.graph.primitives import Assumptions
from symdiff.graph.reference.interpret import evaluate
from symdiff.graph.reference.many_digits import SCALARS
from symdiff.graph.scalars.functions import FUNCTIONS, Range, apply
from symdiff.rewrite.facts import bounds_of, is_positive, sign_of

#: Inverses that mpmath finds by search.
SLOW = {"gammaincinv", "gammainccinv", "betaincinv"}
#: References that are not exact far out, or complex there.
NEAR = {"owens_t", "gammainc", "gammaincc", "voigt_profile", "lambertwm1"}
#: Functions of numbers about which something is said.
STATED = [
    name
    for name, row in FUNCTIONS.items()
    if name not in SLOW
    and (row.range != Range() or any(row.parity) or any(row.monotone) or row.curvature or row.at_zero)
]
EXTREME = [1e-300, 1e-30, 1e-8, 1e-3, 0.5, 1.0, math.pi, 30.0, 250.0]
STEPS = {"unless_nan": lambda x: mp.mpf(1), "to_real": lambda x: mp.mpf(bool(x))}


def value(name: str, *args: Any) -> Any:
    """Return a function's value in many digits; None where it has no finite real one."""
    try:
        found = (STEPS.get(name) or SCALARS[name])(*map(mp.mpf, args))
    except (ValueError, ZeroDivisionError, OverflowError, mp.libmp.NoConvergence, RecursionError):
        return None
    if isinstance(found, mp.mpc):
        found = found.real if abs(found.imag) < mp.mpf(10) ** -30 * (1 + abs(found.real)) else mp.nan
    found = mp.mpf(found)
    return found if mp.isfinite(found) else None


def points(name: str, rng: random.Random) -> list[tuple[float, ...]]:
    """Draw arguments: random ones in each domain and beside it, and extreme ones where the domain is wide."""
    row = FUNCTIONS[name]
    most = 300.0 if row.vector or not (row.library or row.special) else 4.0
    drawn = [tuple(rng.uniform(*domain) for domain in row.domain) for _ in range(10)]
    far = [x for x in EXTREME if x <= most]
    for _ in range(0 if name in NEAR else 6):
        args = []
        for low, high in row.domain:
            sides = [side for side in (-1, 1) if side * (high if side > 0 else low) > 0]
            args.append(low if row.orders and low == high else rng.choice(sides) * rng.choice(far))
        drawn.append(tuple(args))
    return drawn


@pytest.mark.parametrize("name", STATED)
def test_facts(name: str) -> None:
    row, rng = FUNCTIONS[name], random.Random(name)
    with mp.workdps(40):
        at = [(args, f) for args in points(name, rng) if (f := value(name, *args)) is not None]
        assert len(at) >= 6
        for args, f in at:
            low, high = row.range.low, row.range.high
            # an end is a double, that of arccos is rounded down
            assert f > low or (near(f, low, 1e-16) and (row.range.has_low or rounded(f, low))), (args, f)
            assert f < high or (near(f, high, 1e-16) and (row.range.has_high or rounded(f, high))), (args, f)
            for i, parity in enumerate(row.parity):
                turned = value(name, *(-x if k == i else x for k, x in enumerate(args)))
                if parity and turned is not None:
                    assert near(turned, f if parity == "even" else -f), (parity, i, args)
            for i, way in enumerate(row.monotone):
                check_monotone(name, i, way, args, f, rng)
        check_curvature(name, at)
        if row.at_zero is not None:
            assert near(value(name, 0.0), mp.mpf(row.at_zero[0]), 1e-15)
            step = mp.mpf(10) ** -20
            slope = (value(name, step) - value(name, -step)) / (2 * step)
            assert near(slope, mp.mpf(row.at_zero[1]), 1e-15) if math.isfinite(row.at_zero[1]) else slope > 1e10


def rounded(f: Any, end: float) -> bool:
    """Tell whether a value is not told from an end in the digits that are computed."""
    return math.isfinite(end) and abs(f - mp.mpf(end)) <= mp.mpf(10) ** -35 * (1 + abs(end))


def near(a: Any, b: Any, tolerance: float = 1e-30) -> bool:
    return bool(abs(a - b) <= tolerance * (1 + abs(b)))


def check_monotone(name: str, i: int, way: str, args: tuple[float, ...], f: Any, rng: random.Random) -> None:
    other = value(name, *(x + abs(x) * rng.uniform(0.01, 0.5) + 1e-12 if k == i else x for k, x in enumerate(args)))
    if not way or other is None:
        return
    change = other - f if way != "decreasing" else f - other
    least = -mp.mpf(10) ** -35 * (1 + abs(f))
    assert change >= least, (way, i, args)
    if way != "not decreasing" and all(abs(x) < 5 for x in args):
        assert change > 0, (way, i, args)


def check_curvature(name: str, at: list[tuple[tuple[float, ...], Any]]) -> None:
    side = {"convex": 1, "concave": -1}.get(FUNCTIONS[name].curvature, 0)
    for (a, f), (b, g) in itertools.pairwise(at) if side else ():
        between = value(name, *((mp.mpf(x) + mp.mpf(y)) / 2 for x, y in zip(a, b, strict=True)))
        if between is not None:
            assert side * ((f + g) / 2 - between) >= -mp.mpf(10) ** -30 * (1 + abs(f) + abs(g)), (a, b)


def test_what_is_stated_of_most() -> None:
    # a row without facts is one of which nothing of the kind holds, not one that was forgotten
    assert len(STATED) > 80
    elementary = ["exp", "log", "sin", "cosh", "tanh", "sqrt", "abs", "erf", "sigmoid", "arctan", "hypot", "maximum"]
    assert set(elementary) <= set(STATED)


OPERATIONS = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "exp", "cos", "sin", "abs",
              "tanh", "cosh", "log1p", "expm1", "sqrt", "log", "erf", "sigmoid", "arctan", "negative", "softplus",
              "square", "cube", "inverse_square", "root", "fourth"]  # fmt: skip
POWERS = {"square": 2.0, "cube": 3.0, "inverse_square": -2.0, "root": 0.5}


def drawn(rng: random.Random, x: Node, y: Node) -> Node:
    """Draw a formula of two numbers."""
    parts = [x, y, *map(constant, (0.5, -1.0, 2.0, 0.0, 1e200))]
    for _ in range(7):
        op, a, b = rng.choice(OPERATIONS), rng.choice(parts), rng.choice(parts)
        if op in POWERS:
            made = apply("power", a, POWERS[op])
        elif op == "fourth":
            made = apply("multiply", apply("multiply", a, b), apply("multiply", b, a))
        else:
            made = apply(op, *(a, b)[: FUNCTIONS[op].arity])
        parts.append(made)
    return parts[-1]


@pytest.mark.parametrize("seed", range(300))
def test_values_lie_within_bounds(seed: int) -> None:
    rng = random.Random(seed)
    x, y = input("x"), input("y")
    assert_within(drawn(rng, x, y), rng)


def assert_within(formula: Node, rng: random.Random) -> None:
    """Compare the bounds of a formula of x and y with values at random points."""
    found = bounds_of(formula)
    assert found.low <= found.high
    for _ in range(25):
        at = {name: np.array(rng.choice([0.0, 1.0, -1.0, rng.gauss(0, 2)])) for name in "xy"}
        with np.errstate(all="ignore"):
            number = float(evaluate([formula], at)[0])
        slack = 1e-9 * (1.0 + abs(number))
        assert not math.isfinite(number) or found.low - slack <= number <= found.high + slack, (found, number)


@pytest.mark.parametrize("number", [0.0, -0.0, 1e200, math.inf])
@pytest.mark.parametrize("power", [-3.0, -2.0, -1.0, 2.0, 3.0])
def test_numbers_without_a_finite_power_are_bounded(number: float, power: float) -> None:
    x, c = input("x"), apply("power", constant(number), constant(power))
    for formula in (c * x - x, c * (x * x) - 2.0 * x, x * x - c, apply("abs", c - x) - c):
        assert_within(formula, random.Random(power))


@pytest.mark.parametrize("seed", range(8))
def test_sums_of_squares_count_their_number_once(seed: int) -> None:
    rng, x, y = random.Random(seed), input("x"), input("y")
    for _ in range(40):
        a, b, c, d = (float(rng.randint(-4, 4)) for _ in range(4))
        # "+ c" and "- c", as derivatives and people write it
        for formula in (a * x * x + b * x + constant(c), a * x * x + b * x * y + d * y * y - constant(c)):
            sign = sign_of(formula)
            for at in np.linspace(-3.0, 3.0, 61):
                point = {"x": np.array(at), "y": np.array(rng.uniform(-2.0, 2.0))}
                value = float(evaluate([formula], point)[0])
                assert not sign or sign * value >= -1e-9, (a, b, c, d, at)
    assert sign_of(x * x - 4.0 * x + constant(4.0)) == 1


def test_signs_of_what_is_never_negative() -> None:
    x, s = input("x"), input("s", (), assumptions=Assumptions(positive=True))
    v = input("v", (3,))
    for u in (x, apply("sin", x), x - s, 3.0 * x):
        cos, exp, log1p = (apply(name, u) for name in ("cos", "exp", "log1p"))
        for formula in (u * u, 1.0 - cos, exp - 1.0 - u, u - log1p, apply("cosh", u) - 1.0, u * apply("tanh", u)):
            assert sign_of(formula) == 1
            assert sign_of(-formula) == -1
            assert not sign_of(formula - s)
        assert not sign_of(u * cos)
    assert sign_of(contract([v, v], [(0,), (0,)], ())) == 1
    assert sign_of(s * x * x + s) == 1
    assert is_positive(s * x * x + s)
    assert not is_positive(x * x)
