"""The compiled formula as users hold it: called like a NumPy function, over one sample or many.

A kernel knows the names and shapes of its inputs and outputs, checks what it is given, and
leaves the numbers to a runner (native code or NumPy). What it can tell about itself (its
formula, its source, what was rewritten) it asks of its origin, the part of the compiler that
made it, and only when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .arguments import Batch, Floats, Parameter, check_outs, match, sample_shape, stack_batches
from .errors import ArgumentError, SingularMatrixError, UnsupportedError
from .sizes import show
from .structure import LEAF, pack, unpack
from .structure import show as show_structure

__all__ = ["Kernel", "Options", "Origin", "Runner"]


class Runner(Protocol):
    """A backend of one kernel."""

    def run(self, inputs: Sequence[npt.NDArray[Any]], outs: Sequence[npt.NDArray[Any]], reduce: bool) -> None:
        """Compute all samples: ``inputs`` of shape (N, ...) or (1, ...), ``outs`` (N, ...), or (1, ...) summed."""


@runtime_checkable
class DirectRunner(Protocol):
    """A backend with a shorter way for the most ordinary calls."""

    def direct(self, batched: Sequence[bool], single: bool) -> Callable[[tuple[Any, ...], Any], Any] | None:
        """Return a function of the arguments and ``out``; what it returns None for goes the whole way."""


@dataclass(frozen=True)
class Options:
    """How a kernel treats batches.

    Parameters
    ----------
    batch : frozenset of str, optional
        Names of the inputs that may have batch axes; None for all.
    reduce : {None, "sum"}
        Sum each output over the batch.
    batch_axis : {0, -1}
        Batch axes before a sample's own axes, or behind them.
    """

    batch: frozenset[str] | None = None
    reduce: str | None = None
    batch_axis: int = 0


@dataclass(frozen=True)
class Origin:
    """Where a kernel comes from; the compiler fills it in, the kernel asks when it is asked.

    Parameters
    ----------
    backend : str
        "c" or "numpy".
    source : callable
        Takes a language ("c", "numpy") and returns text, or raises ``UnsupportedError``.
    sympy : callable
        Returns the outputs as SymPy expressions, one or in the kernel's structure.
    latex : callable
        Returns LaTeX.
    named : callable
        Returns a kernel of the same inputs whose outputs are the named sub-formulas, in a dict.
    rebuild : tuple of callable and arguments
        What pickling writes: called with the arguments, it compiles the kernel again.
    rewrites : tuple of str
        Stability rewrites that were made.
    stats : mapping
        Counts of operations, times of compilation, and the like.
    """

    backend: str
    source: Callable[[str], str]
    sympy: Callable[[], Any]
    latex: Callable[[], str]
    named: Callable[[], Kernel]
    rebuild: tuple[Callable[..., Kernel], tuple[Any, ...]]
    rewrites: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)


class Kernel:
    """A compiled formula.

    Call it with arrays by position, in the order of :attr:`inputs`, or by name. Each may be one
    sample, of the input's own shape, or a batch with any axes before that; batch axes broadcast
    together as NumPy's do, and results have them in front.

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
    """

    def __init__(
        self,
        inputs: Sequence[Parameter],
        outputs: Sequence[Parameter],
        runner: Runner,
        origin: Origin,
        *,
        structure: Any = LEAF,
        options: Options | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.options = options or Options()
        self._runner = runner
        self._origin = origin
        self._structure = structure
        self._single = structure == LEAF
        unknown = sorted((self.options.batch or frozenset()) - {p.name for p in self.inputs})
        if unknown:
            raise ArgumentError(
                f"batch names {', '.join(unknown)}, not an input; inputs are {', '.join(self._names())}"
            )
        if self.options.reduce not in (None, "sum"):
            raise UnsupportedError(f"reduce={self.options.reduce!r} is not offered; expected 'sum' or None")
        if self.options.batch_axis not in (0, -1):
            raise UnsupportedError(f"batch_axis={self.options.batch_axis!r} is not offered; expected 0 or -1")
        self._direct = None
        if isinstance(runner, DirectRunner) and self.options == Options(self.options.batch):
            names = self.options.batch
            self._direct = runner.direct([names is None or p.name in names for p in self.inputs], self._single)

    def __call__(self, *args: Any, out: Any = None, inputs: Mapping[str, Any] | None = None, **named: Any) -> Any:
        """Compute the outputs.

        Parameters
        ----------
        *args, **named : array_like of real numbers
            The inputs by position or by name, each of shape ``(batch..., *shape)``. float64 and
            float32 are read as they are, integers and bool converted.
        out : ndarray, or the same structure of them as the result, optional
            Where to write; of the result's exact shape. May overlap the inputs.
        inputs : mapping of str to array_like, optional
            Inputs by name, for names that Python or this method uses itself.

        Returns
        -------
        ndarray or numpy scalar, or a list, tuple or dict of them
            Of shape ``(batch..., *shape)``, float64; float32 if every input is. With ``reduce``,
            of the output's own shape.

        Raises
        ------
        ArgumentError, ShapeError, DtypeError
            Before anything is computed; ``out`` is untouched.
        SingularMatrixError
            With the index of the first such sample in the batch; ``out`` is then unspecified.
        """
        if inputs is not None or named or len(args) != len(self.inputs):
            if inputs is not None and not isinstance(inputs, Mapping):
                raise ArgumentError(f"inputs= holds a {type(inputs).__name__}; expected a dict of arrays by name")
            twice = sorted(named.keys() & (inputs or {}).keys())
            if twice:
                raise ArgumentError(f"{', '.join(twice)} given by name and in inputs=; give each once")
            args = tuple(match(self.inputs, args, {**named, **(inputs or {})}))
        if self._direct is not None and (out is None or self._single):
            result = self._direct(args, out)
            if result is not None:
                return result if self._single else self._pack(result)
        columns = self.options.batch_axis == -1
        batch = stack_batches(self.inputs, args, self.options.batch, columns)
        shapes = [sample_shape(p.shape, batch.sizes) for p in self.outputs]
        lead = () if self.options.reduce else batch.shape
        full = [(*shape, *lead) if columns else (*lead, *shape) for shape in shapes]
        if out is None:
            targets = [np.empty(shape, batch.dtype) for shape in full]
            self._run(batch, shapes, targets)
            return self._pack([t if t.ndim else t[()] for t in targets])
        targets = unpack(self._structure, out)
        check_outs(self.outputs, full, targets, batch.dtype)
        # Subclasses (matrix, memmap) are written to as the plain arrays they are.
        targets = [np.asarray(target) for target in targets]
        for k, array in enumerate(batch.arrays):
            if any(np.may_share_memory(array, target) for target in targets):
                batch.arrays[k] = array.copy()
        self._run(batch, shapes, targets)
        return out

    def _run(self, batch: Batch, shapes: Sequence[tuple[int, ...]], targets: Sequence[Floats]) -> None:
        """Compute into ``targets``, arrays of the results' full shapes."""
        count = 1 if self.options.reduce else batch.count
        lead = 0 if self.options.reduce else len(batch.shape)
        rows = []
        for shape, target in zip(shapes, targets, strict=True):
            # Batch axes to the front and into one; where strides do not allow that, beside the target.
            front = target
            if self.options.batch_axis == -1:
                front = target.transpose(*range(target.ndim - lead, target.ndim), *range(target.ndim - lead))
            flat = front.reshape(count, *shape)
            usable = flat.dtype.isnative and flat.flags.aligned and np.may_share_memory(flat, target)
            rows.append(
                (
                    flat if usable or not target.size else np.empty((count, *shape), target.dtype.newbyteorder("=")),
                    front,
                )
            )
        if batch.count == 0:
            for flat, _ in rows:
                flat[...] = 0
        else:
            try:
                self._runner.run(batch.arrays, [flat for flat, _ in rows], self.options.reduce is not None)
            except SingularMatrixError as error:
                raise self._located(error, batch) from None
        for flat, front in rows:
            if not np.may_share_memory(flat, front):
                front[...] = flat.reshape(front.shape)

    def _located(self, error: SingularMatrixError, batch: Batch) -> SingularMatrixError:
        """Give the sample a runner counted its index in the batch."""
        if not batch.shape:
            return SingularMatrixError(str(error))
        index = tuple(int(i) for i in np.unravel_index(error.index[0], batch.shape))
        return SingularMatrixError(f"{error} (sample {index[0] if len(index) == 1 else index} of the batch)", index)

    def _pack(self, results: Sequence[Any]) -> Any:
        return pack(self._structure, iter(results))

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

    def source(self, language: str | None = None) -> str:
        """Return the generated source in ``language``, "c" or "numpy"; by default the one that runs."""
        return self._origin.source(language or self.backend)

    def latex(self) -> str:
        """Return the formula as LaTeX."""
        return self._origin.latex()

    @property
    def sympy(self) -> Any:
        """The formula as SymPy."""
        return self._origin.sympy()

    @property
    def backend(self) -> str:
        """What computes: "c" or "numpy"."""
        return self._origin.backend

    @property
    def rewrites(self) -> tuple[str, ...]:
        """The stability rewrites that were made."""
        return self._origin.rewrites

    @property
    def stats(self) -> dict[str, Any]:
        """Counts and times of the compilation."""
        return dict(self._origin.stats)

    @property
    def signature(self) -> str:
        """Names and shapes of one sample: ``(X: (2, 4), y: (4,)) -> (2, 2, 4)``."""
        results = show_structure(self._structure, (show(p.shape) for p in self.outputs))
        return f"({', '.join(map(str, self.inputs))}) -> {results}"

    def _names(self) -> list[str]:
        return [p.name for p in self.inputs]

    def __repr__(self) -> str:
        options = f", reduce={self.options.reduce!r}" if self.options.reduce else ""
        if self.options.batch is not None:
            options += f", batch={sorted(self.options.batch)}"
        if self.options.batch_axis:
            options += f", batch_axis={self.options.batch_axis}"
        return f"<symdiff.Kernel {self.signature}, backend={self.backend!r}{options}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._origin.rebuild
