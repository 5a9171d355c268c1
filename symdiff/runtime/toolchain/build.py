"""C text in, a loaded function out, by the system's compiler.

Building takes a hundred milliseconds and loading less than one, so results are kept in the
user's cache folder, named by everything they depend on: the text, the flags, the compiler, the
processor, the C library and symdiff's version.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from ...errors import BuildError
from ...ground.progress import parts
from ...ground.version import VERSION
from . import cache as store
from . import processes
from .cache import build_folder, remove_abandoned
from .load import Code, c_library, function_address, load_code, processor, require_room, use

if TYPE_CHECKING:
    import subprocess

    from ...codegen.c.emit import CSource

__all__ = [
    "Compiler",
    "Library",
    "OverBudgetError",
    "build",
    "compiler_in_sight",
    "compiler_seen",
    "failure",
    "find_compiler",
    "flags",
    "kept_library",
    "run",
]

# Several compilers at once, in one child, so that whatever ends it ends all of them.
_PARTS = """
most=$1 part=$2 stop=$3 link=$4 running= status=0
shift 4
while [ $part -lt $stop ]; do
  "$@" -c kernel$part.c -o kernel$part.o &
  running="$running $!" part=$((part + 1))
  [ $((part % most)) -eq 0 ] || [ $part -eq $stop ] || continue
  for child in $running; do wait $child || status=$?; done
  running=
done
[ $status -eq 0 ] && [ $link = link ] || exit $status
exec "$@" kernel*.o -o kernel.so -lm
"""

# No -ffast-math and no contraction: a value has the same bits wherever it is computed. That
# errno and floating-point traps are not looked at changes no value and frees the optimiser.
FLAGS = ("-O1", "-std=gnu11", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
# A library of few parts: a process may have so many mappings, and each takes the loader time. Two in place of five.
LINKER_FLAGS = ("-Wl,-z,noseparate-code", "-Wl,-z,norelro") if sys.platform == "linux" else ()
# Looking for dead stores takes gcc a third of the time of a kernel and finds none. Of what -O2 adds, two
# matter here: values may stay in registers that a call does not change, and calls of our own change few.
GCC_FLAGS = ("-fno-tree-dse", "-fno-dse", "-fcaller-saves", "-fipa-ra")
#: Errors that say nothing about a command, and are over when other processes have ended.
_PASSING = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
#: Seconds a command has to tell its version before it is taken for something else than a compiler.
PATIENCE = 20.0
#: Seconds a compiler has for a kernel, and more for each byte of its text, before it is taken to hang and to keep later
#: builds waiting. That is thousands of times what a short kernel takes, and some twenty times what a long one does.
LIMIT, LIMIT_A_BYTE = 300.0, 1e-4

#: Factor of its time for which a build is let to go on: its first parts may have been slow by chance.
HOPE = 1.5

_REMEDY = "set CC to another compiler, or use backend='interpreter'"

#: Code loaded by this process, by key, for as long as somebody holds it.
_loaded: MutableMapping[str, Code] = WeakValueDictionary()


class OverBudgetError(BuildError):
    """A build was given up because it would take longer than it may."""


class Compiler(NamedTuple):
    """A C compiler of this machine.

    Parameters
    ----------
    command : tuple of str
        How to run it.
    identity : str
        Its path, size, age and what it says of its version; part of every cache key.
    version : str
        The first line of that.
    """

    command: tuple[str, ...]
    identity: str
    version: str = ""


class Library(NamedTuple):
    """A loaded kernel.

    Parameters
    ----------
    key : str
        Its name in the cache.
    address : int
        Of the function ``kernel`` as :class:`~symdiff.codegen.c.emit.CSource` describes it.
    symbols : tuple of int
        Addresses of the vector library's functions it calls.
    code : Code
        Keeps the library loaded.
    seconds : float
        Time the build took; 0 when the cache had it.
    """

    key: str
    address: int
    symbols: tuple[int, ...]
    code: Code
    seconds: float


def find_compiler() -> Compiler | None:
    """Find a C compiler: ``$CC`` (a command, or a path that may hold spaces), gcc, cc or clang.

    Returns
    -------
    Compiler or None
        None when there is none that runs.

    Raises
    ------
    BuildError
        When nothing can be run at the moment, for want of memory, processes or open files.
    """
    return _find_compiler(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


def compiler_in_sight() -> bool:
    """Tell, without running anything, whether there is a file that could be the compiler."""
    return bool(compiler_seen())


def compiler_seen() -> str:
    """Describe, without running anything, the file that is likely to be the compiler; "" where there is none."""
    return _in_sight(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


@cache
def _in_sight(wish: str, path: str) -> str:
    wished = [wish, *_words(wish)[:1]] if wish.strip() else []
    folders = path.split(os.pathsep)
    files = (os.path.join(folder, name) for name in (*wished, "gcc", "cc", "clang") for folder in folders)
    for file in files:
        if os.path.isfile(file) and os.access(file, os.X_OK):
            state = os.stat(file)
            return f"{wish} {file} {state.st_size} {state.st_mtime_ns}"
    return ""


def _words(wish: str) -> list[str]:
    """Return a command and its arguments as a shell would read them; nothing where a quotation mark is left open."""
    import shlex

    try:
        return shlex.split(wish)
    except ValueError:
        return []


@cache
def _find_compiler(wish: str, path: str) -> Compiler | None:
    import shutil

    if wish.strip():
        words = [wish] if shutil.which(wish, path=path) else _words(wish)
        wished = _compiler(words, path) if words else None
        if wished is not None:
            return wished
        warnings.warn(f"CC={wish!r} does not run; looking for cc, gcc and clang", RuntimeWarning, stacklevel=3)
    # gcc is the quicker one with this code: builds take two thirds of clang's time, kernels no more.
    found = (_compiler([name], path) for name in ("gcc", "cc", "clang"))
    return next((compiler for compiler in found if compiler is not None), None)


def _compiler(words: list[str], path: str) -> Compiler | None:
    """Try one candidate: a name or path and its arguments."""
    import shutil
    import subprocess

    place = shutil.which(words[0], path=path)
    if place is None:
        return None
    # The name is kept as it is: compilers behind wrappers such as ccache look at it.
    command = (os.path.abspath(place), *words[1:])
    try:
        file = os.stat(place)
        said = run([*command, "--version"], timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        if isinstance(error, OSError) and error.errno in _PASSING:
            raise BuildError(f"the compiler {place} cannot be run now: {error.strerror}") from error
        return None
    if said.returncode != 0:
        return None
    version = said.stdout.decode(errors="replace").partition("\n")[0].strip()
    return Compiler(command, f"{command} {file.st_size} {file.st_mtime_ns} {said.stdout!r}", version)


def run(
    command: list[str], folder: Path | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler: no shell, nothing to read, words in plain English, temporary files in ``folder``."""
    environment = {**os.environ, "LC_ALL": "C", **({} if folder is None else {"TMPDIR": str(folder)})}
    return processes.run(command, folder=folder, environment=environment, timeout=timeout)


def flags(compiler: Compiler) -> tuple[str, ...]:
    """Return the flags of every build with ``compiler`` on this machine."""
    own = GCC_FLAGS if "Free Software Foundation" in compiler.identity else ()
    # A processor that does not tell its features gets the baseline of its architecture.
    native = ("-march=native",) if processor() and platform.machine() == "x86_64" else ()
    return (*FLAGS, *LINKER_FLAGS, *own, *native)


def build(source: CSource, seconds: float = math.inf) -> Library:
    """Compile ``source``, or take it from the cache, and load it.

    Parameters
    ----------
    source : CSource
    seconds : float, optional
        What the compiler may take. A long program is given up as soon as its first parts tell that it would take more.

    Raises
    ------
    OverBudgetError
        When the compiler would take longer.
    BuildError
        When there is no compiler, or it fails, with the compiler's words; when as much native code
        is loaded as this process may hold (``RoomError``).
    """
    compiler = find_compiler()
    if compiler is None:
        raise BuildError(f"no C compiler: none of $CC, cc, gcc and clang runs. Install one; {_REMEDY}")
    start = time.perf_counter()
    key = _key(source, compiler)
    code = _loaded.get(key)
    if code is not None:
        return _library(source.symbols, use(code), key, 0.0)
    require_room()
    folder = store.usable_folder()
    kept = None if folder is None else store.lookup(folder, key)
    if kept is not None:
        # A library that does not load here, built against another C library for example, is replaced by the new build.
        with contextlib.suppress(BuildError):
            return _load(source.symbols, kept, key, 0.0)
    contents = processes.uninterrupted(lambda: _compile(source, compiler, seconds))
    library = _load(source.symbols, contents, key, time.perf_counter() - start)
    if folder is not None:
        store.publish(folder, key, contents)
    return library


def kept_library(key: str, symbols: Sequence[str]) -> Library | None:
    """Return a library that was built before, by its key; None where it is not there, or does not load."""
    code = _loaded.get(key)
    if code is not None:
        return _library(symbols, use(code), key, 0.0)
    folder = store.trusted_folder()
    kept = None if folder is None else store.lookup(folder, key)
    if kept is None:
        return None
    try:
        require_room()
        return _load(symbols, kept, key, 0.0)
    except BuildError:
        return None


def _key(source: CSource, compiler: Compiler) -> str:
    import hashlib

    parts = (
        source.text,
        *flags(compiler),
        compiler.identity,
        *processor(),
        platform.machine(),
        c_library(),
        VERSION,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _remove_abandoned() -> None:
    remove_abandoned()


def _compile(source: CSource, compiler: Compiler, seconds: float) -> bytes:
    """Return the library's bytes."""
    import shlex
    import subprocess

    limit = LIMIT + LIMIT_A_BYTE * len(source.text)
    end = time.perf_counter() + min(seconds, limit)
    try:
        with build_folder() as folder:
            library = folder / "kernel.so"
            for number, text in enumerate(source.parts or [source.text]):
                (folder / f"kernel{number}.c").write_text(text, encoding="ascii")
            command = [*compiler.command, *flags(compiler)]
            for words in _commands(source, command, seconds):
                done = run(words, folder, max(0.0, end - time.perf_counter()))
                if done.returncode != 0:
                    break
            if done.returncode == 0 and library.exists():
                _remove_abandoned()
                return library.read_bytes()
    except subprocess.TimeoutExpired as error:
        if seconds < limit:
            raise OverBudgetError(f"native code was not built within build_seconds={seconds:.3g}") from None
        raise BuildError(
            f"the compiler did not finish within {error.timeout:.3g} seconds: {shlex.join(command)}\n{_REMEDY}"
        ) from None
    except OSError as error:
        raise BuildError(
            f"a kernel cannot be built: {error}. There must be space below $TMPDIR, and {compiler.command[0]} must run"
        ) from error
    raise failure(words, done)


def _commands(source: CSource, command: list[str], seconds: float) -> Iterator[list[str]]:
    """Give the commands of a build, the next one when the one before has run; give up when time will not suffice."""
    if not source.parts:
        yield [*command, "kernel0.c", "-o", "kernel.so", "-lm"]
        return
    together, count = os.cpu_count() or 1, len(source.parts)
    start, done = time.perf_counter(), 0
    while done < count:
        if done:
            needed = (time.perf_counter() - start) * count / done  # parts are alike
            if needed > HOPE * seconds:
                raise OverBudgetError(f"native code takes about {needed:.0f} s, more than build_seconds={seconds:.3g}")
        stop = min(count, max(together, 2 * done))
        link = "link" if stop == count else "later"
        yield ["/bin/sh", "-c", _PARTS, "sh", str(together), str(done), str(stop), link, *command]
        done = stop
        parts(done, count)


def failure(command: list[str], done: subprocess.CompletedProcess[bytes]) -> BuildError:
    """Return the error for a command that failed, with its words."""
    import shlex

    words = (done.stderr or done.stdout).decode(errors="replace").strip()
    return BuildError(f"the compiler {_fate(done.returncode)}: {shlex.join(command)}\n{words[:4000]}\n{_REMEDY}")


def _fate(status: int) -> str:
    if status >= 0:
        return f"failed with status {status}"
    import signal

    try:
        return f"was stopped by {signal.Signals(-status).name}"
    except ValueError:
        return f"was stopped by signal {-status}"


def _load(symbols: Sequence[str], contents: bytes, key: str, seconds: float) -> Library:
    code = load_code(contents)
    library = _library(symbols, code, key, seconds)
    # Another thread may have loaded the same meanwhile: both stand, and the later one is shared.
    _loaded[key] = use(code)
    return library


def _library(symbols: Sequence[str], code: Code, key: str, seconds: float) -> Library:
    kernel = code.address("kernel")
    if not kernel:
        raise BuildError("the built library has no function called kernel")
    return Library(key, kernel, tuple(function_address(name) for name in symbols), code, seconds)
