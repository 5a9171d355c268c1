"""Accesses: the place of a loop's element along each axis of an array, as a function of the loop's index.

Ranges of a loop's index, whose ends may be sizes that are known at call time only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

from ..._kernels.system.scopes import Bound
from ...errors import UnsupportedError
from ...graph import REAL, Item, Node, placeholder
from ...graph.primitives import ADJUGATES, DELTAS, ITERATED, Assumptions
from ...graph.sizes import Dim, Shape, Size, named, sign
from ..matrices import COFACTOR_LIMIT, said_of_indefinite

__all__ = ["Range", "cut"]


#: A half-open range of indices.
Range: TypeAlias = tuple[Dim, Dim]

def cut(ranges: list[Range], places: Sequence[Dim], most: int = 32) -> list[Range]:
    """Cut adjoining ranges at those of ``places`` that stand within one of them; stop when there are too many."""
    result: list[Range] = []
    todo = [(part, list(dict.fromkeys(places))) for part in ranges[::-1]]
    while todo:
        (low, high), within = todo.pop()
        inside = [at for at in within if sign(at - low - 1) == 1 and sign(high - at - 1) == 1]
        if inside and len(result) + len(todo) + 2 <= most:
            todo += [((inside[0], high), inside), ((low, inside[0]), inside)]
        else:
            result.append((low, high))
    return result


#: The number of samples of a call, or of rows: the axis of tiles. No letter of a user's is called so.
BATCH: Size = named("(batch)")
#: The longest axis that one element of a loop may have to itself.
INNER = 32


class AxisIndex(NamedTuple):
    """Place of an element of a loop along one axis of an array.

    Parameters
    ----------
    loop : int or None
        The loop whose index i counts, from 0; None for a place that is the same for all.
    start : int or Size
    step : int
        It stands at ``start + step*i``.
    length : int or None
        None for one position; else the axis stays, with so many positions ``step`` apart.
    listed : tuple of int or None
        The positions instead, for each i of the loop's range in order.
    """

    loop: int | None
    start: Dim
    step: int
    length: Dim | None
    listed: tuple[int, ...] | None = None


Access: TypeAlias = tuple[AxisIndex, ...]
#: A node and the place in it that is asked for.
Place: TypeAlias = tuple[Node, Access]
#: The places that an element is made of, and how it is made of what stands there.
Rule: TypeAlias = tuple[list[Place], Callable[[Sequence[Node]], Node]]
#: Makes the result of an operation from its element and the numbers of some of its axes.
Build: TypeAlias = Callable[[Node, tuple[int, ...]], Node]


class NoLoopError(UnsupportedError):
    """A formula cannot be computed by loops; the message says why."""


class OrderError(NoLoopError):
    """Which of two places in an array is the first depends on its sizes."""

    def __init__(self) -> None:
        super().__init__("where a part of an array ends depends on its sizes")


class CutError(Exception):
    """Raised where the formula of an element changes within a loop, which is to be cut at one of these places."""

    def __init__(self, loop: int, places: list[Dim]) -> None:
        self.loop = loop
        self.places = places


class PiecesError(NoLoopError):
    """A loop has more pieces than it may have, or its elements take more others."""


#: Elements of nodes that are made while the loops of one formula are looked for.
MOST = 100_000


class Allowance:
    """Number of elements that may still be made, in all the tries for one formula together."""

    def __init__(self, most: int = MOST) -> None:
        self.most = self.left = most

    def take(self) -> None:
        """Make one."""
        self.left -= 1
        if self.left < 0:
            raise PiecesError(f"its elements take more than {self.most} others")


class Bounds(NamedTuple):
    """Limits of loops.

    Parameters
    ----------
    pieces, elements : int
        Of one loop, and in all, at most.
    apart : frozenset of Node
        Arrays that no loop computes again.
    """

    pieces: int
    elements: int
    apart: frozenset[Node]


class LoopInput(NamedTuple):
    """A port: an array that a loop reads, at a place that depends on the indices of its loops."""

    source: Node
    access: Access


def port_node(number: int, port: LoopInput, lengths: Shape) -> Node:
    """Return the input of a loop's formula that stands for what is read, definite where that is whole such matrices."""
    node, access = port
    is_matrix = node.ndim >= 2 and all(
        index.length is not None and is_whole(index, size)
        for index, size in zip(access[-2:], node.shape[-2:], strict=True)
    )
    said = said_of_indefinite(node) if is_matrix else ""
    if not said:
        return placeholder(("port", number), lengths)
    return placeholder(("port", number, said), lengths, REAL, Assumptions(symmetric=True, definite=True))


class Check(NamedTuple):
    """A slice of an axis of symbolic size, which has to fit when the size is known."""

    item: Item
    size: Dim


_inner: ContextVar[int] = ContextVar("inner", default=INNER)


def inner_axes(most: int) -> Bound[int]:
    """Let an element have axes of at most so many positions to itself, while a formula is planned."""
    return Bound(_inner, most)


def inner_limit() -> int:
    """Return the longest axis that one element may have to itself."""
    return _inner.get()


def is_long(size: Dim) -> bool:
    """Tell whether an axis is one to loop over."""
    return isinstance(size, Size) or size > inner_limit()


def is_iterated(node: Node) -> bool:
    """Tell whether a function of matrices is no straight-line code, however few rows they have."""
    if node.op in ADJUGATES:
        return is_long(node.shape[-1]) or node.shape[-1] > COFACTOR_LIMIT
    return node.op in ITERATED


def is_given(node: Node) -> bool:
    """Tell whether an array is there without a step: an input, a constant or a size."""
    return not node.args and node.op not in DELTAS


def all_of(size: Dim) -> AxisIndex:
    """Return the index that keeps a whole axis."""
    return AxisIndex(None, 0, 1, size)


def is_whole(index: AxisIndex, size: Dim) -> bool:
    """Tell whether an index keeps a whole axis, of fixed size."""
    return index == AxisIndex(None, 0, 1, size) and isinstance(size, int)


def spread(index: AxisIndex, size: Dim, result: Dim) -> AxisIndex:
    """Return where an argument is read whose axis of length 1 may be repeated."""
    if size == result:
        return index
    return AxisIndex(None, 0, 1, None) if index.length is None else all_of(1)


def inner(access: Access) -> Shape:
    """Return the shape of what stands at a place."""
    return tuple(index.length for index in access if index.length is not None)


def listed_along(indices: tuple[int, ...], start: int, step: int, where: range) -> tuple[int, ...]:
    """Return what stands in a list at ``start + step*i``, for each i in ``where``.

    Lists have as many numbers as arrays have elements: what is the whole list is the same tuple.
    """
    if step > 0 and where:
        return indices[start + step * where[0] : start + step * where[-1] + 1 : step]
    return tuple([indices[start + step * i] for i in where])


def axis_within(access: Access, axis: int) -> int:
    """Return the number that an axis has among those that stay."""
    return sum(index.length is not None for index in access[:axis])


def over_long_axes(shape: Shape) -> tuple[tuple[Dim, ...], Access]:
    """Return loops over the long axes of an array, and the place of an element, which has the short ones to itself."""
    long = [axis for axis, size in enumerate(shape) if is_long(size)]
    place = tuple(
        AxisIndex(long.index(axis), 0, 1, None) if axis in long else all_of(size) for axis, size in enumerate(shape)
    )
    return tuple(shape[axis] for axis in long), place


def without_leading_ones(args: Sequence[Node]) -> tuple[Node, ...]:
    """Return the arguments of a function without axes of length 1 in front that another one makes up for.

    The batch puts them there; without them, an element of a batch is written as one of a single sample is.
    """
    whole = max(args, key=lambda arg: (arg.ndim, not arg.is_reshape))
    return tuple(arg.args[0] if arg is not whole and _has_ones_in_front(arg) else arg for arg in args)


def _has_ones_in_front(node: Node) -> bool:
    """Tell whether a reshape gives an array axes of length 1 in front, and nothing else."""
    if not node.is_reshape:
        return False
    shape = node.args[0].shape
    return node.shape == (*(1,) * (node.ndim - len(shape)), *shape)
