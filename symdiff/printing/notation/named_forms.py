"""Forms that have a name of their own: unit steps, cross products, arrays put into zeros, permuted vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...graph.sizes import Dim, is_room
from .reader import Reader, ReadingRules
from .terms import Term, reaches_outside

RULES = ReadingRules()

#: Most terms of a sum that are compared in pairs.
_PAIRS = 16
#: The two cyclic permutations of three places, of which cross products are made.
_FORTH, _BACK = (1, 2, 0), (2, 0, 1)


def is_number(term: Term, value: float) -> bool:
    """Tell whether a term is this number."""
    return term.kind == "number" and term.data == value


# ---------------------------------------------------------------------------- steps


@RULES.of("where")
def _step(reader: Reader, term: Term) -> Term | None:
    """Read where(x < y, 0, where(x == y, 1/2, 1)) as a unit step, and a product with one as that."""
    condition, nothing, rest = term.args
    if condition.kind != "compare" or condition.data != "less" or not is_number(nothing, 0.0):
        return None
    low, high = condition.args
    if _is_half_or_one(rest, (low, high)):
        return _step_of(reader, low, high, rest)
    negative = rest.kind == "negative"
    product = rest.args[0] if negative else rest
    if product.kind != "product" or any(product.data):
        return None
    steps = [factor for factor in product.args if _is_half_or_one(factor, (low, high))]
    others = [factor for factor in product.args if factor not in steps]
    if len(steps) != 1 or len(others) != len(product.args) - 1 or not all(map(_is_finite, others)):
        return None
    step = _step_of(reader, low, high, steps[0])
    if step is None:
        return None
    result = reader.product([*others, step], [], term.shape)
    return reader.negative(result) if negative else result


def _is_half_or_one(term: Term, sides: tuple[Term, Term]) -> bool:
    if term.kind != "where" or not is_number(term.args[1], 0.5) or not is_number(term.args[2], 1.0):
        return False
    condition = term.args[0]
    return condition.kind == "compare" and condition.data == "equal" and condition.args in (sides, sides[::-1])


def _step_of(reader: Reader, low: Term, high: Term, at: Term) -> Term | None:
    """Return the step of low - high, where it has the sign of the difference for all numbers."""
    if is_number(high, 0.0):
        return reader.make("step", (low,), None, low.shape)
    if is_number(low, 0.0):
        return reader.make("step", (reader.negative(high),), None, high.shape)
    for side, other in ((low, high), (high, low)):
        if side.kind == "number" and math.isfinite(side.data) and other.ndim:
            break
    else:
        return None
    return reader.make("step", (reader.sum([(low, False), (high, True)], at.shape),), None, at.shape)


#: Kinds of terms that are finite where their arguments are, but for numbers too large for a double.
_FINITE = frozenset({
    "name", "named", "eye", "unit", "size", "sum", "negative", "matmul", "transpose", "permute", "outer", "dot",
    "trace", "diag", "diagonal", "total", "rows", "columns", "expand", "broadcast", "tensor", "index", "take",
    "reshape", "concatenate", "stack", "pad", "shift", "cross", "skew", "step", "triangle",
})


#: Functions that are finite wherever their arguments are.
_BOUNDED = frozenset({"abs", "arctan", "cos", "erf", "maximum", "minimum", "sech", "sigmoid", "sign", "sin", "tanh"})


def _is_finite(term: Term) -> bool:
    """Tell whether a term is finite for finite inputs, so that 0 times it is 0."""
    todo, seen = [term], 0
    while todo:
        part = todo.pop()
        seen += 1
        if part.kind in ("number", "filled"):
            if not math.isfinite(part.data):
                return False
        elif seen > 64 or not (
            part.kind in _FINITE
            or (part.kind == "product" and not any(part.data))
            or (part.kind == "call" and part.data in _BOUNDED)
        ):
            return False
        todo.extend(part.args)
    return True


# ---------------------------------------------------------------------------- zeros around an array


class _Shift(NamedTuple):
    """A matrix E with E[i, start + i] = 1 and no other ones."""

    rows: Dim
    columns: Dim
    start: Dim


def _shift(term: Term) -> _Shift | None:
    if term.kind == "transpose":
        inner = _shift(term.args[0])
        return None if inner is None else _turned(inner)
    if term.kind != "eye" or term.data[1] != 1 or term.shape[0] == term.shape[1]:
        return None
    rows, columns = term.shape
    return _Shift(rows, columns, term.data[0])


def _turned(shift: _Shift) -> _Shift:
    return _Shift(shift.columns, shift.rows, 0 - shift.start)


def _widths(shift: _Shift | None) -> tuple[Dim, Dim] | None:
    """Return how many zeros the matrix puts before and behind a vector, if it does nothing else."""
    if shift is None:
        return None
    before = 0 - shift.start
    after = shift.rows - shift.columns - before
    return (before, after) if is_room(before) and is_room(after) else None


@RULES.of("matmul")
def _padding(reader: Reader, term: Term) -> Term | None:
    """Read a product with an identity that has zeros around it as those zeros around the rest."""
    if any(factor.ndim > 2 for factor in term.args):
        return None
    for place, factor in enumerate(term.args[:-1]):
        widths = _widths(_shift(factor))
        if widths is not None:
            rest = padded(reader, reader.chain(term.args[place + 1 :]), 0, widths)
            return reader.chain([*term.args[:place], rest])
    last = _shift(term.args[-1]) if term.args[-1].ndim == 2 else None
    widths = None if last is None else _widths(_turned(last))
    if widths is None:
        return None
    front = reader.chain(term.args[:-1])
    return padded(reader, front, front.ndim - 1, widths)


def padded(reader: Reader, x: Term, axis: int, widths: tuple[Dim, Dim]) -> Term:
    """Return ``x`` with so many zeros before and behind it along an axis."""
    around = [widths if a == axis else (0, 0) for a in range(x.ndim)]
    if x.kind == "pad":
        around = [(p + r, q + s) for (p, q), (r, s) in zip(around, x.data, strict=True)]
        (x,) = x.args
    shape = tuple(p + size + q for size, (p, q) in zip(x.shape, around, strict=True))
    return reader.make("pad", (x,), tuple(around), shape)


@RULES.of("pad")
def _shifted(reader: Reader, term: Term) -> Term | None:
    """Read a part of an array with zeros where the rest of it was as the array with its elements moved."""
    (part,) = term.args
    axes = [axis for axis, widths in enumerate(term.data) if widths != (0, 0)]
    if part.kind != "index" or part.args[0].shape != term.shape or len(axes) != 1:
        return None
    (before, after), (axis,) = term.data[axes[0]], axes
    places = before if after == 0 else 0 - after if before == 0 else None
    if not isinstance(places, int) or any(
        item != ((max(0 - places, 0) if a == axis else 0), 1, size)
        for a, (item, size) in enumerate(zip(part.data, part.shape, strict=True))
    ):
        return None
    return reader.make("shift", part.args, (places, axis), term.shape)


@RULES.of("pad")
def _diagonal(reader: Reader, term: Term) -> Term | None:
    """Read an identity with zeros around it as ones on another diagonal."""
    (x,) = term.args
    if x.kind != "eye" or x.data[1] != 1:
        return None
    (above, below), (left, _) = term.data
    (start, _), (rows, columns) = x.data, x.shape
    if reaches_outside(start, 1, rows, columns) is not None:
        return None
    if (above != 0 and start + left != 0) or (below != 0 and start + rows + left != term.shape[1]):
        return None  # a row of zeros would have its one within the matrix
    return reader.make("eye", (), (start + left - above, 1), term.shape)


# ---------------------------------------------------------------------------- permutations and cross products


@RULES.of("matmul")
def _permuted(reader: Reader, term: Term) -> Term | None:
    """Read a vector times a permutation of the identity's rows as the vector in another order."""
    if len(term.args) != 2 or term.args[1].ndim != 1:
        return None
    matrix, vector = term.args
    rows = matrix.args[0] if matrix.kind == "transpose" else matrix
    if rows.kind != "take" or rows.data[0] != 0 or not is_identity(rows.args[0]):
        return None
    places = rows.data[1]
    if rows is matrix:
        return reader.make("take", (vector,), (0, places), (len(places),))
    if rows.args[0].shape[0] != len(places) or sorted(places) != list(range(len(places))):
        return None
    back = tuple(sorted(range(len(places)), key=places.__getitem__))
    return reader.make("take", (vector,), (0, back), vector.shape)


def is_identity(term: Term) -> bool:
    """Tell whether a term is a square identity."""
    return term.kind == "eye" and term.data == (0, 1) and term.shape[0] == term.shape[1]


@RULES.of("take")
def _taken(reader: Reader, term: Term) -> Term | None:
    """Read what is taken from a product of vectors as a product, and what is taken of what was taken as one."""
    (x,), (axis, places) = term.args, term.data
    if x.kind == "take" and x.data[0] == axis:
        return reader.make("take", x.args, (axis, tuple(x.data[1][place] for place in places)), term.shape)
    if x.ndim != 1 or len(places) != x.shape[0]:
        return None
    if x.kind == "negative":
        return reader.negative(reader.make("take", x.args, term.data, term.shape))
    if x.kind != "product":
        return None
    factors = [arg if not arg.ndim else reader.make("take", (arg,), term.data, term.shape) for arg in x.args]
    return reader.make("product", factors, x.data, term.shape)


class _Turned(NamedTuple):
    """Half a cross product: a[p] * b[q] for vectors, diag(a[p]) @ B[q] for a matrix B, with what stands around it."""

    kind: str
    a: Term
    b: Term
    p: tuple[int, ...]
    around: tuple[Term, ...]


@RULES.of("sum")
def _cross(reader: Reader, term: Term) -> Term | None:
    """Read the two halves of a cross product in a sum as one."""
    if len(term.args) > _PAIRS:
        return None
    halves = [(place, half) for place, arg in enumerate(term.args) for half in _halves(arg)]
    for place, one in halves:
        for other_place, other in halves:
            opposite = term.data[place] != term.data[other_place]
            if one.p != _FORTH or other.p != _BACK or not opposite or one._replace(p=_BACK) != other:
                continue
            rest = [
                (arg, minus)
                for at, (arg, minus) in enumerate(zip(term.args, term.data, strict=True))
                if at not in (place, other_place)
            ]
            made = _whole(reader, one, term.args[place])
            return reader.sum([(made, term.data[place]), *rest], term.shape)
    return None


def _halves(term: Term) -> Sequence[_Turned]:
    if term.kind == "product" and not any(term.data) and term.shape == (3,):
        vectors = [arg for arg in term.args if _is_turn(arg)]
        if len(vectors) != 2 or vectors[0].data == vectors[1].data:
            return ()
        others = tuple(arg for arg in term.args if arg not in vectors)
        if any(arg.ndim for arg in others):
            return ()
        a, b = vectors
        return [_Turned("vectors", p.args[0], q.args[0], p.data[1], others) for p, q in ((a, b), (b, a))]
    if term.kind == "rows":
        (p, q), others = term.args, ()
    elif term.kind == "matmul" and term.args[0].kind == "diag":
        p, q, *rest = (term.args[0].args[0], *term.args[1:])
        others = tuple(rest)
    else:
        return ()
    if _is_turn(p) and _is_turn(q) and p.data != q.data:
        return [_Turned("matrix", p.args[0], q.args[0], p.data[1], others)]
    return ()


def _is_turn(term: Term) -> bool:
    return term.kind == "take" and term.data in ((0, _FORTH), (0, _BACK)) and term.args[0].shape[0] == 3


def _whole(reader: Reader, half: _Turned, first: Term) -> Term:
    if half.kind == "vectors":
        crossed = reader.make("cross", (half.a, half.b), None, first.shape)
        return reader.product([*half.around, crossed], [], first.shape)
    skew = reader.make("skew", (half.a,), None, (3, 3))
    return reader.chain([skew, *([] if is_identity(half.b) else [half.b]), *half.around])
