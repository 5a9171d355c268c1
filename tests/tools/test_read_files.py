"""Files of numbers, read, written, and rows at a time; Parquet where pyarrow is installed."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import symdiff as sd
from symdiff.errors import DataError
from symdiff.ground.files import replace_file
from symdiff.ground.limits import LIMITS
from symdiff.tools.command.cli import main
from symdiff.tools.command.read_files import read_array, read_table, split_source
from symdiff.tools.command.stream import open_rows
from symdiff.tools.command.write_files import check_target, write_arrays


def npy(array: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def claim(header: str, data: bytes = b"") -> bytes:
    text = header.encode("latin1")
    text += b" " * (118 - len(text) - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def long_header(text: str) -> bytes:
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text) + 1) + text.encode() + b"\n" + b"0" * 80


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(6, dtype=np.float32),
        np.arange(6, dtype=">f8").reshape(2, 3),
        np.array([True, False]),
        np.arange(3, dtype=np.uint8),
        np.float64(2.5),
        np.empty((0, 3)),
    ],
)
def test_npy_round_trip(tmp_path: Path, array: Any) -> None:
    np.save(tmp_path / "x.npy", array)
    found = read_array(str(tmp_path / "x.npy"))
    np.testing.assert_array_equal(found, array)
    assert found.shape == np.shape(array)


def test_npz_by_name_by_input_and_alone(tmp_path: Path) -> None:
    several, one = tmp_path / "several.npz", tmp_path / "one.npz"
    np.savez_compressed(several, X=np.arange(4.0), y=np.ones(2))
    np.savez(one, thing=np.arange(3))
    np.testing.assert_array_equal(read_array(f"{several}:y"), np.ones(2))
    np.testing.assert_array_equal(read_array(str(several), "X"), np.arange(4.0))
    np.testing.assert_array_equal(read_array(str(one), "z"), np.arange(3))
    with pytest.raises(DataError, match="2 arrays, none called 'z'; expected one of X, y"):
        read_array(str(several), "z")
    with pytest.raises(DataError, match="no array 'q'; expected one of X, y"):
        read_array(f"{several}:q")


SQUARE = npy(np.ones((4, 4)))
BAD_NPY = [
    (b"", "is empty"),
    (b"hello", "is not a .npy file"),
    (SQUARE[:7], "is not a .npy file"),
    (SQUARE[:9], "damaged header"),
    (SQUARE[:60], "damaged header"),
    (SQUARE[:-1], "cut off: an array of shape (4, 4) takes 128 bytes and 127 are there"),
    (npy(np.array([{}, 1], dtype=object), allow_pickle=True), "pickled Python objects"),
    (npy(np.ones(3) * 1j), "holds complex128"),
    (npy(np.array(["1.5"])), "holds <U3"),
    (npy(np.array([1], dtype="M8[s]")), "holds datetime64"),
    (npy(np.zeros(2, dtype=[("a", float)])), "holds [("),
    (npy(np.zeros(2, dtype=np.longdouble)), "holds float"),
    (claim("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 10000), }", b"0" * 80), "cut off"),
    (claim("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }", b"0" * 80), "damaged header"),
    (claim("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"0" * 80), "pickled Python objects"),
    (claim("{'descr': '<f8', 'shape': (1,), }", b"0" * 80), "damaged header"),
    (claim("__import__('os').mkdir('pwned')", b"0" * 80), "damaged header"),
    (b"\x93NUMPY\x09\x00" + SQUARE[8:], "version (9, 0)"),
    *[
        (claim(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}", b"0" * 800), "damaged header")
        for shape in (
            *("(0, 10**20)", "(0, 100000000000000000000)", "(True,)", "(1.5,)", "3", "[3]", "(0, -1)", "None"),
            *("(" + "1, " * 33 + ")", "(9223372036854775807, 9223372036854775807, 0)", "(9223372036854775808,)"),
        )
    ],
    (claim("{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (1,), }", b"0" * 80), "expected real numbers"),
    *[
        (long_header(text), "damaged header")
        for text in (
            "{" * 3000,
            "(" * 60 + ")" * 60,
            "-" * 9000 + "1",
            "9" * 6000,
            "[" * 90 + "]" * 90,
            "{" + " " * 70_000,
        )
    ],
    (SQUARE[:8] + b"\xff\xff", "damaged header"),
    (SQUARE[:6] + b"\x02\x00\xff\xff\xff\xff", "damaged header"),
]


@pytest.mark.parametrize(("contents", "words"), BAD_NPY, ids=range(len(BAD_NPY)))
@pytest.mark.parametrize("packed", [False, True])
def test_bad_npy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: bytes, words: str, packed: bool) -> None:
    monkeypatch.chdir(tmp_path)
    if packed:
        with zipfile.ZipFile("x.npz", "w") as archive:
            archive.writestr("x.npy", contents)
        words = "is not a .npy file" if words == "is empty" else words
    else:
        Path("x.npy").write_bytes(contents)
    with pytest.raises(DataError) as caught:
        read_array("x.npz" if packed else "x.npy")
    assert words in str(caught.value)
    assert str(caught.value).startswith(("x.npy", "x.npz"))
    assert not Path("pwned").exists()


def test_no_array_beyond_the_memory_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A sparse file: as long as its header claims, and nearly nothing on the disk.
    path = tmp_path / "x.npy"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    count = memory // 8 + 1
    head = claim(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}")
    path.write_bytes(head)
    os.truncate(path, len(head) + 8 * count)
    with pytest.raises(DataError, match="more than the memory of this machine"):
        read_array(str(path))


@pytest.mark.parametrize("damage", ["head", "middle", "tail", "encrypted"])
def test_damaged_npz(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=1000))
    contents = bytearray(path.read_bytes())
    if damage == "head":
        contents[:4] = b"JUNK"
    elif damage == "middle":
        contents[len(contents) // 2 : len(contents) // 2 + 40] = bytes(40)
    elif damage == "tail":
        del contents[-30:]
    else:
        contents[6] |= 1
        contents[contents.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(contents))
    with pytest.raises(DataError, match=r"x\.npz is not a sound \.npz file"):
        read_array(str(path))


def packed(count: int) -> bytes:
    """Return a .npz file of so many zeros, a thousandth of their size."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        member.write(claim(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}"))
        for _ in range(count // 10**6):
            member.write(bytes(8 * 10**6))
    return stream.getvalue()


def test_what_is_packed_unpacks_within_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    contents = packed(3 * 10**6)
    path.write_bytes(contents)
    assert len(contents) < 50_000
    np.testing.assert_array_equal(read_array(str(path)), np.zeros(3 * 10**6))
    tight = replace(LIMITS, unpacked_bytes=2 * 10**7)
    tracemalloc.start()
    with pytest.raises(DataError, match="unpacks to 24000000 bytes, more than the 20000000 that a compressed file"):
        read_array(str(path), limits=tight)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
    # what is as long in the file as in memory is bounded by the file
    np.savez(path, x=np.ones(3 * 10**6))
    assert read_array(str(path), limits=tight).shape == (3 * 10**6,)


def test_an_archive_that_says_less_than_it_holds_is_read_no_further(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    contents = bytearray(packed(10**6))
    at = contents.rindex(b"PK\x01\x02")
    contents[at + 24 : at + 28] = struct.pack("<I", 500)  # the size that it says it has unpacked
    path.write_bytes(bytes(contents))
    with pytest.raises(DataError, match=r"cut off|not a sound"):
        read_array(str(path))
    contents[at + 24 : at + 28] = struct.pack("<I", 2**31)
    path.write_bytes(bytes(contents))
    np.testing.assert_array_equal(read_array(str(path)), np.zeros(10**6))


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_is_packed_as_numpy_does(tmp_path: Path, how: int) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.writestr("x.npy", npy(np.ones(3)))
    with pytest.raises(DataError, match=r"numpy\.savez does not know"):
        read_array(str(path))


def test_an_archive_with_a_long_table_of_contents_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    entry = (
        struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *(20, 20, 0, 0, 0, 0), *(0, 0, 0), *(1, 0, 0, 0, 0), *(0, 0)) + b"x"
    )
    table = entry * 100_000
    path.write_bytes(table + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, len(table), 0, 0))
    tracemalloc.start()
    with pytest.raises(DataError, match="a table of contents of 4700000 bytes"):
        read_array(str(path))
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.npy").mkdir()
    os.mkfifo("pipe.csv")
    Path("loop.npy").symlink_to("loop.npy")
    for source, words in {
        "nowhere.npy": "no such file",
        "folder.npy": "is a folder",
        "pipe.csv": "no ordinary file",
        "loop.npy": "cannot be read",
        "data.txt": "expected a file of numbers called",
        "data.npy:x": "holds one array",
        "a\0b.npy": "cannot be read",
        "x" * 300 + ".csv": "cannot be read",
        "": "expected a file of numbers called",
    }.items():
        with pytest.raises(DataError, match=words):
            read_array(source)


def test_source_with_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npz:b.npy", np.ones(2))
    assert split_source("a.npz:b.npy") == (Path("a.npz:b.npy"), "")
    assert split_source("other.npz:b") == (Path("other.npz"), "b")
    np.testing.assert_array_equal(read_array("a.npz:b.npy"), np.ones(2))


# ---------------------------------------------------------------------------- .csv

TABLE = [[1.0, -2.5], [3e2, 0.25]]


@pytest.mark.parametrize(
    "text",
    [
        "1,-2.5\n3e2,.25\n",
        "a,b\n1,-2.5\n3e2,.25\n",
        "a;b\r\n1;-2.5\r\n3e2;.25",
        "1\t-2.5\n\n300\t0.25\n\n",
        "# made by hand\n1 -2.5\n 300   +0.25 \n",
        '"a","b"\n"1"," -2.5"\n3E+2,0.25\n',
        "\ufeffa,b\n1,-2.5\n3e2,.25\n",
    ],
)
def test_csv_forms(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    np.testing.assert_array_equal(read_array(str(path)), TABLE)


def test_csv_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name,a,b\nx,1,2\ny,3,inf\n")
    np.testing.assert_array_equal(read_array(f"{path}:b, a"), [[2, 1], [np.inf, 3]])
    np.testing.assert_array_equal(read_array(f"{path}:a"), [1, 3])
    assert read_table(path).text("name") == ["x", "y"]
    path.write_text("1,2,3\n4,5,6\n")
    np.testing.assert_array_equal(read_array(f"{path}:2,0"), [[3, 1], [6, 4]])
    with pytest.raises(DataError, match="no column 'a' \\(it has no header, so columns are counted from 0\\)"):
        read_array(f"{path}:a")
    path.write_text("a,a\n1,2\n")
    with pytest.raises(DataError, match="two columns 'a'"):
        read_array(f"{path}:a")


def test_csv_keeps_every_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)) * 10.0 ** np.arange(-300, 300, 4)[:150].reshape(50, 3)
    path = tmp_path / "t.csv"
    write_arrays(path, {"value": values})
    np.testing.assert_array_equal(read_array(str(path)), values)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"", "is empty"),
        (b"\n  \n# nothing\n", "has no rows"),
        (b"a,b\n", "has a header and no rows"),
        (b"a,b\n1,2\n3,nan\n", "line 3, column 2 (b): 'nan' is a missing value"),
        (b"1,2\n3,\n", "line 2, column 2: '' is a missing value"),
        (b"NA,NA\n1,2\n", "line 1, column 1: 'NA' is a missing value"),
        (b"a,b\n1,two\n", "line 2, column 2 (b): 'two' is not a number"),
        (b"year,2019\n1,2\n", "line 1, column 1: 'year' is not a number; a header has names only"),
        (b"1,2\n\n3\n", "line 3: 1 cells; expected 2, as in line 1"),
        (b"1,2\n3,4,5\n", "line 2: 3 cells; expected 2"),
        (b"1;2\n3,5;4\n", "line 2, column 1: '3,5' has a decimal comma"),
        (b"1,1e999\n", "line 1, column 2: '1e999' is beyond the range of a double"),
        (b"1,1_000\n", "'1_000' is not a number"),
        ("1,\u0663\n".encode(), "'\u0663' is not a number"),
        (b"1,2\n3,\xe9\n", "line 2: byte 0xe9 is no UTF-8"),
        (b"1,2\n3,\x00\n", "line 2: a zero byte"),
        ("1,2\n".encode("utf-16"), "no UTF-8"),
        (b'1,"2\n3,4"\n', "line 1: unexpected end of data"),
        (b"1," + b"9" * 200_000 + b"\n", "line 1: field larger than"),
        (b"1,2\n3,4,\n", "line 2: 3 cells; expected 2"),
        (b"1,2\n\x00" + b"\x00" * 100, "line 2: a zero byte"),
        (b"1\n" + b"," * (2**22 + 1), "line 2 is longer than 4194304 bytes"),
        (b"1 " * 2**22, "line 1 is longer than 4194304 bytes"),
        (b"a," * 2**20 + b"a", "has a header and no rows"),
    ],
)
def test_bad_csv(tmp_path: Path, contents: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(contents)
    with pytest.raises(DataError) as caught:
        read_array(str(path))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_table_is_read_row_by_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2,3,4\n" * 10_000)
    tracemalloc.start()
    found = read_array(str(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.shape == (10_000, 4)
    assert most < 4 * found.nbytes


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"])
def test_lines_are_counted_whatever_ends_them(tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(["1,2", "# 3", "", "3,x"]).encode())
    with pytest.raises(DataError, match="line 4, column 2: 'x' is not a number"):
        read_array(str(path))


# ---------------------------------------------------------------------------- write files


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


# ---------------------------------------------------------------------------- row streams
# Files of rows, whole and some at a time; Parquet where pyarrow is installed.


KINDS = ["npy", "npz", "packed", "csv", "parquet"]


def write(path: Path, kind: str, array: np.ndarray[Any, Any]) -> str:
    """Write rows; return the file as a command takes it."""
    target = path.with_suffix({"packed": ".npz"}.get(kind, f".{kind}"))
    if kind == "npy":
        np.save(target, array)
    elif kind == "npz":
        np.savez(target, other=np.ones(2), x=array)
    elif kind == "packed":
        np.savez_compressed(target, other=np.ones(2), x=array)
    elif kind == "csv":
        np.savetxt(target, array, delimiter=",", fmt="%.17g", header="" if array.ndim > 1 else "x", comments="")
    else:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {"x": array} if array.ndim == 1 else {f"c{k}": column for k, column in enumerate(array.T)}
        parquet.write_table(pa.table(columns), target, row_group_size=7)
    return str(target)


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0, 3])
def test_batches_are_the_rows_of_the_file(kind: str, width: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(width)
    array = rng.normal(size=(20, width) if width else 20)
    source = write(tmp_path / "x", kind, array)
    stream = open_rows(source, "x")
    np.testing.assert_array_equal(stream.first, array[:1])
    assert stream.rows in (20, None)
    for count in (1, 6, 20, 100):
        parts = list(stream.batches(count))
        assert [len(part) for part in parts[:-1]] == [count] * (len(parts) - 1)
        np.testing.assert_array_equal(np.concatenate(parts), array)
    np.testing.assert_array_equal(read_array(source, "x"), array)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_rows_do_not_depend_on_how_many_come_at_once(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 3))
    source = write(tmp_path / "x", kind, x)
    w = "w=[0.5,-1,2]"
    args = ["eval", "(w @ x - 1)**2", "--wrt", "w", "--data", f"x={source}", "--batch", "x", "--value", w]
    expected = sd.compile("gradient((w @ x - 1)**2, w)", w=3, x=3)([0.5, -1, 2], x)
    total = tmp_path / "g.npy"
    said = run(*args, "--reduce", "sum", "--rows-at-once", "8", "--out", str(total))
    assert "50 rows of x, 8 at a time" in said
    np.testing.assert_allclose(np.load(total), expected.sum(0), rtol=1e-13)
    for suffix in ("npy", "csv", *(["parquet"] if kind == "parquet" else [])):
        out = tmp_path / f"rows.{suffix}"
        said = run(*args, "--rows-at-once", "8", "--out", str(out))
        assert f"wrote {out}" in said
        assert "50 rows of x, 8 at a time" in said
        np.testing.assert_array_equal(read_array(str(out)), expected)
        whole = tmp_path / f"whole.{suffix}"
        run(*args, "--out", str(whole))
        np.testing.assert_array_equal(read_array(str(whole)), expected)


def test_several_files_go_row_by_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    first, second = write(tmp_path / "x", "npy", x), write(tmp_path / "y", "csv", y)
    out = tmp_path / "r.npy"
    args = ["eval", "y * sum(x)", "--data", f"x={first}", "--data", f"y={second}", "--batch", "auto", "--out", str(out)]
    run(*args, "--rows-at-once", "7")
    np.testing.assert_allclose(np.load(out), y * x.sum(1), rtol=1e-14)
    write(tmp_path / "y", "csv", y[:10])
    out.write_bytes(b"as it was")
    assert "--overwrite" in run(*args, "--rows-at-once", "7", code=2)
    args.append("--overwrite")
    assert "y.csv ends before" in run(*args, "--rows-at-once", "7", code=2)
    assert out.read_bytes() == b"as it was"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--batch", "x"], "add --out FILE, or --reduce sum"),
        (["--batch", "x", "--out", "r.npz"], "expected a name ending in .npy, .csv or .parquet"),
        (["--reduce", "sum"], "--rows-at-once without --batch"),
        (["--batch", "z", "--reduce", "sum"], "--batch z, which has no --data"),
        (["--batch", "x", "--reduce", "sum", "--data", "x=x.npy"], "come twice"),
    ],
)
def test_what_cannot_be_streamed_is_refused(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((4, 2)))
    said = run("eval", "sum(x)", "--data", "x=x.npy", "--rows-at-once", "2", *args, code=2)
    assert message in said.replace("\n", " ")


def test_damaged_files_are_told(tmp_path: Path) -> None:
    whole = write(tmp_path / "x", "packed", np.random.default_rng(0).normal(size=(3000, 4)))
    bytes_ = bytearray(Path(whole).read_bytes())
    bytes_[len(bytes_) // 2] ^= 0xFF
    Path(whole).write_bytes(bytes_)
    with pytest.raises(DataError, match=r"not a sound \.npz file"):
        list(open_rows(whole, "x").batches(500))
    np.save(tmp_path / "f.npy", np.asfortranarray(np.ones((3, 2))))
    with pytest.raises(DataError, match="holds its columns one after the other; save it in rows"):
        open_rows(str(tmp_path / "f.npy"))
    np.save(tmp_path / "n.npy", np.float64(3))
    with pytest.raises(DataError, match="holds a single number"):
        open_rows(str(tmp_path / "n.npy"))
    np.save(tmp_path / "e.npy", np.ones((0, 3)))
    with pytest.raises(DataError, match="has no rows"):
        open_rows(str(tmp_path / "e.npy"))
    (tmp_path / "t.csv").write_text("1,2\n3,x\n")
    with pytest.raises(DataError, match=r"line 2, column 2: 'x' is not a number"):
        list(open_rows(str(tmp_path / "t.csv")).batches(1))


def test_columns_of_parquet_by_name(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    table = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "v": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float64(), 2))}
    parquet.write_table(pa.table({**table, "name": ["p", "q", "r"], "hole": [1.0, None, 3.0]}), path)
    np.testing.assert_array_equal(read_array(f"{path}:b,a"), [[0.5, 1], [1.5, 2], [2.5, 3]])
    np.testing.assert_array_equal(read_array(f"{path}:a"), [1, 2, 3])
    np.testing.assert_array_equal(read_array(f"{path}:v"), [[1.0, 2.0]] * 3)
    for part, message in (
        ("z", "has no column 'z'; expected one of a, b, v, name, hole"),
        ("name", r"t.parquet: column 'name' is a column of string \(Arrow\)"),
        ("a,hole", "column 'hole' of .*t.parquet has a missing value, the first at row 1"),
    ):
        with pytest.raises(DataError, match=message):
            read_array(f"{path}:{part}")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match="is not a sound Parquet file"):
        read_array(str(path))
    out = tmp_path / "r.parquet"
    np.save(tmp_path / "x.npy", np.ones((4, 2)))
    run("eval", "sum(x**2) * y", "--wrt", "x", "--wrt", "y", "--data", f"x={tmp_path / 'x.npy'}", "--batch", "x",
        "--value", "y=3", "--out", str(out))
    assert parquet.read_table(out).to_pydict() == {"d/dx_0": [6.0] * 4, "d/dx_1": [6.0] * 4, "d/dy": [2.0] * 4}


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(sd.UnsupportedError, match=r"without pyarrow .*pip install pyarrow"):
        read_array(str(tmp_path / "t.parquet"))


CHILD = """
import sys
from symdiff.tools.command.cli import main
try:
    main(sys.argv[1:], standalone_mode=False)
finally:
    lines = dict(line.split(":") for line in open("/proc/self/status"))
    print("peak", int(lines["VmHWM"].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the memory of a process")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for rows in (1_000, 400_000):
        np.save(tmp_path / "x.npy", np.ones((rows, 50)))
        args = ["eval", "sum(x)**2", "--data", f"x={tmp_path / 'x.npy'}", "--batch", "x", "--reduce", "sum"]
        command = [sys.executable, "-c", CHILD, *args, "--rows-at-once", "1000"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < peaks[0] + 80  # the longer file has 160 MB
