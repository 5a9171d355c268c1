"""The common part of runners of scalar programs: units, made when they are first needed.

One program becomes several units: rows or columns, float64 or float32, with and without
summing over the batch. Most kernels need one of them. Whatever a unit is made of, generated
code or the interpreter's, calls reach it in the same way (``_kernels/unit.pyx``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from ..._kernels.unit import MOST_SAMPLES, NativeCall, prefers_columns
from ...errors import LimitError, SingularMatrixError
from ...lowering.plan.plan import Wiring
from ...lowering.program import CHEAP, Program
from ..kept.records import UnitRecord

__all__ = ["ProgramRunner", "UnitOptions", "Variant", "cost"]


class Variant(NamedTuple):
    """The properties in which units of one program differ.

    Parameters
    ----------
    reduce : bool
        Results are summed over the batch.
    columns : bool
        Neighbours in memory are samples, not elements of one.
    single : bool
        Numbers are float32.
    packed : bool
        Of columns: all distances are known, see :class:`symdiff.codegen.c.layout.BatchLayout`.
    """

    reduce: bool = False
    columns: bool = False
    single: bool = False
    packed: bool = False

    def layout(self) -> UsualLayout:
        """Return the options of a runner whose usual unit this is; those of float32 are made when they are wanted."""
        return {"reduce": self.reduce, "columns": self.columns, "packed": self.packed}


class UsualLayout(TypedDict):
    """The part of :class:`UnitOptions` that tells the usual unit."""

    reduce: bool
    columns: bool
    packed: bool


def cost(program: Program) -> int:
    """Estimate what one sample takes, in additions."""
    calls = sum(count for op, count in program.tally.items() if op not in CHEAP)
    moved = sum(port.size for port in (*program.inputs, *program.outputs))
    return len(program.ops) + 8 * calls + moved


class UnitOptions(TypedDict, total=False):
    """What every runner of a program takes, all of it by name.

    Parameters
    ----------
    reduce, columns : bool
        The usual unit, which serves batches whose layout does not matter: summing over the batch, and for columns.
    packed : bool
        The usual unit is packed, for the body of a loop; by default it is not.
    wiring : Wiring, optional
        Native code of the packed unit has the loop in it, and carries these arrays in registers.
    constant : sequence of bool
        Inputs that never have batch axes; by default none.
    accuracy : {"default", "high"}
        "high" takes libm's functions (below one unit in the last place) for the vector library's
        (below four), sample by sample and several times slower.
    build_limit : float
        Seconds that the compiler may take for all units, if there is one; by default there is no limit.
    kept : UnitRecord, optional
        What is kept of the units between processes.
    """

    reduce: bool
    columns: bool
    packed: bool
    wiring: Wiring | None
    constant: Sequence[bool]
    accuracy: str
    build_limit: float
    kept: UnitRecord | None


class ProgramRunner(ABC):
    """The units of one program, and how batches find the one that suits them.

    Parameters
    ----------
    program : Program
    **options
        See :class:`UnitOptions`.
    """

    #: Whether there are units that read float32 where it is and compute in float64, for programs that require that.
    narrows = False

    def __init__(self, program: Program, **options: Unpack[UnitOptions]) -> None:
        self.kept = options.get("kept")
        self.program = program
        self.build_limit = options.get("build_limit", math.inf)
        self.constant = tuple(options.get("constant", ()))
        self.accuracy = options.get("accuracy", "default")
        self.wiring = options.get("wiring")
        packed = options.get("packed", False)
        self.usual = Variant(options.get("reduce", False), options.get("columns", False) or packed, packed=packed)
        self._units: dict[Variant, NativeCall] = {}
        self._install: dict[bool, list[Callable[[NativeCall], None]]] = {False: [], True: []}

    def __reduce__(self) -> tuple[Any, ...]:
        options = self.usual, self.constant, self.accuracy, self.build_limit, self.wiring
        return _restore, (type(self), self.program, *options)

    @abstractmethod
    def source(self) -> str:
        """Return the C text of the usual unit."""

    @abstractmethod
    def make(self, variant: Variant) -> NativeCall:
        """Build the unit of a variant."""

    def around(
        self,
        variant: Variant,
        address: int,
        functions: Sequence[int],
        lanes: int,
        workspace: int,
        holder: object,
        samples: int = 0,
        *,
        turns: bool = False,
        widens: bool = False,
    ) -> NativeCall:
        """Return a unit around a function.

        Parameters
        ----------
        variant : Variant
            The properties of the unit.
        address : int
            Address of the function, of C type ``sd_kernel`` (``_kernels/batch/unit.h``).
        functions : sequence of int
            Addresses that it receives as ``fn``.
        lanes : int
            Samples in one vector.
        workspace : int
            Number of vectors in its workspace.
        holder : object
            Object that owns the code; the unit keeps it alive.
        samples : int, optional
            Samples per iteration, if these are more than ``lanes``.
        turns : bool, optional
            It runs all turns of the loop that the program is the body of.
        widens : bool, optional
            It reads and writes float64 whatever the variant is; arrays of float32 are converted for it.
        """
        inputs, outputs = ([port.size for port in ports] for ports in (self.program.inputs, self.program.outputs))
        return NativeCall(
            address,
            functions,
            lanes,
            workspace,
            inputs,
            outputs,
            variant.reduce,
            holder,
            columns=variant.columns,
            single=variant.single and not widens,
            packed=variant.packed,
            constant=self.constant,
            cost=cost(self.program),
            samples=samples,
            turns=turns,
            wide=2 if variant.single and widens else self.program.wide and not self._has_single(variant),
        )

    def _has_single(self, variant: Variant) -> bool:
        """Tell whether calls of float32 have a unit of their own."""
        return not self.program.wide or (self.narrows and not variant.reduce and not variant.packed)

    def put(self, variant: Variant, unit: NativeCall) -> None:
        """Replace the unit of a variant, if there is one, and install the new one."""
        self._units[variant] = unit
        self._hand_over(variant)

    def _hand_over(self, variant: Variant) -> None:
        for install in self._install[variant.reduce]:
            self._install_latest(install, variant)

    def _install_latest(self, install: Callable[[NativeCall], None], variant: Variant) -> None:
        """Install the current unit, and repeat while other threads replace it. A lock would not survive a fork."""
        unit = None
        while unit is not self._units[variant]:
            unit = self._units[variant]
            install(unit)

    def call(
        self, reduce: bool = False, columns: bool = False, single: bool = False, packed: bool = False
    ) -> NativeCall:
        """Return the unit of a variant, built at first use; of float64 where float32 has none of its own."""
        variant = Variant(reduce, columns, single, packed)
        if single and not self._has_single(variant):
            variant = variant._replace(single=False)
        if variant not in self._units:
            self.add(variant, self.make(variant))
        return self._units[variant]

    def add(self, variant: Variant, unit: NativeCall) -> bool:
        """Add a unit unless another thread has added one; return whether it was added."""
        added = self._units.setdefault(variant, unit) is unit
        if added:
            self._hand_over(variant)
        return added

    def bind(self, install: Callable[[NativeCall], None], reduce: bool) -> None:
        """Install each present and future unit of one kind: those that sum over the batch, or those that do not.

        Parameters
        ----------
        install : callable
            Takes a unit, which then serves calls of its dtype and layout.
        reduce : bool
        """
        self._install[reduce].append(install)
        for variant in list(self._units):
            if variant.reduce == reduce:
                self._install_latest(install, variant)

    def run(
        self,
        inputs: Sequence[npt.NDArray[np.floating[Any]]],
        outs: Sequence[npt.NDArray[np.floating[Any]]],
        reduce: bool,
        batch: tuple[int, ...] | None = None,
        threads: int = 1,
        *,
        kept: bool = False,
        single: bool | None = None,
    ) -> None:
        """Compute all samples of a batch.

        Parameters
        ----------
        inputs : sequence of ndarray of float64 or float32
            One for each input, with the batch's axes in front, each of its length or of length 1.
            Any strides.
        outs : sequence of ndarray of float64 or float32
            Filled; of shape ``(*batch, ...)``, or with axes of length 1 when ``reduce``. They
            overlap nothing.
        reduce : bool
            Sum over the batch, in an order that depends on the batch's size alone. The sum of no
            samples is zero.
        batch : tuple of int, optional
            Shape of the batch; by default one axis, as long as the arrays have it.
        threads : int
            Most threads that the call may use.
        kept : bool
            Sum over all axes of the batch but the first, each sum in the order that it has by itself.
        single : bool, optional
            Compute in float32, unless the program requires float64; by default where all inputs are float32.

        Raises
        ------
        SingularMatrixError
            With the index of the first such sample along the flattened batch.
        LimitError
            For more samples than can be counted.
        """
        if batch is None:
            lengths = {len(array) for array in inputs} - {1}
            batch = (lengths.pop() if lengths else 1 if reduce or not outs else len(outs[0]),)
        if math.prod(batch) > MOST_SAMPLES:
            raise LimitError(f"a batch of more samples than can be counted: {batch}")
        if single is None:
            single = bool(inputs) and all(array.dtype == np.float32 for array in inputs)
        moved = inputs if reduce else [*inputs, *outs]
        columns = prefers_columns(moved, batch, self.usual.columns)
        failed = self.call(reduce, columns, single).run(inputs, outs, batch, threads, kept=kept)
        if failed is not None:
            sample, check = failed
            raise SingularMatrixError(self.program.checks[check][1], (sample,))


def _restore(
    kind: Callable[..., ProgramRunner],
    program: Program,
    usual: Variant,
    constant: tuple[bool, ...],
    accuracy: str,
    limit: float,
    wiring: Wiring | None,
) -> ProgramRunner:
    return kind(program, **usual.layout(), wiring=wiring, constant=constant, accuracy=accuracy, build_limit=limit)
