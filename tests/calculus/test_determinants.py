"""Determinants of matrices of any rank, to fourth order, and exponentials of matrices that are not symmetric."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp
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


# ---------------------------------------------------------------------------- matrix exponential
# Exponentials of matrices that are not symmetric: mpmath's to 40 digits, and derivatives by block matrices of it.


A = sd.matrix("A", 3, 3)
RNG = np.random.default_rng(11)
WEIGHTS = RNG.normal(size=(3, 3))
JORDAN = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])
MATRICES: dict[str, Any] = {
    **{f"random times {scale:g}": RNG.normal(size=(3, 3)) * scale for scale in (1e-200, 1e-9, 0.3, 2.0, 10.0, 60.0)},
    "zero": np.zeros((3, 3)),
    "identity": np.eye(3),
    "one Jordan block": JORDAN,
    "nilpotent": JORDAN - 2 * np.eye(3),
    "nearly one block": JORDAN + 1e-9 * np.diag([0.0, 1.0, 2.0]),
    "turning": np.array([[0.0, -9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
    "stiff": np.diag([-1.0, -300.0, -5e3]) + np.triu(np.ones((3, 3)), 1),
    "beside a halving": np.eye(3) * 5.371920351148152,
}


def exact(a: Any) -> Any:
    """Return the exponential by Taylor's series of a matrix scaled below 1, in digits that squaring does not reach."""
    halvings = max(0, int(np.ceil(np.log2(1 + float(max(map(abs, a)))))) + 3)
    with mp.workdps(mp.mp.dps + 3 * halvings + 20):
        x = a / mp.mpf(2) ** halvings
        total = term = mp.eye(a.rows)
        for k in range(1, 80):
            term = term * x / k
            total = total + term
        for _ in range(halvings):
            total = total * total
        return total


def slopes(a: Any, directions: list[Any]) -> Any:
    """Return the derivative of the exponential along matrices: the corner of that of [[a, e], [0, a]], and so on."""
    n = a.rows
    for k, e in enumerate(directions):
        size = a.rows
        both = mp.zeros(2 * size, 2 * size)
        both[:size, :size] = both[size:, size:] = a
        for block in range(2**k):
            at = block * n
            both[at : at + n, size + at : size + at + n] = e
        a = both
    return exact(a)[:n, a.rows - n :]


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", MATRICES)
def test_values_and_derivatives_to_second_order(name: str) -> None:
    at = MATRICES[name]
    f = sd.expm(A)
    total = np.sum(f * WEIGHTS)
    kernel = sd.compile([f, sd.gradient(total, A), sd.jvp(f, A, WEIGHTS)], [A], backend="interpreter")
    assert not kernel.stats.get("numpy_steps")
    value, slope, along = kernel(at)
    curve = sd.compile(sd.hessian(total, A), [A], backend="numpy")(at)
    units = [mp.matrix(np.eye(9)[k].reshape(3, 3).tolist()) for k in range(9)]
    with mp.workdps(40):
        a, w = mp.matrix(at.tolist()), mp.matrix(WEIGHTS.tolist())

        def weighed(x: Any) -> float:
            return float(mp.fsum(x[i, j] * w[i, j] for i in range(3) for j in range(3)))

        want = np.array(exact(a).tolist(), dtype=float)
        firsts = np.array([weighed(slopes(a, [e])) for e in units]).reshape(3, 3)
        seconds = np.array([[weighed(slopes(a, [e, d])) for e in units[:3]] for d in units[4:6]])
        direction = np.array(slopes(a, [w]).tolist(), dtype=float)
    # a unit of the last place of the matrix moves the value by its slope, times the norm
    scale = 1e-14 * max(1.0, float(abs(at).sum(axis=0).max()))
    for got, wanted in ((value, want), (slope, firsts), (along, direction)):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=scale * abs(wanted).max() + 1e-300)
    found = curve.reshape(9, 9)[4:6, :3]
    np.testing.assert_allclose(found, seconds, rtol=0, atol=10 * scale * abs(curve).max() + 1e-300)


def test_third_derivatives() -> None:
    """Along one direction the derivatives of exp(t E) are powers of E times it."""
    t = sd.scalar("t")
    e = RNG.normal(size=(3, 3))
    third = sd.compile(sd.derivative(sd.expm(t * e), t, 3), [t])(0.7)
    wanted = np.linalg.matrix_power(e, 3) @ sd.compile(sd.expm(A), [A])(0.7 * e)
    np.testing.assert_allclose(third, wanted, rtol=1e-12, atol=1e-12)


def test_stacks_batches_and_letters() -> None:
    stack = RNG.normal(size=(40, 2, 3, 3))
    f = sd.compile(sd.expm(sd.array("X", (2, 3, 3))), x := [sd.array("X", (2, 3, 3))])
    one = sd.compile(sd.expm(A), [A])
    want = np.array([[one(m) for m in pair] for pair in stack])
    np.testing.assert_allclose(f(stack), want, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(f(stack[0]), want[0], rtol=1e-12)
    assert [str(own) for own in x] == ["X"]
    m = sd.matrix("M", "n", "n")
    big = RNG.normal(size=(30, 30))
    slope = sd.compile(sd.gradient(np.trace(sd.expm(m)), m), [m])(big)
    want = sd.compile(sd.expm(m), [m])(big).T
    np.testing.assert_allclose(slope, want, rtol=1e-10, atol=1e-11 * abs(want).max())


def test_a_norm_beyond_the_squarings_is_nan_and_not_another_number() -> None:
    kernel = sd.compile([sd.expm(A), sd.gradient(np.trace(sd.expm(A)), A)], [A])
    for at in (-3e4 * np.eye(3), np.full((3, 3), np.nan), np.diag([np.inf, 1.0, 2.0])):
        for got in kernel(at):
            assert np.isnan(got).all()
    np.testing.assert_array_equal(kernel(-2e4 * np.eye(3))[0], np.zeros((3, 3)))


def test_what_is_known_to_be_symmetric_goes_by_its_eigenvalues() -> None:
    s = sd.matrix("S", 3, 3, symmetric=True)
    assert str(sd.expm(s)) == "expm(S)"
    at = np.diag([1.0, 1.0, 2.0]) + 0.5
    both = sd.compile([sd.expm(s), sd.expm(A)], [s, A])(at, at)
    np.testing.assert_allclose(both[0], both[1], rtol=1e-13)


@pytest.mark.parametrize("size", [0, "n"])
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_the_exponential_of_a_matrix_without_rows_has_none(size: Any, backend: Any) -> None:
    A = sd.matrix("A", size, size)
    for formula in (sd.expm(A), sd.gradient(np.trace(sd.expm(A)), A)):
        kernel = sd.compile(formula, [A], backend=backend)
        assert kernel(np.ones((0, 0))).shape == (0, 0)
        assert kernel(np.ones((3, 0, 0))).shape == (3, 0, 0)
