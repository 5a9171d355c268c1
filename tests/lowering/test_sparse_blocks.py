"""Sparse results in dense blocks: the same numbers as the dense result, and blocks as large as the formula shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import symdiff as sd

RNG = np.random.default_rng(10)
NUMBERS = {"m": 20, "n": 30, "k": 18, "p": 17, "q": 16, "r": 19}
SMALL = {"m": 3, "n": 2, "k": 4, "p": 2, "q": 1, "r": 3}

CASES: list[tuple[str, dict[str, Any], tuple[Any, Any], int | str]] = [
    # formula, shapes, block, number of blocks
    ("hessian(sum((X - U @ V.T)**2), U)", {"X": ("m", "n"), "U": ("m", "k"), "V": ("n", "k")}, ("k", "k"), "m"),
    ("hessian(sum((X - U @ V.T)**2), U)", {"X": (5, 4), "U": (5, 3), "V": (4, 3)}, (3, 3), 5),
    ("jacobian(U @ V.T, U)", {"U": ("m", "k"), "V": ("n", "k")}, ("n", "k"), "m"),
    ("kron(eye(4), A @ B)", {"A": ("p", "q"), "B": ("q", "r")}, ("p", "r"), 4),
    ("kron(eye(4), A @ B)", {"A": (3, 2), "B": (2, 5)}, (3, 5), 4),
    ("kron(eye(2), kron(eye(30), A @ B))", {"A": (3, 2), "B": (2, 5)}, (3, 5), 60),
    ("jacobian(softmax(X, axis=1), X)", {"X": ("n", 4)}, (4, 4), "n"),
    ("jacobian(softmax(X, axis=1), X)", {"X": (6, 4)}, (4, 4), 6),
    ("jacobian(sin(X[1:] @ A) + sin(X[:-1] @ A), X)", {"X": (50, 4), "A": (4, 4)}, (4, 4), 98),
    ("jacobian(sum(X, axis=1)**2, X)", {"X": ("n", 3)}, (1, 3), "n"),
    ("jacobian(A @ x, x)", {"A": (3, 4), "x": 4}, (3, 4), 1),
]


def arguments(kernel: sd.Kernel, shapes: dict[str, Any], numbers: dict[str, int]) -> list[Any]:
    """Return random inputs."""
    own = [shapes[p.name] if isinstance(shapes[p.name], tuple) else (shapes[p.name],) for p in kernel.inputs]
    return [RNG.normal(size=tuple(numbers.get(size, size) for size in shape)) for shape in own]


@pytest.mark.parametrize(("text", "shapes", "block", "count"), CASES)
@pytest.mark.parametrize("numbers", [NUMBERS, SMALL])
def test_blocks_hold_the_dense_result(
    text: str, shapes: dict[str, Any], block: tuple[Any, Any], count: Any, numbers: dict[str, int]
) -> None:
    kernel = sd.compile(text, sparse="bsr", **shapes)
    args = arguments(kernel, shapes, numbers)
    result = kernel(*args)
    dense = sd.compile(text, **shapes)(*args).reshape(result.shape)
    assert isinstance(result, scipy.sparse.bsr_array)
    assert result.blocksize == tuple(numbers.get(size, size) for size in block)
    assert result.indices.size == numbers.get(count, count)
    np.testing.assert_allclose(result.toarray(), dense, rtol=1e-12, atol=1e-13)
    names = {name for shape in shapes.values() for name in np.atleast_1d(shape) if name in numbers}
    rows, columns = kernel.pattern(**{name: numbers[name] for name in names})
    np.testing.assert_array_equal(result.toarray()[rows, columns], result.data.reshape(-1))
    given = result.copy()
    given.data[:] = 0
    assert kernel(*args, out=given) is given
    np.testing.assert_array_equal(given.toarray(), result.toarray())
    data = np.zeros(result.data.shape)
    kernel(*args, out=data)
    np.testing.assert_array_equal(data, result.data)


def test_cameras_and_points_share_the_largest_block_of_both() -> None:
    count = 40
    at, of = sd.indices("at", count), sd.indices("of", count)
    cameras, points = sd.matrix("cameras", 5, 9), sd.matrix("points", 30, 3)
    c, p = cameras[at], points[of]
    f = sd.stack([c[:, 0] * (p @ np.ones(3)) * c[:, 1:].sum(1), c.sum(1) ** 2 * p[:, 0] * p[:, 1] * p[:, 2]], 1)
    derivative = sd.jacobian([f], [cameras, points])
    values = [RNG.random((5, 9)), RNG.random((30, 3)), RNG.integers(0, 5, count), RNG.integers(0, 30, count)]
    inputs = [cameras, points, at, of]
    result = sd.compile(derivative, inputs, sparse="bsr")(*values)
    assert result.blocksize == (2, 3)
    assert result.indices.size == 4 * count
    expected = sd.compile(derivative, inputs, sparse="csr")(*values)
    np.testing.assert_allclose(result.toarray(), expected.toarray(), rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("jacobian(A @ X, X)", {"A": (3, 3), "X": (3, 3)}),  # diagonals within blocks
        ("jacobian(A @ X, X)", {"A": ("m", "m"), "X": ("m", "n")}),
        ("jacobian(tril(X), X)", {"X": (3, 3)}),
        ("jacobian(X[1:] * sum(X[:-1], axis=1)[:, None], X)", {"X": (60, 4)}),  # full ones beside diagonals
        ("A * tril(ones((4, 4)))", {"A": (4, 4)}),
    ],
)
def test_what_has_no_equal_dense_blocks_is_refused(text: str, shapes: dict[str, Any]) -> None:
    with pytest.raises(sd.UnsupportedError, match=r"not equal dense blocks.*'csr'"):
        sd.compile(text, sparse="bsr", **shapes)


def test_bad_targets_and_options_are_refused() -> None:
    kernel = sd.compile("jacobian(softmax(X, axis=1), X)", X=(6, 4), sparse="bsr")
    x = RNG.normal(size=(6, 4))
    with pytest.raises(sd.ShapeError, match=r"expected \(6, 4, 4\)"):
        kernel(x, out=np.zeros((3, 8, 4)))
    with pytest.raises(sd.ArgumentError, match="not contiguous"):
        kernel(x, out=np.zeros((4, 4, 6)).T)
    with pytest.raises(sd.ShapeError, match=r"blocks of \(2, 2\)"):
        kernel(x, out=scipy.sparse.csr_array(kernel(x)).tobsr((2, 2)))
    with pytest.raises(sd.ArgumentError, match="expected bsr"):
        kernel(x, out=scipy.sparse.csr_array(kernel(x)))
    with pytest.raises(sd.ShapeError, match="a batch"):
        kernel(RNG.normal(size=(2, 6, 4)))
    with pytest.raises(sd.UnsupportedError, match="triangle"):
        sd.compile("hessian(sum(sum(X, axis=1)**2), X)", X=(6, 4), sparse="bsr", triangle="lower")
