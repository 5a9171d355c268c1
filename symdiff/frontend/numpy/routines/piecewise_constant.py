"""Places and questions whose derivative is 0: where an extremum stands, in which order elements do, what is near.

What NumPy gives as a whole number is a number of the formula here, as of ``searchsorted``; where there is nothing to
differentiate through, a derivative is 0 and not refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import ArgumentError
from ....graph import BOOL, Node, broadcast_to, constant, elementwise, reshape, stop_gradient
from ....graph.scalars.functions import apply, compare, to_real, where
from ....graph.sizes import show
from .. import reductions
from ..creation import iota
from ..reductions import max as largest
from ..reductions import min as least
from ..shaping import axis_of, ravel, shown
from .order import arrange

__all__ = [
    "allclose",
    "angle",
    "argmax",
    "argmin",
    "argsort",
    "array_equal",
    "frexp",
    "isclose",
    "iscomplex",
    "isreal",
    "modf",
    "nanargmax",
    "nanargmin",
    "signbit",
]  # fmt: skip


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name}={shown(value)}; expected True or False")
    return bool(value)


def _either(a: Node, b: Node) -> Node:
    return elementwise("logical_or", (a, b), BOOL)


def _places(x: Node, axis: int) -> Node:
    """Return the number of each element along an axis, in an array that broadcasts with ``x``."""
    along = tuple(n if k == axis else 1 for k, n in enumerate(x.shape))
    return broadcast_to(reshape(iota(x.shape[axis]), along), x.shape)


def _first(x: Node, axis: int | None, keepdims: bool, extremum: Callable[..., Node]) -> Node:
    whole, x = x.ndim, to_real(x)
    if axis is None:
        x, at = ravel(x), 0
    else:
        at = axis_of(x, axis)
    best = extremum(x, at, keepdims=True)
    # an extremum of what holds a nan is nan, and so is its place the first nan's
    found = _either(compare("equal", x, best), compare("not_equal", x, x))
    place = least(where(found, _places(x, at), math.inf), at, keepdims=keepdims)
    place = reshape(place, (1,) * whole) if axis is None and keepdims else place
    return stop_gradient(place)


def argmax(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where along an axis the largest element first stands, as a number whose derivative is 0.

    Parameters
    ----------
    x : Node
    axis : int or None
        None for the place among all elements, in C order.
    keepdims : bool
    """
    return _first(x, axis, keepdims, largest)


def argmin(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where along an axis the smallest element first stands: see :func:`argmax`."""
    return _first(x, axis, keepdims, least)


def _known(x: Node, instead: float) -> Node:
    return where(compare("not_equal", x, x), instead, to_real(x))


def nanargmax(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where the largest element stands that is no nan; 0 where all are."""
    return argmax(_known(x, -math.inf), axis, keepdims)


def nanargmin(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Return where the smallest element stands that is no nan; 0 where all are."""
    return argmin(_known(x, math.inf), axis, keepdims)


def argsort(x: Node, axis: int | None = -1, kind: Any = None, stable: Any = None) -> Node:
    """Return the places of elements in ascending order, ties in the order in which they stand, nan last.

    Numbers, whose derivative is 0. Each element is compared with each other one, so that ties are told apart; the order
    is a stable one, whatever ``kind`` and ``stable`` ask for.
    """
    if kind not in (None, "stable", "quicksort", "mergesort", "heapsort"):
        raise ArgumentError(f"argsort with kind={shown(kind)}; expected 'stable', which it is")
    if stable is not None:
        _flag("stable", stable)
    x = to_real(x)
    if axis is None:
        x, at = ravel(x), 0
    else:
        at = axis_of(x, axis)
    one = reshape(x, (*x.shape[: at + 1], 1, *x.shape[at + 1 :]))
    other = reshape(x, (*x.shape[:at], 1, *x.shape[at:]))
    n = x.shape[at]
    places = reshape(iota(n), (n, *(1,) * (x.ndim - at - 1)))
    rows = reshape(places, (n, 1, *(1,) * (x.ndim - at - 1)))
    first_nan, other_nan = compare("not_equal", one, one), compare("not_equal", other, other)
    less = _either(compare("less", one, other), _both(apply("logical_not", first_nan), other_nan))
    tied = _either(compare("equal", one, other), _both(first_nan, other_nan))
    before = _either(less, _both(tied, compare("less", rows, places)))
    rank = reductions.sum(to_real(before), at)
    return stop_gradient(arrange(_places(x, at), rank, at - x.ndim))


def _both(a: Node, b: Node) -> Node:
    return elementwise("logical_and", (a, b), BOOL)


def isclose(a: Node, b: Node, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Node:
    """Return where two numbers differ by at most ``atol + rtol * abs(b)``, as a condition."""
    a, b = to_real(a), to_real(b)
    close = compare("less_equal", apply("abs", a - b), atol + rtol * apply("abs", b))
    finite = compare("less", apply("abs", b), math.inf)
    close = _either(_both(close, finite), compare("equal", a, b))
    if not _flag("equal_nan", equal_nan):
        return close
    return _either(close, _both(compare("not_equal", a, a), compare("not_equal", b, b)))


def allclose(a: Node, b: Node, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Node:
    """Return whether all elements are close, as a condition: see :func:`isclose`."""
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a: Node, b: Node, equal_nan: bool = False) -> Node:
    """Return whether two arrays of one shape are equal everywhere, as a condition."""
    if show(a.shape) != show(b.shape):
        return constant(False)
    same = compare("equal", to_real(a), to_real(b))
    if _flag("equal_nan", equal_nan):
        same = _either(same, _both(compare("not_equal", a, a), compare("not_equal", b, b)))
    return reductions.all(same)


def signbit(x: Node) -> Node:
    """Return where elements are below 0; zeros of a formula have no sign."""
    return compare("less", to_real(x), 0.0)


def isreal(x: Node) -> Node:
    """Return a condition that holds everywhere: each symbol is real."""
    return broadcast_to(constant(True), x.shape)


def iscomplex(x: Node) -> Node:
    """Return a condition that holds nowhere: each symbol is real."""
    return broadcast_to(constant(False), x.shape)


def angle(x: Node, deg: bool = False) -> Node:
    """Return the angle of real numbers in the complex plane: pi below 0, else 0."""
    x = to_real(x)
    turned = where(compare("less", x, 0.0), 180.0 if _flag("deg", deg) else math.pi, 0.0)
    return where(compare("equal", x, x), turned, x)


def modf(x: Node) -> tuple[Node, Node]:
    """Return the parts of numbers behind the point, and those before it."""
    x = to_real(x)
    whole = apply("trunc", x)
    endless = compare("equal", apply("abs", x), math.inf)
    return where(endless, 0.0, x - whole), whole


def frexp(x: Node) -> tuple[Node, Node]:
    """Return numbers as mantissas from 1/2 to 1 times powers of 2, and the exponents of these."""
    x = to_real(x)
    size = apply("abs", stop_gradient(x))
    odd = _either(compare("equal", size, 0.0), apply("logical_not", compare("less", size, math.inf)))
    exponent = apply("floor", apply("log2", where(odd, 1.0, size))) + 1.0
    # the logarithm of what lies beside a power of 2 may be rounded to that of the power
    scaled = size * apply("exp2", -exponent)
    exponent = where(compare("less", scaled, 0.5), exponent - 1.0, exponent)
    exponent = where(compare("less_equal", 1.0, scaled), exponent + 1.0, exponent)
    exponent = stop_gradient(where(odd, 0.0, exponent))
    half = apply("exp2", apply("trunc", -0.5 * exponent))  # in two steps, since a whole one may overflow
    return x * half * apply("exp2", -exponent - apply("trunc", -0.5 * exponent)), exponent
