"""Derivatives of recurrences: a tangent runs along with what is carried, a cotangent runs back.

Both are recurrences again, so they have derivatives of every order. For c' = f(c, x, p) the tangent is carried by
dc' = f_c dc + f_x dx + f_p dp. The cotangent is carried from the last step to the first by λ = f_cᵀ λ' + yᵀ, where x
gets f_xᵀ λ' in each step and p the sum of f_pᵀ λ' over all (Griewank and Walther, Evaluating Derivatives, 2008, 3.2).

What a step back reads of the states c is kept by a run before; where it reads none, as in sums, there is no such run.
Where these are many, the steps are made in segments of √n, loops in a loop: that keeps one state a segment, and the
states of a segment are made again when it is gone through backwards, so 2√n of them are there at once (Griewank 1992).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import isqrt
from typing import NamedTuple

from ...graph import (
    Node,
    canonical,
    concatenate,
    constant,
    dependents,
    inputs_of,
    parts_of,
    placeholder,
    postorder,
    recurrence,
    reshape,
    result_of,
    slicing,
    step_number,
    substitute,
    transpose,
    whole,
    zeros,
)
from ...graph.deltas.einsum import is_zero
from ...graph.deltas.structural import take_items
from ...graph.primitives import Body
from ...graph.sizes import Dim, Shape
from ...simplify import simplify
from ..linear import Law
from ..modes import pullback, pushforward
from ..rules import DIFFERENTIALS, LAWS, TRANSPOSED

__all__ = ["register"]

#: Numbers of which states are kept for each step, at most, where their count is known; beyond, for each segment.
KEPT = 1 << 20
#: Steps that are not cut into segments.
LEAST = 3


class _Input(NamedTuple):
    """An input of a body, what it is in the first step or in all, and what a step carries on in its place."""

    own: Node
    given: Node
    result: Node | None = None


def _run(
    carried: Sequence[_Input],
    read: Sequence[_Input],
    held: Sequence[_Input],
    written: Sequence[Node],
    length: Dim,
    reverse: bool,
    wanted: Iterable[Node] = (),
) -> tuple[dict[Node, Node], list[Node]]:
    """Make a recurrence of what is needed; return what is carried last, by its input, and what the steps wrote.

    ``wanted`` are the carried inputs whose last values are asked for.
    """
    results = [one.result for one in carried]
    assert all(result is not None for result in results)
    simple = simplify([*(result for result in results if result is not None), *written])
    after = dict(zip((one.own for one in carried), simple, strict=False))
    written = simple[len(carried) :]
    needed = set(wanted)
    while True:
        found = set(inputs_of([*written, *(after[own] for own in after if own in needed)]))
        if found & after.keys() <= needed:
            break
        needed |= found & after.keys()
    carried = [one for one in carried if one.own in needed]
    read = [one for one in read if one.own in found]
    held = [one for one in held if one.own in found]
    body = Body(
        tuple(one.own for one in carried),
        tuple(one.own for one in read),
        tuple(one.own for one in held),
        (*(after[one.own] for one in carried), *written),
    )
    node = recurrence(canonical(body), [one.given for one in (*carried, *read, *held)], length, reverse)
    values = [result_of(node, part) for part in parts_of(node)]
    last = dict(zip((one.own for one in carried), values, strict=False))
    return last, values[len(carried) :]


def _to_rows(x: Node, prefix: int) -> Node:
    """Move the axis of rows behind a prefix to the front."""
    return transpose(x, (prefix, *range(prefix), *range(prefix + 1, x.ndim))) if prefix else x


def _from_rows(x: Node, prefix: int) -> Node:
    return transpose(x, (*range(1, prefix + 1), 0, *range(prefix + 1, x.ndim))) if prefix else x


def _inputs(node: Node) -> tuple[list[_Input], list[_Input], list[_Input]]:
    body = node.payload.body
    first, second = len(body.carried), len(body.carried) + len(body.read)
    pairs = [_Input(own, arg) for own, arg in zip((*body.carried, *body.read, *body.held), node.args, strict=True)]
    carried = [one._replace(result=result) for one, result in zip(pairs[:first], body.results, strict=False)]
    return carried, pairs[first:second], pairs[second:]


# ---------------------------------------------------------------------------- forward


def _differential(node: Node, tangents: Sequence[Node | None]) -> Node:
    """Carry tangents along."""
    body, length, reverse = node.payload
    known = [(arg, t) for arg, t in zip(node.args, tangents, strict=True) if t is not None]
    seed: Shape = known[0][1].shape[: known[0][1].ndim - known[0][0].ndim]
    prefix, first = len(seed), len(body.carried)
    own = (*body.carried, *body.read, *body.held)
    ways = {x: placeholder(("tangent", x.name.key), (*seed, *x.shape)) for x in own}
    moving = {x: t for x, t in zip(own, tangents, strict=True) if t is not None}
    while True:
        images = _images(pushforward(body.results, {x: ways[x] for x in moving}, prefix))
        late = [x for x, image in zip(body.carried, images, strict=False) if image is not None and x not in moving]
        if not late:
            break
        moving |= {x: zeros((*seed, *x.shape)) for x in late}
    carried, read, held = _inputs(node)
    for k, x in enumerate(body.carried):
        if x in moving:
            image = images[k]
            carried.append(_Input(ways[x], moving[x], zeros(ways[x].shape) if image is None else image))
    read += [_Input(ways[x], _to_rows(moving[x], prefix)) for x in body.read if x in moving]
    held += [_Input(ways[x], moving[x]) for x in body.held if x in moving]
    written = {k: image for k, image in enumerate(images) if k >= first and image is not None}
    asked = [ways[x] for x in body.carried if x in moving]
    last, rows = _run(carried, read, held, list(written.values()), length, reverse, asked)
    made = dict(zip(written, rows, strict=True))
    flat = []
    for k, part in enumerate(parts_of(node)):
        value = last.get(ways[body.carried[k]]) if k < first else made.get(k)
        if k >= first and value is not None:
            value = _from_rows(value, prefix)
        shape = (*seed, part.size)
        flat.append(zeros(shape) if value is None else reshape(value, shape))
    return concatenate(flat, prefix) if len(flat) > 1 else flat[0]


def _images(slopes: Sequence[Node | None]) -> list[Node | None]:
    return [None if slope is None or is_zero(slope) else slope for slope in slopes]


# ---------------------------------------------------------------------------- reverse


def _transposed(node: Node, cotangent: Node, active: Sequence[bool], prefix: int) -> list[Node | None]:
    """Carry a cotangent back; return those of the arguments that are ``active``, None where it reaches none."""
    body = node.payload.body
    own = (*body.carried, *body.read, *body.held)
    first, seed = len(body.carried), cotangent.shape[:prefix]
    order = postorder(body.results)
    moving = {x for x, has in zip(own, active, strict=True) if has}
    while True:
        reached = dependents(order, moving)
        late = {x for x, result in zip(body.carried, body.results, strict=False) if result in reached} - moving
        if not late:
            break
        moving |= late
    given = _given(node, cotangent, seed)
    seeds: list[Node | None] = []  # of each result, as a placeholder
    for k, result in enumerate(body.results):
        usable = result in reached and (k < first or given[k] is not None)
        seeds.append(placeholder(("cotangent", k), (*seed, *result.shape)) if usable else None)
    live = {k for k in range(first) if given[k] is not None and seeds[k] is not None}
    wrt = [x for x in own if x in moving]
    while True:
        roots: dict[Node, Node] = {}
        for k, result in enumerate(body.results):
            way = seeds[k]
            if way is not None and (k >= first or k in live):
                roots[result] = roots[result] + way if result in roots else way
        pulled = dict(zip(wrt, _images(pullback(roots, wrt, prefix)), strict=True)) if roots else {}
        more = {k for k in range(first) if seeds[k] is not None and pulled.get(body.carried[k]) is not None} - live
        if not more:
            break
        live |= more
    return _back(node, cotangent, given, seeds, live, pulled, seed, active)


def _given(node: Node, cotangent: Node, seed: Shape) -> list[Node | None]:
    """Return the cotangent of each result, None where it is zero by its form."""
    parts = parts_of(node)
    places = [(part.start, 1, part.size) for part in parts]
    front = tuple(map(whole, seed))
    shares: list[list[Node]] = [[] for _ in parts]
    rest: list[Node] = []
    addends = [cotangent]
    while addends:  # each result that is used adds zeros with its own cotangent among them
        one = addends.pop()
        if one.op == "add" and all(arg.shape == one.shape for arg in one.args):
            addends += one.args
        elif one.op == "pad" and one.payload.items[:-1] == front and one.payload.items[-1] in places:
            shares[places.index(one.payload.items[-1])].append(one.args[0])
        else:
            rest.append(one)
    for own, place in zip(shares, places, strict=True):
        own += [take_items(one, (*front, place)) for one in rest]
    sums = [reduce(_sum, own) if own else zeros((*seed, part.size)) for own, part in zip(shares, parts, strict=True)]
    return [
        None if is_zero(piece) else reshape(piece, (*seed, *part.shape))
        for piece, part in zip(simplify(sums), parts, strict=True)
    ]


def _sum(a: Node, b: Node) -> Node:
    return a + b


def _back(
    node: Node,
    cotangent: Node,
    given: Sequence[Node | None],
    seeds: Sequence[Node | None],
    live: set[int],
    pulled: dict[Node, Node | None],
    seed: Shape,
    active: Sequence[bool],
) -> list[Node | None]:
    """Make the recurrence that runs back, and the run before that keeps the states it reads."""
    body, length, reverse = node.payload
    prefix, first = len(seed), len(body.carried)
    own = (*body.carried, *body.read, *body.held)
    carried_along, read, held = _inputs(node)
    carried: list[_Input] = []
    for k in sorted(live):
        way, start, image = seeds[k], given[k], pulled.get(body.carried[k])
        assert way is not None
        nothing = zeros(way.shape)
        carried.append(_Input(way, nothing if start is None else start, nothing if image is None else image))
    back = list(read)
    for k in range(first, len(body.results)):
        way, rows = seeds[k], given[k]
        if way is not None and rows is not None:
            back.append(_Input(way, _to_rows(rows, prefix)))
    is_active = dict(zip(own, active, strict=True))
    sums: dict[Node, Node] = {}
    for x in body.held:
        image = pulled.get(x)
        if is_active[x] and image is not None:
            sums[x] = placeholder(("sum", x.name.key), image.shape)
            carried.append(_Input(sums[x], zeros(image.shape), sums[x] + image))
    written = {x: image for x in body.read if is_active[x] and (image := pulled.get(x)) is not None}
    results = simplify([one.result for one in carried if one.result is not None])
    carried = [one._replace(result=result) for one, result in zip(carried, results, strict=True)]
    written = dict(zip(written, simplify(list(written.values())), strict=True))
    seen = set(inputs_of([*results, *written.values()]))
    states = [x for x in body.carried if x in seen]
    if isinstance(length, int) and length > LEAST and _is_much(states, length):
        return _checkpointed(node, cotangent, active, prefix)
    if states:
        _, kept = _run(carried_along, read, held, states, length, reverse)
        back += [_Input(x, rows) for x, rows in zip(states, kept, strict=True)]
    asked = [one.own for one in carried]
    last, outputs = _run(carried, back, held, list(written.values()), length, not reverse, asked)
    made = dict(zip(written, outputs, strict=True))
    found: list[Node | None] = []
    for k, x in enumerate(own):
        if not is_active[x]:
            found.append(None)
        elif k < first:
            way = seeds[k]
            found.append(None if way is None else last.get(way))
        elif x in made:
            found.append(_from_rows(made[x], prefix))
        else:
            found.append(last.get(sums[x]) if x in sums else None)
    return found


# ---------------------------------------------------------------------------- segments


def _is_much(states: Sequence[Node], length: int) -> bool:
    sizes = [x.size for x in states]
    return length * sum(size for size in sizes if isinstance(size, int)) > KEPT


def _checkpointed(node: Node, cotangent: Node, active: Sequence[bool], prefix: int) -> list[Node | None]:
    """Carry a cotangent back through a loop in segments."""
    stand_in = [placeholder(("argument", k), arg.shape, arg.dtype) for k, arg in enumerate(node.args)]
    value = _in_segments(node, stand_in)
    wrt = [own for own, has in zip(stand_in, active, strict=True) if has]
    pulled = iter(pullback({value: cotangent}, wrt, prefix))
    found = [next(pulled) if has else None for has in active]
    there = substitute([image for image in found if image is not None], dict(zip(stand_in, node.args, strict=True)))
    made = iter(there)
    return [None if image is None else next(made) for image in found]


def _in_segments(node: Node, args: Sequence[Node]) -> Node:
    """Return the value of a loop of n steps, a number, as that of a loop over loops of √n, and a loop of the rest."""
    body, length, reverse = node.payload
    first, second = len(body.carried), len(body.carried) + len(body.read)
    each = isqrt(length)
    count, rest = divmod(length, each)
    # the rest comes last, be it of the first rows or of the last
    begin, late = (rest, 0) if reverse else (0, count * each)
    shifted = _shifted(body)
    carried, rows, held = list(args[:first]), args[first:second], list(args[second:])
    blocks = [reshape(_rows(x, begin, count * each), (count, each, *x.shape[1:])) for x in rows]
    own = [placeholder(("segment", k), x.shape) for k, x in enumerate((*carried, *held))]
    own_rows = [placeholder(("block", k), (each, *x.shape[1:])) for k, x in enumerate(rows)]
    start = step_number() * float(each) + float(begin)
    inner = recurrence(shifted, [*own[:first], *own_rows, *own[first:], start], each, reverse)
    results = [result_of(inner, part) for part in parts_of(inner)]
    outer = Body(tuple(own[:first]), tuple(own_rows), tuple(own[first:]), tuple(results))
    segments = recurrence(canonical(outer), [*carried, *blocks, *held], count, reverse)
    values = [result_of(segments, part) for part in parts_of(segments)]
    written = [reshape(value, (count * each, *value.shape[2:])) for value in values[first:]]
    last = values[:first]
    if rest:
        ends = [_rows(x, late, rest) for x in rows]
        tail = recurrence(shifted, [*last, *ends, *held, constant(float(late))], rest, reverse)
        values = [result_of(tail, part) for part in parts_of(tail)]
        last = values[:first]
        pairs = zip(written, values[first:], strict=True)
        written = [concatenate([b, a] if reverse else [a, b], 0) for a, b in pairs]
    flat = [reshape(value, (part.size,)) for value, part in zip((*last, *written), parts_of(node), strict=True)]
    return concatenate(flat, 0) if len(flat) > 1 else flat[0]


def _rows(x: Node, start: int, count: int) -> Node:
    return slicing(x, ((start, 1, count), *map(whole, x.shape[1:])))


def _shifted(body: Body) -> Body:
    """Return a body whose rows are counted from a number on that it holds."""
    start = placeholder(("start",), ())
    results = substitute(body.results, {step_number(): step_number() + start})
    return canonical(Body(body.carried, body.read, (*body.held, start), tuple(results)))


def register() -> None:
    """Add the rules to the tables; they need the differentiator, which itself reads the tables."""
    DIFFERENTIALS["recurrence"] = _differential
    LAWS["recurrence"] = Law(
        "differential of a recurrence",
        "a tangent is carried along",
        "Griewank and Walther, Evaluating Derivatives (2008), 3.2",
    )
    TRANSPOSED["recurrence"] = _transposed
