"""Values of terms that are no single array yet: numbers, lists and tuples of arrays, elements of arrays by index.

In ``[i, j, k] -> A[i, j] * x[k]`` sums of products of elements and scalars stand behind the arrow. An index that the
result lacks is summed over, in each product of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import LimitError, ParseError, ShapeError
from ...graph import Node, placeholder, substitute
from ...graph.sizes import Dim, Shape, show
from ...ground.budget import spend
from ...ground.grammar import SyntaxNode
from ..array import Array, Shifted, asarray, call
from ..numpy.library import LIBRARY
from ..outputs import Sparse, leaves

#: Labels of indices in contractions.
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Axis:
    """An index by its name."""

    name: str


class Element(NamedTuple):
    """An array and the name of an index for each axis."""

    array: Array
    names: tuple[str, ...]


@dataclass(frozen=True)
class IndexedProduct:
    """A product of elements, times a scalar."""

    elements: tuple[Element, ...]
    scale: Array | None = None

    def scaled(self, by: Array, *, divides: bool = False) -> IndexedProduct:
        """Return the product times a scalar, or divided by it."""
        if divides:
            return replace(self, scale=(1.0 if self.scale is None else self.scale) / by)
        return replace(self, scale=by if self.scale is None else self.scale * by)


@dataclass(frozen=True)
class Indexed:
    """A sum of products of elements; True marks those subtracted."""

    products: tuple[tuple[IndexedProduct, bool], ...]


def element(array: Array, axes: Sequence[object]) -> Indexed:
    """Return an element of an array.

    Raises
    ------
    ParseError
        If an index is no name.
    ShapeError
        If they are not one for each axis.
    """
    if not all(isinstance(axis, Axis) for axis in axes):
        message = "names of indices beside numbers, positions or slices; expected one or the other"
        raise ParseError(f"{message}, A[i, j] or A[1:][i, j]")
    names = tuple(axis.name for axis in axes if isinstance(axis, Axis))
    if len(names) != array.ndim:
        raise ShapeError(f"{len(names)} indices of an array of shape {show(array.shape)}; expected one for each axis")
    return Indexed(((IndexedProduct((Element(array, names),)), False),))


def combined(symbol: str, a: Indexed | Array, b: Indexed | Array) -> Indexed:
    """Return ``a symbol b``, of which one is by index at least.

    Raises
    ------
    ParseError
        If the operator is none of + - * /, or the operands are none for it.
    """
    spend(1)
    if symbol in ("+", "-") and isinstance(a, Indexed) and isinstance(b, Indexed):
        spend(len(a.products) + len(b.products))
        turned = tuple((product, minus != (symbol == "-")) for product, minus in b.products)
        return Indexed(a.products + turned)
    if symbol == "*" and isinstance(a, Indexed) and isinstance(b, Indexed):
        if len(a.products) > 1 or len(b.products) > 1:
            raise ParseError("a product with a sum of elements; expected a sum of products, A[i] * B[j] + A[i] * C[j]")
        ((p, p_minus),), ((q, q_minus),) = a.products, b.products
        product = IndexedProduct(p.elements + q.elements, p.scale)
        return Indexed(((product if q.scale is None else product.scaled(q.scale), p_minus != q_minus),))
    if symbol == "*" or (symbol == "/" and isinstance(a, Indexed)):
        indexed, other = (a, b) if isinstance(a, Indexed) else (b, a)
        if isinstance(indexed, Indexed) and isinstance(other, Array):
            if other.ndim:
                raise ParseError(
                    f"an array of shape {show(other.shape)} beside elements; expected an index for each of its axes"
                )
            scaled = [(p.scaled(other, divides=symbol == "/"), minus) for p, minus in indexed.products]
            return Indexed(tuple(scaled))
    raise ParseError(f"{symbol!r} with elements by index; expected sums of products of elements, and scalars")


def negated(a: Indexed) -> Indexed:
    """Return ``-a``."""
    return Indexed(tuple((product, not minus) for product, minus in a.products))


def array_of(names: Sequence[str], body: Indexed) -> Array:
    """Return the array that has the elements ``body`` at the indices ``names``.

    Raises
    ------
    ParseError
        If a product lacks an index of the result.
    ShapeError
        If an index runs over axes of different sizes.
    LimitError
        If there are more indices than letters.
    """
    (first, negative), *rest = body.products
    result = -_contracted(names, first) if negative else _contracted(names, first)
    for product, minus in rest:
        part = _contracted(names, product)
        result = result - part if minus else result + part
    return result


def _contracted(names: Sequence[str], product: IndexedProduct) -> Array:
    sizes: dict[str, Dim] = {}
    for array, own in product.elements:
        for name, size in zip(own, array.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise ShapeError(f"the index {name} runs over axes of sizes {sizes[name]} and {size}")
    for name in names:
        if name not in sizes:
            raise ParseError(f"the index {name} of the result is in no factor of a term; write x[i] * ones(n)[{name}]")
    if len(sizes) > len(_LETTERS):
        raise LimitError(f"{len(sizes)} indices in one product; at most {len(_LETTERS)} are read")
    letters = dict(zip(sizes, _LETTERS, strict=False))
    terms = ",".join("".join(letters[name] for name in own) for _, own in product.elements)
    subscripts = f"{terms}->{''.join(letters[name] for name in names)}"
    part: Array = call(LIBRARY["einsum"], (subscripts, *(array for array, _ in product.elements)), {})
    return part if product.scale is None else product.scale * part


def arrows_of(terms: Sequence[SyntaxNode], kind: str) -> dict[str, list[tuple[int, int]]]:
    """Return from where to where each name is one of an arrow's, in order, without those inside of others."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for start, end, names in sorted((t.start, t.end, t.value) for t in terms if t.kind == kind):
        for name in names:
            known = spans.setdefault(name, [])
            if not known or known[-1][1] <= start:
                known.append((start, end))
    return spans


@dataclass(frozen=True)
class Listing:
    """A list in brackets, before it becomes an array, an index or the arguments of ``stack``."""

    items: list[Any]
    levels: int
    rank: int  # the largest of its leaves' ranks: 0 whole numbers, 1 numbers, 2 arrays, 3 tuples
    misplaced: int = -1  # the first term that is a tuple, which is no part of an array


@dataclass(frozen=True)
class Mapped:
    """A function of a letter, ``x -> exp(x)``: of a number for ``funm``, of an array where a start says its shape."""

    variable: Node
    body: Array

    @classmethod
    def of(cls, name: str, shape: Shape = ()) -> Node:
        """Return what stands for an array of this name."""
        return placeholder(("mapped", name), shape)

    def __call__(self, x: Array) -> Array:
        """Return the function of a symbol."""
        return Array(substitute([self.body.node], {self.variable: x.node})[0])


def levels_of(value: Any) -> int:
    """Return how deep tuples and lists are nested in each other."""
    return 1 + max(map(levels_of, value), default=0) if isinstance(value, tuple | list) else 0


def shape_of(value: Any) -> Shape | None:
    """Return the shape of an array, number or list of such; None where no array is made of it."""
    if not isinstance(value, list):
        return value.shape if isinstance(value, Array) else None if isinstance(value, tuple) else ()
    first, *rest = map(shape_of, value) if value else [None]
    return None if first is None or any(shape != first for shape in rest) else (len(value), *first)


def results_of(value: Any) -> Any:
    """Return several results, nested as they are written; a list is an array where its parts have one shape."""
    if isinstance(value, tuple):
        if not value:
            raise ParseError("an empty tuple among the results; expected formulas")
        return tuple(map(results_of, value))
    if not isinstance(value, list):
        return asarray(value)
    if not any(isinstance(leaf, Array) for leaf in leaves(value)):
        return matrix_of(value)
    return asarray(value) if shape_of(value) is not None else list(map(results_of, value))


def matrix_of(rows: list[Any]) -> Array:
    """Return rows of numbers as an array."""
    try:
        numbers = np.array(rows, float)
    except ValueError:
        raise ShapeError("the rows of this matrix differ in length; expected equal lengths") from None
    return asarray(numbers)


def ndim_of(value: Any) -> int:
    """Return the number of axes of a value; a plain number has none."""
    return value.ndim if isinstance(value, Array) else 0


def described(value: Any) -> str:
    """Return how a message calls a value."""
    if isinstance(value, Array | Listing):
        return "a formula"
    if isinstance(value, Sparse):
        return "a sparse matrix, which products make vectors of"
    if isinstance(value, Indexed | Axis):
        return "elements by index" if isinstance(value, Indexed) else f"the index {value.name}"
    if isinstance(value, Shifted):
        return "positions, which stand in an index"
    if isinstance(value, Mapped):
        return "a function of a letter"
    if isinstance(value, tuple | slice):
        return f"a {type(value).__name__}"
    return "'...'" if value is ... else repr(value)


def shortened(text: str, length: int) -> str:
    """Return a text without its middle where it is longer than a message takes."""
    half = length // 2 - 2
    return text if len(text) <= length else f"{text[:half]} ... {text[-half:]}"


def no_index(value: Any) -> str:
    """Say of a value that it is no index, and what to write."""
    message = "expected a whole number, a slice, None, ... or a list of whole numbers as index, found "
    if isinstance(value, Listing):
        return f"{message}a list with other things; take elements one by one, as in [x[0], x[i]]"
    if isinstance(value, Array):
        return (
            f"{message}a formula; declare positions that a call brings: i=int for one, i=(int, 'm') for several (to "
            "choose by a condition, write where)"
        )
    return message + described(value)
