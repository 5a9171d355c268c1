"""Calls with threads: no number of them changes a bit, and they end with the process and before forks."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from test_arrays import SHAPES, as_columns, build, numbers, same_bits

import symdiff as sd
from symdiff.errors import ArgumentError, SingularMatrixError
from symdiff.runtime.calls import resources as threads


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
    root = Path(__file__).parent.parent
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
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(3)
        assert threads.get_num_threads() == 3
        for wrong in (0, -1, 1.5, True, "2"):
            with pytest.raises(ArgumentError, match="whole number"):
                threads.set_num_threads(wrong)
    finally:
        threads.set_num_threads(before)
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
        threads.read_environment()


def test_threadpoolctl_sees_and_limits_the_threads() -> None:
    build()
    before = threads.get_num_threads()
    found = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "symdiff"]
    assert [info["num_threads"] for info in found] == [before]
    with threadpoolctl.threadpool_limits(limits=7, user_api="symdiff"):
        assert threads.get_num_threads() == 7
    assert threads.get_num_threads() == before
