"""Results of each stage for a formula, written to files where ``SYMDIFF_DUMP`` names a folder.

A public call opens a trace (:func:`traced`), a subfolder of its own, and every stage that it runs
may write what it made (:func:`record`), as a file numbered in order. A trace belongs to the context
of its call: threads do not see each other's, and a call within a call writes to the outer one.
Without the variable nothing is opened, and :func:`record` looks at one context variable: texts are
given as functions, which nobody calls then.

Files appear complete or not at all. One has a bounded length, and so has a trace.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import IO

from .._kernels.system.scopes import Bound
from ..errors import DataError
from .files import replace_file

__all__ = ["VARIABLE", "is_traced", "record", "traced"]

#: The environment variable that names the folder.
VARIABLE = "SYMDIFF_DUMP"
#: Bytes of one file and of all files of a trace, and how many files there are.
_FILE, _TRACE, _FILES = 2_000_000, 20_000_000, 90


class _Trace:
    """The subfolder of one call."""

    def __init__(self, place: str, title: str) -> None:
        self.folder = _new_folder(place, title)
        self.count = 0
        self.room = _TRACE

    def write(self, stage: str, text: str | Iterable[str]) -> None:
        """Write a text, or lines, as far as there is room."""
        if self.count > _FILES or self.room <= 0:
            return
        if self.count == _FILES:
            stage, text = "left-out.txt", "This call has more stages than are written."
        contents = _contents([text] if isinstance(text, str) else text, min(_FILE, self.room))
        self.room -= len(contents)
        try:
            replace_file(self.folder / f"{self.count:02d}-{stage}", partial(_fill, contents=contents))
        except DataError as error:
            raise DataError(f"{VARIABLE}: {error}; name another folder, or unset it") from None
        self.count += 1


_current: ContextVar[_Trace | None] = ContextVar("symdiff_trace", default=None)


def _fill(stream: IO[bytes], contents: bytes) -> None:
    stream.write(contents)


def _contents(lines: Iterable[str], most: int) -> bytes:
    """Return lines as bytes; what is beyond ``most`` is not even made."""
    parts: list[bytes] = []
    size = 0
    for line in lines:
        part = line.encode("utf-8", "backslashreplace")
        if size + len(part) > most:
            parts += [part[: most - size], b"\n... the rest is left out\n"]
            break
        parts.append(part if part.endswith(b"\n") else part + b"\n")
        size += len(parts[-1])
    return b"".join(parts)


def _new_folder(place: str, title: str) -> Path:
    """Make the next subfolder: a number, and what of a title may stand in any file's name."""
    words = "-".join(re.findall(r"[A-Za-z0-9]+", title))[:40].strip("-").lower() or "formula"
    folder = Path(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = [int(name[:6]) for name in os.listdir(folder) if name[:6].isdecimal()]
        number = max(taken, default=0)
        while True:
            number += 1
            with suppress(FileExistsError):  # which another thread or process has made meanwhile
                own = folder / f"{number:06d}-{words}"
                own.mkdir()
                return own
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(
            f"{VARIABLE}={place!r:.200}: no folder can be made there ({why}); name another one, or unset it"
        ) from error


def _title(formula: object) -> str:
    """Return a text's first line, the name or the beginning of a formula, or what kind of thing it is."""
    if isinstance(formula, str):
        return next((line.strip() for line in formula.splitlines() if line.strip()), "")
    if isinstance(formula, dict | list | tuple):
        parts = list(formula.values()) if isinstance(formula, dict) else formula
        return _title(parts[0]) if parts else ""
    node = getattr(formula, "node", None)
    if node is None:
        return type(formula).__name__
    return str(node.payload) if node.is_named else repr(node)[1:-1]


class traced(Bound["_Trace | None"]):  # noqa: N801 (it is used as a function is)
    """Write what is recorded meanwhile to a subfolder of its own, if the environment asks for that.

    Parameters
    ----------
    verb : str
        What is done.
    formula : str, Array or anything else
        With what, as the user gave it; the subfolder has the beginning of it in its name.

    Raises
    ------
    DataError
        If files cannot be written there.
    """

    def __init__(self, verb: str, formula: object) -> None:
        place = os.environ.get(VARIABLE)
        trace = None
        if place and _current.get() is None:
            title = _title(formula)
            trace = _Trace(place, f"{verb} {title}")
            trace.write("call.txt", [f"{verb}:", formula if isinstance(formula, str) else title])
        super().__init__(_current, trace, trace is not None)

    def left(self, error: BaseException | None) -> None:
        """Write which error there was."""
        if self.value is not None and error is not None:
            with suppress(DataError):  # the error itself may be that nothing can be written
                self.value.write("error.txt", f"{type(error).__name__}: {error}")


def is_traced() -> bool:
    """Tell whether stages are to write what they make."""
    return _current.get() is not None


def record(stage: str, text: Callable[[], str | Iterable[str]]) -> None:
    """Write what a stage made, where that was asked for.

    Parameters
    ----------
    stage : str
        Name of the file, without its number.
    text : callable
        Returns the text, or its lines.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    trace = _current.get()
    if trace is not None:
        trace.write(stage, text())
