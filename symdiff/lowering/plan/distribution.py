"""Loop distribution: functions that no step of a loop waits for are computed of all steps at once.

A step computes one sample, so a logarithm in it takes as long as a vector of them. A function of rows alone is moved
before the loop. A function whose value is only written or added up is moved behind it, into a loop whose elements do
not depend on each other (Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2002, 5.4); the steps write
its arguments down. Loops over batches, and over long arrays, stay as they are: their steps fill vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import add

from ...calculus.lifted import added_to
from ...calculus.recurrence import KEPT
from ...graph import (
    BOOL,
    Node,
    canonical,
    dependents,
    inputs_of,
    joined_results,
    placeholder,
    postorder,
    rebuild,
    recurrence,
    results_of,
    step_number,
    substitute,
)
from ...graph.kinds import REPEATED
from ...graph.primitives import Body
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import Dim
from ...graph.traversal import resize
from ..program import CHEAP
from .access import BATCH
from .batch import lift
from .cost import LANES

__all__ = ["distribute", "of_all"]

#: Numbers that a step writes, at most, for each that it reads from rows.
GROWTH = 4


def distribute(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with functions before and behind the loops whose steps do not wait for them.

    Examples
    --------
    >>> import numpy as np
    >>> import symdiff as sd
    >>> y = sd.vector("y", 100)
    >>> _, told = sd.scan(lambda s, x: (0.5 * s + x, np.exp(s)), 0.0, y)
    >>> (now,) = distribute([told.node])
    >>> now.op
    'exp'
    """
    if not any(root.below & REPEATED for root in roots):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in postorder(roots):
        if node in new:
            continue
        args = tuple([new[arg] for arg in node.args])
        new[node] = rebuild(node, args) if args else node
        parts = _parts(node, args) if node.is_recurrence else None
        if parts is not None:
            new[node] = joined_results(node, parts)
            new |= zip(results_of(node), parts, strict=True)
    return [new[root] for root in roots]


def _parts(node: Node, args: Sequence[Node]) -> list[Node] | None:
    """Return the results of a loop, of which some are computed behind it; None where all stays as it is."""
    body, length, reverse = node.payload
    if not body.read or any(BATCH in x.shape for x in (*args, *body.results)):
        return None
    given = dict(zip((*body.carried, *body.read, *body.held), args, strict=True))
    # what is made of rows alone stands before
    before = _of_rows(body)
    made = {x: placeholder(("before", k), x.shape) for k, x in enumerate(before)}
    rows = dict(zip(made.values(), of_all(before, given, body.read, length), strict=True))
    results = substitute(body.results, made)
    carried, written = dict(zip(body.carried, results, strict=False)), results[len(body.carried) :]
    # what is added up, or written, stands behind
    sums = _sums(carried, written)
    stays = [result for x, result in carried.items() if x not in sums]
    needed = _needed(stays, carried)
    late = [x for x in written if _is_late([x], needed)]
    read = {*body.read, *rows}
    there = {*read, *body.held}
    inside = [x for x in _late([*late, *sums.values()], needed)[1] if x not in there and not x.is_constant]
    if not _is_small(length, inside, read) or not (made or late or sums):
        return None
    own = [x for x in written if x not in late]
    own += [x for x in inside if x not in own]
    kept = [x for x in carried if x not in sums]
    loop = _loop(kept, [carried[x] for x in kept], own, (body.read, rows, body.held), given, length, reverse)
    last, told = dict(zip(kept, loop, strict=False)), dict(zip(own, loop[len(kept) :], strict=True))
    stand_in = {x: placeholder(("written", k), x.shape) for k, x in enumerate(inside)}
    given = given | rows | {stand_in[x]: told[x] for x in inside}
    moving = [*read, *stand_in.values()]
    told |= dict(zip(late, of_all(substitute(late, stand_in), given, moving, length), strict=True))
    added = of_all(substitute([*sums.values()], stand_in), given, moving, length, total=True)
    last |= {x: given[x] + total for x, total in zip(sums, added, strict=True)}
    return [*(last[x] for x in body.carried), *(told[x] for x in written)]


def _loop(
    carried: Sequence[Node],
    after: Sequence[Node],
    written: Sequence[Node],
    inputs: tuple[Sequence[Node], dict[Node, Node], Sequence[Node]],
    given: dict[Node, Node],
    length: Dim,
    reverse: bool,
) -> list[Node]:
    """Return what a loop carries last, and what all its steps write."""
    if not after and not written:
        return []
    found = set(inputs_of([*after, *written]))
    rows = [x for x in (*inputs[0], *inputs[1]) if x in found]
    held = [x for x in inputs[2] if x in found]
    body = canonical(Body(tuple(carried), tuple(rows), tuple(held), (*after, *written)))
    return results_of(recurrence(body, [(given | inputs[1])[x] for x in (*carried, *rows, *held)], length, reverse))


def of_all(
    formulas: Sequence[Node], given: dict[Node, Node], moving: Collection[Node], length: Dim, *, total: bool = False
) -> list[Node]:
    """Return formulas of one step for all steps, whose rows are ``given`` for what is ``moving``; or their sums."""
    own = inputs_of(formulas)
    has = [x in moving for x in own]
    lifted = lift(own, formulas, has, total=total)
    return resize(
        lifted.outputs, {x: given[old] for x, old in zip(lifted.inputs, own, strict=True)}, {str(BATCH): length}
    )


# ---------------------------------------------------------------------------- what can wait


def _slowness(node: Node) -> int:
    """Return 2 for a function that takes as long for a number as for a vector of them, 1 for a quotient or root."""
    row = FUNCTIONS.get(node.op)
    if row is None or row.c in CHEAP or not isinstance(node.size, int) or node.size >= LANES:
        return 0
    is_quick = row.instruction or node.is_division or (node.is_power and node.args[1].is_constant)
    return int(node.op in ("sqrt", "divide")) if is_quick else 2


def _moves(node: Node) -> bool:
    """Tell whether an operation may stand outside of a loop: it needs no sample whole, and fails for none."""
    return isinstance(node.size, int) and (node.op in FUNCTIONS or node.is_contraction or node.is_reshape)


def _needed(results: Sequence[Node], carried: Collection[Node]) -> set[Node]:
    """Return what steps need of what is carried; what is made of rows alone is there behind them as well."""
    order = postorder(results)
    return dependents(order, {*carried, step_number()})


def _late(formulas: Sequence[Node], needed: Collection[Node]) -> tuple[list[Node], list[Node]]:
    """Return what ``formulas`` are made of that no step needs, and what that is made of in turn."""
    found: dict[Node, bool] = {}
    stack = list(formulas)
    while stack:
        node = stack.pop()
        if node in found:
            continue
        # a condition is no array; it is found once more
        found[node] = bool(node.args) and _moves(node) and (node not in needed or node.dtype is BOOL)
        stack += node.args if found[node] else ()
    return [node for node, moves in found.items() if moves], [node for node, moves in found.items() if not moves]


def _is_late(formulas: Sequence[Node], needed: Collection[Node]) -> bool:
    """Tell whether ``formulas`` have a slow function that no step needs, or several quotients."""
    return sum(map(_slowness, _late(formulas, needed)[0])) > 1


def _of_rows(body: Body) -> list[Node]:
    """Return numbers with slow functions that are made of rows alone."""
    there = {*body.read, *body.held}
    order = postorder(body.results)
    made: dict[Node, bool] = {}  # and whether slow functions are in it
    for node in order:
        if node in there or node.is_constant:
            made[node] = False
        elif node.args and _moves(node) and all(arg in made for arg in node.args):
            made[node] = _slowness(node) > 1 or any(made[arg] for arg in node.args)
    moving = dependents(order, body.read)
    users: set[Node] = {arg for node in order if node not in made or node not in moving for arg in node.args}
    asked = users.union(body.results)
    return [node for node, slow in made.items() if slow and node in moving and node in asked and node.dtype is not BOOL]


def _sums(carried: dict[Node, Node], written: Sequence[Node]) -> dict[Node, Node]:
    """Return the numbers that are added up and read by no step, and what a step adds to each."""
    found: dict[Node, Node] = {}
    for x, result in carried.items():
        rest = added_to(x, result)
        others = [other for own, other in carried.items() if own is not x]
        alone = bool(rest) and all(one.shape == x.shape for _, one in rest)
        if alone and x not in inputs_of([*others, *written, *(one for _, one in rest)]):
            found[x] = reduce(add, [one if scale == 1.0 else one * scale for scale, one in rest])
    needed = _needed([result for x, result in carried.items() if x not in found], carried)
    return {x: total for x, total in found.items() if _is_late([total], needed)}


def _is_small(length: Dim, inside: Sequence[Node], read: Collection[Node]) -> bool:
    """Tell whether what the steps write for the time behind them is little beside what they read."""
    numbers = [x.size for x in (*inside, *read)]
    known = [size for size in numbers if isinstance(size, int)]
    most = GROWTH * sum(known[len(inside) :])
    total = sum(known[: len(inside)])
    return len(known) == len(numbers) and total <= most and (not isinstance(length, int) or length * total <= KEPT)
