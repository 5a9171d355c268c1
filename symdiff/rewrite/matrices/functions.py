"""Functions of matrices in other operations: isotropic ones, exponentials, pseudo-inverses.

**Isotropic functions** of symmetric matrices are V diag(g(x)) V^T for A = V diag(x) V^T. The differential of such a
function is V (K * E + diag(G diag(E))) V^T for E = V^T dA V, where G holds the slopes of g and K_ij = (g_i - g_j) /
(x_i - x_j). Where x_i = x_j, K_ij is G_ii - G_ij for every g that is alike in both (Lewis and Sendov, Twice
differentiable spectral functions, 2001). The quotient loses digits where x_i and x_j are close, and the limit is
taken wherever it agrees with the quotient within the rounding of that. Where x_i = x_j and g is not alike in both,
there is no derivative: it is nan.

The eigenvalues of [[0, B], [B^T, 0]] are the singular values of B, their negatives, and zeros, one for each row that
B has more than columns. A function of the singular values is taken as odd, so that its differential is that of
rectangular matrices, with the slope of the least singular value for the zeros.

**The exponential of any square matrix** is computed by scaling, Padé's approximant of degree 13, and squaring (Higham
2005). The number of squarings depends on the norm: a loop runs for the largest number, and squares in as many of its
turns as the norm needs. The derivative in a direction is that of the approximant and of the squarings. It is as
accurate as they are (Al-Mohy and Higham 2009, section 4).

**Matrices whose columns do not depend on each other** are divided by a Cholesky factor of A^T A. Functions of such
matrices go through A^T A, whose condition number is the square of that of A. So A is divided by the factor first,
after which its columns are orthonormal but for rounding, and then once more (CholeskyQR2; Yamamoto, Nakatsukasa,
Yanagisawa and Fukaya 2015).
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np

from ...graph import (
    BOOL,
    Labels,
    Node,
    broadcast_to,
    canonical,
    concatenate,
    constant,
    contract,
    delta,
    elementwise,
    matmul,
    matrix,
    parts_of,
    placeholder,
    recurrence,
    reduce,
    reshape,
    result_of,
    slicing,
    stop_gradient,
    substitute,
    swap,
    whole,
    zeros,
)
from ...graph.contractions import spectrum, spectrum_parameter
from ...graph.deltas.einsum import einsum
from ...graph.primitives import Body, Isotropic
from ...graph.scalars.functions import apply, compare, to_real, where
from ...graph.sizes import Dim

#: Square of the sine of the angle between a column and those before it, below which it counts as one of their sums.
DEPENDENT = 1e-13


def of_full_rank(x: Node) -> Node:
    """Return the pseudo-inverse of matrices with as many rows as columns, or more; nan where the rank is less."""
    scale, rough, known = conditioned(x)
    inside = matrix("solve", matmul(swap(rough), rough), swap(rough))
    return apply("multiply", matrix("solve", swap(scale), inside), known)


def conditioned(x: Node) -> tuple[Node, Node, Node]:
    """Return a lower triangular L, x L^-T, whose columns are orthonormal but for rounding, and 1 or nan.

    What follows from the span of the columns is the same for any L, so L is held fixed in derivatives. The last is
    nan where a column depends on others.
    """
    factor = stop_gradient(matrix("cholesky", matmul(swap(x), x)))
    # a column's part that is orthogonal to those before, against the whole of it
    axes = tuple(range(factor.ndim))
    squares = contract([apply("multiply", factor, factor)], [axes], axes[:-1])
    own = contract([factor], [(*axes[:-1], axes[-2])], axes[:-1])
    apart = where(compare("less", apply("multiply", squares, DEPENDENT), apply("multiply", own, own)), 1.0, 0.0)
    every = reduce("prod", apart, (apart.ndim - 1,))  # 1 of no columns
    known = where(compare("equal", every, 1.0), 1.0, nan)
    return factor, swap(matrix("solve", factor, swap(x))), reshape(known, (*known.shape, 1, 1))


#: Norm up to which the approximant is exact to double precision, and the largest number of squarings.
THETA, SQUARINGS = 5.371920351148152, 12
#: Coefficients of the numerator, the constant one first.
PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)


class _Moving(NamedTuple):
    """A matrix, and its change in a direction: None for a constant, and where no direction is asked for."""

    value: Node
    change: Node | None

    def times(self, other: _Moving) -> _Moving:
        """Return the matrix product."""
        parts = [] if self.change is None else [matmul(self.change, other.value)]
        parts += [] if other.change is None else [matmul(self.value, other.change)]
        return _Moving(matmul(self.value, other.value), _sum(parts))

    def plus(self, other: _Moving, sign: float = 1.0) -> _Moving:
        """Return the sum, or the difference."""
        change = _sum([part for part in (self.change, other.change) if part is not None])
        if self.change is not None and other.change is not None and sign < 0:
            change = self.change - other.change
        return _Moving(self.value + other.value if sign > 0 else self.value - other.value, change)


def exponential_of(x: Node, direction: Node | None = None) -> Node:
    """Return the exponential of matrices, or its derivative in a direction; nan where the 1-norm is above 22,000."""
    lead = x.shape[:-2]
    axes = tuple(range(x.ndim))
    columns = contract([apply("abs", x)], [axes], (*axes[:-2], axes[-1]))
    # a matrix without columns has the norm 0
    norm = reduce("max", concatenate([columns, zeros((*lead, 1))], x.ndim - 2), (x.ndim - 2,))
    # as many halvings as bring the norm below THETA
    times = apply("maximum", apply("ceil", apply("log2", norm / THETA)), 0.0)
    known = where(compare("less_equal", times, float(SQUARINGS)), 1.0, nan)
    scale = reshape(apply("exp2", -apply("minimum", times, float(SQUARINGS))), (*lead, 1, 1))
    small = _Moving(apply("multiply", x, scale), None if direction is None else apply("multiply", direction, scale))
    squared = _squared(_approximant(small), times)
    return apply("multiply", squared, reshape(known, (*lead, 1, 1)))


def _sum(parts: list[Node]) -> Node | None:
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _approximant(x: _Moving) -> _Moving:
    b = PADE
    one = broadcast_to(delta(x.value.shape[-1], x.value.shape[-1]), x.value.shape)
    two = x.times(x)
    four = two.times(two)
    six = four.times(two)

    def combined(*terms: tuple[float, _Moving]) -> _Moving:
        def of(c: float, part: Node) -> Node:
            return part if c == 1.0 else c * part

        value = _sum([of(c, power.value) for c, power in terms])
        assert value is not None
        return _Moving(value, _sum([of(c, power.change) for c, power in terms if power.change is not None]))

    unit = _Moving(one, None)
    high = six.times(combined((b[13], six), (b[11], four), (b[9], two)))
    odd = x.times(high.plus(combined((b[7], six), (b[5], four), (b[3], two), (b[1], unit))))
    high = six.times(combined((b[12], six), (b[10], four), (b[8], two)))
    even = high.plus(combined((b[6], six), (b[4], four), (b[2], two), (b[0], unit)))
    over, under = even.plus(odd), even.plus(odd, -1.0)
    value = matrix("solve", under.value, over.value)
    if over.change is None or under.change is None:
        return _Moving(value, None)
    return _Moving(value, matrix("solve", under.value, over.change - matmul(under.change, value)))


def _squared(x: _Moving, times: Node) -> Node:
    """Square each matrix of a stack its own number of times, and return the results, or their change.

    The number is counted down, so that a turn depends on what is carried alone and the loop ends with its last change.
    """
    carried, left = placeholder(("matrix",), x.value.shape), placeholder(("times",), times.shape)
    again = reshape(compare("greater", left, 0.0), (*times.shape, 1, 1))
    if x.change is None:
        own, start = _Moving(carried, None), [x.value]
    else:
        own, start = _Moving(carried, placeholder(("change",), x.change.shape)), [x.value, x.change]
    square = own.times(own)
    results = [where(again, square.value, carried)]
    if own.change is not None and square.change is not None:
        results.append(where(again, square.change, own.change))
    names = [carried, left] if own.change is None else [carried, own.change, left]
    results.append(apply("maximum", left - 1.0, 0.0))
    body = canonical(Body(tuple(names), (), (), tuple(results)))
    loop = recurrence(body, [*start, times], SQUARINGS)
    return result_of(loop, parts_of(loop)[len(start) - 1])


#: Eigenvalues count as equal when they are nearer than this part of the largest magnitude, some rounding errors.
EQUAL = 2.0**-43
#: Differences of g count as rounding up to this part of g: of quotients beside the limit, and of equal eigenvalues.
_ROUNDING, _ALIKE = 2.0**-49, 2.0**-20
#: Differences of slopes that count as rounding.
_BENT = 2.0**-10


def isotropic_of(node: Node, args: list[Node]) -> Node:
    """Return an isotropic function of a matrix, or its differential, by eigenvalues and eigenvectors."""
    return _Parts(node, args).result()


class _Parts:
    """Eigenvalues, g and its slopes at them, with labels for their axes: those of the stack from the last back."""

    def __init__(self, node: Node, args: list[Node]) -> None:
        payload: Isotropic = node.payload
        self.payload = payload
        a, given = args[0], args[1 : 1 + payload.parameters]
        self.directions = args[1 + payload.parameters :]
        self.x, self.v = matrix("eigvalsh", a), matrix("eigenvectors", a)
        stand_in = {spectrum(self.x.shape): self.x}
        stand_in |= {spectrum_parameter(k, one.shape, one.dtype): one for k, one in enumerate(given)}
        self.g, self.slopes = substitute([payload.function, payload.slopes], stand_in)
        self.n = self.x.shape[-1]
        self.stack = self.x.ndim - 1
        self.shape = node.shape
        largest = reduce("max", apply("abs", self.x), (self.stack,))
        self.largest = reshape(largest, (*largest.shape, 1, 1))
        self.nulls: Node | None = None
        self.odd = self.g if payload.nulls is None else 0.5 * (self.g - _flipped(self.g, 1))
        self.own = self._own_slopes(self.slopes)
        if payload.nulls:
            self.nulls = self._slopes_of_zeros(payload.nulls, self.own)
            self.own = self.own + _diagonal(self.nulls)
        self.stand_in = stand_in

    # ------------------------------------------------------------------------ slopes

    def _own_slopes(self, slopes: Node) -> Node:
        """Return the slopes of g by the eigenvalues of the same matrix, of an odd g as such: rows are g's elements."""
        if not self.payload.is_by_matrix:
            stack, front = self.stack, slopes.ndim - 2 * (self.stack + 1)
            lead, inner = tuple(range(front)), tuple(range(100, 100 + stack))
            slopes = einsum([slopes], [(*lead, *inner, 200, *inner, 201)], (*lead, *inner, 200, 201))
        return slopes if self.payload.nulls is None else 0.5 * (slopes + _flipped(slopes, 2))

    def _slopes_where_equal(self) -> Node:
        """Return the same slopes, with the mean of equal eigenvalues in the place of each.

        Those of a function that is alike in them are equal there but for rounding. At eigenvalues that rounding made
        differ they may be anything: of a product of three zeros, all are rounding.
        """
        near = to_real(compare("less_equal", apply("abs", _row(self.x) - _column(self.x)), EQUAL * self.largest))
        axes = tuple(range(self.x.ndim + 1))
        total = einsum([near, self.x], [axes, (*axes[:-2], axes[-1])], axes[:-1])
        mean = total / einsum([near], [axes], axes[:-1])
        if self.payload.nulls is not None:
            mean = 0.5 * (mean - _flipped(mean, 1))  # 0 among zeros
        (slopes,) = substitute([self.payload.slopes], self.stand_in | {spectrum(self.x.shape): mean})
        own = self._own_slopes(slopes)
        return own + _diagonal(self._slopes_of_zeros(self.payload.nulls, own)) if self.payload.nulls else own

    def _slopes_of_zeros(self, count: int, own: Node) -> Node:
        """Return, in the places of zeros that every such matrix has, the slope of the least singular value; else 0."""
        assert isinstance(self.n, int)
        least = (self.n + count) // 2
        at = _taken(_taken(own, least), least)
        zeros = constant(np.array([float(least - count <= k < least) for k in range(self.n)]))
        return einsum([at, zeros], [tuple(range(at.ndim)), (100,)], (*range(at.ndim), 100))

    def along(self, dx: Node) -> Node:
        """Return the change of g when eigenvalues change by ``dx``."""
        change = self._moved(dx)
        if self.payload.nulls is not None:
            change = 0.5 * (change + _flipped(self._moved(_flipped(dx, 1)), 1))
        if self.nulls is not None:
            change = change + self.nulls * dx
        return change

    def _moved(self, dx: Node) -> Node:
        stack, front = self.stack, self.payload.function.ndim - self.stack - 1
        free = dx.ndim - stack - 1
        lead = tuple(range(-max(front, free), 0))
        rows, columns = (tuple(range(start, start + stack + 1)) for start in (100, 200))
        given = (*lead[len(lead) - front :], *rows, *columns)
        if self.payload.is_by_matrix:
            columns = (*rows[:-1], columns[-1])
            given = (*lead[len(lead) - front :], *rows, columns[-1])
        if self.payload.transposed:
            rows, columns = columns, rows
        along = (*lead[len(lead) - free :], *columns)
        own = [_without_ones(x, labels, self.shape, len(lead)) for x, labels in ((self.slopes, given), (dx, along))]
        sizes = dict(zip(lead, self.shape, strict=False))
        if self.payload.is_by_matrix:
            return einsum([self.slopes, dx], own, (*lead, *rows), sizes)
        # a matrix that g does not depend on may be one that a condition leaves out, and its change nan
        every = (*lead, *rows, *columns)
        sizes |= dict(zip(columns, self.x.shape, strict=True)) | dict(zip(rows, self.x.shape, strict=True))
        slopes = einsum([self.slopes], own[:1], every, sizes)
        moved = where(compare("equal", slopes, 0.0), 0.0, einsum([self.slopes, dx], own, every, sizes))
        return einsum([moved], [every], (*lead, *rows))

    # ------------------------------------------------------------------------ differences

    def _differences(self) -> tuple[Node, Node, Node]:
        """Return K, and where g is not alike in equal eigenvalues: in its values, or in its slopes as well."""
        rows, columns = _row(self.x), _column(self.x)
        gap = rows - columns
        largest = self.largest
        bound = EQUAL * largest
        own = compare("equal", delta(self.n, self.n), 1.0)
        equal = _both(compare("less_equal", apply("abs", gap), bound), _not(own))
        diagonal = einsum([self.own], [(*range(self.own.ndim - 1), self.own.ndim - 2)], tuple(range(self.own.ndim - 1)))
        limit = 0.5 * (_row(diagonal) + _column(diagonal) - self.own - _swapped(self.own))
        change = _row(self.odd) - _column(self.odd)
        left = apply("abs", change - limit * gap)
        sizes = apply("abs", self.odd)
        size = _row(sizes) + _column(sizes)
        total = _row_sums(self.own)
        # g changes by so much when eigenvalues do by their own size
        swing = largest * (_row(total) + _column(total))
        noise = _ALIKE * size + 8.0 * EQUAL * swing
        unlike = _both(equal, compare("less", noise, left))
        own_slopes = self._slopes_where_equal()
        there = einsum([own_slopes], [(*range(self.own.ndim - 1), self.own.ndim - 2)], tuple(range(self.own.ndim - 1)))
        steep = apply("abs", _row(there) - _column(there)) + self._mixed_differences(own_slopes)
        total = _row_sums(own_slopes)
        most = reduce("max", total, (total.ndim - 1,))
        most = reshape(most, (*most.shape, 1, 1))
        # zeros that are nearly none have slopes of their own, which are none beside the largest one
        wide = compare("less", _BENT * (_row(total) + _column(total)) + EQUAL * most, steep)
        bent = _both(_both(equal, wide), compare("less_equal", _BENT * size, largest * steep))
        near = elementwise("logical_or", (equal, compare("less_equal", left, _ROUNDING * (size + swing))), BOOL)
        quotient = where(near, limit, change / where(near, 1.0, gap))
        return where(own, 0.0, quotient), unlike, elementwise("logical_or", (unlike, bent), BOOL)

    def _mixed_differences(self, h: Node) -> Node:
        """Return the largest difference of G_ik and G_jk over all other k."""
        rows = reshape(h, (*h.shape[:-2], self.n, 1, self.n))
        columns = reshape(h, (*h.shape[:-2], 1, self.n, self.n))
        own = compare("equal", delta(self.n, self.n), 1.0)
        met = elementwise("logical_or", (reshape(own, (self.n, 1, self.n)), reshape(own, (1, self.n, self.n))), BOOL)
        return reduce("max", where(met, 0.0, apply("abs", rows - columns)), (h.ndim,))

    # ------------------------------------------------------------------------ results

    def result(self) -> Node:
        k, unlike, unknown = self._differences()
        if not self.directions:
            known = where(compare("less", 0.0, _any(unlike)), nan, 1.0)
            return self._turned(self.g * known)
        (e,) = self.directions
        inside = self._inside(e)
        front = tuple(range(inside.ndim - 2))
        dx = einsum([inside], [(*front, 100, 100)], (*front, 100))
        known = where(unknown, nan, k)
        diagonal = self.along(dx)
        return self._turned(known * inside + _diagonal(diagonal), matrices=True)

    def _inside(self, e: Node) -> Node:
        lead = tuple(range(e.ndim - 2))
        own = lead[len(lead) - self.stack :]
        return einsum([self.v, e, self.v], [(*own, 100, 102), (*lead, 100, 101), (*own, 101, 103)], (*lead, 102, 103))

    def _turned(self, middle: Node, matrices: bool = False) -> Node:
        """Return V m V^T, for diagonal matrices or any."""
        inner: Labels = (102, 103) if matrices else (102,)
        lead = tuple(range(middle.ndim - len(inner)))
        own = lead[len(lead) - self.stack :]
        return einsum(
            [self.v, middle, self.v],
            [(*own, 100, 102), (*lead, *inner), (*own, 101, inner[-1])],
            (*lead, 100, 101),
        )


def _row_sums(x: Node) -> Node:
    axes = tuple(range(x.ndim))
    return einsum([apply("abs", x)], [axes], axes[:-1])


def _diagonal(x: Node) -> Node:
    own = tuple(range(x.ndim))
    return einsum([x, delta(x.shape[-1], x.shape[-1])], [own, (own[-1], 100)], (*own, 100))


def _row(x: Node) -> Node:
    return reshape(x, (*x.shape, 1))


def _column(x: Node) -> Node:
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def _swapped(x: Node) -> Node:
    axes = tuple(range(x.ndim))
    return einsum([x], [axes], (*axes[:-2], axes[-1], axes[-2]))


def _flipped(x: Node, count: int) -> Node:
    """Turn the last axes around."""
    last: list[tuple[Dim, int, Dim | None]] = [(size - 1, -1, size) for size in x.shape[x.ndim - count :]]
    return slicing(x, (*map(whole, x.shape[: x.ndim - count]), *last))


def _taken(x: Node, place: int) -> Node:
    """Take one place of the last axis."""
    axis = x.ndim - 1
    return slicing(x, tuple([(place, 1, None) if a == axis else whole(n) for a, n in enumerate(x.shape)]))


def _both(a: Node, b: Node) -> Node:
    return elementwise("logical_and", (a, b), BOOL)


def _not(a: Node) -> Node:
    return elementwise("logical_not", (a,), BOOL)


def _any(x: Node) -> Node:
    """Return how many conditions hold along the last axis."""
    axes = tuple(range(x.ndim))
    return einsum([to_real(x)], [axes], axes[:-1])


def _without_ones(x: Node, labels: Labels, shape: tuple[Dim, ...], count: int) -> Labels:
    """Give axes of size 1 that are broadcast labels of their own, which are summed over."""
    start = count
    return tuple(
        [
            300 + k if label < 0 and size == 1 != shape[start + label] else label
            for k, (label, size) in enumerate(zip(labels, x.shape, strict=True))
        ]
    )
