"""One output of a kernel, with the layout of its nonzeros where it is sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...graph import Node
from ...graph.sizes import product
from ...sparse.formats import Format
from ...sparse.layouts import Layout, OrderedLayout

__all__ = ["Result"]


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
        return self.layout.matrix.values if listed else self.layout.values

    @property
    def shape(self) -> Any:
        """The shape that the kernel tells: of values in an order that is known, their number."""
        if self.layout is None or self.format is None:
            return self.node.shape
        if isinstance(self.layout, OrderedLayout) and self.format.kind == "values":
            return (self.layout.pattern.size,)
        rows = self.format.rows
        return product(self.node.shape[:rows]), product(self.node.shape[rows:])
