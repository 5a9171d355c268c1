"""Readers of indices: sums over ranges, entries of arrays, and arrays that are given by their entries.

A range of whole numbers is unrolled. Over a range of symbolic size all places are read at once: an index
is an axis, counted from the end, and what does not depend on it lacks the axis or has length 1 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import sympy as sp
from sympy.tensor.array.expressions import array_expressions as arrays

from ...errors import ShapeError, UnsupportedError
from ...graph import Item, Node, broadcast_to, constant, contract, extent, reduce, reshape, slicing, sum_axes
from ...graph.scalars.functions import apply
from ...graph.sizes import Dim, Size
from .inputs import Scope, SymbolicIndex
from .read_matrices import array_symbol, pack
from .read_scalars import ARRAYS, Reading, Steps, bound, each, reads, refusal

# ---------------------------------------------------------------------------- ranges


def depth(scope: Scope) -> int:
    """Return how many axes, from the end, are taken by what is bound."""
    taken = [
        -value.axis if isinstance(value, SymbolicIndex) else value.ndim
        for _, value in scope
        if not isinstance(value, int)
    ]
    return max(taken, default=0)


def ranges(run: Reading, expr: Any, scope: Scope) -> tuple[list[Scope], list[SymbolicIndex]]:
    """Return one scope a term, and the indices that are read at all places at once; the last range is the outermost."""
    scopes, indices = [scope], []
    for limit in reversed(expr.limits):
        wider: list[Scope] = []
        if len(limit) != 3:
            raise refusal(expr)
        symbol, low, high = limit
        if low.is_infinite or high.is_infinite:
            raise UnsupportedError(
                f"a {type(expr).__name__} of infinitely many terms came; evaluate it first (.doit()), or give it a "
                "range of whole numbers"
            )
        if any(isinstance(bound(own, scopes[0]), SymbolicIndex) for own in (low + high).free_symbols):
            raise UnsupportedError(f"a {type(expr).__name__} from {low} to {high} came, which depends on another index")
        for outer in scopes:
            first, last = run.inputs.size(low, outer), run.inputs.size(high, outer)
            if isinstance(first, int) and isinstance(last, int):
                if last < first - 1:
                    raise UnsupportedError(f"a {type(expr).__name__} over the reversed range {first} to {last} came")
                run.count(last - first + 1)
                wider.extend([(*outer, (symbol, value)) for value in range(first, last + 1)])
            else:
                index = SymbolicIndex(-1 - depth(outer), last - first + 1, first)
                run.ranged.update(name for name in (*names_of(first), *names_of(last)))
                wider.append((*outer, (symbol, index)))
        held = wider[0][-1][1] if wider else 0
        if isinstance(held, SymbolicIndex):
            indices.append(held)
        scopes = wider
    return scopes, indices


def names_of(size: Dim) -> set[str]:
    """Return the names in a size."""
    return {name for names, _ in size.terms for name in names} if isinstance(size, Size) else set()


@reads(sp.Sum)
def _sum(run: Reading, expr: Any, scope: Scope) -> Steps:
    return (yield from _unroll(run, _along_diagonals(expr), scope, "add", 0.0))


def _along_diagonals(expr: Any) -> Any:
    """Return a Sum with one index in place of two with the same range, of which a Kronecker delta is a factor."""
    ranged = {limit[0]: tuple(limit[1:]) for limit in expr.limits}
    factors = sp.Mul.make_args(expr.function)
    for delta in factors:
        if not isinstance(delta, sp.KroneckerDelta):
            continue
        i, j = delta.args
        bounds = ranged.get(i, ())
        if i != j and len(bounds) == 2 and ranged.get(j) == bounds and not {i, j} & sp.Tuple(*bounds).free_symbols:
            rest = [factor.xreplace({j: i}) for factor in factors if factor is not delta]
            return _along_diagonals(sp.Sum(sp.Mul(*rest), *(limit for limit in expr.limits if limit[0] != j)))
    return expr


@reads(sp.Product)
def _product(run: Reading, expr: Any, scope: Scope) -> Steps:
    return (yield from _unroll(run, expr, scope, "multiply", 1.0))


def _unroll(run: Reading, expr: Any, scope: Scope, op: str, empty: float) -> Steps:
    total: Node | None = None
    scopes, indices = ranges(run, expr, scope)
    if indices and isinstance(expr.function, ARRAYS):
        raise UnsupportedError(
            f"a {type(expr).__name__} of matrices over a range of symbolic size came; expected whole numbers"
        )
    for inner in scopes:
        run.count(1)
        term = yield expr.function, inner
        for index in reversed(indices):  # the innermost has the axis in front
            term = _over(index, term, op)
        total = term if total is None else apply(op, total, term)
    return constant(empty) if total is None else total


def _over(index: SymbolicIndex, term: Node, op: str) -> Node:
    """Add, or multiply, the terms at all places of an index."""
    if term.ndim >= -index.axis and term.shape[index.axis] != 1:
        axis = term.ndim + index.axis
        return sum_axes(term, (axis,)) if op == "add" else reduce("prod", term, (axis,))
    if term.ndim >= -index.axis:
        term = reshape(term, term.shape[1:])
    size = constant(index.size) if isinstance(index.size, int) else extent(index.size)
    return apply("multiply", size, term) if op == "add" else apply("power", term, size)


# ---------------------------------------------------------------------------- entries


def _position(run: Reading, index: Any, size: Dim, scope: Scope) -> Dim:
    place = run.inputs.size(index, scope)
    return place + size if isinstance(place, int) and place < 0 else place


def _element(run: Reading, x: Node, indices: Sequence[Any], scope: Scope) -> Node:
    if len(indices) != x.ndim:
        raise ShapeError(f"{len(indices)} indices came for an array with {x.ndim} axes")
    moving = [_moving(run, index, scope) for index in indices]
    if any(moving):
        return _all_elements(run, x, indices, moving, scope)
    places = [_position(run, index, size, scope) for index, size in zip(indices, x.shape, strict=True)]
    known = {name for size in x.shape for name in names_of(size)}
    for index, place in zip(indices, places, strict=True):
        if not known.issuperset(names_of(place)):
            raise UnsupportedError(
                f"the index {index!s:.40} came, which is neither a number nor made of the sizes of the array; write a "
                "number, or a Sum over the index"
            )
    return slicing(x, tuple((place, 1, None) for place in places))


def _moving(run: Reading, index: Any, scope: Scope) -> SymbolicIndex | None:
    """Return the index over all places that an index is, but for a shift, or None if it is at one place."""
    for symbol in getattr(index, "free_symbols", ()):
        held = bound(symbol, scope)
        if isinstance(held, SymbolicIndex):
            shift = sp.expand(index - symbol)
            if any(isinstance(bound(other, scope), SymbolicIndex) for other in shift.free_symbols):
                raise UnsupportedError(
                    f"the index {index!s:.40} came over a range of symbolic size; expected one index, plus or minus a "
                    "size"
                )
            return held._replace(first=held.first + run.inputs.size(shift, scope))
    return None


def _all_elements(
    run: Reading, x: Node, indices: Sequence[Any], moving: Sequence[SymbolicIndex | None], scope: Scope
) -> Node:
    """Return the elements at all places of indices over ranges, to be broadcast."""
    labels: list[int] = []
    items: list[Item] = []
    for index, size, own in zip(indices, x.shape, moving, strict=True):
        if own is None:
            items.append((_position(run, index, size, scope), 1, None))
            continue
        left = size - own.first - own.size
        if not isinstance(left, int) or left < 0 or (isinstance(own.first, int) and own.first < 0):
            raise ShapeError(
                f"the index {index!s:.40} takes {own.size} places from {own.first} on, on an axis of size {size}"
            )
        labels.append(-own.axis)
        items.append((own.first, 1, own.size))
    out = tuple(range(max(labels), 0, -1))
    part = slicing(x, tuple(items))
    return contract([part], [tuple(labels)], out, {label: 1 for label in out if label not in labels})


@reads(sp.matrices.expressions.matexpr.MatrixElement, arrays.ArrayElement)
def _matrix_element(run: Reading, expr: Any, scope: Scope) -> Steps:
    x = yield expr.args[0], scope
    indices = expr.args[1:] if isinstance(expr, sp.matrices.expressions.matexpr.MatrixElement) else expr.indices
    return _element(run, x, indices, scope)


@reads(sp.IndexedBase)
def _indexed_base(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    return array_symbol(expr, run.inputs)


@reads(sp.Indexed)
def _indexed(run: Reading, expr: Any, scope: Scope) -> Steps:
    base = expr.base
    x = yield base, scope
    return _element(run, x, expr.indices, scope)


# ---------------------------------------------------------------------------- arrays by their entries


@reads(sp.FunctionMatrix)
def _function_matrix(run: Reading, expr: Any, scope: Scope) -> Steps:
    rows, columns = (run.inputs.size(size, scope) for size in expr.shape)
    i, j = expr.lamda.variables
    if not isinstance(rows, int) or not isinstance(columns, int):
        whole_matrix = yield expr.lamda.expr, (*scope, (i, SymbolicIndex(-2, rows)), (j, SymbolicIndex(-1, columns)))
        return broadcast_to(whole_matrix, (rows, columns))
    run.count(rows * columns)
    entries: list[Node] = []
    for row, column in product(range(rows), range(columns)):
        entries += yield from each([expr.lamda.expr], (*scope, (i, row), (j, column)))
    return pack(entries, (rows, columns))


@reads(sp.tensor.array.ArrayComprehension)
def _comprehension(run: Reading, expr: Any, scope: Scope) -> Steps:
    shape = tuple(run.inputs.size(high, scope) - run.inputs.size(low, scope) + 1 for _, low, high in expr.limits)
    if not all(isinstance(size, int) for size in shape):
        inner = scope
        for axis, ((symbol, low, _), size) in enumerate(zip(expr.limits, shape, strict=True), start=-len(shape)):
            run.ranged.update(names_of(size))
            inner = (*inner, (symbol, SymbolicIndex(axis, size, run.inputs.size(low, scope))))
        return broadcast_to((yield expr.function, inner), shape)
    scopes = [scope]
    for symbol, low, high in expr.limits:
        steps = range(int(low), int(high) + 1)
        run.count(len(scopes) * len(steps))
        scopes = [(*outer, (symbol, value)) for outer in scopes for value in steps]
    entries: list[Node] = []
    for one in scopes:
        entries += yield from each([expr.function], one)
    return pack(entries, tuple(map(int, expr.shape)))
