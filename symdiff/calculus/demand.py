"""Demand for the matrices of a formula: those that are not observed must not raise.

Inverses, solutions and Cholesky factors raise where they do not exist. In a branch that is not
taken they are not observed. Outside the condition under which such an operation is observed, its
matrix is replaced by the identity, for each matrix of a stack and each sample of a batch by
itself. The condition is what reverse mode would carry as a mask: it starts as *always*
at the results, grows at each branch on the way down, and is the disjunction over all uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..graph import BOOL, Node, delta, dependents, elementwise, postorder, rebuild, reshape, within
from ..graph.kinds import CHOICE, FAILING
from ..graph.primitives import FALLIBLE
from ..graph.scalars.functions import FUNCTIONS, scalar_constant, where
from .linear import LINEAR, pulled_product
from .masking import any_along, both, either, is_single, reach
from .rules import DIFFERENTIALS
from .strong_zeros import pull_mask, pull_reach


def mask_matrices(roots: Sequence[Node]) -> list[Node]:
    """Return ``roots`` with the identity in place of each matrix that is not observed.

    Parameters
    ----------
    roots : sequence of Node
        What is computed, without custom functions (see :func:`symdiff.rewrite.inline`).

    Returns
    -------
    list of Node
        The same nodes where nothing that may fail stands in a branch.
    """
    roots = within(roots, mask_matrices)
    below = 0
    for root in roots:
        below |= root.below
    if not (below & FAILING and below & CHOICE):
        return list(roots)
    order = postorder(roots)
    fallible = [node for node in order if node.op in FALLIBLE]
    leads = dependents(order, fallible)
    if not any(node.is_choice and not leads.isdisjoint(node.args[1:]) for node in order):
        return list(roots)
    sound: dict[Node, Node] = {}
    for is_early in (False, True):
        looked_at = _conditions(order, roots, leads, is_early)
        masks = {node: pull_reach(node, node.args[0], looked_at[node]) for node in fallible if node not in sound}
        sound |= _sound(order, {node: mask for node, mask in masks.items() if mask is not None})
        if len(sound) == len(fallible):
            break
    return _rebuilt(roots, sound) if sound else list(roots)


def _conditions(
    order: Sequence[Node], roots: Sequence[Node], leads: set[Node], is_early: bool
) -> dict[Node, Node | None]:
    """Return for each node of ``leads`` where it is observed; None is everywhere.

    With ``is_early``, conditions count as far as none of ``leads`` has to be computed for them: the places where a
    maximum over an inverse is reached are told by that inverse, but the branch that all of it stands in is not.
    """
    found: dict[Node, Node | None] = dict.fromkeys(roots)
    for node in reversed(order):
        if node not in leads:
            continue
        own = found[node]
        for i, arg in enumerate(node.args):
            if arg in leads:
                part = _through(node, i, own, leads, is_early)
                found[arg] = either(found[arg], part) if arg in found else part
    return found


def _through(node: Node, i: int, mask: Node | None, leads: set[Node], is_early: bool) -> Node | None:
    """Return where argument ``i`` is observed when ``node`` is where ``mask`` holds."""
    arg = node.args[i]
    if node.is_choice and i:
        taken = node.args[0] if i == 1 else elementwise("logical_not", (node.args[0],), BOOL)
        mask = reduce(both, _early(taken, leads) if is_early else [taken], mask)
    if node.op == "logical_and":  # where the other fails, this one is not looked at
        other = node.args[1 - i]
        mask = reduce(both, [other] if other not in leads else _early(other, leads) if is_early else [], mask)
    if mask is None:
        return None
    if node.op in FUNCTIONS:
        return _narrowed(mask, node, arg)
    if node.op == "arrange":  # which element comes where is told by the key, which may be what is asked for
        return _narrowed(any_along(mask, (node.payload.axis + mask.ndim,)), node, arg)
    if node.is_contraction:
        return reach(pulled_product(node, i, node, 0), mask)
    if node.op in LINEAR:
        return pull_mask(LINEAR[node.op], node, i, mask)
    return pull_reach(node, arg, mask) if node.op in DIFFERENTIALS else None


def _early(condition: Node, leads: set[Node]) -> list[Node]:
    """Return conditions that hold wherever one does, and that need none of ``leads``: parts of a conjunction.

    Where a disjunction holds, the parts of one of its sides do. Where a condition holds at any place, its parts that
    are one for all places do.
    """
    found: list[Node] = []
    todo = [condition]
    while todo:
        part = todo.pop()
        if part not in leads and not (part.op == "logical_not" and part.args[0] in leads):
            found.append(part)
        elif part.op == "logical_and":
            todo.extend(part.args)
        elif part.op == "logical_or":
            sides = [_early(arg, leads) for arg in part.args]
            where_either = either(*[reduce(both, side, None) for side in sides])
            if where_either is not None:
                found.append(where_either)
        elif part.op == "not_equal" and scalar_constant(part.args[1]) == 0.0:
            counted = [_early(condition, leads) for condition in _counted(part.args[0])]
            single = [{reshape(one, ()): None for one in parts if is_single(one)} for parts in counted]
            found.extend(one for one in (single[0] if single else ()) if all(one in other for other in single))
            anywhere = [_anywhere(parts) for parts in counted]
            if anywhere and all(each is not None for each in anywhere):
                somewhere = reduce(either, anywhere)
                found.extend([] if somewhere is None else [somewhere])
    return found


def _anywhere(conditions: Sequence[Node]) -> Node | None:
    """Return whether there is a place where all of some conditions hold."""
    all_of_them = reduce(both, conditions, None)
    return None if all_of_them is None else reshape(any_along(all_of_them, range(all_of_them.ndim)), ())


def _counted(total: Node) -> list[Node]:
    """Return the conditions whose places are counted, as :func:`symdiff.calculus.masking.any_along` counts them."""
    found: list[Node] = []
    todo = [total]
    while todo and len(found) < _COUNTED:
        part = todo.pop()
        counts = part.is_choice and scalar_constant(part.args[2]) == 0.0
        if part.op == "to_real" or (counts and scalar_constant(part.args[1]) == 1.0):
            found.append(part.args[0])
        elif counts or part.op == "arrange":  # what is not 0 has something that is not
            todo.append(part.args[1 if counts else 0])
        elif part.op in _GATHERING or (part.is_contraction and len(part.args) == 1):
            todo.extend(part.args)
        elif scalar_constant(part) != 0.0:
            return []
    return [] if todo else found


#: Operations that have elements of arguments, zeros, and sums of them.
_GATHERING = frozenset(("reshape", "slice", "gather", "pad", "scatter", "add", "concatenate"))
#: Most conditions of one count that are looked at.
_COUNTED = 32


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
