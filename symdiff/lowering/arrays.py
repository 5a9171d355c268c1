"""Lowering of each array operation, element by element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..errors import UnsupportedError
from ..graph import BOOL, Node
from ..graph.kinds import INLINED
from ..graph.primitives import NORMALIZATIONS, complete
from . import ordering, polygamma
from .builder import ARITHMETIC, ZERO, Ids, ProgramBuilder, fixed_shape
from .contraction import lower_contract
from .expand import EXPANSIONS, FOLDS, Fold, expand_row
from .matrices import MATRICES
from .program import MAX_ORDER, SIGNATURES

#: Functions that are lowered to a hundred operations, for no more elements than are built in a moment.
_LONG: dict[str, Callable[..., int]] = {"digamma": polygamma.digamma, "polygamma": polygamma.polygamma}
_SEVERAL = 16


def is_plain(op: str) -> bool:
    """Tell whether a function takes one number and is an operation of programs, without identities or expansions."""
    return len(SIGNATURES.get(op, ())) == 1 and op not in ARITHMETIC and op not in MAX_ORDER and op not in _LONG


def lower_scalar(builder: ProgramBuilder, op: str, args: Sequence[int]) -> int:
    """Apply a scalar function to numbers."""
    if op in ARITHMETIC:
        return builder.apply(op, args)
    _check(builder, op, args[0])
    long = _LONG.get(op)
    if long is not None:
        return long(builder, *args)
    if ZERO in args:
        args = [builder.real(v) for v in args]
    return builder.call(op, *args)


def _check(builder: ProgramBuilder, op: str, first: int | None) -> None:
    """Refuse a function that the scalar program lacks, or one of an order, its first argument, that it lacks."""
    if op in MAX_ORDER and (first is None or not 0 <= builder.consts.get(first, -1) <= MAX_ORDER[op]):
        raise UnsupportedError(f"{op} of an order that is not one number up to {MAX_ORDER[op]}")
    if op not in SIGNATURES and op not in ARITHMETIC:
        raise UnsupportedError(f"{op} has neither an operation of the scalar program nor an expansion")


def lower_elementwise(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Apply a scalar function to the elements, with broadcasting."""
    op = node.op
    _check(builder, op, None if not args or args[0].ndim else int(args[0]))
    long = _LONG.get(op) if math.prod(fixed_shape(node.shape)) <= _SEVERAL else None

    def apply(*values: int) -> int:
        if op in ARITHMETIC:
            return builder.apply(op, values)
        if long is not None:
            return long(builder, *values)
        return builder.call(op, *[builder.real(v) for v in values])

    if op in _SPARE and math.prod(fixed_shape(node.shape)) > _FEW:
        left, right = args if args[0].shape == args[1].shape else np.broadcast_arrays(*args)
        return _apply_sparsely(op, apply, left, right)
    columns = [a.ravel().tolist() for a in np.broadcast_arrays(*args)]
    return np.array([apply(*v) for v in zip(*columns, strict=True)], np.int64).reshape(fixed_shape(node.shape))


#: Functions whose structural zeros are known without looking at each, in arrays of more than a few elements.
_SPARE, _FEW = frozenset({"add", "subtract", "multiply"}), 8


def _apply_sparsely(op: str, apply: Callable[..., int], a: Ids, b: Ids) -> Ids:
    """Add, subtract or multiply the elements that are no structural zeros; Jacobians hold few of them."""
    both = b != ZERO
    result = a.copy()  # in C order, whatever order a has
    if op != "subtract":
        nothing = a == ZERO
        both &= ~nothing
        if op == "add":
            np.copyto(result, b, where=nothing)
        else:
            result.fill(ZERO)
    places = both.ravel().nonzero()[0]
    if places.size:
        pairs = zip(a.ravel()[places].tolist(), b.ravel()[places].tolist(), strict=True)
        result.reshape(-1)[places] = [apply(x, y) for x, y in pairs]
    return result


def _lower_constant(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    values = [float(v) for v in node.value.ravel()]
    if node.dtype is BOOL:
        yes, no = builder.number(1.0), builder.number(0.0)
        ids = [builder.emit("not_equal", yes if v else no, no) for v in values]
    else:
        ids = [builder.number(v) for v in values]
    return np.array(ids, np.int64).reshape(fixed_shape(node.shape))


def _lower_delta(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    rows, columns = fixed_shape(node.shape)
    start, step = node.payload
    result = np.full((rows, columns), ZERO, np.int64)
    for i in range(rows):
        if 0 <= start + step * i < columns:
            result[i, start + step * i] = builder.number(1.0)
    return result


def _lower_onehot(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    result = np.full(fixed_shape(node.shape), ZERO, np.int64)
    result[node.payload.at] = builder.number(1.0)
    return result


def _lower_size(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    raise UnsupportedError(f"the size {node.payload.size} is known at call time only")


def _rows_of(ids: Ids, axes: tuple[int, ...]) -> tuple[list[list[int]], tuple[int, ...]]:
    """Return the elements reduced together, a list for each result, and the result's shape."""
    gone = sorted(a % ids.ndim for a in axes)
    kept = [a for a in range(ids.ndim) if a not in gone]
    shape = tuple(ids.shape[a] for a in kept)
    count = math.prod(ids.shape[a] for a in gone)
    return ids.transpose([*kept, *gone]).reshape(math.prod(shape), count).tolist(), shape


def _reduction(fold: Callable[[ProgramBuilder, list[int]], int]) -> Callable[[ProgramBuilder, Node, list[Ids]], Ids]:
    def lower(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
        rows, shape = _rows_of(args[0], node.payload.axes)
        return np.array([fold(builder, row) for row in rows], np.int64).reshape(shape)

    return lower


def _emitted(op: str) -> Callable[..., int]:
    if op in ARITHMETIC:
        return lambda builder, *args: builder.apply(op, args)
    if op not in SIGNATURES:  # as a function with an expansion is
        raise LookupError(f"a running operation names {op}, which is no operation of the scalar program")

    def step(builder: ProgramBuilder, *args: int) -> int:
        return builder.emit(op, *map(builder.real, args))

    return step


def _fold(op: str) -> Callable[[ProgramBuilder, list[int]], int]:
    def fold(builder: ProgramBuilder, row: list[int]) -> int:
        total = builder.real(row[0])
        for value in row[1:]:
            total = builder.emit(op, total, builder.real(value))
        return total

    return fold


def _fold_prod(builder: ProgramBuilder, row: list[int]) -> int:
    total = builder.number(1.0)
    for value in row:
        total = builder.multiply(total, value)
    return total


def _lower_expanded(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    rows, shape = _rows_of(args[0], node.payload.axes)
    made = [list(expand_row(builder, node.op, row)) for row in rows]
    if node.op in NORMALIZATIONS:
        return _put_rows(made, args[0], node.payload.axes)
    return np.array(made, np.int64).reshape(shape)


def _put_rows(rows: list[list[int]], like: Ids, axes: tuple[int, ...]) -> Ids:
    """Undo :func:`_rows_of`."""
    gone = sorted(a % like.ndim for a in axes)
    order = [a for a in range(like.ndim) if a not in gone] + gone
    moved = np.array(rows, np.int64).reshape([like.shape[a] for a in order])
    return moved.transpose(np.argsort(order))


def _cumulative(fold: Fold) -> Callable[[ProgramBuilder, Node, list[Ids]], Ids]:
    step, first = _emitted(fold.step), _emitted(fold.first) if fold.first else None

    def lower(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
        axis, reverse = node.payload
        moved = np.moveaxis(args[0], axis, -1).copy()
        for index in np.ndindex(moved.shape[:-1]):
            line = moved[index].tolist()
            line = line[::-1] if reverse else line
            if line and first is not None:
                line[0] = first(builder, line[0])
            line = list(itertools.accumulate(line, partial(step, builder)))
            moved[index] = line[::-1] if reverse else line
        return np.moveaxis(moved, -1, axis)

    return lower


def _lower_triangle(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    upper, offset = node.payload
    rows, columns = np.indices(args[0].shape[-2:])
    keep = columns - rows >= offset if upper else columns - rows <= offset
    return np.where(keep, args[0], ZERO)


def _keys(items: Sequence[tuple[int, int, int | None]]) -> tuple[list[list[int]], tuple[int, ...]]:
    picks = [[start] if length is None else [start + step * i for i in range(length)] for start, step, length in items]
    return picks, tuple(length for _, _, length in items if length is not None)


def _lower_slice(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    if not node.payload.items:
        return args[0]
    picks, shape = _keys(node.payload.items)
    return np.asarray(args[0][np.ix_(*picks)].reshape(shape))


def _lower_pad(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    result = np.full(fixed_shape(node.shape), ZERO, np.int64)
    if not node.payload.items:
        return args[0]
    picks, _ = _keys(node.payload.items)
    result[np.ix_(*picks)] = args[0].reshape([len(p) for p in picks])
    return result


def _lower_gather(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    axis, indices = node.payload
    return np.take(args[0], np.array(indices, np.int64), axis=axis)


def _lower_scatter(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    axis, indices = node.payload
    result = np.moveaxis(np.full(fixed_shape(node.shape), ZERO, np.int64), axis, 0)
    for source, target in zip(np.moveaxis(args[0], axis, 0), indices, strict=True):
        for index in np.ndindex(source.shape):
            result[(target, *index)] = builder.add(int(result[(target, *index)]), int(source[index]))
    return np.moveaxis(result, 0, axis)


def _lower_take(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    axis, shared = node.payload
    x, at = args
    place = axis + x.ndim
    result = np.full(fixed_shape(node.shape), ZERO, np.int64)
    for own in np.ndindex(at.shape):
        lead = (slice(None),) * (place - shared) + own[:shared]
        target, source = (*lead, *own[shared:]), x[lead]  # shape (..., N, ...)
        result[target] = _chosen(builder, np.moveaxis(source, axis, 0), int(at[own]))
    return result


def _chosen(builder: ProgramBuilder, rows: Ids, at: int) -> Ids:
    """Return the one of some rows that a position says, by selects."""
    known = [builder.call("equal", at, builder.number(float(k))) for k in range(len(rows))]
    result = np.empty(rows.shape[1:], np.int64)
    for own in np.ndindex(result.shape):
        line = [int(value) for value in rows[(slice(None), *own)]]
        # what most rows have needs no question: positions are in range
        usual = max(dict.fromkeys(line), key=line.count) if line else ZERO
        value = usual
        for k, each in enumerate(line):
            if each != usual:
                value = builder.where(known[k], each, value)
        result[own] = value
    return result


def _lower_put(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    axis, shared = node.payload
    x, at = args
    place, size = axis + node.ndim, fixed_shape(node.shape)[axis]
    result = np.full(fixed_shape(node.shape), ZERO, np.int64)
    for own in np.ndindex(at.shape):
        lead = (slice(None),) * (place - shared) + own[:shared]
        source = x[(*lead, *own[shared:])]
        for k in range(size):
            here = builder.call("equal", int(at[own]), builder.number(float(k)))
            row = np.array(result[(*lead, k)])
            for index in np.ndindex(source.shape):
                term = builder.where(here, int(source[index]), ZERO)
                row[index] = builder.add(int(row[index]), term)
            result[(*lead, k)] = row
    return result


def _lower_reshape(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    return args[0].reshape(fixed_shape(node.shape))


def _lower_concatenate(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    return np.concatenate(args, axis=node.payload.axis)


ARRAYS: dict[str, Callable[[ProgramBuilder, Node, list[Ids]], Ids]] = {
    "constant": _lower_constant,
    "delta": _lower_delta,
    "onehot": _lower_onehot,
    "size": _lower_size,
    "contract": lower_contract,
    "max": _reduction(_fold("maximum")),
    "min": _reduction(_fold("minimum")),
    "prod": _reduction(_fold_prod),
    **dict.fromkeys(EXPANSIONS, _lower_expanded),
    **{name: _cumulative(fold) for name, fold in FOLDS.items()},
    "sort": ordering.lower_sort,
    "arrange": ordering.lower_arrange,
    "triangle": _lower_triangle,
    "slice": _lower_slice,
    "pad": _lower_pad,
    "gather": _lower_gather,
    "scatter": _lower_scatter,
    "take": _lower_take,
    "put": _lower_put,
    "reshape": _lower_reshape,
    "concatenate": _lower_concatenate,
    **MATRICES,
}
complete(ARRAYS, __name__, without=("input", *INLINED, "external", "recurrence"))
