"""Loops whose functions are computed of all steps at once, where no step waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.calculus.recurrence import KEPT
from symdiff.frontend.array import Array
from symdiff.graph import Node, postorder
from symdiff.graph.reference.interpret import evaluate
from symdiff.lowering.plan import distribution
from symdiff.lowering.plan.distribution import distribute

#: What a step may make of two numbers.
TERMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda a, b: np.exp(-a * b),
    lambda a, b: np.log(1.0 + a * a) * b,
    lambda a, b: a / (1.0 + b * b),
    lambda a, b: np.where(a > b, np.tanh(a), b),
    lambda a, b: a - 0.5 * b,
    lambda a, b: np.sqrt(1.0 + a * a) - np.sin(b),
    lambda a, b: a * b,
)


def loops(roots: Sequence[Node]) -> list[Node]:
    return [node for node in postorder(roots) if node.is_recurrence]


def slow_in_loops(roots: Sequence[Node]) -> int:
    """Count functions of numbers in the bodies of loops."""
    bodies = [result for node in loops(roots) for result in node.payload.body.results]
    return sum(distribution._slowness(node) > 1 for node in postorder(bodies))


@st.composite
def scans(draw: Any) -> tuple[list[Array], list[Array]]:
    """Draw loops: numbers or short arrays are carried, added up and written, of any terms."""
    shape = draw(st.sampled_from([(), (2,), (3,)]))
    n = draw(st.sampled_from([1, 2, 5, 40, "n"]))
    X, p = sd.symbol("X", (n, *shape)), sd.scalar("p")
    pool = st.sampled_from(TERMS)
    steps, adds, writes = ([draw(pool) for _ in range(draw(st.integers(*most)))] for most in ((1, 2), (0, 2), (0, 2)))
    picks = st.integers(0, 5)

    def body(c: Any, x: Any) -> tuple[Any, Any]:
        states, sums = c
        there = [*states, x, p, x * p]

        def term(f: Callable[[Any, Any], Any]) -> Any:
            a, b = there[draw(picks) % len(there)], there[draw(picks) % len(there)]
            there.append(f(a, b) + np.zeros(shape))
            return there[-1]

        told = [term(f) for f in writes]
        after = [0.5 * s + term(f) for s, f in zip(states, steps, strict=True)]
        added = [s - 2.0 * term(f) if k else term(f) + s for k, (s, f) in enumerate(zip(sums, adds, strict=True))]
        return (after, added), told

    start = [np.full(shape, 0.3 + k) for k in range(len(steps))], [np.full(shape, 1.5) for _ in adds]
    (states, sums), told = sd.scan(body, start, X, reverse=draw(st.booleans()))
    return [X, p], [*states, *sums, *told]


@settings(max_examples=60, deadline=None)
@given(scans())
def test_results_are_those_of_the_loop(drawn: tuple[list[Array], list[Array]]) -> None:
    (X, _), results = drawn
    rng = np.random.default_rng(1)
    shape = tuple(7 if not isinstance(size, int) else size for size in X.shape)
    data = {"X": rng.normal(size=shape), "p": np.array(0.7)}
    roots = [result.node for result in results]
    for expected, found in zip(
        evaluate(roots, data, [X.node]), evaluate(distribute(roots), data, [X.node]), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("n", [1, 3, 50, "n"])
def test_kernels_of_values_and_gradients(backend: str, n: int | str) -> None:
    r, a, b = sd.symbol("r", (n,)), sd.scalar("a"), sd.scalar("b")

    def step(c: Any, x: Any) -> Any:
        h, total = c
        return (0.01 + a * x**2 + b * h, total + np.log(h) + x**2 / h), np.exp(-h) * x

    (_, likelihood), told = sd.scan(step, (0.2, 0.0), r)
    outputs = [likelihood, told, sd.gradient(likelihood, a), sd.gradient(np.sum(told**2), b)]
    k = sd.compile(outputs, [r, a, b], backend=backend)
    x = np.random.default_rng(3).normal(size=n if isinstance(n, int) else 9)

    def by_hand(a: Any, b: Any) -> tuple[Any, Any]:
        h, total, rows = 0.2, 0.0, []
        for one in x:
            rows.append(np.exp(-h) * one)
            total, h = total + np.log(h) + one**2 / h, 0.01 + a * one**2 + b * h
        return total, np.array(rows)

    value, rows, by_a, by_b = k(x, 0.3, 0.6)
    expected, wrote = by_hand(0.3, 0.6)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(rows, wrote, rtol=1e-12)
    np.testing.assert_allclose(by_a, by_hand(0.3 + 1e-30j, 0.6)[0].imag / 1e-30, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_b, np.sum(by_hand(0.3, 0.6 + 1e-30j)[1] ** 2).imag / 1e-30, rtol=1e-10, atol=1e-12)
    single = k(x.astype(np.float32), np.float32(0.3), np.float32(0.6))
    np.testing.assert_allclose(single[0], expected, rtol=1e-4)


def series(step: Callable[[Any, Any], Any], n: int | str = 50, start: Any = 0.4) -> list[Node]:
    last, told = sd.scan(step, start, sd.vector("y", n))
    return [one.node for one in (*(last if isinstance(last, tuple) else (last,)), told)]


@pytest.mark.parametrize(
    ("step", "start", "left"),
    [
        (lambda s, x: (0.5 * s + x, np.exp(s)), 0.4, 0),  # written
        (lambda s, x: (0.5 * s + np.exp(-x), s), 0.4, 0),  # of rows
        (lambda s, x: ((0.5 * s[0] + x, s[1] + np.log(1.0 + s[0] ** 2)), s[0]), (0.4, 0.0), 0),  # added up
        (lambda s, x: (np.tanh(s) + x, np.exp(s)), 0.4, 1),  # one is waited for
        (lambda s, x: (np.tanh(s) + x, np.tanh(s) * x), 0.4, 1),
        (lambda s, x: ((s[0] + x * s[1], s[1] + np.exp(s[0])), x), (0.4, 0.0), 1),  # a sum that is read
        (lambda s, x: ((0.5 * s[0] + x, 0.9 * s[1] + np.exp(s[0])), x), (0.4, 0.0), 1),  # no sum
    ],
)
def test_functions_that_steps_wait_for_stay(step: Callable[[Any, Any], Any], start: Any, left: int) -> None:
    for n in (50, "n"):
        assert slow_in_loops(distribute(series(step, n, start))) == left


def test_what_stays_is_the_same_loop() -> None:
    plain = series(lambda s, x: (0.5 * s + x, s * x))
    assert distribute(plain) == plain
    quotient = series(lambda s, x: (0.5 * s + x, x / s))
    assert distribute(quotient) == quotient
    many = series(lambda s, x: (0.5 * s + x, np.exp(s)), KEPT + 1)
    assert distribute(many) == many
    wide = [sd.scan(lambda s, x: (0.5 * s + x, np.exp(s)), np.zeros(8), sd.matrix("Y", 20, 8))[1].node]
    assert distribute(wide) == wide


def test_a_batch_fills_the_vectors_of_its_steps() -> None:
    y = sd.vector("y", 40)
    told = sd.scan(lambda s, x: (0.5 * s + x, np.exp(s)), 0.4, y)[1]
    k, Y = sd.compile(told, backend="native"), np.random.default_rng(0).normal(size=(5, 40))
    np.testing.assert_allclose(k(Y), [k(row) for row in Y], rtol=1e-14)
