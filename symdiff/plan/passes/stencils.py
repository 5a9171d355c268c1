"""Stencils of stencils: where a fused element would read too many neighbours, the inner stencil is an array."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import BOOL, Node, postorder
from ...graph.primitives import LISTED
from ...graph.scalars.functions import FUNCTIONS
from ..loops.access import is_long

__all__ = ["moved_arrays"]

#: Operations that move elements along an axis.
_MOVES = frozenset({"slice", "pad", "concatenate", *LISTED})


def moved_arrays(roots: Sequence[Node]) -> frozenset[Node]:
    """Return the computed arrays of which parts are moved: each may be a step of its own.

    Fused, an element of a stencil of a stencil reads the neighbours of its neighbours, and the ranges at the edges
    multiply. Where that costs too much, the inner stencil becomes a step.
    """
    return frozenset(
        arg
        for node in postorder(roots)
        if node.op in _MOVES
        for arg in node.args
        if arg.op in FUNCTIONS and arg.dtype is not BOOL and any(map(is_long, arg.shape))
    )
