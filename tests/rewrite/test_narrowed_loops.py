"""Loops of which parts are read: results are equal, and the work is that of the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.calculus.cost import cost
from symdiff.calculus.modes import pullback
from symdiff.graph import INT, Node, broadcast_to, constant, inputs_of, postorder, verify
from symdiff.graph.reference.interpret import evaluate
from symdiff.rewrite.narrowing import narrow
from tests.rewrite.test_narrowing import few, near, parts

T, B, H = 6, 4, 3
start, more = sd.symbol("start", (B, H)), sd.symbol("more", (B,))
over, beside = sd.symbol("over", (T, B, H)), sd.symbol("beside", (T, B))
V, U, a = sd.symbol("V", (H, H)), sd.symbol("U", (B, B)), sd.symbol("a")

#: What a step makes of an array of series and a vector of one number each: some keep series apart, some mix them.
UPDATES: dict[str, Any] = {
    "by element": lambda h, s, x, z: np.tanh(a * h + x),
    "by row": lambda h, s, x, z: np.sin(h @ V + x * s[:, None]),
    "shares": lambda h, s, x, z: sd.softmax(h + x, axis=1) * np.cos(z)[:, None],
    "across": lambda h, s, x, z: np.tanh(U @ h + x),
    "so far": lambda h, s, x, z: np.sin(np.cumsum(h, axis=0) + x),
    "turned": lambda h, s, x, z: np.roll(h, 1, axis=0) + a * x,
}
BESIDE: dict[str, Any] = {
    "apart": lambda h, s, x, z: np.sin(s) + a * z,
    "of rows": lambda h, s, x, z: s * z + h.sum(axis=1),
    "of all": lambda h, s, x, z: s + z * np.tanh(s.sum()),
}


@st.composite
def loops(draw: st.DrawFn) -> list[Node]:
    """Draw a loop, and parts of its results."""
    update, along = draw(st.sampled_from(sorted(UPDATES))), draw(st.sampled_from(sorted(BESIDE)))
    reverse = draw(st.booleans())

    def step(carried: Any, rows: Any) -> Any:
        (h, s), (x, z) = carried, rows
        h, s = UPDATES[update](h, s, x, z), BESIDE[along](h, s, x, z)
        return (h, s), (h * 2, s, np.sum(s))

    last, outputs = sd.scan(step, (start, more), (over, beside), reverse=reverse)
    several = draw(st.lists(st.sampled_from([*last, *outputs]), min_size=1, max_size=3))
    return [draw(parts(one.node)) for one in several]


def values_at(roots: list[Node], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        node.name: np.zeros(node.shape, int) if node.dtype is INT else rng.uniform(-1, 1, node.shape)
        for node in inputs_of(roots)
    }


@settings(few, max_examples=40)
@given(loops(), st.integers(0, 1000))
def test_parts_of_loops_keep_values_and_slopes(roots: list[Node], seed: int) -> None:
    at, made = values_at(roots, seed), narrow(roots)
    verify(made)
    for got, want in zip(evaluate(made, at), evaluate(roots, at), strict=True):
        near(got, want)
    inputs = [node for node in inputs_of(roots) if node.dtype is not INT]
    slopes = [
        [
            one or broadcast_to(constant(0.0), x.shape)
            for x, one in zip(
                inputs, pullback({root: broadcast_to(constant(1.0), root.shape) for root in own}, inputs), strict=True
            )
        ]
        for own in (roots, made)
    ]
    for got, want in zip(*[evaluate(own, at) for own in slopes], strict=True):
        near(got, want)


def _loops(roots: list[Node]) -> list[Node]:
    return [node for node in postorder(roots) if node.is_recurrence]


N, M = 1000, 500
data, first, w = sd.symbol("data", (N, M)), sd.symbol("first", (M,)), sd.symbol("w", (M, 2))
i = sd.index("i")


def _series() -> tuple[Any, Any]:
    return sd.scan(lambda s, x: (np.sin(a * s) + x, s * x), first, data)


@pytest.mark.parametrize(
    ("form", "rows"),
    [
        (lambda: _series()[1][3], 5),
        (lambda: _series()[1][:4, 7], 5),
        (lambda: _series()[1][:, 7], N + 2),
        (lambda: _series()[1][:, i], N + 2),
        (lambda: _series()[0][3:5], 2),
        (lambda: np.tanh(_series()[1] @ w)[3], 5),
        (lambda: sd.scan(lambda s, x: (a * s + x,) * 2, first, data, reverse=True)[1][-2], 3),
    ],
)
def test_parts_of_loops_cost_what_they_are(form: Any, rows: int) -> None:
    """Neither steps behind what is read, nor series of which nothing is read, are computed."""
    f = form()
    (made,) = narrow([f.node])
    assert all(node.size <= rows * (M if rows < 10 else 2) for node in _loops([made]))
    assert cost([made]) < cost([f.node]) / 50
    assert cost(narrow([sd.gradient(np.sum(f), a).node])) < cost([f.node]) / 20


def test_a_loop_read_whole_stays() -> None:
    last, outputs = _series()
    for f in (outputs, [last, outputs[0]], np.sum(outputs[:, 3]) + np.sum(outputs[-1])):
        roots = [one.node for one in (f if isinstance(f, list) else [f])]
        assert _loops(narrow(roots)) == _loops(roots)
