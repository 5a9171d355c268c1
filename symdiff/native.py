"""The "c" backend of one kernel: emits, builds and runs the scheduled program.

A function that sums over the batch is another C function, and most kernels need only one of
the two; each is therefore built when it is first wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kernels.call import NativeCall
from .build import Library, build, native_target
from .codegen.c import CSource, emit_c
from .errors import SingularMatrixError
from .program import Program

__all__ = ["NativeRunner"]


class NativeRunner:
    """Runs a program as native code.

    Parameters
    ----------
    program : Program
    reduce : bool
        Build the function that sums over the batch now, instead of the one that does not.

    Raises
    ------
    BuildError
        Without a compiler, or when it fails.
    """

    def __init__(self, program: Program, *, reduce: bool = False) -> None:
        self.program = program
        self._sources: dict[bool, CSource] = {}
        self._calls: dict[bool, NativeCall] = {}
        self._libraries: dict[bool, Library] = {}
        self.call(reduce)

    def __reduce__(self) -> tuple[Any, ...]:
        return NativeRunner, (self.program,)

    @property
    def build_seconds(self) -> float:
        """Time spent in the compiler so far; 0 when the cache had everything."""
        return sum(library.seconds for library in self._libraries.values())

    def source(self, reduce: bool = False) -> str:
        """Return the C text."""
        return self._source(reduce).text

    def _source(self, reduce: bool) -> CSource:
        if reduce not in self._sources:
            self._sources[reduce] = emit_c(self.program, native_target(), reduce=reduce)
        return self._sources[reduce]

    def call(self, reduce: bool) -> NativeCall:
        """Return the loaded function, built if it was not yet."""
        if reduce not in self._calls:
            source = self._source(reduce)
            library = self._libraries[reduce] = build(source)
            self._calls[reduce] = NativeCall(
                library.address,
                library.symbols,
                source.lanes,
                source.workspace,
                [port.size for port in self.program.inputs],
                [port.size for port in self.program.outputs],
                reduce,
                library,
            )
        return self._calls[reduce]

    def direct(self, batched: Sequence[bool], single: bool) -> Callable[[tuple[Any, ...], Any], Any] | None:
        """Return a function for the most ordinary calls, which returns None for all others.

        Parameters
        ----------
        batched : sequence of bool
            Whether each input may have batch axes.
        single : bool
            Return the only output itself, not a list.
        """
        inputs, outputs = ([port.shape for port in ports] for ports in (self.program.inputs, self.program.outputs))
        return self.call(False).direct(inputs, outputs, batched, single)

    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating[Any]]],
        outs: Sequence[npt.NDArray[np.floating[Any]]],
        reduce: bool,
    ) -> None:
        """Compute all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray of float64 or float32
            One for each input, of shape ``(N, ...)`` or ``(1, ...)``, with any strides.
        outs : sequence of ndarray of float64 or float32
            Filled; of shape ``(N, ...)``, or ``(1, ...)`` when ``reduce``. They overlap nothing.
        reduce : bool
            Sum over the batch, in an order that depends on N alone; over no samples that is zero.

        Raises
        ------
        SingularMatrixError
            With the index, along the batch, of the first sample that has such a matrix.
        """
        lengths = {len(array) for array in inputs} - {1}
        count = lengths.pop() if lengths else 1 if reduce or not outs else len(outs[0])
        failed = self.call(reduce).run(inputs, outs, count)
        if failed is not None:
            sample, check = failed
            raise SingularMatrixError(self.program.checks[check][1], (sample,))
