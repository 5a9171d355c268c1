"""Derivatives of recurrences: a tangent runs along with what is carried, a cotangent runs back.

Both are recurrences again, so they have derivatives of every order. For c' = f(c, x, p) the tangent is carried by
dc' = f_c dc + f_x dx + f_p dp. The cotangent is carried from the last step to the first by λ = f_cᵀ λ' + yᵀ, where x
gets f_xᵀ λ' in each step and p the sum of f_pᵀ λ' over all (Griewank and Walther, Evaluating Derivatives, 2008, 3.2).

What a step back reads of the states c is kept by a run before; where it reads none, as in sums, there is no such run.
Where these are many, it goes back in segments of √n steps, loops in a loop: that keeps one state a segment, and the
states of a segment are made again when it is gone through backwards, so 2√n of them are there at once (Griewank
1992).

A tangent or cotangent that counts in some steps only, or for some elements, has its mask beside it: as numbers, 1
where it counts, which are carried along or back as it is. So a step that a branch leaves out is not observed.

A loop's value is one vector of all its results, and so is the mask of its cotangent. What is of one result is read
off its form, so that a result that counts everywhere, or as one in each step, is known as such and costs as little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import isqrt
from typing import NamedTuple

from ..graph import (
    Item,
    Node,
    broadcast_to,
    canonical,
    concatenate,
    constant,
    dependents,
    elementwise,
    inputs_of,
    joined_results,
    parts_of,
    placeholder,
    postorder,
    recurrence,
    reshape,
    results_of,
    slicing,
    step_number,
    substitute,
    transpose,
    whole,
    zeros,
)
from ..graph.deltas.einsum import is_zero
from ..graph.deltas.structural import take_items
from ..graph.primitives import Body
from ..graph.scalars.functions import compare, scalar_constant, to_real
from ..graph.sizes import Dim, Shape
from ..rewrite import simplify
from .linear import Law
from .masking import Masked, add, any_along, both, either
from .modes import PUSHED, TRANSPOSED, pull, push
from .rules import DIFFERENTIALS, LAWS
from .strong_zeros import Walk, unbounded_below

__all__ = ["Marks", "as_mask", "as_numbers", "checkpointed", "counted", "marks_of", "register"]


class Marks(NamedTuple):
    """Mask of each result of a loop: None everywhere, else numbers, of each step if the result is of steps.

    ``whole`` tells that they are one number a step, for all elements.
    """

    numbers: list[Node | None]
    whole: bool

    def shape(self, shape: Shape) -> Shape:
        """Return the shape of a step's mark."""
        return () if self.whole else shape

    def counted(self, image: Masked | None, shape: Shape) -> Node:
        """Return where a step's image counts."""
        mask = None if image is None else image.mask
        if image is not None and mask is not None and self.whole:
            image = Masked(image.value, reshape(any_along(mask, range(mask.ndim)), ()), image.settled)
        return counted(image, self.shape(shape))


def as_mask(mark: Node, rows: int = 0) -> Node:
    """Return numbers as the mask that they stand for: of a whole step, behind axes of rows, and of elements."""
    mask = compare("not_equal", mark, 0.0)
    whole_step = both(any_along(mask, range(rows, mask.ndim)), mask)
    assert whole_step is not None
    return whole_step


def as_numbers(mask: Node | None, shape: Shape) -> Node:
    """Return a mask as numbers, of the shape of what it is of."""
    return broadcast_to(constant(1.0) if mask is None else to_real(mask), shape)


def counted(image: Masked | None, shape: Shape) -> Node:
    """Return where an image counts, as numbers."""
    return zeros(shape) if image is None else as_numbers(image.mask, shape)


def marks_of(node: Node, mask: Node | None, used: Sequence[bool]) -> Marks | None:
    """Return where the results that are ``used`` count in a mask of a loop's value, None where all do everywhere."""
    if mask is None:
        return None
    first = len(node.payload.body.carried)
    line = as_numbers(mask, node.shape)
    places: list[Item] = [(part.start, 1, part.size) for part in parts_of(node)]
    own = [
        _read(_share(line, place, places), part.shape) if has else zeros(part.shape)
        for place, part, has in zip(places, parts_of(node), used, strict=True)
    ]
    own = simplify(own)
    if all(scalar_constant(mark) == 1.0 for mark, has in zip(own, used, strict=True) if has):
        return None
    alike = all(_is_alike(mark, 0 if k < first else 1) for k, mark in enumerate(own))
    if alike:
        own = [_first(mark, min(mark.ndim, 0 if k < first else 1)) for k, mark in enumerate(own)]
    return Marks([None if scalar_constant(mark) == 1.0 else mark for mark in own], alike)


#: Operations that masks, and masks as numbers, are made of, element by element.
_CONDITIONS = ("to_real", "not_equal", "less", "less_equal", "equal", "logical_and", "logical_or", "logical_not")


def _of_condition(x: Node, take: Callable[[Node], Node]) -> Node | None:
    """Return the part of a condition, or of it as numbers, that ``take`` takes of arrays of its shape."""
    if x.op not in _CONDITIONS:
        return None
    return elementwise(x.op, tuple(take(arg) if arg.shape == x.shape else arg for arg in x.args), x.dtype)


def _share(x: Node, place: Item, places: Sequence[Item]) -> Node:
    """Return what stands at one of several places in a vector."""
    part = _of_condition(x, lambda arg: _share(arg, place, places))
    if part is not None:
        return part
    if x.is_pad and x.payload.items[0] in places:
        return x.args[0] if x.payload.items[0] == place else zeros(slicing(x, (place,)).shape)
    return slicing(x, (place,))


def _read(x: Node, shape: Shape) -> Node:
    """Return a vector's elements as an array of a shape."""
    part = _of_condition(x, lambda arg: _read(arg, shape))
    return part if part is not None else reshape(x.args[0] if x.is_reshape else x, shape)


def _is_alike(x: Node, lead: int) -> bool:
    """Tell whether an array is known to be one number behind its first axes."""
    if x.ndim <= lead or all(size == 1 for size in x.shape[lead:]):
        return True
    if x.is_contraction and len(x.args) == 1:
        _, out, repeated = x.payload
        new = {label for label, _ in repeated}
        return all(label in new for label in out[lead:])
    return bool(x.args) and x.op in _CONDITIONS and all(_is_alike(arg, lead) for arg in x.args if arg.ndim)


def _first(x: Node, lead: int) -> Node:
    """Return the first number behind some axes."""
    (one,) = simplify([slicing(x, (*map(whole, x.shape[:lead]), *[(0, 1, None)] * (x.ndim - lead)))])
    return one


def checkpointed(node: Node, slope: Masked, active: Sequence[bool], prefix: int, walk: Walk) -> list[Masked | None]:
    """Carry a cotangent back through a loop in segments."""
    stand_in = [placeholder(("argument", k), arg.shape, arg.dtype) for k, arg in enumerate(node.args)]
    value = _in_segments(node, stand_in)
    wrt = [own for own, has in zip(stand_in, active, strict=True) if has]
    wild = {own for own, arg in zip(stand_in, node.args, strict=True) if walk.is_wild(arg)}
    pulled = iter(pull({value: slope}, wrt, prefix, Walk((), wild, set(), None, walk.data)))
    found = [next(pulled) if has else None for has in active]
    there = dict(zip(stand_in, node.args, strict=True))
    return [None if one is None else _placed(one, there) for one in found]


def _placed(slope: Masked, there: dict[Node, Node]) -> Masked:
    """Put arguments in the place of what stands for them."""
    if slope.mask is None:
        return Masked(substitute([slope.value], there)[0], slope.mask, slope.settled)
    value, mask = substitute([slope.value, slope.mask], there)
    return Masked(value, mask, slope.settled)


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
    results = results_of(inner)
    outer = Body(tuple(own[:first]), tuple(own_rows), tuple(own[first:]), tuple(results))
    segments = recurrence(canonical(outer), [*carried, *blocks, *held], count, reverse)
    values = results_of(segments)
    written = [reshape(value, (count * each, *value.shape[2:])) for value in values[first:]]
    last = values[:first]
    if rest:
        ends = [_rows(x, late, rest) for x in rows]
        tail = recurrence(shifted, [*last, *ends, *held, constant(float(late))], rest, reverse)
        values = results_of(tail)
        last = values[:first]
        pairs = zip(written, values[first:], strict=True)
        written = [concatenate([b, a] if reverse else [a, b], 0) for a, b in pairs]
    return joined_results(node, [*last, *written])


def _rows(x: Node, start: int, count: int) -> Node:
    return slicing(x, ((start, 1, count), *map(whole, x.shape[1:])))


def _shifted(body: Body) -> Body:
    """Return a body whose rows are counted from a number on that it holds."""
    start = placeholder(("start",), ())
    results = substitute(body.results, {step_number(): step_number() + start})
    return canonical(Body(body.carried, body.read, (*body.held, start), tuple(results)))


#: States are kept for every step where they are at most this many numbers, and are known to be; else for each segment.
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
    values = results_of(node)
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
    nothing = Walk((), set(), set())
    return _pushed(node, [None if t is None else Masked(t, None) for t in tangents], nothing).value


def _pushed(node: Node, tangents: Sequence[Masked | None], walk: Walk) -> Masked:
    """Carry tangents along, and where they count."""
    body, length, reverse = node.payload
    known = [(arg, t.value) for arg, t in zip(node.args, tangents, strict=True) if t is not None]
    seed: Shape = known[0][1].shape[: known[0][1].ndim - known[0][0].ndim]
    prefix, first = len(seed), len(body.carried)
    own = (*body.carried, *body.read, *body.held)
    ways = {x: placeholder(("tangent", x.name.key), (*seed, *x.shape)) for x in own}
    moving = {x: t.settle() for x, t in zip(own, tangents, strict=True) if t is not None}
    marked = any(t is not None and t.mask is not None for t in tangents)
    marks = {x: placeholder(("counts", x.name.key), x.shape) for x in own} if marked else {}
    counts = {
        x: as_numbers(t.mask, arg.shape) for x, arg, t in zip(own, node.args, tangents, strict=True) if t is not None
    }
    while True:
        given = {x: Masked(ways[x], as_mask(marks[x]) if marked else None, True) for x in moving}
        images = _images(push(body.results, given, prefix, _within(node, walk)))
        late = [x for x, image in zip(body.carried, images, strict=False) if image is not None and x not in moving]
        if not late:
            break
        moving |= {x: zeros((*seed, *x.shape)) for x in late}
        counts |= {x: zeros(x.shape) for x in late}
    carried, read, held = _inputs(node)
    for k, x in enumerate(body.carried):
        if x in moving:
            image = images[k]
            carried.append(_Input(ways[x], moving[x], zeros(ways[x].shape) if image is None else image.settle()))
            if marked:
                carried.append(_Input(marks[x], counts[x], counted(image, x.shape)))
    for inputs, group in ((read, body.read), (held, body.held)):
        there = [x for x in group if x in moving]
        inputs += [_Input(ways[x], _to_rows(moving[x], prefix if group is body.read else 0)) for x in there]
        inputs += [_Input(marks[x], counts[x]) for x in there if marked]
    written = {k: image.settle() for k, image in enumerate(images) if k >= first and image is not None}
    told = {k: counted(images[k], body.results[k].shape) for k in written if marked}
    asked = [x for x in body.carried if x in moving]
    wanted = [ways[x] for x in asked] + [marks[x] for x in asked if marked]
    last, rows = _run(carried, read, held, [*written.values(), *told.values()], length, reverse, wanted)
    made, reached = dict(zip(written, rows, strict=False)), dict(zip(told, rows[len(written) :], strict=True))
    flat, masks = [], []
    for k, part in enumerate(parts_of(node)):
        value = last.get(ways[body.carried[k]]) if k < first else made.get(k)
        if k >= first and value is not None:
            value = _from_rows(value, prefix)
        shape = (*seed, part.size)
        flat.append(zeros(shape) if value is None else reshape(value, shape))
        if marked:
            mark = last.get(marks[body.carried[k]]) if k < first else reached.get(k)
            masks.append(zeros((part.size,)) if mark is None else reshape(mark, (part.size,)))
    mask = as_mask(_joined(masks, 0), 1) if marked and walk.keeps(node) else None
    return Masked(_joined(flat, prefix), mask, True)


def _joined(parts: Sequence[Node], axis: int) -> Node:
    return concatenate(parts, axis) if len(parts) > 1 else parts[0]


def _images(slopes: Sequence[Masked | None]) -> list[Masked | None]:
    return [None if slope is None or is_zero(slope.value) else slope for slope in slopes]


# ---------------------------------------------------------------------------- where it counts


def _within(node: Node, walk: Walk) -> Walk:
    """Return what is known of a body's inputs: which may be infinite or nan, after some steps too."""
    body = node.payload.body
    own = (*body.carried, *body.read, *body.held)
    wild = {x for x, arg in zip(own, node.args, strict=True) if walk.is_wild(arg)}
    order = postorder(body.results)
    while True:
        below = unbounded_below(order, wild.__contains__)
        more = {x for x, result in zip(body.carried, body.results, strict=False) if result in below} - wild
        if not more:
            return Walk((), wild, set(), None, walk.data)
        wild |= more


# ---------------------------------------------------------------------------- reverse


def _transposed(node: Node, slope: Masked, active: Sequence[bool], prefix: int, walk: Walk) -> list[Masked | None]:
    """Carry a cotangent back; return those of the arguments that are ``active``, None where it reaches none."""
    body = node.payload.body
    own = (*body.carried, *body.read, *body.held)
    first, cotangent = len(body.carried), slope.settle()
    seed = cotangent.shape[:prefix]
    order = postorder(body.results)
    moving = {x for x, has in zip(own, active, strict=True) if has}
    while True:
        reached = dependents(order, moving)
        late = {x for x, result in zip(body.carried, body.results, strict=False) if result in reached} - moving
        if not late:
            break
        moving |= late
    given = _given(node, cotangent, seed)
    counts = marks_of(node, slope.mask, [one is not None for one in given])
    marks: list[Node | None] = [None] * len(given)
    if counts is not None:
        for k, result in enumerate(body.results):
            if k < first or counts.numbers[k] is not None:
                marks[k] = placeholder(("counts", k), counts.shape(result.shape))
    seeds: list[Masked | None] = []  # of each result, as placeholders
    for k, result in enumerate(body.results):
        # a state that no step makes of the one before has a cotangent too: that of the first step's state
        usable = (result in reached or body.carried[k] in moving) if k < first else (
            result in reached and given[k] is not None
        )
        way = placeholder(("cotangent", k), (*seed, *result.shape))
        mark = marks[k]
        seeds.append(Masked(way, None if mark is None else as_mask(mark), True) if usable else None)
    live = {k for k in range(first) if given[k] is not None and seeds[k] is not None}
    wrt = [x for x in own if x in moving]
    while True:
        roots: dict[Node, Masked] = {}
        for k, result in enumerate(body.results):
            one = seeds[k]
            if one is not None and result in reached and (k >= first or k in live):
                roots[result] = add(roots[result], one, True) if result in roots else one
        pulled = dict(zip(wrt, _images(pull(roots, wrt, prefix, _within(node, walk))), strict=True)) if roots else {}
        more = {k for k in range(first) if seeds[k] is not None and pulled.get(body.carried[k]) is not None} - live
        if not more:
            break
        live |= more
    return _back(node, slope, given, seeds, (marks, counts), live, pulled, active, walk)


def _given(node: Node, cotangent: Node, seed: Shape) -> list[Node | None]:
    """Return the cotangent of each result, None where it is zero by construction."""
    parts = parts_of(node)
    places = [(part.start, 1, part.size) for part in parts]
    front = tuple(map(whole, seed))
    shares: list[list[Node]] = [[] for _ in parts]
    rest: list[Node] = []
    addends = [cotangent]
    while addends:  # each result that is used adds zeros with its own cotangent among them
        one = addends.pop()
        if one.is_addition and all(arg.shape == one.shape for arg in one.args):
            addends += one.args
        elif one.is_pad and one.payload.items[:-1] == front and one.payload.items[-1] in places:
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
    slope: Masked,
    given: Sequence[Node | None],
    seeds: Sequence[Masked | None],
    marked: tuple[Sequence[Node | None], Marks | None],
    live: set[int],
    pulled: dict[Node, Masked | None],
    active: Sequence[bool],
    walk: Walk,
) -> list[Masked | None]:
    """Make the recurrence that runs back, and the run before that keeps the states it reads."""
    body, length, reverse = node.payload
    prefix, first = slope.value.ndim - 1, len(body.carried)
    own = (*body.carried, *body.read, *body.held)
    carried_along, read, held = _inputs(node)
    marks, counts = marked
    carried: list[_Input] = []
    for k in sorted(live):
        one, start, image = seeds[k], given[k], pulled.get(body.carried[k])
        assert one is not None
        nothing = zeros(one.value.shape)
        settled = nothing if image is None else image.settle()
        carried.append(_Input(one.value, nothing if start is None else start, settled))
        mark, number = marks[k], None if counts is None else counts.numbers[k]
        if mark is not None and counts is not None:
            begin = as_numbers(None, mark.shape) if number is None else number
            carried.append(_Input(mark, begin, counts.counted(image, body.carried[k].shape)))
    back = list(read)
    for k in range(first, len(body.results)):
        one, rows = seeds[k], given[k]
        if one is not None and rows is not None:
            back.append(_Input(one.value, _to_rows(rows, prefix)))
            mark, number = marks[k], None if counts is None else counts.numbers[k]
            back += [_Input(mark, number)] if mark is not None and number is not None else []
    is_active = dict(zip(own, active, strict=True))
    sums: dict[Node, Node] = {}
    reached: dict[Node, Node] = {}
    further = {x for x, arg in zip(own, node.args, strict=True) if counts is not None and not arg.is_input}
    for x in body.held:
        image = pulled.get(x)
        if is_active[x] and image is not None:
            part = image.settle()
            sums[x] = placeholder(("sum", x.name.key), part.shape)
            carried.append(_Input(sums[x], zeros(part.shape), sums[x] + part))
            if image.mask is not None and x in further:
                reached[x] = placeholder(("reached", x.name.key), x.shape)
                before = either(compare("not_equal", reached[x], 0.0), image.mask)
                carried.append(_Input(reached[x], zeros(x.shape), as_numbers(before, x.shape)))
    images = {x: image for x in body.read if is_active[x] and (image := pulled.get(x)) is not None}
    told = {
        x: counts.counted(image, x.shape)
        for x, image in images.items()
        if image.mask is not None and x in further and counts is not None
    }
    results = simplify([one.result for one in carried if one.result is not None])
    carried = [one._replace(result=result) for one, result in zip(carried, results, strict=True)]
    written = simplify([*(image.settle() for image in images.values()), *told.values()])
    seen = set(inputs_of([*results, *written]))
    states = [x for x in body.carried if x in seen]
    if isinstance(length, int) and length > LEAST and _is_much(states, length):
        return checkpointed(node, slope, active, prefix, walk)
    if states:
        _, kept = _run(carried_along, read, held, states, length, reverse)
        back += [_Input(x, rows) for x, rows in zip(states, kept, strict=True)]
    unasked = {mark for mark, x in zip(marks, body.carried, strict=False) if x not in further}
    asked = [one.own for one in carried if one.own not in unasked]
    last, outputs = _run(carried, back, held, written, length, not reverse, asked)
    made, rows_told = dict(zip(images, outputs, strict=False)), dict(zip(told, outputs[len(images) :], strict=True))
    found: list[Masked | None] = []
    for k, x in enumerate(own):
        value: Node | None = None
        reach: Node | None = None
        if is_active[x] and k < first:
            one = seeds[k]
            value = None if one is None else last.get(one.value)
            began = marks[k]
            reach = None if began is None else last.get(began)
        elif is_active[x] and x in made:
            value, reach = _from_rows(made[x], prefix), rows_told.get(x)
        elif is_active[x] and x in sums:
            value, reach = last.get(sums[x]), last.get(reached[x]) if x in reached else None
        lead = 1 if x in made else 0
        if reach is not None and reach.ndim == lead:  # of whole steps
            reach = reshape(reach, (*reach.shape, *[1] * x.ndim))
        mask = None if reach is None else as_mask(reach, lead)
        found.append(None if value is None else Masked(value, mask, True))
    return found


def _is_much(states: Sequence[Node], length: int) -> bool:
    sizes = [x.size for x in states]
    return length * sum(size for size in sizes if isinstance(size, int)) > KEPT


def register() -> None:
    """Add the rules to the tables; they need the differentiator, which itself reads the tables."""
    DIFFERENTIALS["recurrence"] = _differential
    LAWS["recurrence"] = Law(
        "differential of a recurrence",
        "a tangent is carried along",
        "Griewank and Walther, Evaluating Derivatives (2008), 3.2",
    )
    PUSHED["recurrence"] = _pushed
    TRANSPOSED["recurrence"] = _transposed
