"""Terms: a formula as it is written down, between the graph and any style of writing.

The graph has one node for every product of arrays; a reader wants to see a matrix product, a
transpose, an outer product or a trace. A term is such a reading. Text, Unicode, LaTeX and
SymPy are all written from terms, so they agree on what a formula is.

The constructors here put terms into their shortest form: ``(A B)ᵀ`` becomes ``Bᵀ Aᵀ``,
``(Aᵀ)ᵀ`` becomes ``A``, chains of products are flat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...graph.sizes import Dim, Shape, is_room

#: Names of indices, in the order in which they are taken.
LETTERS = "ijklmnpqrstuvwxyzabcdefgh"
#: Longest chain of matrices written in one product; longer ones are nested.
CHAIN = 64
#: Longest product that is merged into another one although it may stand elsewhere too.
SHORT = 3
#: Terms that a transpose is pushed into.
_TRANSPOSED_INSIDE = ("matmul", "rows", "columns", "negative", "product")


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One piece of a written formula.

    Parameters
    ----------
    kind : str
        See the table below.
    args : tuple of Term
    data : object
        What else says which piece it is.
    shape : tuple of int or Size
    even : bool
        Whether it is a matrix that is known to equal its transpose, which is written without one.

    Notes
    -----
    Leaves: ``name`` (data: the name), ``number``, ``array`` (data: values), ``filled`` (one number
    everywhere), ``eye`` (data: start, step), ``unit`` (data: the place of the 1), ``size``.

    Arithmetic: ``sum`` (data: a sign for each argument), ``product`` (data: whether each argument
    divides), ``negative``, ``power``, ``compare`` (data: the operation), ``and``, ``or``, ``not``,
    ``where``, ``call`` (data: a scalar function).

    Products: ``matmul`` (a chain), ``transpose``, ``permute`` (data: axes), ``outer``, ``dot``, ``trace``,
    ``diag`` (vector to matrix), ``diagonal`` (data: two axes), ``total`` (data: axes summed),
    ``rows`` (diag(v) A), ``columns`` (A diag(v)), ``expand`` (data: which axes are old),
    ``broadcast``, ``tensor`` (data: labels of each argument, labels of the result).

    Structure: ``index`` (data: items), ``take`` (data: axis, places), ``picked`` and ``put`` (data: axis,
    shared axes), ``arranged`` (data: axis, whether back), ``reduce`` (data: name, axes),
    ``reshape``, ``roll`` and ``shift`` (data: places, axis), ``concatenate`` and ``stack`` (data: axis),
    ``cumulative`` (data: name, axis, reverse),
    ``series`` (data: the letter of the number, and how many there are; the summand),
    ``recurrence`` (data: a :class:`Loop`; starts, arrays gone along, what is carried on, what is written),
    ``mapping`` (data: the letter of a function's argument), ``option`` (data: its name),
    ``triangle`` (data: upper, offset), ``inv``, ``matrix`` (data: name), ``function`` (data: name),
    ``named`` (data: name).
    """

    kind: str
    args: tuple[Term, ...] = ()
    data: Any = None
    shape: Shape = ()
    even: bool = False

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)


    @property
    def pairs(self) -> list[tuple[Term, bool]]:
        """Terms of a sum, each with whether it is subtracted; factors, with whether they divide."""
        return list(zip(self.args, self.data, strict=True))

    @property
    def signed(self) -> tuple[bool, Term]:
        """Whether a term has a sign, and the term without it."""
        return (True, self.args[0]) if self.kind == "negative" else (False, self)

    @property
    def factors(self) -> tuple[list[Term], list[Term]]:
        """Factors and divisors of a product."""
        return [arg for arg, divides in self.pairs if not divides], [arg for arg, divides in self.pairs if divides]

    def __repr__(self) -> str:
        return f"<{self.kind} {self.data if self.data is not None else ''} of {len(self.args)}>"


class Loop(NamedTuple):
    """Written form of a loop.

    Its letters (of the step's number, what is carried, rows), how many arrays are carried and gone along, how many
    steps there are, whether the last row comes first, and which result is meant, None for all. What is carried on as it
    stands, by its place among all that is carried, is written as what it starts with, and is not counted. A loop that
    goes on while a condition holds has this behind what is carried on, in the place of what is written.
    """

    letters: tuple[Term, ...]
    carried: int
    rows: int
    length: Dim
    reverse: bool
    part: int | None
    unchanged: tuple[tuple[int, Term], ...] = ()
    condition: bool = False


def number(value: float) -> Term:
    """Return a number."""
    return Term("number", (), float(value), ())


def is_number(term: Term, value: float) -> bool:
    """Tell whether a term is this number."""
    return term.kind == "number" and bool(term.data == value)


def centred(gap: Term) -> tuple[Term, tuple[int, ...]] | None:
    """Return x, and the axes of the mean, of x - mean(x); None of anything else."""
    if gap.kind != "sum" or gap.data != (False, True):
        return None
    own, mean = gap.args
    mean = mean.args[0] if mean.kind == "expand" else mean
    is_mean = mean.kind == "reduce" and mean.data[0] == "mean" and mean.args[0] is own
    return (own, mean.data[1]) if is_mean else None


def transpose(x: Term, levels: int = 3, make: Callable[..., Term] = Term) -> Term:
    """Return the transpose of a matrix.

    It is pushed inwards by so many levels: a power by squaring is short only while its parts stay shared. ``make`` puts
    terms together.
    """
    if x.even:
        return x
    shape = x.shape[::-1]
    if levels == 0 and x.kind in _TRANSPOSED_INSIDE:
        return make("transpose", (x,), None, shape)
    inside = levels - 1
    match x.kind:
        case "transpose":
            return x.args[0]
        case "matmul" if all(arg.ndim == 2 for arg in x.args):
            return make("matmul", tuple(transpose(arg, inside, make) for arg in x.args[::-1]), None, shape)
        case "eye" if x.data == (0, 1):
            return make("eye", (), x.data, shape)
        case "filled":
            return make("filled", (), x.data, shape)
        case "diag":
            return x
        case "outer":
            return make("outer", x.args[::-1], None, shape)
        case "rows":
            return make("columns", (transpose(x.args[1], inside, make), x.args[0]), None, shape)
        case "columns":
            return make("rows", (x.args[1], transpose(x.args[0], inside, make)), None, shape)
        case "negative":
            return make("negative", (transpose(x.args[0], inside, make),), None, shape)
        case "product" if sum(arg.ndim == 2 for arg in x.args) == 1 and all(arg.ndim in (0, 2) for arg in x.args):
            return make("product", tuple(transpose(a, inside, make) if a.ndim else a for a in x.args), x.data, shape)
    return make("transpose", (x,), None, shape)


def vector_of(column: Term) -> Term | None:
    """Return a matrix of one column as the vector that it is, if it is made of one; None of any other.

    Examples
    --------
    >>> A, b = Term("name", (), "A", (3, 3)), Term("name", (), "b", (3,))
    >>> vector_of(matmul(A, Term("expand", (b,), (True, False), (3, 1)))).args[1].data
    'b'
    """
    shape = column.shape[:1]
    match column.kind:
        case "expand" if column.data == (True, False):
            return column.args[0]
        case "matrix" if column.data == "solve":
            right = vector_of(column.args[1])
            return None if right is None else Term("matrix", (column.args[0], right), "solve", shape)
        case "matmul" if column.ndim == 2:
            last = vector_of(column.args[-1])
            return None if last is None else Term("matmul", (*column.args[:-1], last), None, shape)
        case "negative":
            inside = vector_of(column.args[0])
            return None if inside is None else Term("negative", (inside,), None, shape)
    return None


def expand(x: Term, old: tuple[bool, ...], shape: Shape) -> Term:
    """Return ``x`` with new axes of size 1 where ``old`` is False."""
    if x.kind == "filled":
        return Term("filled", (), x.data, shape)
    if x.kind == "expand":
        below = iter(x.data)
        return expand(x.args[0], tuple(own and next(below) for own in old), shape)
    return x if all(old) else Term("expand", (x,), old, shape)


def index(x: Term, items: tuple[Any, ...], shape: Shape) -> Term:
    """Return a part of ``x``."""
    if x.kind == "filled":
        return Term("filled", (), x.data, shape) if shape else number(x.data)
    if x.kind == "array" and not shape and all(isinstance(start, int) for start, _, _ in items):
        return number(float(x.data[tuple(start for start, _, _ in items)]))
    if x.kind == "stack":
        start, step, length = items[x.data]
        if isinstance(start, int) and (length is None or isinstance(length, int)):
            rest = items[: x.data] + items[x.data + 1 :]
            axis = sum(size is not None for _, _, size in items[: x.data])
            if length is None:
                return _part(x.args[start], rest, shape)
            inside = shape[:axis] + shape[axis + 1 :]
            parts = tuple(_part(x.args[start + step * k], rest, inside) for k in range(length))
            return Term("stack", parts, axis, shape) if parts else Term("index", (x,), items, shape)
    if x.kind == "expand":
        # of an axis of size 1 that is new, nothing is left where a slice takes none of it
        stays = [item == (0, 1, size) for item, size in zip(items, x.shape, strict=True)]
        if all(full or (not own and item[2] != 0) for full, own, item in zip(stays, x.data, items, strict=True)):
            kept = tuple(own for own, (_, _, length) in zip(x.data, items, strict=True) if length is not None)
            return expand(x.args[0], kept, shape)
    return Term("index", (x,), items, shape)


def _part(x: Term, items: tuple[Any, ...], shape: Shape) -> Term:
    """Return a part of ``x``, which may be all of it."""
    is_whole = all(item == (0, 1, size) for item, size in zip(items, x.shape, strict=True))
    return x if is_whole else index(x, items, shape)


def matmul(a: Term, b: Term) -> Term:
    """Return the product of matrices, or of a matrix and a vector behind it."""
    if a.ndim == b.ndim == 2 and a.shape[1] == 1:  # a column and a row
        left, right = vector_of(a), vector_of(transpose(b))
        if left is not None and right is not None:
            return Term("outer", (left, right), None, a.shape[:1] + b.shape[1:])
    factors: list[Term] = []
    for side, other in ((a, b), (b, a)):
        joins = side.kind == "matmul" and (side is a or all(arg.ndim == 2 for arg in side.args[:-1]))
        # a long chain is extended by one factor at a time, else squaring would write out 2^k of them
        longest = CHAIN if other.kind != "matmul" else SHORT
        factors += side.args if joins and len(side.args) <= longest else [side]
    return Term("matmul", tuple(factors), None, a.shape[:-1] + b.shape[1:])


def times(factors: Sequence[Term], shape: Shape) -> Term:
    """Return the product of terms, element by element: numbers in front, signs pulled out."""
    over: list[Term] = []
    under: list[Term] = []
    negative = False
    todo = [(factor, False) for factor in reversed(factors)]
    while todo:
        factor, divides = todo.pop()
        if factor.kind == "negative":
            negative = not negative
            todo.append((factor.args[0], divides))
        elif factor.kind == "product" and len(factor.args) <= SHORT:
            todo.extend((arg, divides != own) for arg, own in zip(factor.args[::-1], factor.data[::-1], strict=True))
        else:
            (under if divides else over).append(factor)
    return quotient(over, under, negative, shape)


def quotient(over: Sequence[Term], under: Sequence[Term], negative: bool, shape: Shape) -> Term:
    """Return a product divided by a product, with a sign."""
    numbers = [t for t in over if t.kind == "number"]
    rest = [t for t in over if t.kind != "number"]
    kept = []
    for term in numbers:
        value = term.data
        if value < 0:
            negative, value = not negative, -value
        if value != 1:
            kept.append(number(value))
    factors = (*kept, *rest, *under)
    divides = (False,) * (len(kept) + len(rest)) + (True,) * len(under)
    if not factors:
        result = number(1.0)
    elif len(factors) == 1 and not under:
        result = factors[0]
    else:
        result = Term("product", factors, divides, shape)
    if not negative:
        return result
    if result.kind == "number":
        return number(-result.data)
    return Term("negative", (result,), None, shape)


def total_of(terms: Sequence[tuple[Term, bool]], shape: Shape) -> Term:
    """Return a sum of terms; True marks those subtracted."""
    signed = []
    for given, given_minus in terms:
        negative, term = given.signed
        minus = given_minus != negative
        if not negative and term.kind == "number" and term.data < 0:
            term, minus = number(-term.data), not minus
        signed.append((term, minus))
    if signed[0][1] and not all(minus for _, minus in signed):
        first = next(i for i, (_, minus) in enumerate(signed) if not minus)
        signed.insert(0, signed.pop(first))
    return Term("sum", tuple(t for t, _ in signed), tuple(minus for _, minus in signed), shape)


def postorder(roots: Sequence[Term]) -> list[Term]:
    """Return every term below ``roots`` once, arguments before uses."""
    done: set[int] = set()
    order: list[Term] = []
    stack: list[tuple[Term, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        term, ready = stack.pop()
        if ready:
            order.append(term)
        elif id(term) not in done:
            done.add(id(term))
            stack.append((term, True))
            stack.extend((arg, False) for arg in reversed(term.args))
    return order


def counted(order: Sequence[Term], most: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return how often each term is used, and of how many terms it is made, up to ``most``, both by ``id``."""
    uses: dict[int, int] = {}
    weight: dict[int, int] = {}
    for term in order:
        for arg in term.args:
            uses[id(arg)] = uses.get(id(arg), 0) + 1
        weight[id(term)] = min(1 + sum(weight[id(arg)] for arg in term.args), most)
    return uses, weight


def names_in(terms: Iterable[Term]) -> set[str]:
    """Return the names of inputs, parts and sizes."""
    found: set[str] = set()
    shapes: set[Shape] = set()
    for term in terms:
        if term.kind in ("name", "named"):
            found.add(str(term.data))
        shapes.add(term.shape if term.kind != "size" else (term.data,))
    for size in {size for shape in shapes for size in shape}:
        if not isinstance(size, int):
            found.update(size.names)
    return found


def reaches_outside(start: Dim, step: int, rows: Dim, columns: Dim) -> Dim | None:
    """Return the diagonal of a delta if some of its rows may be zero, their ones being outside; else None."""
    last = start + step * (rows - 1)
    low, high = (start, last) if step > 0 else (last, start)
    return None if is_room(low) and is_room(columns - 1 - high) else low
