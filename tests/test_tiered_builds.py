"""Builds that hang, take too long or are given up: the interpreter serves on, and says why."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_tiered import (  # noqa: F401
    X,
    _rest,
    begun_before_its_time_runs,
    compiler,
    formula,
    gone,
    number_of,
    sleeping,
)

import symdiff as sd
from symdiff.errors import ArgumentError, BuildError
from symdiff.runtime.runners.programs import TieredRunner
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import processes
from symdiff.runtime.toolchain.build import find_compiler


def test_a_compiler_that_hangs_keeps_no_other_build_waiting(
    sleeping: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
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
    sleeping: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
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


def test_loops_tell_that_a_build_was_given_up(sleeping: Path) -> None:  # noqa: F811
    k = sd.compile("exp(x) * 3.375 + x", x="n", build_seconds=0)
    assert k.wait(30)
    assert k.stats["reason"] == "the interpreter serves on: native code was not built within build_seconds=0"
    np.testing.assert_allclose(k(np.arange(50.0)), np.exp(np.arange(50.0)) * 3.375 + np.arange(50.0), rtol=1e-14)


@pytest.mark.parametrize("seconds", [-1, -0.5, float("nan"), "10", True, [1]])
def test_build_seconds_are_seconds(seconds: Any) -> None:
    with pytest.raises(ArgumentError, match=r"build_seconds=.*; expected a number of seconds from 0 on, or None"):
        sd.compile("x", x=(), build_seconds=seconds)


def test_build_seconds_are_kept(sleeping: Path) -> None:  # noqa: F811
    for seconds in (None, 5, np.float64(2.5), float("inf")):
        k = pickle.loads(pickle.dumps(sd.compile(formula(3.5), A=(3, 3), build_seconds=seconds)))
        assert k.options.build_seconds == seconds
        assert k.stats["build_limit"] == (60.0 if seconds is None else seconds)
    served = sd.compile(formula(3.5), A=(3, 3))._runner
    assert isinstance(served, TieredRunner)
    runner = pickle.loads(pickle.dumps(TieredRunner(served.program, build_limit=7.0)))
    assert runner.build_limit == 7.0
