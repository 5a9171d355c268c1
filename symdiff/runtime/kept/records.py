"""Records in the cache folder: what was made of one formula, in parts that are read when they are needed.

The first part is what compiling gave. A plan for another way of sharing inputs, and where native code of a unit is,
are parts of their own, since they come later. Files are those of the cache of built kernels: private to the user,
published by atomic rename, and taken only if their hash is right (:mod:`symdiff.runtime.toolchain.cache`).
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...codegen.bytecode.format import Bytecode
from ...errors import DataError
from ...ground.budget import uncounted
from ..toolchain import cache, worker
from . import encoding, keys
from .plain import MOST, UnkeepableError

__all__ = ["FormulaRecord", "NativeCode", "UnitRecord", "write_waiting"]


class NativeCode(NamedTuple):
    """Native code of a unit that the cache may have.

    Parameters
    ----------
    key : str
        Of the library.
    symbols : tuple of str
        Functions of the vector library that it calls.
    lanes, samples, workspace : int
        As :meth:`symdiff.runtime.runners.variants.ProgramRunner.around` takes them.
    """

    key: str
    symbols: tuple[str, ...]
    lanes: int
    samples: int
    workspace: int


class FormulaRecord:
    """What is kept of one formula.

    Parameters
    ----------
    key : str
        Of :func:`symdiff.runtime.kept.keys.key_of`.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        #: Code of the interpreter by the unit it is of: read with a part and not taken yet, or to be written with one.
        self.codes: dict[str, Bytecode] = {}
        self.collects = False
        #: Whether there was something.
        self.found = False

    def read(self, part: str = "") -> dict[str, Any] | None:
        """Return a part, None where there is none that can be used."""
        name = self.name(part)
        waiting = _waiting.get((cache.cache_folder(), name))
        if waiting is not None:
            waiting()
        folder = cache.trusted_folder()
        contents = None if folder is None else cache.lookup(folder, name)
        if contents is None:
            return None
        try:
            with uncounted():
                found = encoding.read(contents)
        except DataError:
            return None
        if not isinstance(found, dict):
            return None
        self.found = True
        codes = found.pop("codes", None)
        if isinstance(codes, dict):
            self.codes.update(codes)
        return found

    def collect(self) -> None:
        """Take code of the interpreter from now on, for the next part that is written."""
        self.collects = True

    def write(self, contents: Mapping[str, Any], part: str = "") -> None:
        """Keep a part, with the code that was collected, unless it has no plain form or is too long.

        Where the background has something to build, it is written behind that: the first call does not wait for it.
        """
        codes, self.codes, self.collects = self.codes, {}, False
        job = _Writing(self.name(part), {**contents, "codes": codes})
        if worker.busy():
            _waiting[job.place] = job
            worker.submit(job)
        else:
            job.write()

    def unit(self, place: str = "") -> UnitRecord:
        """Return the record of the units of one program."""
        return UnitRecord(self, place)

    def name(self, part: str) -> str:
        """Return the name of a part in the cache."""
        return keys.part_of(self.key, part) if part else self.key


class UnitRecord(NamedTuple):
    """What is kept of the units of one program.

    Parameters
    ----------
    record : FormulaRecord
    place : str
        Which program of the formula it is.
    """

    record: FormulaRecord
    place: str

    def code(self, variant: tuple[bool, ...]) -> Bytecode | None:
        """Return the interpreter's code of a unit, once."""
        found = self.record.codes.pop(self._unit(variant), None) if not self.record.collects else None
        return found if isinstance(found, Bytecode) else None

    def keep_code(self, variant: tuple[bool, ...], code: Bytecode) -> None:
        """Have the interpreter's code of a unit written with the next part."""
        if self.record.collects:
            self.record.codes[self._unit(variant)] = code

    def native(self, variant: tuple[bool, ...]) -> NativeCode | None:
        """Return where native code of a unit is, if the formula was compiled before."""
        if not self.record.found:
            return None
        found = self.record.read(f"native-{self._unit(variant)}")
        try:
            return None if found is None else NativeCode(**found)
        except TypeError:
            return None

    def keep_native(self, variant: tuple[bool, ...], code: NativeCode) -> None:
        """Keep where native code of a unit is."""
        _Writing(self.record.name(f"native-{self._unit(variant)}"), code._asdict()).write()

    def _unit(self, variant: tuple[bool, ...]) -> str:
        return self.place + "".join("-+"[flag] for flag in variant)


class _Writing:
    """A part that is to be written."""

    def __init__(self, name: str, contents: Mapping[str, Any]) -> None:
        self.name = name
        self.place = cache.cache_folder(), name
        self.contents = contents

    def is_wanted(self) -> bool:
        """Whether it is not written yet."""
        return self.place in _waiting

    def __call__(self) -> None:
        if _waiting.get(self.place) is self:
            self.write()
            _waiting.pop(self.place, None)  # only now: whoever reads meanwhile writes it, too, and finds it

    def write(self) -> None:
        """Write it now, unless the environment names another folder meanwhile."""
        folder = cache.trusted_folder(make=True)
        if folder is None or folder != self.place[0]:
            return
        try:
            with uncounted():
                written = encoding.write(self.contents)
        except UnkeepableError:
            return
        if len(written) <= MOST:
            cache.publish(folder, self.name, written)


#: What is to be written behind builds, or when the process ends before these do.
_waiting: dict[tuple[Path, str], _Writing] = {}


def write_waiting() -> None:
    """Write all records that wait for builds to end."""
    for job in list(_waiting.values()):
        job()


atexit.register(write_waiting)
