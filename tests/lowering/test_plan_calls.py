"""Calls of plans give what NumPy gives, whatever the sizes, strides, batches and threads."""

from __future__ import annotations

import math
import os
import sys
import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import linalg

import symdiff as sd
from symdiff.calculus.passes import settle
from symdiff.errors import SingularMatrixError
from symdiff.lowering.plan.calls import plan_call
from symdiff.lowering.plan.plan import programs_of
from symdiff.lowering.plan.steps import LoopStep
from symdiff.runtime.runners.programs import target_of
from tests.support.orders import in_order
from tests.support.plan_formulas import CHAIN, EACH, near, numbers

Array = npt.NDArray[Any]


@EACH
@pytest.mark.parametrize("batch", [(), (0,), (1,), (7,), (3, 5)])
def test_batches(text: str, shapes: dict[str, Any], batch: tuple[int, ...]) -> None:
    kernel, reference = (sd.compile(text, shapes=shapes, backend=b) for b in ("auto", "numpy"))
    assert kernel.stats["steps"] > 0
    arrays = numbers(shapes, batch)
    near(kernel(*arrays), reference(*arrays))
    alone = numbers(shapes)
    for k in range(len(arrays)):  # some with batch axes, some without
        mixed = [*alone[:k], *arrays[k : k + 1], *alone[k + 1 :]]
        near(kernel(*mixed), reference(*mixed))
    if not math.prod(batch):
        return
    got = kernel(*arrays)
    for index in np.ndindex(batch):  # a sample's bits do not depend on the batch it is in
        assert np.array_equal(kernel(*[array[index] for array in arrays]), got[index])


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("hessian(sum(y * exp(X @ t)), t)", {"X": ("n", 3), "y": "n", "t": 3}),
        ("hessian(log(sum(exp(X @ t))), t)", {"X": ("n", 3), "t": 3}),
        ("hessian(sum(log(1 + (X @ t - y)**2)), t)", {"X": ("n", 3), "y": "n", "t": 3}),
        ("hessian(sum(exp(-sum((X - t)**2, axis=1))), t)", {"X": ("n", 3), "t": 3}),
        ("X.T @ (y[:, None] * X) / s", {"X": ("n", 3), "y": "n", "s": ()}),
        ("(X * y[:, None]).T @ X * s", {"X": ("n", 3), "y": "n", "s": ()}),
        ("X[:, :, None] * X[:, None, :] * (y * s)[:, None, None]", {"X": ("n", 3), "y": "n", "s": ()}),
        ("x[:, None] * (x * s) * exp(y)[:, None, None]", {"x": 3, "y": "n", "s": ()}),
    ],
)
@pytest.mark.parametrize("batch", [(2,), (3, 5)])
def test_symmetric_elements_of_a_batch(text: str, shapes: dict[str, Any], batch: tuple[int, ...]) -> None:
    """What is symmetric is computed once for both halves, of a sample in a batch as of one alone."""
    kernel = sd.compile(text, shapes=shapes)
    assert kernel.stats["steps"] > 0
    arrays = numbers(shapes, batch)
    got = kernel(*arrays)
    for index in np.ndindex(batch):
        np.testing.assert_array_equal(kernel(*[array[index] for array in arrays]), got[index])


@EACH
@pytest.mark.parametrize("reduce", [None, "sum"])
def test_columns_and_sums_over_the_batch(text: str, shapes: dict[str, Any], reduce: str | None) -> None:
    options: dict[str, Any] = {"batch_axis": -1, "reduce": reduce, "shapes": shapes}
    arrays = [np.moveaxis(array, 0, -1).copy() for array in numbers(shapes, (9,))]
    near(sd.compile(text, **options)(*arrays), sd.compile(text, **options, backend="numpy")(*arrays))


@EACH
def test_strides_types_and_places(text: str, shapes: dict[str, Any]) -> None:
    kernel = sd.compile(text, shapes=shapes)
    arrays = numbers(shapes)
    wanted = kernel(*arrays)

    def spaced(array: Array) -> Array:
        wide = np.zeros([2 * n for n in array.shape])
        view = wide[(*(slice(None, None, -2) for _ in array.shape), ...)]
        view[...] = array
        return view

    def crooked(array: Array) -> Array:
        memory = np.zeros(8 * array.size + 1, np.uint8)
        view = memory[1:].view(np.float64).reshape(array.shape)
        view[...] = array
        return view

    for changed in (spaced, crooked, lambda a: np.array(a, order="F"), lambda a: a.astype(">f8")):
        assert np.array_equal(kernel(*[changed(array) for array in arrays]), wanted)
    single = kernel(*[array.astype(np.float32) for array in arrays])
    assert single.dtype == np.float32
    near(single, wanted, 2e-3)
    if np.ndim(wanted):
        out = np.full([3 * n for n in wanted.shape], np.nan)
        view = out[tuple(slice(None, None, 3) for _ in wanted.shape)]
        assert kernel(*arrays, out=view) is view
        assert np.array_equal(view, wanted)
        assert np.isnan(out).sum() == out.size - view.size


@pytest.mark.parametrize("text", ["x * sin(y) + exp(-x)", "sum(exp(y) * x[1:]) + sum(y**2) * x", "sum(sin(x * y)) * x"])
def test_float32_beside_float64_is_computed_in_float64(text: str) -> None:
    kernel = sd.compile(text, x="n", y=(), backend="native")
    x, y = np.random.default_rng(3).random((5, 40)), np.array([0.1, 0.2, 0.3, 0.4, 0.5], np.float32)
    pairs: list[tuple[Any, Any]] = [(x, y), (x.astype(np.float32), y.astype(float))]
    for parts in pairs:
        double = [part.astype(float) for part in parts]
        np.testing.assert_array_equal(kernel(*parts), kernel(*double))
        np.testing.assert_array_equal(kernel(parts[0][0], parts[1][0]), kernel(double[0][0], double[1][0]))


def test_in_place() -> None:
    x = np.linspace(0.5, 1.5, 1000)
    kernel = sd.compile(f"gradient({CHAIN}, x)", x="n")
    wanted = kernel(x)
    kernel(x, out=x)
    assert np.array_equal(x, wanted)


@EACH
def test_the_same_bits_with_any_threads_and_natively(text: str, shapes: dict[str, Any]) -> None:
    arrays = numbers(shapes, n=801 if text.startswith("hessian(sum(exp") else 30_001)
    insist = "tanh(W" not in text and "log(sum" not in text  # which NumPy has a part in
    kernels = [sd.compile(text, shapes=shapes, backend="auto", threads=t) for t in (1, 2, 3)]
    if insist:
        kernels += [sd.compile(text, shapes=shapes, backend=b) for b in ("native", "interpreter")]
    first = kernels[0](*arrays)
    for kernel in kernels:
        assert np.array_equal(kernel(*arrays), first)
        assert kernel.wait()
        assert np.array_equal(kernel(*arrays), first)
        assert kernel.backend == ("interpreter" if kernel is kernels[-1] and insist else "c")
        assert not kernel.stats.get("building")
    assert "long sd_kernel" in kernels[0].source() or "long " in kernels[0].source()


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("count", [33, 64, 65, 1024, 1025, 2100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_samples_together_have_the_bits_of_sums_one_by_one(count: int, dtype: type, backend: str) -> None:
    kernel = sd.compile("sum(X * y, axis=0)", X=("n", 2), y=("n", 1), backend=backend)
    rng = np.random.default_rng(0)
    X: Array = rng.normal(size=(5, count, 2)).astype(dtype)
    y: Array = rng.normal(size=(5, count, 1)).astype(dtype)
    X[0], y[1] = -0.0, -1.0
    X[2, 0] = np.inf
    together = kernel(X, y)
    lanes = target_of("default").lanes * (2 if dtype is np.float32 else 1)
    for k in range(5):
        assert np.array_equal(kernel(X[k], y[k]).view(np.uint8), together[k].view(np.uint8))
        assert np.array_equal(in_order(X[k] * y[k], lanes).astype(dtype), together[k])
    assert np.array_equal(kernel(X[::-1], y[3])[::-1], [kernel(x, y[3]) for x in X])  # what all samples share


def test_a_batch_of_sums_is_computed_without_arrays_of_its_elements() -> None:
    kernel = sd.compile("sum((x - m)**2)", x="n", m=(), backend="native")
    x, m = np.ones((3000, 100)), np.zeros(3000)
    kernel(x, m)
    tracemalloc.start()
    try:
        kernel(x, m)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes / 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_the_sample_that_has_a_singular_matrix_in_a_sum(backend: str) -> None:
    kernel = sd.compile("sum(inv(X)[:, 0, 0] * y)", X=("n", 2, 2), y="n", backend=backend)
    assert kernel.stats["steps"] == 1
    for n in (3, 19, 1040):
        X, y = np.tile(np.eye(2), (4, n, 1, 1)), np.ones((4, n))
        near(kernel(X, y), np.full(4, n))
        for number, at in ((3, 0), (2, n - 1), (1, n // 2)):
            X[number, at] = 0.0
            with pytest.raises(SingularMatrixError) as caught:
                kernel(X, y)
            assert caught.value.index == (number,)


def test_long_sums_are_accurate() -> None:
    x = np.random.default_rng(0).normal(size=10**6 + 7) + 1e4
    kernel = sd.compile("sum(x)", x="n")
    exact = math.fsum(x)
    assert abs(kernel(x) - exact) <= 4 * np.spacing(exact)
    single = kernel(x.astype(np.float32))
    assert abs(single - math.fsum(x.astype(np.float32).tolist())) <= 4 * np.spacing(np.float32(exact))


@pytest.mark.parametrize("run", [63, 64, 100, 257])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [False, True])
def test_batches_whose_axes_have_strides_of_their_own(run: int, dtype: type, columns: bool) -> None:
    """Arrays that lack one of the batch's axes are read where they lie, a run along the last axis at a time."""
    kernel = sd.compile("[p @ q + s, p[0] - s]", p=3, q=3, s=(), backend="native", batch_axis=-1 if columns else 0)
    rng = np.random.default_rng(2)
    shapes = ((5, 1, run, 3), (4, 1, 3), (5, 4, run))
    arrays: list[Array] = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    p, q, s = arrays
    wide: Array = np.full((5, 4, 2 * run, 2), np.nan, dtype)
    target = wide[:, :, ::2]
    wanted = np.stack([(p * q).sum(-1) + s, p[..., 0] - s], -1)

    def put(array: Array, own: int) -> Array:
        return np.moveaxis(array, -1, 0) if columns and own else array

    got = kernel(put(p, 1), put(q, 1), s, out=put(target, 1), inputs=None)
    assert np.shares_memory(got, wide)
    near(target, wanted, 1e-5 if dtype is np.float32 else 1e-12)
    assert np.isnan(wide[:, :, 1::2]).all()
    for threads in (2, 3):
        many = sd.compile("exp(p @ q + s)", p=3, q=3, s=(), threads=threads, backend="native")
        alone = sd.compile("exp(p @ q + s)", p=3, q=3, s=(), backend="native")
        long = np.tile(s, (60, 1, 1))
        assert np.array_equal(many(p[0], q, long), alone(p[0], q, long))


def test_a_kernel_tells_the_steps_of_its_plans() -> None:
    W, x = sd.matrix("W", 64, 64), sd.vector("x", 64)
    kernel = sd.compile(np.tanh(W @ x), [W, x], batch=[x])
    assert kernel.plan.startswith("a batch of x:\n  step 0: product of W, x over i0<(batch), i1<64, i2<64 -> r0; ")
    assert kernel.plan.count(" a sample; ") == 2
    a, b = sd.scalar("a"), sd.scalar("b")
    shared = sd.compile(np.exp(a) * b)
    assert shared.plan == "every sample: one program of 2 operations"
    shared(1.0, np.ones(9))
    assert "a batch of b:" in shared.plan
    assert sd.compile(a * b, backend="numpy").plan == "array operations: numpy"


# ---------------------------------------------------------------------------- plan threads
# Threads share a single large product, and no bit depends on how many there are.


#: Products without tiles: by rows, by columns, one triangle, of a vector, of several places, of two vectors.
PRODUCTS = [
    ("ab,bc->ac", [(20, 450), (450, 610)]),
    ("ab,bc->ac", [(611, 450), (450, 20)]),
    ("ba,bc->ca", [(450, 420), (450, 430)]),
    ("ab,cb->ac", [(610, 300)]),
    ("ab,b->a", [(1210, 1300), (1300,)]),
    ("pab,pbc->pac", [(9, 70, 210), (9, 210, 90)]),
    ("p,p->", [(1_600_000,), (1_600_000,)]),
]


def product(subscripts: str, shapes: list[tuple[int, ...]], threads: int) -> sd.Kernel:
    symbols = [sd.array(f"x{k}", shape) for k, shape in enumerate(shapes)]
    formula = np.einsum(subscripts, *(symbols * 2)[:2])
    kernel: sd.Kernel = sd.compile(formula, symbols, threads=threads, backend="interpreter")
    return kernel


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("subscripts", "shapes"), PRODUCTS)
def test_a_product_has_the_same_bits_with_any_threads(
    subscripts: str, shapes: list[tuple[int, ...]], order: Any
) -> None:
    rng = np.random.default_rng(3)
    numbers = [rng.normal(size=shape) for shape in shapes]
    kernels = [product(subscripts, shapes, threads) for threads in (1, 2, 3, 64)]
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 2e-2)):
        given = [np.asarray(array, dtype, order=order) for array in numbers]
        first, *others = [kernel(*given) for kernel in kernels]
        wanted = np.einsum(subscripts, *([array.astype(float) for array in given] * 2)[:2], optimize=True)
        np.testing.assert_allclose(first, wanted, rtol=tolerance, atol=tolerance)
        for other in others:
            np.testing.assert_array_equal(other, first)
        if len(shapes) == 1:
            np.testing.assert_array_equal(first, first.T)


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads by /proc")
def test_a_large_product_takes_threads_and_a_small_one_none() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/task"))

    rng = np.random.default_rng(4)
    for size, more in ((60, False), (400, True)):
        kernel = sd.compile("A @ B @ C", A=(size, size), B=(size, size), C=(size, size), threads=3)
        kernel.wait()
        arrays = [rng.normal(size=(size, size)) for _ in range(3)]
        kernel(*arrays)  # SciPy's threads, if any, are there from here on
        pid = os.fork()  # before a fork the threads that wait are sent away
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        before = count()
        kernel(*arrays)
        assert (count() > before) == more


def test_threads_of_a_product_keep_what_is_not_finite_in_its_row() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(size=(600, 300)), rng.normal(size=(300, 20))
    first[17, 4] = np.nan
    kernel = product("ab,bc->ac", [(600, 300), (300, 20)], 3)
    result = kernel(first, second)
    assert np.isnan(result[17]).all()
    assert np.isfinite(np.delete(result, 17, 0)).all()


@pytest.mark.parametrize("item", [8, 4])
def test_steps_of_one_sample_broadcast_what_they_read(item: int) -> None:
    """Lanes hold the same numbers there; blocks of rows would be read eight times, and transposed."""
    A = sd.matrix("A", 6, 6)
    outputs = [sd.linalg.expm(A), sd.gradient(np.sum(sd.linalg.expm(A) ** 2), A)]
    k = sd.compile(outputs, backend="native")
    plan = plan_call([A.node], settle([one.node for one in outputs], []), [False], 20_000)
    alone = [piece for step in plan.steps if isinstance(step, LoopStep) and not step.loops for piece in step.pieces]
    assert alone
    shared = {id(program): shared for program, _, shared, _, _ in programs_of(plan)}
    assert all(shared[id(piece.program)] == (True,) * len(piece.ports) for piece in alone)
    point = (0.3 * np.random.default_rng(6).normal(size=(6, 6))).astype(f"f{item}")
    near: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12} if item == 8 else {"rtol": 1e-4, "atol": 1e-4}
    value, slope = k(point)
    np.testing.assert_allclose(value, linalg.expm(point.astype(float)), **near)
    direction = np.cos(np.arange(36.0)).reshape(6, 6)
    change = linalg.expm_frechet(point.astype(float), direction, compute_expm=False)
    np.testing.assert_allclose(np.sum(slope * direction), 2.0 * np.sum(value * change), **near)
    assert np.array_equal(sd.compile(outputs, backend="interpreter")(point), [value, slope])
