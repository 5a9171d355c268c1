"""Kernels with sparse results: an ordinary kernel computes the nonzeros, and they come back as SciPy's arrays.

The values are arrays of an ordinary kernel that lie in the data of the result: nothing is copied. Positions are made
once for the sizes of a call, kept for the last few, and shared by all results of these sizes, which is why they are
read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._kernels.call import with_vectorcall
from ...errors import ArgumentError, NonfiniteError
from ...frontend.outputs import pack, unpack
from ...graph import INT, Node
from ...graph.sizes import LEAST, Size, Span
from ...ground.guard import guarded
from ...lowering.sparse.entries import (
    SparsePattern,
    array_of,
    check_like,
    draw,
    flat_data,
    is_ordinary,
    kind_of,
    shares,
    with_data,
)
from ...lowering.sparse.layouts import Bound, ListedLayout, OrderedLayout
from ...lowering.sparse.places import Taken
from ..about.docstring import described
from ..calls.arguments import (
    Batch,
    Floats,
    Parameter,
    check_outs,
    check_spans,
    holds_symbol,
    sample_shape,
    stack_batches,
)
from ..calls.overlaps import Targets
from ..calls.positions import PositionRange, check_positions, floats, taken_by, with_positions
from ..calls.result_memory import empty
from ..kernel import Kernel
from ..options import Options
from .result import Coordinates, Result, refuse_batch

__all__ = ["SparseKernel"]

_DOUBLE = np.dtype(np.float64)
#: Sizes for which positions are kept.
KEPT = 4
#: Elements of an array up to which it is kept, for values that are to be put in order.
MOST_WAITING = 1 << 15


class _Positions(NamedTuple):
    """What a kernel has for the sizes of a call: one of each a result, and which of them are put in order."""

    patterns: list[SparsePattern | None]
    bounds: list[Bound | None]
    listed: tuple[bool, ...]
    templates: list[Any]


class _Known(NamedTuple):
    """A call of one sample of a kind that came before.

    Parameters
    ----------
    positions : _Positions
    shapes : list of tuple of int
        Of the data of each result.
    dtype : dtype
    inner : Kernel
        It computes the values.
    spare : list of list
        For each result whose values are to be put in order, arrays for these that no call uses, with the views of them
        that the kernel fills. Calls of several threads take one each: to take from a list is one step.
    """

    positions: _Positions
    shapes: list[tuple[int, ...]]
    dtype: Any
    inner: Kernel
    spare: list[list[tuple[Floats, list[Floats]]]]


@described
@with_vectorcall
class SparseKernel(Kernel):
    """A compiled formula with results whose nonzeros alone are computed and stored.

    It is called as any :class:`Kernel`. Results in "csr", "csc", "coo" and "bsr" are arrays of ``scipy.sparse``, for
    one sample; "values" are their data alone, of shape (..., nonzeros), for batches as well. ``out`` takes the data, or
    the sparse array itself. :meth:`pattern` says where the nonzeros stand, in the order of the data.

    Parameters
    ----------
    inputs, outputs : sequence of Parameter
    results : sequence of Result
    make : callable
        Takes nodes and gives the kernel that computes them, as a list.
    fix : callable
        Takes numbers for letters and gives the kernel for these.
    structure, options
        As of a kernel.
    """

    def __init__(
        self,
        inputs: Sequence[Parameter],
        outputs: Sequence[Parameter],
        results: Sequence[Result],
        make: Callable[[Sequence[Node], bool], Kernel],
        fix: Callable[[Mapping[str, int]], SparseKernel],
        *,
        structure: Any,
        options: Options,
        ranges: Sequence[PositionRange] = (),
        spans: Sequence[Span] = (),
    ) -> None:
        found = [own for r in results if r.layout is not None for own in r.layout.matrix.taken]
        self._taken = list(dict.fromkeys(found))
        self._at: tuple[Taken, dict[tuple[int, ...], _Positions]] = {}, {}
        self._results = tuple(results)
        self._make = make
        self._fix = fix
        self._direct = all(
            r.format is None or (r.format.kind == "values" and isinstance(r.layout, OrderedLayout)) for r in results
        )
        self._ordered = all(r.layout is None or isinstance(r.layout, OrderedLayout) for r in results)
        self._one_sample = [r for r in results if r.format is not None and r.format.kind != "values"]
        # arguments of these shapes and such a result need no further look
        self._last: tuple[tuple[Any, ...] | None, Any, Any] = None, None, None
        self._inner: dict[tuple[bool, ...], Kernel] = {}
        self._positions: dict[tuple[int, ...], _Positions] = {}
        self._fixed: dict[tuple[int, ...], SparseKernel] = {}
        self._seen: dict[Any, _Known | SparseKernel] = {}
        usual = tuple(isinstance(r.layout, ListedLayout) for r in results)
        inner = self._inner_for(usual)
        names = {name for p in inputs for size in p.shape if isinstance(size, Size) for name in size.names}
        self._names_of_sizes = tuple(sorted(names))
        super().__init__(
            inputs, outputs, inner._runner, inner._origin, structure=structure, options=options, plans=inner._plans,
            ranges=ranges, spans=spans,
        )

    def _inner_for(self, listed: tuple[bool, ...]) -> Kernel:
        """Return the kernel of the values, some of which are still to be put in order."""
        found = self._inner.get(listed)
        if found is None:
            nodes = [node for r, own in zip(self._results, listed, strict=True) for node in r.values(own)]
            found = self._inner[listed] = self._make(nodes, self._direct)
        return found

    def _shorten(self, letters: Sequence[str]) -> None:
        if self._direct:
            super()._shorten(letters)

    # ------------------------------------------------------------------ calls

    def _serve(self, args: Sequence[Any], out: Any) -> Any:
        if self._direct:
            return super()._serve(args, out)
        key = kind_of(args)
        if key is not None and key == self._last[0]:
            _, template, inner = self._last
            data = out if type(out) is np.ndarray else out.data if shares(out, template) else None
            if data is not None and data.shape == template.data.shape:
                inner(*args, out=[data])
                return out
        known = self._seen.get(key) if key is not None else None
        if known is not None:
            return self._call_again(args, out, known) if isinstance(known, _Known) else known._serve(args, out)
        if key is None and any(map(holds_symbol, args)):
            return self._applied(args, out)
        if self._one_sample and not self.options.is_reduced:
            refuse_batch(self.inputs, args, self._one_sample[0])
        if self._ordered:
            return self._call_ordered(args, out, key)
        batch = stack_batches(self.inputs, args, self.options.batch, self.options.in_columns)
        check_positions(self.inputs, batch, self._ranges, self.options.in_columns, as_floats=False)
        if any(size < LEAST for size in batch.sizes.values()):
            fixed = self._fixed_for(batch.sizes)
            served = fixed._serve(args, out)
            if key is not None and not batch.shape:
                self._remember(key, fixed._seen.get(key, fixed))
            return served
        positions = self._positions_for(batch.sizes, taken_by(self.inputs, batch, self._taken))
        lead = () if self.options.reduce else batch.shape
        shapes = self._full_shapes(positions, lead, batch.sizes)
        if out is None:
            targets = empty(shapes, batch.dtype)
        else:
            targets = self._data_of(out, positions)
            parameters = [Parameter(r.name, shape) for r, shape in zip(self._results, shapes, strict=True)]
            check_outs(parameters, shapes, targets, batch.dtype)
            targets = [np.asarray(target) for target in targets]
        self._compute(args, batch, positions, targets, lead)
        if key is not None and not batch.shape and _are_apart(positions):
            inner = self._inner_for(positions.listed)
            self._remember(key, _Known(positions, shapes, batch.dtype, inner, [[] for _ in shapes]))
        self._check_finite(args, targets)
        if out is not None:
            return out
        return self._assembled([t if t.ndim else t[()] for t in targets], positions.templates)

    def _remember(self, key: tuple[Any, ...], known: _Known | SparseKernel) -> None:
        """Serve calls of one sample of a kind in the way that was found, or by another kernel."""
        seen = dict(self._seen)
        while len(seen) >= KEPT:
            del seen[next(iter(seen))]
        self._seen = {**seen, key: known}  # in one step: other threads may be reading

    def _own_axes(self) -> list[int]:
        # what a kernel with letters tells of values is the shape of the whole
        return [1 if r.format is not None and r.format.kind == "values" else len(r.shape) for r in self._results]

    def _call_again(self, args: Sequence[Any], out: Any, known: _Known) -> Any:
        """Serve a call of one sample, of a kind that came before: its positions are known and were looked at."""
        positions, shapes, dtype, inner, spares = known
        if out is None:
            targets: list[Any] = empty(shapes, dtype)
        else:
            targets = self._data_of(out, positions)
            if not all(is_ordinary(target, shape, dtype) for target, shape in zip(targets, shapes, strict=True)):
                parameters = [Parameter(r.name, shape) for r, shape in zip(self._results, shapes, strict=True)]
                check_outs(parameters, shapes, targets, dtype)
        parts: list[Any] = []
        waiting = []
        for target, bound, spare in zip(targets, positions.bounds, spares, strict=True):
            if bound is None:
                parts.append(target)
            elif bound.entries is None:
                parts += [view.of(target) for view in bound.views]
            else:
                taken = _taken_from(spare)
                if taken is None:
                    data = np.empty(bound.entries.total, dtype)
                    taken = data, [view.of(data) for view in bound.views]
                parts += taken[1]
                waiting.append((target, taken, bound.entries, spare))
        inner(*args, out=parts)
        for target, taken, entries, spare in waiting:
            entries.put_in_order(taken[0], target)
            if entries.total <= MOST_WAITING:
                spare.append(taken)
        self._check_finite(args, targets)
        if out is not None:
            return out
        return self._assembled([t if t.ndim else t[()] for t in targets], positions.templates)

    def _call_ordered(self, args: Sequence[Any], out: Any, key: tuple[Any, ...] | None) -> Any:
        """Serve a call where each result is one array of the kernel."""
        inner = self._inner[tuple(False for _ in self._results)]
        positions = self._positions_for({}, {})
        data = inner(*args) if out is None else inner(*args, out=self._data_of(out, positions))
        self._check_finite(args, data)
        if out is None:
            return self._assembled(data, positions.templates)
        template = positions.templates[0]
        is_known = template is not None and (type(out) is np.ndarray or shares(out, template))
        if is_known and self.options.nonfinite != "raise":
            self._last = key, template, inner
        return out

    def _check_finite(self, args: Sequence[Any], data: Sequence[Any]) -> None:
        """Refuse nonzeros that are not finite, where the kernel is to do so."""
        if self.options.nonfinite == "raise" and not all(np.isfinite(own).all() for own in data):
            raise NonfiniteError(str(self._explained(self._checked(args))))

    def _in_rows(self, batch: Batch) -> list[Floats]:
        if self._direct:
            return super()._in_rows(batch)
        if any(size < LEAST for size in batch.sizes.values()) and not self._ordered:
            return self._fixed_for(batch.sizes)._in_rows(Batch(batch.shape, batch.count, batch.arrays, batch.dtype, {}))
        positions = self._positions_for(batch.sizes, taken_by(self.inputs, batch, self._taken))
        parts = iter(self._inner_for(positions.listed)._in_rows(batch))
        lead = () if self.options.reduce else batch.shape
        found: list[Floats] = []
        for bound in positions.bounds:
            own = [next(parts) for _ in range(1 if bound is None else len(bound.views))]
            flat = [np.empty((*lead, 0)), *(part.reshape((*lead, -1)) for part in own)]
            found.append(np.concatenate(flat, axis=-1))
        return found

    def _compute(
        self, args: Sequence[Any], batch: Batch, positions: _Positions, targets: Sequence[Floats], lead: tuple[int, ...]
    ) -> None:
        """Have the values computed into the data, or beside it and then put in order."""
        parts: list[Floats] = []
        waiting: list[tuple[Floats, Floats, Bound]] = []
        for target, bound in zip(targets, positions.bounds, strict=True):
            if bound is None:
                parts.append(target)
                continue
            front = np.moveaxis(target, 0, -1) if self.options.in_columns else target
            data = front
            if bound.entries is not None:
                data = np.empty((*lead, bound.entries.total), target.dtype)
                waiting.append((front, data, bound))
            views = [view.of(data) for view in bound.views]
            if self.options.in_columns:
                views = [np.moveaxis(view, range(len(lead)), range(-len(lead), 0)) for view in views]
            parts += views
        floats(self.inputs, batch)
        inner = self._inner_for(positions.listed)
        if _are_apart(positions):
            inner(*args, out=parts)
        else:
            # a call cannot tell that arrays which interleave are apart; the positions say so
            written = Targets(targets)
            for k, array in enumerate(batch.arrays):
                if written.meet(array):
                    batch.arrays[k] = array.copy()
            inner._run(batch, [sample_shape(p.shape, batch.sizes) for p in inner.outputs], parts)
        for front, data, bound in waiting:
            if bound.entries is not None:
                bound.entries.put_in_order(data, front)

    def _full_shapes(
        self, positions: _Positions, lead: tuple[int, ...], sizes: Mapping[str, int]
    ) -> list[tuple[int, ...]]:
        check_spans(self._spans, sizes)
        own = [
            sample_shape(r.node.shape, sizes) if pattern is None else (pattern.size,)
            for r, pattern in zip(self._results, positions.patterns, strict=True)
        ]
        return [(*shape, *lead) if self.options.in_columns else (*lead, *shape) for shape in own]

    def _data_of(self, out: Any, positions: _Positions) -> list[Any]:
        """Return the arrays to write to: those given, and the data of sparse arrays that are given."""
        targets = unpack(self._structure, out)
        for k, target in enumerate(targets):
            result, pattern, template = self._results[k], positions.patterns[k], positions.templates[k]
            if pattern is None or result.format is None:
                continue
            if isinstance(target, np.ndarray):
                targets[k] = flat_data(target, pattern, result.name)
                continue
            if template is None or not shares(target, template):
                check_like(target, result.format.kind, pattern, result.name)
            targets[k] = flat_data(target.data, pattern, result.name)
        return targets

    def _assembled(self, data: Sequence[Any], templates: Sequence[Any]) -> Any:
        results = [
            own if template is None else with_data(template, own)
            for own, template in zip(data, templates, strict=True)
        ]
        return pack(self._structure, iter(results))

    # ------------------------------------------------------------------ positions

    def _key(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        # results of fixed size have one pattern, whatever the letters of inputs are
        return () if self._ordered else tuple(sizes[name] for name in self._names_of_sizes)

    def _positions_for(self, sizes: Mapping[str, int], taken: Taken) -> _Positions:
        """Return what is known for some sizes and positions, making it when they are new."""
        if self._taken:
            last, made = self._at
            if last.keys() != taken.keys() or not all(np.array_equal(last[node], taken[node]) for node in taken):
                made = {}
            key = self._key(sizes)
            if key not in made:
                made = {**made, key: self._new_positions(sizes, taken)}
                self._at = taken, made
            return made[key]
        key = self._key(sizes)
        found = self._positions.get(key)
        if found is None:
            found = self._new_positions(sizes, {})
            known = dict(self._positions)
            while len(known) >= KEPT:
                del known[next(iter(known))]
            self._positions = {**known, key: found}  # in one step: other threads may be reading
        return found

    def _new_positions(self, sizes: Mapping[str, int], taken: Taken) -> _Positions:
        patterns: list[SparsePattern | None] = []
        bounds: list[Bound | None] = []
        listed: list[bool] = []
        templates = []
        for result in self._results:
            layout, bound, pattern = result.layout, None, None
            if isinstance(layout, OrderedLayout):
                pattern = layout.pattern
            elif layout is not None:
                bound = layout.bind(sizes, taken) or ListedLayout(layout.matrix).bind(sizes, taken)
                pattern = bound.pattern
            listed.append(bound is not None and bound.entries is not None)
            bounds.append(bound)
            patterns.append(pattern)
            for array in () if pattern is None else (pattern.indices, pattern.pointers):
                array.flags.writeable = False
            kind = "values" if result.format is None else result.format.kind
            templates.append(None if pattern is None or kind == "values" else array_of(kind, pattern))
        return _Positions(patterns, bounds, tuple(listed), templates)

    def _fixed_for(self, sizes: Mapping[str, int]) -> SparseKernel:
        """Return the kernel for a few elements: which parts of arrays meet may be another matter there."""
        key = self._key(sizes)
        found = self._fixed.get(key)
        if found is None:
            check_spans(self._spans, sizes)
            found = self._fix(dict(sizes))
            known = dict(self._fixed)
            while len(known) >= KEPT:
                del known[next(iter(known))]
            self._fixed = {**known, key: found}
        return found

    @guarded
    def pattern(self, **sizes: Any) -> Any:
        """Return where the nonzeros stand, in the order of the data.

        Parameters
        ----------
        **sizes : int, or array of int
            Numbers for the letters of the inputs' shapes, and the positions that integer inputs bring, whose shapes say
            numbers of letters as well.

        Returns
        -------
        (rows, columns) : tuple of ndarray of int32 or int64
            Of one axis each, with the matrix's ``shape``; notebooks draw them. For several results in their structure,
            with None for dense ones.

        Raises
        ------
        ArgumentError
            If a letter has no number, or there is no such letter.
        LimitError
            If there are too many for the memory of the machine.

        Examples
        --------
        >>> import symdiff as sd
        >>> k = sd.compile("jacobian(x[1:] * x[:-1], x)", x="n", sparse="csr")
        >>> k.pattern(n=3)
        (array([0, 0, 1, 1], dtype=int32), array([0, 1, 1, 2], dtype=int32))
        """
        patterns = self._patterns(sizes)
        found = [None if pattern is None else Coordinates(pattern) for pattern in patterns]
        return pack(self._structure, iter(found))

    def _patterns(self, given: Mapping[str, Any]) -> list[SparsePattern | None]:
        sizes, arrays = with_positions(self.inputs, given, bool(self._taken))
        wanted = self._names_of_sizes
        unknown = [name for name in sizes if name not in wanted]
        missing = [name for name in wanted if name not in sizes]
        if unknown or missing:
            told = ", ".join(f"{name}=..." for name in wanted) or "no sizes"
            raise ArgumentError(f"pattern({', '.join(f'{k}={v!r}' for k, v in sizes.items())}); expected {told}")
        for name, size in sizes.items():
            if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
                raise ArgumentError(f"pattern({name}={size!r}); expected a whole number from 0 up")
        numbers = {name: int(size) for name, size in sizes.items()}
        for p in (*self.inputs, *(Parameter(r.name, r.node.shape) for r in self._results)):
            sample_shape(p.shape, numbers)
        batch = Batch((), 1, arrays, _DOUBLE, numbers)
        check_positions(self.inputs, batch, self._ranges, self.options.in_columns, as_floats=False)
        if any(size < LEAST for size in numbers.values()) and not self._ordered:
            own = {p.name: a for p, a in zip(self.inputs, arrays, strict=True) if p.dtype is INT}
            return self._fixed_for(numbers)._patterns(own)
        taken = taken_by(self.inputs, batch, self._taken)
        return self._positions_for(numbers, taken).patterns

    @guarded
    def spy(self, ax: Any = None, **sizes: Any) -> Any:
        """Draw where the nonzeros stand, with Matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure's.
        **sizes : int
            Numbers for the letters of the inputs' shapes.

        Returns
        -------
        matplotlib Axes
            Of the first sparse result.
        """
        pattern = next(own for own in self._patterns(sizes) if own is not None)
        return draw(pattern, ax)


def _are_apart(positions: _Positions) -> bool:
    """Tell whether no array of values has room for another one between its rows."""
    return all(bound is None or len(bound.views) < 2 or not bound.interleaved for bound in positions.bounds)


def _taken_from(spare: list[Any]) -> Any:
    """Take the last of a list, None where there is none; threads may take at the same time."""
    try:
        return spare.pop()
    except IndexError:
        return None
