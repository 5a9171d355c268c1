"""Files from strangers: .npy, .npz and .csv, sound ones and damaged ones, are read or refused within bounds."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

import symdiff as sd
from symdiff.tools.command.read_files import read_array

#: The ending of the name, and the bytes.
FileCase: TypeAlias = tuple[str, bytes]

_SHAPES = (
    "()",
    "(3,)",
    "(2, 3)",
    "(0, 10**20)",
    "(0, 99999999999999999999)",
    "(True,)",
    "(-1,)",
    "(1.5,)",
    "(1" + ",1" * 99 + ")",
    "('a',)",
    "3",
    "[3]",
    "(9223372036854775807, 9223372036854775807)",
    "(1000000000000,)",
    "None",
)
_TYPES = (
    "'<f8'",
    "'<f4'",
    "'>i2'",
    "'|b1'",
    "'<c16'",
    "'|O'",
    "'<U3'",
    "[('a', '<f8')]",
    "'f'*9",
    "'<f99'",
    "''",
    "5",
    "'<M8[s]'",
    "('<f8', (2,))",
    "'V8'",
    "[('a', '<f8', (99999,99999))]",
)
_HEADERS = (
    "{" * 3000,
    "(" * 200 + ")" * 200,
    "-" * 9000 + "1",
    "[]" * 10,
    "",
    "__import__('os').system('x')",
    "9" * 6000,
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'descr': 2}",
    "\x00" * 50,
    "{**{}}",
    "f'{1}'",
)
_CELLS = (
    "1",
    "-2.5",
    "1e5",
    "1e999",
    "nan",
    "",
    "a",
    "1_0",
    "0x1p3",
    "1,5",
    '"',
    '"1"',
    "\x00",
    "é",
    "#",
    "inf",
    "-",
    " ",
    "9" * 400,
    "1" * 5000,
    "٣",
    "\r",
    "\u2028",
    "'",
)


def draw(rng: random.Random) -> FileCase:
    """Draw a file."""
    ending = rng.choice((".npy", ".npz", ".csv"))
    if ending == ".csv":
        contents = _csv(rng)
    elif ending == ".npy":
        contents = _npy(rng)
    else:
        contents = _npz(rng)
    return ending, _damaged(rng, contents) if rng.random() < 0.5 else contents


def _npy(rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        stream = io.BytesIO()
        kind = rng.choice(("f8", "f4", "i2", "?", "c16", "U3"))
        np.save(stream, np.zeros(rng.choice(((), (3,), (2, 3), (0, 4))), kind))
        return stream.getvalue()
    order = rng.choice(("True", "False", "0", "'C'"))
    header = f"{{'descr': {rng.choice(_TYPES)}, 'fortran_order': {order}, 'shape': {rng.choice(_SHAPES)}, }}"
    if rng.random() < 0.3:
        header = rng.choice(_HEADERS)
    text = header.encode("latin1") + b"\n"
    version = rng.choice((1, 1, 2, 3, 9))
    claimed = rng.choice((len(text), len(text), len(text), 2**16 - 1, 2**32 - 1, 0))
    count = struct.pack("<H", claimed % 2**16) if version == 1 else struct.pack("<I", claimed)
    return b"\x93NUMPY" + bytes([version, 0]) + count + text + bytes(rng.choice((0, 8, 24, 48)))


def _npz(rng: random.Random) -> bytes:
    stream = io.BytesIO()
    how = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(stream, "w", how) as archive:
        for k in range(rng.choice((1, 1, 2, 0))):
            name = rng.choice(("x", "y", "../x", "_", "a/", "é", "x" * 300)) + (".npy" if rng.random() < 0.9 else "")
            contents = _npy(rng)
            if how == zipfile.ZIP_DEFLATED and rng.random() < 0.1:  # 40 MB that take 40 KB
                head = io.BytesIO()
                np.lib.format.write_array_header_1_0(
                    head, {"descr": "<f8", "fortran_order": False, "shape": (5 * 10**6,)}
                )
                contents = head.getvalue() + bytes(4 * 10**7)
            archive.writestr(name + "_" * k, contents)
    return stream.getvalue()


def _csv(rng: random.Random) -> bytes:
    delimiter = rng.choice((",", ";", "\t", " "))
    width = rng.choice((1, 2, 3, 50))
    lines = []
    for _ in range(rng.choice((0, 1, 2, 5))):
        count = width if rng.random() < 0.9 else rng.randint(0, 5)
        lines.append(delimiter.join(rng.choice(_CELLS) if rng.random() < 0.2 else "1.5" for _ in range(count)))
    text = rng.choice(("\n", "\r\n", "\r", "\n\n")).join(lines)
    if rng.random() < 0.03:
        text = rng.choice((",", "1,", "1 ", "\n", '"', "1")) * 10**6
    return text.encode(rng.choice(("utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig")), errors="replace")


def _damaged(rng: random.Random, contents: bytes) -> bytes:
    data = bytearray(contents)
    for _ in range(rng.choice((1, 1, 3, 10))):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(4)
        if way == 0 and at < len(data):
            data[at] = rng.choice((0, 255, data[at] ^ 1, data[at] ^ 128, rng.randrange(256)))
        elif way == 1:
            del data[at : at + rng.choice((1, 4, 1000))]
        elif way == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        else:
            data[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"PK\5\6", b"PK\1\2"))
    return bytes(data)


def run(case: FileCase) -> str:
    """Read a file; numbers come, or a refusal that names it."""
    ending, contents = case
    path = Path(f"data{ending}")
    path.write_bytes(contents)
    try:
        found = read_array(str(path), "x")
    except sd.DataError as error:
        return "" if str(path) in str(error) else f"a message without the file's name: {error}"
    if found.dtype.kind not in "fiub" or found.nbytes > 2**28:
        return f"an array of {found.dtype}, {found.nbytes} bytes"
    return ""


def smaller(case: FileCase) -> Iterator[FileCase]:
    """Give shorter files."""
    ending, contents = case
    size = len(contents) // 2
    while size:
        for start in range(0, len(contents), size):
            yield ending, contents[:start] + contents[start + size :]
        size //= 2
