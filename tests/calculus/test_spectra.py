"""Eigenvalues, singular values, functions of matrices and choices among them: values and derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mpmath
import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from scipy import linalg

import symdiff as sd
from tests.frontend.test_linear_algebra import A, B, V, draw

#: Eigenvalues at spacings from 1 down to 0.
SPECTRA = [
    [1.0, 2.0, 3.0],
    [2.0, 2.0, 2.0],
    [0.5, 0.5, 2.0],
    *([1.0, 1.0 + gap, 1.0 + 1.5 * gap] for gap in (0.3, 1 / 16, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15)),
    [1e-2, 1e-2 * (1 + 1e-8), 1e2],
]
M = sd.matrix("M", 3, 3)
E = sd.matrix("E", 3, 3)
SYMMETRIC = (M + M.T) / 2

#: Functions of a number, as symdiff and as mpmath write them, and whether they take negative numbers.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], bool]] = {
    "exp": (np.exp, mpmath.exp, True),
    "log": (np.log, mpmath.log, False),
    "sqrt": (np.sqrt, mpmath.sqrt, False),
    "power": (lambda x: x**-1.5, lambda x: x ** mpmath.mpf(-1.5), False),
    "cube": (lambda x: x**3, lambda x: x**3, True),
    "inverse": (lambda x: 1 / x, lambda x: 1 / x, True),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + mpmath.exp(-x)), True),
    "tanh": (np.tanh, mpmath.tanh, True),
    "entropy": (lambda x: x * np.log(x), lambda x: x * mpmath.log(x), False),
    "rational": (lambda x: (x**2 - 1) / (x**2 + 1), lambda x: (x * x - 1) / (x * x + 1), True),
    "composed": (lambda x: np.sin(np.sqrt(1 + x**2)), lambda x: mpmath.sin(mpmath.sqrt(1 + x * x)), True),
    "softplus": (lambda x: np.logaddexp(0, x), lambda x: mpmath.log1p(mpmath.exp(x)), True),
}


def turned(values: list[float], seed: int) -> Any:
    q = linalg.qr(draw(len(values), len(values), seed=seed))[0]
    a = q @ np.diag(values) @ q.T
    return (a + a.T) / 2


def by_blocks(f: Callable[[Any], Any], a: Any, e: Any) -> tuple[Any, Any, Any]:
    """f(A) and its derivatives along E of a function of a number, by one matrix of nine blocks, at 60 digits.

    Of [[A, E, 0], [0, A, E], [0, 0, A]], f has them in the first row, the second halved (Higham 2008, theorem 3.6). The
    blocks are moved apart by 1e-18, which makes the eigenvalues different.
    """
    with mpmath.workdps(60):
        n = len(a)
        exact = mpmath.matrix(a.tolist())
        values, v = mpmath.eigsy(exact)
        inside = v.T * mpmath.matrix(e.tolist()) * v
        at = [f(x) for x in values]

        def first(i: int, j: int) -> Any:
            if abs(values[i] - values[j]) > mpmath.mpf("1e-25"):
                return (at[i] - at[j]) / (values[i] - values[j])
            return mpmath.diff(f, values[i])

        def second(i: int, j: int, k: int) -> Any:
            x, y, z = sorted((i, j, k), key=lambda m: values[m])
            if abs(values[x] - values[z]) > mpmath.mpf("1e-20"):
                return (first(x, y) - first(y, z)) / (values[x] - values[z])
            return mpmath.diff(f, values[x], 2) / 2

        whole, one, two = (mpmath.matrix(n, n) for _ in range(3))
        for i in range(n):
            whole[i, i] = at[i]
            for j in range(n):
                one[i, j] = first(i, j) * inside[i, j]
                two[i, j] = 2 * sum(second(i, k, j) * inside[i, k] * inside[k, j] for k in range(n))
        return tuple(np.array((v * x * v.T).tolist(), dtype=float) for x in (whole, one, two))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_matrices_to_second_order_where_eigenvalues_meet(name: str) -> None:
    ours, exact, negative = FUNCTIONS[name]
    value = sd.funm(SYMMETRIC, ours)
    weights = sd.matrix("W", 3, 3)
    f = (weights * value).sum()
    kernel = sd.compile(
        {
            "value": value,
            "forward": sd.jvp(value, M, E),
            "reverse": sd.gradient(f, M),
            "product": sd.hvp(f, M, E),
            "hessian": sd.hessian(f, M),
            "sum": sd.gradient(sum_of(ours), M),
            "sum second": sd.hvp(sum_of(ours), M, E),
        },
        [M, E, weights],
        backend="numpy",
    )
    e, w = draw(3, 3, seed=4), draw(3, 3, seed=5)
    e = e + e.T
    for seed, values in enumerate([*SPECTRA, *([[-1.0, -1.0, 2.0], [0.5, -0.5, 0.5]] if negative else [])]):
        a = turned(values, seed)
        whole, one, two = by_blocks(exact, a, e)
        got = kernel(a, e, w)
        scale = max(np.abs(two).max(), np.abs(one).max(), np.abs(whole).max(), 1.0)
        tolerance = 2e-12 * scale * max(values) / min(map(abs, values))
        want = {
            "value": (got["value"], whole),
            "forward": (got["forward"], one),
            "reverse": ((got["reverse"] * e).sum(), (w * one).sum()),
            "product": ((got["product"] * e).sum(), (w * two).sum()),
            "hessian": (np.einsum("ij,ijkl,kl", e, got["hessian"], e), (w * two).sum()),
            "sum": ((got["sum"] * e).sum(), np.trace(one)),
            "sum second": ((got["sum second"] * e).sum(), np.trace(two)),
        }
        for part, (have, expected) in want.items():
            np.testing.assert_allclose(have, expected, rtol=0, atol=tolerance, err_msg=f"{part} at {values}")


def sum_of(f: Callable[[Any], Any]) -> Any:
    return np.sum(f(np.linalg.eigvalsh(M)))


def test_sums_over_separated_eigenvalues_where_others_meet() -> None:
    """The sum of the two largest eigenvalues, and the projector on their eigenvectors (Higham 2008, 2.5)."""
    values = np.linalg.eigvalsh(M)
    top = np.sum(values[1:])
    projector = sd.funm(SYMMETRIC, lambda x: sd.where(x > 1.5, 1.0, 0.0))
    kernel = sd.compile([sd.gradient(top, M), sd.hvp(top, M, E), projector, sd.jvp(projector, M, E)], [M, E])
    e = draw(3, 3, seed=6)
    e = e + e.T
    for seed, gap in enumerate((0.5, 1e-6, 1e-13, 0.0)):
        a = turned([1.0, 2.0, 2.0 + gap], seed)
        v = np.linalg.eigh(a).eigenvectors[:, 1:]
        p = v @ v.T
        rest = np.eye(3) - p
        # dP = S E P + P E S for the reduced resolvent S of the eigenvalues that are apart (Kato 1995, II.2.14)
        change = sum(
            (rest @ e @ np.outer(u, u)) / (x - 1.0) for x, u in zip(np.linalg.eigvalsh(a)[1:], v.T, strict=True)
        )
        change = change + change.T
        slope, bend, value, moved = kernel(a, e)
        for got, want in ((slope, p), (value, p), (moved, change), (bend, change)):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_what_has_no_derivative_is_nan() -> None:
    values, vectors = np.linalg.eigh(M)
    singular = sd.matrix("X", 3, 2)
    one = sd.compile(
        [sd.gradient(values[0], M), sd.jacobian(values, M), sd.jacobian(vectors[:, 0], M), sd.gradient(values[2], M)]
    )
    first, every, vector, other = one(turned([1.0, 1.0, 2.0], 1))
    assert np.isnan(first).all()
    assert np.isnan(every[:2]).all()
    assert np.isfinite(every[2]).all()
    assert np.isnan(vector).any()
    assert np.isfinite(other).all()
    lost = sd.compile(sd.gradient(np.linalg.norm(singular, "nuc"), singular))
    assert np.isnan(lost(np.outer(draw(3, seed=1), draw(2, seed=2)))).all()
    largest = sd.compile(sd.gradient(np.linalg.norm(singular, 2), singular))
    assert np.isnan(largest(np.linalg.qr(draw(3, 2, seed=3))[0])).all()


@pytest.mark.parametrize("shape", [(2, 2), (4, 3), (2, 5), (5, 2)])
def test_singular_values_and_vectors(shape: tuple[int, int]) -> None:
    x = sd.matrix("x", *shape)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    kernel = sd.compile([u, s, vh, np.linalg.norm(x, "nuc"), np.linalg.cond(x), np.linalg.norm(x, -2)], [x])
    a = draw(*shape, seed=7)
    left, values, right, nuclear, ratio, least = kernel(a)
    want = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(values, want[1], rtol=1e-13)
    np.testing.assert_allclose((left * values) @ right, a, atol=1e-13)
    np.testing.assert_allclose(left.T @ left, np.eye(min(shape)), atol=1e-13)
    np.testing.assert_allclose(right @ right.T, np.eye(min(shape)), atol=1e-13)
    largest, smallest = want[1][[0, -1]]
    np.testing.assert_allclose([nuclear, ratio, least], [want[1].sum(), largest / smallest, smallest], rtol=1e-12)
    # the differential of the vectors (Townsend 2016), by the change of what they make up
    e = draw(*shape, seed=8)
    way = sd.matrix("e", *shape)
    parts = sd.compile([sd.jvp(part, x, way) for part in (u, s, vh)], [x, way])(a, e)
    change = (parts[0] * values) @ right + (left * parts[1]) @ right + (left * values) @ parts[2]
    np.testing.assert_allclose(change, e, atol=1e-11)
    np.testing.assert_allclose(parts[1], np.diagonal(left.T @ e @ right.T), atol=1e-12)
    skew = left.T @ parts[0]
    np.testing.assert_allclose(skew, -skew.T, atol=1e-11)


def test_nuclear_norm_to_second_order_where_singular_values_meet() -> None:
    x, way = sd.matrix("x", 4, 3), sd.matrix("e", 4, 3)
    f = np.linalg.norm(x, "nuc")
    same = np.sum(np.linalg.svd(x, compute_uv=False))
    kernel = sd.compile([f, sd.gradient(f, x), sd.hvp(f, x, way), sd.hvp(same, x, way)], [x, way])
    u, v = np.linalg.qr(draw(4, 4, seed=9))[0], np.linalg.qr(draw(3, 3, seed=10))[0]
    e = draw(4, 3, seed=11)
    for values in ([3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [2.0, 2.0, 2.0], [1.0 + 1e-9, 1.0, 0.5]):
        a = u[:, :3] @ np.diag(values) @ v.T
        value, slope, bend, again = kernel(a, e)
        polar = linalg.polar(a)[0]

        def turn(step: float, a: Any = a) -> Any:
            return linalg.polar(a + step * e)[0]

        # the gradient is the orthogonal polar factor
        h = 1e-3
        change = (8 * (turn(h) - turn(-h)) - (turn(2 * h) - turn(-2 * h))) / (12 * h)
        np.testing.assert_allclose(value, sum(values), rtol=1e-13)
        np.testing.assert_allclose(slope, polar, atol=1e-12)
        np.testing.assert_allclose(bend, change, atol=1e-9)
        np.testing.assert_allclose(again, bend, atol=1e-13)


@pytest.mark.parametrize("backend", ["numpy", "native", "interpreter"])
def test_spectra_on_each_backend(backend: str) -> None:
    weights = sd.matrix("W", 3, 3)
    t = sd.scalar("t")
    f = (weights * sd.funm(SYMMETRIC, lambda x: np.exp(t * x))).sum()
    outputs = [
        *np.linalg.eigh(M),
        f,
        *sd.gradient(f, (M, t)),
        sd.hessian(f, M),
        sd.derivative(f, t, 2),
        sd.gradient(np.sum(np.log(np.linalg.eigvalsh(M))), M),
    ]
    kernel = sd.compile(outputs, [M, weights, t], backend=backend)
    stack = np.stack([turned(values, 3) for values in SPECTRA[:5]])
    w = draw(3, 3, seed=5)
    got = kernel(stack, w, 0.5)
    for k, a in enumerate(stack):
        values = np.linalg.eigvalsh(a)
        power = linalg.expm(0.5 * a)
        want = [values, None, (w * power).sum(), None, (w * (a @ power)).sum(), None, (w * (a @ a @ power)).sum()]
        want.append(np.linalg.inv(a))
        for have, expected in zip(got, want, strict=True):
            if expected is not None:
                np.testing.assert_allclose(have[k], expected, rtol=1e-10, atol=1e-10)
        found = got[1][k]  # of equal eigenvalues they are any basis
        np.testing.assert_allclose(a @ found, found * values, atol=1e-10)
        np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
        slope = linalg.expm_frechet(0.5 * a, 0.5 * (w + w.T) / 2, compute_expm=False)
        np.testing.assert_allclose(got[3][k], slope, rtol=1e-10, atol=1e-10)
    assert np.isnan(kernel(np.full((3, 3), np.nan), w, 0.5)[0]).all()


def test_least_squares() -> None:
    b = sd.vector("b", 4)
    a, y = draw(4, 3, seed=12), draw(4, seed=13)
    found: Any = np.linalg.lstsq(A, b)
    assert found.rank == 3
    got = sd.compile([found.x, found.residuals, found.s], [A, b])(a, y)
    want = np.linalg.lstsq(a, y)
    for have, expected in zip(got, (want[0], want[1], want[3]), strict=True):
        np.testing.assert_allclose(have, expected, rtol=1e-12)


SPECTRA_REFUSED: dict[str, tuple[Callable[[], Any], type[sd.SymdiffError], str]] = {
    "eig": (lambda: np.linalg.eig(M), sd.UnsupportedError, "eigh"),
    "logm of any matrix": (lambda: sd.logm(M), sd.UnsupportedError, "symmetric"),
    "expm of a rectangle": (lambda: sd.expm(A), sd.ShapeError, "square"),
    "expm_frechet of two shapes": (lambda: sd.linalg.expm_frechet(M, A), sd.ShapeError, "one shape"),
    "polar of a side": (lambda: sd.linalg.polar(M, "both"), sd.ArgumentError, "left"),
    "sylvester": (lambda: sd.solve_sylvester(M, M, A), sd.ShapeError, "n by m"),
    "leslie": (lambda: sd.linalg.leslie(V, V), sd.ShapeError, "one rate less"),
    "companion of a number": (lambda: sd.linalg.companion(V[:1]), sd.ShapeError, "2 at least"),
    "logm of a vector": (lambda: sd.logm(V), sd.ShapeError, "square"),
    "eigvalsh of a rectangle": (lambda: np.linalg.eigvalsh(A), sd.ShapeError, "square"),
    "full matrices": (lambda: np.linalg.svd(A), sd.UnsupportedError, "full_matrices=False"),
    "sizes by name": (lambda: np.linalg.svdvals(sd.matrix("x", "n", "m")), sd.UnsupportedError, "fixed sizes"),
    "svdvals of a vector": (lambda: sd.svdvals(V), sd.ShapeError, "matrix"),
    "lstsq cutoff": (lambda: np.linalg.lstsq(A, V, rcond=0.1), sd.UnsupportedError, "None"),
    "lstsq shapes": (lambda: np.linalg.lstsq(A, V), sd.ShapeError, "as many rows"),
    "no function": (lambda: sd.funm(SYMMETRIC, 2.0), sd.ArgumentError, "a function of one number"),
    "an array from it": (lambda: sd.funm(SYMMETRIC, lambda x: x * V), sd.ArgumentError, "no symbolic number"),
    "a number from it": (lambda: sd.funm(SYMMETRIC, lambda x: 2.0), sd.ArgumentError, "no symbolic number"),
    "arrays beside": (lambda: sd.funm(SYMMETRIC, lambda x: x * np.sum(V * x)), sd.ShapeError, "numbers"),
    "a barrier": (lambda: sd.funm(SYMMETRIC, lambda x: x * sd.stop_gradient(x)), sd.UnsupportedError, "stop_gradient"),
    "third order": (
        lambda: sd.derivative(sd.expm(sd.scalar("t") * (B + B.T)).sum(), "t", 3),
        sd.NotDifferentiableError,
        "to the second",
    ),
    "no rule": (
        lambda: sd.gradient(sd.funm(SYMMETRIC, np.tan).sum(), M),
        sd.NotDifferentiableError,
        "tan in a function",
    ),
}


@pytest.mark.parametrize("name", SPECTRA_REFUSED)
def test_spectra_refused_with_what_was_expected(name: str) -> None:
    call, error, text = SPECTRA_REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_functions_of_several_sums_over_eigenvalues() -> None:
    """Gradient and products of such with the Hessian, by closed forms in the matrix itself, where eigenvalues meet."""
    values = np.linalg.eigvalsh(M)
    cases = {
        "square": (np.sum(np.log(values)) ** 2, lambda a: np.linalg.slogdet(a)[1] ** 2),
        "share": (np.sum(values**2) / np.sum(values), lambda a: np.trace(a @ a) / np.trace(a)),
        "logsumexp": (sd.logsumexp(values), lambda a: np.log(np.trace(linalg.expm(a)))),
        "norm": (np.linalg.norm(values), linalg.norm),
        "nested": (
            np.sum(np.sqrt(np.linalg.eigvalsh(M @ M.T + np.sum(values) * np.eye(3)))),
            lambda a: np.trace(linalg.sqrtm(a @ a + np.trace(a) * np.eye(3)).real),
        ),
    }
    e = draw(3, 3, seed=21)
    e = e + e.T
    for name, (f, reference) in cases.items():
        kernel = sd.compile(
            [f, sd.jvp(f, M, E), (sd.gradient(f, M) * E).sum(), (sd.hvp(f, M, E) * E).sum()], [M, E], backend="numpy"
        )
        for seed, at in enumerate(([2.0, 2.0, 2.0], [1.0, 1.0, 3.0], [1.0, 1.0 + 1e-10, 3.0], [1.0, 2.0, 4.0])):
            a = turned(at, seed)
            h = 1e-3
            line = {k: float(reference(a + k * h * e)) for k in range(-3, 4)}
            first = (45 * (line[1] - line[-1]) - 9 * (line[2] - line[-2]) + line[3] - line[-3]) / (60 * h)
            second = (
                2 * (line[3] + line[-3]) - 27 * (line[2] + line[-2]) + 270 * (line[1] + line[-1]) - 490 * line[0]
            ) / (180 * h * h)
            value, forward, reverse, bend = kernel(a, e)
            np.testing.assert_allclose(value, line[0], rtol=1e-12, err_msg=name)
            np.testing.assert_allclose([forward, reverse], first, rtol=1e-9, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(bend, second, rtol=1e-6, atol=1e-6, err_msg=name)


def test_check_names_equal_eigenvalues() -> None:
    report = sd.check(np.linalg.eigvalsh(M)[0], M, at={"M": np.diag([1.0, 1.0, 2.0])})
    assert "equal eigenvalues" in str(report)
    assert "nan" in str(report)
    assert sd.check(np.sum(np.log(np.linalg.eigvalsh(M))), M, at={"M": np.diag([1.0, 1.0, 2.0])}).ok


@pytest.mark.parametrize("sizes", [("n", "m"), (4, 3)])
@pytest.mark.parametrize("backend", ["numpy", "interpreter", "native"])
def test_jacobians_of_solutions_factorize_once(sizes: tuple[Any, Any], backend: str) -> None:
    n, m = sizes
    a, c, x, w = sd.matrix("A", n, n), sd.matrix("C", n, m), sd.vector("x", m), sd.matrix("W", n, 2)
    rng = np.random.default_rng(0)
    values = {"A": rng.normal(size=(4, 4)), "C": rng.normal(size=(4, 3)), "x": rng.normal(size=3)}
    cosine = np.cos(values["C"] @ values["x"])
    wanted = np.linalg.solve(values["A"], cosine[:, None] * values["C"])
    shown = sd.jacobian(np.linalg.solve(a, np.sin(c @ x)), x)
    assert "broadcast" not in str(shown)
    letters = backend != "numpy" and n == "n"
    kernel = sd.compile(shown, inputs=[a, c, x], backend="auto" if letters else backend)
    np.testing.assert_allclose(kernel(**values), wanted, rtol=1e-12)
    columns = sd.jacobian(np.linalg.solve(a, w * (c @ x)[:, None]), x)
    given = {**values, "W": rng.normal(size=(4, 2))}
    wide = np.einsum("ij,jk,jl->ikl", np.linalg.inv(values["A"]), given["W"], values["C"])
    kernel = sd.compile(columns, inputs=[a, c, x, w], backend="auto" if letters else backend)
    np.testing.assert_allclose(kernel(**given), wide, rtol=1e-11, atol=1e-13)


def test_simple_eigenvalues_are_those_that_no_other_one_equals() -> None:
    found = sd.compile("simple_eigenvalues(x)", x=4)
    np.testing.assert_array_equal(found([-1.0, 2.0, 2.0 + 1e-15, 5.0]), [1, np.nan, np.nan, 1])
    np.testing.assert_array_equal(found([-1.0, 0.0, 1e-9, 5.0]), 1)
    with pytest.raises(sd.ShapeError, match="the eigenvalues of a matrix"):
        sd.parse("simple_eigenvalues(x)", x=())


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-9, 1e-15, 0.0])
@pytest.mark.parametrize("smallest", [1.0, 1e-4, 1e-8])
def test_polar_factors_of_equal_clustered_and_small_singular_values(spread: float, smallest: float) -> None:
    """Newton's iteration in many digits, and differences of it; a matrix without full rank is nan."""
    rng = np.random.default_rng(4)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    a = turn @ np.diag([1.0, 1.0 + spread, smallest * (1 + spread)]) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    e, x = rng.normal(size=(3, 3)), sd.matrix("x", 3, 3)
    factors = sd.linalg.polar(x)
    kernel = sd.compile([*factors, *(sd.jvp(one, x, e) for one in factors)], [x])

    def exact(m: Any) -> tuple[Any, Any]:
        u = m
        for _ in range(60):
            u = (u + (u**-1).T) / 2
        return u, u.T * m

    with mpmath.workdps(80):
        at, way, h = mpmath.matrix(a.tolist()), mpmath.matrix(e.tolist()), mpmath.mpf(10) ** -30
        up, down = exact(at + h * way), exact(at - h * way)
        wanted = [*exact(at), *((b - c) / (2 * h) for b, c in zip(up, down, strict=True))]
    for got, want in zip(kernel(a), wanted, strict=True):
        numbers = np.array(want.tolist(), dtype=float)
        np.testing.assert_allclose(got, numbers, rtol=0, atol=1e-14 / smallest * abs(numbers).max())
    for lost in (np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1e-11, 2.0])):
        assert all(np.isnan(one).all() for one in kernel(lost))


@pytest.mark.parametrize("seed", range(12))
def test_quotients_of_vectors_and_norms_of_eigenvalues_are_read_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    matrix = rng.choice(["outer(x, y) + outer(y, x)", "2 * outer(x, x)", "diag(x) + outer(y, y)", "3 * outer(y, y)"])
    number = rng.choice(["norm(eigvalsh({m}))", "(1 + sum(eigvalsh({m})**2))", "(2 + norm(eigvalsh({m}))**2)"])
    vector = rng.choice(["x", "x + y", "x * y", "mean(outer(x, y), axis=1)"])
    text = f"{vector} / {number.format(m=matrix)}"
    f = sd.jacobian(text, "x", x=n, y=n)
    given = {"x": rng.normal(size=n), "y": rng.normal(size=n)}
    expected = sd.compile(f, ["x", "y"], backend="numpy")(**given)
    used = {name: n for name in given if name in set(re.findall(r"[a-z]+", str(f)))}
    found = sd.compile(str(f), backend="interpreter", **used)(**{name: given[name] for name in used})
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8), str(f)


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (4, 4)])
@pytest.mark.parametrize("power", [2, 4, 6])
def test_even_powers_of_singular_values_of_matrices_of_rank_one(shape: tuple[int, int], power: int) -> None:
    """Singular values that are 0 up to rounding have slopes that differ, all of them none beside the largest one."""
    rng = np.random.default_rng(3)
    a = np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))
    smooth = {2: "sum(A**2)", 4: "sum((A.T @ A)**2)", 6: "trace(A.T @ A @ A.T @ A @ A.T @ A)"}[power]
    got, wanted = (
        np.asarray(sd.compile(sd.hessian(each, "A", A=shape), backend="interpreter")(a))
        for each in (f"sum(svdvals(A)**{power})", smooth)
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (4, 2), (3, 1), (1, 1)])
def test_singular_values_of_what_has_no_eigenvalue_below_0_are_its_eigenvalues(shape: tuple[int, int]) -> None:
    X = sd.matrix("X", *shape)
    gram = X @ X.T
    s = np.linalg.svdvals(gram)
    same = {
        np.sum(s): np.trace(gram),
        np.linalg.norm(gram, "nuc"): np.trace(gram),
        np.sum(s**2): np.sum(gram * gram),
        np.sum(np.log1p(s)): np.linalg.slogdet(np.eye(shape[0]) + gram)[1],
        np.sum(1 / (3 + s)): np.trace(np.linalg.inv(3 * np.eye(shape[0]) + gram)),
    }
    for ours, closed in same.items():
        at = draw(*shape, seed=5)
        derivatives: list[Callable[[Any], Any]] = [lambda f: f, lambda f: sd.gradient(f, X), lambda f: sd.hessian(f, X)]
        for derive in derivatives:
            found, expected = (sd.compile(derive(f), [X], backend="interpreter")(at) for f in (ours, closed))
            assert np.allclose(found, expected, rtol=1e-11, atol=1e-11), (ours, shape)
    assert (sd.compile(s, [X])(draw(*shape, seed=6)) >= 0).all()


# ---------------------------------------------------------------------------- spectral choices
# Choices among eigenvalues: those that are not taken add nothing to a derivative.


Floats = npt.NDArray[np.float64]

#: Numbers made of the eigenvalues of a matrix, some of which do not count.
CHOICES: dict[str, Callable[[Any], Any]] = {
    "ramp": lambda e: np.maximum(e, 0).sum(),
    "minimum": lambda e: np.minimum(e, 0.2).sum(),
    "clip": lambda e: (np.clip(e, -0.5, 0.7) ** 2).sum(),
    "where": lambda e: np.where(e > 0.1, e**2, 0).sum(),
    "by place": lambda e: np.where(np.array([1, 0, 1]) > 0, e, 0).sum(),
    "logarithm": lambda e: np.log(np.maximum(e, 0.1)).sum(),
    "product": lambda e: np.prod(np.maximum(e, 0.1)),
    "inverse": lambda e: (1 / np.clip(e, 0.1, 9)).sum(),
    "running sum": lambda e: np.cumsum(np.maximum(e, 0))[1],
    "sorted": lambda e: np.sort(np.maximum(e, 0.1))[1],
    "relu": lambda e: (sd.relu(e) if isinstance(e, sd.Array) else np.maximum(e, 0)).sum(),
}


def slopes(function: Callable[[Floats], Any], at: Floats, step: float = 1e-5) -> Floats:
    """Return central differences along symmetric directions."""
    found = np.zeros(at.shape)
    for i, j in np.ndindex(at.shape):
        way = np.zeros(at.shape)
        way[i, j] += step / 2
        way[j, i] += step / 2
        found[i, j] = (function(at + way) - function(at - way)) / (2 * step)
    return found


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
@pytest.mark.parametrize("size", [3, "n"])
def test_derivatives_are_those_of_differences(name: str, backend: Any, size: Any) -> None:
    rng = np.random.default_rng(7)
    A, T = sd.matrix("A", size, size), sd.matrix("T", size, size)
    if size == "n" and name == "by place":
        pytest.skip("three places")
    value = CHOICES[name](np.linalg.eigvalsh(A))
    kernel = sd.compile(
        [sd.gradient(value, A), sd.jacobian(value * np.array([1.0, 2.0]), A), sd.jvp(value, A, T), sd.hvp(value, A, T)],
        inputs=[A, T],
        backend=backend,
    )
    for _ in range(6):
        at, way = rng.normal(size=(2, 3, 3))
        at, way = at + at.T, way + way.T
        wanted = slopes(lambda a: CHOICES[name](np.linalg.eigvalsh(a)), at)
        gradient, jacobian, along, curved = kernel(at, way)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(jacobian, np.stack([wanted, 2 * wanted]), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(along, (wanted * way).sum(), rtol=1e-6, atol=1e-7)
        before, behind = (kernel(at + h * way, way)[0] for h in (-1e-6, 1e-6))
        np.testing.assert_allclose((curved + curved.T) / 2, (behind - before) / 2e-6, rtol=1e-4, atol=1e-4)


def test_the_nearest_semidefinite_matrix() -> None:
    rng = np.random.default_rng(8)
    A = sd.matrix("A", 4, 4)
    values, vectors = np.linalg.eigh(A)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    kernel = sd.compile(sd.gradient((nearest**2).sum(), A))
    stack = rng.normal(size=(5, 4, 4))
    stack = stack + np.swapaxes(stack, 1, 2)
    for at, found in zip(stack, kernel(stack), strict=True):
        own, turned = np.linalg.eigh(at)
        wanted = 2 * (turned * np.maximum(own, 0)) @ turned.T  # the value is the sum of max(e, 0)**2
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["ramp", "clip", "where", "inverse"])
def test_stacks_of_matrices(name: str) -> None:
    rng = np.random.default_rng(9)
    B = sd.array("B", (2, 3, 3))
    values = np.linalg.eigvalsh(B)
    kernel = sd.compile(sd.gradient(CHOICES[name](values[0]) + CHOICES[name](values[1]), B))
    at = rng.normal(size=(2, 3, 3))
    at = at + np.swapaxes(at, 1, 2)
    wanted = [slopes(lambda a: CHOICES[name](np.linalg.eigvalsh(a)), one) for one in at]
    np.testing.assert_allclose(kernel(at), wanted, rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------------------- degenerate matrices
# Matrices without rows, of one row, in stacks and in strange layouts; functions of eigenvalues that come together.


LINALG = np.linalg


def symmetric(a: Any) -> Any:
    return (a + np.swapaxes(a, -1, -2)) / 2


def norm_of(p: Any) -> Callable[[Any], Any]:
    return lambda a: LINALG.norm(a, p, axis=(-2, -1))


DEGENERATE: dict[str, Callable[[Any], Any]] = {
    "det": LINALG.det,
    "inv": LINALG.inv,
    "slogdet": lambda a: LINALG.slogdet(a)[1],
    "eigvalsh": lambda a: LINALG.eigvalsh(symmetric(a)),
    "cholesky": lambda a: LINALG.cholesky(a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-1])),
    "square": lambda a: LINALG.matrix_power(a, 2),
    "power -1": lambda a: LINALG.matrix_power(a, -1),
    **{f"norm {p}": norm_of(p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)},
    "cond": LINALG.cond,
    "pinv": LINALG.pinv,
    "svdvals": lambda a: LINALG.svd(a, compute_uv=False),
    "qr": lambda a: abs(LINALG.qr(a)[1]),
    "trace": lambda a: np.trace(a, axis1=-2, axis2=-1),
    "gram": lambda a: a @ np.swapaxes(a, -1, -2),
    "solve": lambda a: LINALG.solve(a, np.ones((a.shape[-1], 2))),
    "rank": LINALG.matrix_rank,
    "all": lambda a: np.all(a, axis=-1),
    "any": lambda a: np.any(a, axis=-2),
}


@pytest.mark.parametrize("lead", [(), (0,), (2,), (1, 3)], ids=str)
@pytest.mark.parametrize("name", DEGENERATE)
def test_small_matrices_stacks_and_layouts(name: str, lead: tuple[int, ...]) -> None:
    f, rng = DEGENERATE[name], np.random.default_rng(2)
    for n in (0, 1, 2):
        value = rng.normal(size=(*lead, n, n)) + 2 * np.eye(n)
        try:
            want = f(value)
        except (ValueError, LINALG.LinAlgError):  # NumPy has no value either
            continue
        a = sd.symbol("a", value.shape)
        out = f(a)
        spread = np.zeros((*lead, 2 * n, 2 * n))
        spread[..., ::2, ::2] = value
        for backend in ("numpy", "auto"):
            kernel = sd.compile([out, sd.gradient(out.sum(), a, disconnected="zero")], [a], backend=backend)
            got, slope = kernel(value)
            assert np.shape(got) == np.shape(want)
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
            for other in (np.asfortranarray(value), spread[..., ::2, ::2]):
                for one, two in zip(kernel(other), (got, slope), strict=True):
                    np.testing.assert_array_equal(one, two)
            if value.size and name not in ("rank", "all", "any"):
                along = rng.normal(size=value.shape)
                h = 1e-6
                by_differences = (np.sum(f(value + h * along)) - np.sum(f(value - h * along))) / (2 * h)
                assert np.sum(slope * along) == pytest.approx(by_differences, rel=1e-5, abs=1e-5)


W = symmetric(np.random.default_rng(1).normal(size=(3, 3)))


def eigenvalues(a: Any) -> Any:
    return mp.eigsy(a, eigvals_only=True)


def trace_with(a: Any, f: Callable[[Any], Any]) -> Any:
    values, vectors = mp.eigsy(a)
    whole = mp.matrix(W.tolist()) * (vectors * mp.diag([f(x) for x in values]) * vectors.T)
    return sum(whole[i, i] for i in range(3))


SPECTRAL: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (lambda a: np.sum(np.exp(LINALG.eigvalsh(a))), lambda a: sum(mp.exp(x) for x in eigenvalues(a))),
    "log": (lambda a: np.sum(np.log(LINALG.eigvalsh(a))), lambda a: sum(mp.log(x) for x in eigenvalues(a))),
    "sqrt": (lambda a: np.sum(np.sqrt(LINALG.eigvalsh(a))), lambda a: sum(mp.sqrt(x) for x in eigenvalues(a))),
    "cube": (lambda a: np.sum(LINALG.eigvalsh(a) ** 3), lambda a: sum(x**3 for x in eigenvalues(a))),
    "nuclear": (lambda a: LINALG.norm(a, "nuc"), lambda a: sum(abs(x) for x in eigenvalues(a))),
    "logm": (lambda a: np.trace(W @ sd.logm(a)), lambda a: trace_with(a, mp.log)),
    "sqrtm": (lambda a: np.trace(W @ sd.sqrtm(a)), lambda a: trace_with(a, mp.sqrt)),
    "expm": (lambda a: np.trace(W @ sd.expm(a)), lambda a: trace_with(a, mp.exp)),
}


@pytest.mark.parametrize("triple", [False, True])
@pytest.mark.parametrize("name", SPECTRAL)
def test_functions_of_eigenvalues_that_come_together(name: str, triple: bool) -> None:
    formula, reference = SPECTRAL[name]
    rng = np.random.default_rng(5)
    a = sd.matrix("A", 3, 3, symmetric=True)
    first, second = (symmetric(rng.normal(size=(3, 3))) for _ in range(2))
    f = formula(a)
    kernels = [
        sd.compile([sd.gradient(f, a), sd.hvp(f, a, second)], [a], backend=backend) for backend in ("numpy", "auto")
    ]
    for gap in (1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-11, 1e-14, 0):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        at = symmetric(turn @ np.diag([1.0, 1.0 + gap, 1.0 + 2 * gap if triple else 2.0]) @ turn.T)
        with mp.workdps(60):
            center, along, across = (mp.matrix(x.tolist()) for x in (at, first, second))
            h = mp.mpf(10) ** -15
            slope = (reference(center + h * along) - reference(center - h * along)) / (2 * h)
            both, apart = h * (along + across), h * (along - across)
            corners = [reference(center + part) for part in (both, apart, -apart, -both)]
            curve = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
        for kernel in kernels:
            for got, want in zip(kernel(at), (slope, curve), strict=True):
                assert abs(np.sum(got * first) - float(want)) <= 2e-14 * (1 + abs(float(want))), (gap, got)
