"""What a kernel tells of the formula that it was compiled from: shown, of other arrays, and at one point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError
from ...frontend.array import Array
from ...frontend.numpy.operands import as_node, provenance_of
from ...frontend.outputs import pack
from ...frontend.shapes import words
from ...graph import resize
from ...graph.size_equations import match
from ...simplify import simplify
from ...simplify.facts import lacks
from ..kept.lookup import Problem

__all__ = ["applied", "cause_in", "shown"]


def applied(problem: Problem, given: Sequence[Any]) -> Any:
    """Return the formula with other arrays in place of its inputs, of the shapes that they have."""
    inputs = list(problem.arguments.values())
    nodes = [as_node(one) for one in given]
    for own, node in zip(inputs, nodes, strict=True):
        if lacks(node, own.assumptions):
            raise ArgumentError(
                f"{own.name} is declared {' and '.join(words(own.assumptions))}, which what comes in its place is not "
                "known to be; declare its inputs so that it is, or compile a formula of undeclared inputs"
            )
    sizes = match([str(own.name) for own in inputs], [own.shape for own in inputs], [one.shape for one in nodes])
    made = resize([output.node for output in problem.outputs], dict(zip(inputs, nodes, strict=True)), sizes)
    return pack(problem.structure, (Array(node, provenance_of(*given)) for node in made))


def cause_in(problem: Problem, number: int, values: Sequence[Any]) -> Any:
    """Return what makes an output of one sample infinite or nan."""
    from .explain import find_cause

    (output,) = shown([problem.outputs[number]])
    return find_cause(output.node, list(problem.arguments.values()), values)


def shown(outputs: Sequence[Array]) -> list[Array]:
    """Return the outputs as they are shown."""
    nodes = simplify([output.node for output in outputs], written=True)
    return [Array(node, output.provenance) for node, output in zip(nodes, outputs, strict=True)]
