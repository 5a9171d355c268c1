"""Inverses, determinants, solutions and their derivatives are as accurate as NumPy's at every condition.

The reference is elimination in 60 digits. NumPy's error is that of the closed form, written with
``np.linalg`` in the dtype of the matrix: ten times that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import symdiff as sd
from bench import conditions
from bench.conditions import FAMILIES, WIDE, exact, regular
from symdiff.errors import SingularMatrixError
from symdiff.lowering.unroll import unroll

BACKENDS = ("native", "interpreter", "numpy")
DTYPES = (np.float64, np.float32)


def count(n: int) -> int:
    """Return the matrices of each family: those in 60 digits take long."""
    return 12 if n <= 12 else 2 if n <= 20 else 1


def matrices(n: int, dtype: Any) -> Iterator[tuple[str, Any]]:
    """Yield stacks of matrices; the inverse of their condition goes down to what the dtype can tell."""
    digits = 14 if dtype is np.float64 else 6
    for k, (name, family) in enumerate(FAMILIES.items()):
        if dtype is np.float32 and name in WIDE:
            continue  # c ** 10 is beyond it
        if n > 20 and k % 3:
            continue  # 60 digits take seconds
        g = np.random.default_rng([n, k])
        yield name, np.array([family(g, n, 10.0 ** g.uniform(-digits, -digits / 4)) for _ in range(count(n))], dtype)


def closed(inverse: Any, det: Any, logdet: Any, solution: Any, c: Any, second: bool) -> dict[str, Any]:
    """Return values and derivatives of one matrix, by the formulas of a book."""
    x = inverse
    found = {
        "inv": x,
        "solve": solution,
        "logdet": logdet,
        "gradient of logdet": x.T,
        "Jacobian of solve": -np.einsum("ik,l->ikl", x, solution),
        "det": det,
        "gradient of det": det * x.T,
    }
    if second:
        g, back = x.T.dot(c).dot(x.T), x.T.dot(c[0])
        found["Jacobian of inv"] = -np.einsum("ik,lj->ijkl", x, x)
        found["Hessian of logdet"] = -np.einsum("li,jk->ijkl", x, x)
        found["Hessian of inv"] = np.einsum("li,kj->ijkl", x, g) + np.einsum("il,jk->ijkl", g, x)
        found["Hessian of solve"] = np.einsum("li,k,j->ijkl", x, back, solution) + np.einsum(
            "i,jk,l->ijkl", back, x, solution
        )
        found["Hessian of det"] = det * (np.einsum("lk,ji->ijkl", x, x) - np.einsum("jk,li->ijkl", x, x))
    return found


@cache
def kernel(n: int, backend: str) -> tuple[list[str], Any]:
    """Return names and a kernel of all of that; second derivatives of small matrices only."""
    A, b, C = sd.matrix("A", n, n), sd.vector("b", n), sd.matrix("C", n, n)
    x, size = sd.solve(A, b), sd.logabsdet(A)
    found = {
        "inv": sd.inv(A),
        "solve": x,
        "logdet": size,
        "gradient of logdet": sd.gradient(size, A),
        "Jacobian of solve": sd.jacobian(x, A),
        "det": sd.det(A),
    }
    if n <= 4 or backend == "numpy":  # cofactors of larger ones are NumPy's
        found["gradient of det"] = sd.gradient(sd.det(A), A)
    if n <= 3 or (n == 4 and backend == "interpreter"):
        found["Jacobian of inv"] = sd.jacobian(sd.inv(A), A)
        found["Hessian of logdet"] = sd.hessian(size, A)
        found["Hessian of inv"] = sd.hessian(sd.sum(sd.inv(A) * C), A)
        found["Hessian of solve"] = sd.hessian(C[0] @ x, A)
        found["Hessian of det"] = sd.hessian(sd.det(A), A)
    return list(found), sd.compile(list(found.values()), [A, b, C], batch=[A, b, C], backend=backend)


@cache
def references(n: int, dtype: Any) -> dict[str, tuple[Any, Any, Any, list[tuple[dict[str, Any], dict[str, Any]]]]]:
    """Return, for each family, the arguments, and what is exact and NumPy's for each matrix."""
    found = {}
    for name, stack in matrices(n, dtype):
        g = np.random.default_rng(n)
        b, c = (g.normal(size=shape).astype(dtype) for shape in ((count(n), n), (count(n), n, n)))
        pairs = []
        with mpmath.workdps(60), np.errstate(all="ignore"):
            for a, right, weights in zip(stack, b, c, strict=True):
                inverse, det = exact(a)
                wide = [np.vectorize(lambda v: mpmath.mpf(float(v)), otypes=[object])(v) for v in (right, weights)]
                second = n <= 3 or (n == 4 and dtype is np.float64)
                want = closed(inverse, det, mpmath.log(abs(det)), inverse.dot(wide[0]), wide[1], second)
                theirs = closed(
                    np.linalg.inv(a),
                    np.linalg.det(a),
                    np.linalg.slogdet(a)[1],
                    np.linalg.solve(a, right),
                    weights,
                    second,
                )
                pairs.append(({key: np.array(v, dtype=float) for key, v in want.items()}, theirs))
        found[name] = (stack, b, c, pairs)
    return found


def error(got: Any, want: Any, dtype: Any) -> float:
    """Return the largest error over the largest element; 0 where that is no number of the dtype."""
    limits = np.finfo(dtype)
    most = np.abs(want).max()
    if not limits.tiny <= most <= limits.max:
        return 0.0
    off = np.abs(np.asarray(got, float) - want).max() / most
    return float("inf") if np.isnan(off) else float(off)


def rounded(a: Any, inverse: Any) -> float:
    """Return how far an inverse goes where the elements of the matrix are rounded: |A⁻¹| |A| |A⁻¹|."""
    x = np.abs(inverse)
    return float((x @ np.abs(a) @ x).max() / x.max() * 2.0**-53)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_errors_are_at_most_ten_times_those_of_numpy(n: int, dtype: Any, backend: str) -> None:
    compare(n, dtype, backend)


@pytest.mark.rows(1)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("n", [13, 20, 40])
def test_errors_of_matrices_too_large_for_programs(n: int, dtype: Any) -> None:
    compare(n, dtype, "interpreter")


def compare(n: int, dtype: Any, backend: str) -> None:
    """Compare all that is asked of matrices with NumPy, family by family."""
    names, compute = kernel(n, backend)
    eps = float(np.finfo(dtype).eps)
    for family, (a, b, c, pairs) in references(n, dtype).items():
        with np.errstate(all="ignore"):
            got = dict(zip(names, compute(a, b, c), strict=True))
        # by luck NumPy may lose nothing: what rounded elements cost is no defect, whichever algorithm it is
        floor = max(rounded(m, want["inv"]) for m, (want, _) in zip(a, pairs, strict=True)) / 4
        for name in pairs[0][0].keys() & set(names):
            ours = max(error(got[name][k], want[name], dtype) for k, (want, _) in enumerate(pairs))
            theirs = max(error(numpy[name], want[name], dtype) for want, numpy in pairs)
            assert ours <= 10 * max(theirs, floor) + 4 * eps, f"{name} of {family}: {ours:.1e}, NumPy {theirs:.1e}"


# ---------------------------------------------------------------------------- the sweep of python -m bench.conditions


@pytest.mark.rows(1)
@pytest.mark.parametrize(("n", "dtype"), [(2, "float64"), (3, "float32"), (5, "float64"), (7, "float32")])
def test_a_short_sweep(n: int, dtype: str) -> None:
    backends = (*BACKENDS, "auto") if n < 5 else ("interpreter", "numpy")
    errors, misses = conditions.sweep(n, dtype, backends, 24, 0)
    assert not misses
    assert all(errors["NumPy", name] > 0 for name in conditions.NAMES)
    assert not conditions.singular(n, dtype, backends, 1, 0)[1]


def test_what_misses_a_bar_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sizes", "2", "--count", "4", "--dtype", "float64", "--backend", "interpreter", "--ranks", "1"]
    assert conditions.main(arguments) == 0
    assert "every error is at most 10 times NumPy's" in capsys.readouterr().out
    monkeypatch.setattr(conditions, "exact", lambda a: (np.array(np.linalg.inv(a) * 1.01, object), mpmath.mpf(1)))
    monkeypatch.setattr(conditions, "of_numpy", conditions.right)
    assert conditions.main(arguments) == 1
    assert "MISSED: inv, n = 2, float64, interpreter: off by" in capsys.readouterr().out


# ---------------------------------------------------------------------------- the same in numbers anybody can check


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_ones_and_a_small_diagonal(backend: str) -> None:
    """By Sherman and Morrison: inv(D + ones) = inv(D) - inv(D) ones inv(D) / (1 + tr inv(D))."""
    for n in (2, 3, 4, 6):
        A = sd.matrix("A", n, n)
        f = [sd.inv(A), sd.det(A), sd.logdet(A), sd.gradient(sd.logdet(A), A)]
        compute = sd.compile(f, [A], backend=backend)
        for power, dtype, loss in ((-27, np.float64, 1e-6), (-40, np.float64, 2e-2), (-12, np.float32, 1e-3)):
            c = 2.0**power
            d = c * np.arange(1.0, n + 1)
            want = np.diag(1 / d) - np.outer(1 / d, 1 / d) / (1 + (1 / d).sum())
            det = np.prod(d) * (1 + (1 / d).sum())
            inverse, value, log, slope = compute((np.ones((n, n)) + np.diag(d)).astype(dtype))
            assert np.abs(inverse - want).max() <= loss * np.abs(want).max()
            assert np.abs(slope - want).max() <= loss * np.abs(want).max()
            assert value == pytest.approx(det, rel=loss)
            assert log == pytest.approx(np.log(det), rel=loss)


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_determinants_whose_factors_are_out_of_range(backend: str) -> None:
    g = np.random.default_rng(0)
    for n in (2, 3, 4, 5, 6):
        A = sd.matrix("A", n, n)
        value, log, inverse = (sd.compile(f(A), [A], backend=backend) for f in (sd.det, sd.logabsdet, sd.inv))
        powers = np.resize([140.0, 130.0, -125.0, -145.0, 120.0, -120.0], n)
        for order in (np.arange(n), np.arange(n)[::-1], g.permutation(n)):
            scale = 10.0 ** (powers[order] - np.mean(powers))
            turned = regular(g, n)
            a = turned * scale[:, None]
            assert value(a) == pytest.approx(np.linalg.det(turned), rel=1e-11)
            assert log(a) == pytest.approx(np.linalg.slogdet(turned)[1] + np.log(scale).sum(), abs=1e-10)
            np.testing.assert_allclose(inverse(a) * scale, np.linalg.inv(turned), rtol=0, atol=1e-12)
        for c in (1e-200, 1e200):
            assert log(c * turned) == pytest.approx(np.linalg.slogdet(turned)[1] + n * np.log(c))
            np.testing.assert_allclose(inverse(c * turned) * c, np.linalg.inv(turned), rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_slopes_of_determinants_whose_factors_are_out_of_range(backend: str) -> None:
    """Cofactors of D B are those of B by the product of the other scales."""
    g = np.random.default_rng(1)
    for n in (3, 4, 6) if backend == "numpy" else (3, 4):
        A = sd.matrix("A", n, n)
        compute = sd.compile(sd.gradient(sd.det(A), A), [A], backend=backend)
        powers = np.resize([120.0, -110.0, -10.0, 0.0, 100.0, -100.0], n)
        for order in (np.arange(n), g.permutation(n)):
            b, p = regular(g, n), powers[order]
            want = np.linalg.det(b) * np.linalg.inv(b).T * 10.0 ** (p.sum() - p)[:, None]
            got = compute(b * 10.0 ** p[:, None])
            assert (np.abs(got - want).max(axis=1) <= 1e-12 * np.abs(want).max(axis=1)).all()


SINGULAR = [
    *(np.ones((n, n)) * c for n in (2, 3, 4, 5) for c in (1.0, 49.0, 0.1)),
    *(np.zeros((n, n)) for n in (1, 2, 3, 4, 5)),
    *(np.arange(n * n, dtype=float).reshape(n, n) + k for n in (3, 4) for k in (0, 1)),
    *(np.outer(np.arange(1.0, n + 1), np.arange(2.0, n + 2)) for n in (2, 3, 4, 6)),
    *(np.triu(np.ones((n, n)), 1) for n in (2, 3, 4, 5)),
    *(np.tril(np.ones((n, n)), -1) for n in (2, 3, 4, 5)),
    np.array([[0.0, 1.0, 2.0], [0.0, 3.0, -4.0], [0.0, -5.0, 6.0]]),
    np.array([[1.5, -2.0, 3.0, 1.0], [1.5, -2.0, 3.0, 1.0], [0.25, 1.0, 7.0, 2.0], [9.0, 8.0, 7.0, 5.0]]),
]


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
def test_singular_matrices_are_known_as_such(backend: str, dtype: Any) -> None:
    for a in SINGULAR:
        n = len(a)
        if backend == "numpy" and np.linalg.det(a):
            continue  # BLAS rounds in an order of its own
        A, b = sd.matrix("A", n, n), sd.vector("b", n)
        stack = np.array([np.eye(n), 2 * np.eye(n), a, np.eye(n), a], dtype)
        for f, inputs in ((sd.inv(A), [A]), (sd.solve(A, b), [A, b]), (sd.gradient(sd.logdet(A), A), [A])):
            with pytest.raises(SingularMatrixError) as caught:
                compiled(f, inputs, backend)(*[stack, np.ones(n, dtype)][: len(inputs)])
            assert caught.value.index == (2,)
        for f, value in ((sd.det(A), 0.0), (sd.logdet(A), -np.inf), (sd.logabsdet(A), -np.inf)):
            np.testing.assert_array_equal(compiled(f, [A], backend)(stack)[[2, 4]], [value, value], err_msg=str(a))


KERNELS: dict[tuple[Any, ...], Any] = {}


def compiled(f: Any, inputs: list[Any], backend: str) -> Any:
    key = (f.node, backend)
    if key not in KERNELS:
        KERNELS[key] = sd.compile(f, inputs, backend=backend)
    return KERNELS[key]


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_in_gives_nan_out(backend: str) -> None:
    for n in (2, 3, 4, 5):
        A, b = sd.matrix("A", n, n), sd.vector("b", n)
        for a in (np.eye(n), np.zeros((n, n)), np.ones((n, n)), np.random.default_rng(n).normal(size=(n, n))):
            spoiled = np.repeat(a[None], n * n, axis=0)
            spoiled[np.arange(n * n), np.arange(n * n) // n, np.arange(n * n) % n] = np.nan
            for f in (sd.det(A), sd.logdet(A), sd.logabsdet(A)):
                assert np.isnan(compiled(f, [A], backend)(spoiled)).all()
        spoiled = np.random.default_rng(n).normal(size=(n * n, n, n))
        spoiled[np.arange(n * n), np.arange(n * n) // n, np.arange(n * n) % n] = np.nan
        assert np.isnan(compiled(sd.inv(A), [A], backend)(spoiled)).any(axis=(-2, -1)).all()
        assert np.isnan(compiled(sd.solve(A, b), [A, b], backend)(spoiled, np.ones(n))).any(axis=-1).all()


def test_value_and_slope_share_one_elimination() -> None:
    for n in (2, 3, 4, 6):
        A = sd.matrix("A", n, n)

        def compares(*f: Any, a: Any = A) -> int:
            return unroll([a.node], [x.node for x in f], 20_000).ops.count("divide")

        both = compares(sd.inv(A), sd.logabsdet(A), sd.solve(A, A[:, 0]))
        alone = compares(sd.inv(A))
        assert alone == n * (n - 1) // 2 + n
        assert both == alone + n  # a solution is divided by the pivots


def test_triangles_are_not_pivoted() -> None:
    A = sd.matrix("A", 4, 4)
    for triangle in (sd.triu, sd.tril):
        ops = unroll([A.node], [sd.inv(triangle(A)).node], 20_000).ops
        assert "less" not in ops
        a = np.random.default_rng(0).normal(size=(4, 4)) + 3 * np.eye(4)
        np.testing.assert_allclose(
            sd.compile(sd.inv(triangle(A)), [A])(a), np.linalg.inv(getattr(np, triangle.__name__)(a)), atol=1e-13
        )
