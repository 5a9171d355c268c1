"""Sums of what was put at positions, and arrays without elements: they vanish from what is computed, with its value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph import INT, Node, constant, contract, postorder, put, scatter
from symdiff.graph import input as variable
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite import simplify


def _operations(node: Node) -> set[str]:
    return {one.op for one in postorder([node])}


@st.composite
def placements(draw: st.DrawFn) -> tuple[Node, dict[str, Any]]:
    """Draw an array with elements put along an axis, at positions that are numbers or that a call brings."""
    size, lead, behind = (draw(st.integers(2, 4)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if draw(st.booleans()):
        count = draw(st.integers(0, 5))
        places = tuple(int(k) for k in rng.integers(0, size, count))
        own = variable("x", (lead, count, behind))
        return scatter(own, 1, places, size), {"x": rng.normal(size=(lead, count, behind))}
    shared, more = draw(st.integers(0, 1)), tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    shape = (*(lead,) * shared, *more)
    x = variable("x", (lead, *more, behind))
    values = {"x": rng.normal(size=x.shape), "at": rng.integers(0, size, shape)}
    return put(x, variable("at", shape, INT), 1, size, shared), values


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(placements(), st.sampled_from([(), (0,), (2,), (0, 2), (2, 0)]))
def test_sums_over_places_need_no_places(drawn: tuple[Node, dict[str, Any]], out: tuple[int, ...]) -> None:
    placed, values = drawn
    total = contract([placed], [(0, 1, 2)], out)
    (short,) = simplify([total])
    assert not {"put", "scatter"} & _operations(short)
    want = evaluate([total], values)[0]
    np.testing.assert_allclose(evaluate([short], values, _inputs(total))[0], want, rtol=1e-12, atol=1e-13)


def _inputs(node: Node) -> list[Node]:
    return [one for one in postorder([node]) if one.is_input]


def test_sums_along_other_axes_keep_the_places() -> None:
    placed = scatter(variable("x", (3, 2)), 0, (4, 1, 4), 5)
    (short,) = simplify([contract([placed], [(0, 1)], (0,))])
    assert "scatter" in _operations(short)


def test_a_position_that_is_not_there_is_refused_where_it_is_summed_over() -> None:
    x, at = sd.vector("x", 3), sd.indices("at", 3)
    kernel = sd.compile(sd.sum(sd.add_at(x, at, 5)), [x, at])
    assert kernel(np.ones(3), np.array([1, 2, 4])) == 3
    with pytest.raises(sd.ShapeError, match=r"at\[2\] is 5; expected 0 to 4"):
        kernel(np.ones(3), np.array([1, 2, 5]))


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("x @ x + sum(2 * x[:0] * x[3:])", "2 * x"),
        ("sum(concatenate([x[2:2], x, -x[:0]])**2)", "2 * x"),
        ("sum((x + pad(3 * x[1:1], (1, 2)))**2)", "2 * x"),
    ],
)
def test_arrays_without_elements_vanish(formula: str, shown: str) -> None:
    assert str(sd.gradient(formula, "x", x=3)) == shown


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("shape", [(3,), (1, 1), (2, 3)])
def test_a_choice_of_one_branch_is_that_branch(holds: bool, shape: tuple[int, ...]) -> None:
    x, y = sd.vector("x", 3), sd.matrix("y", 2, 3)
    chosen: Any = np.where(np.full(shape, holds), x**2, y)
    (short,) = simplify([chosen.node])
    assert "where" not in _operations(short)
    assert short.shape == (2, 3)
    gradient = sd.gradient(np.sum(chosen), (x, y), disconnected="zero")
    assert list(map(str, gradient)) == (["4 * x", "zeros((2, 3))"] if holds else ["zeros((3,))", "ones((2, 3))"])


@pytest.mark.parametrize("axis", [0, 1])
def test_numbers_put_among_zeros_are_one_array(axis: int) -> None:
    values = np.arange(1.0, 7.0).reshape(2, 3)
    placed = scatter(constant(values), axis, ((3, 0), (1, 0, 1))[axis], 4)
    (short,) = simplify([placed])
    assert short.is_constant
    np.testing.assert_array_equal(short.value, evaluate([placed], {})[0])
