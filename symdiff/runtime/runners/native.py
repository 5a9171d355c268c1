"""The "c" backend of one kernel: emits, builds and runs the scheduled program."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

from ..._kernels.unit import NativeCall
from ...codegen.c import standalone
from ...codegen.c.emit import CSource, Target, emit_c
from ...codegen.c.standalone import emit_standalone
from ...lowering.program import Program
from ..kept.records import NativeCode, UnitRecord
from ..toolchain.build import Library, build, kept_library
from ..toolchain.load import keep
from ..toolchain.machine import native_target
from .variants import ProgramRunner, Variant

__all__ = ["NativeRunner", "standalone_function", "target_of"]


def target_of(accuracy: str) -> Target:
    """Return this machine, as far as code of some accuracy may use it."""
    target = native_target()
    return target._replace(prefix="", vector_math=frozenset()) if accuracy == "high" else target


class NativeRunner(ProgramRunner):
    """Runs a program as native code.

    Parameters
    ----------
    program : Program
    reduce, columns : bool
        The unit that is built now: summing over the batch, and for columns.
    constant : sequence of bool, optional
        Inputs that never have batch axes.
    accuracy : {"default", "high"}
        "high" takes libm's functions (below one unit in the last place) for the vector library's
        (below four), sample by sample and several times slower.
    build_limit : float, optional
        Seconds that the compiler may take for all units.
    now : bool, optional
        Build now, not when a unit is first wanted.
    kept : UnitRecord, optional
        What is kept of the units between processes.

    Raises
    ------
    BuildError
        Without a compiler, when it fails, and when it would take longer (``OverBudgetError``).
    """

    def __init__(
        self,
        program: Program,
        *,
        reduce: bool = False,
        columns: bool = False,
        constant: Sequence[bool] = (),
        accuracy: str = "default",
        build_limit: float = math.inf,
        now: bool = True,
        kept: UnitRecord | None = None,
    ) -> None:
        super().__init__(program, Variant(reduce, columns), constant, accuracy, build_limit, kept)
        self._sources: dict[Variant, CSource] = {}
        self._libraries: dict[Variant, Library] = {}
        if now:
            self.call(reduce, columns)

    @property
    def build_seconds(self) -> float:
        """Time spent in the compiler so far; 0 when the cache had everything."""
        return sum(library.seconds for library in list(self._libraries.values()))

    def source(self, variant: Variant | None = None) -> str:
        """Return the C text of a unit, by default of the usual one, whether it is built or not."""
        return self._source(variant or self.usual).text

    def _source(self, variant: Variant) -> CSource:
        if variant not in self._sources:
            self._sources[variant] = emit_c(
                self.program,
                target_of(self.accuracy),
                reduce=variant.reduce,
                columns=variant.columns,
                single=variant.single,
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
        return self.around(
            variant, library.address, library.symbols, code.lanes, code.workspace, library, code.samples
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
    library = build(emit_standalone(program, target_of(accuracy), constant))
    code = keep(library.code)
    table = (ctypes.c_void_p * (len(library.symbols) + 1)).from_address(code.address(standalone.FUNCTIONS))
    for number, symbol in enumerate(library.symbols):
        table[number] = symbol
    return library._replace(address=code.address(name))
