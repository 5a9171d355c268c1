"""Loops that carry cotangents of numbers back as parts of the loops before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.calculus.passes import settle
from symdiff.frontend.array import Array
from symdiff.graph import Node, postorder
from symdiff.graph.reference.interpret import evaluate
from symdiff.lowering.plan.turning import turn_around

#: What a step may make of a state, a number and a row.
STEPS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda s, p, x: x - p * s,
    lambda s, p, x: p + 0.5 * s,
    lambda s, p, x: p * x * x + 0.3 * s,
    lambda s, p, x: 0.5 * s + p * np.tanh(s) - x,
    lambda s, p, x: (s + p) / (1.5 + s * s + p * p),
    lambda s, p, x: np.exp(-s * s) * x + p,
    lambda s, p, x: np.where(x > 0.2, p * s, 0.1 * s + x),
)
#: What a likelihood adds up.
TERMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda s, y: s * s,
    lambda s, y: np.log(1.0 + s * s) + y * s,
    lambda s, y: (y - s) ** 2 / (2.0 + s * s),
    lambda s, y: np.sin(s) * 0.5,
)
NAMES = "pqr"


def loops(roots: Sequence[Node]) -> list[Node]:
    return [node for node in postorder(roots) if node.is_recurrence]


@st.composite
def likelihoods(draw: Any) -> tuple[list[Array], Array, list[Array]]:
    """Draw a sum over a series of one state or two, and the numbers that it is differentiated by."""
    n = draw(st.sampled_from([1, 2, 3, 40, "n"]))
    y = sd.vector("y", n)
    numbers = [sd.scalar(name) for name in NAMES[: draw(st.integers(1, 3))]]
    steps = [draw(st.sampled_from(STEPS)) for _ in range(draw(st.integers(1, 2)))]
    ways = [draw(st.sampled_from(numbers)) for _ in steps]
    begins = [draw(st.sampled_from([0.3, numbers[0], numbers[0] * numbers[-1]])) for _ in steps]
    late, crossed = draw(st.booleans()), draw(st.booleans())

    def body(states: Any, x: Any) -> Any:
        after = [f(s, p, x) for f, s, p in zip(steps, states, ways, strict=True)]
        if crossed and len(after) > 1:
            after[1] = after[1] + 0.2 * after[0]
        return after, after if late else states

    last, told = sd.scan(body, begins, y, reverse=draw(st.booleans()))
    total = sum(draw(st.sampled_from(TERMS))(one, y) for one in told).sum()
    value = total + draw(st.sampled_from([0.0, 0.7])) * last[0] ** 2
    return [y, *numbers], value, numbers


@settings(max_examples=80, deadline=None)
@given(likelihoods())
def test_derivatives_are_those_of_the_way_back(drawn: tuple[list[Array], Array, list[Array]]) -> None:
    inputs, value, numbers = drawn
    slopes = sd.gradient(value, numbers, disconnected="zero")
    roots = settle([one.node for one in (value, *slopes)], [], derived=[False] + [True] * len(numbers))
    rng = np.random.default_rng(2)
    n = inputs[0].shape[0]
    data = {"y": rng.normal(size=n if isinstance(n, int) else 9)}
    data |= {name: np.array(x) for name, x in zip(NAMES, (0.4, -0.6, 0.8), strict=True)}
    turned = turn_around(roots)
    given_ = [x.node for x in inputs]
    for expected, found in zip(evaluate(roots, data, given_), evaluate(turned, data, given_), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(likelihoods(), st.sampled_from(["native", "interpreter"]))
def test_kernels_of_one_sample_and_of_several(drawn: tuple[list[Array], Array, list[Array]], backend: str) -> None:
    inputs, value, numbers = drawn
    outputs = [value, *sd.gradient(value, numbers, disconnected="zero")]
    k = sd.compile(outputs, inputs, backend=backend)
    n = inputs[0].shape[0]
    y = np.random.default_rng(3).normal(size=(3, n if isinstance(n, int) else 400))
    args = [np.array([0.4, -0.6, 0.8]) * (1.0 + 0.1 * k) for k in range(len(numbers))]
    together = k(y, *args)
    for j in range(3):
        data = {"y": y[j], **{name: x[j] for name, x in zip(NAMES, args, strict=False)}}
        expected = evaluate([one.node for one in outputs], data, [x.node for x in inputs])
        for found in (k(y[j], *(x[j] for x in args)), [several[j] for several in together]):
            for one, right in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, right, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("n", [60, "n"])
def test_one_loop_is_left(step: Callable[[Any, Any, Any], Any], n: Any) -> None:
    y, p, q = sd.vector("y", n), sd.scalar("p"), sd.scalar("q")
    _, told = sd.scan(lambda s, x: (step(s, p, x) + q,) * 2, 0.2, y)
    roots = settle([one.node for one in sd.gradient((told**2).sum(), [p, q])], [], derived=[True] * 2)
    assert len(loops(roots)) == 2
    assert len(loops(turn_around(roots))) == 1


@pytest.mark.parametrize("n", [40, "n"])
def test_a_sum_may_be_a_vector(n: Any) -> None:
    y, X, p, w = sd.vector("y", n), sd.matrix("X", n, 3), sd.scalar("p"), sd.vector("w", 3)
    _, told = sd.scan(lambda s, x: (p * np.tanh(s) + w @ x[1] + x[0],) * 2, 0.2, (y, X))
    value = (told**2).sum()
    roots = settle([one.node for one in sd.gradient(value, [p, w])], [], derived=[True] * 2)
    turned = turn_around(roots)
    assert [len(loops(roots)), len(loops(turned))] == [2, 1]
    rng = np.random.default_rng(4)
    data = {"y": rng.normal(size=40), "X": rng.normal(size=(40, 3)), "p": np.array(0.5), "w": rng.normal(size=3)}
    given_ = [x.node for x in (y, X, p, w)]
    for expected, found in zip(evaluate(roots, data, given_), evaluate(turned, data, given_), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_arrays_rows_and_many_numbers_go_back() -> None:
    y, p, A = sd.vector("y", 50), sd.scalar("p"), sd.matrix("A", 2, 2)
    _, told = sd.scan(lambda s, x: (x - p * s,) * 2, 0.1, y)
    _, vectors = sd.scan(lambda s, x: (A @ s + x,) * 2, np.zeros(2), y)
    many = [sd.scalar(f"a{k}") for k in range(9)]
    _, sums = sd.scan(lambda s, x: (0.1 * s + sum(a * x**k for k, a in enumerate(many)),) * 2, 0.1, y)
    for value, wrt in (((told**2).sum(), [y]), ((vectors**2).sum(), [A]), ((sums**2).sum(), many)):
        roots = settle([one.node for one in sd.gradient(value, wrt)], [], derived=[True] * len(wrt))
        assert len(loops(roots)) == 2
        assert turn_around(roots) == roots


def test_what_is_left_out_may_overflow() -> None:
    """A series that leaves the range of numbers behind the part that is asked for has a derivative there."""
    y, p = sd.vector("y", 2000), sd.scalar("p")
    _, told = sd.scan(lambda s, x: (p * s + x,) * 2, 0.2, y)
    value = (told[:20] ** 2).sum()
    k = sd.compile(sd.gradient(value, p), [p, y], backend="interpreter")
    few = sd.vector("y", 20)
    _, told = sd.scan(lambda s, x: (p * s + x,) * 2, 0.2, few)
    expected = sd.compile(sd.gradient((told**2).sum(), p), [p, few], backend="interpreter")(4.0, np.ones(20))
    np.testing.assert_allclose(k(4.0, np.ones(2000)), expected, rtol=1e-12)
