"""Folders of builds, removed even when the builder was killed.

A process that is killed cannot clean up, and the age of what it left says little: clocks jump,
and a large kernel takes minutes to build. So each folder is locked for as long as its owner
lives; the system lets go of the lock when the owner dies, however it dies, and a later build
removes every folder that nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["build_folder", "hold", "remove_abandoned"]

_PREFIX = "symdiff-build-"


def hold(handle: int, *, wait: bool = True) -> bool:
    """Lock an open file or folder until it is closed; tell whether that was possible.

    Parameters
    ----------
    handle : int
        Its descriptor.
    wait : bool
        Wait until it is free.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by another, or a file system without locks
        return False
    return True


@contextlib.contextmanager
def build_folder() -> Iterator[Path]:
    """Make a private folder below the system's temporary one (``$TMPDIR``); remove it at the end.

    Raises
    ------
    OSError
        Where there is no space for one.
    """
    import shutil

    path, handle = _held_folder()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def _held_folder() -> tuple[Path, int]:
    import tempfile

    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # Before it was locked another process may have taken it for abandoned; then make the next.
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            hold(handle)
            if path.exists():
                return path, handle
            os.close(handle)


def remove_abandoned() -> int:
    """Remove the build folders whose owners are gone; return how many there were."""
    import tempfile

    count = 0
    with contextlib.suppress(OSError):
        place = tempfile.gettempdir()
        for name in [name for name in os.listdir(place) if name.startswith(_PREFIX)]:
            count += _remove_if_abandoned(Path(place, name))
    return count


def _remove_if_abandoned(path: Path) -> bool:
    import shutil

    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        state = os.fstat(handle)
        mine = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
        if not mine or not hold(handle, wait=False):
            return False
        shutil.rmtree(path, ignore_errors=True)
        return True
    finally:
        os.close(handle)
