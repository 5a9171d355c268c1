from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symdiff.errors import DataError
from symdiff.ground.limits import LIMITS
from symdiff.tools.command.write_files import write_arrays
from symdiff.tools.read_files import read_array, read_table, split_source


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
