"""Terms that fill a part of an array: diagonals, blocks and bands among zeros.

A Jacobian of functions of one element each is a diagonal; the Hessian of a chain is three. The array is filled with
zeros once, and each term is a loop over its own elements, whatever the size of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ...graph import Node, constant, contract, elementwise, label_sizes
from ...graph.dump import record_text
from ...graph.primitives import DELTAS
from ...graph.scalars.arithmetic import scaled
from ...graph.sizes import Dim, sign
from .access import BATCH, Access, AxisIndex, NoLoopError, Range, all_of, is_long, over_long_axes
from .element import Elements

__all__ = ["PlacedTerm", "placed_terms"]

#: Most terms of one array.
TERMS = 32
#: Makes the element of a term, or None where it is no loop's work.
Element: TypeAlias = Callable[[Elements], Node | None]
#: Takes the place of an element in a part to its place in the whole.
Frame: TypeAlias = Callable[[Access], Access]


class PlacedTerm(NamedTuple):
    """A term of a sum.

    Parameters
    ----------
    loops : tuple of int or Size
    place : Access
        Where an element of it stands in the array; two axes may go along one loop.
    element : callable
        Makes the element, or None where it is no loop's work.
    whole : bool
        Whether it fills all of the array.
    """

    loops: tuple[Dim, ...]
    place: Access
    element: Callable[[Elements], Node | None]
    whole: bool

    def __repr__(self) -> str:
        return record_text(self)

    @property
    def ranges(self) -> list[Range]:
        """From where to where each loop goes."""
        return [(0, size) for size in self.loops]


def placed_terms(node: Node) -> list[PlacedTerm] | None:
    """Return the terms of an array, those that fill all of it first; None where no term is a diagonal or has gaps.

    Raises
    ------
    NoLoopError
        If where a term stands depends on sizes that are known at call time only.
    """
    parts = _parts(node)
    if parts is None or not (_has_gaps(node) or any(_is_diagonal(part) for _, part, _ in parts)):
        return None  # bands of vectors are loops in pieces, which write every element once
    whole = [(scale, part) for scale, part, frame in parts if frame is _here and not _is_diagonal(part)]
    made = [_dense(whole, node)] if whole else []
    # terms that stand at the same place are one
    groups: dict[tuple[tuple[Dim, ...], Access], list[Element]] = {}
    for scale, part, frame in parts:
        if frame is not _here or _is_diagonal(part):
            loops, place, element = _diagonal(part) if _is_diagonal(part) else _block(part)
            groups.setdefault((loops, frame(place)), []).append(_times(scale, element))
    return made + [PlacedTerm(loops, place, _sum(several), False) for (loops, place), several in groups.items()]


def _parts(node: Node) -> list[tuple[float, Node, Frame]] | None:
    """Return the terms of a sum, the number each is multiplied by, and where it stands."""
    terms: list[tuple[float, Node, Frame]] = []
    stack: list[tuple[float, Node, Frame]] = [(1.0, node, _here)]
    while stack:
        scale, part, frame = stack.pop()
        if part.is_additive and all(arg.shape == part.shape for arg in part.args):
            second = -scale if part.is_subtraction else scale
            stack += [(second, part.args[1], frame), (scale, part.args[0], frame)]
        elif part.is_pad:
            stack.append((scale, part.args[0], _within(part, frame)))
        else:
            factor, rest = scaled(part)
            if rest is part:
                terms.append((scale, part, frame))
            else:
                stack.append((scale * factor, rest, frame))
        if len(terms) + len(stack) > TERMS:
            return None
    return terms


def _here(place: Access) -> Access:
    return place


def _within(node: Node, frame: Frame) -> Frame:
    """Return where an element of what is padded stands."""

    def placed(access: Access) -> Access:
        rest = iter(access)
        place = []
        for start, step, length in node.payload.items:
            if length is None:
                place.append(AxisIndex(None, start, 1, None))
            else:
                index = next(rest)
                place.append(index._replace(start=start + step * index.start, step=step * index.step))
        return frame(tuple(place))

    return placed


def _has_gaps(node: Node) -> bool:
    """Tell whether an array has zeros between what is padded, so that no piece of a loop is like the next element."""
    return node.is_pad and any(
        abs(step) != 1 and length is not None and is_long(size)
        for (_, step, length), size in zip(node.payload.items, node.shape, strict=True)
    )


def _is_diagonal(node: Node) -> bool:
    """Tell whether a node is a long delta, or a product with one whose rows and columns it has."""
    if node.op in DELTAS:
        return any(map(is_long, node.shape))
    if not node.is_contraction:
        return False
    labels, out, _ = node.payload
    return any(
        arg.op in DELTAS and any(map(is_long, arg.shape)) and set(own) <= set(out)
        for arg, own in zip(node.args, labels, strict=True)
    )


def _times(scale: float, element: Element) -> Element:
    def product(elements: Elements) -> Node | None:
        value = element(elements)
        if value is None or scale == 1.0:
            return value
        return elementwise("negative", (value,)) if scale == -1.0 else elementwise("multiply", (constant(scale), value))

    return product


def _sum(several: list[Element]) -> Element:
    def total(elements: Elements) -> Node | None:
        result = None
        for element in several:
            value = element(elements)
            if value is None:
                return None
            result = value if result is None else elementwise("add", (result, value))
        return result

    return total


def _dense(terms: list[tuple[float, Node]], node: Node) -> PlacedTerm:
    loops, place = over_long_axes(node.shape)
    return PlacedTerm(loops, place, _sum([_times(scale, _at(part, place)) for scale, part in terms]), True)


def _at(node: Node, place: Access) -> Element:
    return lambda elements: elements.at((node, place))


def _block(node: Node) -> tuple[tuple[Dim, ...], Access, Element]:
    """Return a loop over all of an array."""
    loops, place = over_long_axes(node.shape)
    return loops, place, _at(node, place)


def _diagonal(node: Node) -> tuple[tuple[Dim, ...], Access, Element]:
    """Return a product with deltas as a loop over the elements that are not zero."""
    if node.op in DELTAS:
        args: tuple[Node, ...] = (node,)
        out = tuple(range(node.ndim))
        labels, sizes = (out,), dict(zip(out, node.shape, strict=True))
    else:
        (labels, out, _), args, sizes = node.payload, node.args, label_sizes(node)
    dense: list[tuple[Node, tuple[int, ...]]] = []
    structure: list[tuple[Node, tuple[int, ...]]] = []
    for arg, own in zip(args, labels, strict=True):  # what is summed is no place, but a number
        (structure if arg.op in DELTAS and set(own) <= set(out) else dense).append((arg, own))
    if any(label not in out for _, own in dense for label in own):
        # a product of its own, which is summed before it is placed
        kept = tuple(dict.fromkeys(label for _, own in dense for label in own if label in out))
        kept = tuple(sorted(kept, key=lambda label: sizes[label] != BATCH))
        dense = [(contract([arg for arg, _ in dense], [own for _, own in dense], kept), kept)]
    free = list(out)
    where: dict[int, AxisIndex] = {}
    for arg, own in sorted(structure, key=lambda each: not each[0].is_onehot):
        if arg.is_onehot:
            if own[0] in where:
                raise NoLoopError("two places along one axis")
            where[own[0]] = AxisIndex(None, arg.payload.at, 1, None)
            free.remove(own[0])
            continue
        row, column = own
        start, step = arg.payload
        last = start + step * (arg.shape[0] - 1)
        inside = [start, last, arg.shape[1] - 1 - start, arg.shape[1] - 1 - last]
        if any(sign(each) < 1 for each in inside) or row in where or column in where:
            raise NoLoopError("a diagonal that leaves its array, or crosses another one")
        where[column] = AxisIndex(row, start, step, None)
        free.remove(column)
    rows = {index.loop for index in where.values()}  # a loop goes along them, be they few
    order = [label for label in free if is_long(sizes[label]) or label in rows]
    order.sort(key=lambda label: sizes[label] != BATCH)
    loops = {label: AxisIndex(loop, 0, 1, None) for loop, label in enumerate(order)}
    for label in free:
        where.setdefault(label, loops[label] if label in loops else all_of(sizes[label]))
    for label, index in where.items():
        if index.loop is not None and label not in loops:
            if index.loop not in loops:
                raise NoLoopError("a diagonal at one place of an axis")
            where[label] = index._replace(loop=loops[index.loop].loop)

    def element(elements: Elements) -> Node | None:
        parts = [elements.at((arg, tuple(where[label] for label in own))) for arg, own in dense]
        own = [tuple(label for label in each if where[label].length is not None) for _, each in dense]
        result = tuple(label for label in out if where[label].length is not None)
        if not parts and not result:
            return constant(1.0)
        lengths = {label: where[label].length for label in result}
        return contract(parts, own, result, {k: v for k, v in lengths.items() if v is not None})

    return tuple(sizes[label] for label in order), tuple(where[label] for label in out), element
