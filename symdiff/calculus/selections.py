"""Selections among elements that tie: order statistics in what is differentiated again.

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
from zlib import crc32

import numpy as np

from ..errors import SymdiffError
from ..graph import (
    BOOL,
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
    line_along,
    places,
    postorder,
    rebuild,
    reshape,
    substitute,
    transpose,
)
from ..graph.kinds import ABSOLUTE, BRANCHING, CHOICE
from ..graph.primitives import FIRST, SELECTING
from ..graph.scalars.arithmetic import APART, peel, without_numbers
from ..graph.scalars.functions import FUNCTIONS, Partial, compare, scalar_constant, where
from ..graph.sizes import product
from ..rewrite.cancelling.kinks import paired_signs, tie_of, zero_of
from .modes import pushforward

__all__ = ["has_jumps", "mean_of_sides", "selections_that_meet", "without_sides"]


#: Operations that move elements and are looked through.
_MOVES = frozenset(("reshape", "slice", "named"))
#: Operations that join conditions.
_LOGIC = frozenset(("logical_not", "logical_and", "logical_or", "reshape", "named"))


def selections_that_meet(node: Node, independent: Collection[Node], was_mean: bool = False) -> frozenset[Node]:
    """Return what order statistics are taken of, where a formula has shares of them and their values as well.

    Parameters
    ----------
    node : Node
        What is going to be differentiated.
    independent : collection of Node
        With respect to what.
    was_mean : bool
        Whether it was a mean of both sides, in which shares met by an earlier derivative, whatever is moved now.
    """
    if not node.below & BRANCHING:
        return frozenset()
    order = postorder([node])
    shared = {_origin(key) for key in _keys(order)}
    if not shared or was_mean:
        return frozenset(shared)
    moving = dependents(order, independent)
    values = {_origin(part.args[0]) for part in _passed(node, order) if part.op in SELECTING and part in moving}
    return frozenset(shared & values)


def _passed(node: Node, order: Sequence[Node]) -> set[Node]:
    """Return the parts through which a derivative passes: no keys of an order, nothing that is constant in pieces."""
    found = {node}
    for part in reversed(order):
        if part in found:
            partials = FUNCTIONS[part.op].partials if part.op in FUNCTIONS else ()
            for i, arg in enumerate(part.args):
                if not (i and part.op in FIRST) and not (partials and partials[i] is Partial.ZERO):
                    found.add(arg)
    return found


def mean_of_sides(
    results: Sequence[Node], origins: Collection[Node], back: Mapping[Node, Node], again: bool
) -> list[Node] | None:
    """Return the mean of results on two opposite sides of their kinks; None where no kinks meet that are not the same.

    Parameters
    ----------
    results : sequence of Node
    origins : collection of Node
        What :func:`selections_that_meet` found.
    back : mapping of Node to Node
        Constants that stand for signs and shares, and these.
    again : bool
        Whether what was differentiated has kinks in it that jump, as derivatives have them.
    """
    plain = substitute(results, back) if back else list(results)
    others = again and (_kinks_that_meet(plain) or _kinks_that_meet(plain, among=True))
    if not others:
        if not origins:
            return None
        plain = paired_signs(results, back)
    sides = [_on_a_side(plain, None if others else origins, side) for side in (1.0, -1.0)]
    half = constant(0.5)
    return [
        first if first is second else elementwise("multiply", (half, elementwise("add", (first, second))))
        for first, second in zip(*sides, strict=True)
    ]


def has_jumps(node: Node) -> bool:
    """Tell whether a formula has signs or shares beside the kinks that they are slopes of."""
    if not node.below & (ABSOLUTE | CHOICE):
        return False
    return any(part.op == "sign" or (part.is_choice and tie_of(part) is not None) for part in postorder([node]))


def without_sides(node: Node) -> Node:
    """Undo :func:`mean_of_sides`, so that a further derivative is taken on each side as a whole."""
    if not node.below & (CHOICE | BRANCHING):
        return node
    new: dict[Node, Node] = {}
    order = postorder([node])
    signs = _signs_on_both_sides(order)
    for part in order:
        made = _again(part, new, {}) if part.args else part
        if made.is_choice and peel(made.args[0]).op == "less" and scalar_constant(made.args[1]) == 0.0:
            made = _with_shares(made)
        if made.op == "arrange":
            made = _again(made, {}, {1: _without_order(made.args[1])})
        elif made.op == "less" and (found := _selection(made)) is not None:
            made = _compared_with(made, found[1], _without_order(found[0]))
        elif made.is_choice and peel(made.args[2]).op == "unless_nan" and _is_told(made.args[1]):
            share = where(made.args[0], 0.5, made.args[2])
            made = made if tie_of(share) is None else share
        elif part in signs:
            made = made.args[2]
        new[part] = made
    return new[node]


def _signs_on_both_sides(order: Sequence[Node]) -> set[Node]:
    """Return signs that have two numbers at 0, those of both sides; one alone is what a formula says there."""
    found: dict[tuple[Node, Node], list[Node]] = {}
    for part in order:
        if part.is_choice and part.args[2].op == "sign" and _is_zero_of(part.args[0], part.args[2].args[0]):
            found.setdefault((part.args[0], part.args[2]), []).append(part)
    return {part for both in found.values() if len(both) > 1 for part in both}


def _is_told(share: Node) -> bool:
    """Tell whether a share is 1 or 0, or told by a slope."""
    values = map(scalar_constant, share.args[1:] if share.is_choice else [share])
    return all(value in (0.0, 1.0) for value in values)


def _with_shares(choice: Node) -> Node:
    """Return where(x < y, 0, ...) with where(x == y, 0.5, 1) in it as the share of x in maximum(x, y), which it was."""
    below, above = map(peel, peel(choice.args[0]).args)
    new: dict[Node, Node] = {}
    for part in postorder([choice.args[2]]):
        if part.is_choice and peel(part.args[0]).op == "equal" and scalar_constant(part.args[2]) == 1.0:
            if scalar_constant(part.args[1]) != 0.5 and not (part.args[1].is_choice and _is_told(part.args[1])):
                continue
            own = [peel(arg) for arg in peel(part.args[0]).args]
            zero = 0.0 in map(scalar_constant, own) and 0.0 in map(scalar_constant, (below, above))
            if {*own} == {below, above} or (zero and any(zero_of(a)[1] in own for a in (below, above))):
                whole = elementwise("unless_nan", (elementwise("maximum", (below, above)),))
                new[part] = where(part.args[0], 0.5, broadcast_to(whole, part.shape))
    if not new:
        return choice
    return where(choice.args[0], choice.args[1], *substitute([choice.args[2]], new))


def _is_zero_of(condition: Node, x: Node) -> bool:
    """Tell whether a condition is that x is 0."""
    return condition.op == "equal" and x in condition.args and 0.0 in map(scalar_constant, condition.args)


def _without_order(key: Node) -> Node:
    """Return x for the key of its order in which no elements tie."""
    if key.op in ("add", "subtract"):
        for arg in map(peel, key.args):
            if arg.op == "arrange" and arg.payload.reverse and not inputs_of([arg.args[0]]):
                return arg.args[1]
    return key


def _again(node: Node, new: Mapping[Node, Node], special: Mapping[int, Node]) -> Node:
    return rebuild(node, tuple([special.get(i) or new.get(arg, arg) for i, arg in enumerate(node.args)]))


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
        if extremum.op in SELECTING and extremum.op != "sort":
            (x,) = extremum.args
            line = x if extremum.op in ("max", "min") else line_along(x, extremum.payload.axis)
            if _is_alike(other, line):  # v[1] < max(v) and v[::-1] < max(v) compare no array with its extremum
                return x, extremum
    return None


def _is_alike(a: Node, b: Node) -> bool:
    """Tell whether two formulas are the same up to the shapes of what they are made of."""
    a, b = _in_place(a), _in_place(b)
    if a is b:
        return True
    if a.is_constant and b.is_constant:
        return a.value.size == b.value.size and bool(np.array_equal(a.value.ravel(), b.value.ravel()))
    if a.op != b.op or not a.args or len(a.args) != len(b.args):
        return False
    alike = a.payload.reverse == b.payload.reverse if a.op == "arrange" else a.op in FUNCTIONS or a.payload == b.payload
    return alike and all(_is_alike(one, other) for one, other in zip(a.args, b.args, strict=True))


def _in_place(node: Node) -> Node:
    """Look through what keeps elements in their order."""
    while True:
        keeps = node.op in ("reshape", "named")
        if node.is_contraction and len(node.args) == 1:
            (own,), out, _ = node.payload
            keeps = own == tuple(label for label in out if label in own)
        if not keeps:
            return node
        node = node.args[0]


def _compared_with(comparison: Node, extremum: Node, key: Node) -> Node:
    """Return a comparison of x with its extremum as that of a key of its order."""
    sides = []
    for side in comparison.args:
        if _unmoved(side) is extremum:
            sides += substitute([side], {extremum: rebuild(extremum, (key,))})
        else:
            line = key if extremum.op in ("max", "min") else line_along(key, extremum.payload.axis)
            sides.append(line if line.shape == side.shape else reshape(line, side.shape))
    return elementwise("less", (sides[0], sides[1]), BOOL)


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


# ---------------------------------------------------------------------------- kinks that meet


def _kinks_that_meet(results: Sequence[Node], among: bool = False) -> bool:
    """Tell whether signs, shares and orders of different formulas, which have an input in common, are multiplied.

    Or, ``among`` the elements of an array, those of elements that are multiples of one another.
    """
    order = postorder(results)
    counted = set(_counted(order))
    places: dict[object, int] = {}
    inputs: list[frozenset[Node]] = []
    below: dict[Node, int] = {}
    pairs: set[tuple[int, int]] = set()
    multiples = 0
    for part in order:
        known = [below[arg] for arg in part.args]
        found = _place_of(part, counted)
        own = 0
        if found is not None:
            what, of = found
            k = places.setdefault(what, len(places))
            if k == len(inputs):
                inputs.append(frozenset(inputs_of([of])))
                if among and (part.op == "sign" or part.is_choice):
                    from ..rewrite.cancelling.kinks import has_multiples  # not needed by most programs

                    multiples |= has_multiples(part.args[0] if part.op == "sign" else _difference(part)[1]) << k
            own = 1 << k
        if part.op == "arrange":
            known = [known[0], own]
        elif own:
            known = [own]
        if multiples and (
            (part.is_power and known[0] & multiples)
            or (part.op not in APART and any(a & b & multiples for i, a in enumerate(known) for b in known[:i]))
        ):
            return True
        if part.op not in APART and len(known) > 1 and not among:
            pairs.update((a, b) for i, a in enumerate(known) for b in known[:i] if a and b and (a | b) & ((a | b) - 1))
        below[part] = own
        for bits in known:
            below[part] |= bits
    return any(
        not inputs[i].isdisjoint(inputs[j])
        for a, b in pairs
        for i in range(len(inputs))
        for j in range(len(inputs))
        if i != j and a >> i & 1 and b >> j & 1
    )


def _place_of(part: Node, counted: Collection[Node]) -> tuple[object, Node] | None:
    """Return what vanishes where a sign, a share or an order jumps, and a formula of the same inputs."""
    if part.op == "sign":
        return zero_of(part.args[0])[1], part.args[0]
    if part.op == "arrange":
        return _origin(part.args[1]), part.args[1]
    if part in counted:
        found = _selection(part)
        return None if found is None else (_origin(found[0]), found[0])
    tie = tie_of(part) if part.is_choice else None
    return None if tie is None else (tie, part.args[0])  # both shares of a tie jump, and not alike


# ---------------------------------------------------------------------------- one side of all kinks


def _on_a_side(results: Sequence[Node], origins: Collection[Node] | None, side: float) -> list[Node]:
    """Return results on one side of kinks, all of them or the orders of some origins alone."""
    order = postorder(results)
    counted = set(_counted(order))
    new: dict[Node, Node] = {}
    for part in order:
        made = _again(part, new, {}) if part.args else part
        if part.op == "arrange":
            key = part.args[1]
            if origins is None or _origin(key) in origins:
                made = _again(part, new, {1: _told_apart(key, (part.payload.axis + key.ndim,), side)})
        elif part in counted:
            found = _selection(part)
            if found is not None and (origins is None or _origin(found[0]) in origins):
                x, extremum = found
                axes = axes_of(extremum, x) if extremum.op in ("max", "min") else (extremum.payload.axis + x.ndim,)
                made = _compared_with(part, extremum, _told_apart(x, axes, side))
        elif origins is None and part.op == "sign":
            made = _sign(part, side)
        elif origins is None and part.is_choice and tie_of(part) is not None:
            made = _share(part, side)
        new[part] = made
    return [new[one] for one in results]


def _sign(sign: Node, side: float) -> Node:
    """Return a sign on one side of its zeros, told by the slope there."""
    (x,) = sign.args
    turned, base = zero_of(x)
    if base.shape != x.shape:
        turned, base = 1.0, x
    there = _sign_there(base, side)
    return where(compare("equal", x, 0.0), there if turned > 0 else elementwise("negative", (there,)), sign)


def _sign_there(x: Node, side: float) -> Node:
    """Return the sign of a formula beside one of its zeros, to one side."""
    slope = _along_direction(x, side)
    if slope is None:
        return constant(side)
    return where(compare("equal", slope, 0.0), side, elementwise("sign", (slope,)))


def _difference(share: Node) -> tuple[float, Node]:
    """Return the side of a tie on which a share is 1, and the difference that has it."""
    tie = tie_of(share)
    assert tie is not None
    times_of = dict(tie.difference)
    order = [node for node in postorder([share]) if node in times_of]
    ways = [times_of[node] for node in order] + ([times_of[None]] if None in times_of else [])
    turned = math.copysign(1.0, ways[0])  # alike for both shares of a tie
    total: Node | None = None
    for node, times in zip([*order, None], [*ways, 0.0], strict=False):
        term = constant(turned * times) if node is None else elementwise("multiply", (constant(turned * times), node))
        term = broadcast_to(term, share.shape) if term.shape != share.shape else term
        total = term if total is None else elementwise("add", (total, term))
    assert total is not None
    return turned * tie.side, total


def _share(share: Node, side: float) -> Node:
    """Return a share of maximum or minimum on one side of a tie: 1 or 0, by the slope of the difference there."""
    own, total = _difference(share)
    above = compare("less", 0.0, elementwise("multiply", (constant(own), _sign_there(total, side))))
    return where(share.args[0], where(above, 1.0, 0.0), share.args[2])


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
    # less than a half: means of places of ties are at least 1 apart
    scale = constant(2.0 ** -math.ceil(math.log2(2 * n))) if isinstance(n, int) and n else 0.5 / extent(n)
    apart = scale * row
    towards = None if _is_in_order(x) else _along_direction(x, side)
    ranks = arrange(whole, x, axis, True)
    if towards is None:
        return elementwise("add" if side > 0 else "subtract", (ranks, apart))
    told = elementwise("add" if side > 0 else "subtract", (arrange(whole, towards, axis, True), apart))
    return ranks + scale * told


def _is_in_order(x: Node) -> bool:
    """Tell whether elements are those of an input, in its order."""
    while x.op in _MOVES and (not x.is_slice or all(step > 0 for _, step, _ in x.payload.items)):
        x = x.args[0]
    return x.is_input


def _along_direction(x: Node, side: float) -> Node | None:
    """Return the slope of a formula towards one side, on that side of its own kinks; None where it has none."""
    tangents = {}
    inputs = [node for node in inputs_of([x]) if node.dtype is REAL]
    for node in inputs:
        count = product(node.shape)
        # each input at a pace of its own, so that x - y has a slope; that of one alone counts for nothing
        pace = side * (1.0 + crc32(repr(node.name).encode()) / 2.0**32 if len(inputs) > 1 else 1.0)
        if isinstance(count, int):
            row = constant(pace * np.sqrt(np.arange(count, dtype=float) + 2.0))
        else:
            row = pace * elementwise("sqrt", (places(count)[1] + 2.0,))
        tangents[node] = reshape(row, node.shape)
    try:
        (slope,) = pushforward([x], tangents)
    except SymdiffError:  # what has no slope is told apart by its place
        return None
    if slope is None:
        return None
    (found,) = _on_a_side([broadcast_to(slope, x.shape)], None, side)
    return found
