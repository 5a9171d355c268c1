"""Plain values as bytes, and back: a header of JSON, and behind it what is long, as it lies in memory.

Values are None, bools, whole numbers, floats, text, bytes, tuples, lists and dicts of them, arrays of numbers, and
records of the classes in a table. Nothing else is written, and nothing else can be read: a file names no function and
no class of Python's.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import DataError

__all__ = ["MOST", "UnkeepableError", "read", "write"]

#: Bytes of one record, at most; what is longer is made again.
MOST = 64 * 2**20
#: Numbers from which on a tuple of them is written as it lies in memory.
LONG = 8
_LENGTHS = struct.Struct("<II")
_REAL = struct.Struct("<d")
_ITEMS = {"i": 4, "q": 8, "d": 8, "B": 1, "H": 2}
_WHOLE = range(-(2**63), 2**63)


class UnkeepableError(Exception):
    """A value has no plain form."""


def write(value: Any, tags: Mapping[type, tuple[str, Callable[[Any], Any]]]) -> bytes:
    """Return a value as bytes.

    Parameters
    ----------
    value : plain value
    tags : mapping of type to (str, callable)
        Further classes: the name that stands for each, and what returns its contents as a plain value.

    Raises
    ------
    UnkeepableError
        If it holds something else.
    """
    import json

    blobs: list[memoryview] = []
    header = json.dumps(_plain(value, tags, blobs), separators=(",", ":"), allow_nan=False).encode()
    sizes = array("q", [len(blob) for blob in blobs]).tobytes()
    return b"".join([_LENGTHS.pack(len(header), len(blobs)), header, sizes, *blobs])


def _plain(value: Any, tags: Mapping[type, tuple[str, Callable[[Any], Any]]], blobs: list[memoryview]) -> Any:
    kind = type(value)
    if value is None or kind in (str, bool):
        return value
    if kind is int:
        return value if value in _WHOLE else {"w": hex(value)}
    if kind is float:
        return {"f": _REAL.pack(value).hex()}  # bit by bit: nan has a sign
    if kind is tuple:
        if len(value) >= LONG:
            kinds = {*map(type, value)}
            if kinds == {float}:
                return _blob("d", array("d", value), blobs, "t")
            if kinds == {int} and min(value) in _WHOLE and max(value) in _WHOLE:
                return _blob("q", array("q", value), blobs, "t")
        return [_plain(part, tags, blobs) for part in value]
    if kind is list:
        return {"l": [_plain(part, tags, blobs) for part in value]}
    if kind is dict:
        return {"d": [[_plain(key, tags, blobs), _plain(part, tags, blobs)] for key, part in value.items()]}
    if kind is bytes:
        return _blob("", value, blobs, "b")
    if kind is array:
        return _blob(value.typecode, value, blobs, "a")
    if kind in tags:
        name, contents = tags[kind]
        return {"r": [name, _plain(contents(value), tags, blobs)]}
    raise UnkeepableError(f"{kind.__name__} has no plain form")


def _blob(code: str, contents: bytes | array[Any], blobs: list[memoryview], tag: str) -> Any:
    blobs.append(memoryview(contents).cast("B"))  # no copy: there may be a million numbers
    return {tag: [code, len(blobs) - 1]}


def read(contents: bytes, makers: Mapping[str, Callable[[Any], Any]]) -> Any:
    """Return the value that :func:`write` wrote.

    Parameters
    ----------
    contents : bytes
    makers : mapping of str to callable
        What makes each further class again, by the name that stands for it.

    Raises
    ------
    DataError
        If it is not in the form that is written.
    """
    import json

    try:
        length, count = _LENGTHS.unpack_from(contents)
        begin = _LENGTHS.size
        header = json.loads(contents[begin : begin + length])
        begin += length
        sizes = array("q", contents[begin : begin + 8 * count])
        begin += 8 * count
        blobs = []
        for size in sizes:
            blobs.append(contents[begin : begin + size])
            begin += size
        if len(sizes) != count or begin != len(contents) or min(sizes, default=0) < 0:
            raise ValueError("parts do not fill the whole")
        return _value(header, makers, blobs)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, struct.error, RecursionError) as error:
        raise DataError(f"not a record of symdiff: {error}") from None


def _value(plain: Any, makers: Mapping[str, Callable[[Any], Any]], blobs: list[bytes]) -> Any:
    if type(plain) is list:
        return tuple([_value(part, makers, blobs) for part in plain])
    if type(plain) is not dict:
        return plain
    ((tag, contents),) = plain.items()
    if tag == "r":
        name, inner = contents
        return makers[name](_value(inner, makers, blobs))
    if tag == "l":
        return [_value(part, makers, blobs) for part in contents]
    if tag == "d":
        return {_value(key, makers, blobs): _value(part, makers, blobs) for key, part in contents}
    if tag == "f":
        return _REAL.unpack(bytes.fromhex(contents))[0]
    if tag == "w":
        return int(contents, 16)
    code, number = contents
    if tag == "b":
        return blobs[number]
    if code not in _ITEMS or tag not in ("a", "t"):
        raise ValueError(f"unknown tag {tag!r}")
    numbers = array(code, blobs[number])
    return numbers if tag == "a" else tuple(numbers.tolist())
