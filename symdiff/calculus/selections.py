"""Which of the elements that tie is selected: order statistics in what is differentiated again.

The slope of F(sort(x)) is ``restore(F', x)``, where elements that tie share equally: the mean over the orders of the
tie. The slope of that multiplies two such means, and the mean of a product is no product of means: of max(x)**2 it
would be a half everywhere for two that tie. So where shares meet what they are shares of, elements that tie are told
apart, once in one order and once in the other, everywhere in the formula alike, and the result is the mean of both. A
formula that is smooth through a tie has the same derivatives in every order of it.

The key ``restore(arange(n), x) + c * arange(n)`` has the order of x, and no two elements that are equal. Elements of
formulas are told apart as they are a little further along one direction of all inputs, so that the orders of several
formulas fit together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..errors import SymdiffError
from ..graph import (
    REAL,
    Node,
    arrange,
    axes_of,
    broadcast_to,
    constant,
    dependents,
    elementwise,
    extent,
    inputs_of,
    places,
    postorder,
    rebuild,
    reshape,
    substitute,
    transpose,
)
from ..graph.primitives import FIRST, SELECTING
from ..graph.scalars.arithmetic import peel, without_numbers
from ..graph.scalars.functions import FUNCTIONS, Partial, scalar_constant
from ..graph.sizes import product
from .modes import pushforward

__all__ = ["mean_over_orders", "selections_that_meet", "without_orders"]

#: What moves elements and is looked through.
_MOVES = frozenset(("reshape", "slice", "named"))
#: What joins conditions.
_LOGIC = frozenset(("logical_not", "logical_and", "logical_or", "reshape", "named"))


def selections_that_meet(node: Node, independent: Collection[Node]) -> frozenset[Node]:
    """Return what order statistics are taken of, where a formula has shares of them and their values as well.

    Parameters
    ----------
    node : Node
        What is going to be differentiated.
    independent : collection of Node
        With respect to what.
    """
    order = postorder([node])
    if not any(part.op in SELECTING for part in order):
        return frozenset()
    shared = {_origin(key) for key in _keys(order)}
    if not shared:
        return frozenset()
    moving = dependents(order, independent)
    values = {_origin(part.args[0]) for part in _passed(node, order) if part.op in SELECTING and part in moving}
    return frozenset(shared & values)


def _passed(node: Node, order: Sequence[Node]) -> set[Node]:
    """Return the parts through which a derivative passes: no keys of an order, and nothing that is constant in pieces."""
    found = {node}
    for part in reversed(order):
        if part in found:
            partials = FUNCTIONS[part.op].partials if part.op in FUNCTIONS else ()
            for i, arg in enumerate(part.args):
                if not (i and part.op in FIRST) and not (partials and partials[i] is Partial.ZERO):
                    found.add(arg)
    return found


def mean_over_orders(results: Sequence[Node], origins: Collection[Node]) -> list[Node]:
    """Return the mean of results with elements of the same origins that tie in one order and in the other."""
    if not origins:
        return list(results)
    sides = [_in_order(results, origins, side) for side in (1.0, -1.0)]
    half = constant(0.5)
    return [
        first if first is second else elementwise("multiply", (half, elementwise("add", (first, second))))
        for first, second in zip(*sides, strict=True)
    ]


def without_orders(node: Node) -> Node:
    """Undo :func:`mean_over_orders`, so that a further derivative tells all orders apart together."""
    order = postorder([node])
    new: dict[Node, Node] = {}
    for part in order:
        if part.op == "arrange" and part.args[1].op in ("add", "subtract"):
            key = part.args[1]
        elif part.op == "less" and (found := _selection(part)) is not None and found[0].op in ("add", "subtract"):
            key = found[0]
        else:
            continue
        told = [arg for arg in map(peel, key.args) if _is_ranks(arg)]
        if told:
            new[key] = told[0].args[1]
    if not new:
        return node
    exchanged: dict[Node, Node] = {}
    for part in order:
        if part.op == "arrange" and part.args[1] in new:
            exchanged[part] = _again(part, exchanged, {1: new[part.args[1]]})
        elif part.op == "less" and (found := _selection(part)) is not None and found[0] in new:
            (exchanged[part],) = substitute([part], {found[0]: new[found[0]]})
        elif part.args:
            exchanged[part] = _again(part, exchanged, {})
    return exchanged.get(node, node)


def _again(node: Node, new: Mapping[Node, Node], special: Mapping[int, Node]) -> Node:
    return rebuild(node, tuple([special.get(i) or new.get(arg, arg) for i, arg in enumerate(node.args)]))


def _is_ranks(node: Node) -> bool:
    """Tell whether a node is restore(arange(n), x)."""
    return node.op == "arrange" and node.payload.reverse and not inputs_of([node.args[0]])


# ---------------------------------------------------------------------------- where shares are


def _keys(order: Sequence[Node]) -> list[Node]:
    """Return what elements are shares of: keys of orders, and what is compared with its extrema where they count."""
    keys = [part.args[1] for part in order if part.op == "arrange"]
    return keys + [found[0] for part in _counted(order) if (found := _selection(part)) is not None]


def _counted(order: Sequence[Node]) -> list[Node]:
    """Return the comparisons that decide which elements are counted, as the slopes of extrema count those that tie."""
    found: dict[Node, None] = {}
    for part in order:
        if not part.is_contraction or len(part.args) != 1:
            continue
        choice = peel(part.args[0])
        if choice.is_choice and {scalar_constant(arg) for arg in choice.args[1:]} == {0.0, 1.0}:
            found.update(dict.fromkeys(one for one in _conditions(choice.args[0]) if one.op == "less"))
    return list(found)


def _conditions(node: Node) -> list[Node]:
    found, todo = [], [node]
    while todo:
        part = todo.pop()
        if part.op in _LOGIC or (part.is_contraction and len(part.args) == 1):
            todo += part.args
        else:
            found.append(part)
    return found


def _selection(comparison: Node) -> tuple[Node, Node] | None:
    """Return x and its extremum, where they are compared; None for other comparisons."""
    for one, other in (comparison.args, comparison.args[::-1]):
        extremum = _unmoved(one)
        if extremum.op in SELECTING and extremum.op != "sort" and _unmoved(other) is _unmoved(extremum.args[0]):
            return extremum.args[0], extremum
    return None


def _unmoved(node: Node) -> Node:
    while node.op in _MOVES or (node.is_contraction and len(node.args) == 1):
        node = node.args[0]
    return node


def _origin(key: Node) -> Node:
    """Return what a key is, up to its shape and a factor."""
    while True:
        inner = _unmoved(key)
        rest = without_numbers(inner)[1] if inner.op in ("multiply", "divide", "negative") else inner
        if rest is key:
            return key
        key = rest


# ---------------------------------------------------------------------------- elements told apart


def _in_order(results: Sequence[Node], origins: Collection[Node], side: float) -> list[Node]:
    order = postorder(results)
    counted = set(_counted(order))
    new: dict[Node, Node] = {}
    for part in order:
        made = _again(part, new, {}) if part.args else part
        if part.op == "arrange" and _origin(part.args[1]) in origins:
            key = part.args[1]
            told = _told_apart(key, (part.payload.axis + key.ndim,), side)
            made = _again(part, new, {1: told})
        elif part in counted and (found := _selection(part)) is not None and _origin(found[0]) in origins:
            x, extremum = found
            axes = axes_of(extremum, x) if extremum.op in ("max", "min") else (extremum.payload.axis + x.ndim,)
            (made,) = substitute([part], {x: _told_apart(x, axes, side)})
        new[part] = made
    return [new[one] for one in results]


def _told_apart(x: Node, axes: Sequence[int], side: float) -> Node:
    """Return numbers in the order of ``x`` along axes, those of elements that tie in one order or the other."""
    gone = sorted(axes)
    if len(gone) == 1:
        return _ranks(x, gone[0], side)
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    turned = transpose(x, (*kept, *gone))
    line = reshape(turned, (*(x.shape[a] for a in kept), product(x.shape[a] for a in gone)))
    order = [*kept, *gone]
    return transpose(reshape(_ranks(line, len(kept), side), turned.shape), [order.index(a) for a in range(x.ndim)])


def _ranks(x: Node, axis: int, side: float) -> Node:
    n = x.shape[axis]
    row = reshape(places(n)[1], tuple(n if a == axis else 1 for a in range(x.ndim)))
    whole = broadcast_to(row, x.shape)
    apart = row
    towards = _along_direction(x)
    # less than a half: means of places of ties are at least 1 apart
    scale = constant(2.0 ** -math.ceil(math.log2(2 * n))) if isinstance(n, int) and n else 0.5 / extent(n)
    if towards is not None:
        apart = arrange(whole, towards, axis, True) + scale * row
    ranks = arrange(whole, x, axis, True)
    return elementwise("add" if side > 0 else "subtract", (ranks, scale * apart))


def _along_direction(x: Node) -> Node | None:
    """Return the slope of a formula along the direction in which elements are told apart; None where that is by place."""
    if _unmoved(x).is_input:
        return None
    tangents = {}
    for node in inputs_of([x]):
        if node.dtype is not REAL:
            continue
        count = product(node.shape)
        if isinstance(count, int):
            row = constant(np.sqrt(np.arange(count, dtype=float) + 2.0))
        else:
            row = elementwise("sqrt", (places(count)[1] + 2.0,))
        tangents[node] = reshape(row, node.shape)
    try:
        (slope,) = pushforward([x], tangents)
    except SymdiffError:  # by place, where a formula has no slope
        return None
    return None if slope is None else broadcast_to(slope, x.shape)
