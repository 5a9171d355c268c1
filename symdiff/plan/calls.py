"""The plan of a call: the batch is the axis of tiles, or a long axis of the one sample."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UnsupportedError
from ..graph import Node, postorder
from ..graph.primitives import ITERATED
from ..graph.scalars.functions import FUNCTIONS
from .loops.access import is_long
from .passes.batch import lift
from .passes.inverses import is_factored
from .passes.products import is_product
from .passes.tiles import tile_rows
from .plan import Plan
from .planner import check_length, make_plan

__all__ = ["has_steps", "plan_call"]


def has_steps(inputs: Sequence[Node], outputs: Sequence[Node]) -> bool:
    """Tell whether a formula has long axes, products or functions of large matrices, eigenvalues, or recurrences."""
    apart = {"recurrence", *ITERATED}
    nodes = [*inputs, *postorder(outputs)]
    return any(
        is_product(node) or is_factored(node) or node.op in apart or any(map(is_long, node.shape))
        for node in nodes
        if node.shape or node.op not in FUNCTIONS  # functions of numbers, of which a formula may have a million
    )


def plan_call(
    inputs: Sequence[Node], outputs: Sequence[Node], batched: Sequence[bool], limit: int, *, total: bool = False
) -> Plan:
    """Plan a call: the batch is the axis of tiles, or a long axis of the one sample where that may be.

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
    check_length(outputs)
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
