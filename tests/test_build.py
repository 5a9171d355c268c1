from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tape import Tape

from symdiff import build as building
from symdiff import cache
from symdiff.build import build, find_compiler, native_target
from symdiff.cache import cache_folder, clear, entries, lookup, publish
from symdiff.codegen.c import CSource, emit_c
from symdiff.errors import BuildError
from symdiff.native import NativeRunner
from symdiff.program import Program


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
    chosen = tmp_path / "kept"
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(chosen))
    return chosen


def test_the_second_build_is_a_load(folder: Path) -> None:
    assert build(example()).seconds > 0
    assert build(example()).seconds == 0
    assert build(example(3.0)).seconds > 0
    assert len(entries(folder)) == 2
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert clear(folder) == 2
    assert answer() == 10.0


@pytest.mark.parametrize("damage", ["truncated", "altered", "emptied", "longer"])
def test_a_damaged_file_is_built_again(folder: Path, damage: str) -> None:
    # Built by another process: a file that is mapped here must not be changed under the loader.
    script = "from test_build import answer; assert answer() == 10.0"
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, check=True)
    (file,) = folder.glob("*/*.so")
    contents = file.read_bytes()
    half, rest = contents[: len(contents) // 2], contents[len(contents) // 2 + 1 :]
    damaged = {"truncated": half, "emptied": b"", "altered": half + b"?" + rest, "longer": contents + b"?"}
    file.write_bytes(damaged[damage])
    assert answer() == 10.0
    (file,) = folder.glob("*/*.so")
    assert lookup(folder, file.parent.name) == file


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_others_can_write_is_not_used(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="can be written by others"):
        assert answer() == 10.0
    assert answer(3.0) == 15.0  # said once
    assert not list(folder.iterdir())


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="a link is not followed"):
        assert cache_folder() != folder


def test_a_folder_of_someone_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert cache_folder() != folder


def test_a_folder_that_cannot_be_made(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="cannot be made"):
        assert answer() == 10.0


def test_a_cache_that_cannot_take_it_still_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("symdiff.cache.tempfile.mkstemp", full)
    assert answer(4.0) == 20.0
    assert not list(folder.glob("*/*.so"))


def test_the_oldest_entries_are_removed(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache_folder()
    built = tmp_path / "built"
    built.write_bytes(bytes(1000))
    monkeypatch.setattr(cache, "LIMIT", 3500)
    for k in range(5):
        publish(folder, f"key{k}", built)
        os.utime(folder / f"key{k}", (k + 1, k + 1))
        if k == 2:
            assert lookup(folder, "key0") is not None  # used again, so it stays
    kept = {key for key, _, _ in entries(folder)}
    assert "key0" in kept
    assert "key4" in kept
    assert "key1" not in kept
    assert sum(size for _, size, _ in entries(folder)) <= 3500


def test_what_a_killed_build_left_is_removed(folder: Path, tmp_path: Path) -> None:
    cache_folder()
    built = tmp_path / "built"
    built.write_bytes(b"library")
    publish(folder, "key", built)
    left = folder / "key" / "tmpabc"
    left.write_bytes(b"half")
    publish(folder, "key", built)
    assert left.exists()  # perhaps of a build that is still running
    os.utime(left, (1, 1))
    publish(folder, "key", built)
    assert not left.exists()


def test_processes_build_the_same_kernel_at_once(folder: Path) -> None:
    script = "from test_build import answer; assert answer(7.0) == 35.0"
    workers = [subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parent) for _ in range(4)]
    assert [w.wait() for w in workers] == [0] * 4
    assert len(list(folder.glob("*/*.so"))) == 1
    assert len(list(folder.glob("*/*"))) == 1


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


def test_a_wish_that_does_not_run_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler -O9")
    with pytest.warns(RuntimeWarning, match="CC='/no/such/compiler -O9' does not run"):
        assert find_compiler() is not None


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
        patch.setattr(building, "_version", lambda: "0")
        keys.add(building._key(example(), compiler))
    keys.add(building._key(example(), building.Compiler(compiler.command, "a newer one")))
    assert len(keys) == 6
