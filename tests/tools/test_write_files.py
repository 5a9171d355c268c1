from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symdiff.errors import DataError
from symdiff.ground.files import replace_file
from symdiff.tools.command.write_files import check_target, write_arrays
from symdiff.tools.read_files import read_array


def test_results_read_back(tmp_path: Path) -> None:
    arrays = {"X[0]": np.arange(6.0).reshape(2, 3), "file": np.float64(2.0), "A, b": np.ones(2)}
    size = write_arrays(tmp_path / "r.npz", {k: np.asarray(a) for k, a in arrays.items()})
    assert size == (tmp_path / "r.npz").stat().st_size
    with np.load(tmp_path / "r.npz") as found:
        assert sorted(found) == sorted(arrays)
        for key, array in arrays.items():
            np.testing.assert_array_equal(found[key], array)
    for array in arrays.values():
        write_arrays(tmp_path / "r.npy", {"value": np.asarray(array)})
        np.testing.assert_array_equal(np.load(tmp_path / "r.npy"), array)


def test_targets_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.npy").write_bytes(b"numbers")
    Path("link.npy").symlink_to("x.npy")
    Path("folder.npy").mkdir()
    for name, words in {
        "r.txt": "ending in .npy, .npz, .csv or .parquet",
        "none/r.npy": "there is no folder",
        "folder.npy": "no ordinary file",
        "x.npy": "is the input x.npy",
        "./link.npy": "is the input x.npy",
        "x" * 300 + ".npy": "cannot be written",
    }.items():
        with pytest.raises(DataError, match=words):
            check_target(Path(name), [Path("x.npy"), Path("gone.npy")])
    with pytest.raises(DataError, match=r"2 arrays for a \.npy file"):
        check_target(Path("r.npy"), [], [0, 1])
    with pytest.raises(DataError, match=r"a \.csv file holds two axes, the result has 3"):
        check_target(Path("r.csv"), [], [3])
    check_target(Path("r.csv"), [], [2])
    check_target(Path("r.npz"), [Path("x.npy")], [0, 5])
    check_target(Path("r.npy"), [Path("x.npy")])


def test_a_table_has_several_results_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    arrays = {"f": np.arange(3.0), "g": np.arange(6.0).reshape(3, 2) / 3}
    write_arrays(path, arrays)
    assert path.read_text().splitlines()[:2] == ["f,g[0],g[1]", "0,0,0.33333333333333331"]
    np.testing.assert_array_equal(np.loadtxt(path, delimiter=",", skiprows=1), np.column_stack([*arrays.values()]))
    numbers: dict[str, Any] = {"f": np.float64(2.0), "g": np.float64(3.0)}
    write_arrays(path, numbers)
    assert path.read_text() == "f,g\n2,3\n"
    with pytest.raises(DataError, match="f has 3 rows, g has 2 rows; expected as many, or a name"):
        write_arrays(path, {"f": np.ones(3), "g": np.ones(2)})
    assert path.read_text() == "f,g\n2,3\n"


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "r.npy"
    path.write_bytes(b"before")

    def fail(stream: Any) -> None:
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"r\.npy cannot be written: No space left on device"):
        replace_file(path, fail)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["r.npy"]


def test_a_write_goes_through_a_link_and_keeps_the_usual_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "target.npy", tmp_path / "link.npy"
    target.write_bytes(b"before")
    link.symlink_to(target)
    mask = os.umask(0o022)
    try:
        write_arrays(link, {"value": np.ones(3)})
    finally:
        os.umask(mask)
    assert link.is_symlink()
    np.testing.assert_array_equal(np.load(target), np.ones(3))
    assert target.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (4, 1)])
def test_csv_has_names_of_columns_and_is_read_back(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path, array = tmp_path / "r.csv", np.arange(float(np.prod(shape))).reshape(shape) / 7
    write_arrays(path, {"slope": array})
    names = path.read_text().partition("\n")[0].split(",")
    assert names == (["slope"] if array.ndim < 2 else [f"slope[{k}]" for k in range(shape[1])])
    assert np.array_equal(read_array(str(path)).ravel(), array.ravel())
    for k, name in enumerate(names):
        column = array if array.ndim < 2 else array[:, k]
        assert np.array_equal(read_array(f"{path}:{name}").ravel(), column.ravel())
