"""Elements of arrays by index: what stands behind the arrow of ``[i, j, k] -> A[i, j] * x[k]``.

The language is small on purpose: sums of products of elements and scalars. An index that the
result lacks is summed over, in each product of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...errors import LimitError, ParseError, ShapeError
from ...graph.sizes import Dim, show
from ...ground.budget import spend
from ...ground.grammar import SyntaxNode
from ..array import Array, call
from ..numpy.library import LIBRARY

#: What stands for indices in contractions.
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
