"""Memory of large results: kept when it is given up, given to the next, never shared; arrays that overlap."""

from __future__ import annotations

import gc
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff._kernels import call
from symdiff._kernels.call import with_vectorcall
from symdiff.runtime.calls import arguments
from symdiff.runtime.calls import resources as results
from symdiff.runtime.calls.arguments import Targets
from symdiff.runtime.kernel import Kernel

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="memory is the system's there")
MEGABYTE = 1 << 20
LARGE = (300_000,)


@pytest.fixture(autouse=True)
def _some() -> Iterator[None]:
    gc.collect()  # results in cycles that other tests left would be given up in between
    call.keep_memory(0)
    call.keep_memory(64 * MEGABYTE)
    yield
    call.keep_memory(results.limit())


@pytest.fixture
def numbers() -> npt.NDArray[np.float64]:
    return np.random.default_rng(0).random(LARGE)


def place(array: npt.NDArray[np.floating]) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_result_takes_the_memory_of_one_given_up(dtype: type, numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("sin(x) * x", x=(), backend="native")
    x: npt.NDArray[np.floating] = numbers.astype(dtype)
    first = kernel(x)
    want, where = first.copy(), place(first)
    assert first.flags.owndata
    assert first.base is None
    assert where % 64 == 16
    assert not call.kept_memory()
    second = kernel(x)
    assert not np.shares_memory(first, second)
    del first
    assert call.kept_memory() >= want.nbytes
    third = kernel(x)
    assert place(third) == where
    assert not call.kept_memory()
    np.testing.assert_array_equal(third, want)
    np.testing.assert_array_equal(second, want)


def test_views_hold_it(numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("exp(x)", x=(), backend="native")
    part = kernel(numbers)[5:10]
    assert not call.kept_memory()
    np.testing.assert_array_equal(part, kernel(numbers[5:10]))
    again = kernel(numbers)
    assert not np.shares_memory(part, again)


@pytest.mark.exhaustive
def test_every_way_to_a_result(numbers: npt.NDArray[np.float64]) -> None:
    """Ordinary calls, calls with conversions, several results, loops and NumPy."""
    pairs = numbers.reshape(-1, 2)
    for backend in ("native", "interpreter", "numpy"):
        pair = sd.vector("x", 2)
        several = sd.compile([np.exp(pair), pair * 2], [pair], backend=backend)
        want = [a.copy() for a in several(pairs)]
        for given in (pairs, pairs.tolist(), np.asfortranarray(pairs)):
            for got, expected in zip(several(given), want, strict=True):
                np.testing.assert_array_equal(got, expected)
    long = sd.compile("exp(x) + x[::-1]", x="n")
    np.testing.assert_allclose(long(numbers), np.exp(numbers) + numbers[::-1], rtol=1e-15)
    del got, want
    assert call.kept_memory()
    np.testing.assert_allclose(long(numbers), np.exp(numbers) + numbers[::-1], rtol=1e-15)


def test_such_arrays_are_like_any_other(numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("x + 1", x=(), backend="native")
    result = kernel(numbers)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)), numbers + 1)
    result.resize(2 * LARGE[0], refcheck=False)
    np.testing.assert_array_equal(result[: LARGE[0]], numbers + 1)
    assert not result[LARGE[0] :].any()
    result.resize(10, refcheck=False)
    np.testing.assert_array_equal(result, numbers[:10] + 1)
    result.resize(0, refcheck=False)
    assert result.size == 0


def test_what_is_kept_is_bounded(numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("x + 1", x=(), backend="native")
    call.keep_memory(6 * MEGABYTE)
    alive = [kernel(numbers) for _ in range(5)]
    del alive
    assert 0 < call.kept_memory() <= 6 * MEGABYTE
    alive = [kernel(np.tile(numbers, 4))]  # larger than all that may be kept
    before = call.kept_memory()
    del alive
    assert call.kept_memory() == before
    call.keep_memory(0)
    assert not call.kept_memory()
    kernel(numbers)
    assert not call.kept_memory()
    call.keep_memory(64 * MEGABYTE)
    alive = [kernel(numbers) for _ in range(20)]
    del alive
    assert 20 * LARGE[0] * 8 <= call.kept_memory() <= 64 * MEGABYTE


def test_much_larger_memory_is_left_for_others(numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("x + 1", x=(), backend="native")
    kernel(np.tile(numbers, 3))
    kept = call.kept_memory()
    small = kernel(numbers)
    assert call.kept_memory() == kept
    del small
    assert call.kept_memory() > kept


def test_several_threads(numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("sin(x)", x=(), backend="native")
    want = kernel(numbers).copy()
    wrong = []

    def work() -> None:
        for k in range(30):
            n = LARGE[0] - 1000 * (k % 3)
            if not np.array_equal(kernel(numbers[:n]), want[:n]):
                wrong.append(k)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result()
    assert not wrong


STRUCTURES: dict[str, Any] = {
    "one": 0,
    "tuple": tuple(range(17)),
    "dict": {f"y{i}": i for i in range(17)},
    "nested": {"a": (0, [1, 2]), "b": {"c": 3, "d": [4]}},
}


def filled(structure: Any, leaf: Callable[[int], Any]) -> Any:
    """Return a structure with something in place of each number."""
    if isinstance(structure, dict):
        return {name: filled(part, leaf) for name, part in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(filled(part, leaf) for part in structure)
    return leaf(structure)


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("length", [4_000, 8_192, 20_000, 100_000, 600_000])
def test_results_of_any_size_and_number_have_no_page_faults(name: str, length: int) -> None:
    if length > 100_000 and name != "one":
        length = 200_000
    call.keep_memory(512 * MEGABYTE)
    x = sd.scalar("x")
    kernel = sd.compile(filled(STRUCTURES[name], lambda i: x * (i + 0.5)), [x], backend="native")
    numbers = np.linspace(0, 1, length)
    # of this thread alone, where the system tells them apart: others may touch new pages meanwhile
    who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    for hold in (False, True):
        held = None
        for k in range(25):
            if k == 5:
                before = resource.getrusage(who).ru_minflt
            result = kernel(numbers)
            if hold:
                held = result
            del result
        faults = resource.getrusage(who).ru_minflt - before
        assert faults < 20, "one for each call"
        del held


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_come_back_and_are_taken_without_python(name: str) -> None:
    x = sd.scalar("x")
    whole = sd.compile(filled(STRUCTURES[name], lambda i: x * (i + 0.5)), [x], backend="native")
    kernel = Short(
        whole.inputs, whole.outputs, whole._runner, whole._origin, structure=whole._structure, options=whole.options
    )
    for numbers in (np.arange(5.0), np.float64(3), np.arange(30_000.0)):
        want = filled(STRUCTURES[name], lambda i: numbers * (i + 0.5))  # noqa: B023
        got = kernel(numbers)
        assert str(filled(got, type)) == str(filled(want, type))
        np.testing.assert_equal(got, want)
        np.testing.assert_equal(whole._call([numbers], None, None, {}), want)
        out = filled(STRUCTURES[name], lambda i: np.zeros(np.shape(numbers)))  # noqa: B023
        assert kernel(numbers, out=out) is out
        np.testing.assert_equal(out, want)
    wrong: list[Any] = [None.__class__, [], {}, [np.zeros(5)] * 3, {"a": np.zeros(5)}, np.zeros(4)]
    for out in wrong:
        with pytest.raises(NotImplementedError):
            kernel(np.arange(5.0), out=out)
        with pytest.raises(sd.SymdiffError):
            whole(np.arange(5.0), out=out)


@with_vectorcall
class Short(Kernel):
    """Refuses what is not served without Python."""

    def _call(self, *args: Any) -> Any:
        raise NotImplementedError


def test_arrays_begin_at_places_of_their_own() -> None:
    """As far into a line of the cache as NumPy's large arrays, and not all as far into a page."""
    arrays = call.empty([(20_000,)] * 16, False)
    assert {place(array) % 64 for array in arrays} == {16}
    assert len({place(array) % 4096 for array in arrays}) == 16


def test_memory_is_never_shared_or_lost() -> None:
    """Arrays of random lengths, made and given up in random order, more than are kept unmarked."""
    call.keep_memory(160 * MEGABYTE)
    rng = random.Random(0)
    alive: list[tuple[int, npt.NDArray[np.floating]]] = []
    for number in range(1500):
        length = int(2 ** rng.uniform(0, 19.5))
        (array,) = call.empty([(length,)], number % 3 == 0)
        array[...] = number
        alive.append((number, array))
        if number % 50 == 0:
            array.resize(length * 2, refcheck=False)
            array[...] = number
        while len(alive) > 60 + 50 * (number // 100 % 2):
            told, array = alive.pop(rng.randrange(len(alive)))
            assert (array == told).all()
        del array
        assert call.kept_memory() <= 160 * MEGABYTE
    alive.clear()
    assert call.kept_memory() > 64 * MEGABYTE
    call.keep_memory(0)
    assert call.kept_memory() == 0


def test_small_results_are_large_together_and_many_of_them_are_kept_as_well() -> None:
    call.empty([(1_000,)] * 7, False)
    assert not call.kept_memory()
    call.empty([(2_000,)] * 7, False)
    assert call.kept_memory()
    call.keep_memory(0)
    assert not call.kept_memory()
    call.keep_memory(64 * MEGABYTE)
    call.empty([(100,)] * 8, False)
    assert call.kept_memory()


def test_many_small_results_begin_at_lines_and_share_no_power_of_two() -> None:
    for length in (1, 8, 100, 128, 1_000, 1_024, 10_000, 16_384):
        arrays = call.empty([(length,)] * 100, length % 3 == 0)
        assert {place(array) % 64 for array in arrays} == {0}
        assert all(array.flags.owndata and array.flags.writeable and array.base is None for array in arrays)
        assert len({place(array) % 4096 for array in arrays}) >= 25


def test_one_of_many_results_holds_no_memory_of_the_others() -> None:
    """The first column of each of many calls is kept: the memory of the others serves later calls."""
    x = sd.scalar("x")
    kernel = sd.compile(tuple(x * (i + 0.5) for i in range(60)), [x], backend="native")
    numbers = np.arange(100.0)
    kernel(numbers)
    before = resident()
    held = [kernel(numbers)[0] for _ in range(2_000)]
    assert resident() - before < 8 * sum(map(len, held)) + 4 * MEGABYTE
    assert all(np.array_equal(one, numbers * 0.5) for one in held)


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * int(resource.getpagesize())


def test_many_small_arrays_are_never_shared_or_lost() -> None:
    """Arrays of random lengths, made many at once and given up in random order, some of them made longer."""
    rng = random.Random(1)
    alive: list[tuple[int, npt.NDArray[np.floating]]] = []
    for number in range(400):
        lengths = [(int(2 ** rng.uniform(0, rng.choice((4, 10, 15)))),) for _ in range(rng.randrange(1, 40))]
        for array in call.empty(lengths, number % 3 == 0):
            array[...] = number
            if rng.random() < 0.02:
                array.resize(int(2 ** rng.uniform(0, 18)), refcheck=False)
                array[...] = number
            alive.append((number, array))
        while len(alive) > 300 + 300 * (number // 50 % 2):
            told, array = alive.pop(rng.randrange(len(alive)))
            assert (array == told).all()
        del array
        assert call.kept_memory() <= 64 * MEGABYTE
    alive.clear()
    call.keep_memory(0)
    assert call.kept_memory() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_after_a_fork_both_have_their_own(numbers: npt.NDArray[np.float64]) -> None:
    kernel = sd.compile("x + 1", x=(), backend="native", threads=1)
    first = kernel(numbers)
    want = first.copy()
    kernel(numbers * 2)
    child = os.fork()
    if not child:
        right = False
        try:
            second = kernel(numbers * 3)
            del first
            right = np.array_equal(second, numbers * 3 + 1) and np.array_equal(kernel(numbers), want)
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(first, want)
    np.testing.assert_array_equal(kernel(numbers), want)


@pytest.mark.rows(1)
@pytest.mark.parametrize(
    ("wish", "expected"),
    [("0", "0"), ("7", str(7 * MEGABYTE)), ("", "None"), ("many", "SYMDIFF_RESULT_MEMORY='many' is no number")],
)
def test_the_environment_says_how_much_is_kept(wish: str, expected: str) -> None:
    code = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import symdiff.runtime.calls.resources as results
print(results.limit() if not caught else caught[0].message, results.MOST)
"""
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "SYMDIFF_RESULT_MEMORY": wish}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    if wish:
        assert run.stdout.startswith(expected)
    else:
        own, most = map(int, run.stdout.split())
        assert 0 < own <= most


def test_memory_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(MemoryError):
        call.empty([(3,), (1 << 45,)], False)
    with pytest.raises(ValueError, match="65 axes"):
        call.empty([(1,) * 65], False)


# ---------------------------------------------------------------------------- overlaps
# Arrays of a call that share memory are found among many, and those that do not are told apart by their addresses.


@pytest.mark.parametrize("seed", range(30))
def test_what_shares_memory_is_what_numpy_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = np.zeros((12, 10))
    apart = np.zeros(40)

    def part() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        if rng.random() < 0.2:
            return apart[rng.integers(20) : rng.integers(20, 41)]
        a, b = np.sort(rng.integers(0, 13, 2))
        c, d = np.sort(rng.integers(0, 11, 2))
        return whole[a:b, c:d][:: rng.choice([-2, -1, 1, 2]), :: rng.choice([-3, -1, 1, 2])]

    arrays = [part() for _ in range(12)]
    targets = Targets(arrays)
    for _ in range(20):
        other = part()
        assert targets.meet(other) == any(np.shares_memory(other, array) for array in arrays)
    for k, array in enumerate(arrays):
        assert targets.meet(array, before=k) == any(np.shares_memory(array, own) for own in arrays[:k])


def test_many_columns_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def share(a: np.ndarray[tuple[int, ...], Any], b: np.ndarray[tuple[int, ...], Any]) -> bool:
        compared.append(a)
        return np.shares_memory(a, b)

    monkeypatch.setattr(arguments, "_share", share)
    x = [sd.scalar(f"x{k}") for k in range(30)]
    kernel = sd.compile(tuple(a * a for a in x), x, backend="interpreter")
    values = list(np.random.default_rng(0).normal(size=(30, 50)))
    outs = tuple(np.empty(50) for _ in x)
    kernel(*values[:-1], 2.0, out=outs)
    assert len(compared) <= 30
    np.testing.assert_array_equal(outs[:-1], np.square(values[:-1]))
    with pytest.raises(sd.ArgumentError, match="overlaps another output"):
        kernel(*values, out=(*outs[:-1], outs[3]))
    expected = np.square(values)
    kernel(*values, out=tuple(values[::-1]))  # each output is another input
    np.testing.assert_array_equal(values[::-1], expected)


@pytest.mark.rows(1)
@pytest.mark.parametrize("rows", [3, 100])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_hundreds_of_columns_meet_no_python(rows: int, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = [sd.scalar(f"x{k}") for k in range(150)]
    formulas = tuple(a * b for a, b in zip(x, x[1:] + x[:1], strict=True))
    kernel = sd.compile(formulas, x, backend=backend)
    values = list(np.random.default_rng(0).normal(size=(150, rows)))
    outs = tuple(np.empty(rows) for _ in x)
    expected = values * np.roll(values, -1, axis=0)
    kernel(*values, out=outs)
    np.testing.assert_array_equal(outs, expected)
    long = []
    monkeypatch.setattr(type(kernel), "_call", lambda *args: long.append(args))
    outs[7][:] = 0
    kernel(*values, out=outs)
    np.testing.assert_array_equal(outs, expected)
    np.testing.assert_array_equal(kernel(*values), expected)
    assert not long
    kernel(*values, out=(*outs[:-1], outs[3]))
    kernel(*values, out=(*outs[:-1], values[120]))
    assert len(long) == 2


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_outputs_in_any_order_of_memory(seed: int, backend: str) -> None:
    """Outputs that lie among inputs are written, in any order; one that meets an input waits for it."""
    rng = np.random.default_rng(seed)
    x = [sd.scalar(f"x{k}") for k in range(9)]
    kernel = sd.compile(tuple(x[k % 9] + float(k) for k in range(23)), x, backend=backend)
    memory = np.zeros(32 * 8)
    pieces = [memory[8 * k : 8 * k + 8] for k in rng.permutation(32)]
    values, outs = pieces[:9], pieces[9:]
    for value in values:
        value[:] = rng.normal(size=8)
    expected = [values[k % 9] + k for k in range(23)]
    for got, want in zip(kernel(*values, out=tuple(outs)), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    a, b = rng.integers(9), rng.integers(23)
    kept = outs[b]
    start = (kept.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // 8
    outs[b] = memory[max(0, start - 3) : max(0, start - 3) + 8] if start else kept
    near = [own for k, own in enumerate([*outs, *values]) if k != b and np.shares_memory(own, outs[b])]
    if any(np.shares_memory(own, outs[b]) for k, own in enumerate(outs) if k != b):
        with pytest.raises(sd.ArgumentError, match="overlaps"):
            kernel(*values, out=tuple(outs))
    else:
        for got, want in zip(kernel(*values, out=outs), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    outs[b] = values[a]
    expected = [values[k % 9] + k for k in range(23)]
    for got, want in zip(kernel(*values, out=tuple(outs)), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert len(near) < 3
