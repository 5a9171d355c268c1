"""Writing files: under its name a file appears complete or not at all.

What would go wrong at the end of a long computation (a missing folder, a name that is taken by
something else) is found out before it begins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from .._kernels.system.scopes import Removed
from ..errors import DataError

__all__ = ["REMEDY", "check_writable", "replace_file", "write_folder"]


#: Advice where a file is there already.
REMEDY = "choose another name, or pass overwrite=True (on the command line: --overwrite)"


def check_writable(path: Path, *, overwrite: bool = True) -> None:
    """Refuse a file in a missing folder, or a name that is no ordinary file's, or taken if it is not to be replaced.

    Raises
    ------
    DataError
    """
    try:
        folder = path.resolve().parent
        problem = (
            f"there is no folder {folder}; make it first"
            if not folder.is_dir()
            else "it exists and is no ordinary file; write to another name"
            if path.exists() and not path.is_file()
            else f"the folder {folder} cannot be written"
            if not os.access(folder, os.W_OK)
            else f"it exists; {REMEDY}"
            if path.exists() and not overwrite
            else ""
        )
    except (OSError, ValueError, RuntimeError) as error:  # a name too long, a zero byte, a loop of links
        raise DataError(f"{str(path)!r:.200} cannot be written: {error}") from error
    if problem:
        raise DataError(f"{path}: {problem}")


def replace_file(path: Path, fill: Callable[[IO[bytes]], None]) -> int:
    """Write a file beside ``path`` and rename it when it is complete; return its bytes.

    Raises
    ------
    DataError
        If that fails; nothing is left behind.
    """
    target = path.resolve()
    unfinished = _beside(target)
    try:
        with Removed([unfinished]):
            size = _write(unfinished, fill)
            unfinished.replace(target)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
    return size


def write_folder(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write several files into a folder, which is made if it is absent: all of them, or none.

    Parameters
    ----------
    folder : Path
    texts : mapping of str to str
        Contents by name; files of these names are replaced.

    Returns
    -------
    list of Path
        The files, in order.

    Raises
    ------
    DataError
        If something is in the way or cannot be written; what was there stays as it was.
    """
    made: list[Path] = []
    parts: list[Path] = []
    targets = [folder / name for name in texts]
    try:
        for part in (folder, *folder.parents):
            if part.exists() and not part.is_dir():
                raise DataError(f"{part} exists and is no folder; write to another one")
        for name in texts:
            if (folder / name).is_dir():
                raise DataError(f"{folder / name} is a folder, where a file is to be written; write to another folder")
        with Removed(parts, made):
            for part in reversed([folder, *folder.parents]):
                if not part.exists():
                    part.mkdir()
                    made.append(part)
            for target, text in zip(targets, texts.values(), strict=True):
                parts.append(_beside(target))
                _write(parts[-1], lambda stream, text=text: _put(stream, text))  # type: ignore[misc]
            for target, written in zip(targets, parts, strict=True):
                written.replace(target)
            made.clear()
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        words = error.strerror if isinstance(error, OSError) else None
        raise DataError(f"{str(folder)!r:.200} cannot be written: {words or error}") from error
    return targets


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name[:100]}.{os.urandom(8).hex()}")


def _put(stream: IO[bytes], text: str) -> None:
    stream.write(text.encode("utf-8"))


def _write(path: Path, fill: Callable[[IO[bytes]], None]) -> int:
    with path.open("xb") as stream:
        fill(stream)
        stream.flush()
        os.fsync(stream.fileno())
    return path.stat().st_size
