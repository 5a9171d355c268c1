"""Sums over a batch, one or one for each place along its first axis: the promised order, however arrays lie."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff._kernels.unit import NativeCall
from symdiff.errors import LimitError
from symdiff.runtime.runners.programs import InterpreterRunner, NativeRunner, target_of
from symdiff.runtime.runners.variants import ProgramRunner
from tests.support.orders import in_order

Array = npt.NDArray[Any]

#: Elements of one sample of each input.
SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (), (2, 2))


def units(kind: type[NativeRunner] | type[InterpreterRunner]) -> ProgramRunner:
    """Two sums, of two elements and of one; singular where x is -100."""
    x, v, s, A = sd.scalar("x"), sd.vector("v", 3), sd.scalar("s"), sd.matrix("A", 2, 2)
    pair = np.stack([x * v[0] + s, v[1] * v[2] - A[1, 0]])
    inverse = sd.inv(sd.stack([sd.stack([x + 100.0])]))  # of one element: larger ones are inverted in float64
    kernel = sd.compile([pair, x * s + A[0, 1] + inverse[0, 0]], [x, v, s, A], backend="native")
    assert isinstance(kernel._runner, ProgramRunner)
    return kind(kernel._runner.program, reduce=True)


@cache
def runner(backend: str) -> ProgramRunner:
    return units(NativeRunner if backend == "native" else InterpreterRunner)


BACKENDS = pytest.mark.parametrize("backend", ["native", "interpreter"])
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def numbers(batch: tuple[int, ...], dtype: Any, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, *shape)).astype(dtype) for shape in SHAPES]


def wanted(arrays: list[Array], batch: tuple[int, ...], kept: bool, dtype: Any) -> list[Array]:
    """Compute every sample, and add up in Python."""
    full = [np.broadcast_to(a, (*batch, *s)) for a, s in zip(arrays, SHAPES, strict=True)]
    rows = [np.empty((*batch, 2), dtype), np.empty(batch, dtype)]
    runner("native").run([np.array(a) for a in full], rows, False, batch)
    lanes = target_of("default").lanes * (2 if dtype is np.float32 else 1)
    groups = batch[0] if kept else 1
    return [
        np.array([in_order(each, lanes) for each in row.reshape(groups, math.prod(batch) // max(groups, 1), *own)])
        .reshape(groups, *own)
        .astype(dtype)
        for row, own in zip(rows, ((2,), ()), strict=True)
    ]


def summed(
    unit: ProgramRunner | NativeCall,
    arrays: list[Array],
    batch: tuple[int, ...],
    kept: bool,
    dtype: Any,
    threads: int = 1,
) -> list[Array]:
    ones = (1,) * (len(batch) - 1)
    outs = [np.full((batch[0] if kept else 1, *ones, *own), np.nan, dtype) for own in ((2,), ())]
    if isinstance(unit, ProgramRunner):
        unit.run(arrays, outs, True, batch, threads, kept=kept)
    else:
        assert unit.run(arrays, outs, batch, threads, kept=kept) is None
    return [out.reshape(len(out), *own) for out, own in zip(outs, ((2,), ()), strict=True)]


def same(got: list[Array], want: list[Array]) -> None:
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


def spaced(array: Array, axes: int) -> Array:
    """Put other numbers between the places along the first axes."""
    for axis in range(min(axes, array.ndim)):
        array = np.repeat(array, 2, axis)
    turn = (slice(None, None, 2),) * min(axes, array.ndim)
    wide = np.full_like(array, 7.0)
    wide[turn] = array[turn]
    return wide[turn]


def unaligned(array: Array) -> Array:
    view: Array = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def within_longer_rows(array: Array) -> Array:
    """Put other numbers behind the places along the last axis of a batch of two axes."""
    if array.ndim < 2:
        return array
    longer = np.full((array.shape[0], array.shape[1] + 3, *array.shape[2:]), 7.0, array.dtype)
    longer[:, :-3] = array
    return longer[:, :-3]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.copy,
    "Fortran": lambda a: np.array(a, order="F"),
    "first axes swapped": lambda a: np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1) if a.ndim > 1 else a,
    "spaced": lambda a: spaced(a, 1),
    "spaced twice": lambda a: spaced(a, 2),
    "within longer rows": within_longer_rows,
    "spaced everywhere": lambda a: spaced(a, a.ndim),
    "reversed": lambda a: a[(slice(None, None, -1),) * a.ndim].copy()[(slice(None, None, -1),) * a.ndim],
    "unaligned": unaligned,
    "float64": lambda a: a.astype(np.float64),
}
BATCHES = [
    *[(0, 5), (3, 0), (1, 1), (5, 1), (1, 9), (4, 7), (4, 8), (19, 9), (3, 16), (2, 17), (40, 40), (3, 47)],
    *[(2, 1000), (2, 1023), (3, 1024), (2, 1025), (2, 1031), (3, 5200), (3, 5, 9), (2, 6, 200), (2, 3, 1, 7), (4,)],
]


@BACKENDS
@DTYPES
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_each_place_of_the_first_axis_has_the_sum_that_it_has_alone(
    batch: tuple[int, ...], dtype: Any, backend: str
) -> None:
    arrays = numbers(batch, dtype)
    want = wanted(arrays, batch, True, dtype)
    unit = runner(backend)
    for columns in (False, True):
        same(summed(unit.call(True, columns, dtype is np.float32), arrays, batch, True, dtype), want)
    for g in range(batch[0]):
        alone = summed(unit, [array[g : g + 1] for array in arrays], (1, *batch[1:]), False, dtype)
        same(alone, [each[g : g + 1] for each in want])


@BACKENDS
@DTYPES
@pytest.mark.parametrize("kept", [False, True], ids=["one", "each"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_arrays_in_any_layout(layout: str, kept: bool, dtype: Any, backend: str) -> None:
    # runs of 64 and more are read where they lie, wherever the blocks and the vectors of a sum begin in them
    for batch in ((5, 3), (5, 41), (2, 1030), (3, 4, 21), (16, 64), (23, 67), (2, 3, 200)):
        arrays = numbers(batch, dtype)
        want = wanted(arrays, batch, kept, dtype)
        for columns in (False, True):
            unit = runner(backend).call(True, columns, dtype is np.float32)
            changed = [LAYOUTS[layout](array) for array in arrays]
            same(summed(unit, changed, batch, kept, dtype), want)
            for k in range(len(arrays)):  # the rest lies as usual
                same(summed(unit, [*arrays[:k], changed[k], *arrays[k + 1 :]], batch, kept, dtype), want)


@BACKENDS
@DTYPES
@pytest.mark.parametrize("kept", [False, True], ids=["one", "each"])
def test_sums_of_what_samples_share(kept: bool, dtype: Any, backend: str) -> None:
    for batch in ((6, 5), (6, 40), (3, 1200), (3, 4, 21)):
        full = numbers(batch, dtype)
        for number in range(2 ** len(batch)):
            shared = tuple(slice(0, 1 if number >> a & 1 else None) for a in range(len(batch)))
            for k in range(len(full)):
                arrays = [*full[:k], full[k][shared], *full[k + 1 :]]
                others = [full[k] if j == k else array[shared] for j, array in enumerate(full)]
                for given in (arrays, others):
                    same(
                        summed(runner(backend), given, batch, kept, dtype),
                        wanted([np.array(a) for a in given], batch, kept, dtype),
                    )


@BACKENDS
@DTYPES
def test_sums_do_not_look_beside_the_arrays(dtype: Any, backend: str) -> None:
    for n in (1, 3, 7, 8, 9, 15, 17, 31, 33):
        for step in (1, 2, -1):
            arrays = numbers((1, n), dtype)
            want = wanted(arrays, (1, n), True, dtype)
            held = np.full(2 * n + 80, -100.0, dtype)  # in which a sample would be singular
            arrays[0] = held[40 : 40 + 2 * n : 2][None] if step == 2 else held[40 : 40 + n][::step][None]
            arrays[0][...] = numbers((1, n), dtype)[0]
            for columns in (False, True):
                unit = runner(backend).call(True, columns, dtype is np.float32)
                same(summed(unit, arrays, (1, n), True, dtype), want)


@BACKENDS
def test_sums_of_samples_that_fill_the_buffer_by_themselves(backend: str) -> None:
    v = sd.vector("v", 6000)
    kernel = sd.compile(v[0] * v[5999], [v], backend=backend, reduce="sum")
    given = np.random.default_rng(0).normal(size=(6000, 61))
    assert kernel(given.T) == in_order(given[0] * given[-1], target_of("default").lanes)


def test_results_are_written_where_they_belong() -> None:
    batch = (7, 40)
    arrays = numbers(batch, np.float64)
    want = wanted(arrays, batch, True, np.float64)
    for step in (1, 2, -1, -3):
        for dtype in (np.float64, np.float32):
            held = [np.full((3 * 7, 3, 5), 7.0, dtype), np.full((3 * 7, 3), 7.0, dtype)]
            pair = held[0][::step][:7, :1, 1:5:3]
            one = held[1][::step][:7, 2:3]
            runner("native").run(arrays, [pair, one], True, batch, kept=True)
            assert np.array_equal(pair[:, 0], want[0].astype(dtype))
            assert np.array_equal(one[:, 0], want[1].astype(dtype))
            pair[...], one[...] = 7.0, 7.0
            assert all((each == 7.0).all() for each in held)


@BACKENDS
@pytest.mark.parametrize("batch", [(30_000, 19), (40, 9000)])
def test_sums_are_the_same_with_any_number_of_threads(batch: tuple[int, ...], backend: str) -> None:
    arrays = numbers(batch, np.float64)
    arrays[2] = arrays[2][:, :1]
    for kept in (False, True):
        first = summed(runner(backend), arrays, batch, kept, np.float64)
        for threads in (2, 3, 8):
            same(summed(runner(backend), arrays, batch, kept, np.float64, threads), first)


@BACKENDS
@pytest.mark.parametrize("n", [3, 8, 19, 1029])
def test_the_first_failing_sample_of_a_sum(n: int, backend: str) -> None:
    unit = runner(backend).call(True)
    for kept in (False, True):
        outs = [np.empty((3 if kept else 1, 1, 2)), np.empty((3 if kept else 1, 1))]
        for at in {0, 1, n // 2, n - 2, n - 1}:
            arrays = numbers((3, n), np.float64)
            arrays[0][1, at] = arrays[0][2, at] = -100.0
            failed = unit.run(arrays, outs, (3, n), kept=kept)
            assert failed is not None
            assert failed[0] == n + at


@BACKENDS
@pytest.mark.parametrize("place", [(0, 0), (0, 66), (3, 5), (15, 16), (22, 66)])
def test_the_first_failing_sample_of_rows_that_are_read_where_they_lie(place: tuple[int, int], backend: str) -> None:
    arrays = [within_longer_rows(array) for array in numbers((23, 67), np.float64)]
    arrays[0][place] = arrays[0][22, 66] = -100.0
    unit = runner(backend).call(True)
    outs = [np.empty((1, 1, 2)), np.empty((1, 1))]
    assert unit.run(arrays, outs, (23, 67)) == (place[0] * 67 + place[1], 0)


def test_an_axis_is_kept_by_sums_only() -> None:
    arrays = numbers((3, 4), np.float64)
    outs = [np.empty((3, 4, 2)), np.empty((3, 4))]
    with pytest.raises(ValueError, match="an axis to keep"):
        runner("native").call(False).run(arrays, outs, (3, 4), kept=True)
    with pytest.raises(ValueError, match="an axis to keep"):
        runner("native").call(True).run([a[0, 0] for a in arrays], [o[0, 0] for o in outs], (), kept=True)
    with pytest.raises(ValueError, match="an array of shape"):  # a result for each sample
        runner("native").call(True).run(arrays, outs, (3, 4), kept=True)
    with pytest.raises(ValueError, match="an array of shape"):  # a single result
        runner("native").call(True).run(arrays, [outs[0][:1, :1], outs[1][:1, :1]], (3, 4), kept=True)


@BACKENDS
@pytest.mark.parametrize("batches", [((2**59 + 1, 1), (32,)), ((2**30, 1), (2**30,)), ((1, 2**59), (1024, 1))], ids=str)
def test_more_samples_than_can_be_counted_are_refused(batches: list[tuple[int, ...]], backend: str) -> None:
    # Arrays that samples share take no memory, and a product of 2^64 + 32 samples would be taken for 32.
    x, y = sd.scalar("x"), sd.scalar("y")
    given = [np.broadcast_to(1.0, batch) for batch in batches]
    for reduce in (None, "sum"):
        if reduce or math.prod(map(math.prod, batches)) >= 2**63:  # else it is NumPy that has no such array
            with pytest.raises(LimitError, match="more samples than can be counted"):
                sd.compile(x * y, [x, y], backend=backend, reduce=reduce)(*given)
    a, b = sd.vector("a", "n"), sd.vector("b", "m")
    loop = sd.compile(np.exp(np.outer(a, b)).sum(), [a, b], backend=backend)
    with pytest.raises(LimitError, match="more samples than can be counted"):
        loop(np.broadcast_to(1.0, 2**59 + 1), np.broadcast_to(1.0, 32))
    with pytest.raises(ValueError, match="a batch of shape"):
        runner(backend).call(True).run(
            numbers((1, 1), np.float64), [np.empty((1, 1, 2)), np.empty((1, 1))], (2**32, 2**33)
        )
