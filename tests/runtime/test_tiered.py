"""The "auto" backend: answers at once, switches to native code, and serves on where a build fails."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import ArgumentError, BuildError, SingularMatrixError
from symdiff.runtime.choose import warn_no_compiler
from symdiff.runtime.runners.programs import InterpreterRunner, TieredRunner
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import processes
from symdiff.runtime.toolchain import processes as background
from symdiff.runtime.toolchain.build import Library, find_compiler

X = np.random.default_rng(0).uniform(1, 2, (700, 3, 3))
#: Hundredths of a second to wait for what takes a few, on a machine that does much else.
PATIENCE = 6000


def compiler(folder: Path, body: str) -> str:
    """Write a compiler that says it is one and then does ``body``."""
    path = folder / "slow-cc"
    path.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "slow 1.0"; exit 0;; esac\n{body}\n', encoding="ascii")
    path.chmod(0o755)
    return str(path)


def formula(number: float) -> str:
    """Return a formula nobody has built yet."""
    return f"gradient({number!r} * log(det(A)), A)"


@pytest.fixture
def sleeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that tells its number, and takes an hour."""
    told = tmp_path / "numbers"
    monkeypatch.setenv("CC", compiler(tmp_path, f"echo $$ >> {told}; sleep 3600"))
    return told


def number_of(told: Path) -> int:
    """Wait for the sleeping compiler to begin."""
    for _ in range(PATIENCE):
        if told.exists() and told.read_text(encoding="ascii").endswith("\n"):
            return int(told.read_text(encoding="ascii").split()[-1])
        time.sleep(0.01)
    raise AssertionError("no compiler was started")


def begun_before_its_time_runs(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the time that a command may take from when it has told its number, however long its start takes."""
    listen = processes._listen

    def late(child: Any, timeout: float | None) -> tuple[bytes, bytes]:
        if "--version" not in child.args:
            number_of(told)
        return listen(child, timeout)

    monkeypatch.setattr(processes, "_listen", late)


def gone(process: int) -> bool:
    for _ in range(PATIENCE):
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(autouse=True)
def _rest() -> Any:
    """Leave nothing under way for the next test."""
    yield
    gc.collect()
    background._worker.hold()
    background._worker.jobs.clear()
    background._worker.resume()


def test_answers_at_once_and_goes_over_with_the_same_bits() -> None:
    k = sd.compile(formula(1.5), A=(3, 3))
    assert k.backend == "interpreter"
    before = k(X)
    assert k.wait(60)
    assert k.backend == "c"
    assert k.stats["reason"] == "native code is built"
    assert not k.stats["building"]
    np.testing.assert_array_equal(k(X), before)
    np.testing.assert_array_equal(sd.compile(formula(1.5), A=(3, 3), backend="interpreter")(X), before)


def test_slower_native_code_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # without optimization each vector is in memory, which takes many times as long
    found = find_compiler()
    assert found is not None
    monkeypatch.setenv("CC", compiler(tmp_path, f'exec {" ".join(found.command)} "$@" -O0'))
    kernel = sd.compile(formula(0.7531), A=(3, 3))
    assert kernel.wait()
    assert kernel.backend == "c"
    few = kernel(X[:100])
    assert kernel.stats["reason"] == "native code is built"
    for _ in range(5):  # where other work slows a run of the interpreter, the next call compares again
        many = kernel(np.tile(X, (10, 1, 1)))
        if kernel.backend == "interpreter":
            break
    assert kernel.backend == "interpreter"
    assert kernel.stats["reason"] == "the interpreter was faster than native code on a call's data"
    assert kernel.stats["seconds_a_sample"]["interpreter"] < kernel.stats["seconds_a_sample"]["c"]
    np.testing.assert_array_equal(many[:100], few)
    np.testing.assert_array_equal(kernel(X), many[:700])


def test_faster_native_code_serves_on() -> None:
    kernel = sd.compile(formula(0.7532), A=(3, 3))
    assert kernel.wait()
    kernel(np.tile(X, (10, 1, 1)))
    assert (kernel.backend, kernel.stats["reason"]) == ("c", "native code is built")
    assert set(kernel.stats["seconds_a_sample"]) == {"c", "interpreter"}


def test_every_kind_of_call_goes_over() -> None:
    k = sd.compile(formula(1.25), A=(3, 3), batch_axis=-1)
    columns = np.ascontiguousarray(np.moveaxis(X, 0, -1))
    single = X.astype(np.float32)
    arrays = [columns, columns.astype(np.float32), np.moveaxis(single, 0, -1), np.moveaxis(X, 0, -1), columns[..., 0]]
    before = [k(a) for a in arrays]
    assert k.wait(60)
    for a, result in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(k(a), result)
    assert k.backend == "c"


def test_sums_go_over() -> None:
    k = sd.compile("x * y", x=(), y=(), reduce="sum")
    x = np.random.default_rng(1).uniform(-1, 1, (2, 5000))
    before = k(*x)
    assert k.wait(60)
    assert k(*x) == before


def test_a_build_that_fails_is_told_and_breaks_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", compiler(tmp_path, "echo no room >&2; exit 1"))
    k = sd.compile(formula(1.75), A=(3, 3))
    want = sd.compile(formula(1.75), A=(3, 3), backend="interpreter")(X)
    np.testing.assert_array_equal(k(X), want)
    assert k.wait(60)
    assert k.backend == "interpreter"
    assert k.stats["reason"] == "native code could not be built"
    assert "no room" in k.stats["build_failure"]
    np.testing.assert_array_equal(k(X), want)
    with pytest.raises(BuildError, match="no room"):
        sd.compile(formula(1.75), A=(3, 3), backend="native")


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    warn_no_compiler.cache_clear()
    with pytest.warns(RuntimeWarning, match="no C compiler was found") as told:
        k = sd.compile(formula(2.25), A=(3, 3))
    assert told[0].filename == __file__
    sd.compile(formula(2.125), A=(3, 3))  # said once
    np.testing.assert_allclose(k(X), 2.25 * np.linalg.inv(X).swapaxes(1, 2), rtol=1e-10)
    assert k.wait(60)
    assert k.backend == "interpreter"
    assert "no C compiler" in k.stats["build_failure"]


def test_a_call_does_not_wait_for_the_build(sleeping: Path) -> None:
    k = sd.compile(formula(2.5), A=(3, 3))
    number_of(sleeping)
    for _ in range(100):  # the compiler sleeps for minutes
        k(X)
    assert not k.wait(0.05)
    assert k.stats["building"]
    assert k.backend == "interpreter"


def test_a_kernel_nobody_holds_is_not_built(sleeping: Path) -> None:
    first = sd.compile(formula(2.75), A=(3, 3))
    number_of(sleeping)
    second = sd.compile(formula(2.875), A=(3, 3))
    runner = weakref.ref(second._runner)
    del second
    gc.collect()
    assert runner() is None
    assert first.backend == "interpreter"


def test_the_thread_ends_with_its_work() -> None:
    k = sd.compile(formula(3.5), A=(3, 3))
    assert k.wait(60)
    for _ in range(PATIENCE):
        if not any(thread.name == "symdiff-build" for thread in threading.enumerate()):
            break
        time.sleep(0.01)
    assert not any(thread.name == "symdiff-build" for thread in threading.enumerate())


def test_errors_are_the_same_before_and_after() -> None:
    k = sd.compile(formula(3.25), A=(3, 3))
    solve = sd.compile("solve(A, b) * 3.25", A=(3, 3), b=3)
    bad = X.copy()
    bad[123] = 0
    for kernel in (k, solve):
        arguments = (bad,) if kernel is k else (bad, X[:, 0])
        for _ in range(2):
            with pytest.raises(SingularMatrixError) as caught:
                kernel(*arguments)
            assert caught.value.index == (123,)
            assert kernel.wait(60)


def test_calls_from_several_threads_while_it_goes_over() -> None:
    k = sd.compile(formula(3.75), A=(3, 3))
    want = sd.compile(formula(3.75), A=(3, 3), backend="interpreter")(X)
    wrong = []

    def work() -> None:
        while k.stats["building"]:
            if not np.array_equal(k(X), want):
                wrong.append(1)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for _ in range(3)]:
            done.result()
    assert not wrong
    assert k.backend == "c"


def test_pickling() -> None:
    k = sd.compile(formula(4.5), A=(3, 3))
    again = pickle.loads(pickle.dumps(k))
    np.testing.assert_array_equal(again(X), k(X))
    assert again.wait(60)
    assert again.backend == "c"


# Functions in "last" run after symdiff's own end.
_SCRIPT = """
import atexit, os, pathlib, sys, time
last = []
atexit.register(lambda: [function() for function in last])
import symdiff as sd
told = pathlib.Path(sys.argv[1])
k = sd.compile("x * sin(x) * 4.75", x=())
assert k(0.0) == 0
while not told.exists() or not told.read_text().endswith("\\n"):
    time.sleep(0.01)
"""


def run_script(end: str, told: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", _SCRIPT + end, str(told)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os.kill(os.getpid(), 15)", -signal.SIGTERM),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os._exit(4)", 4),
    ],
    ids=["end", "exit", "interrupt", "terminated", "killed", "_exit"],
)
def test_nothing_outlives_the_process(sleeping: Path, end: str, status: int) -> None:
    start = time.perf_counter()
    done = run_script(end, sleeping)
    assert done.returncode in (status, 130 if status == -signal.SIGINT else status), done.stderr
    assert "symdiff-build" not in done.stderr
    assert status != 0 or not done.stderr
    assert gone(number_of(sleeping))
    assert time.perf_counter() - start < 60


def test_compiling_while_the_interpreter_ends(sleeping: Path) -> None:
    end = """
atexit.register(lambda: print(sd.compile("x * 5.25", x=())(2.0)))
last.append(lambda: print(sd.compile("x * 5.5", x=())(2.0), k.wait()))
"""
    done = run_script(end, sleeping)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10.5", "11.0", "False"]
    assert gone(number_of(sleeping))


def _in_child(k: sd.Kernel, queue: Any) -> None:
    result = k(X)
    queue.put((result, k.wait(60), k.backend))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork_while_building() -> None:
    k = sd.compile(formula(5.75), A=(3, 3))
    want = sd.compile(formula(5.75), A=(3, 3), backend="interpreter")(X)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(k, queue))
    child.start()
    result, waited, backend = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    np.testing.assert_array_equal(result, want)
    assert (waited, backend) == (True, "c")
    assert k.wait(60)
    assert k.backend == "c"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_breaks_the_compiler_off(sleeping: Path) -> None:
    k = sd.compile(formula(6.25), A=(3, 3))
    first = number_of(sleeping)
    child = os.fork()
    if child == 0:
        os._exit(0 if threading.active_count() == 1 and np.isfinite(k(X)).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert gone(first)
    # The parent begins again.
    for _ in range(PATIENCE):
        if len(sleeping.read_text(encoding="ascii").split()) > 1:
            break
        time.sleep(0.01)
    assert len(sleeping.read_text(encoding="ascii").split()) > 1


@pytest.mark.filterwarnings("ignore:CC=.* does not run")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_the_compiler_is_asked_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, path = tmp_path / "asked", tmp_path / "cc"
    asked = f'[ "$1" = --version ] && echo $$ >> {told} && sleep 1'
    path.write_text(f'#!/bin/sh\n{asked}\nexec gcc "$@"\n', encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))
    k = sd.compile(formula(6.75), A=(3, 3))
    number_of(told)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert k.wait(60)
    assert k.backend == "c", k.stats
    # What was broken off says nothing about the compiler.
    found = find_compiler()
    assert found is not None
    assert found.command == (str(path),)


def test_waiting_when_no_thread_is_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        k = sd.compile(formula(7.0), A=(3, 3))
        start = time.perf_counter()
        assert not k.wait(60)
        assert time.perf_counter() - start < 30
        assert np.isfinite(k(X)).all()
    assert k.wait(60)
    assert k.backend == "c"


def test_native_code_that_is_there_at_once_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = background.submit

    def wait(job: background.Job) -> None:
        submit(job)
        while background._worker.thread is not None:
            time.sleep(0.001)

    monkeypatch.setattr(background, "submit", wait)
    k = sd.compile(formula(7.25), A=(3, 3))
    runner = k._runner
    assert isinstance(runner, TieredRunner)
    assert k.backend == "c"
    assert isinstance(runner.call().library, Library)


def test_a_unit_that_is_replaced_while_it_is_handed_over() -> None:
    k = sd.compile(formula(7.75), A=(3, 3))
    assert k.wait(60)
    runner = k._runner
    assert isinstance(runner, TieredRunner)
    native, other = runner.call(), InterpreterRunner(runner.program).call()
    installed = []

    def install(unit: Any) -> None:
        installed.append(unit)
        if unit is other:
            runner._units[runner.usual] = native

    runner._units[runner.usual] = other
    runner.bind(install, reduce=False)
    assert installed == [other, native]


# ---------------------------------------------------------------------------- tiered builds
# Builds that hang, take too long or are given up: the interpreter serves on, and says why.


def test_a_compiler_that_hangs_keeps_no_other_build_waiting(
    sleeping: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_before_its_time_runs(sleeping, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(building, "LIMIT", 1.0)
        hanging = sd.compile(formula(2.625), A=(3, 3))
        number_of(sleeping)
    monkeypatch.delenv("CC")
    after = sd.compile(formula(2.875), A=(3, 3))
    assert after.wait(60)
    assert hanging.wait(0)
    assert (hanging.backend, after.backend) == ("interpreter", "c")
    assert "did not finish" in hanging.stats["build_failure"]


def test_a_child_that_takes_too_long_is_killed_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "number"
    begun_before_its_time_runs(told, monkeypatch)
    script = f"sleep 3600 & echo $! > {told}; wait"
    with pytest.raises(subprocess.TimeoutExpired):
        processes.run(["/bin/sh", "-c", script], folder=None, environment=os.environ, timeout=0.5)
    assert gone(int(told.read_text(encoding="ascii")))


def test_what_a_child_says_and_how_it_ends() -> None:
    def run(script: str) -> tuple[int, bytes, bytes]:
        done = processes.run(["/bin/sh", "-c", script], folder=None, environment=os.environ)
        return done.returncode, done.stdout, done.stderr

    assert run("echo out; echo err >&2; exit 7") == (7, b"out\n", b"err\n")
    assert run("kill -9 $$")[0] == -signal.SIGKILL
    assert run("cat; echo end") == (0, b"end\n", b"")
    assert run("echo out; sleep 3600 & exit 7") == (7, b"out\n", b"")
    with pytest.raises(OSError, match="no program"):
        processes.run(["/nonexistent/cc"], folder=None, environment=os.environ)


def long_program(number: float) -> Any:
    """Return a formula whose native code is built in parts."""
    x = sd.vector("x", 4)
    values = [x[i] for i in range(4)]
    for i in range(6000):
        values.append(values[-1] * values[-4] if i % 3 else values[-2] - number * values[-3])
    return values[-1]


def test_a_build_is_given_up_when_its_time_is_over(
    sleeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_before_its_time_runs(sleeping, monkeypatch)
    k = sd.compile(formula(3.125), A=(3, 3), build_seconds=0.3)
    before = k(X)
    process = number_of(sleeping)
    assert k.wait(30)
    assert gone(process)
    assert k.backend == "interpreter"
    assert k.stats["reason"] == "the interpreter serves on: native code was not built within build_seconds=0.3"
    assert k.stats["build_limit"] == 0.3
    assert "build_failure" not in k.stats
    np.testing.assert_array_equal(k(X), before)


def test_a_build_is_given_up_when_its_first_parts_tell_that_it_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    run, minutes = building.run, 0

    def slowly(*arguments: Any) -> Any:
        nonlocal minutes
        minutes += 1
        return run(*arguments)

    monkeypatch.setattr("symdiff.runtime.toolchain.build.os.cpu_count", lambda: 1)
    monkeypatch.setattr("symdiff.codegen.c.emit.PART", 1)
    x = np.linspace(-0.5, 0.5, 4)
    with monkeypatch.context() as patch:
        patch.setenv("CC", compiler(tmp_path, f'echo "$@" >> {told}'))
        assert find_compiler() is not None
        # By a clock of the test's own, so that it is no matter how long the machine takes.
        patch.setattr(building, "run", slowly)
        patch.setattr(building, "time", SimpleNamespace(perf_counter=lambda: 60.0 * minutes))
        k = sd.compile(long_program(0.25), build_seconds=200)
        assert k.wait(60)
        assert k.backend == "interpreter"
        assert "the interpreter serves on: native code takes about 600 s, more than build_seconds=200" in str(k.stats)
        assert len(told.read_text(encoding="ascii").splitlines()) == 1  # of several parts
        with pytest.raises(BuildError, match="native code takes about"):
            sd.compile(long_program(0.25), build_seconds=200, backend="native")
    built = sd.compile(long_program(0.25), backend="native")
    np.testing.assert_array_equal(built(x), k(x))


def test_what_is_built_already_takes_no_time() -> None:
    built = sd.compile(formula(3.25), A=(3, 3), backend="native")
    k = sd.compile(formula(3.25), A=(3, 3), build_seconds=0)
    assert k.wait(60)
    assert k.backend == "c"
    np.testing.assert_array_equal(k(X), built(X))


def test_loops_tell_that_a_build_was_given_up(sleeping: Path) -> None:
    k = sd.compile("exp(x) * 3.375 + x", x="n", build_seconds=0)
    assert k.wait(30)
    assert k.stats["reason"] == "the interpreter serves on: native code was not built within build_seconds=0"
    np.testing.assert_allclose(k(np.arange(50.0)), np.exp(np.arange(50.0)) * 3.375 + np.arange(50.0), rtol=1e-14)


@pytest.mark.parametrize("seconds", [-1, -0.5, float("nan"), "10", True, [1]])
def test_build_seconds_are_seconds(seconds: Any) -> None:
    with pytest.raises(ArgumentError, match=r"build_seconds=.*; expected a number of seconds from 0 on, or None"):
        sd.compile("x", x=(), build_seconds=seconds)


def test_build_seconds_are_kept(sleeping: Path) -> None:
    for seconds in (None, 5, np.float64(2.5), float("inf")):
        k = pickle.loads(pickle.dumps(sd.compile(formula(3.5), A=(3, 3), build_seconds=seconds)))
        assert k.options.build_seconds == seconds
        assert k.stats["build_limit"] == (60.0 if seconds is None else seconds)
    served = sd.compile(formula(3.5), A=(3, 3))._runner
    assert isinstance(served, TieredRunner)
    runner = pickle.loads(pickle.dumps(TieredRunner(served.program, build_limit=7.0)))
    assert runner.build_limit == 7.0
