"""Arrays of three and more axes by index: A[i, k] B[l, j] at [i, j, k, l], where matrix notation ends.

A term of products becomes a sum of products of elements. An index that the result lacks is summed
over. So are vectors of neighbours, x[i - 1] + x[i + 1], in the styles that write them so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from ...graph.sizes import Dim, Shape
from .terms import LETTERS, Term, names_in, number, postorder

#: Most terms, and most factors of a term.
_MOST = 16


class IndexedTerm(NamedTuple):
    """A term of the sum: its sign, scalars and divisors, and arrays, each with its indices as they are written."""

    minus: bool
    scalars: list[Term]
    divisors: list[Term]
    factors: list[tuple[Term, tuple[str, ...]]]


class IndexForm(NamedTuple):
    """Data of a term of kind ``by_index``: the indices of the result, and a sum of products."""

    out: tuple[str, ...]
    products: tuple[IndexedTerm, ...]


@dataclass
class _Product:
    """A product that is being split into factors; an element's label may be moved by a number of places."""

    minus: bool = False
    scalars: list[Term] = field(default_factory=list)
    divisors: list[Term] = field(default_factory=list)
    factors: list[tuple[Term, tuple[tuple[int, int], ...]]] = field(default_factory=list)

    def times(self, other: _Product) -> _Product:
        """Return the product of two."""
        return _Product(
            self.minus != other.minus,
            self.scalars + other.scalars,
            self.divisors + other.divisors,
            self.factors + other.factors,
        )


class _TooMuchError(Exception):
    """Raised for what is no short sum of products of elements."""


def by_index(root: Term, *, neighbours: bool, taken: Iterable[str] = ()) -> Term | None:
    """Return a result by index, or None where it reads better, or only, as an array.

    Parameters
    ----------
    root : Term
    neighbours : bool
        Whether sums of shifted vectors are written so.
    taken : iterable of str, optional
        Names that no index gets, besides those of inputs and sizes below the term.

    Returns
    -------
    Term or None
        Of kind ``by_index``, with an :class:`IndexForm`.
    """
    wanted = "tensor" if root.ndim >= 3 else "shift" if neighbours and root.ndim == 1 else ""
    if not wanted:
        return None
    below = postorder([root])
    if not any(term.kind == wanted for term in below) or (wanted == "shift" and any(t.kind == "pad" for t in below)):
        return None
    try:
        writer = _Splitter(root, neighbours=wanted == "shift")
        products = [_without_inner_deltas(p, root.ndim) for p in writer.split(root, tuple(range(root.ndim)))]
    except _TooMuchError:
        return None
    if wanted == "shift" and not all(writer.is_moved(product) for product in products):
        return None
    known = {*taken, *names_in(below)}
    return _assembled(root, products, [letter for letter in LETTERS if letter not in known])


class _Splitter:
    """Takes a term apart into products of elements."""

    def __init__(self, root: Term, neighbours: bool) -> None:
        self.rank = root.ndim
        self.neighbours = neighbours
        self.fresh = count(root.ndim)

    def split(self, term: Term, labels: tuple[int, ...]) -> list[_Product]:
        """Return the products that a term is the sum of, its axes having these labels."""
        if not term.ndim:
            return [self.scalar(term)]
        if term.kind == "sum" and term.ndim == self.rank:
            parts = []
            for arg, minus in term.pairs:
                for product in self.spread(arg, labels, term.shape):
                    product.minus ^= minus
                    parts.append(product)
            return _few(parts)
        if term.kind == "negative":
            parts = self.split(term.args[0], labels)
            for product in parts:
                product.minus ^= True
            return parts
        if term.kind == "product" and not any(arg.ndim and d for arg, d in term.pairs):
            return self.multiplied(term, labels)
        moved = self.moved(term, labels)
        if moved is not None:
            parts = [_Product()]
            for arg, own in moved:
                factors = self.split(arg, own)
                if len(factors) > 1 and len(parts) > 1:
                    raise _TooMuchError
                parts = _few([a.times(b) for a in parts for b in factors])
            return parts
        if term.kind == "filled":
            return [_Product(scalars=[number(term.data)] if term.data != 1 else [])]
        if term.kind == "shift" and self.neighbours and term.args[0].kind in ("name", "named"):
            places, axis = term.data
            at = tuple((label, -places if a == axis else 0) for a, label in enumerate(labels))
            return [_Product(factors=[(term.args[0], at)])]
        if term.ndim > 2 and term.kind not in ("name", "named", "array"):
            raise _TooMuchError  # an operation on arrays of many axes reads better as one
        return [_Product(factors=[(term, tuple((label, 0) for label in labels))])]

    def scalar(self, term: Term) -> _Product:
        """Return a number as a product."""
        minus, inner = term.signed
        return _Product(minus, *(inner.factors if inner.kind == "product" else ([inner],)))

    def multiplied(self, term: Term, labels: tuple[int, ...]) -> list[_Product]:
        """Split a product element by element."""
        parts = [_Product()]
        for arg, divides in term.pairs:
            if divides:
                parts = [part.times(_Product(divisors=[arg])) for part in parts]
                continue
            factors = self.spread(arg, labels, term.shape)
            if len(factors) > 1 and len(parts) > 1:
                raise _TooMuchError
            parts = _few([a.times(b) for a in parts for b in factors])
        return parts

    def spread(self, arg: Term, labels: tuple[int, ...], shape: Shape) -> list[_Product]:
        """Split an argument that is repeated to a shape."""
        own = labels[len(labels) - arg.ndim :]
        sizes = shape[len(shape) - arg.ndim :]
        new = arg.data if arg.kind == "expand" else (True,) * arg.ndim
        if any(size != wide and old for size, wide, old in zip(arg.shape, sizes, new, strict=True)):
            raise _TooMuchError
        return self.split(arg, own)

    def moved(self, term: Term, labels: tuple[int, ...]) -> list[tuple[Term, tuple[int, ...]]] | None:
        """Return the arguments of a product and their labels, if the term is one."""
        args = term.args
        match term.kind:
            case "tensor":
                own, out = term.data
                names: dict[int, int] = dict(zip(out, labels, strict=True))
                for label in (label for places in own for label in places):
                    if label not in names:
                        names[label] = next(self.fresh)
                return [(arg, tuple(names[label] for label in p)) for arg, p in zip(args, own, strict=True)]
            case "permute":
                place = dict(zip(term.data, labels, strict=True))
                return [(args[0], tuple(place[axis] for axis in range(len(labels))))]
            case "transpose":
                return [(args[0], labels[::-1])]
            case "diag":
                return [(Term("eye", (), (0, 1), term.shape), labels), (args[0], labels[:1])]
            case "outer":
                return [(args[0], labels[:1]), (args[1], labels[1:])]
            case "rows":
                return [(args[0], labels[:1]), (args[1], labels)]
            case "columns":
                return [(args[0], labels), (args[1], labels[1:])]
            case "expand":
                return [(args[0], tuple(label for label, old in zip(labels, term.data, strict=True) if old))]
            case "broadcast" if args[0].ndim == 0 or args[0].kind != "expand":
                wide = term.shape[term.ndim - args[0].ndim :]
                return [(args[0], labels[term.ndim - args[0].ndim :])] if args[0].shape == wide else None
        return None

    def is_moved(self, product: _Product) -> bool:
        """Tell whether elements of plain vectors are all that a product has."""
        return all(term.kind in ("name", "named") for term, _ in product.factors)


def _without_inner_deltas(product: _Product, rank: int) -> _Product:
    """Return a product in which no identity has an index that is summed over."""
    factors = list(product.factors)
    for delta in product.factors:
        term, own = delta
        if term.kind != "eye" or term.data != (0, 1) or term.shape[0] != term.shape[1]:
            continue
        (a, _), (b, _) = own
        gone, kept = (a, b) if a >= rank else (b, a)
        if gone < rank or gone == kept or len(factors) == 1:
            continue
        factors.remove(delta)
        factors = [
            (other, tuple((kept if label == gone else label, moved) for label, moved in labels))
            for other, labels in factors
        ]
        return _without_inner_deltas(_Product(product.minus, product.scalars, product.divisors, factors), rank)
    return product


def _few(parts: list[_Product]) -> list[_Product]:
    if len(parts) > _MOST or any(len(part.factors) > _MOST for part in parts):
        raise _TooMuchError
    return parts


def _assembled(root: Term, products: Sequence[_Product], letters: Sequence[str]) -> Term | None:
    own = (label for p in products for _, labels in p.factors for label, _ in labels)
    labels = dict.fromkeys([*range(root.ndim), *own])
    names = dict(zip(labels, letters, strict=False))
    if len(names) < len(labels):
        return None
    made = []
    for p in products:
        factors = [(term, _written(own, names)) for term, own in (*p.factors, *_repeated(p, root.shape))]
        made.append(IndexedTerm(p.minus, p.scalars, p.divisors, factors))
    first = next((at for at, product in enumerate(made) if not product.minus), 0)
    made = [made[first], *made[:first], *made[first + 1 :]]
    args = dict.fromkeys(x for p in made for x in (*p.scalars, *p.divisors, *(term for term, _ in p.factors)))
    form = IndexForm(tuple(names[label] for label in range(root.ndim)), tuple(made))
    return Term("by_index", tuple(args), form, root.shape)


def _written(labels: Sequence[tuple[int, int]], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(
        names[label] + (f" {'+' if moved > 0 else '-'} {abs(moved)}" if moved else "") for label, moved in labels
    )


def _repeated(product: _Product, shape: Sequence[Dim]) -> list[tuple[Term, tuple[tuple[int, int], ...]]]:
    """Return ones for the axes that no factor has."""
    known = {label for _, own in product.factors for label, _ in own}
    return [
        (Term("filled", (), 1.0, (size,)), ((axis, 0),)) for axis, size in enumerate(shape) if axis not in known
    ]
