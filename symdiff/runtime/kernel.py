"""The compiled formula as users hold it: called like a NumPy function, over one sample or many.

A kernel knows the names and shapes of its inputs and outputs, checks what it is given, and
leaves the numbers to a runner (native code or NumPy). What it can tell about itself (its
formula, its source, what was rewritten) it asks of its origin, the part of the compiler that
made it, and only when it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from .._kernels.call import CallPath, with_vectorcall
from .._kernels.plan.entry import PlanEntry
from .._kernels.unit import NativeCall
from ..errors import AbsentError, ArgumentError, SingularMatrixError, UnsupportedError
from ..frontend.array import Array
from ..frontend.outputs import LEAF, pack, unpack
from ..frontend.outputs import show as show_structure
from ..graph.sizes import Shape, named, show
from ..ground.advice import KERNEL, advice
from ..ground.guard import guarded, refuse
from .arguments import Batch, Floats, Parameter, check_outs, match, one_axis, overlap, sample_shape, stack_batches
from .options import Options
from .origin import Origin
from .result_memory import empty
from .runners.interfaces import Changing, Planned, Runner, UnitRunner
from .runners.native import standalone_function
from .threads import get_num_threads, register
from .toolchain.build import Library

__all__ = ["Kernel", "Origin"]


#: Batch axes that units take; more are brought into one, by copying where that must be.
MOST_AXES = 8


@with_vectorcall
class Kernel(CallPath):
    """A compiled formula.

    Call it with arrays by position, in the order of :attr:`inputs`, or by name. Each may be one
    sample, of the input's own shape, or a batch with any axes before that; batch axes broadcast
    together as NumPy's do, and results have them in front (behind, with ``batch_axis=-1``).

    A call is ``kernel(*inputs, out=None, inputs=None, **named_inputs)``:

    * Inputs are real numbers: float64 and float32 are read where they lie, whatever their
      strides, integers and bool are converted. If all arrays are float32, so are the computation
      (with the accuracy of that: about six digits, numbers up to 3.4e38) and the results; Python's
      own numbers are of the type of the others. Else all is float64. Small formulas with inverses,
      determinants and the like are computed in float64 and rounded, as NumPy's are.
    * ``out`` is an array of the result's exact shape, or the structure of them that the result
      has. It may overlap the inputs. It saves making an array, for which large results are
      slower than the computation.
    * ``inputs`` gives inputs by names that Python or a call uses itself.
    * Inputs that ``compile`` was given in a dict, list or dataclass come in one.
    * Called with symbols, or formulas of them, a kernel gives its formula of them, of one sample.
    * The result is an array, a NumPy scalar for a single number, or the kernel's structure of
      them; with ``reduce``, of the output's own shape.
    * ``ArgumentError``, ``ShapeError`` and ``DtypeError`` come before anything is computed, and
      leave ``out`` as it was. ``SingularMatrixError`` has the index of the first such sample in
      the batch; ``out`` then holds anything.

    Several Python threads may call one kernel at once.

    Parameters
    ----------
    inputs, outputs : sequence of Parameter
        Names and shapes of one sample; outputs in order.
    runner : Runner
        What computes.
    origin : Origin
        What the kernel tells about itself.
    structure : template, optional
        How results come back: lists, tuples and dicts with ``structure.LEAF`` for every output.
    options : Options, optional
        How batches are treated.
    plans : Planned, optional
        What plans calls that share inputs among samples, or all calls.
    """

    @guarded
    def __init__(
        self,
        inputs: Sequence[Parameter],
        outputs: Sequence[Parameter],
        runner: Runner,
        origin: Origin,
        *,
        structure: Any = LEAF,
        options: Options | None = None,
        plans: Planned | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.options = options or Options()
        self._runner = runner
        # Looking at a protocol takes ten times as long as a short call.
        self._units = runner if isinstance(runner, UnitRunner) else None
        self._origin = origin
        self._plans = plans
        self._structure = structure
        self._function: Library | None = None
        unknown = sorted((self.options.batch or frozenset()) - {p.name for p in self.inputs})
        if unknown:
            raise ArgumentError(
                f"batch names {', '.join(unknown)}, not an input; inputs are {', '.join(self._names())}"
            )
        if self.options.reduce not in (None, "sum"):
            raise UnsupportedError(f"reduce={self.options.reduce!r} is not offered; expected 'sum' or None")
        if self.options.batch_axis not in (0, -1):
            raise UnsupportedError(f"batch_axis={self.options.batch_axis!r} is not offered; expected 0 or -1")
        if self.options.threads is not None and self.options.threads < 1:
            raise ArgumentError(f"threads={self.options.threads}; expected at least 1, or None")
        if self.options.accuracy not in ("default", "high"):
            raise ArgumentError(f"accuracy={self.options.accuracy!r}; expected 'default' or 'high'")
        self._letters = _letters_of(self.inputs)
        if (self._units is not None or plans is not None) and self._letters is not None:
            self._shorten(self._letters)

    def _shorten(self, letters: Sequence[str]) -> None:
        """Let ordinary calls go to units or plans without Python on the way."""
        reduce = self.options.is_reduced
        self._prepare(
            self._names(),
            [_coded(p.shape, letters) for p in self.inputs],
            [tuple(size if isinstance(size, int) else 0 for size in p.shape) for p in self.outputs],
            [self.options.is_batched(p.name) for p in self.inputs],
            self.options.in_columns,
            reduce,
            None if self._structure == LEAF else self._structure,
            self.options.threads,
            len(letters),
            self._plans is not None,
        )
        if self._units is not None:
            # The runner does not hold the kernel: both end, and their code, with the last reference to the kernel.
            self._units.bind(partial(_install_in, ref(self)), reduce)
        register()

    def _call(self, args: Sequence[Any], out: Any, inputs: Mapping[str, Any] | None, named: dict[str, Any]) -> Any:
        """Serve a call that is out of the ordinary: check everything, convert, or tell what is wrong."""
        if inputs is not None or named or len(args) != len(self.inputs) or self.options.groups is not None:
            if inputs is not None and not isinstance(inputs, Mapping):
                raise ArgumentError(f"inputs= holds a {type(inputs).__name__}; expected a dict of arrays by name")
            twice = sorted(named.keys() & (inputs or {}).keys())
            if twice:
                raise ArgumentError(f"{', '.join(twice)} given by name and in inputs=; give each once")
            given: Sequence[Any] = args
            named = {**named, **(inputs or {})}
            if self.options.groups is not None:
                given, named = self.options.groups.spread(args, named)
            args = tuple(match(self.inputs, given, named))
        if any(map(_holds_symbol, args)):
            if out is not None:
                raise ArgumentError("out= in a call with symbols, whose result is a formula; call it without")
            return self._origin.apply(list(args))
        columns = self.options.in_columns
        batch = stack_batches(self.inputs, args, self.options.batch, columns)
        shapes = [sample_shape(p.shape, batch.sizes) for p in self.outputs]
        lead = () if self.options.reduce else batch.shape
        full = [(*shape, *lead) if columns else (*lead, *shape) for shape in shapes]
        if out is None:
            targets = empty(full, batch.dtype)
            self._run(batch, shapes, targets)
            return self._pack([t if t.ndim else t[()] for t in targets])
        targets = unpack(self._structure, out)
        check_outs(self.outputs, full, targets, batch.dtype)
        # Subclasses (matrix, memmap) are written to as the plain arrays they are.
        targets = [np.asarray(target) for target in targets]
        for k, array in enumerate(batch.arrays):
            if any(overlap(array, target) for target in targets):
                batch.arrays[k] = array.copy()
        self._run(batch, shapes, targets)
        return out

    def _run(self, batch: Batch, shapes: Sequence[tuple[int, ...]], targets: Sequence[Floats]) -> None:
        """Compute into ``targets``, arrays of the results' full shapes."""
        reduce = self.options.is_reduced
        lead = 0 if reduce else len(batch.shape)
        if batch.count == 0:
            for target in targets:
                target[...] = 0
            return
        # Batch axes to the front: a view, whatever the strides are.
        fronts = [
            target.transpose(*range(target.ndim - lead, target.ndim), *range(target.ndim - lead))
            if self.options.in_columns
            else target
            for target in targets
        ]
        try:
            if self._units is not None and len(batch.shape) <= MOST_AXES and not self._is_planned(batch, shapes):
                ones = (1,) * len(batch.shape) if reduce else ()
                outs = [front.reshape((*ones, *front.shape)) for front in fronts]
                threads = self.options.threads or get_num_threads()
                self._units.run(batch.arrays, outs, reduce, batch.shape, threads)
            else:
                if self._units is None:
                    self._is_planned(batch, shapes)
                self._run_rows(batch, shapes, fronts, reduce)
        except SingularMatrixError as error:
            raise self._located(error, batch) from None
        except Exception as error:
            refuse(error, "a call of a kernel", batch.arrays)

    def _is_planned(self, batch: Batch, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Tell whether a plan serves a call, and let later calls of its kind find it."""
        if self._plans is None:
            return False
        lead = len(batch.shape)
        batched = tuple(batch.count > 1 and math.prod(array.shape[:lead]) != 1 for array in batch.arrays)
        if self._units is not None:
            # units read arrays that are repeated along one of several axes where they are; plans take a copy
            repeated = any(
                has and array.shape[:lead] != batch.shape for has, array in zip(batched, batch.arrays, strict=True)
            )
            if repeated or batch.count == 1 or (all(batched) and not self.options.is_reduced):
                return False
        single = batch.dtype == np.float32
        found = self._plans.entry(batched, [array.shape[lead:] for array in batch.arrays], single)
        if found is None:
            return False
        plan, rows = found
        if self._letters is not None:
            self._enter(PlanEntry(plan, batched, single, [batch.sizes[name] for name in self._letters], rows, shapes))
        return plan is not None

    def _run_rows(
        self, batch: Batch, shapes: Sequence[tuple[int, ...]], fronts: Sequence[Floats], reduce: bool
    ) -> None:
        """Run with the batch's axes in one; where strides do not allow that, beside the target."""
        count = 1 if reduce else batch.count
        rows = [
            np.empty((count, *shape), front.dtype.newbyteorder("="))
            for shape, front in zip(shapes, fronts, strict=True)
        ]
        for k, front in enumerate(fronts):
            flat = front.reshape(rows[k].shape)
            if flat.dtype.isnative and flat.flags.aligned and np.may_share_memory(flat, front):
                rows[k] = flat
        runner = self._runner if self._plans is None else self._plans
        runner.run([one_axis(array, batch.shape) for array in batch.arrays], rows, reduce)
        for row, front in zip(rows, fronts, strict=True):
            if not np.may_share_memory(row, front):
                front[...] = row.reshape(front.shape)

    def _located(self, error: SingularMatrixError, batch: Batch) -> SingularMatrixError:
        """Give the sample a runner counted its index in the batch."""
        if not batch.shape or not error.index:  # one sample, or a matrix that all of them share
            return SingularMatrixError(str(error))
        index = tuple(int(i) for i in np.unravel_index(error.index[0], batch.shape))
        return SingularMatrixError(f"{error} (sample {index[0] if len(index) == 1 else index} of the batch)", index)

    def _pack(self, results: Sequence[Any]) -> Any:
        return pack(self._structure, iter(results))

    @guarded
    def values(self, *args: Any, inputs: Mapping[str, Any] | None = None, **named: Any) -> dict[str, Any]:
        """Compute the named sub-formulas at some inputs.

        Parameters
        ----------
        *args, **named, inputs
            As in a call.

        Returns
        -------
        dict of str to ndarray
        """
        result: dict[str, Any] = self._origin.named()(*args, inputs=inputs, **named)
        return result

    @guarded
    def source(self, language: str | None = None) -> str:
        """Return the generated source in ``language``, "c", "cython" or "numpy"; by default the one that runs."""
        return self._origin.source(language or self.backend)

    @guarded
    def latex(self) -> str:
        """Return the formula as LaTeX."""
        return self._origin.latex()

    @property
    @guarded
    def sympy(self) -> Any:
        """The formula as SymPy, in the kernel's structure; see :attr:`symdiff.Array.sympy` for :class:`Definitions`."""
        return self._origin.sympy()

    @property
    def backend(self) -> str:
        """What computes now: "c", "interpreter", "cython" or "numpy"."""
        return self._runner.backend if isinstance(self._runner, Changing) else self._origin.backend

    @property
    def rewrites(self) -> tuple[str, ...]:
        """The stability rewrites that were made."""
        return self._origin.rewrites

    @property
    @guarded
    def stats(self) -> dict[str, Any]:
        """Counts and times of the compilation; what serves now, and why."""
        told = {**self._origin.stats, **(self._runner.stats if isinstance(self._runner, Changing) else {})}
        return told if self._plans is None else {**told, "arena_bytes": self._plans.arena_bytes}

    @property
    @guarded
    def plan(self) -> str:
        """What a call does, as text: the steps of each plan so far, with estimated times and why they are chosen.

        A kernel that is one program over samples has a line for it. Plans for calls that share inputs among samples
        are made when such a call comes.

        Examples
        --------
        >>> import symdiff as sd
        >>> print(sd.compile("exp(x) * sum(x**2)", x="n").plan)
        one sample:
          step 0: sum over i0<n -> r0; 475 ns a call; element by element, fused
          step 1: map over i0<n -> r1; 1.68 us a call; element by element, fused
        """
        lines = [] if self._plans is None else list(self._plans.lines())
        if self._units is not None:
            count = sum(op not in ("load", "const") for op in self._units.program.ops)
            lines.insert(0, f"every sample: one program of {count} operations")
        return "\n".join(lines or [f"array operations: {self.backend}"])

    @guarded
    def wait(self, timeout: float | None = None) -> bool:
        """Wait for native code that is being built in the background.

        Calls are served all the time; this is for measuring, or for a process about to fork.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Returns
        -------
        bool
            False if there is still something to build; true if there is nothing, or nothing any more.
        """
        return self._runner.wait(timeout) if isinstance(self._runner, Changing) else True

    @property
    @guarded
    def address(self) -> int:
        """Address of the kernel as a C function, for ctypes, cffi, or code in another language.

        The function is ``long f(long count, const double *const *inputs, double *const *outputs)``.
        Input ``i`` holds ``count`` samples one after the other, each in C order (one sample only,
        if it is not among the inputs named in ``batch=``), and output ``i`` has room for as many;
        nothing may overlap. It returns -1, or the first sample in which a matrix is singular, or
        -2 without memory; outputs are then unspecified. Several threads may call it at once. It
        is there for as long as the process, even when the kernel is gone: to read an address is
        to keep its code loaded.

        Raises
        ------
        UnsupportedError
            For kernels that sum over the batch or are not made of scalar operations.
        BuildError
            Without a C compiler.
        """
        if self.options.reduce or self._units is None:
            why = "sums over the batch" if self.options.reduce else f"runs on the backend {self.backend!r}"
            raise UnsupportedError(
                f"a kernel that {why} has no address; compile with backend='native', without reduce="
            )
        if self._function is None:
            constant = [not self.options.is_batched(p.name) for p in self.inputs]
            self._function = standalone_function(self._units.program, self.options.accuracy, constant)
        return self._function.address

    @property
    @guarded
    def signature(self) -> str:
        """Names and shapes of one sample: ``(X: (2, 4), y: (4,)) -> (2, 2, 4)``."""
        results = show_structure(self._structure, (show(p.shape) for p in self.outputs))
        arguments = list(map(str, self.inputs))
        if self.options.groups is not None:
            shapes = {p.name: show(p.shape) for p in self.inputs}
            arguments = []
            for group in self.options.groups.groups:
                own = show_structure(group.template, (shapes[name] for name in group.inputs))
                arguments.append(f"{group.name}: {own}" if group.name else own)
        return f"({', '.join(arguments)}) -> {results}"

    def __getattr__(self, name: str) -> Any:
        raise AbsentError(f"a kernel has no {name!r}{advice(name, KERNEL, dir(type(self)))}")

    def _names(self) -> list[str]:
        return [p.name for p in self.inputs]

    @guarded
    def __repr__(self) -> str:
        options = f", reduce={self.options.reduce!r}" if self.options.reduce else ""
        if self.options.batch is not None:
            options += f", batch={sorted(self.options.batch)}"
        if self.options.batch_axis:
            options += f", batch_axis={self.options.batch_axis}"
        return f"<symdiff.Kernel {self.signature}, backend={self.backend!r}{options}>"

    @guarded
    def __reduce__(self) -> tuple[Any, ...]:
        return self._origin.rebuild()


def _holds_symbol(value: Any, depth: int = MOST_AXES) -> bool:
    """Tell whether an argument is a symbol, or a list with symbols in it."""
    if isinstance(value, list | tuple):
        return depth > 0 and any(_holds_symbol(part, depth - 1) for part in value)
    return isinstance(value, Array)


def _install_in(kernel: ref[Kernel], unit: NativeCall) -> None:
    """Have a kernel use a unit, if there is the kernel still."""
    found = kernel()
    if found is not None:
        found._install(unit)


def _coded(shape: Shape, letters: Sequence[str]) -> tuple[int, ...]:
    """Return a shape in which named sizes are -1, -2, ... by their place among the kernel's."""
    return tuple(size if isinstance(size, int) else -1 - letters.index(str(size)) for size in shape)


def _letters_of(inputs: Sequence[Parameter]) -> list[str] | None:
    """Return the named sizes of inputs in order, None where a size is more than a name."""
    found: list[str] = []
    for parameter in inputs:
        for size in parameter.shape:
            if isinstance(size, int):
                continue
            name = str(size)
            if size != named(name) or name not in size.names:
                return None
            if name not in found:
                found.append(name)
    return found
