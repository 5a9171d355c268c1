"""The plan of a call: the batch is the axis of tiles, or a long axis of the one sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from ...errors import UnsupportedError
from ...graph import Node, placeholder, postorder, rebuild, survey, within
from ...graph.scalars.functions import FUNCTIONS
from ...graph.sizes import LEAST, Size, named, sizes_from
from ...graph.traversal import resize
from .access import BATCH, INNER, OrderError, inner_axes, inner_limit, is_iterated, is_long
from .plan import Plan, programs_of

__all__ = ["FEWER", "has_many", "has_steps", "inner_of", "plan_call", "plan_shorter", "plan_together"]

#: How many samples a plan has that takes them as an axis of one.
SAMPLES: Size = named("(samples)")

#: Elements of an array along short axes that one element of a loop may have to itself, and axes that it has where there
#: are more.
MOST_ELEMENTS, FEWER = 4096, (8, 2)
#: Operations of the programs of a plan from which on another one may take less, and is built sooner.
LONG = 1000
#: What letters are taken to be at least, one after the other, until it is known how places in arrays follow each other.
LARGER = LEAST, 4 * LEAST, 16 * LEAST, 64 * LEAST


def has_steps(inputs: Sequence[Node], outputs: Sequence[Node]) -> bool:
    """Tell whether a formula has long axes, many elements, large products, functions of matrices, or recurrences."""
    from .inverses import is_factored  # not needed by a plan that is known
    from .products import is_product

    apart = is_product, is_factored, is_iterated  # they have steps of their own, however few elements there are
    nodes = [*inputs, *survey(outputs).apart]
    return has_many(nodes) or any(
        node.is_recurrence or any(is_what(node) for is_what in apart) or any(map(is_long, node.shape))
        for node in nodes
        if node.shape or node.op not in FUNCTIONS  # functions of numbers, of which a formula may have a million
    )


def inner_of(inputs: Sequence[Node], outputs: Sequence[Node]) -> int:
    """Return the longest axis that an element has to itself: less where all axes are short, and would all be."""
    return INNER if has_steps(inputs, outputs) else FEWER[0]


def has_many(nodes: Sequence[Node]) -> bool:
    """Tell whether an array has many elements along axes of which each is short."""
    return any(
        len(node.shape) > 2
        and math.prod(size for size in node.shape if isinstance(size, int) and size <= INNER) > MOST_ELEMENTS
        for node in nodes
    )


def plan_call(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call: the axis of tiles is the batch or, for one sample, a long axis that allows it.

    Parameters
    ----------
    inputs, outputs : sequence of Node
        The formula of one sample.
    batched : sequence of bool
        Which inputs have the batch's axis.
    limit : int
        Scalar operations of one element, at most.
    total : bool
        Outputs are summed over the batch.

    Raises
    ------
    UnsupportedError
        If a part of it cannot be planned; the message says why.
    """
    from .planner import check_length  # not needed by a plan that is known

    check_length(outputs)
    return _with_letters(inputs, outputs, batched, limit, total=total)


def plan_shorter(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call as :func:`plan_call` does, with loops along shorter axes where the plan is estimated to take less."""
    plan = plan_call(inputs, outputs, batched, limit, total=total)
    if inner_limit() <= FEWER[0] or sum(len(own[0].ops) for own in programs_of(plan)) < LONG:
        return plan
    with inner_axes(FEWER[0]), suppress(UnsupportedError):
        other = plan_call(inputs, outputs, batched, limit, total=total)
        return min(plan, other, key=lambda one: sum(one.estimate))
    return plan


def plan_together(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call whose samples are a long axis of one sample, as loops take it: each of their steps goes over all.

    Parameters
    ----------
    inputs, outputs, batched, limit, total
        As :func:`plan_call` takes them.

    Raises
    ------
    UnsupportedError
        If a part of it cannot be planned.
    """
    from .batch import lift
    from .planner import check_length

    check_length(outputs)
    lifted = lift(inputs, outputs, batched, total=total)
    fresh = {
        node: placeholder(("samples", k), (SAMPLES, *node.shape[1:]), node.dtype, node.assumptions)
        for k, (node, has) in enumerate(zip(lifted.inputs, batched, strict=True))
        if has
    }
    several = resize(lifted.outputs, {**{node: node for node in lifted.inputs}, **fresh}, {str(BATCH): SAMPLES})
    own = [fresh.get(node, node) for node in lifted.inputs]
    return _with_letters(own, several, [False] * len(own), limit, total=False)


def _with_letters(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool
) -> Plan:
    """Plan a call, for the least that letters may be at which it can be."""
    outputs = _looped(outputs)
    if has_many([*inputs, *survey(outputs).apart]):
        for most in FEWER:
            with inner_axes(most), sizes_from(LEAST), suppress(UnsupportedError):
                return _planned(inputs, outputs, batched, limit, total=total)
    for least in LARGER:
        with sizes_from(least), suppress(OrderError):
            return _planned(inputs, outputs, batched, limit, total=total)
    return _planned(inputs, outputs, batched, limit, total=total)


def _looped(roots: Sequence[Node]) -> list[Node]:
    """Write running operations along long axes as loops, where no step of a plan is for them."""
    from ..expand import FOLDS, as_recurrence
    from .bound import SCANS

    looped = FOLDS.keys() - set(SCANS)  # no step of a plan is for them
    roots = within(roots, _looped)
    order = postorder(roots)
    if looped.isdisjoint([node.op for node in order]):
        return list(roots)
    new: dict[Node, Node] = {}
    for node in order:
        made = rebuild(node, tuple([new[arg] for arg in node.args])) if node.args else node
        new[node] = as_recurrence(made) if node.op in looped and is_long(node.shape[node.payload.axis]) else made
    return [new[root] for root in roots]


def _planned(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool
) -> Plan:
    """Plan a call, for one limit of the axes that an element has to itself."""
    from .batch import lift
    from .planner import make_plan
    from .tiles import tile_rows

    if any(batched):
        lifted = lift(inputs, outputs, batched, total=total)
        return make_plan(lifted.inputs, lifted.outputs, limit)
    rows = tile_rows(inputs, outputs)
    if rows is not None:
        try:
            return make_plan(rows.inputs, rows.outputs, limit)
        except UnsupportedError:  # tiles would have to be gone through twice
            pass
    return make_plan(inputs, outputs, limit)
