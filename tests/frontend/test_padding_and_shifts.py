"""Zeros around an array, shifts, the matrix of a cross product, ranges: values, derivatives, backends, bad input."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import SymdiffError

BACKENDS = ["native", "numpy", "interpreter"]


def _shifted(x: Any, k: int, axis: int = 0) -> Any:
    result = np.zeros_like(x)
    moved = np.moveaxis(result, axis, 0)
    source = np.moveaxis(x, axis, 0)
    for i in range(len(source)):
        if 0 <= i - k < len(source):
            moved[i] = source[i - k]
    return result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("k", [-9, -2, -1, 0, 1, 3, 5, 7])
def test_shift_moves_elements_and_fills_with_zeros(backend: str, k: int) -> None:
    rng = np.random.default_rng(k + 9)
    x, a = rng.normal(size=5), rng.normal(size=(5, 3))
    kernel = sd.compile(f"shift(x, {k}), shift(A, {k}), shift(A, {k}, axis=1)", x=5, A=(5, 3), backend=backend)
    for got, expected in zip(kernel(x, a), (_shifted(x, k), _shifted(a, k), _shifted(a, k, 1)), strict=True):
        np.testing.assert_array_equal(got, expected)
    slope = sd.compile(f"jacobian(shift(x, {k}) * x, x)", x=5, backend=backend)(x)
    moved = np.array([_shifted(row, k) for row in np.eye(5)]).T
    np.testing.assert_allclose(slope, np.diag(_shifted(x, k)) + np.diag(x) @ moved, atol=1e-14)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_shift_along_an_axis_of_any_size(size: int) -> None:
    x = np.arange(1.0, size + 1)
    got = sd.compile("shift(x, 1) + 2 * shift(x, -2)", x="n")(x)
    np.testing.assert_array_equal(got, _shifted(x, 1) + 2 * _shifted(x, -2))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("widths", "text"), [(1, "1"), ((1, 0), "(1, 0)"), (((0, 2), (1, 0)), "((0, 2), (1, 0))"), (((1, 2),), "((1, 2),)")]
)
def test_pad_is_that_of_numpy(backend: str, widths: Any, text: str) -> None:
    a = np.random.default_rng(1).normal(size=(2, 3))
    symbol = sd.matrix("A", 2, 3)
    for formula in (np.pad(symbol, widths), np.pad(symbol, widths, mode="constant", constant_values=0)):
        np.testing.assert_array_equal(sd.compile(formula, backend=backend)(a), np.pad(a, widths))
    kernel = sd.compile(f"pad(A, {text})", A=(2, 3), backend=backend)
    np.testing.assert_array_equal(kernel(a), np.pad(a, widths))
    slope = sd.compile(f"gradient(sum(pad(A, {text})**3), A)", A=(2, 3), backend=backend)
    np.testing.assert_allclose(slope(a), 3 * a**2)


def test_pad_to_a_size_that_is_known_at_call_time() -> None:
    kernel = sd.compile("pad(x[:2], (0, n - 2)) * x", x="n")
    np.testing.assert_array_equal(kernel([3.0, 4.0, 5.0, 6.0]), [9, 16, 0, 0])
    assert str(sd.gradient("sum(x[:2]**3)", "x", x="n")) == "3 * pad(x[:2] ** 2, (0, n - 2))"


@pytest.mark.parametrize("backend", BACKENDS)
def test_skew_is_the_matrix_of_the_cross_product(backend: str) -> None:
    rng = np.random.default_rng(6)
    v, w, many = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3))
    kernel = sd.compile("skew(v) @ w, skew(v), skew(M)", v=3, w=3, M=(4, 3), backend=backend)
    product, matrix, matrices = kernel(v, w, many)
    np.testing.assert_allclose(product, np.cross(v, w))
    np.testing.assert_array_equal(matrix, [[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    np.testing.assert_allclose(matrices @ w, np.cross(many, w))
    slope = sd.compile("jacobian(skew(v) @ w, v)", v=3, w=3, backend=backend)(v, w)
    np.testing.assert_allclose(slope, np.cross(np.eye(3), w).T, atol=1e-15)
    assert str(sd.jacobian("skew(v) @ w", "v", v=3, w=3)) == "-skew(w)"


@pytest.mark.parametrize("arguments", [(5,), (2, 7), (9, 1, -3), (0, 1, 0.25), (5, 2)])
def test_arange_is_that_of_numpy(arguments: tuple[Any, ...]) -> None:
    text = f"arange({', '.join(map(str, arguments))}) + 0 * x"
    np.testing.assert_array_equal(sd.compile(text, x=())(0.0), np.arange(*arguments))


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("size", [3, 4])
def test_eye_of_a_size_that_is_known_at_call_time(k: int, size: int) -> None:
    values = np.arange(1.0, size + 1)
    for text, matrix in (
        (f"eye(n, n, {k}) @ x", np.eye(size, k=k)),
        (f"eye(n, n - 1, {k}) @ x[1:]", np.eye(size, size - 1, k)[:, :] @ np.eye(size)[1:]),
        (f"eye(n - 1, n, {k}).T @ x[1:]", np.eye(size - 1, size, k).T @ np.eye(size)[1:]),
    ):
        np.testing.assert_array_equal(sd.compile(text, x="n")(values), matrix @ values)
        slope = sd.compile(f"jacobian(sin({text}), x)", x="n")(values)
        np.testing.assert_allclose(slope, np.cos(matrix @ values)[:, None] * matrix)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pad(v, (0, -1))", "is negative"),
        ("pad(v, ((1, 0), (1, 0)))", "2 pairs of widths of an array of shape (3,)"),
        ("pad(v, (1, 2, 3))", "3 widths for an axis"),
        ("pad(v, 1.5)", "neither a whole number nor a name"),
        ("pad(v, 1, mode=2)", "mode=2"),
        ("pad(v)", "takes 2 to 3"),
        ("shift(s, 1)", "axis 0"),
        ("shift(v, 1, axis=1)", "axis 1"),
        ("shift(v, 1.5)", "expected a whole number"),
        ("skew(A)", "expected 3 elements on the last axis"),
        ("skew(s)", "expected 3 elements on the last axis"),
        ("arange(1, 2, 0)", "step 0"),
        ("arange(v)", "expected finite numbers"),
        ("arange(inf)", "expected finite numbers"),
        ("arange(1e300)", "at most"),
        ("array((3, 3)) + A", "too long to print"),
    ],
)
def test_bad_arguments_are_refused(text: str, message: str) -> None:
    with pytest.raises(SymdiffError, match=re.escape(message)):
        sd.compile(text, v=3, A=(2, 2), s=())


# ---------------------------------------------------------------------------- constants


def test_constants_are_shown_by_their_names_and_read_back() -> None:
    x = sd.vector("x", 200)
    rng = np.random.default_rng(0)
    for constant, shown in [
        (np.eye(200), "eye(200) @ x"),
        (0.5 * np.eye(200), "(0.5 * eye(200)) @ x"),
        (np.eye(200, k=3), "eye(200, 200, 3) @ x"),
        (np.ones((200, 200)), "ones((200, 200)) @ x"),
        (np.diag(np.arange(1.0, 201.0)), "diag(arange(1, 201)) @ x"),
        (np.arange(200.0), "arange(200) @ x"),
        (np.arange(200.0)[::-1] * 2, "arange(398, -2, -2) @ x"),
        (np.eye(200)[7], "eye(200)[7] @ x"),
    ]:
        node = sd.Array(_matmul(constant, x))
        assert str(node) == shown
        values = rng.normal(size=200)
        np.testing.assert_allclose(sd.compile(str(node), x=200)(values), constant @ values, rtol=1e-12)


def _matmul(constant: Any, x: sd.Array) -> Any:
    from symdiff.frontend.numpy.operations import matmul
    from symdiff.graph import constant as make

    return matmul(make(constant), x.node)


def test_a_long_constant_is_elided_and_refused_when_read() -> None:
    x, numbers = sd.vector("x", 40), np.random.default_rng(3).normal(size=(40, 40))
    shown = str(numbers @ x)
    assert shown == "array((40, 40)) @ x"
    with pytest.raises(SymdiffError, match="give the constant as an input"):
        sd.compile(shown, x=40)
    short = numbers[:3, :4] @ x[:4]
    assert "array" not in str(short)
    np.testing.assert_allclose(sd.compile(str(short), x=40)(np.ones(40)), numbers[:3, :4].sum(1))


# ---------------------------------------------------------------------------- rolls


@pytest.mark.parametrize("seed", range(12))
def test_derivatives_of_rolls_are_rolls(seed: int) -> None:
    """They are shown by rolls and turned arrays alone, read back, and are those of differences."""
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 3))
    name, shape = ("x", ("n",)) if ndim == 1 else ("A", ("n", "m"))
    places = [int(rng.choice([-3, -2, -1, 1, 2, 3])) for _ in range(2)]
    axes = ["" if ndim == 1 else f", axis={int(rng.integers(2))}" for _ in range(2)]
    first, second = (f"roll({name}, {k}{axis})" for k, axis in zip(places, axes, strict=True))
    turned = f"{name}[::-1]"
    forms = [
        f"sum({name} * {first})",
        f"sum(sin({first}) * {second})",
        f"sum(({first} - {name})**2)",
        f"sum(cos({name} - {first})) + sum({name} * {second}**2)",
        f"sum({turned} * cos({first}))",
    ]
    text = str(rng.choice(forms))
    gradient = sd.gradient(text, name, **{name: shape})
    assert not any(word in str(gradient) for word in ("pad", "concatenate", "shift", "eye")), str(gradient)
    at = rng.normal(size=(7, 5)[:ndim])
    value, slope = sd.compile(text, **{name: shape}), sd.compile(gradient)(at)
    np.testing.assert_array_equal(sd.compile(gradient, backend="native")(at), slope)
    np.testing.assert_allclose(sd.compile(str(gradient), **{name: shape})(at), slope, rtol=1e-14, atol=1e-14)
    step = 1e-6 * np.eye(at.size).reshape(-1, *at.shape)
    differences = [(value(at + d) - value(at - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(slope, np.reshape(differences, at.shape), rtol=1e-7, atol=1e-7)
