"""``SYMDIFF_DUMP``: each public call writes what its stages made, or says why it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import DataError, ParseError
from symdiff.ground import budget, files, tracing
from symdiff.ground.tracing import VARIABLE, record, traced
from symdiff.runtime.runners.programs import InterpreterRunner


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "below" / "dump"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


def only(place: Path) -> Path:
    (folder,) = place.iterdir()
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def text(folder: Path, stage: str) -> str:
    (path,) = folder.glob(f"[0-9][0-9]-{stage}")
    return path.read_text(encoding="utf-8")


def test_a_program_passes_through_every_stage(place: Path) -> None:
    kernel = sd.compile("log(1 + exp(x)) * y", x=3, y=(), backend="interpreter")
    folder = only(place)
    assert folder.name == "000001-compile-log-1-exp-x-y"
    stages = ["00-call.txt", "01-graph.txt", "02-inlined.txt", "03-simplified.txt", "04-guarded.txt"]
    assert names(folder) == [*stages, "05-program.txt", "06-source.c", "07-kernel.txt"]
    assert "log(1 + exp(x)) * y" in text(folder, "call.txt")
    assert "= exp v1: (3,) real" in text(folder, "graph.txt")
    assert "rewritten: " in text(folder, "simplified.txt")
    assert "= exp v" not in text(folder, "simplified.txt")
    assert isinstance(kernel._runner, InterpreterRunner)
    assert text(folder, "program.txt") == kernel._runner.program.text() + "\n"
    assert text(folder, "source.c").strip() == kernel.source().strip()
    assert "reason: asked for" in text(folder, "kernel.txt")


@pytest.mark.parametrize(
    ("backend", "shape", "last"),
    [
        ("auto", "n", ["05-plan.txt", "06-source.c", "07-kernel.txt"]),
        ("native", 3, ["05-program.txt", "06-source.c", "07-kernel.txt"]),
        ("numpy", "n", ["05-source.py", "06-kernel.txt"]),
        ("cython", 3, ["05-source.pyx", "06-kernel.txt"]),
    ],
)
def test_each_backend_writes_what_it_runs(place: Path, backend: str, shape: object, last: list[str]) -> None:
    kernel = sd.compile("exp(x) * 2", x=shape, backend=backend)
    folder = only(place)
    assert names(folder)[5:] == last
    (source,) = folder.glob("*-source.*")
    assert source.read_text(encoding="utf-8").strip() == kernel.source().strip()


def test_names_are_inlined_and_conditions_guarded(place: Path) -> None:
    A = sd.matrix("A", 3, 3)
    f = np.where(np.linalg.det(A) > 0, sd.name(np.trace(np.linalg.inv(A)), "part"), 0.0)
    sd.compile(f, [A], backend="numpy")
    folder = only(place)
    assert "named[part]" in text(folder, "graph.txt")
    assert "named" not in text(folder, "inlined.txt")
    assert "delta" not in text(folder, "simplified.txt")
    assert "delta" in text(folder, "guarded.txt")


def test_a_derivative_tells_the_modes_that_were_tried(place: Path) -> None:
    x = sd.vector("x", 3)
    sd.jacobian(np.sin(x * x.sum()), x)
    told = text(only(place), "jacobian.txt")
    assert "with respect to x: (3,) real" in told
    assert "\nforward: cost " in told
    assert "\nreverse: cost " in told
    assert told.count("; kept") == 1
    for part in ("formula", "forward mode", "reverse mode", "simplified and kept"):
        assert f"\n{part}:\nv0 = " in told


def test_a_derivative_in_text_is_a_stage_of_its_compilation(place: Path) -> None:
    sd.compile("gradient(sum(x**2), x)", x=3, backend="numpy")
    assert names(only(place))[:3] == ["00-call.txt", "01-vjp.txt", "02-graph.txt"]
    assert "simplified:" in text(only(place), "vjp.txt")
    sd.jvp("sin(x)", "x", "v", x=3, v=3)
    assert names(place / "000002-jvp-sin-x") == ["00-call.txt", "01-jvp.txt"]


def test_a_call_that_fails_tells_why(place: Path) -> None:
    with pytest.raises(ParseError):
        sd.compile("sin((x")
    assert names(only(place)) == ["00-call.txt", "01-error.txt"]
    assert text(only(place), "error.txt").startswith("ParseError: ")


def test_text_of_a_user_is_no_path(place: Path) -> None:
    for formula in ("../../escaped", "/etc/passwd", "\n\n", "é" * 300, "a\0b", "x" * 400):
        with pytest.raises(sd.SymdiffError):
            sd.compile(formula + " +")
    with traced("compile", {"../up": ["../../../up"]}):
        pass
    assert len(names(place)) == 7
    assert all(len(name) < 60 and name.replace("-", "").isalnum() for name in names(place))
    assert [path.name for path in place.parent.iterdir()] == ["dump"]
    assert [path.name for path in place.parent.parent.iterdir()] == ["below"]


# ---------------------------------------------------------------------------- what is off costs nothing


def test_nothing_is_made_without_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse() -> str:
        raise AssertionError("a text was asked for")

    monkeypatch.chdir(tmp_path)
    for value in (None, ""):
        if value is None:
            monkeypatch.delenv(VARIABLE, raising=False)
        else:
            monkeypatch.setenv(VARIABLE, value)
        with traced("test", "x"):
            record("stage.txt", refuse)
        sd.compile("x * 2", backend="numpy")
    assert not [*tmp_path.iterdir()]


def test_a_trace_ends_with_its_call(place: Path) -> None:
    with traced("outer", "x"), traced("inner", "y"):
        record("one.txt", lambda: "1")
    record("two.txt", lambda: "2")
    assert names(only(place)) == ["00-call.txt", "01-one.txt"]


def test_looking_costs_nothing_of_a_budget(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts: list[budget.Account] = []

    class Watched(budget.Account):
        def __init__(self, given: sd.Budget) -> None:
            super().__init__(given)
            accounts.append(self)

    monkeypatch.setattr(budget, "Account", Watched)

    def left() -> tuple[int, int, int]:
        monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(place.parent / f"cache{len(accounts)}"))
        sd.compile("jacobian(sin(x * sum(x)), x)", x=3, backend="numpy", budget=sd.Budget(steps=10**6))
        return accounts[-1].steps, accounts[-1].nodes, accounts[-1].memory

    left()  # what is simplified once is known
    looked_at = left()
    assert len(names(place)) == 2
    monkeypatch.delenv(VARIABLE)
    assert looked_at == left()
    assert 10 < 10**6 - looked_at[0] < 10_000


def test_the_kernel_is_the_same(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    formula, arguments = "hessian(logsumexp(A @ x), x)", {"A": (3, 3), "x": 3, "backend": "interpreter"}
    first = sd.compile(formula, **arguments)
    assert names(place)
    monkeypatch.delenv(VARIABLE)
    second = sd.compile(formula, **arguments)
    assert first.source() == second.source()
    assert str(first.sympy) == str(second.sympy)


# ---------------------------------------------------------------------------- limits and failures


def test_a_large_formula_is_cut(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_FILE", 5_000)
    monkeypatch.setattr(tracing, "_TRACE", 12_000)
    x = sd.vector("x", 3)
    f: Any = x
    for i in range(3_000):
        f = np.sin(f * (1.0 + i))
    sd.compile(f, [x], backend="numpy")
    sizes = [path.stat().st_size for path in only(place).iterdir()]
    assert max(sizes) < 5_100
    assert sum(sizes) < 13_000
    assert text(only(place), "graph.txt").endswith("... the rest is left out\n")


def test_stages_beyond_the_most_are_left_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_FILES", 4)
    with traced("many", "x"):
        for number in range(9):
            record("stage.txt", lambda number=number: str(number))  # type: ignore[misc]
    assert names(only(place)) == ["00-call.txt", *(f"0{k}-stage.txt" for k in (1, 2, 3)), "04-left-out.txt"]


@pytest.mark.rows(1)
@pytest.mark.parametrize("below", ["file", "file/below", "/proc/nothing/here", "x" * 300])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    (tmp_path / "file").write_text("here")
    monkeypatch.setenv(VARIABLE, str(tmp_path / below))
    with pytest.raises(DataError, match=r"SYMDIFF_DUMP=.*: no folder can be made there \(.*\); name another one"):
        sd.compile("x * 2")
    assert names(tmp_path) == ["file"]


def test_a_file_that_cannot_be_written_is_refused_and_not_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = files.replace_file

    def full(path: Path, fill: object) -> int:
        if "simplified" in path.name:
            with path.with_name("x").open("wb"):
                path.with_name("x").unlink()
            raise DataError(f"{path} cannot be written: No space left on device")
        return written(path, fill)

    monkeypatch.setattr(tracing, "replace_file", full)
    with pytest.raises(DataError, match=r"SYMDIFF_DUMP: .*No space left on device; name another folder, or unset it"):
        sd.compile("x * 2", backend="numpy")
    assert names(only(place)) == ["00-call.txt", "01-graph.txt", "02-inlined.txt", "03-error.txt"]


def test_threads_write_to_folders_of_their_own(place: Path) -> None:
    def work(number: int) -> None:
        sd.compile(f"sin(x) * {number % 3}.5", x=2, backend="numpy")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))
    assert len(names(place)) == 40
    for folder in place.iterdir():
        assert len(names(folder)) == 7
        number = folder.name.rpartition("x-")[2].partition("-")[0]
        assert f"* {number}.5" in text(folder, "call.txt")
        assert f"{number}.5" in text(folder, "graph.txt")


def test_processes_write_to_folders_of_their_own(place: Path) -> None:
    script = "import symdiff as sd\nfor _ in range(10): sd.compile('sin(x)', backend='numpy')"
    environment = {**os.environ, VARIABLE: str(place)}
    running = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    assert [process.wait(600) for process in running] == [0, 0, 0]
    assert len(names(place)) == 30
    assert {len(names(folder)) for folder in place.iterdir()} == {7}
