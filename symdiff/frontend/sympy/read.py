"""SymPy to graph: readers of sums, entries, functions of time and derivatives, and all readers put to work.

A range of whole numbers is unrolled. Over a range of symbolic size all places are read at once: an index is an axis,
counted from the end, and a part that does not depend on it lacks the axis or has length 1 there.

A function of symbols without a formula, such as the ``q(t)`` of ``sympy.physics.mechanics``, is an input, and so are
its derivatives. The derivative of anything else is taken here, by symdiff, where the expression is read: SymPy's own
rules are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.tensor.array.array_derivatives import ArrayDerivative
from sympy.tensor.array.expressions import array_expressions as arrays

from ...calculus import derivatives
from ...errors import ShapeError, UnsupportedError
from ...graph import (
    Item,
    Node,
    broadcast_to,
    constant,
    contract,
    extent,
    inputs_of,
    matrix,
    placeholder,
    postorder,
    reduce,
    reshape,
    slicing,
    substitute,
    sum_axes,
)
from ...graph.scalars.functions import apply
from ...graph.sizes import Dim, Size
from ...ground.stages import later
from .forms import Adjugate, AdjugateDifferential, ArrayOperation, Definitions, MatrixOperation
from .inputs import Inputs, Scope, SymbolicIndex
from .read_terms import ARRAYS, READERS, Reading, Steps, array_symbol, bound, each, pack, reads, refusal, value_of

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


@reads(AppliedUndef)
def _function(run: Reading, expr: Any, scope: Scope) -> Steps:
    yield from ()
    value = bound(expr, scope)
    if value is not None:
        return value_of(value)
    _check_arguments(expr, scope)
    return run.inputs.function(expr)


def _check_arguments(function: Any, scope: Scope) -> None:
    """Refuse a function that is no input: its value depends on more than a position on one curve.

    Raises
    ------
    UnsupportedError
        If an argument is no symbol, comes twice or is bound, or if the function has an implementation.
    """
    args = function.args
    if hasattr(function.func, "_imp_"):
        raise refusal(function)
    if len(set(args)) < len(args) or any(not arg.is_Symbol or bound(arg, scope) is not None for arg in args):
        raise UnsupportedError(
            f"the undefined function {str(function)[:60]!r} came, whose arguments are not different symbols; only a "
            "function of symbols, such as q(t), is an input: write its formula or a symbol in its place"
        )


@reads(sp.Derivative)
def _derivative(run: Reading, expr: Any, scope: Scope) -> Steps:
    value = bound(expr, scope)
    if value is not None:
        return value_of(value)
    if isinstance(expr, ArrayDerivative) and getattr(expr.expr, "shape", ()) not in ((), (1, 1)):
        raise UnsupportedError(
            "a Derivative of an array came, for whose axes SymPy has several orders; give the array and "
            "differentiate with symdiff.jacobian"
        )
    if any(not count.is_Integer for _, count in expr.variable_count):
        raise UnsupportedError(f"a Derivative of the order {expr.variable_count[0][1]!s:.40} came; expected a number")
    if isinstance(expr.expr, AppliedUndef) and bound(expr.expr, scope) is None:
        _check_arguments(expr.expr, scope)
        return run.inputs.function(expr.expr, *expr.variables)
    inner = scope
    stands: dict[Node, Node] = {}
    for variable, _ in expr.variable_count:
        outer = bound(variable, scope)
        if outer is not None:  # the derivative comes first, then the substitution
            own = value_of(outer)
            held = placeholder(("derivative", variable, own), own.shape)
            stands[held] = own
            inner = (*inner, (variable, held))
    node = yield expr.expr, inner
    for variable in expr.variables:
        node = yield from _differentiated(run, node, variable, inner)
    return substitute([node], stands)[0] if stands else node


def _differentiated(run: Reading, node: Node, variable: Any, scope: Scope) -> Steps:
    """Return the derivative of a node with respect to a variable, along the functions that depend on it."""
    group: dict[Node, Node] = {}
    own = bound(variable, scope)
    if variable in run.defined or run.inputs.sizes.get(str(variable)) == variable:
        raise UnsupportedError(
            f"a Derivative with respect to {str(variable)[:40]!r} came, which is a definition or the size of "
            "an array; expected an input"
        )
    if variable.is_Symbol and own is None:
        known = run.inputs.known(variable)
        if known is not None:
            group[known] = constant(1.0)
        used = set(inputs_of([node]))
        for one, (function, by) in run.inputs.functions_of(variable).items():
            if one in used:
                group[one] = run.inputs.function(function, *by, variable)
    else:
        (by_node,) = yield from each([variable], scope)
        if by_node.ndim and own is None:
            return derivatives.gradient(node, [by_node], "zero", derivatives.Trail())[0]
        group[by_node] = broadcast_to(constant(1.0), by_node.shape)
    order = set(postorder([node]))
    group = {one: direction for one, direction in group.items() if one in order or one.args}
    if not group:
        return broadcast_to(constant(0.0), node.shape)
    return derivatives.jvp(node, list(group), list(group.values()), "zero", derivatives.Trail())


@reads(sp.Subs)
def _subs(run: Reading, expr: Any, scope: Scope) -> Steps:
    inner = scope
    # as SymPy does them, one after the other: the first point holds what later ones replace
    for variable, point in reversed([*zip(expr.variables, expr.point, strict=True)]):
        node = yield point, inner
        inner = (*inner, (variable, node))
    return (yield expr.expr, inner)


def read(expr: Any, inputs: Inputs) -> Node:
    """Return the graph of a SymPy expression; see :func:`symdiff.frontend.sympy.from_sympy`."""
    before = len(inputs)
    reading = Reading(inputs, READERS)
    if isinstance(expr, Definitions):
        for symbol, value in expr.definitions:
            reading.defined[symbol] = reading.read(value)
        expr = expr.result
    node = reading.read(expr)
    unknown = sorted(reading.ranged - inputs.known_sizes())
    if unknown:
        raise UnsupportedError(
            f"a range up to {unknown[0]!r} came, a symbolic size that no matrix of the formula has; expected whole "
            "numbers"
        )
    replace = inputs.settle(before)
    return substitute([node], replace)[0] if replace else node


@reads(Adjugate)
def _adjugate(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("adjugate", (yield expr.arg, scope))


@reads(AdjugateDifferential)
def _adjugate_differential(run: Reading, expr: Any, scope: Scope) -> Steps:
    return matrix("adjugate_differential", *(yield from each(expr.args, scope)))


@reads(MatrixOperation, ArrayOperation)
def _operation(run: Reading, expr: Any, scope: Scope) -> Steps:
    text, ranks, size, *operands = expr.args
    nodes = yield from each(operands, scope)
    shape = tuple(run.inputs.size(one, scope) for one in size.args)
    stands: dict[Node, Node] = {}
    text_front = later.text
    known = {"_sizes_": text_front.make_input("_sizes_", shape)}
    for place, (node, rank) in enumerate(zip(nodes, ranks.args, strict=True)):
        own = reshape(node, node.shape[: int(rank)]) if node.ndim != rank else node
        held = known[f"_a{place}_"] = text_front.make_input(f"_a{place}_", own.shape)
        stands[held.node] = own
    made: Node = text_front.parse_within(str(text), known).result.node
    (result,) = substitute([made], stands)
    return reshape(result, shape)
