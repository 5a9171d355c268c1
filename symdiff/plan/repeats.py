"""Loops of a formula as steps: the plan of a body that runs several times, and results of loops in their shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import UnsupportedError
from ..graph import BOOL, Node, step_number
from ..graph.sizes import Dim
from .loops.access import BATCH
from .plan import Plan
from .steps import Call, Repacked, Repeated, nested

__all__ = ["is_result", "repacked", "repeated"]

#: Makes the plan of a formula, of which a scalar program has so many operations at most.
Planner = Callable[[Sequence[Node], Sequence[Node], int], Plan]


def repeated(node: Node, limit: int, make_plan: Planner) -> Repeated | None:
    """Return a recurrence as a plan that is repeated, None where a part of it is no step of numbers."""
    body, length, reverse = node.payload
    if any(BATCH in own.shape for own in (*node.args, *body.results)):
        return None
    try:
        plan = make_plan((*body.carried, *body.read, *body.held, step_number()), body.results, limit)
    except UnsupportedError:
        return None
    if any(isinstance(step, Call) for step in nested(plan.steps)):
        return None
    parts = plan.inputs, plan.outputs, plan.steps, plan.checks
    return Repeated(node, node.args, *parts, len(body.carried), len(body.read), length, reverse)


def is_result(node: Node) -> bool:
    """Tell whether a node is a part of what a loop gives, in its own shape."""
    if node.op != "reshape":
        return False
    source = node.args[0]
    return (source.args[0] if source.op == "slice" else source).op == "recurrence"


def repacked(node: Node) -> Repacked | None:
    """Return an array in another shape, as no loop tells where its elements are if both shapes have letters."""
    if node.op != "reshape" or node.dtype is BOOL:
        return None
    source: Node = node.args[0]
    start: Dim = 0
    if source.op == "slice" and source.args[0].ndim == 1:
        first, step, length = source.payload.items[0]
        if step == 1 and length is not None:
            source, start = source.args[0], first
    if BATCH in node.shape or BATCH in source.shape or source.dtype is BOOL:
        return None
    return Repacked(node, source, start)
