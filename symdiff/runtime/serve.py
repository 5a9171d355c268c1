"""Calls of kernels that are out of the ordinary: by name, of other types, of plans that are not made yet, or wrong.

An ordinary call is served in compiled code (:class:`symdiff._kernels.call.CallPath`). Any other comes here: its
arguments are checked and converted, what serves it is chosen, and later calls of its kind find that in compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._kernels.call import CallPath, container_library
from .._kernels.plan.entry import PlanEntry
from ..errors import ArgumentError, NonfiniteError, SingularMatrixError
from ..frontend.outputs import pack, unpack
from ..graph.sizes import Span
from ..ground.guard import refuse
from ..ground.stages import later
from .about.origin import Origin
from .calls.arguments import (
    MOST_AXES,
    Batch,
    Floats,
    Parameter,
    check_outs,
    check_spans,
    holds_symbol,
    match,
    one_axis,
    refuse_mappings,
    sample_shape,
    stack_batches,
)
from .calls.containers import columns_of, is_lazy
from .calls.declared import check_all
from .calls.overlaps import Targets
from .calls.positions import PositionRange, check_positions
from .calls.result_memory import empty
from .calls.threads import get_num_threads
from .options import Options
from .runners.interfaces import Planned, Runner, UnitRunner

if TYPE_CHECKING:
    from .about.explain import Explanation
    from .calls.labels import Labels

__all__ = ["Calls"]


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
            return self._answered(self._arguments(args, inputs, named), out)
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
        from .about.explain import explain

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
