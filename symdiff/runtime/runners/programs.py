"""Runners of programs: native code, the interpreter without a compiler, and "auto", which begins with the interpreter.

With "auto" every unit is first one of the interpreter, and is hot-swapped for native code between two calls as soon as
that is built. Both give the same bits on the same machine.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ..._kernels.interpreter import OPCODES, SCALARS, VECTORS, Machine
from ..._kernels.unit import NativeCall
from ...codegen.c import standalone
from ...codegen.c.target import Target
from ...codegen.scalars import LIBRARY
from ...errors import InternalError
from ...graph.primitives import complete
from ...lowering.program import SIGNATURES, Program
from ..kept.lookup import NativeCode
from ..options import BUILD_SECONDS
from ..toolchain import processes
from ..toolchain.build import Library, OverBudgetError, build, compiler_in_sight, kept_library
from ..toolchain.load import RoomError, function_address, keep, native_target
from .variants import ProgramRunner, UnitOptions, Variant

if TYPE_CHECKING:
    from ...codegen.c.emit import CSource

__all__ = ["InterpreterRunner", "NativeRunner", "TieredRunner", "standalone_function", "target_of"]


def target_of(accuracy: str) -> Target:
    """Return this machine, as far as code of some accuracy may use it."""
    target = native_target()
    return target._replace(prefix="", vector_math=frozenset()) if accuracy == "high" else target


class NativeRunner(ProgramRunner):
    """Runs a program as native code.

    Parameters
    ----------
    program : Program
    now : bool, optional
        Build the usual unit now, not when it is first wanted.
    **options
        See :class:`~.variants.UnitOptions`.

    Raises
    ------
    BuildError
        Without a compiler, when it fails, and when it would take longer (``OverBudgetError``).
    """

    narrows = True

    def __init__(self, program: Program, *, now: bool = True, **options: Unpack[UnitOptions]) -> None:
        super().__init__(program, **options)
        self._sources: dict[Variant, CSource] = {}
        self._libraries: dict[Variant, Library] = {}
        if now:
            self.call(*self.usual)

    @property
    def build_seconds(self) -> float:
        """Time spent in the compiler so far; 0 when the cache had everything."""
        return sum(library.seconds for library in list(self._libraries.values()))

    def source(self, variant: Variant | None = None) -> str:
        """Return the C text of a unit, by default of the usual one, whether it is built or not."""
        return self._source(variant or self.usual).text

    def _source(self, variant: Variant) -> CSource:
        from ...codegen.c.emit import emit_c  # not needed by code that is known

        if variant not in self._sources:
            self._sources[variant] = emit_c(
                self.program,
                target_of(self.accuracy),
                reduce=variant.reduce,
                columns=variant.columns,
                single=variant.single,
                packed=variant.packed,
                wiring=self.wiring,
                constant=self.constant,
            )
        return self._sources[variant]

    def make(self, variant: Variant) -> NativeCall:
        """Build a unit, or take it from the cache."""
        found = self.built(variant)
        if found is not None:
            return found
        source = self._source(variant)
        library = build(source, max(0.0, self.build_limit - self.build_seconds))
        code = NativeCode(
            library.key, tuple(source.symbols), source.lanes, source.vectors * source.lanes, source.workspace
        )
        if self.kept is not None:
            self.kept.keep_native(variant, code)
        return self._unit(variant, library, code)

    def built(self, variant: Variant) -> NativeCall | None:
        """Return a unit whose native code the cache has, without printing it; None where that is not known."""
        code = None if self.kept is None else self.kept.native(variant)
        library = None if code is None else kept_library(code.key, code.symbols)
        return None if code is None or library is None else self._unit(variant, library, code)

    def _unit(self, variant: Variant, library: Library, code: NativeCode) -> NativeCall:
        self._libraries[variant] = library
        turns = variant.packed and self.wiring is not None
        return self.around(
            variant, library.address, library.symbols, code.lanes, code.workspace, library, code.samples, turns=turns
        )


def standalone_function(
    program: Program, accuracy: str, constant: Sequence[bool], name: str = standalone.FUNCTION
) -> Library:
    """Build the function that other languages call; its address is the library's, and there for as long as the process.

    Parameters
    ----------
    program : Program
    accuracy : {"default", "high"}
    constant : sequence of bool
        Inputs that have one value for all samples.
    name : str, optional
        One of the functions of :mod:`symdiff.codegen.c.standalone`.

    Raises
    ------
    BuildError
        Without a compiler, or when it fails.
    """
    library = build(standalone.emit_standalone(program, target_of(accuracy), constant))
    code = keep(library.code)
    table = (ctypes.c_void_p * (len(library.symbols) + 1)).from_address(code.address(standalone.FUNCTIONS))
    for number, symbol in enumerate(library.symbols):
        table[number] = symbol
    return library._replace(address=code.address(name))


#: Operations that are instructions; the others are functions, by address.
_INSTRUCTIONS = {name.rpartition("_")[0] for name in OPCODES} & SIGNATURES.keys()
complete({*_INSTRUCTIONS, *SCALARS, *LIBRARY}, __name__, SIGNATURES)

#: Bytes in which a unit's workspace is counted.
_VECTOR = 64


class InterpreterRunner(ProgramRunner):
    """Runs a program on the interpreter.

    Parameters
    ----------
    program : Program
    brief : bool, optional
        Write the code quickly, since it will soon be replaced.
    **options
        See :class:`~.variants.UnitOptions`; nothing is built, so that the limit is not used.
    """

    def __init__(self, program: Program, *, brief: bool = False, **options: Unpack[UnitOptions]) -> None:
        super().__init__(program, **options)
        self._brief = brief
        self.call(*self.usual)

    def source(self) -> str:
        """Return the C text of the usual unit, which says what the interpreter does."""
        native = NativeRunner(
            self.program, **self.usual.layout(), constant=self.constant, accuracy=self.accuracy, now=False
        )
        return native.source()

    def make(self, variant: Variant) -> NativeCall:
        """Write the code of a unit, which is of float64 where the program requires that."""
        single = variant.single and not self.program.wide
        code = None if self.kept is None else self.kept.code(variant)
        if code is None:
            from ...codegen.bytecode.assemble import assemble  # not needed by code that is known

            code = assemble(
                self.program,
                target_of(self.accuracy),
                reduce=variant.reduce,
                columns=variant.columns,
                single=single,
                constant=self.constant,
                brief=self._brief,
            )
            if self.kept is not None:
                self.kept.keep_code(variant, code)
        machine = Machine(
            code.lanes,
            single,
            code.code,
            code.numbers,
            code.vectors,
            code.rows,
            [_address(name) for name in code.functions],
            code.checks,
        )
        workspace = code.workspace // _VECTOR
        samples = VECTORS * code.lanes
        widens = variant.single and not single
        return self.around(
            variant, machine.address, [machine.argument], code.lanes, workspace, machine, samples, widens=widens
        )


def _address(name: str) -> int:
    """Return where a function of a program is, and refuse one that the interpreter lacks."""
    found = SCALARS.get(name) or function_address(name)
    if not found:
        raise InternalError(f"the interpreter lacks {name}: it has no row in _kernels/machine/interpreter.h")
    return found


class TieredRunner(ProgramRunner):
    """Runs a program on the interpreter until its native code is there.

    The first call of some hundred samples that native code serves runs both, whose bits are the same: native code
    gives way where it is slower.

    Parameters
    ----------
    program : Program
    now : bool, optional
        Begin with the usual unit now, not when it is first wanted.
    **options
        See :class:`~.variants.UnitOptions`. Native code that the cache has serves from the first call on.
    """

    narrows = True

    def __init__(self, program: Program, *, now: bool = True, **options: Unpack[UnitOptions]) -> None:
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
        if now:
            self.call(*self.usual)

    @property
    def backend(self) -> str:
        """Backend of ordinary calls now: "interpreter" or "c"."""
        return "c" if self.usual in self._built and not self._units[self.usual].gives_way else "interpreter"

    @property
    def begun(self) -> bool:
        """Tell whether there is the usual unit, or a build of it."""
        return self.usual in self._units

    @property
    def stats(self) -> dict[str, Any]:
        """State of the builds: the backend that serves and why, seconds in the compiler, and errors."""
        pending, failure = bool(self._pending), self._failure
        if not self.begun:
            return {"reason": "built when a batch asks for it", "building": pending, "build_seconds": 0.0}
        reason = "native code is built" if self.usual in self._built else "native code is being built"
        serving = self._units[self.usual]
        if serving.gives_way:
            reason = "the interpreter was faster than native code on a call's data"
        if self.obstacle and not pending:
            reason = self.obstacle
        told: dict[str, Any] = {
            "reason": reason,
            "building": pending,
            "build_seconds": self._native.build_seconds,
            "build_limit": self.build_limit,
        }
        if serving.times is not None:
            told["seconds_a_sample"] = dict(zip(("c", "interpreter"), serving.times, strict=True))
        return {**told, "build_failure": failure} if failure else told

    def source(self) -> str:
        """Return the C text of the usual unit, whether it is built or not."""
        return self._native.source()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being built for this kernel; tell whether that is so."""
        if not processes.urge():
            return not self._pending
        with self._changed:
            self._changed.wait_for(lambda: processes.ended() or not self._pending, timeout)
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
            processes.submit(_Build(weakref.ref(self), variant))
        return added

    def build(self, variant: Variant) -> None:
        """Build a unit and put it in use; in the background."""
        failure = obstacle = ""
        try:
            unit = self._native.make(variant)
        except OverBudgetError as error:
            obstacle = f"the interpreter serves on: {error}"
        except Exception as error:  # whatever it is, calls go on; the user is told by stats
            if processes.broken_off():
                return
            failure = f"{type(error).__name__}: {error}"
            full = isinstance(error, RoomError)
            obstacle = "no room for more native code" if full else "native code could not be built"
        else:
            unit.follow(self._units[variant])
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
        """Tell if anybody has the kernel."""
        return self.runner() is not None

    def __call__(self) -> None:
        runner = self.runner()
        if runner is not None:
            runner.build(self.variant)
