"""Operations that are steps of their own, on whole arrays: loops of a formula, routines, functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from ...errors import UnsupportedError
from ...graph import BOOL, Node, inputs_of, parts_of, placeholder, postorder, result_of, step_number, substitute
from ...graph.primitives import ADJUGATES, BY_POSITION, DELTAS, ITERATED
from ...graph.sizes import Dim
from .access import BATCH, NoLoopError, inner_axes, inner_limit, is_long
from .cost import turn_cost
from .plan import Plan
from .steps import Call, Repacked, Repeated, Routine, Step, is_tiled, nested

__all__ = ["called", "is_result", "part_of_loop", "repacked", "repeated", "reshaped", "routine", "with_joined_spectra"]

#: In one turn of a loop: up to which length an axis is always unrolled, and up to which it may be.
SHORT, UNROLLED = 4, 64
#: Makes the plan of a formula; the number is the most operations of one scalar program.
Planner = Callable[[Sequence[Node], Sequence[Node], int], Plan]


def repeated(node: Node, limit: int, make_plan: Planner) -> Repeated | None:
    """Return a recurrence as a plan of its body that is repeated, None where the body needs NumPy or conditions."""
    body, length, reverse = node.payload
    given = (*body.carried, *body.read, *body.held, step_number())
    if _has_samples(node):
        return _by_sample(node, given, limit, make_plan)
    plans = []
    for most in _limits(body.results):
        with inner_axes(most), suppress(UnsupportedError):
            plan = make_plan(given, body.results, limit)
            if not any(isinstance(step, Call) for step in nested(plan.steps)):
                plans.append(plan)
    if not plans:
        return None
    plan = min(plans, key=lambda plan: turn_cost(plan.steps))
    parts = plan.inputs, plan.outputs, plan.steps, plan.checks
    return Repeated(node, node.args, *parts, len(body.carried), len(body.read), length, reverse)


def _has_samples(node: Node) -> bool:
    """Tell whether a recurrence is one of all samples of a batch."""
    return any(BATCH in own.shape for own in (*node.args, *node.payload.body.results))


def _by_sample(node: Node, given: tuple[Node, ...], limit: int, make_plan: Planner) -> Repeated | None:
    """Return a loop of the samples of a tile, where a turn depends on what is carried alone: each ends by itself."""
    body, length, reverse = node.payload
    if body.read or len(body.results) > len(body.carried) or any(own.shape[:1] != (BATCH,) for own in body.carried):
        return None
    with suppress(UnsupportedError):
        plan = make_plan(given, body.results, limit)
        if any(isinstance(step, Call) or not is_tiled(step) for step in nested(plan.steps)):
            return None
        inputs, outputs, steps, checks = plan.inputs, plan.outputs, plan.steps, plan.checks
        parts = tuple([result_of(node, part) for part in parts_of(node)])
        counts = len(body.carried), 0
        made = Repeated(parts[0], node.args, inputs, outputs, steps, checks, *counts, length, reverse, parts)
        return None if made.counts else made
    return None


def part_of_loop(node: Node) -> tuple[Node, Node] | None:
    """Return the loop over samples that a node is a result of, and the result as the loop has it."""
    source = node.args[0] if node.is_reshape else node
    loop = source.args[0] if source.is_slice else source
    if not loop.is_recurrence or not _has_samples(loop):
        return None
    for part in map(partial(result_of, loop), parts_of(loop)):
        if (part.args[0] if part.is_reshape else part) is source:
            return loop, part
    return None


def _limits(results: Sequence[Node]) -> list[int]:
    """Return the bounds on unrolled axes that a body is planned with; the cheapest of these plans is kept.

    One turn computes one sample: a loop fills its vectors with elements, unrolled code has one number in all lanes.
    """
    usual = inner_limit()
    sizes = {size for node in postorder(results) for size in node.shape if isinstance(size, int)}
    others = ((SHORT, SHORT, usual), (UNROLLED, usual, UNROLLED))
    return [usual, *(most for most, low, high in others if any(low < size <= high for size in sizes))]


def is_result(node: Node) -> bool:
    """Tell whether a node is one result of a recurrence: a part of its output, reshaped."""
    if not node.is_reshape:
        return node.is_slice and part_of_loop(node) is not None
    source = node.args[0]
    return (source.args[0] if source.is_slice else source).is_recurrence


def repacked(node: Node) -> Repacked | None:
    """Return an array in another shape as a step of its own: no loop can index it where both shapes have letters."""
    if not node.is_reshape or node.dtype is BOOL:
        return None
    source: Node = node.args[0]
    start: Dim = 0
    if source.is_slice and source.args[0].ndim == 1:
        first, step, length = source.payload.items[0]
        if step == 1 and length is not None:
            source, start = source.args[0], first
    if BATCH in node.shape or BATCH in source.shape or source.dtype is BOOL:
        return None
    return Repacked(node, source, start)


def reshaped(node: Node) -> Routine | None:
    """Return an array of samples in another shape, as a copy: the samples of a tile may lie apart."""
    if not node.is_reshape or node.dtype is BOOL or not node.shape[:1] == node.args[0].shape[:1] == (BATCH,):
        return None
    return Routine("reshape", (node,), node.args)


def routine(node: Node) -> Routine | None:
    """Return an operation that compiled code does on whole arrays, None for others.

    The samples' axis can only be the first of each of its arrays.
    """
    if any(BATCH in own.shape[1:] or own.dtype is BOOL for own in (node, *node.args)):
        return None
    if node.op in ITERATED:
        return Routine("spectrum", (node, None) if node.op == "eigvalsh" else (None, node), node.args)
    if node.op in ADJUGATES:
        return Routine("adjugate", (node,), node.args)
    if node.op == "sort" and is_long(node.shape[node.payload.axis]):
        axis, back = node.payload
        return Routine("sort", (node,), node.args, axis + node.ndim, 0, back)
    if node.op in BY_POSITION:
        indexed = node.args[0] if node.op == "take" else node
        axis, own = node.payload.axis + indexed.ndim, node.payload.shared
        return Routine(node.op, (node,), node.args, axis, own)
    if node.op == "triangle" and any(map(is_long, node.shape[-2:])):
        upper, offset = node.payload
        return Routine("triangle", (node,), node.args, 0, offset, upper)
    if node.op == "arrange":
        axis, back = node.payload
        return Routine("arrange", (node,), node.args, axis + node.args[1].ndim, 0, back)
    return None


def with_joined_spectra(steps: Sequence[Step]) -> list[Step]:
    """Return steps that do not depend on each other, eigenvalues and eigenvectors of the same matrices in one."""
    joined: list[Step] = []
    place: dict[Node, int] = {}
    for step in steps:
        if not isinstance(step, Routine) or step.op != "spectrum":
            joined.append(step)
            continue
        (matrix,) = step.operands
        if matrix not in place:
            place[matrix] = len(joined)
            joined.append(step)
            continue
        other = joined[place[matrix]]
        assert isinstance(other, Routine)
        made = tuple(mine or its for mine, its in zip(step.made, other.made, strict=True))
        joined[place[matrix]] = step._replace(made=made)
    return joined


#: Leaves and views, which are written into the step that uses them: no elements are computed.
_STRUCTURAL = frozenset(("reshape", "slice", "constant", "input", "size")) | DELTAS


def called(node: Node) -> Call:
    """Return one operation on whole arrays as a call of NumPy, together with the views of its arguments."""
    if node.dtype is BOOL:
        raise NoLoopError("a condition would have to be kept as an array")
    inside: dict[Node, Node] = {}
    operands: dict[Node, Node] = {}
    for arg in _operands(node):
        operands[arg] = inside[arg] = placeholder(("operand", len(operands)), arg.shape)
    (formula,) = substitute([node], inside)
    step = Call(node, tuple(operands), tuple(operands.values()), formula)
    missing = {*inputs_of([formula])}.difference(step.inputs, step.sized(inputs_of([node])))
    if missing:
        raise NoLoopError("a step over all samples at once reads them from an input")
    return step


def _operands(node: Node) -> list[Node]:
    """Return the arrays that a step reads: below it, the first that are neither leaves nor views."""
    found: dict[Node, None] = {}
    stack = list(node.args[::-1])
    while stack:
        arg = stack.pop()
        if arg.op in _STRUCTURAL or (arg.is_contraction and len(arg.args) == 1 and arg.size == arg.args[0].size):
            stack += arg.args[::-1]
        elif arg.dtype is BOOL:
            raise NoLoopError("a condition would have to be kept as an array")
        else:
            found.setdefault(arg)
    return list(found)
