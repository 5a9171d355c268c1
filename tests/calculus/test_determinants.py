"""Determinants of matrices of any rank, to fourth order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff import graph
from symdiff.errors import NotDifferentiableError
from symdiff.graph.reference.interpret import evaluate
from symdiff.tools.checking.multiprecision import adjugate, directional
from tests.support.calculus import inner
from tests.support.rule_tables import (
    draw,
    of_rank,
)


def cofactors(a: Any) -> list[list[Fraction]]:
    """The cofactor matrix in exact arithmetic."""
    n = len(a)
    whole = [[Fraction(int(x)) for x in row] for row in a]

    def determinant(rows: list[list[Fraction]]) -> Fraction:
        if not rows:
            return Fraction(1)
        return sum(
            (
                (-1) ** c * rows[0][c] * determinant([r[:c] + r[c + 1 :] for r in rows[1:]])
                for c in range(len(rows))
                if rows[0][c]
            ),
            Fraction(0),
        )

    return [
        [(-1) ** (i + j) * determinant([r[:j] + r[j + 1 :] for k, r in enumerate(whole) if k != i]) for j in range(n)]
        for i in range(n)
    ]


RANKS = [(n, rank) for n in range(1, 7) for rank in range(n + 1)]


@pytest.mark.parametrize(
    ("n", "rank", "backend"), [(*size, b) for size in RANKS for b in ("numpy", "native") if b == "numpy" or size[0] < 5]
)
def test_determinant_to_second_order_at_every_rank(n: int, rank: int, backend: str) -> None:
    A = sd.matrix("A", n, n)
    e = draw((n, n), 7)
    a = of_rank(n, rank)
    f = sd.det(A)
    slope, push = sd.gradient(f, A), sd.hvp(f, A, e)
    value, gradient, second = sd.compile([f, slope, push], [A], backend=backend)(a)
    want = np.array(cofactors(a), dtype=float)
    scale = max(1.0, float(np.linalg.norm(a, 2)))
    np.testing.assert_allclose(value, float(round(np.linalg.det(a))), atol=1e-13 * scale**n)
    np.testing.assert_allclose(gradient, want, rtol=0, atol=2e-13 * scale ** (n - 1))
    slope_of_slope = directional([graph.matrix("adjugate", A.node)], {"A": a}, [{"A": e}])[0].T
    np.testing.assert_allclose(second, slope_of_slope, rtol=0, atol=2e-13 * n * scale ** max(n - 2, 0))


@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in range(1, 5) for rank in range(n + 1)])
def test_hessian_of_determinant_at_every_rank(n: int, rank: int) -> None:
    A = sd.matrix("A", n, n)
    a = of_rank(n, rank, 1)
    hessian = evaluate([sd.hessian(sd.det(A), A).node], {"A": a}, [A.node])[0]
    np.testing.assert_allclose(
        hessian, hessian.transpose(2, 3, 0, 1), rtol=0, atol=1e-12 * max(1.0, np.abs(a).max()) ** n
    )
    u, v = draw((n, n), 8), draw((n, n), 9)
    want = directional([sd.det(A).node], {"A": a}, [{"A": u}, {"A": v}])[0]
    got = np.einsum("ijkl,ij,kl", hessian, u, v)
    assert got == pytest.approx(float(want), rel=1e-12, abs=1e-11 * max(1.0, np.abs(a).max()) ** n)


@pytest.mark.parametrize(
    ("n", "rank"),
    [(n, rank) for n in (1, 2, 3, 5, 8) for rank in sorted({0, 1, n // 2, n - 2, n - 1, n}) if 0 <= rank <= n],
)
def test_determinant_to_third_order_at_every_rank(n: int, rank: int) -> None:
    A = sd.matrix("A", n, n)
    ways = [draw((n, n), seed) for seed in (10, 11, 12)]
    a = of_rank(n, rank, 2)
    f = sd.det(A)
    for way in ways:
        f = sd.jvp(f, A, way, disconnected="zero")
    back = sd.gradient(sd.jvp(sd.jvp(sd.det(A), A, ways[0]), A, ways[1], disconnected="zero"), A, disconnected="zero")
    got, slope = evaluate([f.node, back.node], {"A": a}, [A.node])
    want = float(directional([sd.det(A).node], {"A": a}, [{"A": way} for way in ways])[0])
    scale = max(1.0, float(np.linalg.norm(a, 2))) ** max(n - 3, 0) * n**3
    assert got == pytest.approx(want, rel=1e-12, abs=1e-12 * scale)
    assert inner(slope, ways[2]) == pytest.approx(want, rel=1e-12, abs=1e-12 * scale)


def test_fourth_order_of_a_determinant() -> None:
    A = sd.matrix("A", 4, 4)
    a, way = of_rank(4, 1, 3), draw((4, 4), 13)
    f = sd.det(A)
    for _ in range(4):
        f = sd.jvp(f, A, way, disconnected="zero")
    assert evaluate([f.node], {"A": a}, [A.node])[0] == pytest.approx(24 * np.linalg.det(way), rel=1e-12)


def test_third_order_of_a_large_determinant_is_refused_by_name() -> None:
    for size in (9, "n"):
        A = sd.matrix("A", size, size)
        second = sd.hvp(sd.det(A), A, sd.matrix("E", size, size))
        with pytest.raises(NotDifferentiableError, match=r"third derivative of det.*known up to 8"):
            sd.gradient(second.sum(), A)


@pytest.mark.parametrize("rank", range(5))
def test_adjugate_is_exact_at_every_rank(rank: int) -> None:
    A = sd.matrix("A", 4, 4)
    a = of_rank(4, rank, 4)
    for backend in ("numpy", "native"):
        got = sd.compile(sd.linalg.adjugate(A), [A], backend=backend)(a)
        np.testing.assert_allclose(got, np.array(cofactors(a), dtype=float).T, atol=1e-11)
        np.testing.assert_allclose(got, np.array(adjugate(a.astype(int).astype(object)), dtype=float), atol=1e-11)


def test_power_and_product_of_singular_determinants() -> None:
    A = sd.matrix("A", 3, 3)
    a = of_rank(3, 2, 5)
    want = np.array(cofactors(a), dtype=float)
    square, cube = sd.compile([sd.gradient(sd.det(A) ** 2, A), sd.gradient(sd.det(A) * sd.trace(A), A)], [A])(a)
    np.testing.assert_allclose(square, 2 * round(np.linalg.det(a)) * want, atol=1e-11)
    np.testing.assert_allclose(cube, want * np.trace(a), atol=1e-11)


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
@pytest.mark.parametrize("lead", [(), (3,)])
def test_a_matrix_without_rows_has_the_determinant_1(lead: tuple[int, ...], backend: str) -> None:
    empty, a = np.zeros((*lead, 0, 0)), sd.array("a", (*lead, 0, 0))
    sign, size, logarithm = sd.compile([*np.linalg.slogdet(a), sd.logdet(a)], [a], backend=backend)(empty)
    for got, want in zip((sign, size, logarithm), (*np.linalg.slogdet(empty), np.zeros(lead)), strict=True):
        np.testing.assert_array_equal(got, want)
