"""Loops of the same steps as one: a value beside its derivative, and the states that a way back reads.

Two carried arrays are equal in every step where they start equal and have equal updates. Which ones are is found by
partition refinement: arrays that start equal form a class, and a class is split where updates differ, until nothing
changes (Hopcroft 1971, for the states of automata).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import (
    Node,
    canonical,
    concatenate,
    dependents,
    parts_of,
    placeholder,
    postorder,
    recurrence,
    reshape,
    result_of,
    substitute,
)
from ...graph.kinds import REPEATED
from ...graph.primitives import Body
from ...rewrite import simplify

__all__ = ["join_recurrences"]


def join_recurrences(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with one loop for those that have carried arrays in common."""
    current = list(roots)
    while any(root.below & REPEATED for root in current):
        found = _joined(current)
        if found is None:
            break
        current = simplify(found)
    return current


def _joined(roots: Sequence[Node]) -> list[Node] | None:
    """Join the first two loops that may be; None where there are none."""
    order = postorder(roots)
    loops = [node for node in order if node.is_recurrence]
    for k, first in enumerate(loops):
        after = dependents(order, [first])
        for second in loops[k + 1 :]:
            if first.payload[1:] != second.payload[1:] or second in after:
                continue
            made = _join(first, second)
            if made is not None:
                return substitute(roots, dict(zip((first, second), made, strict=True)))
    return None


def _join(first: Node, second: Node) -> tuple[Node, Node] | None:
    """Return two loops as parts of one, None where they carry nothing in common."""
    carried: list[tuple[Node, Node, Node, int]] = []  # placeholder, start, result, of which
    written: list[tuple[Node, int]] = []
    read: dict[Node, Node] = {}
    held: dict[Node, Node] = {}
    for which, node in enumerate((first, second)):
        body = node.payload.body
        count, rows = len(body.carried), len(body.carried) + len(body.read)
        own = {x: placeholder(("joined", which, k), x.shape) for k, x in enumerate(body.carried)}
        stand_in = dict(own)
        for what, given, inputs in (("rows", read, node.args[count:rows]), ("held", held, node.args[rows:])):
            for x, arg in zip(body.read if given is read else body.held, inputs, strict=True):
                stand_in[x] = given.setdefault(arg, placeholder((what, len(given)), x.shape, x.dtype))
        results = substitute(body.results, stand_in)
        carried += [(own[x], start, result, which) for x, start, result in zip(own, node.args, results, strict=False)]
        written += [(result, which) for result in results[count:]]
    same = _classes([(x, start, result) for x, start, result, _ in carried])
    leaders = list(dict.fromkeys(same.values()))
    if len(leaders) == len(carried):
        return None
    of = {x: (start, result) for x, start, result, _ in carried}
    after = substitute([of[x][1] for x in leaders] + [result for result, _ in written], same)
    outputs = list(dict.fromkeys(after[len(leaders) :]))
    body = Body(tuple(leaders), tuple(read.values()), tuple(held.values()), (*after[: len(leaders)], *outputs))
    starts = [of[x][0] for x in leaders]
    joined = recurrence(canonical(body), [*starts, *read, *held], *first.payload[1:])
    values = [result_of(joined, part) for part in parts_of(joined)]
    made = []
    for which, node in enumerate((first, second)):
        pieces = [values[leaders.index(same[x])] for x, _, _, own in carried if own == which]
        rows_of = [after[len(leaders) + k] for k, (_, own) in enumerate(written) if own == which]
        pieces += [values[len(leaders) + outputs.index(result)] for result in rows_of]
        flat = [reshape(piece, (part.size,)) for piece, part in zip(pieces, parts_of(node), strict=True)]
        made.append(concatenate(flat, 0) if len(flat) > 1 else flat[0])
    return made[0], made[1]


def _classes(carried: Sequence[tuple[Node, Node, Node]]) -> dict[Node, Node]:
    """Return for each carried array the first of those that are always equal to it."""
    leader: dict[object, Node] = {}
    same = {x: leader.setdefault((start, x.shape), x) for x, start, _ in carried}
    while True:
        results = substitute([result for _, _, result in carried], same)
        leader = {}
        finer = {
            x: leader.setdefault((same[x], result), x) for (x, _, _), result in zip(carried, results, strict=True)
        }
        if finer == same:
            return same
        same = finer
