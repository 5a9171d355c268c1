from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import symdiff as sd
from symdiff.errors import DataError
from symdiff.ground.files import write_folder

TEXTS = {"one.txt": "1", "two.txt": "é"}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_folder_is_made_and_filled(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b"
    assert write_folder(place, TEXTS) == [place / "one.txt", place / "two.txt"]
    assert contents(tmp_path) == {"a/b/one.txt": b"1", "a/b/two.txt": "é".encode()}
    write_folder(place, {"one.txt": "new"})
    assert contents(tmp_path)["a/b/one.txt"] == b"new"


def test_a_file_in_the_way_stays(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    (tmp_path / "folder" / "two.txt").mkdir(parents=True)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    before = contents(tmp_path)
    for place, words in [
        (taken, "exists and is no folder"),
        (taken / "below", "exists and is no folder"),
        (tmp_path / "folder", "two.txt is a folder, where a file is to be written"),
        (tmp_path / ("x" * 300), "cannot be written"),
        (tmp_path / "a\0b", "cannot be written"),
        (loop, "cannot be written"),
    ]:
        with pytest.raises(DataError, match=words):
            write_folder(place, TEXTS)
    assert contents(tmp_path) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "loop", "taken"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_fails_leaves_nothing_behind(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "one.txt").write_text("old")

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if step == "fsync" else Path, step, fail)
    for place in ("old", "new/deep"):
        with pytest.raises(DataError, match="cannot be written: No space left"):
            write_folder(tmp_path / place, TEXTS)
    assert [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*"))] == ["old", "old/one.txt"]
    assert (tmp_path / "old" / "one.txt").read_text() == "old"


def test_export_onto_a_file_says_so_and_leaves_it(tmp_path: Path) -> None:
    kernel = sd.compile("x + 1", backend="numpy")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for options in ({}, {"overwrite": True}):
        with pytest.raises(DataError, match="taken exists and is no folder"):
            sd.export(kernel, taken, **options)
        (tmp_path / "setup.py").mkdir(exist_ok=True)
        with pytest.raises(sd.SymdiffError, match=r"setup\.py"):
            sd.export(kernel, tmp_path, **options)
    assert taken.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["setup.py", "taken"]
    for wrong in (5, None, object()):
        with pytest.raises(sd.ArgumentError):
            sd.export(kernel, wrong)
    with pytest.raises(sd.ArgumentError, match="expected a kernel"):
        sd.export("x + 1", tmp_path)
