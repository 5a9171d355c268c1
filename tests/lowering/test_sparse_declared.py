"""What is declared of a matrix is structure: sparse results store no element that it makes zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd

Floats = npt.NDArray[np.float64]

DECLARED: dict[str, tuple[Callable[[Any], Any], Callable[[Floats], Floats]]] = {
    "diagonal": (sd.diagonal, lambda m: np.diag(np.diag(m))),
    "lower": (sd.lower, np.tril),
    "upper": (sd.upper, np.triu),
    "skew": (sd.skew, lambda m: m - m.T),
}
FORMS = [
    "S @ x", "sin(S @ x) * x", "S.T @ x", "S @ S @ x", "S @ x + x", "inv(S) @ x", "solve(S, x)", "(S @ x)[1:]",
    "S @ diag(x) @ S @ x", "diag(S) * x", "outer(S @ x, x) @ x",
]  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("size", [5, "n"])
def test_patterns_hold_what_is_not_zero(name: str, size: Any) -> None:
    declare, shaped = DECLARED[name]
    rng = np.random.default_rng(4)
    for form in FORMS:
        if name == "skew" and ("inv" in form or "solve" in form):
            continue
        text = f"jacobian({form}, x)"
        shapes = {"S": declare(size), "x": size}
        sparse = sd.compile(text, sparse="csr", inputs=["S", "x"], **shapes)
        dense = sd.compile(text, inputs=["S", "x"], **shapes)
        for n in (5,) if size == 5 else (3, 5, 24):
            given = shaped(rng.uniform(1, 2, (n, n))), rng.uniform(1, 2, n)
            found, wanted = sparse(*given), dense(*given)
            np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-10, atol=1e-12, err_msg=form)
            assert found.nnz == np.count_nonzero(np.abs(wanted) > 1e-13), (form, n)


def test_a_long_diagonal_takes_no_more_than_its_elements() -> None:
    kernel = sd.compile("jacobian(D @ x, x)", D=sd.diagonal("n"), x="n", sparse="csr")
    rows, columns = kernel.pattern(n=1_000_000)
    np.testing.assert_array_equal(rows, columns)
    assert rows.size == 1_000_000
    hessian = sd.compile("hessian(x @ D @ x, x)", D=sd.diagonal("n"), x="n", sparse="csr")
    square = hessian(np.diag([1.0, 2, 3]), np.ones(3))
    np.testing.assert_array_equal(square.toarray(), np.diag([2.0, 4, 6]))
    assert square.nnz == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("cumprod(x)", lambda n: n * (n + 1) // 2),
        ("cummax(x)", lambda n: n * (n + 1) // 2),
        ("cumsum(x)", lambda n: n * (n + 1) // 2),
        ("tril(outer(x, x)) @ x", lambda n: n * (n + 1) // 2),
        ("prod(x) * x", lambda n: n * n),
    ],
)
@pytest.mark.parametrize("size", [6, "n"])
def test_conditions_that_sizes_decide_are_structure(text: str, count: Callable[[int], int], size: Any) -> None:
    kernel = sd.compile(f"jacobian({text}, x)", x=size, sparse="csr")
    dense = sd.compile(f"jacobian({text}, x)", x=size)
    for n in (6,) if size == 6 else (3, 6, 20):
        at = np.random.default_rng(n).uniform(1, 2, n)
        found = kernel(at)
        assert found.nnz == count(n)
        np.testing.assert_allclose(found.toarray(), dense(at), rtol=1e-12)


def test_a_branch_by_constant_places_is_structure() -> None:
    kernel = sd.compile("jacobian(where([True, False, True], x**2, 0), x)", x=3, sparse="csr")
    found = kernel([1.0, 2.0, 3.0])
    assert found.nnz == 2
    np.testing.assert_array_equal(found.toarray(), np.diag([2.0, 0.0, 6.0]))
