"""The cache of builds: damaged files, other owners, its size, and many processes at once."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import symdiff as sd
from symdiff.errors import BuildError
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import cache
from symdiff.runtime.toolchain.build import find_compiler
from symdiff.runtime.toolchain.cache import cache_folder, clear, entries, lookup, obstacle, publish, usable_folder
from symdiff.runtime.toolchain.load import processor
from tests.runtime.test_build import answer, example


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand for a new process with an empty cache."""
    chosen = tmp_path / "kept"
    forget(monkeypatch)
    monkeypatch.setenv("SYMDIFF_CACHE_DIR", str(chosen))
    return chosen


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_loaded", {})
    monkeypatch.setattr(cache, "_told", set())


def only(folder: Path) -> Path:
    (file,) = (path for path in folder.iterdir() if path.name != cache._HELD)
    return file


def script(body: str, **environment: str) -> str:
    """Run Python in a process of its own and return what it prints."""
    path = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", "from tests.runtime.test_build import answer\n" + textwrap.dedent(body)],
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
    (other,) = (path for path in file.parent.iterdir() if path.name not in (file.name, cache._HELD))
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
    from tests.runtime.test_build import program
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
    shutil.rmtree(folder)
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


# ---------------------------------------------------------------------------- cache processes
# The cache among processes: built at once, killed, forked, on other machines, and its size.


def compiler() -> building.Compiler:
    found = find_compiler()
    assert found is not None
    return found


FORK = """
    import os, random, signal, sys, time
    def fork(work):
        child = os.fork()
        if child == 0:
            try:
                work()
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        return child
"""


@pytest.mark.exhaustive
def test_eight_processes_build_the_same_kernel_at_once(folder: Path) -> None:
    body = """
    ready, go = os.pipe()
    def work():
        os.close(go)
        os.read(ready, 1)  # returns when the parent closes its end
        assert [answer(7.0), answer(8.0)] == [35.0, 40.0]
    children = [fork(work) for _ in range(8)]
    os.close(go)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    """
    script(FORK + body)
    assert len(entries(folder)) == 2
    assert len(list(folder.iterdir())) == 2 + 1  # and their count


@pytest.mark.exhaustive
def test_processes_that_are_killed(folder: Path, tmp_path: Path) -> None:
    body = """
    def work():
        while True:
            for number in (2.0, 3.0, 4.0):
                import symdiff.runtime.toolchain.build, symdiff.runtime.toolchain.cache
                symdiff.runtime.toolchain.build._loaded.clear()
                assert answer(number) == 5 * number
                symdiff.runtime.toolchain.cache.clear(symdiff.runtime.toolchain.cache.cache_folder())
    import tempfile
    tempfile.gettempdir()  # Python tries the folder with a file, which a child that is killed would leave there
    random.seed(3)
    for _ in range(25):
        child = fork(work)
        time.sleep(random.uniform(0, 0.12))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert answer(9.0) == 45.0
    print(sum(name.startswith("symdiff-build-") for name in os.listdir(os.environ["TMPDIR"])))
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    left = int(script(FORK + body, TMPDIR=str(temporary)))
    assert left > 0
    # Compilers that lost their parent may go on for a moment and write into what is removed.
    after = "assert [answer(k) for k in (2.0, 3.0, 4.0, 5.0)] == [10.0, 15.0, 20.0, 25.0]"
    for _ in range(3):
        script(after, TMPDIR=str(temporary))
        clear(folder)
    assert not list(temporary.iterdir())
    assert not list(folder.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert usable_folder() == folder
    dead, alive = folder / "unfinished-dead", folder / "unfinished-alive"
    dead.write_bytes(b"half")
    os.utime(dead, (4e9, 4e9))  # written in the future, by a clock that was wrong
    with open(alive, "wb") as stream:
        assert cache.hold(stream.fileno())
        os.utime(alive, (1, 1))
        assert publish(folder, "key", b"library")
        assert not dead.exists()
        assert alive.exists()


def test_a_build_folder_is_removed_only_when_its_owner_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with cache.build_folder() as held:
        left = tmp_path / f"{held.name}-left"
        left.mkdir()
        (left / "kernel.c").write_text("")
        (tmp_path / "symdiff-build-link").symlink_to(held)
        (tmp_path / "another").mkdir()
        assert cache.remove_abandoned() == 1
        assert held.exists()
        assert not left.exists()
    assert not held.exists()
    assert (tmp_path / "another").exists()


def test_a_kernel_travels_to_a_process_with_an_empty_cache(folder: Path, tmp_path: Path) -> None:
    kernel = sd.compile("jacobian(log(softmax(X @ y)), X)", X=(2, 4), y=4, backend="native")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2, 4)), rng.normal(size=(50, 4))
    parcel = tmp_path / "kernel.pickle"
    parcel.write_bytes(pickle.dumps((kernel, X, y, kernel(X, y))))
    body = """
    import pickle
    kernel, X, y, want = pickle.load(open({!r}, "rb"))
    assert kernel.stats["build_seconds"] > 0
    assert kernel.backend == "c"
    assert (kernel(X, y) == want).all()
    """
    script(body.format(str(parcel)), SYMDIFF_CACHE_DIR=str(tmp_path / "another"))
    assert len([key for key, _, _ in entries(tmp_path / "another") if not key.startswith("plan-")]) == 1


def test_another_processor_or_compiler_builds_its_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper, log = tmp_path / "cc", tmp_path / "log"
    real = compiler().command[0]

    def install(release: str) -> None:
        wrapper.write_text(f'#!/bin/sh\n# {release}\n[ "$1" = --version ] || echo run >> {log}\nexec {real} "$@"\n')
        wrapper.chmod(0o700)
        building._find_compiler.cache_clear()  # as a new process would

    def runs() -> int:
        monkeypatch.setattr(building, "_loaded", {})
        assert answer() == 10.0
        return len(log.read_text().splitlines())

    monkeypatch.setenv("CC", str(wrapper))
    install("release 1")
    assert [runs(), runs()] == [1, 1]
    install("release 1.1")
    assert [runs(), runs()] == [2, 2]
    features = processor()
    monkeypatch.setattr(building, "processor", lambda: (*features, "new"))
    assert [runs(), runs()] == [3, 3]
    monkeypatch.setattr(building, "processor", lambda: features)
    assert runs() == 3


def test_the_least_recently_used_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usable_folder()
    monkeypatch.setattr(cache, "LIMIT", 4000)
    for k in range(6):
        assert publish(folder, f"key{k}", bytes(1000))
        os.utime(folder / f"key{k}.kernel", (k + 1, k + 1))
        if k == 2:
            assert lookup(folder, "key0") == bytes(1000)  # used again, so it stays
        assert sum(size for _, size, _ in entries(folder)) <= 4000
    kept = {key for key, _, _ in entries(folder)}
    assert {"key0", "key5"} <= kept
    assert not {"key1", "key2"} & kept


@pytest.mark.parametrize("moment", [1.0, 4e9])
def test_a_clock_that_jumped(folder: Path, monkeypatch: pytest.MonkeyPatch, moment: float) -> None:
    usable_folder()
    monkeypatch.setattr(cache, "LIMIT", 4000)
    for k in range(6):
        assert publish(folder, f"key{k}", bytes(1000))
        assert lookup(folder, f"key{k}") is not None  # the newest is never the one removed
        os.utime(folder / f"key{k}.kernel", (moment - k, moment - k))
    assert 0 < sum(size for _, size, _ in entries(folder)) <= 4000


def test_a_kernel_larger_than_the_cache_is_kept_until_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usable_folder()
    monkeypatch.setattr(cache, "LIMIT", 500)
    for k in range(3):
        assert publish(folder, f"key{k}", bytes(1000))
        assert [key for key, _, _ in entries(folder)] == [f"key{k}"]


@pytest.mark.parametrize("is_counted", [False, True])
def test_what_others_added_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch, is_counted: bool) -> None:
    usable_folder()
    for k in range(5):
        assert publish(folder, f"key{k}", bytes(1000))
        os.utime(folder / f"key{k}.kernel", (k + 1, k + 1))
    if not is_counted:  # by a version before, or by nobody
        (folder / cache._HELD).unlink()
    monkeypatch.setattr(cache, "LIMIT", 3000)
    assert publish(folder, "key5", bytes(1000))
    assert [key for key, _, _ in entries(folder)] == ["key4", "key5"]


def test_a_folder_is_gone_through_when_it_may_be_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each process, or each entry: that takes seconds where there are many."""
    usable_folder()
    looks: list[int] = []

    def look(folder: Path) -> list[tuple[str, int, float]]:
        looks.append(0)
        return entries(folder)

    monkeypatch.setattr(cache, "entries", look)
    monkeypatch.setattr(cache, "LIMIT", 100_000)
    rng = np.random.default_rng(0)
    for k in range(400):
        assert publish(folder, f"key{k}", bytes(int(rng.integers(1, 3000))))
        assert sum(size for _, size, _ in entries(folder)) <= 100_000
    assert len(looks) <= 70  # of 600,000 bytes, with 12,500 between two looks


def test_clear_leaves_what_is_not_its_own(folder: Path) -> None:
    answer()
    (folder / "notes.txt").write_text("mine")
    (folder / "unfinished-dead").write_text("half")
    assert clear(folder) == 1
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert cache_folder() == folder
    assert example().text
