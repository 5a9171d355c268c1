"""Forms that have a name of their own: cross products, arrays put into zeros, permuted vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...graph.sizes import Dim, is_room
from .reader import Reader, ReadingRules
from .terms import Term, is_number, postorder, reaches_outside, transpose

#: Rules for all formulas, and for derivatives alone.
RULES, DERIVED = ReadingRules(), ReadingRules()

#: Most terms of a sum that are compared in pairs.
_PAIRS = 16
#: The two cyclic permutations of three places, of which cross products are made.
_FORTH, _BACK = (1, 2, 0), (2, 0, 1)


# ---------------------------------------------------------------------------- zeros around an array


class _Shift(NamedTuple):
    """A matrix E with E[i, start + i] = 1 and no other ones."""

    rows: Dim
    columns: Dim
    start: Dim


def shift_of(term: Term) -> _Shift | None:
    """Read an identity that is not square as what it moves."""
    if term.kind == "transpose":
        inner = shift_of(term.args[0])
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


@RULES.of("transpose")
def _transposed(reader: Reader, term: Term) -> Term | None:
    """Read a transpose of a transpose as the matrix, and that of the matrix of a cross product as its negative."""
    (x,) = term.args
    return x.args[0] if x.kind == "transpose" else reader.negative(x) if x.kind == "skew" else None


@RULES.of("matmul")
def _padding(reader: Reader, term: Term) -> Term | None:
    """Read a product with an identity that has zeros around it as those zeros around the rest."""
    if any(factor.ndim > 2 for factor in term.args):
        return None
    for place, factor in enumerate(term.args[:-1]):
        widths = _widths(shift_of(factor))
        if widths is not None:
            rest = padded(reader, reader.chain(term.args[place + 1 :]), 0, widths)
            return reader.chain([*term.args[:place], rest])
    last = shift_of(term.args[-1]) if term.args[-1].ndim == 2 else None
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


# ---------------------------------------------------------------------------- sums along an axis


@DERIVED.of("sum")
def _from_left_to_right(reader: Reader, term: Term) -> Term | None:
    """Write neighbours from the first to the last, and diagonals from the lowest."""
    if any(term.data) or {arg.kind for arg in term.args} not in ({"shift"}, {"eye"}):
        return None
    places = [-arg.data[0] if arg.kind == "shift" else arg.data[0] for arg in term.args]
    if not all(isinstance(place, int) for place in places) or places == sorted(places):
        return None
    order = sorted(range(len(places)), key=places.__getitem__)
    return reader.sum([(term.args[at], False) for at in order], term.shape)


@DERIVED.of("cumulative")
def _sums_of_ones(reader: Reader, term: Term) -> Term | None:
    """Write the Jacobian of cumulated sums as a triangle of ones."""
    (x,), (name, axis, backwards) = term.args, term.data
    if name == "cumsum" and is_identity(x):
        ones = reader.make("filled", (), 1.0, x.shape)
        return reader.make("triangle", (ones,), ((axis == 1) is not backwards, 0), x.shape)
    return None


@RULES.of("cumulative")
def _counted(reader: Reader, term: Term) -> Term | None:
    """Write sums of ones so far as the numbers from 1 on."""
    (ones,), (name, _, backwards) = term.args, term.data
    if name != "cumsum" or backwards or term.ndim != 1 or ones.kind != "filled" or ones.data != 1.0:
        return None
    return _numbers_from(reader, 1, term.shape[0])


@RULES.of("sum")
def _counted_from(reader: Reader, term: Term) -> Term | None:
    """Add a number to numbers that are counted by counting from another one, or else count from 0."""
    pairs = [(x, -1.0 if minus else 1.0) for x, minus in term.pairs]
    counted = [(k, sign, multiple) for k, (x, sign) in enumerate(pairs) if (multiple := _counter(x)) is not None]
    whole = [k for k, (x, _) in enumerate(pairs) if x.kind == "number"]
    if len(counted) != 1 or len(whole) != 1:
        return None
    ((at, sign, (times, counter, axes)),) = counted
    number, plus = pairs[whole[0]]
    first = float(counter.args[0].data) if len(counter.args) > 1 else 0.0
    added = plus * float(number.data) + sign * times * first
    start, rest = (added, 0.0) if sign * times == 1.0 and added.is_integer() else (0.0, added)
    if start == first:
        return None
    moved = _numbers_from(reader, int(start), counter.shape[0])
    moved = moved if axes is None else reader.make("expand", (moved,), axes.data, axes.shape)
    moved = moved if times == 1.0 else reader.product([reader.number(times), moved], [], moved.shape)
    others = [pair for k, pair in enumerate(term.pairs) if k not in (at, whole[0])]
    ends = [(reader.number(abs(rest)), rest < 0.0)] if rest else []
    if sign < 0.0:
        return reader.sum([*others, (moved, True), *ends], term.shape)
    return reader.sum([(moved, False), *others, *ends], term.shape)


def _counter(x: Term) -> tuple[float, Term, Term | None] | None:
    """Return the numbers that are counted in a term, their multiple, and the term that gives them new axes."""
    times = 1.0
    if x.kind == "product" and len(x.args) == 2 and not any(x.data) and x.args[0].kind == "number" and x.args[0].data:
        times, x = float(x.args[0].data), x.args[1]
    axes, x = (x, x.args[0]) if x.kind == "expand" else (None, x)
    known = x.kind == "function" and x.data == "arange" and (len(x.args) == 1 or x.args[0].kind == "number")
    return (times, x, axes) if known else None


def _numbers_from(reader: Reader, first: int, count: Dim) -> Term:
    ends = [reader.number(float(first))] if first else []
    return reader.make("function", (*ends, _size(reader, first + count)), "arange", (count,))


def _size(reader: Reader, size: Dim) -> Term:
    return reader.number(float(size)) if isinstance(size, int) else reader.make("size", (), size, ())


@RULES.of("function")
def _by_sparse_matrix(reader: Reader, term: Term) -> Term | None:
    """Write products, solutions and determinants of sparse matrices that are inputs by the matrix."""
    if not str(term.data).startswith("sparse_") or len(term.args) < 2:
        return None
    data, rows, *rest = term.args
    if any(arg.ndim != 1 for arg in term.args):  # of a matrix it may be a product with each row
        return None
    if data.kind != "name" or rows.kind != "name" or rows.data != f"{data.data}_rows":
        return None
    m = rows.shape[0]
    match term.data, rest:
        case "sparse_product", [x]:
            return reader.make("matmul", (reader.make("name", (), data.data, (m, x.shape[0])), x), None, term.shape)
        case "sparse_transposed_product", [y]:
            matrix = reader.make("name", (), data.data, (m, term.shape[0]))
            turned = reader.make("transpose", (matrix,), None, (term.shape[0], m))
            return reader.make("matmul", (turned, y), None, term.shape)
        case "sparse_solution", [b]:
            return reader.make("function", (reader.make("name", (), data.data, (m, m)), b), "solve", term.shape)
        case "sparse_logdet", []:
            return reader.make("function", (reader.make("name", (), data.data, (m, m)),), "logdet", term.shape)
    return None


@DERIVED.of("broadcast")
def _repeated_quotient(reader: Reader, term: Term) -> Term | None:
    """Write a number over sizes, repeated, as ones over these: ones / n."""
    (x,) = term.args
    if x.kind != "product" or x.ndim or any(arg.kind != "number" for arg in x.factors[0]):
        return None
    over, under = x.factors
    return reader.product([*over, reader.make("filled", (), 1.0, term.shape)], under, term.shape)


# ---------------------------------------------------------------------------- eigenvalues that are apart


@RULES.of("where")
def _simple_eigenvalues(reader: Reader, term: Term) -> Term | None:
    """Read the choice of nan for eigenvalues that another one equals as a function of the eigenvalues."""
    condition, value, other = term.args
    if other.kind != "number" or not math.isnan(other.data) or condition.kind != "compare" or term.ndim != 1:
        return None
    x = next((of for of in postorder([condition]) if of.kind == "matrix" and of.data == "eigvalsh"), None)
    if x is None or condition is not _is_apart(reader, x):
        return None
    found = reader.make("function", (x,), "simple_eigenvalues", x.shape)
    return found if is_number(value, 1.0) else reader.product([value, found], [], term.shape)


def _is_apart(reader: Reader, x: Term) -> Term:
    """Return the condition that no other element of x is as near as 2**-43 max(abs(x))."""
    n, square = x.shape, x.shape * 2
    column = reader.make("expand", (x,), (True, False), (*n, 1))
    gap = reader.make("call", (reader.sum([(x, False), (column, True)], square),), "abs", square)
    own = (reader.make("eye", (), (0, 1), square), reader.number(1.0))
    others = (reader.make("compare", own, "equal", square), reader.number(math.inf), gap)
    nearest = reader.make("reduce", (reader.make("where", others, None, square),), ("min", (1,)), n)
    largest = reader.make("reduce", (reader.make("call", (x,), "abs", n),), ("max", (0,)), ())
    bound = reader.product([reader.number(2.0**-43), largest], [], ())
    return reader.make("compare", (bound, nearest), "less", n)


# ---------------------------------------------------------------------------- products of vectors


@RULES.of("dot")
def _matrices_in_dot(reader: Reader, term: Term) -> Term | None:
    """Write (Aᵀ x) · y as x · (A y), and so with any matrices in between, whichever way has fewer transposes."""
    a, b = term.args
    (u, *left), (v, *right) = (arg.args[::-1] if arg.kind == "matmul" else (arg,) for arg in (a, b))
    if not left or any(factor.ndim != 2 for factor in (*left, *right)):
        return None
    forth = [*map(transpose, left), *right[::-1]]
    back = [*map(transpose, right), *left[::-1]]
    fewest, now = (_count_transposes(forth), _count_transposes(back)), _count_transposes([*left, *right])
    if right and min(fewest) > now:
        return None
    first, between, last = (v, back, u) if fewest[1] < fewest[0] else (u, forth, v)
    return reader.make("dot", (first, reader.chain([*between, last])), None, ())


def _count_transposes(factors: Sequence[Term]) -> int:
    return sum(factor.kind == "transpose" for factor in factors)


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
    # a vector of one element stands for all, as a number does
    factors = [reader.make("take", (arg,), term.data, term.shape) if arg.shape == x.shape else arg for arg in x.args]
    return reader.make("product", factors, x.data, term.shape)


@DERIVED.of("sum")
def _taken_together(reader: Reader, term: Term) -> Term | None:
    """Write a sum of arrays that are all put into the same order as the sum in that order."""
    first = term.args[0]
    if any(arg.kind != "take" or arg.data != first.data or arg.shape != term.shape for arg in term.args):
        return None
    inner = [arg.args[0] for arg in term.args]
    if any(x.shape != inner[0].shape for x in inner):
        return None
    total = reader.sum(list(zip(inner, term.data, strict=True)), inner[0].shape)
    return reader.make("take", (total,), first.data, term.shape)


class _Turned(NamedTuple):
    """Half a cross product: a[p] * b[q] for vectors, diag(a[p]) @ B[q] or B[:, q] * a[p] for a matrix B.

    What stands around it, and the scalars in front of it, are the last.
    """

    kind: str
    a: Term
    b: Term
    p: tuple[int, ...]
    around: tuple[Term, ...]
    scalars: tuple[Term, ...] = ()


def _apart(term: Term) -> tuple[tuple[Term, ...], Term]:
    """Return the scalars of a product with one array, and the array; of anything else none."""
    arrays = [arg for arg in term.args if arg.ndim] if term.kind == "product" and not any(term.data) else []
    if len(arrays) != 1 or arrays[0].shape != term.shape:
        return (), term
    return tuple(arg for arg in term.args if not arg.ndim), arrays[0]


@RULES.of("sum")
def _cross(reader: Reader, term: Term) -> Term | None:
    """Read the two halves of a cross product in a sum as one."""
    if len(term.args) > _PAIRS:
        return None
    parts = term.pairs
    joined = _joined_halves(reader, parts, 1)
    if joined is None:  # all of what was put into another order together, or none
        split = [(own, minus != opposite) for arg, minus in parts for own, opposite in _split(reader, arg)]
        fresh = [part for part in split if part not in parts]
        joined = _joined_halves(reader, split, len(split)) if len(fresh) > 1 else None
        if joined is not None and any(part in joined for part in fresh):
            return None
    return None if joined is None else reader.sum(joined, term.shape)


def _joined_halves(reader: Reader, parts: list[tuple[Term, bool]], most: int) -> list[tuple[Term, bool]] | None:
    """Put pairs of halves together, so many at most; None where there are none."""
    made: list[tuple[Term, bool]] = []
    rest = parts
    while len(made) < most and (found := _pair(rest)) is not None:
        first, second, half = found
        made.append((_whole(reader, half, rest[first][0]), rest[first][1]))
        rest = [part for at, part in enumerate(rest) if at not in (first, second)]
    return [*made, *rest] if made else None


def _pair(parts: Sequence[tuple[Term, bool]]) -> tuple[int, int, _Turned] | None:
    """Return the places of two terms that make up a cross product, and the first of its halves."""
    halves = [(place, half) for place, (arg, _) in enumerate(parts) for half in _halves(arg)]
    for place, one in halves:
        for other_place, other in halves:
            opposite = parts[place][1] != parts[other_place][1]
            if one.p == _FORTH and other.p == _BACK and opposite and one._replace(p=_BACK) == other:
                return place, other_place, one
    return None


def _split(reader: Reader, term: Term) -> list[tuple[Term, bool]]:
    """Return the terms of a sum that is put into another order as terms in that order, with their signs."""
    if term.kind == "take" and term.args[0].kind == "sum" and term.data in _ORDERS:
        (total,), (axis, places) = term.args, term.data
    elif term.kind == "matmul" and term.args[-1].kind == "take" and term.args[-1].data in _ORDERS[:2]:
        if not is_identity(term.args[-1].args[0]):
            return [(term, False)]
        total, axis = reader.chain(term.args[:-1]), 1
        places = _BACK if term.args[-1].data[1] == _FORTH else _FORTH
    else:
        return [(term, False)]
    parts = total.pairs if total.kind == "sum" else [(total, False)]
    return [(_ordered(reader, part, axis, places), minus) for part, minus in _by_vectors(reader, parts)]


def _by_vectors(reader: Reader, parts: list[tuple[Term, bool]]) -> list[tuple[Term, bool]]:
    """Add matrices whose columns are multiplied by the same vector."""
    found: dict[Term, list[tuple[Term, bool]]] = {}
    rest = []
    for part, minus in parts:
        scalars, core = _apart(part)
        if core.kind == "columns":
            matrix = reader.product([*scalars, core.args[0]], [], part.shape)
            found.setdefault(core.args[1], []).append((matrix, minus))
        else:
            rest.append((part, minus))
    for vector, matrices in found.items():
        shape = matrices[0][0].shape
        total, minus = matrices[0] if len(matrices) == 1 else (reader.sum(matrices, shape), False)
        rest.append((reader.make("columns", (total, vector), None, shape), minus))
    return rest


#: Operations that put three places of a first or second axis into another order.
_ORDERS = tuple((axis, places) for axis in (0, 1) for places in (_FORTH, _BACK))


def _ordered(reader: Reader, term: Term, axis: int, places: tuple[int, ...]) -> Term:
    """Return a vector, or a matrix by columns, in another order."""
    if term.kind == "take" and term.data[0] == axis:
        both = tuple(term.data[1][place] for place in places)
        if both == tuple(sorted(both)):
            return term.args[0]
        return reader.make("take", term.args, (axis, both), term.shape)
    if axis == 1 and term.kind in ("diag", "columns"):
        matrix = term.args[0] if term.kind == "columns" else reader.make("eye", (), (0, 1), term.shape)
        both = (_ordered(reader, matrix, 1, places), _ordered(reader, term.args[-1], 0, places))
        return reader.make("columns", both, None, term.shape)
    scalars, core = _apart(term)
    if scalars:
        return reader.product([*scalars, _ordered(reader, core, axis, places)], [], term.shape)
    return reader.make("take", (term,), (axis, places), term.shape)


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
    if term.kind == "columns":
        q, p = term.args
        if _is_turn(p) and _is_turn(q, 1) and p.data[1] != q.data[1]:
            return [_Turned("columns", p.args[0], q.args[0], p.data[1], ())]
        return ()
    if term.kind == "rows":
        (p, q), others = term.args, ()
    elif term.kind == "matmul" and term.args[0].kind == "diag":
        p, q, *rest = (term.args[0].args[0], *term.args[1:])
        others = tuple(rest)
    else:
        scalars, core = _apart(term)
        return [half._replace(scalars=scalars) for half in _halves(core)] if scalars and term.ndim == 2 else ()
    if _is_turn(p) and _is_turn(q) and p.data != q.data:
        return [_Turned("matrix", p.args[0], q.args[0], p.data[1], others)]
    return ()


def _is_turn(term: Term, axis: int = 0) -> bool:
    turns = ((axis, _FORTH), (axis, _BACK))
    return term.kind == "take" and term.data in turns and term.args[0].shape[axis] == 3


def holds_turn(term: Term, depth: int = 3) -> bool:
    """Tell whether a term has the elements of three places in another order, as halves of a cross product."""
    return _is_turn(term) or (depth > 0 and any(holds_turn(arg, depth - 1) for arg in term.args))


def _whole(reader: Reader, half: _Turned, first: Term) -> Term:
    if half.kind == "vectors":
        crossed = reader.make("cross", (half.a, half.b), None, first.shape)
        return reader.product([*half.around, crossed], [], first.shape)
    skew = reader.make("skew", (half.a,), None, (3, 3))
    if half.kind == "columns":
        whole = skew if is_identity(half.b) else reader.chain([half.b, skew])
        return reader.negative(reader.product([*half.scalars, whole], [], first.shape))
    whole = reader.chain([skew, *([] if is_identity(half.b) else [half.b]), *half.around])
    return reader.product([*half.scalars, whole], [], first.shape)
