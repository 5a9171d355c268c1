"""Compiled kernels kept between processes, and why it is safe to load them.

Loading a library is running it. The folder therefore must be the user's own and writable by
nobody else, and a file is loaded only if its contents have the hash it is named by. Files
appear by an atomic rename, so processes that build the same kernel at once, or die half way,
cannot harm each other: the worst that is left behind is a file that a later build removes.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import platformdirs

__all__ = ["cache_folder", "clear", "entries", "lookup", "publish"]

#: Bytes of the cache before its least recently used entries are removed.
LIMIT = 256 * 2**20
#: Seconds after which what an interrupted build left behind is removed.
STALE = 3600.0

_SUFFIX = ".so"


def cache_folder() -> Path:
    """Return the folder that compiled kernels are kept in, made if absent.

    It is ``$SYMDIFF_CACHE_DIR`` or the user's cache folder. When that cannot be trusted or
    written, it is a private folder of this process, removed at its end, and a warning says why.
    """
    return _trusted(os.environ.get("SYMDIFF_CACHE_DIR") or platformdirs.user_cache_dir("symdiff", appauthor=False))


@cache
def _trusted(wish: str) -> Path:
    folder = Path(os.path.abspath(wish))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = _distrust(folder)
    except OSError as error:
        reason = f"cannot be made ({error.strerror})"
    if not reason:
        return folder
    private = Path(tempfile.mkdtemp(prefix="symdiff-"))
    owner = os.getpid()

    def remove() -> None:
        # A forked child that ends leaves its parent's folder alone.
        if os.getpid() == owner:
            shutil.rmtree(private, ignore_errors=True)

    atexit.register(remove)
    warnings.warn(
        f"the cache folder {str(folder)!r} {reason}; kernels built by this process will not be kept. "
        "Set SYMDIFF_CACHE_DIR to a folder of your own with mode 0700",
        RuntimeWarning,
        stacklevel=2,
    )
    return private


def _distrust(folder: Path) -> str:
    """Say what is wrong with a folder, or nothing."""
    state = os.lstat(folder)
    if not stat.S_ISDIR(state.st_mode):
        return "is not a folder (a link is not followed)"
    if hasattr(os, "getuid") and state.st_uid != os.getuid():
        return f"belongs to another user (number {state.st_uid})"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(state.st_mode):04o})"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return "is not writable"
    return ""


def lookup(folder: Path, key: str) -> Path | None:
    """Return the library kept under ``key`` if its contents are what was published."""
    entry = folder / key
    try:
        names = [name for name in os.listdir(entry) if name.endswith(_SUFFIX)]
    except OSError:
        return None
    for name in names:
        path = entry / name
        with contextlib.suppress(OSError):
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == name.removesuffix(_SUFFIX):
                os.utime(entry)
                return path
            path.unlink()
    return None


def publish(folder: Path, key: str, built: Path) -> Path:
    """Keep the library ``built`` under ``key``; return where it may be loaded from.

    When the cache cannot take it (a full or read-only disk), that is ``built`` itself.
    """
    try:
        contents = built.read_bytes()
        entry = folder / key
        entry.mkdir(mode=0o700, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=entry)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(contents)
            path = entry / f"{hashlib.sha256(contents).hexdigest()}{_SUFFIX}"
            os.replace(unfinished, path)
        except OSError:
            os.unlink(unfinished)
            raise
    except OSError:
        return built
    _prune(folder, key)
    return path


def entries(folder: Path) -> list[tuple[str, int, float]]:
    """List the entries of a cache, the least recently used first: key, bytes, time of last use."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as items:
        for item in items:
            with contextlib.suppress(OSError):
                if item.is_dir(follow_symlinks=False):
                    size = sum(file.stat().st_size for file in os.scandir(item.path))
                    found.append((item.name, size, item.stat().st_mtime))
    return sorted(found, key=lambda entry: entry[2])


def clear(folder: Path) -> int:
    """Remove every entry; return how many there were."""
    kept = entries(folder)
    for key, _, _ in kept:
        shutil.rmtree(folder / key, ignore_errors=True)
    return len(kept)


def _prune(folder: Path, newest: str) -> None:
    """Remove what an interrupted build left in the newest entry, and the oldest entries beyond the limit."""
    with contextlib.suppress(OSError):
        for item in os.scandir(folder / newest):
            if not item.name.endswith(_SUFFIX) and item.stat().st_mtime < time.time() - STALE:
                os.unlink(item.path)
    kept = entries(folder)
    excess = sum(size for _, size, _ in kept) - LIMIT
    for key, size, _ in kept:
        if excess <= 0:
            break
        if key != newest:
            shutil.rmtree(folder / key, ignore_errors=True)
            excess -= size
