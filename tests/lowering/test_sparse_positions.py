"""Sparse results of random formulas at positions that a call brings: exact patterns, in memory of the nonzeros."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.graph.sizes import value

N = 12


def _drawn(rng: np.random.Generator, x: Any, y: Any, at: list[Any], depth: int) -> Any:
    """Return a random formula of N elements; sizes that are letters have the first few of its kinds."""
    if not depth:
        return [x, x * y, np.sin(x)][rng.integers(3)]
    a = _drawn(rng, x, y, at, depth - 1)
    i, j = at[rng.integers(2)], at[rng.integers(2)]
    kinds: list[Callable[[], Any]] = [
        lambda: a[i],
        lambda: a[i] * a[j],
        lambda: a[i] + 0.37 * a,
        lambda: a[::-1][i],
        lambda: a[i][j],
        lambda: np.exp(a[i]) * y,
        lambda: a**2,
    ]
    if isinstance(x.shape[0], int):
        kinds += [
            lambda: np.roll(a, 2)[i],
            lambda: (a * np.roll(a, 1))[i],
            lambda: np.concatenate([a[1:] * a[:-1], a[:1]])[i],
            lambda: a[list(range(0, N, 2)) + list(range(N // 2))][i],
            lambda: a[i][rng.permutation(N)],
            lambda: np.sum(a[i.reshape(3, 4)] ** 2, axis=1)[[0, 1, 2] * 4],
            lambda: np.repeat(a[i].reshape(4, 3).prod(axis=1), 3),
            lambda: np.concatenate([a[i][3:], a[:3] * a[i][2]]),
            lambda: np.tile(a[i].reshape(3, 4).prod(axis=1), 4),
            lambda: np.tril(np.outer(a[i], a))[3],
        ]
    return kinds[rng.integers(len(kinds))]()


@pytest.mark.parametrize("n", [N, "n"])
@pytest.mark.parametrize("seed", range(60))
def test_patterns_are_exact(seed: int, n: int | str) -> None:
    rng = np.random.default_rng(seed)
    x, y = sd.vector("x", n), sd.vector("y", n)
    i, j = sd.indices("i", n), sd.indices("j", n)
    f = _drawn(rng, x, y, [i, j], 1 + seed % 3)
    derivative = sd.hessian(np.sum(f**2), x) if seed % 2 else sd.jacobian(f**2, x)
    given = [x, y, i, j]
    k = sd.compile(derivative, given, sparse="csr", backend="interpreter")
    dense = sd.compile(derivative, given, backend="numpy")
    for count in (N,) if n == N else (N, 20):  # letters are guessed to be more than the first
        for positions in ([0] * count, rng.integers(0, count, count), rng.permutation(count)):
            where = [np.array(positions), rng.integers(0, count, count)]
            seen: Any = False
            for _ in range(6):
                numbers = [*rng.uniform(0.3, 1.7, (2, count)), *where]
                seen = seen | (np.abs(dense(*numbers)) > 1e-13)
            found = k(*numbers)
            np.testing.assert_allclose(found.toarray(), dense(*numbers), rtol=1e-11, atol=1e-11)
            pattern = np.zeros((count, count), bool)
            pattern[k.pattern(i=where[0], j=where[1], **({} if n == N else {"n": count}))] = True
            np.testing.assert_array_equal(pattern, seen)


@pytest.mark.parametrize("seed", range(20))
def test_no_more_is_computed_than_stored(seed: int) -> None:
    n, m = 300, 200
    rng = np.random.default_rng(seed)
    x, i, j = sd.vector("x", n), sd.indices("i", m), sd.indices("j", m)
    permuted = rng.permutation(n)
    kinds: list[Callable[[], Any]] = [
        lambda: x[i] * x[j],
        lambda: x[permuted][i] * x[j],
        lambda: (x * np.roll(x, 3))[i],
        lambda: (x[1:] * x[:-1])[i],
        lambda: np.sin(x[i.reshape(50, 4)]).prod(axis=1),
        lambda: x[i].reshape(50, 4).prod(axis=1),
        lambda: x[i][j] * x[i],
        lambda: (x[permuted[:250]] ** 2)[i][::2],
        lambda: np.sum(x[i.reshape(2, 100)] * x[j.reshape(2, 100)], axis=0),
        lambda: (x[i] - x[j])[1:] * x[i][:-1],
    ]
    f = kinds[seed % len(kinds)]()
    derivative: Any = sd.hessian(np.sum(f**2), x) if seed >= len(kinds) else sd.jacobian(f, x)
    k = sd.compile(derivative, [x, i, j], sparse="csr", backend="interpreter")
    numbers = rng.uniform(0.5, 1.5, n), rng.integers(0, n - 60, m), rng.integers(0, m, m)
    found = k(*numbers)
    dense = sd.compile(derivative, [x, i, j], backend="numpy")(*numbers)
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-11, atol=1e-11)
    computed = sum(math.prod(value(s, {}) for s in node.shape) for node in k._results[0].layout.values)
    assert computed <= 6 * found.nnz + 10


def test_energies_of_meshes() -> None:
    points, triangles = sd.matrix("points", "n", 3), sd.indices("triangles", ("m", 3))
    corners = points[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.sum(np.sqrt(np.sum(normal**2, axis=1))) / 2
    k = sd.compile(sd.hessian(area, points), [points, triangles], sparse="csr")
    dense = sd.compile(sd.hessian(area, points), [points, triangles], backend="numpy")
    rng = np.random.default_rng(3)
    for n, m in ((10, 7), (60, 40)):
        where = rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1)[:, :3]
        numbers = rng.normal(size=(n, 3)), where
        found = k(*numbers)
        np.testing.assert_allclose(found.toarray(), dense(*numbers).reshape(3 * n, 3 * n), atol=1e-9)
        pairs = {(a, b) for row in where.tolist() for a in row for b in row}
        assert found.nnz <= 9 * len(pairs)


GROUPS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: np.sort(x.reshape(3, 4), axis=1),
    "median": lambda x: np.median(x.reshape(3, 4), axis=1),
    "det": lambda x: np.linalg.det(x.reshape(3, 2, 2)) ** 2,
    "solve": lambda x: np.linalg.solve(x.reshape(3, 2, 2), x.reshape(3, 2, 2)[:, ::-1]) ** 2,
    "triangle": lambda x: np.tril(x.reshape(4, 3)) ** 2,
    "upper": lambda x: np.triu(np.outer(x, x), 1),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", GROUPS)
def test_groups_of_elements_have_blocks(name: str, order: int) -> None:
    rng = np.random.default_rng(5)
    x = sd.vector("x", N)
    f = GROUPS[name](x)
    derivative = sd.jacobian(f, x) if order == 1 else sd.hessian(np.sum(f**2), x)
    dense, k = sd.compile(derivative, [x]), sd.compile(derivative, [x], sparse="csr")
    seen: Any = False
    for _ in range(400):
        numbers = rng.uniform(0.2, 1.8, N)
        seen = seen | (dense(numbers) != 0)
    found = k(numbers)
    np.testing.assert_allclose(found.toarray(), dense(numbers).reshape(found.shape), rtol=1e-9, atol=1e-9)
    pattern = np.zeros(found.shape, bool)
    pattern[k.pattern()] = True
    same = name == "median" and order == 2  # which order it is decides what is left of a block
    assert not (seen.reshape(found.shape) & ~pattern).any()
    assert pattern.sum() == (48 if same else seen.sum())


@pytest.mark.parametrize("n", [N, "n"])
@pytest.mark.parametrize("seed", range(8))
def test_calls_again_have_the_positions_and_types_of_the_call(seed: int, n: int | str) -> None:
    """Calls of a kind that came before take a short way: whatever changes between them, results are a first call's."""
    rng = np.random.default_rng(seed)
    x, y, i, j = sd.vector("x", n), sd.vector("y", n), sd.indices("i", n), sd.indices("j", n)
    f = _drawn(rng, x, y, [i, j], 1 + seed % 3) * x[i]
    derivative = sd.hessian(np.sum(f**2), x) if seed % 2 else sd.jacobian(f**2, x)
    given, count = [x, y, i, j], N if n == N else int(rng.integers(3, 30))
    kernel = sd.compile(derivative, given, sparse="csr", backend="interpreter")
    first = [rng.integers(count, size=count) for _ in range(2)]
    for turn in range(14):
        kind = np.float32 if turn % 5 == 4 else np.float64
        places = first if turn % 3 else [rng.integers(count, size=count) for _ in range(2)]
        if turn == 10:
            first[0][0] = (first[0][0] + 1) % count  # in place
        own = [a.astype([np.int64, np.int32][turn // 7]) for a in places]
        args = [*rng.uniform(0.5, 1.5, (2, count)).astype(kind), *own]
        new = sd.compile(derivative, given, sparse="csr", backend="interpreter")
        found, expected = kernel(*args), new(*args)
        assert found.dtype == expected.dtype == kind
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.data, expected.data)
        again = kernel(*args)
        assert again.data is not found.data
        np.testing.assert_array_equal(again.data, expected.data)
        again.data[...] = 0
        assert kernel(*args, out=again) is again
        np.testing.assert_array_equal(again.data, expected.data)
    args[2] = np.full(count, count)
    for _ in range(2):
        with pytest.raises(sd.ShapeError, match=r"expected 0 to|i\["):
            kernel(*args)


def test_positions_of_an_input_that_a_formula_does_not_read_are_any() -> None:
    """The second derivative of what is linear in its part by positions keeps these as an argument alone."""
    x, i, j = sd.vector("x", 8), sd.indices("i", 8), sd.indices("j", 8)
    kernel = sd.compile(sd.hessian(np.sum(x[i] ** 3) + np.sum(x[j]), x), [x, i, j], sparse="csr")
    at, rng = np.arange(8)[::-1].copy(), np.random.default_rng(0)
    dense = sd.compile(sd.hessian(np.sum(x[i] ** 3) + np.sum(x[j]), x), [x, i, j])
    for other in (at, at % 2, at + 100, at - 100):
        point = rng.normal(size=8)
        for _ in range(2):
            np.testing.assert_allclose(kernel(point, at, other).toarray(), np.diag(6 * point), rtol=1e-15)
            np.testing.assert_allclose(dense(point, at, other), np.diag(6 * point), rtol=1e-15)
    for wrong in (at.astype(float), at + 0.5):
        with pytest.raises(sd.DtypeError, match="j is an array of float64"):
            kernel(point, at, wrong)
        with pytest.raises(sd.DtypeError, match="j is an array of float64"):
            dense(point, at, wrong)
