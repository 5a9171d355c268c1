"""Polynomials by their coefficients, the highest power first, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import ArgumentError, ShapeError
from ....graph import Node, broadcast_to, constant, reshape
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import show
from ..indexing import getitem
from ..linalg.building import vander
from ..linalg.spectra import lstsq
from ..reductions import sum
from ..shaping import join, whole_number
from .sequences import convolve

__all__ = ["poly", "polyadd", "polyder", "polyfit", "polyint", "polymul", "polysub"]


def _vector(what: str, p: Node) -> Node:
    """Return a number or a vector of coefficients as a vector; its size is to be known."""
    if p.ndim > 1 or not all(isinstance(n, int) for n in p.shape):
        raise ShapeError(f"{what} of shape {show(p.shape)}; expected a vector of coefficients, its size known")
    return to_real(p if p.ndim else reshape(p, (1,)))


def _sum(what: str, op: str, a: Node, b: Node) -> Node:
    a, b = _vector(what, a), _vector(what, b)
    n = max(int(a.shape[0]), int(b.shape[0]))
    a, b = (join([constant(np.zeros(n - int(p.shape[0]))), p]) if p.shape[0] != n else p for p in (a, b))
    return apply(op, a, b)


def polyadd(a: Node, b: Node) -> Node:
    """Return the sum of two polynomials."""
    return _sum("polyadd", "add", a, b)


def polysub(a: Node, b: Node) -> Node:
    """Return the difference of two polynomials."""
    return _sum("polysub", "subtract", a, b)


def polymul(a: Node, b: Node) -> Node:
    """Return the product of two polynomials; leading coefficients that are 0 are kept."""
    return convolve(_vector("polymul", a), _vector("polymul", b))


def _order(what: str, m: object) -> int:
    times = whole_number("m", m)
    if not 0 <= times <= 100:
        raise ArgumentError(f"{what} of order {times}; expected 0 to 100")
    return times


def polyder(p: Node, m: int = 1) -> Node:
    """Return the derivative of order ``m`` of a polynomial."""
    p = _vector("polyder", p)
    for _ in range(_order("polyder", m)):
        n = int(p.shape[0])
        p = apply("multiply", getitem(p, slice(0, max(n - 1, 0))), constant(np.arange(n - 1, 0, -1, dtype=float)))
    return p


def polyint(p: Node, m: int = 1, k: Node | None = None) -> Node:
    """Return the integral of order ``m`` of a polynomial, with the constants ``k``, zeros."""
    p = _vector("polyint", p)
    times = _order("polyint", m)
    constants = broadcast_to(constant(0.0) if k is None else _constants(k, times), (times,))
    for place in range(times):
        n = int(p.shape[0])
        powers = constant(np.arange(n, 0, -1, dtype=float))
        p = join([apply("divide", p, powers), getitem(constants, slice(place, place + 1))])
    return p


def _constants(k: Node, times: int) -> Node:
    if k.ndim > 1 or (k.ndim == 1 and k.shape[0] not in (1, times)):
        raise ShapeError(f"polyint with k of shape {show(k.shape)}; expected a number or {times} of them")
    return to_real(k)


def poly(roots: Node) -> Node:
    """Return the coefficients of the polynomial that has these roots, the first of them 1."""
    roots = _vector("poly", roots)
    if not roots.shape[0]:
        return constant(1.0)  # NumPy gives a number here
    found = constant(np.ones(1))
    for k in range(int(roots.shape[0])):
        root = getitem(roots, slice(k, k + 1))
        found = polymul(found, join([constant(np.ones(1)), apply("negative", root)]))
    return found


def polyfit(x: Node, y: Node, deg: Any) -> Node:
    """Return the coefficients of the polynomial of a degree with the least sum of squares from points, of full rank."""
    degree = whole_number("polyfit", deg)
    if x.ndim != 1 or y.ndim not in (1, 2) or degree < 0:
        raise ShapeError(f"polyfit of shapes {show(x.shape)} and {show(y.shape)}, degree {degree}; expected vectors")
    table = vander(x, degree + 1)
    # as NumPy does it: columns of one length, whose condition is better
    scale = apply("sqrt", sum(apply("multiply", table, table), 0))
    found = lstsq(apply("divide", table, scale), y)[0]
    return apply("divide", found, scale if y.ndim == 1 else reshape(scale, (degree + 1, 1)))
