"""The "c" backend of one kernel: emits, builds and runs the scheduled program."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from ..._kernels.unit import NativeCall
from ...codegen.c import standalone
from ...codegen.c.target import Target
from ...lowering.program import Program
from ..kept.records import NativeCode
from ..toolchain.build import Library, build, kept_library
from ..toolchain.host import native_target
from ..toolchain.load import keep
from .variants import ProgramRunner, UnitOptions, Variant

if TYPE_CHECKING:
    from ...codegen.c.emit import CSource

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
