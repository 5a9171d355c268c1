"""Matrices of a few entries, each written where it stands, and matrices beside transposes.

Matrices by their entries are what sums of products of lists with unit vectors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

from ...graph.sizes import Shape
from .common_factors import turned_over
from .reader import Reader, ReadingRules
from .terms import Term, number, quotient, times

RULES = ReadingRules()
#: Most terms of a sum that are compared in pairs.
_MOST = 16

#: Most rows and columns of a matrix that is written by its entries.
_SIDE = 6

Entries: TypeAlias = "list[list[Term]]"


@RULES.of("sum", "outer")
def _by_entries(reader: Reader, term: Term) -> Term | None:
    """Write a matrix by its entries, if that is no longer."""
    if term.ndim != 2 or not all(isinstance(n, int) and 1 <= n <= _SIDE for n in term.shape):
        return None
    terms = list(zip(term.args, term.data, strict=True)) if term.kind == "sum" else [(term, False)]
    read = [(_entries(reader, part, term.shape), minus) for part, minus in terms]
    known = [(entries, minus) for entries, minus in read if entries is not None]
    rest = [part for part, (entries, _) in zip(terms, read, strict=True) if entries is None]
    if not known or (rest and len(known) == 1):
        return None
    rows = [reader.make("stack", row, 0, term.shape[1:]) for row in _total(reader, known)]
    result = reader.make("stack", rows, 0, term.shape)
    result = reader.sum([*rest, (result, False)], term.shape) if rest else result
    return result if len(_pieces(result)) <= len(_pieces(term)) else None


def _pieces(term: Term) -> list[Term]:
    """Return what is written of a term: shared parts as often as they are used, names with their index once."""
    found: list[Term] = []
    todo = [term]
    while todo:
        part = todo.pop()
        found.append(part)
        if part.kind != "index":
            todo.extend(part.args)
    return found


def _entries(reader: Reader, term: Term, shape: Shape) -> Entries | None:
    """Return the entries of a matrix of this shape that is made of lists; None for anything else."""
    if term.shape != shape:
        return None  # it is repeated along an axis
    match term.kind:
        case "array":
            return [[number(float(value)) for value in row] for row in term.data]
        case "stack" if term.data == 0 and all(arg.kind in ("stack", "array") for arg in term.args):
            rows = [_elements(arg) for arg in term.args]
            return None if any(row is None for row in rows) else [row for row in rows if row is not None]
        case "diag" if term.args[0].kind == "stack" and term.args[0].ndim == 1 and term.shape[0] == term.shape[1]:
            zero = number(0.0)
            own = term.args[0].args
            return [[x if i == j else zero for j in range(len(own))] for i, x in enumerate(own)]
        case "negative":
            inside = _entries(reader, term.args[0], shape)
            return None if inside is None else [[_product([number(-1.0), x]) for x in row] for row in inside]
        case "outer":
            left, right = (_elements(arg) for arg in term.args)
            if left is None or right is None or not (_is_unit(left) or _is_unit(right)):
                return None
            return [[_product([x, y]) for y in right] for x in left]
        case "product" if sum(arg.ndim > 0 for arg in term.args) == 1:
            place = next(i for i, arg in enumerate(term.args) if arg.ndim)
            inside = None if term.data[place] else _entries(reader, term.args[place], shape)
            return None if inside is None else [[_scaled(term, place, x) for x in row] for row in inside]
        case "sum":
            parts = [_entries(reader, arg, shape) for arg in term.args]
            known = [(part, minus) for part, minus in zip(parts, term.data, strict=True) if part is not None]
            return _total(reader, known) if len(known) == len(parts) else None
    return None


def _elements(vector: Term) -> list[Term] | None:
    if vector.kind == "array" and vector.ndim == 1:
        return [number(float(value)) for value in vector.data]
    (length,) = vector.shape
    if vector.kind == "onehot" and isinstance(length, int):
        return [number(float(place == vector.data)) for place in range(length)]
    if vector.kind == "stack" and vector.ndim == 1 and vector.data == 0:
        return list(vector.args)
    return None


def _is_unit(elements: Sequence[Term]) -> bool:
    """Tell whether all elements but one are 0, and that one is 1 or -1."""
    sizes = [abs(x.data) if x.kind == "number" else None for x in elements]
    return sizes.count(0.0) == len(sizes) - 1 and sizes.count(1.0) == 1


def _product(factors: Sequence[Term]) -> Term:
    if any(x.kind == "number" and x.data == 0 for x in factors):
        return number(0.0)
    values = [x.data for x in factors if x.kind == "number"]
    if len(values) == len(factors):
        return number(values[0] * values[1])
    return times(factors, ())


def _scaled(product: Term, place: int, x: Term) -> Term:
    """Return an entry of a product of scalars and a matrix."""
    if x.kind == "number" and x.data == 0:
        return x
    factors = zip(product.args, product.data, strict=True)
    over = [x if i == place else arg for i, (arg, divides) in enumerate(factors) if not divides]
    _, under = product.factors
    negative = sum(arg.kind == "negative" for arg in over) % 2 == 1
    return quotient([arg.args[0] if arg.kind == "negative" else arg for arg in over], under, negative, ())


def _total(reader: Reader, parts: Sequence[tuple[Entries, bool]]) -> Entries:
    """Return the entries of a sum of matrices."""
    first, _ = parts[0]
    result: Entries = [[number(0.0) for _ in row] for row in first]
    for entries, minus in parts:
        for i, row in enumerate(entries):
            for j, x in enumerate(row):
                if x.kind == "number" and x.data == 0:
                    continue
                known = result[i][j]
                if known.kind == "number" and known.data == 0:
                    result[i][j] = _product([number(-1.0), x]) if minus else x
                elif known.kind == x.kind == "number":
                    result[i][j] = number(known.data - x.data if minus else known.data + x.data)
                else:
                    result[i][j] = reader.sum([(known, False), (x, minus)], ())
    return result


# ---------------------------------------------------------------------------- matrices and their transposes


@RULES.of("sum")
def _transposes_of_sums(reader: Reader, term: Term) -> Term | None:
    """Write the transpose of a sum, of which one term at most is not symmetric, as terms: S - Aᵀ for (S - A)ᵀ."""
    if term.ndim != 2 or len(term.args) > _MOST:
        return None
    parts: list[tuple[Term, bool]] = []
    for arg, minus in zip(term.args, term.data, strict=True):
        inner = arg.args[0] if arg.kind == "transpose" else arg
        opened = [(turned_over(reader, part), minus != own) for part, own in zip(inner.args, inner.data, strict=True)
                  ] if inner is not arg and inner.kind == "sum" else []  # fmt: skip
        moved = sum(part is not before for (part, _), before in zip(opened, inner.args, strict=False))
        parts += opened if opened and moved <= 1 else [(arg, minus)]
    return reader.sum(parts, term.shape) if len(parts) > len(term.args) else None


@RULES.of("sum")
def _transposes_together(reader: Reader, term: Term) -> Term | None:
    """Write a matrix and its transpose side by side in a sum, in the same order wherever they are added."""
    if term.ndim != 2 or len(term.args) > _MOST:
        return None
    order = list(range(len(term.args)))
    for i, j in combinations(order, 2):
        if term.data[i] == term.data[j] and turned_over(reader, term.args[i]) is term.args[j] is not term.args[i]:
            order.remove(j)
            order.insert(order.index(i) + 1, j)
    if len(order) == 2 and not any(term.data) and turned_over(reader, term.args[0]) is term.args[1]:
        return reader.made("sum", term.args[::-1], term.data, term.shape)
    if order == sorted(order):
        return None
    return reader.sum([(term.args[at], term.data[at]) for at in order], term.shape)


@RULES.of("product")
def _direction_in_chain(reader: Reader, term: Term) -> Term | None:
    """Write a vector over its length as its direction: in x yᵀ / ‖x‖, and in A x uᵀ / ‖x‖ beside the direction."""
    over, under = term.factors
    for divisor in under:
        if divisor.kind != "reduce" or divisor.data[0] != "norm" or divisor.ndim:
            continue
        for place, arg in enumerate(over):
            for k, chain in enumerate(arg.args) if arg.kind == "outer" else ():
                unit, (x,) = arg.args[1 - k], divisor.args
                if chain is x:
                    turned = reader.make("reduce", (x,), ("unit", *divisor.data[1:]), x.shape)
                elif chain.kind == "matmul" and chain.args[-1] is x and _is_direction(unit, x):
                    turned = reader.chain([*chain.args[:-1], unit])
                else:
                    continue
                over[place] = reader.make("outer", (turned, unit) if k == 0 else (unit, turned), None, arg.shape)
                return reader.product(over, [other for other in under if other is not divisor], term.shape)
    return None


def _is_direction(term: Term, x: Term) -> bool:
    return term.kind == "reduce" and term.data[0] == "unit" and term.args[0] is x
