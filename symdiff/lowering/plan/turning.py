"""Loops that carry cotangents back, turned around: the loop before carries tangents along instead.

The way back through a series reads what the way before wrote: two loops, one after the other. What it carries is
linear, λ_t = A_t λ_(t+1) + c_t, and what is asked of it is a sum of b_t λ_(t+1), or the last λ. That is Σ c_t T_t as
well, with T_(t+1) = A_t' T_t + b_t, which runs the same way as the loop before and is a part of it: its numbers are
computed while each step waits for the one before, and the sum is over whole vectors. So one sample with a few numbers
asked for takes half the time. Samples of a batch fill vectors, and stay as they are: they would compute more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from ...calculus.lifted import added_to, join
from ...calculus.linearity import linear_places
from ...calculus.modes import pushforward
from ...graph import (
    Node,
    canonical,
    constant,
    dependents,
    inputs_of,
    joined_results,
    parts_of,
    placeholder,
    postorder,
    recurrence,
    result_of,
    results_of,
    substitute,
    zeros,
)
from ...graph.kinds import REPEATED
from ...graph.primitives import Body
from ...rewrite import simplify
from .distribution import of_all

__all__ = ["turn_around"]

#: Numbers that are carried in place of cotangents, at most.
NUMBERS = 8
#: Operations that leave out a part of an array, or put zeros beside it: a tangent need not be finite where a cotangent
#: is zero.
_PARTS = frozenset({"pad", "where", "scatter", "put", "concatenate", "triangle"})


def turn_around(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with loops that carry cotangents of numbers back as parts of the loops before them.

    Examples
    --------
    >>> import symdiff as sd
    >>> from symdiff.calculus.passes import settle
    >>> y, a, b = sd.vector("y", 100), sd.scalar("a"), sd.scalar("b")
    >>> _, e = sd.scan(lambda s, x: (x - b - a * s,) * 2, 0.0, y)
    >>> roots = settle([slope.node for slope in sd.gradient((e**2).sum(), [a, b])], [])
    >>> [sum(node.is_recurrence for node in postorder(some)) for some in (roots, turn_around(roots))]
    [2, 1]
    """
    current = list(roots)
    while any(root.below & REPEATED for root in current):
        made = next(_turned(current), None)
        if made is None:
            break
        current = simplify(substitute(current, made))
    return current


def _turned(roots: Sequence[Node]) -> Iterator[dict[Node, Node]]:
    """Give what stands in the place of a loop and of the one before it, for each loop that may be turned around."""
    order = postorder(roots)
    loops = [node for node in order if node.is_recurrence]
    for back in loops:
        asked = _asked(order, roots, back)
        way = _way_of(back, asked) if asked else None
        if way is None:
            continue
        steps = back.payload.length, not back.payload.reverse
        for front in loops[: loops.index(back)]:
            made = _joined(order, front, back, way) if front.payload[1:] == steps else None
            if made is not None:
                yield made


def _asked(order: Sequence[Node], roots: Sequence[Node], loop: Node) -> list[Node]:
    """Return what is carried and whose last values are asked for; none where something else is."""
    parts = parts_of(loop)[: len(loop.payload.body.carried)]
    places = [(part.start, 1, part.size) for part in parts]
    users = [node for node in order if loop in node.args]
    if loop in roots or any(not x.is_slice or x.payload.items[0] not in places for x in users):
        return []
    found = {places.index(x.payload.items[0]) for x in users}
    return [x for k, x in enumerate(loop.payload.body.carried) if k in found]


class _Way(NamedTuple):
    """A loop whose results are turned around.

    Parameters
    ----------
    tangents : list of (Node, Node, Node)
        What is carried for each result that is asked for and each cotangent, what the first step gets of it, and what
        a step makes of it.
    asked : list of Node
        The results, as what the loop carries.
    totals : list of Node
        What each step adds to each of them, made of its rows and the tangents that it gets.
    ends : list of Node
        What is added to each at last, made of the starts of cotangents and the last tangents.
    """

    tangents: list[tuple[Node, Node, Node]]
    asked: list[Node]
    totals: list[Node]
    ends: list[Node]


def _way_of(back: Node, asked: Sequence[Node]) -> _Way | None:
    """Return the other way through a loop, None where it is not linear in few numbers."""
    body: Body = back.payload.body
    after = dict(zip(body.carried, body.results, strict=False))
    adds = {x: rest for x in after if (rest := added_to(x, after[x])) and _is_alone(x, after)}
    states = [x for x in after if x not in adds]
    sums = [x for x in asked if x in adds]
    sizes = [x.size if isinstance(x.size, int) else NUMBERS + 1 for x in asked]
    if not states or any(x.shape for x in states) or sum(sizes) * len(states) > NUMBERS:
        return None
    if len(after) < len(body.results) or any(one.shape != x.shape for x in sums for _, one in adds[x]):
        return None
    added = [[one if scale == 1.0 else one * scale for scale, one in adds[x]] for x in sums]
    formulas = [*(after[x] for x in states), *(reduce(add, terms) for terms in added)]
    order = postorder(formulas)
    live = dependents(order, states) & set(order)
    if any(node.args and linear_places(node, live) is None for node in live):
        return None
    columns = [pushforward(formulas, {x: constant(1.0)}) for x in states]
    rows = zip(formulas, zip(*columns, strict=True), strict=True)
    slopes = [[zeros(f.shape) if slope is None else slope for slope in row] for f, row in rows]
    without = substitute(formulas, {x: constant(0.0) for x in states})
    if not set(inputs_of([*without, *(slope for row in slopes for slope in row)])).isdisjoint(body.carried):
        return None
    start = dict(zip(body.carried, back.args, strict=False))
    way = _Way([], [], [], [])
    for i, x in enumerate(asked):
        own = [placeholder(("turned", i, j), x.shape) for j in range(len(states))]
        made = [reduce(add, [slopes[k][j] * t for k, t in enumerate(own)]) for j in range(len(states))]
        total = reduce(add, [one * t for one, t in zip(without, own, strict=False)])
        end = reduce(add, [start[y] * t for y, t in zip(states, own, strict=True)])
        if x in adds:
            k = len(states) + sums.index(x)
            made = [one + slope for one, slope in zip(made, slopes[k], strict=True)]
            total, end = total + without[k], end + start[x]
        starts = [zeros(x.shape) if x in adds else constant(1.0 if x is y else 0.0) for y in states]
        way.tangents.extend(zip(own, starts, made, strict=True))
        way.asked.append(x)
        way.totals.append(total)
        way.ends.append(end)
    return way


def _is_alone(x: Node, after: dict[Node, Node]) -> bool:
    """Tell whether a step reads a carried number to add to it, and for nothing else."""
    others = [other for own, other in after.items() if own is not x]
    return x not in inputs_of([*others, *(one for _, one in added_to(x, after[x]))])


def _joined(order: Sequence[Node], front: Node, back: Node, way: _Way) -> dict[Node, Node] | None:
    """Return what stands in the place of two loops, None where the one that is turned needs more of the other."""
    body, length, reverse = back.payload
    tangents, starts, made = zip(*way.tangents, strict=True)
    results = simplify([*made, *way.totals])
    after, totals = results[: len(tangents)], results[len(tangents) :]
    given = dict(zip((*body.read, *body.held), back.args[len(body.carried) :], strict=True))
    late = dependents(order, [front])
    if back not in late or any(arg in late and _has_parts(arg, late) for arg in given.values()):
        return None
    found = set(inputs_of(after))
    read, held = [x for x in body.read if x in found], [x for x in body.held if x in found]
    written = results_of(front)[len(front.payload.body.carried) :]
    if any(given[x] in late and given[x] not in written for x in read) or any(given[x] in late for x in held):
        return None
    own = canonical(Body(tangents, tuple(read), tuple(held), (*after, *tangents)))
    loop = recurrence(own, [*starts, *(given[x] for x in (*read, *held))], length, not reverse)
    both = join(front, loop)
    if both is None:
        return None
    values = [result_of(both[1], part) for part in parts_of(loop)]
    last, rows = values[: len(tangents)], values[len(tangents) :]
    there = dict(zip(given, substitute([*given.values()], {front: both[0]}), strict=True))
    there |= zip(tangents, rows, strict=True)
    sums = of_all(totals, there, [*body.read, *tangents], length, total=True)
    ends = substitute(way.ends, {front: both[0], **dict(zip(tangents, last, strict=True))})
    values_of = {x: total + end for x, total, end in zip(way.asked, sums, ends, strict=True)}
    pieces = [values_of[x] if x in values_of else zeros(x.shape) for x in body.carried]
    return {front: both[0], back: joined_results(back, pieces)}


def _has_parts(arg: Node, late: Collection[Node]) -> bool:
    """Tell whether rows that are made of those of the loop before are zero by construction somewhere, or left out."""
    return any(node in late and node.op in _PARTS for node in postorder([arg]))
