"""Sparse Jacobians of formulas that index with integer inputs: the pattern is made from the positions of the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ArgumentError, DtypeError, ShapeError
from tests.frontend.test_indexing import FORMULAS, numbers, symbols

CASES = [pytest.param(formula, id=name) for name, formula in FORMULAS.items()]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("n", [3, 40, "n"])
@pytest.mark.parametrize("formula", CASES)
def test_sparse_jacobians_are_the_dense_ones(formula: Callable[..., Any], n: int | str, kind: str) -> None:
    given = symbols(n)
    f = formula(*given)
    for x in given[:2]:
        jacobian = sd.jacobian(f, x, disconnected="zero")
        k = sd.compile(jacobian, given, sparse=kind, backend="interpreter" if n != 3 else "auto")
        dense = sd.compile(jacobian, given, backend="numpy")
        for seed, length in ((0, 3), (1, 3), (1, 3), (2, 40), (3, 1)):
            if n not in ("n", length):
                continue
            values = numbers(seed, length)
            whole = dense(*values)
            found = k(*values)
            assert found.format == kind
            np.testing.assert_allclose(
                found.toarray(), whole.reshape(found.shape), rtol=1e-12, atol=1e-12
            )
            again = found.copy()
            again.sum_duplicates()
            assert again.nnz == found.nnz
            if length == 40:  # and few more
                assert found.nnz <= 1.2 * np.count_nonzero(whole) + 10


def test_hessians_and_gradients() -> None:
    c, i, j = sd.matrix("c", "m", 2), sd.indices("i", "n"), sd.indices("j", "n")
    f = (np.sin(c[i]) * c[j]).sum()
    hessian = sd.hessian(f, c)
    k, dense = sd.compile(hessian, [c, i, j], sparse="csr"), sd.compile(hessian, [c, i, j])
    rng = np.random.default_rng(0)
    for m, n in ((5, 3), (5, 30), (40, 60)):
        values = rng.normal(size=(m, 2)), rng.integers(0, m, n), rng.integers(0, m, n)
        found = k(*values)
        np.testing.assert_allclose(found.toarray(), dense(*values).reshape(2 * m, 2 * m), rtol=1e-12, atol=1e-12)


def test_the_pattern_is_that_of_the_positions() -> None:
    c, i = sd.matrix("c", "m", 2), sd.indices("i", "n")
    k = sd.compile(sd.jacobian(c[i] ** 2, c), [c, i], sparse="csr")
    at = np.array([4, 0, 4, 9, 1, 1, 2, 3, 5])
    rows, columns = k.pattern(i=at, m=10)
    np.testing.assert_array_equal(rows, np.arange(18))
    np.testing.assert_array_equal(columns, (2 * at[:, None] + [0, 1]).ravel())
    found = k(np.ones((10, 2)), at)
    np.testing.assert_array_equal(found.indices, columns)
    other = k(np.ones((10, 2)), at[::-1])
    np.testing.assert_array_equal(other.indices, (2 * at[::-1, None] + [0, 1]).ravel())
    np.testing.assert_array_equal(found.indices, columns)  # what was given back stays
    with pytest.raises(ArgumentError, match="pattern\\(\\) without i"):
        k.pattern(m=10, n=9)
    with pytest.raises(ArgumentError, match="expected m"):
        k.pattern(i=at)
    with pytest.raises(ShapeError, match=r"i\[3\] is 9; expected 0 to 8"):
        k.pattern(i=at, m=9)
    with pytest.raises(DtypeError, match="not rounded"):
        k.pattern(i=at.astype(float), m=10)


def test_elements_at_one_place_are_added() -> None:
    c, i = sd.vector("c", "m"), sd.indices("i", "n")
    total = sd.compile(sd.jacobian((c[i] ** 2).sum(), c), [c, i])
    weights = sd.matrix("w", 2, "n")
    k = sd.compile(sd.jacobian(weights @ c[i] ** 2, c), [c, i, weights], sparse="csr")
    at = [0, 1, 1, 3, 3, 3, 0, 1, 2]
    found = k(np.arange(4.0) + 1, at, np.ones((2, 9)))
    np.testing.assert_allclose(found.toarray(), np.tile(total(np.arange(4.0) + 1, at), (2, 1)))
    assert found.nnz == 8


def test_bad_positions_and_batches_are_refused() -> None:
    c, i = sd.matrix("c", 5, 2), sd.indices("i", "n")
    jacobian = sd.jacobian(c[i] ** 2, c)
    k = sd.compile(jacobian, [c, i], sparse="csr")
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"i\[2\] is 5; expected 0 to 4"):
            k(np.ones((5, 2)), [0, 1, 5])
        with pytest.raises(ShapeError, match="negative"):
            k(np.ones((5, 2)), [0, -1, 4, 0, 0, 0, 0, 0, 0, 0])
        with pytest.raises(DtypeError, match="not rounded"):
            k(np.ones((5, 2)), [0.0, 1.0])
        k(np.ones((5, 2)), [0, 1, 4])
    values = sd.compile(jacobian, [c, i], sparse="values")
    at = np.array([0, 4, 4, 1, 2, 3, 0, 1, 2, 3])
    points = np.random.default_rng(0).normal(size=(3, 5, 2))
    data = values(points, at)
    for number, point in enumerate(points):
        np.testing.assert_allclose(data[number], k(point, at).data, rtol=1e-14)
    with pytest.raises(ShapeError, match="pattern of its own"):
        values(points, np.stack([at, at, at]))


# ---------------------------------------------------------------------------- bundle adjustment


def rotated(w: Any, x: Any) -> Any:
    """Rodrigues' formula for each row."""
    square = (w**2).sum(axis=1)
    angle = np.sqrt(square)
    crossed = np.stack(
        [
            w[:, 1] * x[:, 2] - w[:, 2] * x[:, 1],
            w[:, 2] * x[:, 0] - w[:, 0] * x[:, 2],
            w[:, 0] * x[:, 1] - w[:, 1] * x[:, 0],
        ],
        axis=1,
    )
    along = (1 - np.cos(angle)) / square * (w * x).sum(axis=1)
    return np.cos(angle)[:, None] * x + (np.sin(angle) / angle)[:, None] * crossed + along[:, None] * w


def projected(cameras: Any, points: Any) -> Any:
    """Project a point by a camera for each row: rotation, translation, focal length, two coefficients."""
    seen = rotated(cameras[:, :3], points) + cameras[:, 3:6]
    p = -seen[:, :2] / seen[:, 2:]
    n = (p**2).sum(axis=1)
    scale = cameras[:, 6] * (1 + cameras[:, 7] * n + cameras[:, 8] * n**2)
    return scale[:, None] * p


def by_hand(cameras: Any, points: Any) -> tuple[Any, Any]:
    """The derivatives of a projection for each row, written by hand: (n, 2, 9) and (n, 2, 3)."""
    by_camera, by_point = [], []
    for camera, x in zip(cameras, points, strict=True):
        w, t, (f, k1, k2) = camera[:3], camera[3:6], camera[6:]
        angle = np.sqrt(w @ w)
        s, c = np.sin(angle), np.cos(angle)
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        rotation = c * np.eye(3) + s / angle * skew + (1 - c) / angle**2 * np.outer(w, w)
        seen = rotation @ x + t
        turned = np.empty((3, 3))
        for axis in range(3):
            e = np.eye(3)[axis]
            slope = w[axis] / angle  # of the angle
            turned[:, axis] = (
                -s * slope * x
                + (c * angle - s) / angle**2 * slope * np.cross(w, x)
                + s / angle * np.cross(e, x)
                + (s * angle - 2 * (1 - c)) / angle**3 * slope * w * (w @ x)
                + (1 - c) / angle**2 * (e * (w @ x) + w * x[axis])
            )
        p = -seen[:2] / seen[2]
        inner = np.array([[-1 / seen[2], 0, seen[0] / seen[2] ** 2], [0, -1 / seen[2], seen[1] / seen[2] ** 2]])
        n = p @ p
        r = 1 + k1 * n + k2 * n**2
        outer = f * (r * np.eye(2) + 2 * (k1 + 2 * k2 * n) * np.outer(p, p))
        rest = np.stack([r * p, f * n * p, f * n**2 * p], axis=1)
        by_camera.append(np.concatenate([outer @ inner @ turned, outer @ inner, rest], axis=1))
        by_point.append(outer @ inner @ rotation)
    return np.stack(by_camera), np.stack(by_point)


def problem(cameras: int, points: int, observations: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    rest = np.concatenate([np.full((cameras, 1), 500.0), rng.normal(scale=1e-3, size=(cameras, 2))], axis=1)
    place = rng.normal(scale=0.1, size=(cameras, 6))
    place[:, 5] -= 5
    at = rng.integers(0, cameras, observations), rng.integers(0, points, observations)
    return np.concatenate([place, rest], axis=1), rng.normal(size=(points, 3)), *at


@pytest.mark.parametrize("n", [60, "n"])
def test_bundle_adjustment(n: int | str) -> None:
    size = (4, 9) if n == 60 else ("c", "p")
    cameras, points = sd.matrix("cameras", size[0], 9), sd.matrix("points", size[1], 3)
    ci, pi, seen = sd.indices("ci", n), sd.indices("pi", n), sd.matrix("seen", n, 2)
    residuals = projected(cameras[ci], points[pi]) - seen
    inputs = [cameras, points, ci, pi, seen]
    k = sd.compile(sd.jacobian([residuals], [cameras, points]), inputs, sparse="csr", backend="interpreter")
    own = problem(4, 9, 60)
    found = k(*own, np.zeros((60, 2)))
    assert found.shape == (120, 4 * 9 + 9 * 3)
    assert found.nnz == 120 * 12
    by_camera, by_point = by_hand(own[0][own[2]], own[1][own[3]])
    expected = np.zeros((60, 2, 63))
    for row, (a, b) in enumerate(zip(own[2], own[3], strict=True)):
        expected[row, :, 9 * a : 9 * a + 9] = by_camera[row]
        expected[row, :, 36 + 3 * b : 39 + 3 * b] = by_point[row]
    np.testing.assert_allclose(found.toarray(), expected.reshape(120, 63), rtol=1e-10, atol=1e-10)


def test_bundle_adjustment_is_solved() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    cameras, points = sd.matrix("cameras", 3, 9), sd.matrix("points", 20, 3)
    ci, pi, seen = sd.indices("ci", "n"), sd.indices("pi", "n"), sd.matrix("seen", "n", 2)
    residuals = projected(cameras[ci], points[pi]) - seen
    inputs = [cameras, points, ci, pi, seen]
    value = sd.compile(residuals, inputs, backend="interpreter")
    slope = sd.compile(sd.jacobian([residuals], [cameras, points]), inputs, sparse="csr", backend="interpreter")
    a, b, i, j = problem(3, 20, 120)
    target = projected(a[i], b[j])
    start = np.concatenate([(a * 1.001).ravel(), (b + 0.001).ravel()])

    def parts(x: Any) -> tuple[Any, ...]:
        return x[:27].reshape(3, 9), x[27:].reshape(20, 3), i, j, target

    found = optimize.least_squares(
        lambda x: value(*parts(x)).ravel(), start, lambda x: slope(*parts(x)), x_scale="jac", ftol=1e-12
    )
    assert found.cost < 1e-6 * (value(*parts(start)) ** 2).sum()
