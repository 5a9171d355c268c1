"""The exponential of any square matrix, and its derivative in a direction."""

from __future__ import annotations

from ....errors import ShapeError
from ....graph import Node, exponential
from ....graph.scalars.functions import to_real
from ....graph.sizes import show


def expm_frechet(a: Node, e: Node) -> tuple[Node, Node]:
    """Return the exponential of ``a`` and its derivative in the direction ``e``."""
    a, e = to_real(a), to_real(e)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or e.shape != a.shape:
        raise ShapeError(
            f"expm_frechet of shapes {show(a.shape)} and {show(e.shape)}; expected square matrices of one shape"
        )
    return exponential(a), exponential(a, e)
