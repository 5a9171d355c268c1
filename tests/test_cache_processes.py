"""The cache among processes: built at once, killed, forked, on other machines, and its size."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from test_build import answer, example
from test_cache import folder, script  # noqa: F401

import symdiff as sd
from symdiff.runtime.toolchain import build as building
from symdiff.runtime.toolchain import cache
from symdiff.runtime.toolchain import cache as folders
from symdiff.runtime.toolchain.build import find_compiler
from symdiff.runtime.toolchain.cache import cache_folder, clear, entries, lookup, publish, usable_folder
from symdiff.runtime.toolchain.load import processor


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


def test_eight_processes_build_the_same_kernel_at_once(folder: Path) -> None:  # noqa: F811
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
    assert len(list(folder.iterdir())) == 2


def test_processes_that_are_killed(folder: Path, tmp_path: Path) -> None:  # noqa: F811
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
    folder: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    assert usable_folder() == folder
    dead, alive = folder / "unfinished-dead", folder / "unfinished-alive"
    dead.write_bytes(b"half")
    os.utime(dead, (4e9, 4e9))  # written in the future, by a clock that was wrong
    with open(alive, "wb") as stream:
        assert folders.hold(stream.fileno())
        os.utime(alive, (1, 1))
        assert publish(folder, "key", b"library")
        assert not dead.exists()
        assert alive.exists()


def test_a_build_folder_is_removed_only_when_its_owner_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with folders.build_folder() as held:
        left = tmp_path / f"{held.name}-left"
        left.mkdir()
        (left / "kernel.c").write_text("")
        (tmp_path / "symdiff-build-link").symlink_to(held)
        (tmp_path / "another").mkdir()
        assert folders.remove_abandoned() == 1
        assert held.exists()
        assert not left.exists()
    assert not held.exists()
    assert (tmp_path / "another").exists()


def test_a_kernel_travels_to_a_process_with_an_empty_cache(folder: Path, tmp_path: Path) -> None:  # noqa: F811
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
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch  # noqa: F811
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


def test_the_least_recently_used_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
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
def test_a_clock_that_jumped(folder: Path, monkeypatch: pytest.MonkeyPatch, moment: float) -> None:  # noqa: F811
    usable_folder()
    monkeypatch.setattr(cache, "LIMIT", 4000)
    for k in range(6):
        assert publish(folder, f"key{k}", bytes(1000))
        assert lookup(folder, f"key{k}") is not None  # the newest is never the one removed
        os.utime(folder / f"key{k}.kernel", (moment - k, moment - k))
    assert 0 < sum(size for _, size, _ in entries(folder)) <= 4000


def test_a_kernel_larger_than_the_cache_is_kept_until_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    usable_folder()
    monkeypatch.setattr(cache, "LIMIT", 500)
    for k in range(3):
        assert publish(folder, f"key{k}", bytes(1000))
        assert [key for key, _, _ in entries(folder)] == [f"key{k}"]


def test_what_others_added_is_counted_at_the_first_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    usable_folder()
    for k in range(5):
        assert publish(folder, f"key{k}", bytes(1000))
        os.utime(folder / f"key{k}.kernel", (k + 1, k + 1))
    monkeypatch.setattr(cache, "LIMIT", 3000)
    monkeypatch.setattr(cache, "_sizes", {})
    assert publish(folder, "key5", bytes(1000))
    assert [key for key, _, _ in entries(folder)] == ["key4", "key5"]


def test_clear_leaves_what_is_not_its_own(folder: Path) -> None:  # noqa: F811
    answer()
    (folder / "notes.txt").write_text("mine")
    (folder / "unfinished-dead").write_text("half")
    assert clear(folder) == 1
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert cache_folder() == folder
    assert example().text
