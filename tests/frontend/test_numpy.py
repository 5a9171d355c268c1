"""Ordinary NumPy code gives on symbols, compiled, what it gives on numbers; what cannot says what to write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from tests.support.numpy_code import SNIPPETS


def numbers(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    """Return arguments; square matrices are far from singular."""
    rng = np.random.default_rng(5)
    drawn = [rng.normal(size=shape) * 0.6 for shape in shapes]
    return [a + 2 * np.eye(len(a)) if a.ndim == 2 and a.shape[0] == a.shape[1] else a[()] for a in drawn]


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("name", SNIPPETS)
def test_code_on_symbols(name: str, backend: str) -> None:
    code, shapes = SNIPPETS[name]
    arguments = numbers(shapes)
    symbols = [sd.array(n, s) for n, s in zip(inspect.signature(code).parameters, shapes, strict=True)]
    kernel = sd.compile(sd.asarray(code(*symbols)), symbols, backend=backend)
    want = np.asarray(code(*arguments))
    got = kernel(*arguments)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


X = sd.array("x", (3,))
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "built-in max": (lambda: max(X), "where"),
    "built-in min": (lambda: min(X), "where"),
    "if": (lambda: 1 if X[0] > 0 else 2, "where"),
    "and": (lambda: X[0] > 0 and X[1] > 0, "&"),
    "item assignment": (lambda: X.__setitem__(0, 1.0), "stack"),
    "float": (lambda: float(X[0]), "compile"),
    "math": (lambda: __import__("math").sin(X[0]), "compile"),
    "range": (lambda: range(X[0]), "whole number"),
    "np.argpartition": (lambda: np.argpartition(X, 1), "arrange"),
    "np.argwhere": (lambda: np.argwhere(X), "where"),
    "np.nonzero": (lambda: np.nonzero(X), "where"),
    "np.linalg.eig": (lambda: np.linalg.eig(np.outer(X, X)), "eigenvalues"),
    "index by a condition": (lambda: X[X > 0], "where"),
    "out=": (lambda: np.exp(X, out=np.empty(3)), "value returned"),
    "array of arrays": (lambda: np.array([X, X]), r"sd\.array"),
    "array of numbers": (lambda: np.array(X, dtype=float), r"sd\.array"),
    "complex": (lambda: sd.asarray(X * 1j), "z.real"),
    "unknown function": (lambda: np.packbits(X), "packbits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_remedy(name: str) -> None:
    code, remedy = REFUSED[name]
    with pytest.raises(sd.SymdiffError, match=remedy):
        code()


def test_object_arrays_of_symbols() -> None:
    c, s = sd.scalar("c"), sd.scalar("s")
    with pytest.warns(UserWarning, match=r"array of Python objects.*write sd\.array") as told:
        rotation = np.array([[c, -s], [s, c]])
    assert told[0].filename == __file__
    assert rotation.dtype == object
    assert np.array([[c, -s], [s, c]], dtype=object).dtype == object  # asked for, without a warning
    kernel = sd.compile(np.exp(rotation) @ np.array([1.0, 2.0]), [c, s])
    np.testing.assert_allclose(kernel(0.3, 0.4), np.exp([[0.3, -0.4], [0.4, 0.3]]) @ [1, 2])


@pytest.mark.parametrize("make", [np.array, np.asarray, np.asanyarray, lambda rows, like: sd.array(rows)])
def test_arrays_like_a_symbol_hold_symbols(make: Any) -> None:
    x, y = sd.scalar("x"), sd.scalar("y")
    matrix = make([[x, 1], [2.0, y]], like=y)
    assert isinstance(matrix, sd.Array)
    assert str(sd.gradient(np.linalg.det(matrix), x)) == "y"
    with pytest.raises(sd.SymdiffError):
        np.array([[x, 1]], like=y, ndmin=3)


def test_a_symbol_in_an_array_of_numbers_is_told_what_to_do() -> None:
    # NumPy raises its own error here, from ours.
    with pytest.raises(ValueError, match="sequence") as caught:
        np.zeros(3)[0] = sd.scalar("x")
    assert isinstance(caught.value.__cause__, sd.SymbolError)
    assert "stack" in str(caught.value.__cause__)
