from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from test_build import answer

from symdiff.errors import BuildError
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import cache
from symdiff.runtime.toolchain.cache import clear, lookup, obstacle, publish, usable_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand for a new process with an empty cache."""
    chosen = tmp_path / "kept"
    forget(monkeypatch)
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(chosen))
    return chosen


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_loaded", {})
    monkeypatch.setattr(cache, "_sizes", {})
    monkeypatch.setattr(cache, "_told", set())


def only(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def script(body: str, **environment: str) -> str:
    """Run Python in a process of its own and return what it prints."""
    place = Path(__file__).parent
    path = os.pathsep.join([str(place), str(place.parent)])
    done = subprocess.run(
        [sys.executable, "-c", "from test_build import answer\n" + textwrap.dedent(body)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---------------------------------------------------------------------------- files


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5000])


def alter(file: Path) -> None:
    contents = bytearray(file.read_bytes())
    contents[len(contents) // 2] ^= 1
    file.write_bytes(contents)


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"?")


def empty(file: Path) -> None:
    file.write_bytes(b"")


def open_to_others(file: Path) -> None:
    file.chmod(0o666)


def link(file: Path) -> None:
    other = file.parent.parent / "other"
    file.rename(other)
    file.symlink_to(other)


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def foreign(file: Path) -> None:
    """Put the kernel of another formula, sound in itself, under this one's name."""
    answer(3.0)
    (other,) = (path for path in file.parent.iterdir() if path != file)
    other.replace(file)


def other_library(file: Path) -> None:
    """Put what was once kept here, and does not load on this system."""
    publish(file.parent, file.stem, b"\x7fELF of another system")


@pytest.mark.parametrize(
    "damage", [shorten, alter, lengthen, empty, open_to_others, link, pipe, foreign, other_library]
)
def test_what_is_not_what_was_kept_is_built_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    assert answer(2.0) == 10.0
    file = only(folder)
    sound = file.read_bytes()
    damage(file)
    forget(monkeypatch)
    assert answer(2.0) == 10.0
    assert only(folder).read_bytes() == sound
    assert not only(folder).is_symlink()
    assert lookup(folder, file.stem) is not None


def test_a_folder_in_the_place_of_a_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(2.0) == 10.0
    file = only(folder)
    file.unlink()
    file.mkdir()
    forget(monkeypatch)
    assert answer(2.0) == 10.0
    assert only(folder).is_dir()  # not symdiff's, so it stays


def test_a_file_of_someone_else_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(2.0)
    key = only(folder).stem
    assert lookup(folder, key) is not None
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert lookup(folder, key) is None


def test_a_running_kernel_does_not_see_its_file_change(folder: Path) -> None:
    assert answer() == 10.0
    body = """
    import numpy as np
    from test_build import program
    from symdiff.runtime.runners.programs import NativeRunner
    runner = NativeRunner(program())
    assert runner.build_seconds == 0
    with open({!r}, "r+b") as stream:
        stream.truncate(0)
    out = np.zeros(20)
    runner.run([np.full(20, 5.0)], [out], False)
    assert (out == 10).all()
    """
    script(body.format(str(only(folder))))


# ---------------------------------------------------------------------------- folders


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_others_can_write_is_not_used(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=f"can be written by others .mode 0{mode:o}.*SYMDIFF_CACHE_DIR"):
        assert answer() == 10.0
    assert answer(3.0) == 15.0  # said once
    assert not list(folder.iterdir())


def test_a_folder_that_was_opened_to_others_is_not_used_any_more(folder: Path) -> None:
    assert answer() == 10.0
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="can be written by others"):
        assert answer(3.0) == 15.0
    assert only(folder)


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="a link is not followed"):
        assert answer() == 10.0
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_folder_of_someone_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert usable_folder() is None
    assert "belongs to another user" in obstacle(folder)


def test_a_home_that_cannot_be_written() -> None:
    # Nobody makes a folder in /proc, not even the superuser.
    output = script(
        """
        import warnings
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            print(answer(), answer(3.0))
        print(*(one.message for one in said))
        """,
        HOME="/proc/home",
        XDG_CACHE_HOME="",
        SYMDIFF_CACHE_DIR="",
    )
    assert output.startswith("10.0 15.0\n")
    assert output.count("cannot be made") == 1


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    forget(monkeypatch)
    with pytest.warns(RuntimeWarning, match="this user has no home"):
        assert usable_folder() is None
    assert not Path("~").exists()


def test_a_file_where_the_folder_should_be(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(RuntimeWarning, match="is not a folder"):
        assert answer() == 10.0


def test_a_folder_that_is_removed_meanwhile_is_made_again(folder: Path) -> None:
    assert answer() == 10.0
    only(folder).unlink()
    folder.rmdir()
    assert answer(3.0) == 15.0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only(folder).stat().st_mode) == 0o600


# ---------------------------------------------------------------------------- full disks

LIMITED = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
"""


def test_a_disk_that_is_full_when_the_kernel_is_to_be_kept(folder: Path) -> None:
    answer()
    size = only(folder).stat().st_size
    clear(folder)
    # Files of a build may be longer than the library that comes of it.
    body = """
    import resource
    from symdiff.runtime.toolchain import cache
    publish = cache.publish
    def publish_on_a_full_disk(*arguments):
        resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
        assert not publish(*arguments)
        print("full")
    cache.publish = publish_on_a_full_disk
    print(answer())
    """
    assert script(body.format(size - 1)) == "full\n10.0\n"
    assert not list(folder.iterdir())


def test_a_disk_that_is_full_when_the_kernel_is_built(folder: Path) -> None:
    body = """
    from symdiff.errors import BuildError
    try:
        answer()
    except BuildError as error:
        print(error)
    """
    output = script(LIMITED.format(100) + body)
    assert "the compiler failed" in output or "was stopped by SIGXFSZ" in output or "File too large" in output
    assert not list(folder.iterdir())


def test_no_room_for_a_folder_to_build_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **more: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(BuildError, match=r"No space left on device. There must be space below \$TMPDIR"):
        answer()
