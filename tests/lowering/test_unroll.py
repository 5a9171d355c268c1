"""What unrolling does to scalar arithmetic: fewer operations, and the numbers of the formula."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from symdiff.calculus.passes import settle
from symdiff.lowering.program import Program
from symdiff.lowering.unroll import unroll
from symdiff.rewrite import inline
from tests.support.program_reference import evaluate

x, y, c = sd.scalar("x"), sd.scalar("y"), sd.scalar("c")
C = 1.3


def program(*formulas: sd.Array) -> Program:
    return unroll([x.node, y.node, c.node], inline([formula.node for formula in formulas]))


def counts(*formulas: sd.Array) -> Counter[str]:
    found = Counter(program(*formulas).ops)
    del found["load"], found["const"]
    return found


@pytest.mark.parametrize(
    ("formula", "ops"),
    [
        (2 * (0.5 * x * y), "multiply"),
        ((0.5 * x) * (2 * y), "multiply"),
        (0.5 * x + 0.5 * y, "multiply add"),
        (4 * x - 4 * y, "multiply subtract"),
        (2 * ((0.5 * x) / y), "divide"),
        ((6 * (0.5 * x)), "multiply"),
        (x / (2 * y) * 2, "divide"),
        (4 * (-x / 8) + c / 2, "subtract multiply"),
        (0.9 / x + 1.8 / x, "divide multiply add"),
        (x / -y, "divide negative"),
    ],
    ids=str,
)
@pytest.mark.parametrize("point", [(0.3, -1.7, 2.1), (1e300, 1e-7, 1e200), (-0.0, 1.0, np.inf)])
def test_powers_of_two_are_exact_and_move_outwards(
    formula: sd.Array, ops: str, point: tuple[float, float, float]
) -> None:
    assert counts(formula) == Counter(ops.split())
    k = sd.compile(formula, [x, y, c], backend="numpy")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(evaluate(program(formula), list(point))[0], k(*point))


def test_numbers_at_the_end_of_the_range_stay() -> None:
    for largest, factor in ((1.5e308, 2.0), (3e-308, 0.5)):
        assert evaluate(program(largest * (factor * x)), [0.25, 0.0, 0.0])[0] == largest * (factor * 0.25)


@pytest.mark.parametrize(
    ("formula", "divisions"),
    [
        (lambda r, c: c / r / r / r, 2),
        (lambda r, c: 3 * (2 * (c / r) / r) / r, 2),
        (lambda r, c: r**3, 0),
        (lambda r, c: r**4, 0),
        (lambda r, c: r**7, 0),
        (lambda r, c: r * r * r, 0),
        (lambda r, c: c / r / r, 2),
    ],
)
def test_pairs_of_roots_are_the_number_under_them(formula: Callable[[Any, Any], Any], divisions: int) -> None:
    f = formula(np.sqrt(x), c)
    assert counts(f)["divide"] == divisions
    run = program(f)
    for value in (0.3, 7.0, 1e60, 1e-60):
        with mpmath.workdps(40):
            wanted = float(formula(mpmath.sqrt(value), mpmath.mpf(C)))
        np.testing.assert_allclose(evaluate(run, [value, 0.0, C])[0], wanted, rtol=1e-15)
    with np.errstate(all="ignore"):
        assert np.isnan(evaluate(run, [-1.0, 0.0, C])[0])  # no root, no number
        for end in (0.0, np.inf):
            np.testing.assert_array_equal(evaluate(run, [end, 0.0, C])[0], formula(np.sqrt(np.float64(end)), C))


def test_the_gradient_of_an_inverse_distance_takes_two_divisions() -> None:
    q = sd.vector("q", 3)
    energy = c / np.sqrt(q @ q)
    found = Counter(unroll([q.node, c.node], inline([energy.node, sd.gradient(energy, q).node])).ops)
    assert found["divide"] == 2
    assert found["sqrt"] == 1


@pytest.mark.parametrize(
    ("formula", "ops"),
    [
        (x * y + x * c, "add multiply"),
        (x * y - x * c, "subtract multiply"),
        (c - x * y - x * c, "add multiply subtract"),
        (x / c + y / c, "add divide"),
        (sd.sin(x) * y - sd.sin(x) * c + y, "sin subtract multiply add"),
        (3 * (x * y) + 0.7 * (x * c), "multiply multiply add multiply"),
        (x * y + x * c + y * x * c, "multiply add multiply add"),
    ],
    ids=str,
)
def test_common_factors_are_taken_out_of_sums(formula: sd.Array, ops: str) -> None:
    assert counts(formula) == Counter(ops.split())
    k = sd.compile(formula, [x, y, c], backend="numpy")
    for point in ((0.3, -1.7, 2.1), (-2.0, 4.5, 0.7)):
        np.testing.assert_allclose(evaluate(program(formula), list(point))[0], k(*point), rtol=1e-15, atol=0)


def test_factors_that_something_else_needs_stay() -> None:
    shared = x * y
    assert counts(shared + x * c, sd.sin(shared)) == Counter(["multiply", "multiply", "add", "sin"])


def test_a_factor_is_taken_out_only_where_what_is_left_was_computed_before() -> None:
    # (x y) c is 1e120, where y c is infinite
    formula = x * y * c + x * sd.sin(y) * sd.sin(c)
    point = [1e-200, 1e160, 1e160]
    with np.errstate(all="ignore"):
        wanted = sd.compile(formula, [x, y, c], backend="numpy")(*point)
        np.testing.assert_allclose(evaluate(program(formula), point)[0], wanted, rtol=1e-15)
    assert np.isfinite(wanted)


def test_long_sums_are_left_as_they_are() -> None:
    terms = [x * sd.sin(k * y) for k in range(3, 73)]
    formula = terms[0]
    for term in terms[1:]:
        formula = formula + term
    assert counts(formula)["multiply"] >= 2 * len(terms) - 1


GAMMA: dict[int, Any] = {0: sd.digamma, 1: lambda t: sd.polygamma(1, t)}


@pytest.mark.parametrize("order", GAMMA)
def test_digamma_and_trigamma_in_ordinary_operations(order: int) -> None:
    run = program(GAMMA[order](x))
    assert not {"digamma", "polygamma"} & set(run.ops)
    rng = np.random.default_rng(6)
    near = 1.4616321449683622 + rng.uniform(-0.3, 0.3, 40)
    points = [*rng.uniform(0, 3, 60), *rng.uniform(0, 30, 60), *-rng.uniform(0, 9, 60), *near]
    points += [1.4616321449683622, 9.999999999999998, 10.0, 1e5, 1e-8, 1e-300 if order == 0 else 1e-150, 1e300]
    with mpmath.workdps(60):
        wanted = [float(mpmath.polygamma(order, mpmath.mpf(float(t)))) for t in points]
    got = [evaluate(run, [t, 0.0, 0.0])[0] for t in points]
    # beside the zeros of digamma below 0 the error is an absolute one
    far = np.array([5e-15 if t < 0 and order == 0 else 0.0 for t in points])
    assert (np.abs(np.subtract(got, wanted)) <= 1e-14 * np.abs(wanted) + far).all()


def test_digamma_and_trigamma_at_the_ends() -> None:
    points = [0.0, -0.0, -1.0, -2.0, np.inf, -np.inf, np.nan, -1e300]
    inf, nan = np.inf, np.nan
    with np.errstate(all="ignore"):
        values = [[evaluate(program(f(x)), [t, 0.0, 0.0])[0] for t in points] for f in GAMMA.values()]
    np.testing.assert_array_equal(
        values, [[-inf, inf, nan, nan, inf, nan, nan, nan], [inf, inf, inf, inf, 0, nan, nan, inf]]
    )


def test_digamma_of_long_arrays_and_high_orders_stay_one_operation_each() -> None:
    v = sd.vector("v", 17)
    assert Counter(unroll([v.node], inline([sd.digamma(v).node])).ops)["digamma"] == 17
    assert counts(sd.polygamma(2, x)) == Counter(["polygamma"])


def test_a_slope_by_one_number_goes_along_with_horners_scheme() -> None:
    f = 0.5 * x
    for k in range(12):
        f = f * x + (k + 1.5)
    assert sum(counts(f, sd.gradient(f, x)).values()) <= 48
    assert sum(counts(f, sd.gradient(f, x), sd.hessian(f, x)).values()) <= 80


EDGES_OF_TWO = (0.0, -0.0, 1.0, -1.0, 5e-324, 36.0, 700.0, -746.0, 1e308, -1e308, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("op", [sd.softmax, sd.log_softmax, sd.logsumexp])
def test_one_exponential_for_two(op: Callable[[sd.Array], sd.Array]) -> None:
    v, w = sd.vector("v", 2), sd.vector("w", 3)
    two = sd.compile(op(v), [v], backend="interpreter")
    assert unroll([v.node], [op(v).node]).ops.count("exp") == 1
    # a third that adds nothing: the general way, in the same order
    three = sd.compile(op(w), [w], backend="interpreter")
    pairs = np.array(list(itertools.product(EDGES_OF_TWO, repeat=2)))
    pairs = np.concatenate([pairs, np.random.default_rng(1).normal(0, 3, (1000, 2))])
    want = three(np.column_stack([pairs, np.full(len(pairs), -np.inf)]))
    np.testing.assert_array_equal(two(pairs), want[:, :2] if want.ndim == 2 else want)


def test_even_and_odd_functions_of_differences_taken_both_ways() -> None:
    both = [np.sin(x - y), np.sin(y - x), np.cos(x - y), np.cos(y - x), np.abs(y - x) + np.abs(x - y)]
    found = counts(*both)
    assert (found["sin"], found["cos"], found["abs"]) == (1, 1, 1)
    assert counts(np.exp(x - y), np.exp(y - x))["exp"] == 2
    kernel = sd.compile(both, [x, y], backend="interpreter")
    at = np.array([0.3, -2.0, 1.5, 0.0, 7.0, np.inf, np.nan]), np.array([1.1, -2.0, 9.0, 0.0, -3.0, 1.0, 1.0])
    with np.errstate(invalid="ignore"):
        d = at[0] - at[1]
        want = [np.sin(d), np.sin(-d), np.cos(d), np.cos(-d), 2 * np.abs(d)]
    for got, expected in zip(kernel(*at), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
    # where the two are equal every difference is +0, and so is its sine
    assert not np.signbit(kernel(*at)[1][[1, 3]]).any()


def test_even_and_odd_functions_of_opposites() -> None:
    both = [np.sin(x), np.sin(-x), np.cos(x), np.cos(-x), np.exp(-np.abs(x)), np.exp(-np.abs(-x))]
    found = counts(*both)
    assert (found["sin"], found["cos"], found["abs"], found["exp"]) == (1, 1, 1, 1)
    kernel = sd.compile(both, [x], backend="interpreter")
    at = np.array([0.3, -2.0, 0.0, -0.0, 7.0, np.nan])
    for got, expected in zip(kernel(at), [np.sin(at), np.sin(-at), np.cos(at), np.cos(-at)], strict=False):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
        np.testing.assert_array_equal(np.signbit(got[:5]), np.signbit(expected[:5]))


def test_a_vector_of_one_is_as_good_as_a_number() -> None:
    def operations(by: sd.Array, at: sd.Array) -> int:
        value = at + 1.5
        for k in range(11):
            value = value * at + 0.1 * k
        slope = sd.gradient(value, by)
        assert slope.shape == by.shape
        ops = unroll([by.node], inline([slope.node])).ops
        return sum(op not in ("load", "const") for op in ops)

    one = sd.vector("one", 1)
    corner = sd.matrix("corner", 1, 1)
    number = operations(x, x)
    assert operations(one, one[0]) <= number + 2
    assert operations(corner, corner[0, 0]) <= number + 2
    (got,) = sd.compile(sd.gradient(one[0] ** 3 + np.sin(one[0]), one), [one], backend="numpy")(np.array([0.7]))
    assert got == pytest.approx(3 * 0.7**2 + np.cos(0.7))
    flat = sd.jacobian(np.stack([one[0] ** 2, 3 * one[0]]), one)
    assert flat.shape == (2, 1)


@pytest.mark.parametrize(
    "value",
    [np.log1p(np.exp(x)), np.log(1 + np.exp(-x)), sd.special.log_expit(x), np.log1p(np.exp(x * y))],
    ids=str,
)
def test_a_logistic_likelihood_and_its_slopes_have_one_exponential(value: sd.Array) -> None:
    slope = sd.gradient(value, x)
    both = [value, slope, sd.gradient(slope, x)]
    for formulas in (both[:2], both):
        made = unroll([x.node, y.node], settle([formula.node for formula in formulas], []))
        assert Counter(made.ops)["exp"] == 1
    k = sd.compile(both, [x, y], backend="interpreter")
    one = [sd.compile(formula, [x, y], backend="interpreter") for formula in both]
    points = np.concatenate([np.random.default_rng(0).normal(size=200) * 20.0, [0.0, -0.0, 800.0, -800.0, np.nan]])
    for found, own in zip(k(points, 0.7), one, strict=True):
        np.testing.assert_allclose(found, own(points, 0.7), rtol=1e-15 * 4, atol=1e-300)
