"""Functions of matrices in text: ``funm(A, x -> exp(x))`` is read, and printed so that it can be read again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd

Floats = npt.NDArray[np.float64]
SHAPES: dict[str, Any] = {"A": sd.symmetric(3), "t": ()}
T = 0.3


def symmetric_numbers() -> Floats:
    """Return a symmetric matrix."""
    a = np.random.default_rng(4).normal(size=(3, 3))
    return a + a.T


def by_eigenvalues(a: Floats, function: Callable[[Floats], Floats]) -> Floats:
    """Return a function of a matrix."""
    values, vectors = np.linalg.eigh(a)
    return np.asarray(vectors @ np.diag(function(values)) @ vectors.T)


CASES: list[tuple[str, Callable[[Floats], Any]]] = [
    ("funm(A, x -> exp(-t * x) + x ** 2)", lambda a: by_eigenvalues(a, lambda x: np.exp(-T * x) + x**2)),
    ("funm(A, t -> sin(t)) * t", lambda a: T * by_eigenvalues(a, np.sin)),  # the letter hides an input
    ("t * funm(A, A -> 1 / (1 + A ** 2))", lambda a: T * by_eigenvalues(a, lambda x: 1 / (1 + x**2))),
    ("trace(funm(A, x -> x)) * t + sum(funm(A, (x) -> x * t))", lambda a: T * (np.trace(a) + a.sum())),
    ("funm(funm(A, x -> x * t), x -> cos(x))", lambda a: by_eigenvalues(a, lambda x: np.cos(x * T))),
    ("t * funm(A, x -> x)[0]", lambda a: T * a[0]),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_text_means_the_function_and_is_printed_to_be_read_again(text: str, expected: Callable[[Floats], Any]) -> None:
    a = symmetric_numbers()
    kernel = sd.compile(text, shapes=SHAPES)
    args = [{"A": a, "t": T}[p.name] for p in kernel.inputs]
    np.testing.assert_allclose(kernel(*args), expected(a), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "text", ["sum(log(t + eigvalsh(A) ** 2))", "sum(eigvalsh(A) * exp(t * eigvalsh(A)))", "t * trace(sqrtm(A))"]
)
def test_gradients_are_read_again(text: str) -> None:
    a = symmetric_numbers() + 5 * np.eye(3)
    gradient = sd.gradient(text, "A", shapes=SHAPES)
    again = sd.compile(str(gradient), shapes=SHAPES)
    kernel = sd.compile(gradient)
    values = {"A": a, "t": T}
    got, expected = (k(*[values[p.name] for p in k.inputs]) for k in (again, kernel))
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_a_matrix_that_is_not_declared_symmetric_is_made_so() -> None:
    gradient = sd.gradient("sum(eigvalsh(M) ** 4)", "M", M=(3, 3))
    assert str(gradient) == "funm((M + M.T) / 2, x -> 4 * x ** 3)"
    a = symmetric_numbers()
    np.testing.assert_allclose(sd.compile(str(gradient), M=(3, 3))(a), 4 * a @ a @ a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x -> x", "a function of a letter"),
        ("sum(A, x -> x)", "a function of a letter"),
        ("trace(A) * (x -> x)", "a function of a letter"),
        ("funm(A, x -> A)", "no symbolic number"),
        ("funm(A, 3)", "a function of one number"),
        ("funm(A, 3 -> 3)", "stands behind"),
    ],
)
def test_what_is_no_function_is_refused(text: str, said: str) -> None:
    with pytest.raises(sd.SymdiffError, match=said):
        sd.compile(text, shapes=SHAPES)


def test_a_part_of_what_a_loop_writes_is_shown() -> None:
    x = sd.vector("x", 6)
    written = sd.scan(lambda s, r: (s * 0.5 + r,) * 2, 0.0, x)[1]
    shown = str(written)
    assert str(written[1:3]) == f"{shown}[1:3]"
    assert str(written[::-1][0]) == f"{shown}[::-1][0]"
