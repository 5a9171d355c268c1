"""The "auto" backend of one kernel: the interpreter at once, native code as soon as it is built.

Every unit is first one of the interpreter. It is hot-swapped for native code between two calls.
Both give the same bits.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, NamedTuple, Unpack

from ..._kernels.unit import NativeCall
from ...lowering.program import Program
from ..options import BUILD_SECONDS
from ..toolchain import worker
from ..toolchain.build import OverBudgetError, compiler_in_sight
from ..toolchain.load import RoomError
from .interpreter import InterpreterRunner
from .native import NativeRunner
from .variants import ProgramRunner, UnitOptions, Variant

__all__ = ["TieredRunner"]


class TieredRunner(ProgramRunner):
    """Runs a program on the interpreter until its native code is there.

    Parameters
    ----------
    program : Program
    **options
        See :class:`~.variants.UnitOptions`. Native code that the cache has serves from the first call on.
    """

    narrows = True

    def __init__(self, program: Program, **options: Unpack[UnitOptions]) -> None:
        options.setdefault("build_limit", BUILD_SECONDS)
        super().__init__(program, **options)
        self._native = NativeRunner(program, now=False, **options)
        self._interpreter: InterpreterRunner | None = None
        self._changed = threading.Condition()
        self._pending: set[Variant] = set()
        self._built: set[Variant] = set()
        self._failure = ""
        #: Why there is no native code, once that is known; "" where there is some, or may be.
        self.obstacle = ""
        self.call(*self.usual)

    @property
    def backend(self) -> str:
        """What serves ordinary calls now: "interpreter" or "c"."""
        return "c" if self.usual in self._built else "interpreter"

    @property
    def stats(self) -> dict[str, Any]:
        """How far the builds are: what serves and why, seconds in the compiler, and what went wrong, if anything."""
        pending, failure = bool(self._pending), self._failure
        reason = "native code is built" if self.usual in self._built else "native code is being built"
        if self.obstacle and not pending:
            reason = self.obstacle
        told = {
            "reason": reason,
            "building": pending,
            "build_seconds": self._native.build_seconds,
            "build_limit": self.build_limit,
        }
        return {**told, "build_failure": failure} if failure else told

    def source(self) -> str:
        """Return the C text of the usual unit, whether it is built or not."""
        return self._native.source()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being built for this kernel; tell whether that is so."""
        if not worker.urge():
            return not self._pending
        with self._changed:
            self._changed.wait_for(lambda: worker.ended() or not self._pending, timeout)
            return not self._pending

    def make(self, variant: Variant) -> NativeCall:
        """Return a unit of native code if the cache is known to have it, else one of the interpreter."""
        built = self._native.built(variant)
        if built is not None:
            self._built.add(variant)
            return built
        if self._interpreter is None:
            self._interpreter = _Meanwhile(
                self.program,
                **self.usual.layout(),
                constant=self.constant,
                accuracy=self.accuracy,
                brief=compiler_in_sight(),
                kept=self.kept,
            )
        return self._interpreter.call(*variant)

    def add(self, variant: Variant, unit: NativeCall) -> bool:
        """Use a unit, and only then have native code made to replace it, which may be there at once."""
        added = super().add(variant, unit)
        if added and variant not in self._built:
            self._pending.add(variant)
            # A kernel that nobody holds any more is not built.
            worker.submit(_Build(weakref.ref(self), variant))
        return added

    def build(self, variant: Variant) -> None:
        """Build a unit and put it in use; in the background."""
        failure = obstacle = ""
        try:
            unit = self._native.make(variant)
        except OverBudgetError as error:
            obstacle = f"the interpreter serves on: {error}"
        except Exception as error:  # whatever it is, calls go on; the user is told by stats
            if worker.broken_off():
                return
            failure = f"{type(error).__name__}: {error}"
            full = isinstance(error, RoomError)
            obstacle = "no room for more native code" if full else "native code could not be built"
        else:
            self.put(variant, unit)
            self._built.add(variant)
        with self._changed:
            self._failure, self.obstacle = self._failure or failure, self.obstacle or obstacle
            self._pending.discard(variant)
            self._changed.notify_all()


class _Meanwhile(InterpreterRunner):
    """The interpreter, with units for each variant that native code will have."""

    narrows = True


class _Build(NamedTuple):
    """A build that is forgotten together with its kernel."""

    runner: weakref.ref[TieredRunner]
    variant: Variant

    def is_wanted(self) -> bool:
        """Whether anybody has the kernel."""
        return self.runner() is not None

    def __call__(self) -> None:
        runner = self.runner()
        if runner is not None:
            runner.build(self.variant)
