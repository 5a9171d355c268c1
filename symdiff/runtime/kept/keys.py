"""Names of records: hashes of everything that decides what is made of a formula.

Text is named by itself, its shapes and options, so that a formula that is known is not even read. Symbols, SymPy and
functions of Python are named by the graph they give, before it is simplified. Beside these stand this machine, as far
as code depends on it, and the age and size of each of symdiff's own files: what another state of symdiff made is never
taken for what this one would make.
"""

from __future__ import annotations

import marshal
import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ...graph import Node, tabulate
from ...graph.primitives import Authored
from ...graph.sizes import Size
from ...ground.pickles import FORMAT
from ...ground.version import VERSION
from ..toolchain.build import compiler_seen
from ..toolchain.host import c_library, native_target, processor
from .plain import UnkeepableError

__all__ = ["PREFIX", "is_plain", "key_of", "nodes_as_bytes", "part_of"]

#: What the names of records begin with, beside those of built kernels.
PREFIX = "plan-"
_ROOT = Path(__file__).parents[2]
_PLAIN = (str, int, float, bool, type(None))


def key_of(*parts: object) -> str:
    """Return the name for what is decided by some values, plain ones of which ``repr`` tells all."""
    return PREFIX + _hash(repr((_own_files(), _machine(), compiler_seen(), parts)))


def part_of(key: str, part: str) -> str:
    """Return the name of a part of a record."""
    return PREFIX + _hash(f"{key} {part}")


def is_plain(value: Any) -> bool:
    """Tell whether ``repr`` of a value tells all of it: numbers, text, and tuples, lists and dicts of them."""
    kind = type(value)
    if kind is dict:
        return all(is_plain(key) and is_plain(part) for key, part in value.items())
    return all(map(is_plain, value)) if kind in (list, tuple) else kind in _PLAIN


def nodes_as_bytes(roots: Iterable[Node]) -> bytes:
    """Return bytes that differ where graphs differ, in every process alike.

    Raises
    ------
    UnkeepableError
        If a node has a part that is not a value, such as a function of Python.
    """
    rows, order = tabulate(roots)
    for number, (op, payload, shape, dtype) in enumerate(rows):
        kind = type(payload)
        if (payload is not None and kind is not str and kind is not bytes) or Size in map(type, shape):
            rows[number] = (op, _told(payload), _told(shape), dtype)
    return marshal.dumps((rows, order), 2)  # this version writes equal values alike, whichever objects they are


def _told(value: Any) -> Any:
    """Return a payload as plain tuples that begin with the name of their class."""
    kind = type(value)
    if kind in _PLAIN or kind is bytes:
        return value
    if kind is Size:
        return ("Size", value.terms)
    if kind is tuple and set(map(type, value)) == {int}:
        return ("tuple", *value)  # a list of positions, which may be long
    if isinstance(value, tuple) and kind is not Authored:
        return (kind.__name__, *map(_told, value))
    raise UnkeepableError(f"{kind.__name__} is no value")


@cache
def _machine() -> tuple[object, ...]:
    target = native_target()
    functions = tuple(sorted(target.vector_math))
    return (platform.machine(), target.lanes, target.prefix, functions, processor(), c_library())


@cache
def _own_files() -> str:
    """Return a hash of the version of symdiff, and of size and age of each of its files."""
    found: list[tuple[str, int, int]] = []
    folders: list[str] = [str(_ROOT)]
    while folders:
        with os.scandir(folders.pop()) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    if item.name != "__pycache__":
                        folders.append(item.path)
                elif item.name.endswith((".py", ".so", ".pyd")):
                    state = item.stat()
                    found.append((item.path, state.st_size, state.st_mtime_ns))
    return _hash(repr((VERSION, FORMAT, sorted(found))))


def _hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
