"""Checks of numbers against what is declared of them, at every call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff._kernels.unit import is_declared
from symdiff.frontend.shapes import assume
from symdiff.graph.primitives import Assumptions
from symdiff.runtime.calls.declared import bits, check

FACTS: list[Assumptions] = [
    assume(symmetric=True),
    assume(skew=True),
    assume(diagonal=True),
    assume(lower=True),
    assume(upper=True),
    assume(positive_definite=True),
    assume(diagonal=True, positive_definite=True),
    assume(positive=True),
    assume(symmetric=True, positive=True),
]


def conforming(facts: Assumptions, rng: np.random.Generator, stack: tuple[int, ...], n: int) -> np.ndarray:
    a: Any = rng.normal(size=(*stack, n, n))
    if facts.positive:
        a = np.abs(a) + 0.1
    if facts.definite:
        a = a @ a.swapaxes(-1, -2) + np.eye(n)
    if facts.symmetric:
        a = a + a.swapaxes(-1, -2)
    if facts.skew:
        a = a - a.swapaxes(-1, -2)
    if facts.lower:
        a = np.tril(a)
    return np.asarray(np.triu(a) if facts.upper else a)


def told(facts: Assumptions, array: np.ndarray, lead: int) -> str:
    """Return what the reference implementation says, "" where it has no objection."""
    try:
        check("S", facts, array, lead)
    except sd.ArgumentError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("facts", FACTS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_checks_agree_with_the_slow_ones(facts: Assumptions, dtype: type) -> None:
    rng = np.random.default_rng(5)
    refused = 0
    for trial in range(300):
        n, stack = int(rng.integers(0, 5)), (3, 1, 2)[: int(rng.integers(0, 4))]
        a: Any = conforming(facts, rng, stack, n).astype(dtype)
        if a.size and trial % 3:
            at = tuple(int(rng.integers(size)) for size in a.shape)
            odd = [np.nan, np.inf, -np.inf, 0.0, -a[at], a[at] * (1 + 1e-3), a[at] * (1 + 2 * np.finfo(dtype).eps)]
            a[at] = odd[int(rng.integers(len(odd)))]
        behind = bool(rng.integers(2))
        given = np.moveaxis(a, (-2, -1), (0, 1)) if behind else a
        if rng.integers(2):
            given = np.asfortranarray(given)
        fast = is_declared(given, 0 if behind else a.ndim - 2, bits(facts))
        slow = told(facts, a, len(stack))
        assert fast == (slow == ""), (a, slow)
        refused += not fast
    assert 10 < refused < 260


def test_rounding_is_allowed_and_more_is_not() -> None:
    S = sd.matrix("S", 3, 3, symmetric=True)
    kernel = sd.compile(S @ S, backend="interpreter")
    a = np.random.default_rng(0).normal(size=(3, 3))
    product = a @ np.diag([1.0, 1e-3, 1e3]) @ a.T
    kernel(np.linalg.inv(np.linalg.inv(product + np.eye(3) * 1e3)) * (1 + 0))
    rounded = product + product.T
    rounded[0, 1] *= 1 + 1e-15
    kernel(rounded)
    rounded[0, 1] *= 1 + 1e-10
    with pytest.raises(sd.ArgumentError, match=r"S is declared symmetric, and is not: S\[0, 1\] = .* and S\[1, 0\]"):
        kernel(rounded)


@pytest.mark.parametrize("backend", ["interpreter", "native", "numpy", "auto"])
@pytest.mark.parametrize("size", [3, "n"])
def test_every_backend_checks_every_call(backend: str, size: Any) -> None:
    if backend == "native" and size == "n":
        pytest.skip("one native size is enough")
    S, x = sd.matrix("S", size, size, symmetric=True), sd.vector("x", size)
    kernel = sd.compile({"g": sd.gradient(x @ S @ S @ x, S), "v": S @ x}, [S, x], backend=backend)
    rng = np.random.default_rng(1)
    good = conforming(assume(symmetric=True), rng, (6,), 3)
    xs = rng.normal(size=(6, 3))
    bad = good.copy()
    bad[4, 2, 0] += 1.0
    for dtype in (np.float64, np.float32):
        for _ in range(3):  # the first calls go another way than later ones
            for batch in (good[0], good, good[:, None]):
                kernel(batch.astype(dtype), xs[0].astype(dtype))  # x is shared
                kernel(S=batch.astype(dtype), x=xs[0].astype(dtype))
            kernel(good[1].astype(dtype), xs.astype(dtype))  # the matrix is
            with pytest.raises(sd.ArgumentError, match=r"S\[0, 2\] = .*\(sample 4 of the batch\)"):
                kernel(bad.astype(dtype), xs.astype(dtype))
            with pytest.raises(sd.ArgumentError, match=r"S\[0, 2\] = .*\(sample \(4, 0\) of the batch\)"):
                kernel(bad[:, None].astype(dtype), xs[0].astype(dtype))
            with pytest.raises(sd.ArgumentError, match=r"S\[2, 0\] = [^(]*; expected"):
                kernel(bad[4].astype(dtype), xs.astype(dtype))
            with pytest.raises(sd.ArgumentError, match="declared symmetric"):
                kernel(bad[4].tolist(), xs[0].tolist())


@pytest.mark.parametrize(
    ("fact", "good", "bad", "told"),
    [
        ({"between": (0, 2)}, [0.5, 1.5, 1.0], [0.5, 2.0, 1.0], r"v is declared between 0 and 2, .*: v\[1\] = 2.0"),
        ({"between": (None, 2)}, [-5.0, 1.5, 1.0], [0.5, 1.0, np.nan], r"between -inf and 2, .*: v\[2\] = nan"),
        ({"simplex": True}, [0.2, 0.3, 0.5], [0.2, 0.3, 0.6], "declared a simplex, .* expected a sum of 1"),
        ({"simplex": True}, [0.2, 0.3, 0.5], [-0.2, 0.7, 0.5], r"declared positive, .*: v\[0\] = -0.2"),
        ({"ordered": True}, [-1.0, 0.0, 3.0], [-1.0, 3.0, 3.0], r"declared ordered, .*: v\[2\] = 3.0"),
    ],
)
@pytest.mark.parametrize("backend", ["interpreter", "numpy"])
def test_intervals_simplexes_and_order_are_checked(
    fact: dict[str, Any], good: Any, bad: Any, told: str, backend: str
) -> None:
    v = sd.vector("v", 3, **fact)
    kernel = sd.compile(np.sum(v**2), backend=backend)
    for _ in range(3):  # the first calls go another way than later ones
        for dtype in (np.float64, np.float32):
            kernel(np.asarray(good, dtype))
            kernel(np.stack([good, good]).astype(dtype))
            with pytest.raises(sd.ArgumentError, match=told):
                kernel(np.asarray(bad, dtype))
            with pytest.raises(sd.ArgumentError, match="sample 1 of the batch"):
                kernel(np.stack([good, bad]).astype(dtype))


def test_a_correlation_has_ones_on_its_diagonal() -> None:
    R = sd.matrix("R", 2, 2, correlation=True)
    kernel = sd.compile(sd.logdet(R), [R], backend="interpreter")
    np.testing.assert_allclose(kernel([[1.0, 0.6], [0.6, 1.0]]), np.log(0.64))
    with pytest.raises(sd.ArgumentError, match=r"declared a correlation, and is not: R\[1, 1\] = 1.1"):
        kernel([[1.0, 0.6], [0.6, 1.1]])
    assert R.node.assumptions == assume(positive_definite=True)._replace(correlation=True)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"between": (1, 0)}, "expected the lower number first"),
        ({"between": (None, None)}, "one of them finite"),
        ({"between": 3}, "expected two numbers"),
        ({"between": (0, "a")}, "expected two numbers"),
        ({"between": (0, True)}, "expected two numbers"),
        ({"simplex": True, "ordered": True}, "declared a simplex and ordered"),
        ({"simplex": True, "between": (0, 1)}, "declared a simplex and between 0 and 1"),
        ({"correlation": True, "skew": True}, "declared skew and positive definite|a correlation and skew"),
        ({"simplex": 1}, "simplex=1; expected True or False"),
    ],
)
def test_declarations_that_say_nothing_or_too_much_are_refused(facts: dict[str, Any], told: str) -> None:
    with pytest.raises(sd.ArgumentError, match=told):
        sd.symbol("v", (2, 2), **facts)


def test_scalars_are_no_vectors() -> None:
    with pytest.raises(sd.ShapeError, match="a scalar and declared ordered"):
        sd.symbol("v", (), ordered=True)


def test_columns_and_sums_are_checked() -> None:
    s, D = sd.scalar("s", positive=True), sd.matrix("D", 2, 2, diagonal=True)
    kernel = sd.compile(s * np.trace(D), [s, D], reduce="sum", batch_axis=-1, backend="interpreter")
    diagonals = np.zeros((2, 2, 5))
    diagonals[0, 0], diagonals[1, 1] = 1.0, 2.0
    for _ in range(3):
        assert kernel(np.ones(5), diagonals) == 15.0
        with pytest.raises(sd.ArgumentError, match=r"s is declared positive, and is not: s = -1.0 \(sample 3 of"):
            kernel(np.array([1, 1, 1, -1.0, 1]), diagonals)
        wrong = diagonals.copy()
        wrong[0, 1, 2] = 1e-300
        with pytest.raises(sd.ArgumentError, match=r"D is declared diagonal, .* D\[0, 1\] = 1e-300 \(sample 2"):
            kernel(np.ones(5), wrong)
        for value in (0.0, -0.0, np.inf, np.nan, 0, -2):
            with pytest.raises(sd.ArgumentError, match="expected finite numbers above 0"):
                kernel(value, diagonals)


def test_validation_looks_at_orthogonal_and_definite_matrices() -> None:
    Q, P, x = sd.matrix("Q", 2, 2, orthogonal=True), sd.matrix("P", 2, 2, positive_definite=True), sd.vector("x", 2)
    kernel = sd.compile(P @ Q @ x, [P, Q, x], validate=True)
    indefinite, one = np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for _ in range(2):
        np.testing.assert_allclose(kernel(np.eye(2), turn, one), turn @ one)
        with pytest.raises(sd.ArgumentError, match="Q is declared orthogonal, and is not"):
            kernel(np.eye(2), 2 * turn, one)
        with pytest.raises(sd.ArgumentError, match=r"P is declared positive definite.*\(sample 1 of the batch\)"):
            kernel(np.stack([np.eye(2), indefinite]), turn, one)
    plain = sd.compile(P @ Q @ x, [P, Q, x])
    np.testing.assert_allclose(plain(indefinite, turn, one), indefinite @ turn @ one)
    with pytest.raises(sd.ArgumentError, match="numbers above 0 on the diagonal"):
        plain(-np.eye(2), turn, one)


@pytest.mark.parametrize("n", [5, 20, 70])
@pytest.mark.parametrize("text", ["logdet(S)", "sum(inv(S))", "sum(cholesky(S))", "det(S)"])
def test_failure_of_a_factorization_names_the_definite_input(n: int, text: str) -> None:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    definite, indefinite = a @ a.T + np.eye(n), np.full((n, n), 2.0) - np.eye(n)
    kernel = sd.compile(text, S=sd.positive_definite("n"), backend="interpreter")
    free = sd.compile(text, S=("n", "n"), backend="numpy")
    np.testing.assert_allclose(kernel(np.stack([definite] * 3)), [free(definite)] * 3, rtol=1e-9)
    with pytest.raises(sd.SingularMatrixError, match=r"S is declared positive definite, .*\(sample 1 of the batch\)"):
        kernel(np.stack([definite, indefinite]))


FACTORIZED = {
    "determinant": "det(P)",
    "logarithm of a determinant": "log(det(P))",
    "logarithm of a size": "logabsdet(P)",
    "by Cholesky": "sum(log(diag(cholesky(P))))",
    "inverse": "inv(P)",
    "solution": "solve(P, b)",
    "density": "log(det(P)) / 2 + b @ solve(P, b) / 2",
    "gradient": "gradient(sum(log(diag(cholesky(P)))), P)",
    "gradient of a density": "gradient(log(det(P)) / 2 + b @ solve(P, b) / 2, P)",
    "other sizes": "jacobian(inv(P) @ b, b)",
}


@pytest.mark.parametrize("backend", ["native", "interpreter", "numpy"])
@pytest.mark.parametrize("text", FACTORIZED.values(), ids=FACTORIZED)
@pytest.mark.parametrize(("n", "size"), [(2, 2), (3, 3), (4, "n"), (14, 14)])
def test_every_factorization_refuses_an_indefinite_matrix(n: int, size: Any, text: str, backend: str) -> None:
    """Positive on the diagonal, two eigenvalues below 0 where there is room: no determinant would show it."""
    bad = np.eye(n)
    bad[0, 1] = bad[1, 0] = 2.0
    if n > 3:
        bad[2, 3] = bad[3, 2] = 2.0
    given: dict[str, Any] = {"P": sd.positive_definite(size)} | ({"b": size} if "b)" in text else {})
    kernel = sd.compile(text, backend=backend, **given)
    numbers = np.ones(n)
    good = np.stack([np.eye(n) * (1 + k) for k in range(20)])
    with_b = len(kernel.inputs) > 1
    for dtype in (np.float64, np.float32):
        rest = (numbers.astype(dtype),) if with_b else ()
        want = kernel(good[3].astype(dtype), *rest)
        assert np.isfinite(want).all()
        with pytest.raises(sd.SingularMatrixError, match="P is declared positive definite, and has no Cholesky factor"):
            kernel(bad.astype(dtype), *rest)
        batch = good.astype(dtype)
        np.testing.assert_allclose(kernel(batch, *rest)[3], want, rtol=1e-5, atol=1e-6)
        batch[7] = bad
        with pytest.raises(sd.SingularMatrixError, match="7") as caught:
            kernel(batch, *rest)
        assert caught.value.index == (7,)
        if with_b:
            many = np.ones((9, n), dtype)
            assert np.isfinite(kernel(good[3].astype(dtype), many)).all()
            with pytest.raises(sd.SingularMatrixError, match="P is declared positive definite"):
                kernel(bad.astype(dtype), many)


@pytest.mark.rows(1)
@pytest.mark.parametrize("n", range(1, 9))
def test_definite_matrices_are_factorized_to_the_last_digits(n: int) -> None:
    """Values by elimination without exchanges, beside NumPy's."""
    rng = np.random.default_rng(n)
    text = "det(P), log(det(P)), inv(P), solve(P, b)"
    for backend in ("native", "interpreter"):
        kernel = sd.compile(text, backend=backend, P=sd.positive_definite(n), b=n)
        a = conforming(assume(positive_definite=True), rng, (33,), n)
        b = rng.normal(size=(33, n))
        want = np.linalg.det(a), np.linalg.slogdet(a)[1], np.linalg.inv(a), np.linalg.solve(a, b[..., None])[..., 0]
        for got, expected in zip(kernel(a, b), want, strict=True):
            bound = 1e-13 * np.linalg.cond(a).max()
            np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * np.abs(expected).max())


def test_what_is_unknown_stays_unknown() -> None:
    """A matrix of NaN is no indefinite one where declarations let it pass."""
    kernel = sd.compile("log(det(A @ A.T + S)) + 0 * sum(S)", A=(2, 2), S=sd.positive_definite(2))
    assert np.isnan(kernel(np.full((2, 2), np.nan), np.eye(2)))
