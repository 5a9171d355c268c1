"""Cache of built kernels and records between processes, safe to load, and folders of builds.

Loading a library runs it, so the bytes that are read must be those that were written, by this
user, for exactly this kernel. An entry is one file, named by a hash of everything that its contents
depend on, that begins with a hash of that name and of the contents: a file that was cut short, altered,
or copied to another name is not used. Nor is a file that belongs to anybody else, that others may write
to, or that is reached by a link, whatever folder it is in. The caller loads the bytes that were checked,
never the file, which may change meanwhile.

Entries appear by an atomic rename, so processes that build one kernel at once, or die half way,
cannot harm each other, and none waits for another. Nothing depends on the time but which entry
was used last, and an entry that was removed is built again.

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
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..._kernels.system.scopes import Removed

__all__ = [
    "build_folder",
    "cache_folder",
    "clear",
    "entries",
    "hold",
    "lookup",
    "obstacle",
    "publish",
    "remove_abandoned",
    "trusted_folder",
    "usable_folder",
]


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


#: Bytes of the cache before its least recently used entries are removed.
LIMIT = 256 * 2**20

_SUFFIX = ".kernel"
_UNFINISHED = "unfinished-"
_DIGEST = 32  # bytes of SHA-256

# No locks around these: a thread that builds while another forks would leave the child a locked one.
_told: set[Path] = set()
#: File whose length tells what a folder holds, and the bytes of entries that one of its bytes stands for: whoever adds
#: an entry appends to it, which needs no lock.
_HELD, _EACH = "held", 256


def cache_folder() -> Path:
    """Return the folder that compiled kernels are meant to be kept in: ``$SYMDIFF_CACHE_DIR``, or the user's cache."""
    wish = os.environ.get("SYMDIFF_CACHE_DIR")
    if wish:
        return Path(os.path.abspath(wish))
    if sys.platform == "linux":  # as platformdirs has it, whose import takes longer than to find a kernel
        return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")) / "symdiff"
    import platformdirs

    return Path(platformdirs.user_cache_dir("symdiff", appauthor=False))


def usable_folder() -> Path | None:
    """Return the cache folder, made if absent, or None if it cannot be trusted; a warning says once what is wrong."""
    folder = cache_folder()
    trusted, reason = _trust(folder, make=True)
    reason = reason or obstacle(folder)
    if reason and folder not in _told:
        _told.add(folder)
        warnings.warn(
            f"the cache folder {str(folder)!r} {reason}; kernels built by this process will not be kept. "
            "Set SYMDIFF_CACHE_DIR to a folder of your own with mode 0700",
            RuntimeWarning,
            stacklevel=2,
        )
    return folder if trusted else None


def trusted_folder(*, make: bool = False) -> Path | None:
    """Return the cache folder, None if there is none or it cannot be trusted; say nothing."""
    folder = cache_folder()
    trusted, _ = _trust(folder, make)
    return folder if trusted else None


def _trust(folder: Path, make: bool) -> tuple[bool, str]:
    """Tell whether the folder can be trusted, and why not; make it if it is absent."""
    try:
        try:
            reason = distrust(folder)
        except FileNotFoundError:
            if not make:
                raise
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            reason = distrust(folder)
    except OSError as error:
        return False, f"cannot be made ({error.strerror})"
    return not reason, reason


def obstacle(folder: Path) -> str:
    """Say why kernels cannot be kept in ``folder``; "" where they can."""
    try:
        reason = distrust(folder)
    except FileNotFoundError:
        return "does not exist yet"
    except OSError as error:
        return f"cannot be reached ({error.strerror})"
    return reason or ("" if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else "is not writable")


def distrust(folder: Path) -> str:
    """Say why nothing should be read from ``folder``, "" where it may be.

    Raises
    ------
    OSError
        If there is no such folder.
    """
    if not folder.is_absolute():
        return "has no place, since this user has no home"
    state = os.lstat(folder)
    if not stat.S_ISDIR(state.st_mode):
        return "is not a folder (a link is not followed)"
    if state.st_uid != os.geteuid():
        return f"belongs to another user (number {state.st_uid})"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(state.st_mode):04o})"
    return ""


def lookup(folder: Path, key: str) -> bytes | None:
    """Return the contents kept under ``key``, if they are what was published."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        handle = os.open(folder / f"{key}{_SUFFIX}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        state = os.fstat(handle)
        others = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or others:
            return None
        with open(handle, "rb", closefd=False) as stream:
            digest, library = stream.read(_DIGEST), stream.read()
        if digest != _digest(key, library):
            return None
        with contextlib.suppress(OSError):  # a disk that is only read keeps no time of use
            os.utime(handle)
        return library
    except OSError:
        return None
    finally:
        os.close(handle)


def publish(folder: Path, key: str, library: bytes) -> bool:
    """Keep ``library`` under ``key``; tell whether that was possible (no: a full or read-only disk)."""
    digest = _digest(key, library)
    unfinished = folder / f"{_UNFINISHED}{os.urandom(16).hex()}"
    try:
        with Removed([unfinished]), open(unfinished, "xb", opener=_open_own) as stream:
            hold(stream.fileno())  # tells other processes that this is no remainder
            stream.write(digest)
            stream.write(library)  # joined to the digest it would be copied, and it may be long
            stream.flush()
            os.replace(unfinished, folder / f"{key}{_SUFFIX}")
    except OSError:
        return False
    _bound(folder, key, len(digest) + len(library))
    return True


def _open_own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def entries(folder: Path) -> list[tuple[str, int, float]]:
    """List the entries of a cache, the least recently used first: key, bytes, time of last use."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as items:
        for item in items:
            with contextlib.suppress(OSError):
                if item.name.endswith(_SUFFIX) and item.is_file(follow_symlinks=False):
                    state = item.stat(follow_symlinks=False)
                    found.append((item.name.removesuffix(_SUFFIX), state.st_size, state.st_mtime))
    return sorted(found, key=lambda entry: entry[2])


def clear(folder: Path) -> int:
    """Remove every entry, and what killed processes left; return how many entries there were."""
    count = 0
    for key, _, _ in entries(folder):
        with contextlib.suppress(OSError):
            os.unlink(folder / f"{key}{_SUFFIX}")
            count += 1
    _remove_unfinished(folder)
    with contextlib.suppress(OSError):
        os.unlink(folder / _HELD)
    return count


def _digest(key: str, library: bytes) -> bytes:
    import hashlib

    digest = hashlib.sha256(b"%s\0" % key.encode())
    digest.update(library)
    return digest.digest()


def _bound(folder: Path, newest: str, added: int) -> None:
    """Remove the least recently used entries beyond the limit, except the newest.

    Going through a large folder takes seconds, so that is done where there is no count of it yet, and when what was
    added since may exceed the limit.
    """
    with contextlib.suppress(OSError):
        if 0 < _count(folder, added) <= LIMIT:
            return
    _remove_unfinished(folder)
    kept = entries(folder)
    size = sum(length for _, length, _ in kept)
    if size > LIMIT:
        for key, length, _ in kept:
            if size <= LIMIT * 7 // 8:
                break
            if key != newest:
                with contextlib.suppress(OSError):
                    os.unlink(folder / f"{key}{_SUFFIX}")
                    size -= length
    with contextlib.suppress(OSError):
        os.truncate(folder / _HELD, size // _EACH + 1)


def _count(folder: Path, added: int) -> int:
    """Count what is added to a folder; return about how much it holds then, 0 where that is not known."""
    handle = os.open(folder / _HELD, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        before = os.fstat(handle).st_size
        os.write(handle, bytes(added // _EACH + 1))
        return before and (before + added // _EACH + 1) * _EACH
    finally:
        os.close(handle)


def _remove_unfinished(folder: Path) -> None:
    """Remove what killed processes had begun to write."""
    with contextlib.suppress(OSError):
        for name in [name for name in os.listdir(folder) if name.startswith(_UNFINISHED)]:
            with contextlib.suppress(OSError):
                handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    if hold(handle, wait=False):
                        os.unlink(folder / name)
                finally:
                    os.close(handle)
