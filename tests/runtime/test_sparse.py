"""Sparse results: forms, letters, batches, ``out``, triangles, what is refused, and memory."""

from __future__ import annotations

import pickle
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import symdiff as sd
from symdiff.errors import ArgumentError, ShapeError
from symdiff.graph.sizes import LEAST
from symdiff.lowering.sparse.entries import kind_of
from symdiff.runtime.calls import result_memory

RNG = np.random.default_rng(3)


def chain(x: Any) -> Any:
    return 10 * (x[1:] - x[:-1] ** 2)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_hessian(x: Any) -> Any:
    """Return the Hessian as a textbook has it (Nocedal and Wright 2006, exercise 7.1)."""
    n = x.size
    h = np.zeros((n, n))
    for i in range(n - 1):
        h[i, i] += 1200 * x[i] ** 2 - 400 * x[i + 1] + 2
        h[i + 1, i + 1] += 200
        h[i, i + 1] = h[i + 1, i] = -400 * x[i]
    return h


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("backend", ["auto", "interpreter", "numpy"])
@pytest.mark.parametrize("n", [2, 3, LEAST - 1, LEAST, 50])
def test_a_band_is_that_of_the_textbook(kind: str, backend: str, n: Any) -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.hessian(rosenbrock(x), x), sparse=kind, backend=backend)
    point = RNG.uniform(-2, 2, n)
    result = kernel(point)
    assert isinstance(result, scipy.sparse.sparray)
    assert result.format == kind
    assert result.nnz == 3 * n - 2
    assert {own.dtype for own in kernel.pattern(n=n)} == {np.dtype(np.int32)}
    # of numbers of some thousands, a difference
    np.testing.assert_allclose(result.toarray(), rosenbrock_hessian(point), rtol=1e-13, atol=1e-11)


def test_rows_are_the_formula_and_columns_the_variable() -> None:
    A, B = sd.matrix("A", 2, 3), sd.matrix("B", 2, 3)
    derivative = sd.jacobian((A + B) @ (A * B).T, A)
    a, b = RNG.random((2, 3)), RNG.random((2, 3))
    whole = sd.compile(derivative)(a, b)
    assert sd.compile(derivative, sparse="csr")(a, b).shape == (4, 6)
    np.testing.assert_allclose(sd.compile(derivative, sparse="csr")(a, b).toarray(), whole.reshape(4, 6), rtol=1e-14)
    with pytest.raises(sd.ShapeError, match="two axes"):  # what became of it is no matrix
        sd.compile(2 * derivative + 1, sparse="csr")
    assert sd.compile(derivative.reshape(2, -1), sparse="csr")(a, b).shape == (2, 12)


def test_a_jacobian_of_a_matrix_by_text() -> None:
    kernel = sd.compile("jacobian(X * X, X)", X=(2, 3), sparse="coo")
    point = RNG.random((2, 3))
    np.testing.assert_array_equal(kernel(point).toarray(), np.diag(2 * point.ravel()))


def test_one_word_and_words_in_the_structure() -> None:
    x = sd.vector("x", "n")
    outputs = {"f": chain(x), "J": sd.jacobian(chain(x), x), "more": (sd.hessian(rosenbrock(x), x), rosenbrock(x))}
    point = RNG.random(40)
    dense = sd.compile(outputs)(point)
    word = sd.compile(outputs, sparse="csr")(point)
    assert isinstance(word["f"], np.ndarray)
    assert word["J"].format == word["more"][0].format == "csr"
    some = sd.compile(outputs, sparse={"J": "csc", "more": ("values", None)})(point)
    assert some["J"].format == "csc"
    np.testing.assert_allclose(some["more"][0], word["more"][0].data, rtol=1e-14)
    np.testing.assert_allclose(word["J"].toarray(), dense["J"], rtol=1e-14)
    np.testing.assert_allclose(some["f"], dense["f"], rtol=1e-14)
    np.testing.assert_allclose(word["more"][1], dense["more"][1], rtol=1e-14)


@pytest.mark.parametrize("batch_axis", [0, -1])
@pytest.mark.parametrize("n", [5, LEAST - 1, 40, 3000])
def test_values_serve_batches(n: Any, batch_axis: int) -> None:
    x = sd.vector("x", "n" if n < 100 else n)
    derivative = sd.jacobian(chain(x), x)
    kernel = sd.compile(derivative, sparse="values", batch_axis=batch_axis)
    points = RNG.random((2, 3, n))
    expected = np.stack([-20 * points[..., :-1], np.full((2, 3, n - 1), 10.0)], axis=-1).reshape(2, 3, -1)
    if batch_axis:
        points, expected = np.moveaxis(points, -1, 0), np.moveaxis(expected, -1, 0)
    np.testing.assert_array_equal(kernel(points), expected)
    out = np.empty(expected.shape)
    assert kernel(points, out=out) is out
    np.testing.assert_array_equal(out, expected)
    strided = np.empty((*expected.shape, 2))[..., 1]
    kernel(points, out=strided)
    np.testing.assert_array_equal(strided, expected)
    single = kernel(points.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-6)


@pytest.mark.parametrize("n", [6, 40])
def test_a_sum_over_the_batch_is_one_sample(n: Any) -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.hessian(rosenbrock(x), x), sparse="csr", reduce="sum")
    points = RNG.random((5, n))
    np.testing.assert_allclose(kernel(points).toarray(), sum(map(rosenbrock_hessian, points)), rtol=1e-12)


def test_a_batch_is_refused_by_name() -> None:
    x = sd.vector("x", "n")
    for shape in ("n", 4):
        x = sd.vector("x", shape)
        with pytest.raises(sd.ShapeError, match=r"x has shape \(3, 4\), a batch; out comes back as csr.*'values'"):
            sd.compile(sd.jacobian(chain(x), x), sparse="csr")(np.ones((3, 4)))


@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_out_takes_data_and_sparse_arrays(kind: str, n: Any) -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.hessian(rosenbrock(x), x), sparse=kind)
    first, second = RNG.random(n), RNG.random(n)
    result = kernel(first)
    kept = result.toarray()
    assert kernel(second, out=result) is result
    np.testing.assert_allclose(result.toarray(), rosenbrock_hessian(second), rtol=1e-13)
    assert kernel(first, out=result.data) is result.data
    np.testing.assert_array_equal(result.toarray(), kept)
    copied = result.copy()
    kernel(second, out=copied)
    np.testing.assert_allclose(copied.toarray(), rosenbrock_hessian(second), rtol=1e-13)
    with pytest.raises(sd.ShapeError, match="expected"):
        kernel(first, out=np.empty(3))
    with pytest.raises(sd.ArgumentError, match=r"positions|format"):
        kernel(first, out=scipy.sparse.eye_array(n, format=kind))
    with pytest.raises(sd.ArgumentError, match="expected the data"):
        kernel(first, out="data")


def test_out_may_overlap_the_inputs() -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.jacobian(chain(x), x), sparse="csr")
    point = RNG.random(30)
    expected = kernel(point).data
    data = np.empty(58)
    data[:30] = point
    kernel(data[:30], out=data)
    np.testing.assert_array_equal(data, expected)


def test_results_share_positions_that_cannot_be_written() -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.hessian(rosenbrock(x), x), sparse="csr")
    a, b = kernel(np.ones(40)), kernel(np.zeros(40))
    assert a.indices is b.indices
    with pytest.raises(ValueError, match="read-only"):
        a.indices[0] = 3
    np.testing.assert_allclose((a + b).toarray(), rosenbrock_hessian(np.ones(40)) + rosenbrock_hessian(np.zeros(40)))
    assert (a @ np.ones(40)).shape == (40,)


@pytest.mark.parametrize("triangle", ["lower", "upper"])
@pytest.mark.parametrize("n", [7, 40])
@pytest.mark.parametrize("kind", ["csr", "csc", "values"])
def test_a_triangle_of_a_hessian(triangle: str, n: Any, kind: str) -> None:
    x = sd.vector("x", "n")
    f = rosenbrock(x) + np.sum(x[:3]) ** 4  # a dense block as well, which is in no triangle
    part = np.tril if triangle == "lower" else np.triu
    for g in (rosenbrock(x), f):
        kernel = sd.compile(sd.hessian(g, x), sparse=kind, triangle=triangle)
        point = RNG.random(n)
        whole = part(sd.compile(sd.hessian(g, x))(point))
        result = kernel(point)
        if kind == "values":
            result = scipy.sparse.coo_array((result, kernel.pattern(n=n)), shape=(n, n))
        np.testing.assert_allclose(result.toarray(), whole, rtol=1e-13)
        assert result.nnz == np.count_nonzero(whole)


def test_several_letters_and_axes() -> None:
    G = sd.matrix("G", "n", "m")
    f = G[1:-1, 2:] + G[1:-1, :-2] * G[1:-1, 1:-1] + G[2:, 1:-1] + G[:-2, 1:-1]
    kernel = sd.compile(sd.jacobian(f, G), sparse="csr")
    dense = sd.compile(sd.jacobian(f, G))
    for n, m in ((5, 7), (20, 17), (16, 30)):
        point = RNG.random((n, m))
        expected = dense(point).reshape((n - 2) * (m - 2), n * m)
        np.testing.assert_allclose(kernel(point).toarray(), expected, rtol=1e-14)
        rows, _ = kernel.pattern(n=n, m=m)
        assert rows.size == 5 * (n - 2) * (m - 2)


def test_kronecker_products_store_their_blocks() -> None:
    U, V, T = sd.matrix("U", "n", 3), sd.matrix("V", "m", 3), sd.matrix("T", "n", "m")
    kernel = sd.compile(sd.hessian(np.sum((T - U @ V.T) ** 2), U), [U, V, T], sparse="csr")
    n, m = 30, 20
    v = RNG.random((m, 3))
    result = kernel(RNG.random((n, 3)), v, RNG.random((n, m)))
    assert result.nnz == 9 * n
    np.testing.assert_allclose(result.toarray(), np.kron(np.eye(n), 2 * v.T @ v), rtol=1e-13)


def test_lists_of_positions_add_up() -> None:
    n = 300
    edges = RNG.integers(0, n, (500, 2))
    x = sd.vector("x", n)
    f = np.sum((x[edges[:, 0]] - x[edges[:, 1]]) ** 4)
    point = RNG.random(n)
    expected = np.zeros((n, n))
    for a, b in edges:
        slope = 12 * (point[a] - point[b]) ** 2
        for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            expected[i, j] += sign * slope
    for kind in ("csr", "csc"):
        result = sd.compile(sd.hessian(f, x), sparse=kind)(point)
        np.testing.assert_allclose(result.toarray(), expected, rtol=1e-11, atol=1e-11)


def test_constant_matrices_of_few_numbers() -> None:
    n = 40
    stencil = np.diag(np.full(n, -2.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    u = sd.vector("u", n)
    kernel = sd.compile(sd.jacobian(stencil @ np.sin(u) + u * (1 - u), u), sparse="csr")
    point = RNG.random(n)
    result = kernel(point)
    assert result.nnz == 3 * n - 2
    np.testing.assert_allclose(result.toarray(), stencil * np.cos(point) + np.diag(1 - 2 * point), rtol=1e-13)


def test_pickles_compile_again() -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile({"H": sd.hessian(rosenbrock(x), x), "f": rosenbrock(x)}, sparse={"H": "csc"}, triangle="lower")
    again = pickle.loads(pickle.dumps(kernel))
    point = RNG.random(33)
    np.testing.assert_array_equal(again(point)["H"].toarray(), kernel(point)["H"].toarray())
    array = pickle.loads(pickle.dumps(sd.jacobian(x * x, x)))
    assert sd.compile(array, sparse="csr")(point).nnz == 33


def test_nothing_but_nonzeros_takes_memory() -> None:
    n = 100_000
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.hessian(rosenbrock(x), x), sparse="csr", backend="interpreter")
    kernel(np.ones(50))
    point = RNG.random(n)
    tracemalloc.start()
    try:
        result = kernel(point)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    stored = result.indices.nbytes + result.indptr.nbytes + result.data.nbytes
    assert peak < 8 * stored


@pytest.mark.parametrize("shape", ["n", 1_000_000])
def test_a_pattern_beyond_memory_is_refused_with_its_size(shape: Any) -> None:
    x = sd.vector("x", shape)
    tracemalloc.start()
    try:
        with pytest.raises(sd.LimitError, match=r"1,000,000,000,000 entries and takes 16,000 GB"):
            _whole_pattern(sd.hessian(np.sum(x) ** 3, x))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def _whole_pattern(derivative: Any) -> Any:
    return sd.compile(derivative, sparse="csr").pattern(n=1_000_000)


def test_an_empty_pattern() -> None:
    x = sd.vector("x", 5)
    kernel = sd.compile(sd.hessian(np.sum(x), x), sparse="csr")
    result = kernel(np.ones(5))
    assert result.nnz == 0
    assert result.shape == (5, 5)
    y = sd.vector("y", "n")
    assert sd.compile(sd.hessian(np.sum(y), y), [y], sparse="csc")(np.ones(20)).nnz == 0


def test_bad_words() -> None:
    x = sd.vector("x", "n")
    J, f = sd.jacobian(chain(x), x), chain(x)
    for sparse, match in (
        ("dia", "sparse='dia'; expected 'csr'"),
        (3, "sparse=3"),
        (("csr", "csr"), "sparse="),
        ({"a": "csr"}, "sparse="),
    ):
        with pytest.raises(sd.ArgumentError, match=match):
            sd.compile(J, sparse=sparse)
    with pytest.raises(sd.ArgumentError, match="names b; the outputs are J, f"):
        sd.compile({"J": J, "f": f}, sparse={"b": "csr"})
    with pytest.raises(sd.ArgumentError, match="names no result"):
        sd.compile({"J": J, "f": f}, sparse={})
    with pytest.raises(sd.ShapeError, match=r"names f, of shape \(n - 1,\)"):
        sd.compile({"J": J, "f": f}, sparse={"f": "csr"})
    with pytest.raises(sd.ShapeError, match="no result is a matrix"):
        sd.compile(f, sparse="csr")
    with pytest.raises(sd.ArgumentError, match="triangle='both'"):
        sd.compile(J, sparse="csr", triangle="both")
    with pytest.raises(sd.ArgumentError, match="triangle= is for sparse"):
        sd.compile(J, triangle="lower")
    with pytest.raises(sd.ShapeError, match="no sparse result is the Hessian"):
        sd.compile(J, sparse="csr", triangle="lower")


def test_bad_sizes() -> None:
    x = sd.vector("x", "n")
    kernel = sd.compile(sd.jacobian(chain(x), x), sparse="csr")
    for sizes in ({}, {"m": 3}, {"n": 3, "m": 4}, {"n": -1}, {"n": 2.5}, {"n": True}):
        with pytest.raises(sd.ArgumentError, match="pattern"):
            kernel.pattern(**sizes)
    with pytest.raises(sd.ArgumentError, match="pattern"):
        sd.compile("jacobian(x*x, x)", x=3, sparse="csr").pattern(n=3)


def test_spy_draws_the_pattern() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = sd.compile("jacobian(x[1:] * x[:-1], x)", x="n", sparse="csr").spy(n=30)
    assert len(axes.lines[0].get_xdata()) == 58
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "values"])
@pytest.mark.parametrize("n", [4, "n"])
def test_what_is_not_finite_is_told(form: str, n: int | str) -> None:
    y, s = sd.vector("y", n), sd.scalar("s")
    parts = [sd.jacobian(np.log(y[1:]) * y[:-1], y), 1 / s]
    kept = sd.compile(parts, [y, s], sparse=form)
    raising = sd.compile(parts, [y, s], sparse=form, nonfinite="raise")
    for _ in range(2):  # a call of shapes that came before goes another way
        assert not kept.explain(np.ones(4), 2.0)
        raising(np.ones(4), 2.0)
        found = kept.explain(np.zeros(4), 2.0)
        assert str(found).startswith("log(y[1:]) is -inf at [0], of\n  y[1:] = 0.0")
        with pytest.raises(sd.NonfiniteError, match=re.escape(str(found))):
            raising(np.zeros(4), 2.0)
        found = kept.explain(np.ones(4), 0.0)  # an output behind one that is several arrays of numbers
        assert str(found).startswith("1 / s is inf")
        with pytest.raises(sd.NonfiniteError, match=re.escape(str(found))):
            raising(np.ones(4), 0.0)


@pytest.mark.parametrize("form", [None, "csr", "values"])
def test_explanations_read_positions(form: str | None) -> None:
    x, i = sd.vector("x", "m"), sd.indices("i", "n")
    f = np.log(x)[i]
    k = sd.compile(f if form is None else sd.jacobian(f, x), [x, i], **({} if form is None else {"sparse": form}))
    assert not k.explain(np.ones(5), [3, 1, 3])
    assert "x" in str(k.explain(np.zeros(5), [3, 1, 3]))
    with pytest.raises(sd.ShapeError, match=r"i\[2\] is 7"):
        k.explain(np.ones(5), [3, 1, 7])


def test_out_again_is_the_same_call() -> None:
    """What a kernel remembers of its last result is checked again: other shapes, arrays and types go the long way."""
    x = sd.vector("x", 40)
    k = sd.compile(sd.hessian(np.sum(x[1:] ** 2 * x[:-1]), x), sparse="csr")
    rng = np.random.default_rng(0)
    result = k(rng.normal(size=40))
    for _ in range(4):
        numbers = rng.normal(size=40)
        assert k(numbers, out=result) is result
        np.testing.assert_array_equal(result.toarray(), k(numbers).toarray())
    with pytest.raises(ShapeError, match="a batch"):
        k(np.ones((2, 40)), out=result)
    with pytest.raises(ShapeError, match="expected"):
        k(np.ones(39), out=result)
    with pytest.raises(ArgumentError, match="other positions"):
        k(numbers, out=sd.compile(sd.jacobian(np.roll(x, 5) * x, x), sparse="csr")(numbers))
    other = result.copy()
    assert k(numbers + 1, out=other) is other
    np.testing.assert_array_equal(other.toarray(), k(numbers + 1).toarray())
    result.data = result.data[:-1]
    with pytest.raises(ShapeError):
        k(numbers, out=result)
    other.data.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        k(numbers, out=other)
    overlapping = k(numbers)
    overlapping.data[:40] = numbers
    k(overlapping.data[:40], out=overlapping)
    np.testing.assert_array_equal(overlapping.toarray(), k(numbers).toarray())


def test_numbers_beside_arrays_are_served_as_arrays_are() -> None:
    """Calls with Python's numbers among the arguments take the way that calls of known shapes take."""
    f = "D*(x[2:] - 2*x[1:-1] + x[:-2])*h + x[1:-1]**2"
    kernel = sd.compile(sd.jacobian(f, "x", x="n", D=(), h=()), sparse="csr")
    dense = sd.compile(sd.jacobian(f, "x", x="n", D=(), h=()))
    x = np.arange(1.0, 9.0)
    for D, h in ((0.5, 3.0), (2, 3.0), (0.25, np.array(2.0)), (True, 1.0), (np.float32(0.5), 3.0)):
        for _ in range(2):
            np.testing.assert_allclose(kernel(x, D, h).toarray(), dense(x, D, h))
    assert kind_of([x, 0.5, 3]) == ((8,), (), ())
    assert kind_of([x, True]) is None
    with pytest.raises(sd.ShapeError, match="D has shape"):
        kernel(x, [1.0, 2.0], 3.0)


def test_a_pattern_that_is_put_in_order_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where boxes do not hold, the memory of a list of all elements counts, and nothing of the pattern is made."""
    kernel = sd.compile(sd.jacobian("outer(x, x)", "x", x="n"), sparse="values")
    assert kernel.pattern(n=3)[0].size == 15
    monkeypatch.setattr("symdiff.lowering.sparse.entries._memory", lambda: 25 * 10**9)
    tracemalloc.start()
    try:
        with pytest.raises(sd.LimitError, match=r"has up to [\d,]+ entries and takes \d+ GB"):
            kernel.pattern(n=20_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    chained = sd.compile(sd.jacobian("x[1:] * x[:-1]", "x", x="n"), sparse="values")
    assert chained.pattern(n=6_000_000)[0].size == 11_999_998


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_data_array_is_filled_at_every_call(kind: str) -> None:
    """The first call goes a longer way than later ones, and each looks at its array anew."""
    kernel = sd.compile("jacobian(x**2 * y, x)", x=4, y=4, sparse=kind)
    x, y = np.arange(1.0, 5.0), np.ones(4)
    out = np.empty(4)
    for k in range(1, 4):
        out[...] = -1.0
        assert kernel(k * x, y, out=out) is out
        np.testing.assert_array_equal(out, 2 * k * x)
    for wrong in (np.empty(5), np.empty((4, 1)), np.empty(4, np.int64), np.empty(0)):
        with pytest.raises(sd.SymdiffError):
            kernel(x, y, out=wrong)
    whole = kernel(x, y)
    assert kernel(2 * x, y, out=whole) is whole
    np.testing.assert_array_equal(whole.toarray(), np.diag(4 * x))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("kind", "formula"), [(kind, "jacobian(x[1:] * x[:-1], x)") for kind in ("csr", "csc", "coo")]
)
def test_zeros_of_results_are_eliminated_in_place_and_other_results_stay(kind: str, formula: str, turned: bool) -> None:
    kernel = sd.compile(formula, x="n", sparse=kind)
    x = np.array([0.0, 0.0, 2.0, 3.0])
    kept, changed = kernel(x), kernel(x)
    expected = kept.toarray()
    changed = changed.T if turned else changed
    changed.eliminate_zeros()
    np.testing.assert_array_equal(changed.toarray(), expected.T if turned else expected)
    assert changed.nnz < kept.nnz
    for one in (kept, kernel(x), pickle.loads(pickle.dumps(kept))):
        np.testing.assert_array_equal(one.toarray(), expected)
        one.resize(2, 2)
        np.testing.assert_array_equal(one.toarray(), expected[:2, :2])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "values"])
@pytest.mark.parametrize("n", [2, 3, 20, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_that_are_the_same_in_each_call_are_copied(kind: Any, n: int, dtype: Any) -> None:
    x = sd.vector("x", n * n)
    u = x.reshape(n, n)
    p = np.pad(u, 1)
    laplacian = 4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]
    kernel = sd.compile(sd.jacobian((laplacian - 0.1 * np.exp(u)).reshape(-1), x), [x], sparse=kind)
    for _ in range(3):
        point = RNG.normal(size=n * n).astype(dtype)
        second = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        right = np.kron(second, np.eye(n)) + np.kron(np.eye(n), second) - np.diag(0.1 * np.exp(point.astype(float)))
        found = kernel(point)
        rows, columns = kernel.pattern()
        values = found if kind == "values" else found.tocoo().data
        assert values.dtype == dtype
        near = 1e-14 if dtype == np.float64 else 1e-6
        if kind != "values":
            np.testing.assert_allclose(found.toarray(), right, rtol=near, atol=near)
        np.testing.assert_allclose(np.sort(values), np.sort(right[rows, columns]), rtol=near, atol=near)
        out = np.empty(values.shape, dtype)
        kernel(point, out=out)
        assert np.array_equal(out, found if kind == "values" else found.data)
    if kind == "values":
        several = RNG.normal(size=(5, n * n))
        assert np.array_equal(kernel(several), [kernel(one) for one in several])
        strided = np.empty((5, 2 * out.size))[:, ::2]
        kernel(several, out=strided)
        assert np.array_equal(strided, kernel(several))


def test_entries_that_are_a_sum_of_what_is_the_same_and_what_is_not() -> None:
    n = 2000
    x = sd.vector("x", n)
    energy = np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2) + np.sum(x**4)
    kernel = sd.compile(sd.hessian(energy, x), [x], sparse="csr")
    point = RNG.normal(size=n)
    d = np.diff(np.eye(n), 2, axis=0)
    np.testing.assert_allclose(kernel(point).toarray(), 2 * d.T @ d + np.diag(12 * point**2), rtol=1e-14, atol=1e-14)
    constant = sd.compile(sd.hessian(np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2), x), [x], sparse="csr")
    assert np.array_equal(constant(point).toarray(), 2 * d.T @ d)


# ---------------------------------------------------------------------------- sparse sizes
# Derivatives whose dense form no machine has room for: sparse ones are computed, dense ones refused.


TEXT = "x[1:] - x[:-1]**2"


@pytest.mark.parametrize("n", [40_000, 1_000_000])
def test_a_large_jacobian_is_computed_by_its_nonzeros(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_memory", lambda: 8_000_000_000)
    x = np.linspace(0.0, 1.0, n)
    kernels: list[Any] = [
        sd.compile(sd.jacobian(TEXT, "x", x=n), sparse="csr"),
        sd.compile(f"jacobian({TEXT}, x)", x=n, sparse="csr"),
        sd.objective(TEXT, "x", x=n, sparse="csr").jac,
    ]
    for kernel in kernels:
        found = kernel(x)
        assert found.shape == (n - 1, n)
        assert found.nnz == 2 * (n - 1)
        np.testing.assert_array_equal(found @ np.ones(n), 1 - 2 * x[:-1])


@pytest.mark.parametrize("n", [40_000, 1_000_000])
def test_the_dense_form_is_refused_with_what_to_do(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_memory", lambda: 8_000_000_000)
    J = sd.jacobian(TEXT, "x", x=n)
    assert J.shape == (n - 1, n)
    for act in (lambda: sd.compile(J), lambda: sd.objective(TEXT, "x", x=n).jac(np.ones(n))):
        with pytest.raises(sd.LimitError, match=r"GB in each call.*pass sparse='csr'"):
            act()
    with pytest.raises(sd.LimitError, match="elements, the limit"):
        sd.jacobian(TEXT, "x", x=n, budget="strict")
    with pytest.raises(sd.LimitError, match="elements, the limit"):
        sd.compile(f"jacobian({TEXT}, x) * 2", x=n, sparse="csr")


def test_what_fits_is_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_memory", lambda: 8_000_000_000)
    assert sd.compile(sd.jacobian(TEXT, "x", x=3))([1.0, 2.0, 3.0]).tolist() == [[-2, 1, 0], [0, -4, 1]]
