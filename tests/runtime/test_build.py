from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symdiff.codegen.c.emit import CSource, emit_c
from symdiff.errors import BuildError
from symdiff.lowering.program import Program
from symdiff.runtime.runners.programs import NativeRunner
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain.build import build, compiler_in_sight, find_compiler
from symdiff.runtime.toolchain.cache import clear, entries
from symdiff.runtime.toolchain.load import native_target
from tests.support.tape import Tape


def example(number: float = 2.0) -> CSource:
    return emit_c(program(number), native_target())


def program(number: float = 2.0) -> Program:
    t = Tape(("x", ()))
    t.out((), [t.op("multiply", t.load(0), t.const(number))])
    return t.program()


def answer(number: float = 2.0) -> float:
    out = np.zeros(3)
    NativeRunner(program(number)).run([np.full(3, 5.0)], [out], False)
    assert (out == out[0]).all()
    return float(out[0])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand for a new process with an empty cache."""
    monkeypatch.setattr(building, "_loaded", {})
    chosen = tmp_path / "kept"
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(chosen))
    return chosen


def test_the_second_build_is_a_load(folder: Path) -> None:
    assert build(example()).seconds > 0
    assert build(example()).seconds == 0  # from this process's memory
    building._loaded.clear()
    assert build(example()).seconds == 0  # from the folder
    assert build(example(3.0)).seconds > 0
    # records of formulas that earlier tests compiled may be written behind, by another thread
    records = [name for name, *_ in entries(folder) if "-" in name]
    assert len(entries(folder)) == 2 + len(records)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    known = len(entries(folder))
    assert clear(folder) >= known
    assert all("-" in name for name, *_ in entries(folder))
    assert answer() == 10.0


def test_a_compiler_whose_path_has_spaces(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = find_compiler()
    assert real is not None
    place = tmp_path / "my tools"
    place.mkdir()
    wrapper = place / "the compiler"
    wrapper.write_text(f'#!/bin/sh\necho used >> "{place}/log"\nexec {real.command[0]} "$@"\n')
    wrapper.chmod(0o700)
    monkeypatch.setenv("CC", str(wrapper))
    assert answer(5.0) == 25.0
    assert (place / "log").exists()
    monkeypatch.setenv("CC", f"{real.command[0]} -DNOTHING=1")
    found = find_compiler()
    assert found is not None
    assert found.command == (real.command[0], "-DNOTHING=1")
    assert build(example(5.0)).seconds > 0  # another compiler, another key


def test_the_compilers_words_are_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="error: unknown type name"):
        build(CSource("nonsense here;", (), 2, 0, False))
    broken = tmp_path / "cc"
    broken.write_text(
        textwrap.dedent("""\
        #!/bin/sh
        case "$*" in *--version*) echo 1.0; exit 0;; esac
        echo "no licence today" >&2
        exit 3
        """)
    )
    broken.chmod(0o700)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(BuildError, match=r"status 3(.|\n)*no licence today"):
        build(example(6.0))


def test_a_compiler_that_is_killed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "cc"
    broken.write_text('#!/bin/sh\ncase "$*" in *--version*) echo 1.0;; *) kill -9 $$;; esac\n')
    broken.chmod(0o700)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(BuildError, match="was stopped by SIGKILL"):
        build(example(6.0))


def test_a_command_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "cc"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o700)
    asked = building.run

    def impatient(command: list[str], folder: Path | None = None, timeout: float | None = None) -> Any:
        # The others, which answer, may take as long as ever.
        return asked(command, folder, 0.2 if command[0] == str(slow) else timeout)

    monkeypatch.setattr(building, "run", impatient)
    monkeypatch.setenv("CC", str(slow))
    with pytest.warns(RuntimeWarning, match="does not run"):
        assert find_compiler() is not None


def test_a_compiler_that_hangs_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "cc"
    hanging.write_text('#!/bin/sh\ncase "$*" in *--version*) echo 1.0;; *) sleep 3600;; esac\n')
    hanging.chmod(0o700)
    monkeypatch.setattr(building, "LIMIT", 0.2)
    monkeypatch.setenv("CC", str(hanging))
    with pytest.raises(BuildError, match=r"did not finish within [0-9.]+ seconds"):
        build(example(6.0))


def test_libraries_load_where_there_are_no_files_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("os.memfd_create", missing)
    assert [answer(k) for k in (11.0, 12.0, 13.0)] == [55.0, 60.0, 65.0]


def test_many_libraries_are_different_ones(folder: Path) -> None:
    # Files in memory get the same number again and again, which the loader must not see.
    assert [answer(k) for k in (2.0, 3.0, 4.0, 5.0, 6.0)] == [10.0, 15.0, 20.0, 25.0, 30.0]


def test_what_is_no_library_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    liar = tmp_path / "cc"
    liar.write_text(
        '#!/bin/sh\nfor last; do :; done\ncase "$*" in *--version*) echo 1.0;; *) echo no > kernel.so;; esac\n'
    )
    liar.chmod(0o700)
    monkeypatch.setenv("CC", str(liar))
    with pytest.raises(BuildError, match="cannot be loaded"):
        build(example(6.0))
    assert not entries(folder)


_CUT = """
import ctypes, pathlib, sys
from symdiff.errors import BuildError
from symdiff.runtime.toolchain.load import load_bytes
contents = pathlib.Path(sys.argv[1]).read_bytes()[32:]
assert load_bytes(contents, ctypes.CDLL)["kernel"]
for length in range(0, len(contents), 97):
    try:
        load_bytes(contents[:length], ctypes.CDLL)
    except BuildError:
        continue
    raise AssertionError(length)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="about the loader of Linux")
def test_a_library_that_is_cut_short_is_told(folder: Path) -> None:
    # In a process of its own, since mapping what is not there ends it.
    build(example(7.0))
    (file,) = folder.glob("*.kernel")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _CUT, str(file)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("wish", ["/no/such/compiler -O9", "gcc 'x", 'gcc "', "''", "\\"])
def test_a_wish_that_does_not_run_is_told(wish: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", wish)
    with pytest.warns(RuntimeWarning, match=re.escape(f"CC={wish!r} does not run")):
        assert find_compiler() is not None
    assert compiler_in_sight()


def test_what_passes_is_not_remembered_of_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cc"
    path.write_text("#!/bin/sh\necho cc 1.0\n", encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("CC", str(path))

    def fail(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", fail)
        with pytest.raises(BuildError, match="cannot be run now: Too many open files"):
            find_compiler()
    found = find_compiler()
    assert found is not None
    assert found.version == "cc 1.0"


def test_without_a_compiler(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert find_compiler() is None
    with pytest.raises(BuildError, match="no C compiler"):
        build(example(8.0))


def test_the_key_depends_on_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = find_compiler()
    assert compiler is not None
    keys = {building._key(example(), compiler), building._key(example(3.0), compiler)}
    with monkeypatch.context() as patch:
        patch.setattr(building, "processor", lambda: ("another",))
        keys.add(building._key(example(), compiler))
    with monkeypatch.context() as patch:
        patch.setattr(building, "FLAGS", ("-O0",))
        keys.add(building._key(example(), compiler))
    with monkeypatch.context() as patch:
        patch.setattr(building, "VERSION", "0")
        keys.add(building._key(example(), compiler))
    with monkeypatch.context() as patch:
        patch.setattr(building, "c_library", lambda: "another")
        keys.add(building._key(example(), compiler))
    keys.add(building._key(example(), building.Compiler(compiler.command, "a newer one")))
    assert len(keys) == 7
