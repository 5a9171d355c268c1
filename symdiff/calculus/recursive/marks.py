"""Where the results of a loop count, as numbers that a loop can carry: 1 where they do, 0 elsewhere.

A loop's value is one vector of all its results, and so is the mask of its cotangent. What is of one result is read off
its form, so that a result that counts everywhere, or as one in each step, is known as such and costs as little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...graph import Item, Node, broadcast_to, constant, elementwise, parts_of, reshape, slicing, whole, zeros
from ...graph.scalars.functions import compare, scalar_constant, to_real
from ...graph.sizes import Shape
from ...rewrite import simplify
from ..masking import Masked, any_along, both

__all__ = ["Marks", "as_mask", "as_numbers", "counted", "marks_of"]


class Marks(NamedTuple):
    """Where each result of a loop counts: None everywhere, else numbers, of each step if the result is of steps.

    ``whole`` tells that they are one number a step, for all elements.
    """

    numbers: list[Node | None]
    whole: bool

    def shape(self, shape: Shape) -> Shape:
        """Return the shape of a step's mark."""
        return () if self.whole else shape

    def counted(self, image: Masked | None, shape: Shape) -> Node:
        """Return where a step's image counts."""
        mask = None if image is None else image.mask
        if image is not None and mask is not None and self.whole:
            image = Masked(image.value, reshape(any_along(mask, range(mask.ndim)), ()), image.settled)
        return counted(image, self.shape(shape))


def as_mask(mark: Node, rows: int = 0) -> Node:
    """Return numbers as the mask that they stand for: of a whole step, behind axes of rows, and of elements."""
    mask = compare("not_equal", mark, 0.0)
    whole_step = both(any_along(mask, range(rows, mask.ndim)), mask)
    assert whole_step is not None
    return whole_step


def as_numbers(mask: Node | None, shape: Shape) -> Node:
    """Return a mask as numbers, of the shape of what it is of."""
    return broadcast_to(constant(1.0) if mask is None else to_real(mask), shape)


def counted(image: Masked | None, shape: Shape) -> Node:
    """Return where an image counts, as numbers."""
    return zeros(shape) if image is None else as_numbers(image.mask, shape)


def marks_of(node: Node, mask: Node | None, used: Sequence[bool]) -> Marks | None:
    """Return where the results that are ``used`` count in a mask of a loop's value, None where all do everywhere."""
    if mask is None:
        return None
    first = len(node.payload.body.carried)
    line = as_numbers(mask, node.shape)
    places: list[Item] = [(part.start, 1, part.size) for part in parts_of(node)]
    own = [
        _read(_share(line, place, places), part.shape) if has else zeros(part.shape)
        for place, part, has in zip(places, parts_of(node), used, strict=True)
    ]
    own = simplify(own)
    if all(scalar_constant(mark) == 1.0 for mark, has in zip(own, used, strict=True) if has):
        return None
    alike = all(_is_alike(mark, 0 if k < first else 1) for k, mark in enumerate(own))
    if alike:
        own = [_first(mark, min(mark.ndim, 0 if k < first else 1)) for k, mark in enumerate(own)]
    return Marks([None if scalar_constant(mark) == 1.0 else mark for mark in own], alike)


#: What masks, and they as numbers, are made of, element by element.
_CONDITIONS = ("to_real", "not_equal", "less", "less_equal", "equal", "logical_and", "logical_or", "logical_not")


def _of_condition(x: Node, take: Callable[[Node], Node]) -> Node | None:
    """Return the part of a condition, or of it as numbers, that ``take`` takes of arrays of its shape."""
    if x.op not in _CONDITIONS:
        return None
    return elementwise(x.op, tuple(take(arg) if arg.shape == x.shape else arg for arg in x.args), x.dtype)


def _share(x: Node, place: Item, places: Sequence[Item]) -> Node:
    """Return what stands at one of several places in a vector."""
    part = _of_condition(x, lambda arg: _share(arg, place, places))
    if part is not None:
        return part
    if x.is_pad and x.payload.items[0] in places:
        return x.args[0] if x.payload.items[0] == place else zeros(slicing(x, (place,)).shape)
    return slicing(x, (place,))


def _read(x: Node, shape: Shape) -> Node:
    """Return a vector's elements as an array of a shape."""
    part = _of_condition(x, lambda arg: _read(arg, shape))
    return part if part is not None else reshape(x.args[0] if x.is_reshape else x, shape)


def _is_alike(x: Node, lead: int) -> bool:
    """Tell whether an array is known to be one number behind its first axes."""
    if x.ndim <= lead or all(size == 1 for size in x.shape[lead:]):
        return True
    if x.is_contraction and len(x.args) == 1:
        _, out, repeated = x.payload
        new = {label for label, _ in repeated}
        return all(label in new for label in out[lead:])
    return bool(x.args) and x.op in _CONDITIONS and all(_is_alike(arg, lead) for arg in x.args if arg.ndim)


def _first(x: Node, lead: int) -> Node:
    """Return the first number behind some axes."""
    (one,) = simplify([slicing(x, (*map(whole, x.shape[:lead]), *[(0, 1, None)] * (x.ndim - lead)))])
    return one
