"""Arrays that stencils of stencils read: where an element is made of many places, the inner ones may be arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import BOOL, Node, postorder
from ...graph.primitives import LISTED
from ...graph.scalars.functions import FUNCTIONS
from ..loops.access import is_long

__all__ = ["moved_arrays"]

#: Operations that read or write other places along an axis than those of their results.
_MOVES = frozenset({"slice", "pad", "concatenate", *LISTED})


def moved_arrays(roots: Sequence[Node]) -> frozenset[Node]:
    """Return the arrays that are computed, and of which parts are moved.

    A stencil of a stencil has an element of as many as both reach, and as many pieces at the edges: where these are too
    many, the inner one is an array of its own.
    """
    return frozenset(
        arg
        for node in postorder(roots)
        if node.op in _MOVES
        for arg in node.args
        if arg.op in FUNCTIONS and arg.dtype is not BOOL and any(map(is_long, arg.shape))
    )
