"""Memory of large results: kept when it is given up, given to the next, and never shared."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

import symdiff as sd
from symdiff._kernels import call
from symdiff.runtime import result_memory as results

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="memory is the system's there")
MEGABYTE = 1 << 20
LARGE = (300_000,)


@pytest.fixture(autouse=True)
def _some() -> Iterator[None]:
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
    assert where % 64 == 0
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
    assert call.kept_memory() <= 8 * 3 * MEGABYTE


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


@pytest.mark.parametrize(
    ("wish", "expected"),
    [("0", "0"), ("7", str(7 * MEGABYTE)), ("", "None"), ("many", "SYMDIFF_RESULT_MEMORY='many' is no number")],
)
def test_the_environment_says_how_much_is_kept(wish: str, expected: str) -> None:
    code = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import symdiff.runtime.result_memory as results
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
        call.empty((1 << 45,), False)
    with pytest.raises(ValueError, match="65 axes"):
        call.empty((1,) * 65, False)
