"""Reductions of arrays that are put together from others: each part is a loop of its own, and all are one result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff.graph.reference.interpret import evaluate
from symdiff.lowering.plan.planner import make_plan
from symdiff.lowering.plan.steps import LoopStep

#: Arrays made of parts of a matrix, of a vector and of constants; the parts follow each other along either axis.
WHOLE: dict[str, Any] = {
    "row behind": lambda A, x: np.concatenate([A, x[None, :]]),
    "column before": lambda A, x: np.concatenate([x[:, None], A], axis=1),
    "stack of three": lambda A, x: np.concatenate([A, 2.0 * A, A.T]),
    "columns beside": lambda A, x: np.concatenate([A, A.T, x[:, None] * x], axis=1),
    "blocks": lambda A, x: np.block([[A, x[:, None]], [x[None, :], np.zeros((1, 1))]]),
    "pad": lambda A, x: np.pad(A, ((2, 1), (1, 3)), constant_values=0.5),
    "edges": lambda A, x: np.pad(A, 1, mode="edge"),
    "roll of rows": lambda A, x: np.roll(A, 2, axis=0),
    "roll of columns": lambda A, x: np.roll(A, -3, axis=1),
    "differences": lambda A, x: np.diff(A, axis=0, append=x[None, :]),
    "slopes": lambda A, x: np.gradient(A, axis=1),
}
#: What is done with each element.
INSIDE: dict[str, Any] = {
    "as it is": lambda B: B,
    "squares": lambda B: B * B,
    "exponentials": lambda B: np.exp(-0.1 * B),
    "centred": lambda B: B - np.mean(B, axis=1, keepdims=True),
    "products": lambda B: np.exp(0.1 * B) @ B.T,
}
#: What is made of all elements along an axis.
ALONG: dict[str, Any] = {
    "sum": lambda B, axis: np.sum(B, axis=axis),
    "mean of squares": lambda B, axis: np.mean(B**2, axis=axis),
    "norm": lambda B, axis: np.sqrt(np.sum(B * B, axis=axis)),
    "variance": lambda B, axis: np.var(B, axis=axis),
    "soft maximum": lambda B, axis: np.log(np.sum(np.exp(B), axis=axis)),
    "running sum": lambda B, axis: np.cumsum(B, axis=axis),
}


def compared(whole: str, inside: str, along: str, axis: int | None, n: int, letters: bool, samples: int) -> None:
    def made(A: Any, x: Any) -> Any:
        return ALONG[along](INSIDE[inside](WHOLE[whole](A, x)), axis)

    size: int | str = "n" if letters else n
    A, x = sd.matrix("A", size, size), sd.vector("x", size)
    value = made(A, x)
    weight = np.cos(np.arange(value.size)).reshape(value.shape) if isinstance(value.size, int) else 1.0
    slope = sd.gradient((value * value * weight).sum(), (A, x), disconnected="zero")
    kernel = sd.compile([value, *slope], inputs=[A, x], backend="interpreter")
    rng = np.random.default_rng(n)
    X = rng.uniform(0.1, 0.9, (samples, n))
    M = rng.uniform(0.1, 0.9, (n, n))
    found = kernel(M, X)
    for k in range(samples):
        np.testing.assert_allclose(found[0][k], made(M, X[k]), rtol=1e-9, atol=1e-11)
        for part, alone in zip(found, kernel(M, X[k]), strict=True):
            np.testing.assert_allclose(part[k], alone, rtol=1e-9, atol=1e-10)
    turn, bend = rng.normal(size=M.shape), rng.normal(size=n)

    def loss(h: float) -> float:
        return float(np.sum(made(M + h * turn, X[0] + h * bend) ** 2 * weight))

    differences = (8 * (loss(1e-4) - loss(-1e-4)) - (loss(2e-4) - loss(-2e-4))) / 12e-4
    total = np.sum(found[1][0] * turn) + np.sum(found[2][0] * bend)
    assert total == pytest.approx(differences, rel=1e-6, abs=1e-6 * (1 + abs(loss(0.0))))


@pytest.mark.parametrize("letters", [True, False])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("whole", WHOLE)
def test_sums_of_arrays_in_parts(whole: str, axis: int, letters: bool) -> None:
    for n in (5, 17, 40):
        compared(whole, "as it is", "sum", axis, n, letters, 2)


@settings(max_examples=60)
@given(
    st.sampled_from([*WHOLE]),
    st.sampled_from([*INSIDE]),
    st.sampled_from([*ALONG]),
    st.sampled_from([0, 1]),
    st.sampled_from([4, 16, 33, 70]),
    st.booleans(),
    st.integers(1, 3),
)
def test_reductions_of_arrays_in_parts(
    whole: str, inside: str, along: str, axis: int, n: int, letters: bool, samples: int
) -> None:
    compared(whole, inside, along, axis, n, letters, samples)


def _gates(z: Any, count: int, axis: int) -> list[Any]:
    length = z.shape[axis] // count
    parts = [slice(k * length, (k + 1) * length) for k in range(count)]
    return [z[part] if axis == 0 else z[:, part] for part in parts]


@settings(max_examples=40)
@given(
    st.integers(2, 5),
    st.sampled_from([0, 1]),
    st.sampled_from([3, 20, 33]),
    st.lists(st.sampled_from(["tanh", "sin", "exp", "cos"]), min_size=5, max_size=5),
    st.integers(1, 2),
)
def test_parts_made_of_each_other(
    count: int, axis: int, length: int, functions: list[str], samples: int
) -> None:
    """The slope by each gate is made of all gates: the array that they are joined to is one loop."""
    shape = (18, count * length) if axis else (count * length, 18)
    z = sd.matrix("z", *shape)
    made = 1.0
    for name, gate in zip(functions, _gates(z, count, axis), strict=False):
        made = made * getattr(np, name)(0.3 * gate) + gate
    loss = np.sum(np.tanh(0.1 * made))
    slope, alone = sd.gradient(loss, z), sd.gradient(loss, _gates(z, count, axis)[0])
    kernel = sd.compile([slope, alone, np.exp(0.1 * slope)], backend="interpreter")
    values = np.random.default_rng(count).normal(size=(samples, *shape))
    for found, formula in zip(kernel(values), (slope, alone, np.exp(0.1 * slope)), strict=True):
        for k in range(samples):
            (want,) = evaluate([formula.node], {"z": values[k]})
            np.testing.assert_allclose(found[k], want, rtol=1e-10, atol=1e-12)


def test_parts_with_much_in_common_are_one_loop() -> None:
    z = sd.matrix("z", 64, 256)
    i, f, g, o = _gates(z, 4, 1)
    cell = np.sum(sd.sigmoid(o) * np.tanh(sd.sigmoid(f) + sd.sigmoid(i) * np.tanh(g)))
    slope = sd.gradient(cell, z).node
    (step,) = make_plan([z.node], [slope], 10_000).steps
    assert isinstance(step, LoopStep)
    assert step.loops == (64, 64)
    assert step.results == (slope,) * 4
    assert [place[1].start for place in step.places] == [0, 64, 128, 192]
    (piece,) = step.pieces
    assert len([op for op in piece.program.ops if op in ("exp", "tanh", "cosh")]) <= 12


def test_parts_with_nothing_in_common_stay_apart() -> None:
    z = sd.matrix("z", 64, 256)
    i, f, g, o = _gates(z, 4, 1)
    joined = sd.asarray(np.concatenate([np.exp(i), np.sin(f), np.tanh(g), np.cos(o)], axis=1)).node
    (step,) = make_plan([z.node], [joined], 10_000).steps
    assert isinstance(step, LoopStep)
    assert len(step.pieces) == 4
