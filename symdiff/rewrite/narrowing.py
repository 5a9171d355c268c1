"""Formulas of which parts alone are read: the parts are computed, and not the whole.

``tanh(X @ W.T)[0]`` is ``tanh(X[0] @ W.T)``: how an index moves through an operation says :mod:`.inward`. Of a loop the
steps up to what is read are run, and of each step what these need. So of a batch of series of which one is read, one is
run. What a step needs of what it carries is found from what is read of the results, in rounds: the step before has to
give it as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..graph import (
    INT,
    Node,
    canonical,
    inputs_of,
    joined_results,
    parts_of,
    placeholder,
    postorder,
    recurrence,
    result_of,
    results_of,
    step_number,
    substitute,
    whole,
    within,
)
from ..graph.kinds import REPEATED, TAKEN
from ..graph.primitives import Body, Item
from ..graph.sizes import Dim
from .inward import (
    SELECTIONS,
    Part,
    count,
    ends_of,
    hull_of,
    is_open,
    narrowed,
    part_taken,
    regular,
    shape_of,
    taken,
    within_part,
)

__all__ = ["narrow", "takes_few"]

#: Most rounds in which a step may turn out to need more of what it carries.
_ROUNDS = 8


def narrow(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with parts computed in place of arrays of which nothing else is read.

    Parameters
    ----------
    roots : sequence of Node
        Formulas without names.

    Examples
    --------
    >>> from symdiff.graph import elementwise, input, matmul, slicing
    >>> from symdiff.printing import text
    >>> X, W = input("X", (1000, 3)), input("W", (3, 2))
    >>> print(text(*narrow([slicing(elementwise("tanh", (matmul(X, W),)), ((0, 1, None), (0, 1, 2)))])))
    tanh(W.T @ X[0])
    """
    roots = within(roots, narrow)
    if not any(root.below & TAKEN for root in roots):
        return list(roots)
    order = postorder(roots)
    if any(node.op in SELECTIONS and is_open(node.args[0]) and takes_few(node) for node in order):
        roots = narrowed(roots)
    if any(root.below & REPEATED for root in roots):
        roots = _shorten_loops(roots)
    return list(roots)


def takes_few(node: Node) -> bool:
    """Tell whether a part is at most half of its array."""
    return 2 * count(node.shape) <= count(node.args[0].shape)


# ---------------------------------------------------------------------------- loops


def _shorten_loops(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with loops that compute what is read of them."""
    current = list(roots)
    tried: set[Node] = set()
    while True:
        # those next to the results first: they say what is read of the others
        loops = [node for node in reversed(postorder(current)) if node.is_recurrence and node not in tried]
        if not loops:
            return current
        tried.add(loops[0])
        current = _shortened(loops[0], current) or current


def _shortened(loop: Node, roots: Sequence[Node]) -> list[Node] | None:
    """Return ``roots`` with a loop that computes what is read of another, None where that is all."""
    body, length, reverse = loop.payload
    results = [placeholder(("result", k), part.shape) for k, part in enumerate(parts_of(loop))]
    apart = dict(zip(results_of(loop), results, strict=True))
    current = narrowed(substitute(roots, {loop: joined_results(loop, results), **apart}))
    read = _readings(results, current)
    first = len(body.carried)
    steps = _steps_read(body, length, reverse, [read[x] for x in results])
    needed = [
        hull_of([part if k < first else part[1:] for part in read[x].values()], node.shape)
        for k, (x, node) in enumerate(zip(results, body.results, strict=True))
    ]
    step = _step_in_part(body, needed)
    if step is None or (steps == whole(length) and step[2] == [tuple(map(whole, x.shape)) for x in body.results]):
        return None
    own, parts, needed = step
    given = dict(zip((*body.carried, *body.read, *body.held), loop.args, strict=True))
    args = [taken(given[x], (steps, *part) if x in body.read else part) for x, part in parts.items()]
    assert steps[2] is not None
    shorter = recurrence(own, args, steps[2], reverse)
    again = iter(parts_of(shorter))
    replaced: dict[Node, Node] = {}
    for k, (x, part) in enumerate(zip(results, needed, strict=True)):
        if part is not None:
            value, held = result_of(shorter, next(again)), part if k < first else (steps, *part)
            replaced |= {node: taken(value, within_part(held, one)) for node, one in read[x].items()}
    return narrowed(substitute(current, replaced))


def _readings(arrays: Iterable[Node], roots: Sequence[Node]) -> dict[Node, dict[Node, Part]]:
    """Return for each array the nodes that take it, or a part of it, and the part."""
    found: dict[Node, dict[Node, Part]] = {x: {} for x in arrays}
    for node in postorder(roots):
        part = part_taken(node)
        for arg in node.args:
            if arg in found:
                if part is None:
                    found[arg][arg] = tuple(map(whole, arg.shape))
                else:
                    found[arg][node] = part
    return found | {x: {x: tuple(map(whole, x.shape))} for x in roots if x in found}


def _steps_read(body: Body, length: Dim, reverse: bool, read: Sequence[Mapping[Node, Part]]) -> Item:
    """Return the steps up to what is read, as a part of the rows."""
    every = whole(length)
    numbered = step_number() in inputs_of(body.results)
    if any(read[: len(body.carried)]) or not isinstance(length, int) or (reverse and numbered):
        return every
    rows = hull_of([(regular(part[0], length),) for own in read for part in own.values()], (length,))
    ends = None if rows is None else ends_of(regular(rows[0], length))
    if ends is None:
        return every
    low, high = ends
    return (low, 1, length - low) if reverse else (0, 1, high + 1)


def _step_in_part(body: Body, needed: list[Part | None]) -> tuple[Body, dict[Node, Part], list[Part | None]] | None:
    """Return a body that computes parts of another's results, and what it takes and gives of each array of that.

    Arrays of which nothing is needed are left out.
    """
    own = (*body.carried, *body.read, *body.held)
    for _ in range(_ROUNDS):
        pairs = zip(body.results, needed, strict=True)
        results = narrowed([taken(result, part) for result, part in pairs if part is not None])
        read = _readings(own, results)
        carried = [
            hull_of([*read[x].values(), *([] if part is None else [part])], x.shape)
            for x, part in zip(body.carried, needed, strict=False)
        ]
        if carried == needed[: len(carried)]:
            break
        needed = [*carried, *needed[len(carried) :]]
    else:
        return None
    parts = {x: part for x, part in zip(body.carried, carried, strict=True) if part is not None}
    parts |= {x: part for x in own[len(carried) :] if (part := hull_of(read[x].values(), x.shape)) is not None}
    new = {x: placeholder(("part", k), shape_of(part), x.dtype) for k, (x, part) in enumerate(parts.items())}
    replaced = {
        node: taken(new[x], within_part(part, one)) for x, part in parts.items() for node, one in read[x].items()
    }
    made = substitute(results, replaced)
    if any(node.dtype is INT for node in inputs_of(made)):
        return None  # positions are taken outside of loops alone
    groups = [tuple([new[x] for x in group if x in new]) for group in body[:3]]
    return canonical(Body(groups[0], groups[1], groups[2], tuple(made))), parts, needed
