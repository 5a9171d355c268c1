"""Where a formula observes its matrices: those that are not observed must not raise.

Inverses, solutions and Cholesky factors raise where they do not exist. In a branch that is not
taken they are not observed. Outside the condition under which such an operation is observed, its
matrix is replaced by the identity, for each matrix of a stack and each sample of a batch by
itself. The condition is what reverse mode would carry as a mask: it starts as *always*
at the results, grows at each branch on the way down, and is the disjunction over all uses.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import BOOL, Node, delta, dependents, elementwise, postorder, rebuild, reshape, within
from ..graph.kinds import CHOICE, FAILING
from ..graph.primitives import FALLIBLE
from ..graph.scalars.functions import FUNCTIONS, where
from .linear import LINEAR, pulled_product
from .masking import any_along, both, either, reach
from .rules import DIFFERENTIALS
from .strong_zeros import pull_mask, pull_reach


def guard(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with the identity in place of each matrix that is not observed.

    Parameters
    ----------
    roots : sequence of Node
        What is computed, without custom functions (see :func:`symdiff.simplify.inline`).

    Returns
    -------
    list of Node
        The same nodes where nothing that may fail stands in a branch.
    """
    roots = within(roots, guard)
    below = 0
    for root in roots:
        below |= root.below
    if not (below & FAILING and below & CHOICE):
        return list(roots)
    order = postorder(roots)
    fallible = [node for node in order if node.op in FALLIBLE]
    leads = dependents(order, fallible)
    if not any(node.op == "where" and not leads.isdisjoint(node.args[1:]) for node in order):
        return list(roots)
    looked_at = _conditions(order, roots, leads)
    masks = {node: pull_reach(node, node.args[0], looked_at[node]) for node in fallible}
    sound = _sound(order, {node: mask for node, mask in masks.items() if mask is not None})
    return _rebuilt(roots, sound) if sound else list(roots)


def _conditions(order: Sequence[Node], roots: Sequence[Node], leads: set[Node]) -> dict[Node, Node | None]:
    """Return for each node of ``leads`` where it is observed; None is everywhere."""
    found: dict[Node, Node | None] = dict.fromkeys(roots)
    for node in reversed(order):
        if node not in leads:
            continue
        own = found[node]
        for i, arg in enumerate(node.args):
            if arg in leads:
                part = _through(node, i, own, leads)
                found[arg] = either(found[arg], part) if arg in found else part
    return found


def _through(node: Node, i: int, mask: Node | None, leads: set[Node]) -> Node | None:
    """Return where argument ``i`` is observed when ``node`` is where ``mask`` holds."""
    arg = node.args[i]
    if node.op == "where" and i:
        taken = node.args[0]
        mask = both(mask, taken if i == 1 else elementwise("logical_not", (taken,), BOOL))
    if node.op == "logical_and" and node.args[1 - i] not in leads:  # where the other fails, this one is not looked at
        mask = both(mask, node.args[1 - i])
    if mask is None:
        return None
    if node.op in FUNCTIONS:
        return _narrowed(mask, node, arg)
    if node.op == "contract":
        return reach(pulled_product(node, i, node, 0), mask)
    if node.op in LINEAR:
        return pull_mask(LINEAR[node.op], node, i, mask)
    return pull_reach(node, arg, mask) if node.op in DIFFERENTIALS else None


def _narrowed(mask: Node, node: Node, arg: Node) -> Node:
    """Return where an argument, which the function may repeat, is observed by any element."""
    gap = node.ndim - arg.ndim
    start = node.ndim - mask.ndim
    axes = [a for a in range(mask.ndim) if a + start < gap or arg.shape[a + start - gap] == 1]
    mask = any_along(mask, axes)
    return reshape(mask, mask.shape[max(0, gap - start) :])


def _sound(order: Sequence[Node], masks: dict[Node, Node]) -> dict[Node, Node]:
    """Return the masks that can be computed before the matrices they are for.

    A condition stands before its branches in a postorder, unless a matrix of the branch is a part
    of the condition as well. Such a matrix is observed wherever the condition is.
    """
    place = {node: i for i, node in enumerate(order) if node in masks}
    latest: dict[Node, int] = {}
    for node in postorder(masks.values()):
        latest[node] = max([place.get(node, -1), *(latest[arg] for arg in node.args)])
    return {node: mask for node, mask in masks.items() if latest[mask] < place[node]}


def _rebuilt(roots: Sequence[Node], masks: dict[Node, Node]) -> list[Node]:
    """Put the identity into matrices outside their masks, which may hold such matrices themselves."""
    new: dict[Node, Node] = {}
    todo = list(roots)
    while todo:
        node = todo[-1]
        mask = masks.get(node)
        waiting = [part for part in (node.args if mask is None else (*node.args, mask)) if part not in new]
        if waiting and node not in new:
            todo.extend(waiting)
            continue
        todo.pop()
        if node in new:
            continue
        args = tuple([new[arg] for arg in node.args])
        if mask is not None:
            size = args[0].shape[-1]
            args = (where(new[mask], args[0], delta(size, size)), *args[1:])
        new[node] = rebuild(node, args) if args else node
    return [new[root] for root in roots]
