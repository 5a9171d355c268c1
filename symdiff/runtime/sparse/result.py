"""One output of a kernel, with the layout of its nonzeros where it is sparse, and where these stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import ShapeError
from ...graph import Node
from ...graph.sizes import product, show
from ...ground.stages import later
from ...lowering.sparse.entries import SparsePattern
from ...lowering.sparse.formats import Format
from ...lowering.sparse.layouts import Layout, ListedLayout, OrderedLayout
from ..calls.arguments import Parameter
from ..calls.containers import rank_of

__all__ = ["Coordinates", "Result", "refuse_batch"]


class Coordinates(tuple[Any, Any]):
    """The rows and the columns of nonzeros, a pair of arrays, which a notebook draws.

    Attributes
    ----------
    shape : tuple of int
        Of the matrix.

    Examples
    --------
    >>> import symdiff as sd
    >>> found = sd.compile("jacobian(x * x, x)", x="n", sparse="csr").pattern(n=2)
    >>> rows, columns = found
    >>> found, found.shape
    ((array([0, 1], dtype=int32), array([0, 1], dtype=int32)), (2, 2))
    """

    shape: tuple[int, int]

    def __new__(cls, pattern: SparsePattern) -> Coordinates:
        """Take the coordinates of a pattern, and its shape."""
        made = super().__new__(cls, pattern.coordinates())
        made.shape = pattern.shape
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def _repr_html_(self) -> str:
        return str(later.page.nonzeros(self.shape, *self))


class Result(NamedTuple):
    """One output of a kernel.

    Parameters
    ----------
    name : str
    node : Node
        The whole array.
    format : Format or None
        None for a dense one.
    layout : Layout or None
        How its nonzeros are computed.
    """

    name: str
    node: Node
    format: Format | None
    layout: Layout | None

    def values(self, listed: bool) -> list[Node]:
        """Return what is to be computed."""
        if self.layout is None:
            return [self.node]
        return ListedLayout(self.layout.matrix).values if listed else self.layout.values

    @property
    def shape(self) -> Any:
        """The shape that the kernel tells: of values in an order that is known, their number."""
        if self.layout is None or self.format is None:
            return self.node.shape
        if isinstance(self.layout, OrderedLayout) and self.format.kind == "values":
            return (self.layout.pattern.size,)
        rows = self.format.rows
        return product(self.node.shape[:rows]), product(self.node.shape[rows:])


def refuse_batch(inputs: Sequence[Parameter], args: Sequence[Any], result: Result) -> None:
    """Refuse a batch for a result that holds one sample.

    Raises
    ------
    ShapeError
        With the argument that is a batch.
    """
    for parameter, argument in zip(inputs, args, strict=True):
        if rank_of(argument) > len(parameter.shape):
            kind = result.format.kind if result.format is not None else ""
            raise ShapeError(
                f"{parameter.name} has shape {show(np.shape(argument))}, a batch; {result.name} comes back as "
                f"{kind}, which holds one sample, of shape {show(parameter.shape)}. Compile with sparse='values' "
                "for data of shape (..., nonzeros) and kernel.pattern() for where they stand, or with reduce='sum'"
            )
