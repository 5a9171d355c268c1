"""The command line beside formulas: the doctor, the cache, versions, terminals."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import symdiff as sd
from symdiff.runtime.toolchain import cache
from tests.tools.test_cli import Run, run  # noqa: F401


def real(*args: str, folder: Path, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a shell would."""
    return subprocess.run(
        [sys.executable, "-m", "symdiff", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        input=stdin,
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
        check=False,
        timeout=600,
    )


# ---------------------------------------------------------------------------- the rest


def test_doctor(run: Run) -> None:  # noqa: F811
    output = run("doctor").stdout
    assert str(cache.cache_folder()) in output
    assert f"numpy         {np.__version__}" in output
    assert re.search(r"^compiler +/.*: .*\d+\.\d+", output, re.MULTILINE)
    assert re.search(r"^vector math +\w", output, re.MULTILINE)
    assert re.search(r"^backend +auto takes ", output, re.MULTILINE)


def test_doctor_tells_what_is_wrong_with_the_cache(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = real("doctor", folder=tmp_path, SYMDIFF_CACHE_DIR=str(shared))
    assert done.returncode == 0, done.stderr
    assert "it can be written by others (mode 0777)" in " ".join(done.stdout.split())
    done = real("cache", "show", folder=tmp_path, SYMDIFF_CACHE_DIR=str(shared))
    assert "The folder can be written by others (mode 0777)." in " ".join(done.stdout.split())


def test_doctor_without_a_compiler(tmp_path: Path) -> None:
    done = real("doctor", folder=tmp_path, PATH=str(tmp_path), CC="")
    assert done.returncode == 0, done.stderr
    assert "none found ($CC, cc, gcc, clang)" in done.stdout
    assert "auto takes the interpreter" in done.stdout


def test_doctor_with_a_compiler_that_fails(tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\ncase $1 in --version) echo fine;; *) echo out of order >&2; exit 1;; esac\n")
    broken.chmod(0o755)
    done = real("doctor", folder=tmp_path, CC=str(broken), SYMDIFF_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 1
    assert "out of order" in done.stdout


def test_cache_show_and_clear(run: Run) -> None:  # noqa: F811
    sd.compile("x + 12345", backend="native")
    names = [name for name, _, _ in cache.entries(cache.cache_folder())]
    plans = sum(name.startswith("plan-") for name in names)
    assert 0 < plans < len(names)
    held = f"{len(names) - plans} kernels and {plans} records of formulas"
    assert held in run("cache", "show").stdout
    assert f"removed {held}" in run("cache", "clear").stdout
    assert not cache.entries(cache.cache_folder())


def test_version_and_help(run: Run) -> None:  # noqa: F811
    assert run("--version").stdout == f"symdiff, version {sd.__version__}\n"
    for command in ("derive", "eval", "demo", "doctor", "cache"):
        assert command in run("--help").stdout
        assert "Usage:" in run(command, "-h").stdout


def test_eval_without_a_compiler(tmp_path: Path) -> None:
    done = real("eval", "x * 2", "--value", "x=4", folder=tmp_path, PATH=str(tmp_path), CC="")
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: no C compiler was found")
    assert len(done.stderr.splitlines()) == 1
    assert "by the interpreter" in done.stdout


def test_a_warning_is_one_line(tmp_path: Path) -> None:
    done = real("eval", "x * 2", "--value", "x=4", "--backend", "native", folder=tmp_path, CC="no-such-compiler")
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: CC='no-such-compiler' does not run")
    assert len(done.stderr.splitlines()) == 1
    assert "8" in done.stdout


@pytest.mark.parametrize("columns", ["1", "20", "200"])
def test_no_width_breaks_a_formula(tmp_path: Path, columns: str) -> None:
    formula = " + ".join(f"sin({k} * x)" for k in range(2, 12))
    done = real("derive", formula, "--wrt", "x", folder=tmp_path, COLUMNS=columns, NO_COLOR="1")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines()[0].count("cos") == 10


def test_a_terminal_without_unicode_reads_another_spelling(tmp_path: Path) -> None:
    args = ("derive", "log(det(A))", "--wrt", "A", "--shape", "A=n,n")
    done = real(*args, folder=tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "inv(A).T"
    assert done.stdout.isascii()


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m symdiff derive 'x**2' --wrt x | true"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "Traceback" not in done.stderr
