"""Positions and ends of slices made of sizes that are letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.frontend.text.parse import parse_graph

BACKENDS = ("native", "interpreter", "numpy")


@pytest.mark.parametrize("backend", BACKENDS)
def test_they_are_positions_from_the_front(backend: Any) -> None:
    v, A = sd.vector("v", "n"), sd.matrix("A", "n", "m")
    n, m = A.shape

    def parts(x: Any, X: Any, n: Any, m: Any) -> list[Any]:
        vectors = [x[n - 1 : n], x[: n - 2], x[n - 3 :], x[n - 1], x[-n:]]
        return [*vectors, X[n - 2, m - 1], X[1 : n - 1, m - 2 :], X[: n - 1].T]

    rng = np.random.default_rng(3)
    for rows, columns in ((4, 2), (7, 5), (300, 33)):
        x, X = rng.normal(size=rows), rng.normal(size=(rows, columns))
        for formula, expected in zip(parts(v, A, n, m), parts(x, X, rows, columns), strict=True):
            kernel = sd.compile(2 * formula + 0 * v[0], [v, A], backend=backend)
            np.testing.assert_array_equal(kernel(x, X), 2 * expected)
            np.testing.assert_array_equal(kernel(x + np.zeros((3, 1)), X)[1], 2 * expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_go_back_to_them(backend: Any) -> None:
    v, w = sd.vector("v", "n"), sd.vector("w", "m")
    (n,) = v.shape
    slope = sd.compile(sd.gradient(np.sum(v[: n - 1] * v[1:n] ** 2) + w[n] ** 2, v), [v, w], backend=backend)
    x = np.arange(1.0, 6.0)
    expected = np.r_[x[1:] ** 2, 0] + np.r_[0, 2 * x[:-1] * x[1:]]
    np.testing.assert_allclose(slope(x, np.ones(6)), expected, rtol=1e-15)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_refuses_sizes_for_which_they_are_out_of_range(backend: Any) -> None:
    v, w = sd.vector("v", "n"), sd.vector("w", "m")
    (n,) = v.shape
    for formula in (w[:n] * v, w[n - 1] * v, w[n - 2 :] + np.sum(v)):
        kernel = sd.compile(formula, [w, v], backend=backend)
        assert kernel(np.ones(5), np.ones(3)).ndim == 1
        for short in (np.ones((2, 5)), np.ones(5)):
            with pytest.raises(sd.ShapeError):
                kernel(short, np.ones((*short.shape[:-1], 9)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda v, n: v[n - 40 :], "never negative"),
        (lambda v, n: v[::n], "whole numbers"),
        (lambda v, n: sd.vector("w", 5)[:n], "along an axis of length 5"),
        (lambda v, n: sd.vector("w", 5)[n], "along an axis of length 5"),
    ],
)
def test_what_depends_on_the_sizes_is_refused(make: Callable[..., Any], said: str) -> None:
    v = sd.vector("v", "n")
    size: Any = v.shape[0]
    with pytest.raises(sd.UnsupportedError, match=said):
        make(v, size)
    with pytest.raises(sd.UnsupportedError, match="whole numbers known when the formula is built"):
        v[: size / 2]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("v[n - 1:n]", "v[-1:]"),
        ("v[n - 2]", "v[-2]"),
        ("reshape(A, (n*n,))[n:2*n]", "reshape(A, (n*n,))[n:2*n]"),
        ("reshape(A, (n*n,))[n + 1]", "reshape(A, (n*n,))[n + 1]"),
        ("v[A]", None),
        ("v[sum(v):]", None),
    ],
)
def test_text_reads_them(text: str, shown: str | None) -> None:
    shapes = {"v": ("n",), "A": ("n", "n")}
    if shown is None:
        with pytest.raises(sd.SymdiffError):
            parse_graph(text, shapes)
    else:
        made = parse_graph(text, shapes).result
        assert str(made) == shown
        assert parse_graph(shown, shapes).result.node is made.node
