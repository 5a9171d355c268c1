"""The compiled formula as users hold it: called like a NumPy function, over one sample or many.

A kernel knows the names and shapes of its inputs and outputs, checks what it is given, and
leaves the numbers to a runner (native code or NumPy). What it can tell about itself (its
formula, its source, what was rewritten) it asks of its origin, the part of the compiler that
made it, and only when it is asked.

An ordinary call is served in compiled code (:class:`symdiff._kernels.call.CallPath`). Any other, by name, of other
types or wrong, is served by :class:`Calls`: its arguments are checked and converted, what serves it is chosen, and
later calls of its kind find that in compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .._kernels.call import CallPath, container_library, with_vectorcall
from .._kernels.plan.executor import PlanEntry
from .._kernels.unit import NativeCall
from ..codegen import TARGETS, Request, print_source
from ..codegen.c import standalone
from ..errors import AbsentError, ArgumentError, NonfiniteError, SingularMatrixError, UnsupportedError
from ..frontend.display import ShownText, Typeset, table
from ..frontend.outputs import LEAF, pack, unpack
from ..frontend.outputs import show as show_structure
from ..graph.sizes import Span, show
from ..ground.advice import KERNEL, advice
from ..ground.guard import guarded, refuse
from ..ground.stages import later
from .calls.arguments import (
    MOST_AXES,
    Batch,
    Floats,
    Parameter,
    Targets,
    check_outs,
    check_spans,
    coded,
    holds_symbol,
    letters_of,
    match,
    one_axis,
    refuse_mappings,
    sample_shape,
    stack_batches,
)
from .calls.containers import columns_of, is_lazy
from .calls.declared import (
    PositionRange,
    bits,
    check_all,
    check_positions,
    coded_ranges,
    needs_validation,
    refuse_positions,
)
from .calls.resources import empty, get_num_threads, register
from .options import Options
from .origin import Origin, described, wrapped
from .runners.interfaces import Changing, Planned, Runner, UnitRunner
from .runners.programs import TieredRunner, standalone_function
from .toolchain.build import Library

if TYPE_CHECKING:
    from .calls.labels import Labels
    from .explain import Explanation

__all__ = ["Calls", "Kernel", "Origin"]


class Calls(CallPath):
    """The long way of a call; a kernel sets what is declared here."""

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    options: Options
    _runner: Runner
    _units: UnitRunner | None
    _origin: Origin
    _plans: Planned | None
    _structure: Any
    _letters: list[str] | None
    _validates: bool
    _ranges: tuple[PositionRange, ...]
    _spans: tuple[Span, ...]

    def _call(self, args: Sequence[Any], out: Any, inputs: Mapping[str, Any] | None, named: dict[str, Any]) -> Any:
        """Serve a call that compiled code hands on: check everything, convert, or tell what is wrong."""
        try:
            every = tuple(self._arguments(args, inputs, named))
            # compiled code saw arguments that hold several inputs as they came
            result = NotImplemented if self.options.groups is None else self._ordinary(every, out)
            return self._answered(every, out) if result is NotImplemented else result
        except Exception as error:
            refuse(error, "a call of a kernel", args)

    def _answered(self, args: Sequence[Any], out: Any) -> Any:
        """Serve a call of one argument for each input."""
        if not any(type(one) is not np.ndarray and container_library(one) for one in args):
            return self._serve(args, out)
        from .calls.labels import without_labels

        return self._labelled(*without_labels(self.inputs, args, self.options.in_columns), out)

    def _labelled(self, args: Sequence[Any], labels: Labels | None, out: Any) -> Any:
        """Serve a call of arrays of other libraries, and put the labels of the batch on the results."""
        if any(map(is_lazy, args)):
            if out is not None:
                raise ArgumentError("out= in a call of arrays of Dask, whose result is not computed yet; call without")
            parts = later.dask.call_lazily(self, args)
        elif out is not None or any(map(holds_symbol, args)):
            return self._serve(args, out)
        else:
            parts = self._parts(args)
        if labels is not None and not self.options.is_reduced:
            parts = [labels.put_on(part, own) for own, part in zip(self._own_axes(), parts, strict=True)]
        return self._pack(parts)

    def _own_axes(self) -> list[int]:
        """Return how many axes one sample of each result has."""
        return [len(p.shape) for p in self.outputs]

    def _parts(self, args: Sequence[Any]) -> list[Any]:
        """Return the results, in order, of a call of one array for each input."""
        # an ordinary call, but where an argument of a kernel is not an input
        result = self(*args) if self.options.groups is None else self._serve(args, None)
        return unpack(self._structure, result)

    def _serve(self, args: Sequence[Any], out: Any) -> Any:
        """Serve a call of one array for each input."""
        if any(map(holds_symbol, args)):
            return self._applied(args, out)
        columns = self.options.in_columns
        batch = stack_batches(self.inputs, args, self.options.batch, columns)
        check_all(self.inputs, batch, self._validates)
        check_positions(self.inputs, batch, self._ranges, columns)
        shapes = self._shapes(batch)
        lead = () if self.options.reduce else batch.shape
        full = [(*shape, *lead) if columns else (*lead, *shape) for shape in shapes]
        if out is None:
            targets = empty(full, batch.dtype)
            self._run(batch, shapes, targets)
            self._refuse_nonfinite(batch, targets)
            return self._pack([t if t.ndim else t[()] for t in targets])
        targets = unpack(self._structure, out)
        check_outs(self.outputs, full, targets, batch.dtype)
        # Subclasses (matrix, memmap) are written to as the plain arrays they are.
        targets = [np.asarray(target) for target in targets]
        written = Targets(targets)
        for k, array in enumerate(batch.arrays):
            if written.meet(array):
                batch.arrays[k] = array.copy()
        self._run(batch, shapes, targets)
        self._refuse_nonfinite(batch, targets)
        return out

    def _arguments(self, args: Sequence[Any], inputs: Any, named: Mapping[str, Any]) -> Sequence[Any]:
        """Return the arguments of a call, one for each input."""
        if inputs is not None or named or len(args) != len(self.inputs) or self.options.groups is not None:
            if inputs is not None:
                inputs = columns_of(inputs, [p.name for p in self.inputs if p.name not in named][len(args) :])
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
        return args

    def _applied(self, args: Sequence[Any], out: Any) -> Any:
        """Return the formula of arguments among which are symbols."""
        if out is not None:
            raise ArgumentError("out= in a call with symbols, whose result is a formula; call it without")
        refuse_mappings(self.inputs, args)
        return self._origin.apply(list(args))

    def _refuse_nonfinite(self, batch: Batch, targets: Sequence[Floats]) -> None:
        """Refuse results that are not finite, where the kernel is to do so."""
        if self.options.nonfinite == "raise" and not all(np.isfinite(target).all() for target in targets):
            raise NonfiniteError(str(self._explained(batch)))

    def _checked(self, args: Sequence[Any]) -> Batch:
        """Return the arguments of a call as they are run, without the checks of what is declared of them."""
        batch = stack_batches(self.inputs, args, self.options.batch, self.options.in_columns)
        check_positions(self.inputs, batch, self._ranges, self.options.in_columns)
        return batch

    def _explained(self, batch: Batch) -> Explanation:
        from .explain import explain

        return explain(self.outputs, batch, self._in_rows, self._origin.cause, self.options.is_reduced)

    def _shapes(self, batch: Batch) -> list[tuple[int, ...]]:
        """Return the shapes of one sample of each result, for arrays that are large enough for the formula."""
        shapes = [sample_shape(p.shape, batch.sizes) for p in self.outputs]
        check_spans(self._spans, batch.sizes)
        return shapes

    def _in_rows(self, batch: Batch) -> list[Floats]:
        """Return the results in rows, whichever way the kernel writes them."""
        shapes = self._shapes(batch)
        lead = () if self.options.reduce else batch.shape
        targets = [np.empty((*lead, *shape), batch.dtype) for shape in shapes]
        last = [t.transpose(*range(len(lead), t.ndim), *range(len(lead))) for t in targets]
        self._run(batch, shapes, last if self.options.in_columns else targets)
        return targets

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
            planned = self._is_planned(batch, shapes)
            sharing = self._sharing(batch) if self.options.reproducible else None
            if self._units is not None and len(batch.shape) <= MOST_AXES and not planned:
                ones = (1,) * len(batch.shape) if reduce else ()
                outs = [front.reshape((*ones, *front.shape)) for front in fronts]
                threads = self.options.threads or get_num_threads()
                self._units.run(batch.arrays, outs, reduce, batch.shape, threads)
            else:
                runner = self._plans if self._plans is not None and (planned or self._units is None) else self._runner
                self._run_rows(runner, batch, shapes, fronts, sharing if runner is self._plans else None)
        except SingularMatrixError as error:
            raise self._located(error, batch) from None
        except Exception as error:
            refuse(error, "a call of a kernel", batch.arrays)

    def _sharing(self, batch: Batch) -> tuple[bool, ...]:
        """Return which inputs count as having the batch: of one sample those with axes, or else those that may."""
        lead = len(batch.shape)
        if batch.count > 1:
            return tuple(math.prod(array.shape[:lead]) != 1 for array in batch.arrays)
        if any(batch.has_axes):
            return batch.has_axes
        return tuple(self.options.is_batched(p.name) for p in self.inputs)

    def _is_planned(self, batch: Batch, shapes: Sequence[tuple[int, ...]]) -> bool:
        """Tell whether a plan serves a call, and let later calls of its kind find it."""
        if self._plans is None:
            return False
        lead = len(batch.shape)
        reproducible = self.options.reproducible
        batched = self._sharing(batch) if batch.count > 1 or reproducible else (False,) * len(batch.arrays)
        if self._units is not None:
            # units read arrays in place that are repeated along one of several axes; plans take a copy
            repeated = any(
                has and array.shape[:lead] != batch.shape for has, array in zip(batched, batch.arrays, strict=True)
            )
            alone = batch.count == 1 and not reproducible
            if (alone and not self._plans.serves_alone) or (repeated and not reproducible):
                return False
            if not alone and all(batched) and not self.options.is_reduced:
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
        self,
        runner: Runner | Planned,
        batch: Batch,
        shapes: Sequence[Any],
        fronts: list[Floats],
        sharing: tuple[bool, ...] | None,
    ) -> None:
        """Run with the axes of the batch joined into one; copy results whose strides do not allow that."""
        reduce = self.options.is_reduced
        count = 1 if reduce else batch.count
        rows = [
            np.empty((count, *shape), front.dtype.newbyteorder("="))
            for shape, front in zip(shapes, fronts, strict=True)
        ]
        for k, front in enumerate(fronts):
            flat = front.reshape(rows[k].shape)
            if flat.dtype.isnative and flat.flags.aligned and np.may_share_memory(flat, front):
                rows[k] = flat
        given = [one_axis(array, batch.shape) for array in batch.arrays]
        if sharing is None:
            runner.run(given, rows, reduce)
        else:
            assert self._plans is not None
            self._plans.run(given, rows, reduce, sharing)
        for row, front in zip(rows, fronts, strict=True):
            if not np.may_share_memory(row, front):
                front[...] = row.reshape(front.shape)

    def _located(self, error: SingularMatrixError, batch: Batch) -> SingularMatrixError:
        """Return the error with the index in the batch of the sample that a runner counted."""
        if not batch.shape or not error.index:  # one sample, or a matrix that all of them share
            return SingularMatrixError(str(error))
        index = tuple(int(i) for i in np.unravel_index(error.index[0], batch.shape))
        return SingularMatrixError(f"{error} (sample {index[0] if len(index) == 1 else index} of the batch)", index)

    def _pack(self, results: Sequence[Any]) -> Any:
        return pack(self._structure, iter(results))


@described
@with_vectorcall
class Kernel(Calls):
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
    ranges : sequence of PositionRange, optional
    spans : sequence of Span, optional
        What the formula takes of axes whose sizes are letters, where an axis may be too short for it.
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
        ranges: Sequence[PositionRange] = (),
        spans: Sequence[Span] = (),
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
        self._functions: dict[str, Library] = {}
        unknown = sorted((self.options.batch or frozenset()) - {p.name for p in self.inputs})
        if unknown:
            raise ArgumentError(
                f"batch names {', '.join(unknown)}, not an input; inputs are {', '.join(self._names())}"
            )
        if self.options.batch_axis not in (0, -1):
            raise UnsupportedError(f"batch_axis={self.options.batch_axis!r} is not offered; expected 0 or -1")
        threads = self.options.threads
        if threads is not None and (not hasattr(threads, "__index__") or threads < 1):
            raise ArgumentError(f"threads={threads!r}; expected at least 1, or None")
        if self.options.nonfinite not in ("keep", "raise"):
            raise ArgumentError(f"nonfinite={self.options.nonfinite!r}; expected 'keep' or 'raise'")
        if self.options.accuracy not in ("default", "high"):
            raise ArgumentError(f"accuracy={self.options.accuracy!r}; expected 'default' or 'high'")
        self._ranges, self._spans = tuple(ranges), tuple(spans)
        self._validates = self.options.validate and any(needs_validation(p.assumptions) for p in self.inputs)
        # where more is checked, every call goes the long way: checks take longer
        is_checked = self._validates or self.options.nonfinite == "raise"
        # nor do plans whose bits are the same for one sample and for many: axes are told from lengths there
        is_checked |= self.options.reproducible and plans is not None
        self._letters = None if is_checked else letters_of(self.inputs)
        if (self._units is not None or plans is not None) and self._letters is not None:
            self._shorten(self._letters)

    def _shorten(self, letters: Sequence[str]) -> None:
        """Let ordinary calls go to units or plans without Python on the way."""
        reduce = self.options.is_reduced
        positions = coded_ranges(self.inputs, self._ranges, letters)
        if positions is None:
            return
        self._prepare(
            self._names(),
            [coded(p.shape, letters) for p in self.inputs],
            [tuple(size if isinstance(size, int) else 0 for size in p.shape) for p in self.outputs],
            [self.options.is_batched(p.name) for p in self.inputs],
            self.options.in_columns,
            reduce,
            None if self._structure == LEAF else self._structure,
            self.options.threads,
            len(letters),
            0 if self._plans is None else 1 + self._plans.serves_alone,
            [bits(p.assumptions) for p in self.inputs],
            positions,
        )
        if self._units is not None:
            # The runner does not hold the kernel: both end, and their code, with the last reference to the kernel.
            self._units.bind(partial(_install_in, ref(self)), reduce)
        register()

    @guarded
    def explain(self, *args: Any, inputs: Mapping[str, Any] | None = None, **named: Any) -> Explanation:
        """Tell which part of the formula makes the first result of a call nan or infinite.

        Parameters
        ----------
        *args, **named, inputs
            As in a call.

        Returns
        -------
        Explanation
            False where all results are finite. As text, it has the sample, the part in the formula's notation, and
            the numbers that it is computed from.

        Examples
        --------
        >>> import symdiff as sd
        >>> print(sd.compile("sqrt(x) * log(1 - y)", x=(), y=()).explain([4.0, 1.0], [0.5, 1.0]))
        sample 1: log1p(-y) is -inf, of
          -y = -1.0
        """
        return self._explained(self._checked(self._arguments(args, inputs, named)))

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
        """Return the generated source, by default that which runs.

        Parameters
        ----------
        language : str, optional
            A target of :func:`symdiff.export`, which writes the same text into files: "c" for portable C, "cython",
            "numpy", "jax", "torch" or "array_api" for a module with one function, ``evaluate``.

        Returns
        -------
        str

        Raises
        ------
        UnsupportedError
            If the language or library has no form for the formula; the message says what it lacks.

        Examples
        --------
        >>> import symdiff as sd
        >>> text = sd.compile("gradient(logsumexp(A @ x), x)", A=("m", "n"), x="n").source("jax")
        >>> print(text[text.index("    v0 ="):])
            v0 = jnp.einsum('zij,zj->zi', A, x)
            v1 = softmax(v0, (-1,))
            del v0
            v0 = jnp.einsum('zi,zij->zj', v1, A)
            del v1
            return _result(v0, batch, False)
        <BLANKLINE>
        """
        if language is None:
            return self._origin.source()
        if language not in TARGETS:
            *first, last = map(repr, TARGETS)
            raise ArgumentError(f"source({language!r:.80}); expected {', '.join(first)} or {last}")
        return print_source(self._request("formula"), language)

    def _request(self, name: str) -> Request:
        """Return what targets print: the formula, with the names that its source has."""
        return self._origin.request()._replace(
            name=name,
            results=[output.name for output in self.outputs],
            texts=self._origin.texts,
            spans=self._spans,
        )

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
        """Backend that computes now: "c", "interpreter", "cython" or "numpy"."""
        if self._plans is not None and isinstance(self._runner, TieredRunner) and not self._runner.begun:
            return self._plans.backend
        return self._runner.backend if isinstance(self._runner, Changing) else self._origin.backend

    @property
    def rewrites(self) -> tuple[str, ...]:
        """The stability rewrites that were made."""
        return self._origin.rewrites

    @property
    @guarded
    def stats(self) -> dict[str, Any]:
        """Counts and times of the compilation; what serves now, and why; what the "bits" of a sample depend on.

        "sample": on the sample alone, whatever stands beside it, wherever it lies, and with any number of threads.
        "sharing": also on which inputs samples share, and on whether there is one sample or several of them.
        "library": also on NumPy or LAPACK. All of it for one kind of processor and one C library.
        """
        told = {**self._origin.stats, **(self._runner.stats if isinstance(self._runner, Changing) else {})}
        return told if self._plans is None else {**told, "arena_bytes": self._plans.arena_bytes}

    @property
    @guarded
    def plan(self) -> str:
        """Plan of a call, as text: the steps of each plan so far, with estimated times and why they are chosen.

        A kernel that is one program over samples has a line for it. Plans for calls that share inputs among samples
        are made when such a call comes.

        Examples
        --------
        >>> import symdiff as sd
        >>> print(sd.compile("exp(x) * sum(x**2)", x="n").plan)
        one sample (times for n = 1000):
          step 0: sum of x over i0<n -> r0; 475 ns a call; element by element, fused
          step 1: map of x, r0 over i0<n -> r1; 1.68 us a call; element by element, fused
        """
        lines = [] if self._plans is None else list(self._plans.lines())
        if self._units is not None:
            count = self._units.program.operations
            lines.insert(0, f"every sample: one program of {count} operations")
        return ShownText("\n".join(lines or [f"array operations: {self.backend}"]))

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
        if timeout is not None and (not isinstance(timeout, int | float) or not timeout >= 0):
            raise ArgumentError(f"wait({timeout!r:.60}); expected a number of seconds from 0 on, or None")
        told = self._runner.wait(timeout) if isinstance(self._runner, Changing) else True
        return (self._plans is None or self._plans.wait(timeout)) and told

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
        return self.function_address(standalone.FUNCTION)

    @guarded
    def function_address(self, name: str) -> int:
        """Return the address of one of the functions of :mod:`symdiff.codegen.c.standalone`; see :attr:`address`."""
        refuse_positions(self.inputs, "address: a C function")
        if self.options.reduce or self._units is None:
            why = "sums over the batch" if self.options.reduce else f"runs on the backend {self.backend!r}"
            raise UnsupportedError(
                f"a kernel that {why} has no address; compile with backend='native', without reduce="
            )
        if name not in self._functions:
            constant = [not self.options.is_batched(p.name) for p in self.inputs]
            made = standalone_function(self._units.program, self.options.accuracy, constant, name)
            self._functions[name] = made
        return self._functions[name].address

    @guarded
    def jax(self) -> Any:
        """Return the kernel as a function of JAX, under ``jit``, ``vmap`` and ``grad``."""
        return wrapped("jax", self)

    @guarded
    def torch(self) -> Any:
        """Return the kernel as a function of PyTorch's tensors, with derivatives of any order."""
        return wrapped("torch", self)

    @guarded
    def numba(self) -> Any:
        """Return the kernel as a function for code under ``numba.njit``."""
        return wrapped("numba", self)

    @guarded
    def low_level(self, kind: str = "integrand") -> Any:
        """Return the kernel as a ``scipy.LowLevelCallable``: an "integrand" of numbers, or a "filter" of a vector."""
        return wrapped("scipy", self, kind)

    @guarded
    def benchmark(
        self, batches: Sequence[int] | None = None, *, sizes: Mapping[str, int] | None = None, seed: int = 0
    ) -> Any:
        """Time calls of the kernel with batches of several sizes, on random numbers.

        Parameters
        ----------
        batches : sequence of int, optional
            Samples in a call; by default powers of ten up to 100,000.
        sizes : mapping of str to int, optional
            What letters in shapes are; by default 16.
        seed : int
            Of the random numbers.

        Returns
        -------
        Benchmark
            ``timings``, a text and a table of them, and ``plot(ax=None)``, which needs matplotlib.

        Examples
        --------
        >>> import symdiff as sd
        >>> [t.batch for t in sd.compile("x * sin(y)", x=(), y=()).benchmark([1, 100]).timings]
        [1, 100]
        """
        return later.benchmark.benchmark(self, batches, sizes=sizes, seed=seed)

    @guarded
    def report(self, path: Any, *, title: str | None = None, timed: bool = True, overwrite: bool = False) -> None:
        """Write one page about the kernel, for a browser.

        It has the formula, the derivative, its steps, the graph, the pattern of nonzeros of sparse results, the
        generated C beside what each line computes, and times against the size of the batch.

        Parameters
        ----------
        path : str or path-like
            A file called ``*.html``, which needs nothing besides.
        title : str, optional
        timed : bool
            Measure times.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        DataError
            If the file cannot be written, or is there.
        """
        later.page.write_page(self, path, title, timed, overwrite)

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

    @guarded
    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":  # of this kernel; the class, which inspect also asks, has none
            from .signature import call_signature

            return call_signature(self.inputs, self.options)
        raise AbsentError(f"a kernel has no {name!r}{advice(name, KERNEL, dir(type(self)), 'docs/kernels.md')}")

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

    def _repr_html_(self) -> str:
        rows = [("kernel", self.signature), ("formula", Typeset(self.latex())), ("backend", self.backend)]
        return table([*rows, *(("rewritten", line) for line in self.rewrites)])

    @guarded
    def __reduce__(self) -> tuple[Any, ...]:
        return self._origin.rebuild()


def _install_in(kernel: ref[Kernel], unit: NativeCall) -> None:
    """Have a kernel use a unit, if there is the kernel still."""
    found = kernel()
    if found is not None:
        found._install(unit)
