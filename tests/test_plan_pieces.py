"""Reductions of arrays that are put together from others: each part is a loop of its own, and all are one result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symdiff as sd

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
