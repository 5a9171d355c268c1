# mypy: disable-error-code="assignment, attr-defined"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.calculus import derivatives
from symdiff.calculus.cost import array_time, cost, extent
from symdiff.calculus.cost import operations as expected_operations
from symdiff.graph import Node, inputs_of
from symdiff.lowering.unroll import unroll

x = sd.vector("x", 6)
A, B = sd.matrix("A", 4, 4), sd.matrix("B", 4, 4)


def operations(node: Node) -> int:
    """Return how many scalar operations a formula takes when it is lowered."""
    return sum(op not in ("load", "const") for op in unroll(inputs_of([node]), [node]).ops)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (x + x[0], 6),
        (x * x[0], 6),
        (-x, 6),
        (x @ x, 11),
        (A @ B, 4 * 4 * 7),
        (A.T, 0),
        (np.trace(A), 3),
        (np.sum(A, axis=0), 12),
        (sd.jacobian(x * x[::-1], x), 0),
        (sd.jacobian(np.sin(x), x), 60),
        (sd.jacobian(A * B, A), 0),
        (sd.hessian(x @ x, x), 0),
    ],
)
def test_zeros_of_the_structure_cost_nothing(formula: Any, expected: int) -> None:
    assert cost([formula.node]) == pytest.approx(expected, abs=0.5)


U, V, T = sd.matrix("U", 9, 2), sd.matrix("V", 7, 2), sd.matrix("T", 9, 7)


@pytest.mark.parametrize(
    "formula",
    [
        A @ B,
        A @ B @ x[:4],
        np.tanh(A @ x[:4]),
        sd.jacobian(np.exp(x) * np.sin(x), x),
        sd.hessian((100 * (x[1:] - x[:-1] ** 2) ** 2).sum(), x),
        sd.hessian(((T - U @ V.T) ** 2).sum(), U),
        sd.gradient(np.sum(np.tanh(A @ B) ** 2), A),
    ],
    ids=range(7),
)
def test_operations_are_about_those_of_a_program(formula: Any) -> None:
    assert 0.6 < expected_operations([formula.node]) / operations(formula.node) < 1.7


def test_time_of_arrays_is_that_of_calls_then_of_elements() -> None:
    def time(n: int) -> float:
        return array_time([np.exp(sd.vector("v", n)).node])

    assert time(1) == pytest.approx(time(2), rel=0.02)
    assert time(10**6) == pytest.approx(10 * time(10**5), rel=0.02)
    chain = x
    for _ in range(50):
        chain = np.sin(chain)
    assert array_time([chain.node]) == pytest.approx(50 * array_time([np.sin(x).node]))
    product = sd.matrix("P", 300, 300) @ sd.matrix("Q", 300, 300)
    assert array_time([product.node]) < 0.2 * expected_operations([product.node])  # by BLAS


def test_an_extent_counts_zeros() -> None:
    assert extent([sd.jacobian(x * x, x).node]) >= 36


def _chain(v: Any) -> Any:
    """Accelerations of a chain of three masses, by elimination: each entry knows few of the inputs."""
    n = 3
    M = [[(n - max(i, j)) * np.cos(v[i] - v[j]) if i != j else float(n - i) for j in range(n)] for i in range(n)]
    b = [sum((max(i, j) - n) * np.sin(v[i] - v[j]) * v[n + j] ** 2 for j in range(n) if j != i) for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            factor = M[i][k] / M[k][k]
            M[i] = [*M[i][: k + 1], *(M[i][j] - factor * M[k][j] for j in range(k + 1, n))]
            b[i] = b[i] - factor * b[k]
    found: list[Any] = []
    for k in reversed(range(n)):
        known = sum(M[k][j] * found[n - 1 - j] for j in range(k + 1, n))
        found.append((b[k] - known) / M[k][k])
    return np.stack(found)


def _arm(v: Any) -> Any:
    angle, place = 0.0 * v[0], [0.0 * v[0], 0.0 * v[0]]
    for i in range(6):
        angle = angle + v[i]
        place = [place[0] + np.cos(angle), place[1] + np.sin(angle)]
    return np.stack([*place, angle])


def _rate(v: Any) -> Any:
    k = v[1] * (v[0] / 298.0) ** v[2] * np.exp(-v[3] / (0.008 * v[0]))
    back, low = k / np.exp(5.0 - 1200.0 / v[0]), 0.3 * k
    width = np.log(low)
    return np.stack([k * v[4] * v[5] - back * v[4], low / (1.0 + low) * np.exp(-0.5 / (1.0 + width**2)) * v[4]])


@pytest.mark.parametrize("formula", [_chain, _arm, _rate])
def test_the_mode_that_is_kept_is_not_the_dearer(
    formula: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    y = formula(x)
    kept = operations(sd.jacobian(y, x).node)
    single = []
    for mode in (derivatives._forward, derivatives._reverse):
        monkeypatch.setattr(derivatives, "_modes", lambda outputs, inputs, mode=mode: [mode])
        single.append(operations(sd.jacobian(y, x).node))
    assert kept in single
    assert kept == min(single)
    assert max(single) > 1.1 * min(single)
