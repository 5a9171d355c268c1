"""What a kernel tells of the formula that it was compiled from: shown, of other arrays, and at one point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...frontend.array import Array
from ...frontend.numpy.operands import as_node, provenance_of
from ...frontend.outputs import pack
from ...frontend.substitution import apply_to
from ..kept.lookup import Problem

__all__ = ["applied", "cause_in", "shown"]


def applied(problem: Problem, given: Sequence[Any]) -> Any:
    """Return the formula with other arrays in place of its inputs, of the shapes that they have."""
    inputs = list(problem.arguments.values())
    made = apply_to([output.node for output in problem.outputs], inputs, [as_node(one) for one in given])
    return pack(problem.structure, (Array(node, provenance_of(*given)) for node in made))


def cause_in(problem: Problem, number: int, values: Sequence[Any]) -> Any:
    """Return what makes an output of one sample infinite or nan."""
    from .explain import find_cause

    (output,) = shown([problem.outputs[number]])
    return find_cause(output.node, list(problem.arguments.values()), values)


def shown(outputs: Sequence[Array]) -> list[Array]:
    """Return the outputs as they are shown."""
    from ...rewrite import simplify  # not needed by a value

    nodes = simplify([output.node for output in outputs], written=True)
    return [Array(node, output.provenance) for node, output in zip(nodes, outputs, strict=True)]
