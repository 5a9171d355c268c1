"""The "c" backend of one kernel: emits, builds and runs the scheduled program.

One program becomes several units: rows or columns, float64 or float32, with and without
summing over the batch. Most kernels need one of them; each is built when it is first wanted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kernels.call import NativeCall, prefers_columns
from .build import Library, build, native_target
from .codegen import plain
from .codegen.c import CSource, emit_c
from .codegen.plain import emit_plain
from .errors import SingularMatrixError
from .program import Program

__all__ = ["NativeRunner", "Variant", "cost", "plain_function"]


@dataclass(frozen=True)
class Variant:
    """What tells the units of one program apart.

    Parameters
    ----------
    reduce : bool
        Results are summed over the batch.
    columns : bool
        Neighbours in memory are samples, not elements of one.
    single : bool
        Numbers are float32.
    """

    reduce: bool = False
    columns: bool = False
    single: bool = False


def cost(program: Program) -> int:
    """Estimate what one sample takes, in additions."""
    calls = sum(op not in _CHEAP for op in program.ops)
    moved = sum(port.size for port in (*program.inputs, *program.outputs))
    return len(program.ops) + 8 * calls + moved


_CHEAP = frozenset(
    ("load", "const", "add", "subtract", "multiply", "negative", "abs", "minimum", "maximum", "where", "fma")
)


class NativeRunner:
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

    Raises
    ------
    BuildError
        Without a compiler, or when it fails.
    """

    def __init__(
        self,
        program: Program,
        *,
        reduce: bool = False,
        columns: bool = False,
        constant: Sequence[bool] = (),
        accuracy: str = "default",
    ) -> None:
        self.program = program
        self.constant = tuple(constant)
        self.accuracy = accuracy
        self._usual = Variant(reduce, columns)
        self._sources: dict[Variant, CSource] = {}
        self._units: dict[Variant, NativeCall] = {}
        self._libraries: dict[Variant, Library] = {}
        self._install: dict[bool, list[Callable[[NativeCall], None]]] = {False: [], True: []}
        self.call(reduce, columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.program, self._usual, self.constant, self.accuracy)

    @property
    def build_seconds(self) -> float:
        """Time spent in the compiler so far; 0 when the cache had everything."""
        return sum(library.seconds for library in self._libraries.values())

    def source(self, reduce: bool = False, columns: bool = False, single: bool = False) -> str:
        """Return the C text of a unit."""
        return self._source(Variant(reduce, columns, single)).text

    def _source(self, variant: Variant) -> CSource:
        if variant not in self._sources:
            target = native_target()
            if self.accuracy == "high":
                target = replace(target, prefix="", vector_math=frozenset())
            self._sources[variant] = emit_c(
                self.program,
                target,
                reduce=variant.reduce,
                columns=variant.columns,
                single=variant.single,
                constant=self.constant,
            )
        return self._sources[variant]

    def call(self, reduce: bool = False, columns: bool = False, single: bool = False) -> NativeCall:
        """Return a loaded unit, built if it was not yet."""
        variant = Variant(reduce, columns, single)
        if variant not in self._units:
            source = self._source(variant)
            library = self._libraries[variant] = build(source)
            unit = self._units[variant] = NativeCall(
                library.address,
                library.symbols,
                source.lanes,
                source.workspace,
                [port.size for port in self.program.inputs],
                [port.size for port in self.program.outputs],
                reduce,
                library,
                columns=columns,
                single=single,
                constant=source.constant,
                cost=cost(self.program),
            )
            for install in self._install[reduce]:
                install(unit)
        return self._units[variant]

    def bind(self, install: Callable[[NativeCall], None], reduce: bool) -> None:
        """Hand over every unit that there is and will be, which sums over the batch or does not.

        Parameters
        ----------
        install : callable
            Takes a unit, from then on used for calls of its type and layout.
        reduce : bool
        """
        self._install[reduce].append(install)
        for variant, unit in list(self._units.items()):
            if variant.reduce == reduce:
                install(unit)

    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating[Any]]],
        outs: Sequence[npt.NDArray[np.floating[Any]]],
        reduce: bool,
        batch: tuple[int, ...] | None = None,
        threads: int = 1,
    ) -> None:
        """Compute all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray of float64 or float32
            One for each input, with the batch's axes in front, each of its length or of length 1.
            Any strides. When all are float32, so is the computation.
        outs : sequence of ndarray of float64 or float32
            Filled; of shape ``(*batch, ...)``, or with axes of length 1 when ``reduce``. They
            overlap nothing.
        reduce : bool
            Sum over the batch, in an order that depends on its size alone; over no samples that
            is zero.
        batch : tuple of int, optional
            Shape of the batch; by default one axis, as long as the arrays have it.
        threads : int
            At most so many.

        Raises
        ------
        SingularMatrixError
            With the index, along the flattened batch, of the first sample with such a matrix.
        """
        if batch is None:
            lengths = {len(array) for array in inputs} - {1}
            batch = (lengths.pop() if lengths else 1 if reduce or not outs else len(outs[0]),)
        single = bool(inputs) and all(array.dtype == np.float32 for array in inputs)
        moved = inputs if reduce else [*inputs, *outs]
        columns = prefers_columns(moved, batch, single, self._usual.columns)
        failed = self.call(reduce, columns, single).run(inputs, outs, batch, threads)
        if failed is not None:
            sample, check = failed
            raise SingularMatrixError(self.program.checks[check][1], (sample,))


def _restore(program: Program, usual: Variant, constant: tuple[bool, ...], accuracy: str) -> NativeRunner:
    return NativeRunner(program, reduce=usual.reduce, columns=usual.columns, constant=constant, accuracy=accuracy)


def plain_function(program: Program, accuracy: str, constant: Sequence[bool]) -> Library:
    """Build the function that other languages call; its address is the library's.

    Parameters
    ----------
    program : Program
    accuracy : {"default", "high"}
    constant : sequence of bool
        Inputs that have one value for all samples.

    Raises
    ------
    BuildError
        Without a compiler, or when it fails.
    """
    target = native_target()
    if accuracy == "high":
        target = replace(target, prefix="", vector_math=frozenset())
    library = build(emit_plain(program, target, constant))
    table = (ctypes.c_void_p * (len(library.symbols) + 1)).in_dll(library.handle, plain.FUNCTIONS)
    for number, symbol in enumerate(library.symbols):
        table[number] = symbol
    address = ctypes.cast(library.handle[plain.FUNCTION], ctypes.c_void_p).value
    assert address is not None
    return replace(library, address=address)
