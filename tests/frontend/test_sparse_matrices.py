"""Sparse matrices that calls bring: values and derivatives against dense ones, patterns that change between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import symdiff as sd
from symdiff._kernels.matrix import sparse as kernels
from symdiff.errors import ArgumentError, ParseError, ShapeError
from symdiff.frontend.functions import sparse_matrices

A = sd.matrix("A", "m", "n", sparse=True)
X, Y, B = sd.vector("x", "n"), sd.vector("y", "m"), sd.matrix("B", "n", 3)
_LOSS = np.sum(sd.softplus(-Y * (A @ X)))
LOSS = sd.compile([_LOSS, sd.gradient(_LOSS, X), sd.gradient(_LOSS, A.data), sd.hessian(_LOSS, X)], [A, X, Y])


def drawn(rng: np.random.Generator, rows: int, columns: int) -> Any:
    return sparse.random_array((rows, columns), density=0.4, format="csr", rng=rng, data_sampler=rng.normal)


def at_pattern(matrix: Any, dense: Any) -> Any:
    """Elements of a dense matrix in the order of the nonzeros by rows."""
    csr = matrix.tocsr()
    return dense[np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr)), csr.indices]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.sampled_from(["csr", "csc", "coo"]))
def test_a_loss_of_a_product_has_the_derivatives_of_the_dense_one(seed: int, m: int, n: int, form: Any) -> None:
    rng = np.random.default_rng(seed)
    matrix, x, y = drawn(rng, m, n), rng.normal(size=n), rng.choice([-1.0, 1.0], m)
    value, slope, by_data, curvature = LOSS(matrix.asformat(form), x, y)
    dense = matrix.toarray()
    z = dense @ x
    sigma = 1 / (1 + np.exp(y * z))
    np.testing.assert_allclose(value, np.logaddexp(0, -y * z).sum(), rtol=1e-13)
    np.testing.assert_allclose(slope, dense.T @ (-y * sigma), atol=1e-13)
    np.testing.assert_allclose(by_data, at_pattern(matrix, np.outer(-y * sigma, x)), atol=1e-13)
    np.testing.assert_allclose(curvature, dense.T * (sigma * (1 - sigma)) @ dense, atol=1e-13)


FORMS: dict[str, tuple[Callable[[], Any], Callable[[Any, Any, Any, Any], Any]]] = {
    "transpose": (lambda: A.T @ Y, lambda a, x, y, b: a.T @ y),
    "left": (lambda: Y @ A, lambda a, x, y, b: y @ a),
    "dense left": (lambda: B.T @ A.T, lambda a, x, y, b: b.T @ a.T),
    "dense": (lambda: A @ B, lambda a, x, y, b: a @ b),
    "gram": (lambda: A.T @ (A @ X), lambda a, x, y, b: a.T @ (a @ x)),
    "columns": (lambda: (A * X) @ B, lambda a, x, y, b: (a * x) @ b),
    "rows": (lambda: A.scale_rows(Y) @ X, lambda a, x, y, b: (y[:, None] * a) @ x),
    "both": (lambda: (A.T * Y).scale_rows(X).T @ X, lambda a, x, y, b: (y[:, None] * a * x) @ x),
    "number": (lambda: (2 * A / 3 @ X) - (-A) @ X, lambda a, x, y, b: 5 / 3 * a @ x),
    "sums": (lambda: A.sum(0) * A.sum(), lambda a, x, y, b: a.sum(0) * a.sum()),
    "row sums": (lambda: A.sum(1), lambda a, x, y, b: a.sum(1)),
    "sums of the transpose": (lambda: A.T.sum(1), lambda a, x, y, b: a.sum(0)),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_have_the_values_and_derivatives_of_dense_ones(form: str) -> None:
    make, dense = FORMS[form]
    formula = make()
    weighted = np.sum(sd.sin(formula))
    kernel = sd.compile([formula, sd.gradient(weighted, A.data)], [A, X, Y, B])
    rng = np.random.default_rng(1)
    for m, n in ((5, 4), (3, 7)):
        matrix, x, y, b = drawn(rng, m, n), rng.normal(size=n), rng.normal(size=m), rng.normal(size=(n, 3))
        value, slope = kernel(matrix, x, y, b)
        np.testing.assert_allclose(value, dense(matrix.toarray(), x, y, b), atol=1e-13)
        step, numbers = 1e-6, []
        for k in range(matrix.nnz):
            ends = []
            for sign in (1, -1):
                moved = matrix.copy()
                moved.data[k] += sign * step
                ends.append(np.sin(dense(moved.toarray(), x, y, b)).sum())
            numbers.append((ends[0] - ends[1]) / (2 * step))
        np.testing.assert_allclose(slope, numbers, atol=1e-7)


C, V = sd.matrix("C", "n", "m", sparse=True), sd.vector("v", "n")
SUMS: dict[str, Callable[[], Any]] = {
    "two patterns": lambda: A + C.T,
    "difference": lambda: 2 * A - C.T,
    "one pattern": lambda: A + A * V - A.scale_rows(Y) / 2,
    "three": lambda: (A + C.T).scale_rows(Y) - A,
    "transpose": lambda: (A.T - C).T * V,
}


@pytest.mark.parametrize("form", SUMS)
@pytest.mark.parametrize("seed", range(4))
def test_sums_are_those_of_dense_matrices(form: str, seed: int) -> None:
    total = SUMS[form]()
    parts = [total @ X, total.T @ Y, total @ B, total.sum(0), total.sum()]
    weighted = np.sum(sd.sin(total @ X))
    kernel = sd.compile([*parts, sd.gradient(weighted, A.data), sd.gradient(weighted, X)], [A, C, X, Y, B, V])
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 8, 2)
    a, c, x, y, b = drawn(rng, m, n), drawn(rng, n, m), rng.normal(size=n), rng.normal(size=m), rng.normal(size=(n, 3))
    v = rng.normal(size=n)

    def dense(a: Any) -> Any:
        given: dict[str, Any] = {
            "two patterns": a + c.T,
            "difference": 2 * a - c.T,
            "one pattern": a + a * v - a * y[:, None] / 2,
            "three": (a + c.T) * y[:, None] - a,
            "transpose": (a.T - c).T * v,
        }
        return np.asarray(given[form])

    c = c.toarray()
    whole = dense(a.toarray())
    *values, by_data, by_x = kernel(a, sparse.csr_array(c), x, y, b, v)
    expected = [whole @ x, whole.T @ y, whole @ b, whole.sum(0), whole.sum()]
    for value, number in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, number, atol=1e-13)
    np.testing.assert_allclose(by_x, whole.T @ np.cos(whole @ x), atol=1e-13)
    steps = []
    for k in range(a.nnz):
        moved = a.astype(complex)
        moved.data[k] += 1e-30j
        steps.append(np.sin(dense(moved.toarray()) @ x).sum().imag / 1e-30)
    np.testing.assert_allclose(by_data, steps, atol=1e-13)


S, R = sd.matrix("S", "n", "n", sparse=True), sd.matrix("R", "n", "n", sparse=True)
_DENSITY = X @ S.solve(X) / 2 + S.logdet() / 2
DENSITY = sd.compile([_DENSITY, sd.gradient(_DENSITY, X), sd.gradient(_DENSITY, S.data)], [S, X])
_WHOLE = S + R.T + R
_OF_SUM = X @ _WHOLE.solve(X) / 2 + _WHOLE.logdet() / 2
OF_SUM = sd.compile([_OF_SUM, sd.gradient(_OF_SUM, X), *sd.gradient(_OF_SUM, (S.data, R.data))], [S, R, X])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_positive_definite_sums_are_solved_and_have_a_determinant(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    lower = drawn(rng, n, n)
    rest = sparse.diags_array(1 + abs(lower).sum(0) + abs(lower).sum(1)).tocsr()
    x, dense = rng.normal(size=n), (lower + lower.T + rest).toarray()
    value, slope, by_rest, by_lower = OF_SUM(rest, lower, x)
    inverse = np.linalg.inv(dense)
    np.testing.assert_allclose(value, x @ inverse @ x / 2 + np.linalg.slogdet(dense)[1] / 2, rtol=1e-12)
    np.testing.assert_allclose(slope, inverse @ x, rtol=1e-10, atol=1e-13)
    expected = (inverse - np.outer(inverse @ x, inverse @ x)) / 2
    np.testing.assert_allclose(by_rest, at_pattern(rest, expected), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_lower, at_pattern(lower, 2 * expected), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_elements_of_inverses_where_factors_lose_elements_by_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    whole = np.tril(rng.integers(-1, 2, (n, n)) * (rng.random((n, n)) < 0.3), -1) + np.diag(rng.integers(1, 3, n))
    matrix = sparse.csr_array((whole @ whole.T).astype(float))
    slope = sd.compile(sd.gradient(S.logdet(), S.data), [S])(matrix)
    inverse = np.linalg.inv(matrix.toarray())
    np.testing.assert_allclose(slope, at_pattern(matrix, inverse), rtol=1e-7, atol=1e-9 * abs(inverse).max())


def test_a_pattern_that_is_changed_in_place_is_the_one_of_the_next_call() -> None:
    formula = A @ X
    kernel = sd.compile([formula, A.T @ Y, sd.gradient(np.sum(sd.sin(formula)), A.data), A.sum(1)], [A, X, Y])
    definite = sd.compile([S.logdet(), sd.gradient(S.logdet(), S.data)], [S])
    x, y = np.array([0.3, 1.0, -2.0]), np.array([1.0, 2.0, 3.0])
    matrix = sparse.csr_array(np.array([[2.0, 0, 0], [0.5, 3, 0], [0, 0, 1.5]]))
    square = sparse.csr_array(np.diag([2.0, 3.0, 4.0]) + np.eye(3, k=1) + np.eye(3, k=-1))

    def change_nothing() -> None:
        pass

    def change_pointers() -> None:
        matrix.indptr[:] = [0, 2, 3, 4]

    def change_indices() -> None:
        matrix.indices[:] = [1, 2, 0, 1]
        square.indices[:] = [0, 2, 1, 2, 0, 1, 2]  # rows of 2, 3 and 2 elements
        square.data[:] = [2, 0.5, 3, 0.25, 0.5, 0.25, 4]
        square.indptr[:] = [0, 2, 4, 7]

    def change_numbers() -> None:
        square.data[0] = 5.0

    for change in (change_nothing, change_pointers, change_indices, change_numbers):
        change()
        dense, whole = matrix.toarray(), square.toarray()
        value, back, slope, sums = kernel(matrix, x, y)
        np.testing.assert_allclose(value, dense @ x, atol=1e-15)
        np.testing.assert_allclose(back, dense.T @ y, atol=1e-15)
        np.testing.assert_allclose(sums, dense.sum(1), atol=1e-15)
        np.testing.assert_allclose(slope, at_pattern(matrix, np.outer(np.cos(dense @ x), x)), atol=1e-15)
        logdet, by_data = definite(square)
        np.testing.assert_allclose(logdet, np.linalg.slogdet(whole)[1], rtol=1e-14)
        np.testing.assert_allclose(by_data, at_pattern(square, np.linalg.inv(whole)), atol=1e-14)


def test_an_analysis_is_kept_for_equal_positions_in_other_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(sparse_matrices._Analysis):
        def __init__(self, *given: Any) -> None:
            made.append(given)
            super().__init__(*given)

    monkeypatch.setattr(sparse_matrices, "_Analysis", Counted)
    kernel = sd.compile([S.logdet(), S.solve(X), sd.gradient(S.logdet(), S.data)], [S, X])
    chain = sparse.diags_array([np.full(6, 0.25), np.full(7, 3.0), np.full(6, 0.25)], offsets=[-1, 0, 1]).tocsr()
    for scale in (1.0, 2.0, 5.0):
        matrix = sparse.csr_array((chain.data * scale, chain.indices.copy(), chain.indptr.copy()), chain.shape)
        value, solution, slope = kernel(matrix, np.arange(7.0))
        dense = matrix.toarray()
        np.testing.assert_allclose(value, np.linalg.slogdet(dense)[1])
        np.testing.assert_allclose(solution, np.linalg.solve(dense, np.arange(7.0)))
        np.testing.assert_allclose(slope, at_pattern(matrix, np.linalg.inv(dense)))
    assert len(made) == 1


def test_check_moves_the_nonzeros_and_certifies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = drawn(np.random.default_rng(1), 5, 4)
    for wrt in (None, A, X):
        report = sd.check(_LOSS, wrt, at={A: matrix})
        assert report.verdict == "not certified"
        assert report.compared >= 4
        assert [finding.kind for finding in report.findings] == ["not certified"]

    def wrong(*given: Any) -> None:
        own(*given)
        given[-1][:] *= 1.01

    own = kernels.transposed_product
    monkeypatch.setattr(kernels, "transposed_product", wrong)
    assert sd.check(_LOSS, X, at={A: matrix}).verdict == "NOT OK"


def test_single_precision_stays_single() -> None:
    rng = np.random.default_rng(3)
    loss = np.sum(sd.softplus(-Y * (A @ X)))
    kernel = sd.compile([loss, sd.gradient(loss, X), sd.gradient(loss, A.data)], [A, X, Y])
    matrix = drawn(rng, 40, 30)
    x, y = rng.normal(size=30), rng.normal(size=40)
    exact = kernel(matrix, x, y)
    found = kernel(matrix.astype(np.float32), x.astype(np.float32), y.astype(np.float32))
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_positive_definite_matrices_are_solved_and_have_a_determinant(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    root = drawn(rng, n, n)
    matrix = (root @ root.T + sparse.eye_array(n)).tocsr()
    x, dense = rng.normal(size=n), matrix.toarray()
    value, slope, by_data = DENSITY(matrix, x)
    inverse = np.linalg.inv(dense)
    np.testing.assert_allclose(value, x @ inverse @ x / 2 + np.linalg.slogdet(dense)[1] / 2, rtol=1e-10)
    np.testing.assert_allclose(slope, inverse @ x, rtol=1e-9, atol=1e-12)
    expected = (inverse - np.outer(inverse @ x, inverse @ x)) / 2
    np.testing.assert_allclose(by_data, at_pattern(matrix, expected), rtol=1e-8, atol=1e-11)


def test_second_derivatives_of_solutions() -> None:
    whole = np.sum(sd.sin(S.solve(X)))
    kernel = sd.compile(sd.hessian(whole, X), [S, X])
    matrix = sparse.csr_array(np.array([[2.0, 0.5, 0], [0.5, 3, 0], [0, 0, 1.5]]))
    x = np.array([0.3, -1.0, 2.0])
    inverse = np.linalg.inv(matrix.toarray())
    np.testing.assert_allclose(kernel(matrix, x), inverse * -np.sin(inverse @ x) @ inverse, atol=1e-14)


FORMULAS: dict[str, Callable[[], Any]] = {
    "y @ A @ x": lambda: Y @ A @ X,
    "sum(softplus(-y * (A @ x)))": lambda: _LOSS,
    "W = 2 * A\nsum((W - A.T.T / 3) @ x)": lambda: np.sum((2 * A - A / 3) @ X),
    "sum(A, 0) @ x + sum(A)": lambda: A.sum(0) @ X + A.sum(),
    "x @ solve(S + R.T, x) + logdet(S)": lambda: X @ (S + R.T).solve(X) + S.logdet(),
    "gradient(y @ A @ x, A)": lambda: sd.gradient(Y @ A @ X, A),
    "gradient(y @ A @ x, (x, A))[1]": lambda: sd.gradient(Y @ A @ X, (X, A))[1],
}


@pytest.mark.parametrize("text", FORMULAS)
def test_text_means_what_symbols_mean(text: str) -> None:
    shapes = {"A": sd.csr("m", "n"), "S": sd.csr("n", "n"), "R": sd.csr("n", "n"), "x": "n", "y": "m"}
    mine = {name: shape for name, shape in shapes.items() if name in text}
    formula = FORMULAS[text]()
    kernel, other = sd.compile(text, shapes=mine), sd.compile(formula)
    rng = np.random.default_rng(3)
    root = drawn(rng, 4, 4)
    at = {"A": drawn(rng, 5, 4), "S": (root @ root.T + 4 * sparse.eye_array(4)).tocsr(), "x": rng.normal(size=4)}
    at |= {"R": at["S"], "y": rng.normal(size=5)}
    given = {name: at[name] for name in mine}
    np.testing.assert_array_equal(kernel(**given), other(**given))


def test_an_objective_takes_sparse_matrices() -> None:
    rng = np.random.default_rng(4)
    matrix, x, y = drawn(rng, 6, 3), rng.normal(size=3), rng.choice([-1.0, 1.0], 6)
    value, slope, _, curvature = LOSS(matrix, x, y)
    shapes = {"A": sd.csr("m", "n"), "x": "n", "y": "m"}
    for f in (
        sd.objective(_LOSS, X, inputs=[A, Y]),
        sd.objective("sum(softplus(-y * (A @ x)))", "x", inputs=["A", "y"], shapes=shapes),
    ):
        assert f.args == ("A", "y")
        np.testing.assert_allclose(f.fun(x, matrix, y), value, rtol=1e-14)
        np.testing.assert_allclose(f.jac(x, y=y, A=matrix), slope, rtol=1e-14)
        np.testing.assert_allclose(f.hess(x, matrix, y), curvature, rtol=1e-12)
        np.testing.assert_allclose(f.hessp(x, x, matrix, y), curvature @ x, rtol=1e-12)


def test_products_with_second_derivatives_make_no_dense_matrix() -> None:
    v, w = sd.vector("v", "n"), sd.vector("w", "A_nonzeros")
    product, along = sd.hvp(_LOSS, X, v), sd.jvp(A @ X, A.data, w)
    assert "eye" not in f"{product} {along} {sd.jvp(A @ X, X, v)}"
    rng = np.random.default_rng(7)
    matrix, x, y, direction = drawn(rng, 6, 4), rng.normal(size=4), rng.choice([-1.0, 1.0], 6), rng.normal(size=4)
    numbers = rng.normal(size=matrix.nnz)
    curvature = LOSS(matrix, x, y)[3]
    found = sd.compile(product, [A, X, Y, v])(matrix, x, y, direction)
    np.testing.assert_allclose(found, curvature @ direction, rtol=1e-12)
    moved = matrix.copy()
    moved.data = numbers
    np.testing.assert_allclose(sd.compile(along, [A, X, w])(matrix, x, numbers), moved @ x, rtol=1e-13)
    wide = sparse.random_array((60_000, 50_000), density=1e-5, format="csr", rng=rng)  # dense it would take 24 GB
    large = sd.objective(_LOSS, X, inputs=[A, Y])
    x, y = rng.normal(size=50_000), rng.choice([-1.0, 1.0], 60_000)
    sigma = 1 / (1 + np.exp(-(wide @ x)))
    expected = wide.T @ (sigma * (1 - sigma) * (wide @ x))
    np.testing.assert_allclose(large.hessp(x, x, wide, y), expected, atol=1e-12)


def test_many_patterns_come_and_go() -> None:
    kernel = sd.compile(A @ X, [A, X])
    rng = np.random.default_rng(2)
    kept = [drawn(rng, 4, 6) for _ in range(100)]
    x = rng.normal(size=6)
    for _ in range(2):
        for matrix in kept:
            np.testing.assert_allclose(kernel(matrix, x), matrix @ x, atol=1e-14)
            np.testing.assert_allclose(kernel(A=matrix, x=x), matrix @ x, atol=1e-14)


def test_what_comes_wrong_is_refused_by_name() -> None:
    kernel = sd.compile(A @ X, [A, X])
    square = sparse.eye_array(3).tocsr()
    lower = sparse.csr_array(np.tril(np.ones((3, 3))))
    broken = square.copy()
    broken.indptr[-1] = 7
    refused: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ArgumentError, "must be a sparse matrix", lambda: kernel(np.eye(3), np.ones(3))),
        (ArgumentError, "of real numbers", lambda: kernel(square * 1j, np.ones(3))),
        (ShapeError, "n", lambda: kernel(square, np.ones(4))),
        (ShapeError, "expected n rows", lambda: A @ Y),
        (ShapeError, "expected a number or n elements", lambda: A * Y),
        (ShapeError, "not square", lambda: A.solve(X)),
        (ArgumentError, "axis=2", lambda: A.sum(2)),
        (ArgumentError, "sparse=True alone", lambda: sd.matrix("A", 2, 2, sparse=True, symmetric=True)),
        (sd.SingularMatrixError, "positive definite", lambda: DENSITY(-square, np.ones(3))),
        (sd.SingularMatrixError, "not symmetric", lambda: DENSITY(lower, np.ones(3))),
        (sd.SingularMatrixError, "has nan", lambda: DENSITY(square * np.nan, np.ones(3))),
        (ArgumentError, "expected another sparse matrix", lambda: A + Y),
        (ArgumentError, "expected another sparse matrix", lambda: 1.0 - A),
        (ShapeError, "expected equal shapes", lambda: A + C),
        (ParseError, "exp\\(\\) of a sparse matrix", lambda: sd.gradient("sum(exp(A))", "A", A=sd.csr(2, 2))),
        (ParseError, "'\\*\\*' of a sparse matrix", lambda: sd.gradient("x @ A**2 @ x", "A", A=sd.csr(2, 2), x=2)),
        (ParseError, "found a sparse matrix", lambda: sd.compile("2 * A", A=sd.csr(2, 2))),
        (ParseError, "found a sparse matrix", lambda: sd.compile("A[0]", A=sd.csr(2, 2))),
        (ArgumentError, "sparse matrix A without its pattern", lambda: sd.check(_LOSS)),
        (ArgumentError, "must be a sparse matrix", lambda: sd.check(_LOSS, at={"A": np.eye(2)})),
        (sd.DtypeError, "sparse matrices come in calls", lambda: Y @ square),
        (ArgumentError, "no sparse matrix any more", lambda: kernel(broken, np.ones(3))),
    ]
    for error, message, call in refused:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize(
    ("made", "shown", "shapes"),
    [
        (
            lambda: sd.gradient(_LOSS, X),
            "-A.T @ (y * sigmoid(-y * (A @ x)))",
            {"A": sd.csr("m", "n"), "x": "n", "y": "m"},
        ),
        (lambda: A.T @ Y, "A.T @ y", {"A": sd.csr("m", "n"), "y": "m"}),
        (lambda: X @ S.solve(X) + S.logdet(), "x @ solve(S, x) + logdet(S)", {"S": sd.csr("n", "n"), "x": "n"}),
    ],
)
def test_formulas_are_shown_by_the_matrix(made: Callable[[], Any], shown: str, shapes: dict[str, Any]) -> None:
    formula = made()
    assert str(formula) == shown
    rng = np.random.default_rng(1)
    square = sparse.csr_array(np.diag(np.arange(2.0, 6.0)))
    values = {"A": square[:3], "S": square, "x": rng.normal(size=4), "y": rng.normal(size=3)}
    args = {name: values[name] for name in shapes}
    again = sd.compile(shown, shapes=shapes)
    np.testing.assert_allclose(again(**args), sd.compile(formula)(**args), rtol=1e-14)


def test_products_with_rows_are_no_products_of_matrices() -> None:
    assert "sparse_transposed_product" in str(sd.jacobian(A @ X, X))
