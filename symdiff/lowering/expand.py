"""Operations along axes in terms of maxima, sums and functions of numbers: norm, softmax, cumprod and others.

Two stages need it. Loops are found in nodes, where a softmax over a long axis becomes a maximum, a sum and a map.
Straight-line code is written from scalars, where it is one row of them after the other. Each expansion is written
once, over :class:`Values`, which are nodes or rows of scalars. Nodes alone would not do for straight-line code,
which knows more of a row than a graph can say, and would get other bits and more operations without it:

* which elements are structural zeros, and stay so in a unit vector;
* that shares add up to 1, so that ``1 - s`` is the sum of the others over the total, which has its digits where s
  is nearly 1;
* that of two exponentials the larger is 1, which saves one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import add
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from ..graph import (
    Node,
    broadcast_to,
    concatenate,
    constant,
    contract,
    cumulative,
    elementwise,
    extent,
    number,
    parts_of,
    placeholder,
    recurrence,
    reduce,
    reshape,
    result_of,
    slicing,
    step_number,
    transpose,
    whole,
    zeros,
)
from ..graph.primitives import NORMALIZATIONS, Body
from ..graph.scalars.functions import FUNCTIONS, compare, where
from .builder import ZERO, ProgramBuilder

#: Scalars by their numbers: a row, or one for all elements of a row.
Row: TypeAlias = tuple[int, ...]
V = TypeVar("V")


class Values(Protocol[V]):
    """Operations for expansions: of arrays, and numbers for each row of one."""

    def number(self, value: float) -> V:
        """Return a number."""

    def apply(self, op: str, *args: V) -> V:
        """Apply a scalar function element by element; what is one number for a row is repeated along it."""

    def maximum(self, x: V) -> V:
        """Return the largest element of each row."""

    def total(self, op: str, *args: V) -> V:
        """Return the sum of a function over each row; one term is added after the other, so that few are alive."""

    def shares(self, parts: V) -> V:
        """Return each part over the sum of its row, in which one is 1, or 0 where all are."""

    def two(self, x: V) -> tuple[V, V, Callable[[V, V], V]] | None:
        """Return the elements of rows that are known to have two, and what puts two together."""


#: Bounds of a sum of squares near the ends of float32 and of float64, and powers of 2 that bring its terms back.
_SCALES = ((1e30, 2.0**-100, 2.0**100), (1e280, 2.0**-600, 2.0**600))

# ---------------------------------------------------------------------------- the expansions


def norm(values: Values[V], x: V) -> V:
    """Return the root of the sum of squares."""
    return values.apply("sqrt", values.total("multiply", x, x))


def logsumexp(values: Values[V], x: V) -> V:
    """Return log(sum(exp(x)))."""
    shift, _, beside = _exponentials(values, x)
    return values.apply("add", values.apply("log1p", beside()), shift)


def softmax(values: Values[V], x: V) -> V:
    """Return exp(x) / sum(exp(x)), and 0 where all are -inf: what is impossible has no share in a derivative."""
    _, parts, _ = _exponentials(values, x)
    return values.shares(parts())


def log_softmax(values: Values[V], x: V) -> V:
    """Return log(softmax(x)), without the logarithm of what has underflowed."""
    shift, _, beside = _exponentials(values, x)
    rest = values.apply("log1p", beside())
    return values.apply("subtract", values.apply("subtract", x, shift), rest)


def unit(values: Values[V], x: V) -> V:
    """Return x / norm(x), and 0 where the norm is 0."""
    # the squares of 1e200 and 1e-200 are beyond a double: what is far out is brought back by a power of 2
    total, scale = values.total("multiply", x, x), values.number(1.0)
    for bound, shrinking, growing in _SCALES:
        large = values.apply("less", values.number(bound), total)
        small = values.apply("less", total, values.number(1.0 / bound))
        scale = values.apply("where", large, values.number(shrinking), scale)
        scale = values.apply("where", small, values.number(growing), scale)
    parts = values.apply("multiply", x, scale)
    length = norm(values, parts)
    zero = values.number(0.0)
    return values.apply("where", values.apply("equal", length, zero), zero, values.apply("divide", parts, length))


def _exponentials(values: Values[V], x: V) -> tuple[V, Callable[[], V], Callable[[], V]]:
    """Return the maximum, 0 where it is not finite; exp(x - it); and the sum of these less 1."""
    top = values.maximum(x)
    one, zero = values.number(1.0), values.number(0.0)
    finite = values.apply("less", values.apply("abs", top), values.number(math.inf))
    shift = values.apply("where", finite, top, zero)
    two = values.two(x)
    if two is None:
        parts = values.apply("exp", values.apply("subtract", x, shift))
        return shift, lambda: parts, lambda: _beside_one(values, parts)
    # one call, since the exponential of the upper is 1, or inf, 0 or NaN where that is inf, -inf or NaN
    a, b, join = two
    lower = values.apply("exp", values.apply("subtract", values.apply("minimum", a, b), shift))
    upper = values.apply("where", finite, one, values.apply("maximum", top, zero))

    def in_order() -> V:
        ordered = values.apply("less", a, b)
        return join(values.apply("where", ordered, lower, upper), values.apply("where", ordered, upper, lower))

    return shift, in_order, lambda: values.apply("add", lower, values.apply("subtract", upper, one))


def _beside_one(values: Values[V], parts: V) -> V:
    """Return the sum less 1, where the largest of the parts is 1: what a sum of them would round away."""
    one = values.number(1.0)
    largest = values.apply("equal", parts, one)
    rest = values.total("where", largest, values.number(0.0), parts)
    count = values.total("to_real", largest)
    return values.apply("add", rest, values.apply("subtract", count, one))


EXPANSIONS: dict[str, Callable[[Values[Any], Any], Any]] = {
    "norm": norm,
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "unit": unit,
}
_OF_EXPONENTIALS = frozenset({"logsumexp", "softmax", "log_softmax"})


class Fold(NamedTuple):
    """A running operation: the value so far and the next element to the next value, and the first element to the first.

    Both are operations of the scalar program, since straight-line code has one after the other.
    """

    step: str
    first: str = ""


FOLDS: dict[str, Fold] = {
    "cumsum": Fold("add"),
    "cumprod": Fold("multiply"),
    "cummax": Fold("maximum"),
    "cummin": Fold("minimum"),
}

# ---------------------------------------------------------------------------- on nodes


class _Nodes:
    """Arrays, and arrays without the axes of a row: of these, a loop computes what it can before it begins.

    Parameters
    ----------
    x : Node
    axes : tuple of int
        The axes of a row, not negative.
    """

    def __init__(self, x: Node, axes: tuple[int, ...]) -> None:
        self.shape, self.axes = x.shape, axes
        self.kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
        self.own = tuple(range(x.ndim))
        self.out = tuple(axis for axis in self.own if axis not in axes)

    def number(self, value: float) -> Node:
        return constant(value)

    def apply(self, op: str, *args: Node) -> Node:
        if any(arg.shape == self.shape for arg in args):
            alone = [arg.shape == self.shape or arg.is_constant for arg in args]
            args = tuple([x if own else reshape(x, self.kept) for x, own in zip(args, alone, strict=True)])
        return elementwise(op, args, FUNCTIONS[op].gives)

    def maximum(self, x: Node) -> Node:
        return reduce("max", x, self.axes)

    def total(self, op: str, *args: Node) -> Node:
        factors = args if op == "multiply" else (self.apply(op, *args),)
        return contract(factors, [self.own] * len(factors), self.out)

    def shares(self, parts: Node) -> Node:
        total = contract([parts], [self.own], self.out)
        return self.apply("divide", parts, self.apply("maximum", total, constant(1.0)))

    def two(self, x: Node) -> None:
        return None


def expand_node(op: str, x: Node, axes: tuple[int, ...]) -> Node:
    """Return an operation over axes, not negative, in terms of maxima, sums and functions of numbers."""
    found: Node = EXPANSIONS[op](_Nodes(x, axes), x)
    return found


def others_along_line(node: Node) -> Node | None:
    """Return the products of all others of a line by those before and those behind each, or None.

    A derivative has them as ``prod(where(eye(n) == 1, 1, x))``, which multiplies each of n numbers n times.
    """
    if node.op != "prod" or node.payload.axes != (-1,) or node.args[0].op != "where":
        return None
    own, one, line = node.args[0].args
    n = node.args[0].shape[-1]
    if own.op != "equal" or not own.args[0].is_delta or own.args[0].payload[:2] != (0, 1) or own.shape != (n, n):
        return None
    if number(own.args[1]) != 1.0 or number(one) != 1.0 or line.shape != (*node.shape[:-1], 1, n):
        return None
    x = reshape(line, node.shape)
    ends = [whole(size) for size in x.shape[:-1]]
    first = broadcast_to(constant(1.0), (*x.shape[:-1], 1))
    before, behind = (concatenate(parts, x.ndim - 1) for parts in ([first, x], [x, first]))  # of n + 1, as n may be 0
    products = cumulative("cumprod", before, x.ndim - 1), cumulative("cumprod", behind, x.ndim - 1, True)
    parts = [slicing(one, (*ends, (at, 1, n))) for at, one in enumerate(products)]
    return elementwise("multiply", tuple(parts))


def as_recurrence(node: Node) -> Node:
    """Return a running operation as a loop along its axis, which carries the value so far."""
    (x,) = node.args
    step, first = FOLDS[node.op]
    axis, n = node.payload.axis + x.ndim, x.shape[node.payload.axis]
    order = (axis, *(a for a in range(x.ndim) if a != axis))
    rows = transpose(x, order)
    shape = rows.shape[1:]
    so_far, row = placeholder(("carried", 0), shape), placeholder(("read", 0), shape)
    start = placeholder(("held", 0), ())
    alone = elementwise(first, (row,)) if first else row
    value = where(compare("equal", step_number(), start), alone, elementwise(step, (so_far, row)))
    begin = elementwise("subtract", (extent(n), constant(1.0))) if node.payload.reverse else constant(0.0)
    body = Body((so_far,), (row,), (start,), (value, value))
    loop = recurrence(body, [zeros(shape), rows, begin], n, node.payload.reverse)
    return transpose(result_of(loop, parts_of(loop)[1]), tuple(order.index(a) for a in range(x.ndim)))


# ---------------------------------------------------------------------------- on scalars


class _Scalars:
    """Rows of scalars of a program, or one scalar for a row."""

    def __init__(self, builder: ProgramBuilder) -> None:
        self.builder = builder
        self.direct: dict[str, Callable[..., int]] = {
            "add": builder.add,
            "subtract": builder.subtract,
            "multiply": builder.multiply,
            "divide": builder.divide,
            "where": self._where,
        }

    def number(self, value: float) -> Row:
        return (self.builder.number(value),)

    def apply(self, op: str, *args: Row) -> Row:
        return tuple(self._each(op, args))

    def _each(self, op: str, args: Sequence[Row]) -> Iterator[int]:
        count = max(map(len, args))
        columns = [arg if len(arg) == count else arg * count for arg in args]
        for scalars in zip(*columns, strict=True):
            yield self._apply(op, *scalars)

    def _apply(self, op: str, *args: int) -> int:
        direct = self.direct.get(op)
        return self.builder.emit(op, *map(self.builder.real, args)) if direct is None else direct(*args)

    def _where(self, condition: int, a: int, b: int) -> int:
        """Select; a structural zero beside the number 0 stays one."""
        return ZERO if b == ZERO and self.builder.consts.get(a) == 0.0 else self.builder.where(condition, a, b)

    def maximum(self, x: Row) -> Row:
        top = self.builder.real(x[0])
        for value in x[1:]:
            top = self.builder.emit("maximum", top, self.builder.real(value))
        return (top,)

    def total(self, op: str, *args: Row) -> Row:
        return (self.builder.sum(self._each(op, args)),)

    def shares(self, parts: Row) -> Row:
        return tuple(self.builder.shares(parts))

    def two(self, x: Row) -> tuple[Row, Row, Callable[[Row, Row], Row]] | None:
        return (x[:1], x[1:], add) if len(x) == 2 else None


def expand_row(builder: ProgramBuilder, op: str, row: Sequence[int]) -> Row:
    """Return an operation over one row of scalars: one scalar, or as many as there are."""
    if not row and op == "logsumexp":
        return (builder.number(-math.inf),)
    if not row and op in NORMALIZATIONS:
        return ()
    if op in _OF_EXPONENTIALS:  # that of a structural zero is none
        row = [builder.real(value) for value in row]
    found: Row = EXPANSIONS[op](_Scalars(builder), tuple(row))
    return found
