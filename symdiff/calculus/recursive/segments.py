"""Loops of many steps backwards in segments: few states are kept, and the rest are made again.

The steps are made in segments of √n, loops in a loop: that keeps one state a segment, and the states of a segment are
made again when it is gone through backwards, so 2√n of them are there at once (Griewank 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from ...graph import (
    Node,
    canonical,
    concatenate,
    constant,
    parts_of,
    placeholder,
    recurrence,
    reshape,
    result_of,
    slicing,
    step_number,
    substitute,
    whole,
)
from ...graph.primitives import Body
from ..masking import Masked
from ..modes import pull
from ..strong_zeros import Walk

__all__ = ["checkpointed"]


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
