"""SymPy to graph: the front door. The readers of SymPy's classes are in the two modules beside it."""

from __future__ import annotations

from typing import Any

from ..graph import Node, substitute
from .inputs import Inputs
from .matrices import READERS
from .readers import Reading


def from_sympy(expr: Any, inputs: Inputs | None = None) -> Node:
    """Return the graph of a SymPy expression, matrix or array.

    Parameters
    ----------
    expr : sympy.Basic or mutable matrix or array of SymPy
    inputs : Inputs, optional
        The registry of symbols; give the same one for all expressions of one formula.

    Returns
    -------
    Node
        Scalars have no axes, SymPy's matrices always two.

    Raises
    ------
    UnsupportedError
        Naming the SymPy class that symdiff does not read, and what to do.
    LimitError
        If a Sum or Product unrolls to more than ``LIMITS.nodes`` terms.

    Examples
    --------
    >>> import sympy
    >>> A = sympy.MatrixSymbol("A", 2, 3)
    >>> from_sympy(A * A.T).shape
    (2, 2)
    """
    registry = Inputs() if inputs is None else inputs
    before = len(registry)
    node = Reading(registry, READERS).read(expr)
    replace = registry.settle(before)
    return substitute([node], replace)[0] if replace else node
