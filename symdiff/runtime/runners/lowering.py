"""Which form a formula takes: one scalar program, a plan of several steps, or array operations, by estimated cost.

The cost is that of one call with one sample, in nanoseconds. A program takes a few nanoseconds for each operation,
less in native code and more in the interpreter, and again as much for having been derived, scheduled and built,
shared by about a thousand calls. A plan of long arrays takes a tenth of a microsecond for each step, and vectors hold
several elements at a time; so formulas of numbers and small arrays become programs however long they are, and long
arrays become plans. A map over a long axis is a plan at any length, and what else goes along one axis from a length on:
elements stand in memory as vectors want them, for one sample and for rows of them, where a program would put each into
a vector of its own, or transpose. Structural zeros count nothing. The figures are fixed, so that a formula takes the
same form on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...calculus.cost import array_time, cost, operations
from ...codegen import Request
from ...errors import UnsupportedError
from ...graph import survey
from ...graph.kinds import REPEATED
from ...graph.sizes import fixed
from ...ground.budget import limits
from ...lowering.plan.access import BATCH, INNER, inner_axes
from ...lowering.plan.calls import has_many, inner_of, plan_shorter
from ...lowering.plan.plan import Plan, is_map, line_of
from ...lowering.plan.steps import Call
from ...lowering.program import Program

__all__ = ["lower", "most_operations", "usual_of"]

#: Of a scalar operation of a program: derived, scheduled, built and run; run alone, all lanes with one sample.
OPERATION, ALONE = 10.0, 0.4
#: A plan is taken where its call takes less than this part of the time of a program's.
GAIN = 0.5
#: Elements from which on a plan is taken that goes along one axis alone.
LINE = 200
#: How many times as many operations as are worth while may be expected, and scheduling still be tried: estimates
#: miss sub-expressions that turn out equal, or are not used.
DOUBT = 1.5


def most_operations(other: float) -> int:
    """Return the operations up to which a program is taken beside another form of a formula.

    Parameters
    ----------
    other : float
        Nanoseconds that a call of the other form takes; infinite where there is none.

    Returns
    -------
    int
        Between two limits: what is short becomes a program in any case, since a call of it runs no Python, and
        nothing longer than all that is scheduled at all.
    """
    bounds = limits()
    worth = other / OPERATION
    most = bounds.native_operations
    return min(most, max(bounds.unrolled_operations, most if worth >= most else int(worth)))


def lower(request: Request, *, insist: bool) -> Program | Plan:
    """Lower a formula to the form that is estimated to cost least.

    Parameters
    ----------
    request : Request
    insist : bool
        Whether array operations are no choice: the whole is to be a plan without calls of Python, or a program.

    Raises
    ------
    UnsupportedError
        If array operations serve better, or nothing else serves; the message says why.
    """
    short = limits().unrolled_operations
    plan, why = None, "it has no long axes"
    inner = inner_of(request.inputs, request.nodes)
    if inner == INNER or operations(request.nodes) > short:
        with inner_axes(inner):
            plan, why = _plan(request, short, insist)
    no_plan = why
    if plan is not None:
        # a program of many elements is scheduled for longer than it is run
        enough = math.inf if has_many(survey(request.nodes).apart) else GAIN * ALONE * cost(request.nodes)
        # sums have one order, in rows as in columns; a map has none
        along = line_of(plan) >= LINE or (is_map(plan) and not request.columns)
        if along or plan.estimate.once < enough:
            return plan
    if all(fixed(node.shape) is not None for node in request.inputs):
        other = plan.estimate.once if plan is not None else math.inf if insist else array_time(request.nodes)
        most = most_operations(other)
        expected = operations(request.nodes)
        if expected <= DOUBT * most:
            program, why = _program(request, most)
            if program is not None:
                return program
        else:
            why = f"the formula takes about {expected:.0f} scalar operations; more than {most} cost more than arrays"
    if plan is not None:
        return plan
    raise UnsupportedError(f"{why}; as a plan: {no_plan}")


def alone(request: Request) -> tuple[bool, ...]:
    """Return which inputs have a batch in a call of one sample: none."""
    return (False,) * len(request.usual)


def usual_of(request: Request, plan: Plan) -> Sequence[bool]:
    """Return which inputs have a batch in the calls that a plan of a formula is for."""
    return request.usual if any(BATCH in node.shape for node in plan.inputs) else alone(request)


def _program(request: Request, limit: int) -> tuple[Program | None, str]:
    """Return the program of a formula, or None and why there is none."""
    try:
        return request.lower(limit), ""
    except UnsupportedError as error:
        return None, str(error)  # the error itself would hold this frame, and the frame it


def _plan(request: Request, limit: int, insist: bool) -> tuple[Plan | None, str]:
    """Return the plan of a formula, or None and why there is none.

    Samples of a loop may go through it together, or one after the other, where a batch has no plan of its own: that of
    one sample is what such kernels have, whether the batch was told or comes with a call.
    """
    refused = ""
    loops = any(node.below & REPEATED for node in request.nodes)
    for usual in (request.usual, alone(request))[: 1 + (loops and any(request.usual))]:
        try:
            plan = plan_shorter(request.inputs, request.nodes, usual, limit, total=request.reduce)
            break
        except UnsupportedError as error:
            refused = refused or str(error)
    else:
        return None, refused
    if insist and any(isinstance(step, Call) for step in plan.steps):
        return None, "a part of it has no native form"
    return plan, ""
