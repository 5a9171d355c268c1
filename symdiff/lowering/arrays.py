"""Lowering of each array operation, element by element.

Lowering of contractions, in an order of factors that counts only products without structural zeros.

Sorting as straight-line code: comparisons in an order that no number changes.

Elements are sorted by Batcher's network of odd-even merges (Knuth, The Art of Computer Programming, 5.3.4), and arrays
are put into the order of others by counting which come before each. nan comes last, as in NumPy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from ..errors import UnsupportedError
from ..graph import BOOL, Node
from ..graph.deltas.contraction_order import Step, cheapest_step
from ..graph.kinds import INLINED
from ..graph.primitives import NORMALIZATIONS, complete
from . import polygamma
from .builder import ARITHMETIC, ZERO, Ids, ProgramBuilder, fixed_shape
from .expand import EXPANSIONS, FOLDS, Fold, expand_row
from .matrices import MATRICES
from .program import MAX_ORDER, SIGNATURES

__all__ = ["lower_contract"]


#: The longest line that is sorted as straight-line code: it takes some thousand operations.
LIMIT = 32


def lower_sort(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Sort the lines along an axis."""
    axis, reverse = node.payload
    lines = np.moveaxis(args[0], axis, -1).copy()
    _check_length(node, lines.shape[-1])
    for index in np.ndindex(lines.shape[:-1]):
        line = [builder.real(int(v)) for v in lines[index]]
        for i, j in comparators(len(line)):
            a, b = line[i], line[j]
            later = _before(builder, b, a)
            line[i], line[j] = builder.where(later, b, a), builder.where(later, a, b)
        lines[index] = line[::-1] if reverse else line
    return np.moveaxis(lines, -1, axis)


def _check_length(node: Node, count: int) -> None:
    if count > LIMIT:
        raise UnsupportedError(f"{node.op} of {count} elements as straight-line code; the limit is {LIMIT}")


def comparators(n: int) -> Iterator[tuple[int, int]]:
    """Return the pairs that are compared and exchanged, in order, to sort ``n`` elements."""
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for start in range(k % p, n - k, 2 * k):
                for i in range(start, min(start + k, n - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2


def _before(builder: ProgramBuilder, a: int, b: int) -> int:
    """Tell whether ``a`` comes before ``b``: it is less, or a number where ``b`` is nan."""
    if a == b:
        return builder.call("not_equal", builder.number(0.0), builder.number(0.0))
    greater = builder.call("logical_not", builder.call("less_equal", b, a))
    return builder.call("logical_and", greater, builder.call("equal", a, a))


def lower_arrange(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Put lines into the order of others: of those that tie, each place gets the mean."""
    axis, back = node.payload
    x, key = np.moveaxis(args[0], axis, -1), np.moveaxis(args[1], axis, -1)
    n = key.shape[-1]
    _check_length(node, n)
    result = np.full(x.shape, ZERO, np.int64)
    lead = x.shape[: x.ndim - key.ndim]
    for index in np.ndindex(key.shape[:-1]):
        weights = _weights(builder, [builder.real(int(v)) for v in key[index]])
        for first in np.ndindex(lead):
            line = [int(v) for v in x[first + index]]
            for k in range(n):
                total = ZERO
                for i in range(n):
                    condition, share = weights[k][i] if back else weights[i][k]
                    value = line[i]
                    if value != ZERO:
                        term = builder.where(condition, builder.multiply(share, value), ZERO)
                        total = builder.add(total, term)
                result[(*first, *index, k)] = total
    return np.moveaxis(result, -1, axis)


def _weights(builder: ProgramBuilder, key: list[int]) -> list[list[tuple[int, int]]]:
    """Return for each element and each place of the order whether it may stand there, and its share of the place."""
    n = len(key)
    before = {(i, j): _before(builder, key[i], key[j]) for i in range(n) for j in range(n) if i != j}
    one = builder.number(1.0)
    weights = []
    for j in range(n):
        first, ties = builder.number(0.0), one
        for i in range(n):
            if i != j:
                less = builder.call("to_real", before[i, j])
                more = builder.call("to_real", before[j, i])
                first = builder.add(first, less)
                ties = builder.add(ties, builder.subtract(builder.subtract(one, less), more))
        end, share = builder.add(first, ties), builder.divide(one, ties)
        row = []
        for k in range(n):
            place = builder.number(float(k))
            reached = builder.call("less_equal", first, place)
            row.append((builder.call("logical_and", reached, builder.call("less", place, end)), share))
        weights.append(row)
    return weights


def lower_contract(builder: ProgramBuilder, node: Node, args: list[Ids]) -> Ids:
    """Multiply and sum the factors' elements."""
    labels, out, _ = node.payload
    shape = fixed_shape(node.shape)
    if len(args) == 1 and set(labels[0]) <= set(out) and len(set(labels[0])) == len(labels[0]):
        own = labels[0]  # a transpose or a repetition
        order = [own.index(label) for label in out if label in own]
        view = args[0].transpose(order)[tuple(slice(None) if label in own else None for label in out)]
        is_zero = node.args[0].is_constant and not own and node.args[0].value == 0.0
        return np.full(shape, ZERO, np.int64) if is_zero else np.broadcast_to(view, shape).copy()
    pinned = _pinned(node)
    parts = zip(args, labels, strict=True)
    factors = [_sparse(ids, own) for ids, own in parts if len(own) != 1 or own[0] not in pinned]
    if not factors:
        factors = [({(): builder.number(1.0)}, ())]
    while len(factors) > 1:
        step = cheapest_step([own for _, own in factors], out, partial(_terms, factors))
        assert step is not None
        if len(factors[step.first][0]) * len(factors[step.second][0]) > builder.most:
            builder.expect(_terms(factors, step))
        second, first = factors.pop(step.second), factors.pop(step.first)
        factors.insert(step.first, _multiply_sparse(builder, first, second, step.kept))
    entries, own = _sum_sparse(builder, factors[0], set(out))
    # a sum of nothing is a number, which may be divided by 0, as a mean of nothing is
    result = np.full(shape, builder.number(0.0) if any(not ids.size for ids in args) else ZERO, np.int64)
    if own == out:
        for index, value in entries.items():
            result[index] = value
        return result
    axes = [own.index(label) if label in own else None for label in out]
    places = [pinned.get(label, slice(None)) for label in out]
    for index, value in entries.items():
        result[tuple([place if a is None else index[a] for a, place in zip(axes, places, strict=True)])] = value
    return result


def _pinned(node: Node) -> dict[int, int]:
    """Return the labels of a contraction's result that a onehot alone has, and where they are 1."""
    labels, out, _ = node.payload
    pinned = {}
    for arg, own in zip(node.args, labels, strict=True):
        alone = arg.is_onehot and own[0] in out and sum([own[0] in other for other in labels]) == 1
        if alone and isinstance(arg.payload.at, int):
            pinned[own[0]] = arg.payload.at
    return pinned


_Sparse: TypeAlias = tuple[dict[tuple[int, ...], int], tuple[int, ...]]
#: Weight of a product of factors without a common label: it makes more elements, and sums none.
_APART = 1.5


def _sparse(ids: Ids, own: tuple[int, ...]) -> _Sparse:
    """Return the elements that are not structural zeros, on the diagonal of repeated labels."""
    entries: dict[tuple[int, ...], int]
    if ids.ndim <= 1:
        values = [int(ids)] if ids.ndim == 0 else ids.tolist()
        entries = {(place,) if own else (): value for place, value in enumerate(values) if value != ZERO}
    else:
        there = np.nonzero(ids != ZERO)
        entries = dict(zip(zip(*[axis.tolist() for axis in there], strict=True), ids[there].tolist(), strict=True))
    unique = tuple(dict.fromkeys(own))
    if len(unique) == len(own):
        return entries, own
    first = [own.index(label) for label in own]
    axes = [own.index(label) for label in unique]
    diagonal = {
        tuple([index[axis] for axis in axes]): value
        for index, value in entries.items()
        if all(index[axis] == index[at] for axis, at in enumerate(first))
    }
    return diagonal, unique


def _terms(factors: list[_Sparse], step: Step) -> float:
    """Return how many products of elements that are not structural zeros a step takes."""
    (p, a), (q, b) = factors[step.first], factors[step.second]
    shared = [(a.index(label), b.index(label)) for label in a if label in b]
    if not shared:
        return float(len(p) * len(q)) * _APART
    keys: dict[tuple[int, ...], int] = {}
    for index in q:
        key = tuple(index[j] for _, j in shared)
        keys[key] = keys.get(key, 0) + 1
    return float(sum(keys.get(tuple(index[i] for i, _ in shared), 0) for index in p))


def _multiply_sparse(builder: ProgramBuilder, first: _Sparse, second: _Sparse, own: tuple[int, ...]) -> _Sparse:
    """Multiply two factors and sum over the labels that are not in ``own``."""
    (p, a), (q, b) = first, second
    both = (*a, *b)
    places = [both.index(label) for label in own]
    whole = own == both
    left = [i for i, label in enumerate(a) if label in b]
    right = [b.index(a[i]) for i in left]
    buckets: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    for index, value in q.items():
        buckets.setdefault(tuple([index[j] for j in right]), []).append((index, value))
    terms: dict[tuple[int, ...], int] = {}
    for index, value in p.items():
        for other, factor in buckets.get(tuple([index[i] for i in left]), ()):
            key = index + other
            if not whole:
                key = tuple([key[i] for i in places])
            product = builder.multiply(value, factor)
            terms[key] = builder.add(terms[key], product) if key in terms else product
    return terms, own


def _sum_sparse(builder: ProgramBuilder, factor: _Sparse, kept: set[int]) -> _Sparse:
    entries, own = factor
    axes = [i for i, label in enumerate(own) if label in kept]
    if len(axes) == len(own):
        return factor
    terms: dict[tuple[int, ...], int] = {}
    for index, value in entries.items():
        key = tuple(index[i] for i in axes)
        terms[key] = builder.add(terms[key], value) if key in terms else value
    return terms, tuple(own[i] for i in axes)


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
    # in pairs, so that products without one of the numbers, as derivatives have them, share those of the other pairs
    while len(row) > 1:
        pairs = [builder.multiply(a, b) for a, b in zip(row[::2], row[1::2], strict=False)]
        row = pairs + row[2 * len(pairs) :]
    return row[0] if row else builder.number(1.0)


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
    "sort": lower_sort,
    "arrange": lower_arrange,
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
