"""Sparse results: patterns by probing, blocks, declared structure, and values by the dense result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse

import symdiff as sd
from symdiff.graph.sizes import value
from symdiff.lowering.sparse import layouts
from tests.support.sparse_formulas import draw_scalar, draw_vector, probe

KINDS = ("csr", "csc", "coo")


def _drawn(seed: int, n: Any) -> Any:
    rng = np.random.default_rng(seed)
    x, X = sd.vector("x", n), sd.matrix("X", n, n)
    wrt = (x, X)[seed // 3 % 2]
    if seed % 3 == 0:
        derivative = sd.hessian(draw_scalar(rng, x, X), wrt, disconnected="zero")
    else:
        derivative = sd.jacobian(draw_vector(rng, x, X), wrt, disconnected="zero")
    return rng, derivative, [x, X]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("seed", range(90))
def test_patterns_and_values_are_those_of_the_dense_result(
    seed: int, forced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forced:  # as large results are laid out
        monkeypatch.setattr(layouts, "ELEMENTS", 0)
    n = 5
    rng, derivative, inputs = _drawn(seed, n)
    shapes = [(n,), (n, n)]
    dense = sd.compile(derivative, inputs, backend="interpreter")
    kernel = sd.compile(derivative, inputs, sparse=KINDS[seed % 3], backend="interpreter")
    _compare(rng, dense, kernel, shapes, derivative, {})


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_letters_give_the_same_as_numbers(seed: int) -> None:
    rng, derivative, inputs = _drawn(seed, "n")
    dense = sd.compile(derivative, inputs, backend="numpy")
    kernel = sd.compile(derivative, inputs, sparse=KINDS[seed % 3], backend="numpy" if seed % 4 else "auto")
    for n in (6, 17):  # below and above what cuts of ranges are taken to be
        _compare(rng, dense, kernel, [(n,), (n, n)], derivative, {"n": n})


def _compare(rng: Any, dense: Any, kernel: Any, shapes: Any, derivative: Any, sizes: Any) -> None:
    arrays = [rng.uniform(-2, 2, shape) for shape in shapes]
    lead = derivative.provenance.facts.rows[-1][1]
    whole = dense(*arrays)
    sides = (int(np.prod(whole.shape[:lead])), int(np.prod(whole.shape[lead:])))
    result = kernel(*arrays)
    assert result.shape == sides
    np.testing.assert_allclose(result.toarray(), whole.reshape(sides), rtol=1e-12, atol=1e-12)
    rows, columns = kernel.pattern(**sizes)
    order = np.lexsort((rows, columns) if result.format == "csc" else (columns, rows))
    assert (order == np.arange(order.size)).all()
    mask = np.zeros(sides, bool)
    mask[rows, columns] = True
    assert mask.sum() == rows.size == result.nnz  # without duplicates
    for times in (8, 60, 600):  # branches that are rarely taken need many points
        seen = probe(dense, rng, shapes, times).reshape(sides)
        assert not (seen & ~mask).any()
        if (seen == mask).all():
            return
    # a branch that no point takes: what of it is not seen is a part of what its condition chooses from
    assert "where" in str(derivative)
    assert (mask & ~seen).mean() < 0.25


@pytest.mark.parametrize("seed", range(12))
def test_the_same_program_has_the_same_bits(seed: int) -> None:
    n = 6
    rng, derivative, inputs = _drawn(seed, n)
    arrays = [rng.uniform(-2, 2, (7, n)), rng.uniform(-2, 2, (7, n, n))]
    of = {
        backend: sd.compile(derivative, inputs, sparse="values", backend=backend)(*arrays)
        for backend in ("interpreter", "native")
    }
    np.testing.assert_array_equal(of["interpreter"], of["native"])
    one = sd.compile(derivative, inputs, sparse="values", backend="interpreter")(*[array[3] for array in arrays])
    np.testing.assert_array_equal(of["native"][3], one)


# ---------------------------------------------------------------------------- sparse blocks
# Sparse results in dense blocks: the same numbers as the dense result, and blocks as large as the formula shows.


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


# ---------------------------------------------------------------------------- sparse declared
# What is declared of a matrix is structure: sparse results store no element that it makes zero.


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


# ---------------------------------------------------------------------------- sparse positions
# Sparse results of random formulas at positions that a call brings: exact patterns, in memory of the nonzeros.


N = 12


def _drawn_positions(rng: np.random.Generator, x: Any, y: Any, at: list[Any], depth: int) -> Any:
    """Return a random formula of N elements; sizes that are letters have the first few of its kinds."""
    if not depth:
        return [x, x * y, np.sin(x)][rng.integers(3)]
    a = _drawn_positions(rng, x, y, at, depth - 1)
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
    f = _drawn_positions(rng, x, y, [i, j], 1 + seed % 3)
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
    f = _drawn_positions(rng, x, y, [i, j], 1 + seed % 3) * x[i]
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
