"""SymPy to graph: the readers of all classes, put to work on one expression."""

from __future__ import annotations

from typing import Any

from ...graph import Node, substitute
from .definitions import Definitions
from .inputs import Inputs
from .read_matrices import READERS
from .read_scalars import Reading


def read(expr: Any, inputs: Inputs) -> Node:
    """Return the graph of a SymPy expression; see :func:`symdiff.frontend.sympy.from_sympy`."""
    before = len(inputs)
    reading = Reading(inputs, READERS)
    if isinstance(expr, Definitions):
        for symbol, value in expr.definitions:
            reading.defined[symbol] = reading.read(value)
        expr = expr.result
    node = reading.read(expr)
    replace = inputs.settle(before)
    return substitute([node], replace)[0] if replace else node
