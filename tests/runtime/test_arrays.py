"""Every way an array can lie in memory, with any number of threads: the right numbers, or a refusal by name."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import threadpoolctl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symdiff as sd
from symdiff._kernels.unit import prefers_columns
from symdiff.errors import ArgumentError, DtypeError, ShapeError, SingularMatrixError
from symdiff.runtime.calls import resources
from symdiff.runtime.kernel import Kernel
from symdiff.runtime.runners.programs import NativeRunner
from symdiff.runtime.runners.variants import Variant

Array = npt.NDArray[Any]

BATCHES = [(), (0,), (1,), (7,), (1000,), (3, 5)]
SHAPES = {"A": (2, 3), "x": (3,), "s": ()}


def build(**options: Any) -> Kernel:
    """Two outputs, of five and of one element, from inputs of six, three and one."""
    A, x, s = sd.matrix("A", 2, 3), sd.vector("x", 3), sd.scalar("s")
    row = np.concatenate([A @ x * np.sin(s), x / (1 + s * s)])
    kernel: Kernel = sd.compile([row, np.exp(-s) + A[1, 2]], [A, x, s], backend="native", **options)
    return kernel


KERNELS = {axis: build(batch_axis=axis) for axis in (0, -1)}


def numbers(batch: tuple[int, ...], shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-3, 4, (*batch, *shape)).astype(float)


def wanted(arguments: list[Array], batches: list[tuple[int, ...]], dtype: Any = float) -> list[Array]:
    """Compute sample by sample, each a call of its own with neighbouring numbers."""
    batch = np.broadcast_shapes(*batches)
    full = [np.broadcast_to(a, batch + shape) for a, shape in zip(arguments, SHAPES.values(), strict=True)]
    results = [np.empty((*batch, 5), dtype), np.empty(batch, dtype)]
    for index in np.ndindex(batch):
        row, last = KERNELS[0](*(np.array(a[index], dtype, order="C") for a in full))
        results[0][index], results[1][index] = row, last
    return results


def as_columns(a: Array, own: int) -> Array:
    """Move batch axes behind a sample's own, which are the last ones."""
    lead = a.ndim - own
    return a.transpose(*range(lead, a.ndim), *range(lead))


def strided(a: Array) -> Array:
    wide = np.full([2 * n + 1 for n in a.shape], 99.0, a.dtype)
    view = wide[(..., *(slice(1, 2 * n, 2) for n in a.shape))]
    view[...] = a
    return view


def reversed_axes(a: Array) -> Array:
    turn: tuple[Any, ...] = (..., *(slice(None, None, -1) for _ in a.shape))
    turned: Array = a[turn].copy()[turn]
    return turned


def unaligned(a: Array) -> Array:
    raw = np.zeros(a.nbytes + 1, np.uint8)
    view = raw[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def read_only(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


def records(a: Array) -> Array:
    """A field of a structured array: samples lie an odd number of bytes apart."""
    held = np.zeros(a.shape, [("before", "i1"), ("value", a.dtype), ("after", "i2")])
    held["value"] = a
    return held["value"]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": lambda a: a.copy(),
    "Fortran": lambda a: np.array(a, order="F"),
    "strided": strided,
    "reversed": reversed_axes,
    "unaligned": unaligned,
    "read-only": read_only,
    "records": records,
    "foreign bytes": lambda a: a.astype(a.dtype.newbyteorder()),
}
DTYPES = {"float64": float, "integer": np.int32, "bool": bool, "unsigned": np.uint8}


def same_bits(got: Array, want: Array, note: str = "") -> None:
    assert got.shape == want.shape, note
    assert got.dtype == want.dtype, note
    kind = np.int64 if want.dtype == np.float64 else np.int32
    np.testing.assert_array_equal(
        np.ascontiguousarray(got).view(kind), np.ascontiguousarray(want).view(kind), err_msg=note
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_sample_of_many_results(dtype: type) -> None:
    # Blocks of four and eight: of results, of constants, of both, and what is left over; at any address.
    x = sd.vector("x", 22)
    kernel = sd.compile(sd.jacobian(x[::-1] * np.sin(x), x), [x], backend="native")
    point: Array = np.linspace(0.1, 1.0, 22, dtype=dtype)
    kernel(np.tile(point, (2000, 1)))
    want = kernel(np.tile(point, (3, 1)))[1]
    same_bits(kernel(point), want)
    for start in range(8):
        held: Array = np.full(22 * 22 + 16, 7.0, dtype)
        out = held[start : start + 22 * 22].reshape(22, 22)
        kernel(point, out=out)
        same_bits(out, want)
        assert np.all(held[:start] == 7.0)
        assert np.all(held[start + 22 * 22 :] == 7.0)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_every_layout_of_every_batch(batch: tuple[int, ...], layout: str, axis: int) -> None:
    kernel, lay = KERNELS[axis], LAYOUTS[layout]
    for with_batch in itertools.product([True, False], repeat=3):
        batches = [batch if own else () for own in with_batch]
        arrays = [numbers(b, shape, k) for k, (b, shape) in enumerate(zip(batches, SHAPES.values(), strict=True))]
        want = wanted(arrays, batches)
        if axis == -1:
            arrays = [as_columns(a, len(shape)) for a, shape in zip(arrays, SHAPES.values(), strict=True)]
            want = [as_columns(w, own) for w, own in zip(want, (1, 0), strict=True)]
        note = f"{layout}, batches {batches}"
        given = [lay(a) for a in arrays]
        for got, expected in zip(kernel(*given), want, strict=True):
            same_bits(np.asarray(got), expected, note)
        if layout == "read-only":
            continue
        out = [lay(np.full(w.shape, 7.0)) for w in want]
        if layout == "foreign bytes":
            with pytest.raises(DtypeError, match="expected float64"):
                kernel(*arrays, out=out)
            continue
        assert kernel(*arrays, out=out) is out
        for got, expected in zip(out, want, strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=note)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", DTYPES)
def test_every_kind_of_number(name: str, axis: int) -> None:
    for batch in BATCHES:
        arrays = [numbers(batch, shape, k).astype(DTYPES[name]) for k, shape in enumerate(SHAPES.values())]
        want = wanted([a.astype(float) for a in arrays], [batch] * 3)
        if axis == -1:
            arrays = [as_columns(a, len(shape)) for a, shape in zip(arrays, SHAPES.values(), strict=True)]
            want = [as_columns(w, own) for w, own in zip(want, (1, 0), strict=True)]
        for got, expected in zip(KERNELS[axis](*arrays), want, strict=True):
            same_bits(np.asarray(got), expected, f"{name}, {batch}")


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_float32_has_the_same_bits_everywhere(layout: str, axis: int) -> None:
    for batch in BATCHES:
        arrays = [numbers(batch, shape, k).astype(np.float32) for k, shape in enumerate(SHAPES.values())]
        want = wanted(arrays, [batch] * 3, np.float32)
        if axis == -1:
            arrays = [as_columns(a, len(shape)) for a, shape in zip(arrays, SHAPES.values(), strict=True)]
            want = [as_columns(w, own) for w, own in zip(want, (1, 0), strict=True)]
        lay = LAYOUTS[layout]
        for got, expected in zip(KERNELS[axis](*map(lay, arrays)), want, strict=True):
            same_bits(np.asarray(got), expected, f"{layout}, {batch}")
        wide = [np.zeros(w.shape) for w in want]
        KERNELS[axis](*arrays, out=wide)
        for got, expected in zip(wide, want, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("count", [3, 8, 1003, 5000])
def test_float32_matrices_are_converted_however_they_lie(backend: str, count: int) -> None:
    kernel = sd.compile("inv(A) * s", A=(3, 3), s=(), backend=backend)
    A = (np.random.default_rng(1).uniform(size=(count, 3, 3)) + 3 * np.eye(3)).astype(np.float32)
    s = np.linspace(1, 2, count, dtype=np.float32)
    want = kernel(A.astype(float), s.astype(float)).astype(np.float32)
    gaps = np.full((count, 4, 5), np.nan, np.float32)
    gaps[:, 1:, 1:4] = A
    apart = np.full((count, 11), np.nan, np.float32)
    apart[:, :9] = A.reshape(count, 9)
    columns = np.ascontiguousarray(np.moveaxis(A, 0, -1))
    for way in (A, np.moveaxis(columns, -1, 0), gaps[:, 1:, 1:4], apart[:, :9].reshape(count, 3, 3)):
        np.testing.assert_array_equal(kernel(way, s), want)
        out = np.moveaxis(np.empty((3, 3, count), np.float32), -1, 0)
        np.testing.assert_array_equal(kernel(way, s, out=out), want)
    np.testing.assert_array_equal(kernel(A.astype(float), s), kernel(A.astype(float), s.astype(float)))


@pytest.mark.rows(1)
@pytest.mark.parametrize("backend", ["native", "interpreter", "auto"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_float32_matrices_have_the_rounded_numbers_of_float64(n: int, backend: str) -> None:
    x = sd.matrix("A", n, n)
    vector, s = sd.vector("b", n), sd.scalar("s")
    zeros = sd.concatenate([np.zeros(40), sd.inv(x)[0], np.zeros(5), s[None]])
    results = [sd.inv(x), sd.solve(x, vector), sd.det(x) * s, zeros]
    kernel = sd.compile(results, [x, vector, s], backend=backend)
    rng = np.random.default_rng(n)
    for count in (1, 5, 8, 1003):
        A = (rng.normal(size=(count, n, n)) + 2 * n * np.eye(n)).astype(np.float32)
        b, t = rng.normal(size=(count, n)).astype(np.float32), rng.normal(size=count).astype(np.float32)
        want = [np.float32(w) for w in kernel(A.astype(float), b.astype(float), t.astype(float))]
        columns = [np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0) for a in (A, b, t)]
        for _ in range(2):  # by the interpreter and then by native code
            for arrays in ((A, b, t), columns):
                for got, expected in zip(kernel(*arrays), want, strict=True):
                    assert got.dtype == np.float32
                    np.testing.assert_array_equal(got, expected)
            kernel.wait()
        if count > 1:
            apart = np.zeros((count, 3), np.float32)
            apart[:, 1] = t
            for got, expected in zip(kernel(A, b, apart[:, 1]), want, strict=True):
                np.testing.assert_array_equal(got, expected)
    total = sd.compile(results, [x, vector, s], backend=backend, reduce="sum")
    for got, other in zip(total(A, b, t), total(A.astype(float), b.astype(float), t.astype(float)), strict=True):
        np.testing.assert_array_equal(got, np.float32(other))


def test_native_code_reads_float32_matrices_where_they_lie() -> None:
    kernel = sd.compile("inv(A)", A=(3, 3), backend="native")
    runner = kernel._runner
    assert isinstance(runner, NativeRunner)
    assert runner.call(single=True).single
    assert "#define NARROW 1" in runner.source(Variant(single=True))
    assert not runner.call(reduce=True, single=True).single


def test_float32_is_as_accurate_as_its_numbers() -> None:
    x = np.random.default_rng(0).uniform(0.5, 2, (500, 3)).astype(np.float32)
    k = sd.compile("sum(sin(x) * exp(-x) + log(x) / sqrt(x) + erf(x)) + tanh(x[0]) ** 3 + floor(3 * x[1])", x=3)
    single, double = k(x), k(x.astype(float))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=3e-6)
    assert k(x[0]).dtype == np.float32
    assert k(x, out=np.zeros(500)).dtype == np.float64


def test_float32_beside_float64_is_computed_in_float64() -> None:
    A, x, s = (numbers((40,), shape, k) / 8 for k, shape in enumerate(SHAPES.values()))
    want = KERNELS[0](A, x, s)
    for got, expected in zip(KERNELS[0](A.astype(np.float32), x, s.astype(np.float32)), want, strict=True):
        same_bits(got, expected)
    # Python's own numbers have no type of their own
    assert KERNELS[0](A.astype(np.float32), x.astype(np.float32), 2.0)[0].dtype == np.float32
    assert KERNELS[0](A.astype(np.float32), x.astype(np.float32), 2)[0].dtype == np.float32


@pytest.mark.parametrize("axis", [0, -1])
def test_batches_that_broadcast_in_part(axis: int) -> None:
    batches: list[list[tuple[int, ...]]] = [
        [(4, 1), (1, 6), ()],
        [(4, 1), (6,), (4, 6)],
        [(2, 1, 3), (5, 1), (1, 1, 1)],
        [(1,), (40, 1), (30,)],
        [(2, 1) * 4, (1, 2) * 4, (2,) * 8],
        [(1,) * 9 + (2,), (2,), (3, 1)],
    ]
    for group in batches:
        arrays = [numbers(b, shape, k) for k, (b, shape) in enumerate(zip(group, SHAPES.values(), strict=True))]
        want = wanted([a.reshape(b + shape) for a, b, shape in zip(arrays, group, SHAPES.values(), strict=True)], group)
        if axis == -1:
            arrays = [as_columns(a, len(shape)) for a, shape in zip(arrays, SHAPES.values(), strict=True)]
            want = [as_columns(w, own) for w, own in zip(want, (1, 0), strict=True)]
        for got, expected in zip(KERNELS[axis](*arrays), want, strict=True):
            same_bits(got, expected, str(group))


def test_what_broadcasts_is_not_copied_in_full() -> None:
    k = sd.compile("x @ y", x=20, y=20, backend="native")
    x, y = np.ones((600, 1, 20)), np.ones((1, 600, 20))
    out = np.empty((600, 600))
    k(x, y, out=out)
    tracemalloc.start()
    k(x, y, out=out)
    k([[1] * 20], y, out=out[:1])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 600 * 600 * 8  # each of the inputs would take twenty times that
    assert (out == 20).all()


@pytest.mark.parametrize("axis", [0, -1])
def test_results_over_their_own_inputs(axis: int) -> None:
    x = sd.vector("x", 4)
    k = sd.compile(np.cumsum(x[::-1]), [x], backend="native", batch_axis=axis)
    for n in (1, 7, 8, 1000):
        memory = np.random.default_rng(n).random((n + 3, 4))
        if axis == -1:
            memory = np.ascontiguousarray(memory.T)

        def part(a: Array, start: int, n: int = n) -> Array:
            return a[:, start : start + n] if axis == -1 else a[start : start + n]

        for first, second in [(0, 0), (0, 2), (3, 0)]:
            held = memory.copy()
            want = k(part(memory, first))
            k(part(held, first), out=part(held, second))
            same_bits(part(held, second), want)
        turned = memory.copy()
        want = k(part(memory, 0)[::-1] if axis == 0 else part(memory, 0)[:, ::-1])
        k(part(turned, 0)[::-1] if axis == 0 else part(turned, 0)[:, ::-1], out=part(turned, 0))
        same_bits(part(turned, 0), want)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_out_may_be_any_view_of_its_own_elements(backend: str) -> None:
    k = sd.compile("outer(x, y)", x=4, y=3, backend=backend)
    x, y = numbers((5,), (4,), 0), np.linspace(1, 2, 3)
    want = x[:, :, None] * y
    for order in itertools.permutations(range(3)):
        base = np.full([2 * want.shape[axis] + 1 for axis in order], 7.0)
        view = base[tuple(slice(1, None, 2) for _ in order)].transpose(np.argsort(order))
        for signs in itertools.product([1, -1], repeat=3):
            out = view[tuple(slice(None, None, sign) for sign in signs)]
            k(x, y, out=out)
            np.testing.assert_array_equal(out, want)
            assert (base == 7.0).sum() == base.size - want.size
            out[...] = 7.0
    diagonals = np.full((5, 5, 4, 3), 7.0)
    out = np.einsum("iijk->ijk", diagonals)
    k(x, y, out=out)
    np.testing.assert_array_equal(np.einsum("iijk->ijk", diagonals), want)


def test_what_is_refused() -> None:
    k = KERNELS[0]
    A, x, s = (numbers((7,), shape, i) for i, shape in enumerate(SHAPES.values()))
    good = [np.full((7, 5), 3.0), np.full(7, 3.0)]
    memory = np.zeros(40)
    for out, error in [
        ([good[0], np.empty(8)], ShapeError),
        ([good[0], np.empty(7, np.float32)], DtypeError),
        ([good[0], read_only(good[1])], ArgumentError),
        ([good[0], np.broadcast_to(np.zeros(1), (7,))], ArgumentError),
        ([np.lib.stride_tricks.as_strided(np.zeros(11), (7, 5), (8, 8)), good[1]], ArgumentError),
        ([memory[:35].reshape(7, 5), memory[30:37]], ArgumentError),
        ([good[0]], ArgumentError),
        (good[0], ArgumentError),
        ([good[0], [0.0] * 7], ArgumentError),
    ]:
        with pytest.raises(error):
            k(A, x, s, out=out)
    assert (good[0] == 3).all()
    for bad, error in [
        ((A + 1j, x, s), DtypeError),
        ((A, x.astype(object), s), DtypeError),
        ((A, x.astype(np.longdouble), s), DtypeError),
        ((A, x, s.astype("U3")), DtypeError),
        ((A, x[:, :2], s), ShapeError),
        ((A, x[:3], s), ShapeError),
        ((A[0], x[0], np.zeros((0, 3)), 1.0), ArgumentError),
        ((np.ma.masked_array(A), x, s), DtypeError),
    ]:
        with pytest.raises(error):
            k(*bad)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_views(data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([0, -1]))
    batch = tuple(data.draw(st.lists(st.integers(1, 20), max_size=3)))
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    arrays, batches = [], []
    for k, shape in enumerate(SHAPES.values()):
        own = tuple(n if data.draw(st.booleans()) else 1 for n in batch)[data.draw(st.integers(0, len(batch))) :]
        batches.append(own)
        arrays.append(numbers(own, shape, k).astype(dtype))
    want = wanted(arrays, batches, dtype)
    given_arrays = []
    for a, shape in zip(arrays, SHAPES.values(), strict=True):
        b = as_columns(a, len(shape)) if axis == -1 else a
        for _ in range(data.draw(st.integers(0, 2))):
            b = LAYOUTS[data.draw(st.sampled_from(["C", "Fortran", "strided", "reversed", "unaligned"]))](b)
        given_arrays.append(b)
    for got, expected in zip(KERNELS[axis](*given_arrays), want, strict=True):
        same_bits(
            np.asarray(got),
            as_columns(expected, expected.ndim - len(np.broadcast_shapes(*batches))) if axis else expected,
        )


@pytest.mark.rows(1)
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_larger_than_caches_have_the_same_bits(axis: int, dtype: Any) -> None:
    # 32 MB of wide results are written with non-temporal stores; a part of them is not that large.
    x = sd.vector("x", 2)
    few = np.concatenate([x * 3, [0, 1, x[0] / x[1]]])
    k = sd.compile([np.stack([few + i for i in range(120)]), x[1] - x[0]], [x], backend="native", batch_axis=axis)
    for n in (14_007, 14_016):  # columns of the second begin at lines of the cache
        data = np.random.default_rng(0).random((n, 2)).astype(dtype)
        large = np.empty((n + 1, 120, 5), dtype)[1:], np.empty(n + 3, dtype)[3:]
        if axis == -1:
            data = np.ascontiguousarray(data.T)
            large = np.empty(600 * n + 8, dtype)[5:-3].reshape(120, 5, n), large[1]
        k(data, out=list(large))
        step = n // 5
        for start in range(0, n, step):
            part = slice(start, start + step)
            rows, last = k(data[part] if axis == 0 else data[:, part])
            np.testing.assert_array_equal(large[0][part] if axis == 0 else large[0][..., part], rows)
            np.testing.assert_array_equal(large[1][part], last)
        if axis == 0:  # apart from each other
            wide = np.zeros((n, 122, 5), dtype)
            k(data, out=[wide[:, 1:121], wide[:, 121, 0]])
            np.testing.assert_array_equal(wide[:, 1:121], large[0])
            assert not wide[:, 0].any()


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_long_batches_have_the_same_bits_wherever_they_begin(axis: int, backend: str) -> None:
    """The first samples are run apart, as many as let the others begin at lines of the cache."""
    x, t = sd.vector("x", 3), sd.scalar("t")
    k = sd.compile([t / np.sqrt(x @ x), x * t], [x, t], backend=backend, batch_axis=axis)
    rng, n = np.random.default_rng(2), 8200
    space, times = rng.random((n + 8, 3)), rng.random(n + 8)
    for first in range(9):
        s, part = space[first : first + n], times[first : first + n]
        own = np.ascontiguousarray(s.T) if axis else s
        whole = k(own, part)
        pieces = [slice(i, i + 1000) for i in range(0, n, 1000)]
        short = [k(own[..., piece] if axis else own[piece], part[piece]) for piece in pieces]
        for got, *want in zip(whole, *short, strict=True):
            np.testing.assert_array_equal(got, np.concatenate(want, axis=axis))


def test_few_samples_of_large_results_are_written_where_they_belong() -> None:
    """Where there are fewer samples than lead to a line of the cache, none is run apart."""
    x, n = sd.scalar("x"), 920
    kernel = sd.compile(x * np.eye(n), [x], backend="interpreter")
    held = np.full(5 * n * n + 8 * n * n, 7.0)  # 5 samples of 7 MB, and room for what must not be written
    out = held[: 5 * n * n].reshape(5, n, n)
    line = np.arange(64.0)
    line = line[-line.ctypes.data % 64 // 8 :]
    for start in range(1, 9):  # samples up to the next line
        kernel(line[start : start + 5], out=out)
        np.testing.assert_array_equal(np.diagonal(out, axis1=1, axis2=2)[:, 7], line[start : start + 5])
        assert (held[5 * n * n :] == 7.0).all()


def test_the_layout_is_chosen_by_what_most_arrays_have() -> None:
    rows, columns = np.zeros((2000, 8)), np.zeros((8, 2000)).T
    assert not prefers_columns([rows, rows], (2000,), True)
    assert prefers_columns([columns, columns], (2000,), False)
    assert prefers_columns([columns, columns, rows], (2000,), False)
    assert not prefers_columns([columns, rows], (2000,), False)
    assert prefers_columns([columns, rows], (2000,), True)
    assert not prefers_columns([columns[:7]], (7,), False)  # too few for another build


# ---------------------------------------------------------------------------- array threads
# Calls with threads: no number of them changes a bit, and they end with the process and before forks.


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_change_no_bit(reduce: str | None, axis: int, dtype: Any) -> None:
    one, two, many = (build(batch_axis=axis, reduce=reduce, threads=n) for n in (1, 2, 40))
    for n in (0, 1, 1000, 1023, 1025, 30_001):
        arrays = [(numbers((n,), shape, k) / 7).astype(dtype) for k, shape in enumerate(SHAPES.values())]
        if axis == -1:
            arrays = [np.ascontiguousarray(as_columns(a, len(s))) for a, s in zip(arrays, SHAPES.values(), strict=True)]
        want = one(*arrays)
        for kernel in (two, many):
            for got, expected in zip(kernel(*arrays), want, strict=True):
                same_bits(np.asarray(got), np.asarray(expected))


def test_sums_of_rows_and_columns_have_the_same_bits() -> None:
    arrays = [numbers((5000,), shape, k) / 7 for k, shape in enumerate(SHAPES.values())]
    columns = [np.ascontiguousarray(as_columns(a, len(s))) for a, s in zip(arrays, SHAPES.values(), strict=True)]
    for got, want in zip(build(reduce="sum", batch_axis=-1)(*columns), build(reduce="sum")(*arrays), strict=True):
        same_bits(np.asarray(got), np.asarray(want))


def test_the_first_singular_sample_is_told_by_any_number_of_threads() -> None:
    A = np.tile(np.eye(3), (40_000, 1, 1))
    A[[39_999, 12_345, 20_000]] = 0
    for n in (1, 2, 8):
        with pytest.raises(SingularMatrixError, match="sample 12345"):
            sd.compile("inv(A)", A=(3, 3), backend="native", threads=n)(A)


def test_python_threads_share_a_kernel() -> None:
    k = build(threads=2)
    arguments = [[numbers((n,), shape, n) for shape in SHAPES.values()] for n in range(60_000, 60_016)]
    want = [k(*a) for a in arguments]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            for got, expected in zip(pool.map(lambda a: k(*a), arguments), want, strict=True):
                for g, w in zip(got, expected, strict=True):
                    same_bits(g, w)


def in_a_process(script: str) -> None:
    """Run a script that has a kernel of two threads, and tasks(): how many threads there are."""
    start = """
import os, threading, time, numpy as np, symdiff as sd
from symdiff._kernels import unit
k = sd.compile("sin(x) * exp(x)", x=(), backend="native", threads=2)
x = np.linspace(0, 1, 200_000)
def tasks():
    return len(os.listdir("/proc/self/task"))
deadline = time.monotonic() + 60
while tasks() > 1 and time.monotonic() < deadline:  # the thread that asked for the build may still be leaving
    time.sleep(0.001)
alone = tasks()
want = k(x)
assert tasks() == alone + 1, "no thread was there to help"
"""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads leave at a fork, too
    subprocess.run([sys.executable, "-c", start + script], check=True, cwd=root, env=environment, timeout=600)


on_linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by Linux's /proc")


@on_linux
def test_threads_wait_and_then_leave() -> None:
    in_a_process("""
k(x)
assert tasks() == alone + 1
end = time.monotonic() + 60
while tasks() > alone and time.monotonic() < end:
    time.sleep(0.1)
assert tasks() == alone
before = time.process_time()
time.sleep(0.5)
assert time.process_time() - before < 0.1
assert (k(x) == want).all() and tasks() == alone + 1
""")


@on_linux
def test_threads_leave_at_a_fork_and_at_the_end() -> None:
    in_a_process("""
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(0 if tasks() == 1 and (k(x) == want).all() and tasks() == 2 else 1)
    assert tasks() == alone, "a thread saw the fork"
    assert (k(x) == want).all() and tasks() == alone + 1
    assert os.waitpid(child, 0)[1] == 0
unit.end_threads()
assert tasks() == alone
assert (k(x) == want).all() and tasks() == alone
""")


@on_linux
def test_forks_while_other_threads_call() -> None:
    in_a_process("""
wrong = []
def work():
    while not done:
        if not (k(x) == want).all():
            wrong.append(1)
done = False
callers = [threading.Thread(target=work) for _ in range(3)]
for caller in callers:
    caller.start()
for _ in range(30):
    child = os.fork()
    if child == 0:
        os._exit(0 if (k(x) == want).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
done = True
for caller in callers:
    caller.join()
assert not wrong
""")


def test_the_number_of_threads() -> None:
    before = resources.get_num_threads()
    try:
        resources.set_num_threads(3)
        assert resources.get_num_threads() == 3
        for wrong in (0, -1, 1.5, True, "2"):
            with pytest.raises(ArgumentError, match="whole number"):
                resources.set_num_threads(wrong)
    finally:
        resources.set_num_threads(before)
    with pytest.raises(ArgumentError, match="threads=0"):
        build(threads=0)


@pytest.mark.parametrize(("wish", "number"), [("3", 3), ("", 1), ("1", 1), ("100", 64)])
def test_the_environment_tells_how_many(wish: str, number: int) -> None:
    script = f"import symdiff.runtime.calls.resources as t; assert t.get_num_threads() == {number}"
    environment = {**os.environ, "SYMDIFF_NUM_THREADS": wish}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=600)


def test_an_environment_that_makes_no_sense_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMDIFF_NUM_THREADS", "many")
    with pytest.warns(RuntimeWarning, match="SYMDIFF_NUM_THREADS='many'"):
        resources.read_environment()


def test_threadpoolctl_sees_and_limits_the_threads() -> None:
    build()
    before = resources.get_num_threads()
    found = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "symdiff"]
    assert [info["num_threads"] for info in found] == [before]
    with threadpoolctl.threadpool_limits(limits=7, user_api="symdiff"):
        assert resources.get_num_threads() == 7
    assert resources.get_num_threads() == before
