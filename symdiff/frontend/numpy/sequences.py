"""Arrays as sequences: differences, slopes on a grid, areas, convolutions, running sums, grids, polynomials.

Coefficients of a polynomial have the highest power first, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ...errors import ArgumentError, LimitError, ShapeError, UnsupportedError
from ...graph import Node, broadcast_to, constant, contract, cumulative, pad, reshape, slicing, triangle, whole
from ...graph.scalars.functions import apply, compare, to_real, where
from ...graph.sizes import is_room, show, sign
from ...ground.budget import limits
from .indexing import getitem
from .linalg import vander
from .reductions import accumulate, sum
from .shaping import Axis, along, axes_of, axis_of, flip, join, moveaxis, parse_shape, ravel, shown, whole_number
from .spectra import lstsq


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
        p = getitem(p, slice(0, max(n - 1, 0))) * constant(np.arange(n - 1, 0, -1, dtype=float))
    return p


def polyint(p: Node, m: int = 1, k: Node | None = None) -> Node:
    """Return the integral of order ``m`` of a polynomial, with the constants ``k``, zeros."""
    p = _vector("polyint", p)
    times = _order("polyint", m)
    constants = broadcast_to(constant(0.0) if k is None else _constants(k, times), (times,))
    for place in range(times):
        n = int(p.shape[0])
        powers = constant(np.arange(n, 0, -1, dtype=float))
        p = join([p / powers, getitem(constants, slice(place, place + 1))])
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


#: Elements of a kernel that is slid by a sum of shifted arrays; for more of them it is a product with a matrix.
_SHORT = 32
#: Elements of the blocks of a long kernel: rows of all its elements would not stay in the caches.
_BLOCK = 64


# ---------------------------------------------------------------------------- differences


def diff(x: Node, n: int = 1, axis: int = -1, prepend: Node | None = None, append: Node | None = None) -> Node:
    """Return differences of neighbours along an axis, as ``numpy.diff``.

    Parameters
    ----------
    x : Node
    n : int
        How often neighbours are subtracted.
    axis : int
    prepend, append : Node, optional
        Joined to ``x`` before: arrays, or numbers that are repeated along the other axes.

    Raises
    ------
    ArgumentError, LimitError, ShapeError
    """
    at = axis_of(x, axis)
    times = whole_number("n", n)
    if times < 0:
        raise ArgumentError(f"diff of order {times}; expected 0 or more")
    if times == 0:
        return x
    x = join([*_beside(x, prepend, at), x, *_beside(x, append, at)], at)
    size = x.shape[at]
    if times > 100 and not (isinstance(size, int) and size <= 100):
        raise LimitError("diff of an order over 100, which is the limit")
    for _ in range(min(times, 100)):
        x = apply("subtract", along(x, at, slice(1, None)), along(x, at, slice(None, -1)))
    return x


def _beside(x: Node, part: Node | None, axis: int) -> list[Node]:
    """Return what is joined to ``x``: nothing, an array, or a number for each of its lines."""
    if part is None:
        return []
    return [part if part.ndim else broadcast_to(part, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))]


def ediff1d(x: Node, to_end: Node | None = None, to_begin: Node | None = None) -> Node:
    """Return the differences of neighbours among all elements in C order, with given numbers in front and behind."""
    parts = [to_begin, diff(ravel(x)), to_end]
    return join([ravel(part) for part in parts if part is not None])


# ---------------------------------------------------------------------------- slopes and areas


def grid_gradient(*given: Node, axis: Axis = None, edge_order: int = 1) -> Node | tuple[Node, ...]:
    """Return the slopes of values on a grid, as ``numpy.gradient``.

    Parameters
    ----------
    *given : Node
        The values; then nothing, one distance for all axes, or for each axis a distance or the coordinates.
    axis : int or sequence of int, optional
        Along which axes: all of them.
    edge_order : {1, 2}
        Order of the one-sided differences at the ends.

    Returns
    -------
    Node or tuple of Node
        For one axis an array of the shape of the values; for several a tuple.

    Raises
    ------
    ShapeError
        If there are too few values, or coordinates do not fit.

    Notes
    -----
    With distances a to the left and b to the right, the slope is
    ``(a² f₊ + (b² - a²) f - b² f₋) / (a b (a + b))``, exact for parabolas.
    """
    if not given:
        raise ArgumentError("gradient of nothing; expected values on a grid")
    f, *spacing = given
    f = to_real(f)
    axes = axes_of(f, axis) if axis is None or isinstance(axis, tuple | list) else (axis_of(f, axis),)
    if isinstance(axis, tuple | list):
        axes = tuple(axis_of(f, a) for a in axis)  # in the order that was asked for
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient with edge_order={shown(edge_order)}; expected 1 or 2")
    if not spacing:
        spacing = [constant(1.0)]
    if len(spacing) == 1 and not spacing[0].ndim:
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise ArgumentError(f"gradient along {len(axes)} axes with {len(spacing)} spacings; expected one for each")
    slopes = tuple(_slopes(f, a, h, int(edge_order)) for a, h in zip(axes, spacing, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _slopes(f: Node, axis: int, h: Node, order: int) -> Node:
    size = f.shape[axis]
    if isinstance(size, int) and size < order + 1:
        raise ShapeError(f"gradient along an axis of size {size}; expected at least {order + 1}")
    if h.ndim > 1 or (h.ndim == 1 and h.shape[0] != size):
        raise ShapeError(f"gradient along axis {axis} of shape {show(f.shape)} at coordinates of shape {show(h.shape)}")

    def part(start: int | None, stop: int | None) -> Node:
        return along(f, axis, slice(start, stop))

    if not h.ndim:
        h = to_real(h)
        inner = (part(2, None) - part(None, -2)) / (2.0 * h)
        first = last = [h, h]
    else:
        gaps = _column(diff(h), f.ndim - axis - 1)
        a, b = along(gaps, 0, slice(None, -1)), along(gaps, 0, slice(1, None))
        left = (part(1, -1) - part(None, -2)) / a
        right = (part(2, None) - part(1, -1)) / b
        # the slope to each side, weighted with the distance to the other
        inner = (b * left + a * right) / (a + b)
        first = [along(gaps, 0, slice(k, k + 1)) for k in range(order)]
        last = [along(gaps, 0, slice(-1 - k, -k or None)) for k in range(order)]
    return join([_end(part, first, order, 1), inner, _end(part, last, order, -1)], axis)


def _end(part: Callable[[int | None, int | None], Node], gaps: Sequence[Node], order: int, sign: int) -> Node:
    """Return the one-sided slope at an end: of the line, or of the parabola through three values."""

    def value(k: int) -> Node:
        at = k if sign == 1 else -1 - k
        return part(at, at + 1 or None)

    def slope(k: int) -> Node:
        here, there = (value(k), value(k + 1)) if sign == 1 else (value(k + 1), value(k))
        return (there - here) / gaps[k]

    if order == 1:
        return slope(0)
    a, b = gaps[:2]
    bend = (slope(1) - slope(0)) / (a + b)
    return slope(0) - bend * a


def _column(x: Node, behind: int) -> Node:
    return reshape(x, (*x.shape, *[1] * behind))


def trapezoid(y: Node, x: Node | None = None, dx: Node | None = None, axis: int = -1) -> Node:
    """Return the area below values, as ``numpy.trapezoid``: the sum of means of neighbours times their distance.

    Parameters
    ----------
    y : Node
    x : Node, optional
        Coordinates along the axis, or of the shape of ``y``.
    dx : Node, optional
        The distance, where there are no coordinates: 1.
    axis : int
    """
    at = axis_of(y, axis)
    means = apply("add", along(y, at, slice(1, None)), along(y, at, slice(None, -1)))
    if x is None:
        width = constant(1.0) if dx is None else dx
    elif x.ndim == 1:
        if x.shape[0] != y.shape[at]:
            raise ShapeError(f"trapezoid of shape {show(y.shape)} at {x.shape[0]} coordinates along axis {at}")
        width = _column(diff(x), y.ndim - at - 1)
    else:
        width = diff(x, axis=axis)
    return sum(apply("divide", apply("multiply", width, means), 2.0), axis)  # more axes may have come from x


# ---------------------------------------------------------------------------- convolutions


def convolve(a: Node, v: Node, mode: Any = "full") -> Node:
    """Return the convolution of two vectors, as ``numpy.convolve``: the coefficients of a product of polynomials.

    Parameters
    ----------
    a, v : Node
        Vectors.
    mode : {"full", "same", "valid"}
        The last two need to know which is the longer.

    Raises
    ------
    ArgumentError, ShapeError, UnsupportedError
    """
    _check_vectors("convolve", a, v)
    return _slide("convolve", v, a, mode) if _is_shorter(a, v) else _slide("convolve", a, v, mode)


def correlate(a: Node, v: Node, mode: Any = "valid") -> Node:
    """Return the correlation of two vectors, as ``numpy.correlate``: ``a`` with ``v`` at every shift.

    Parameters
    ----------
    a, v : Node
        Vectors.
    mode : {"valid", "same", "full"}
    """
    _check_vectors("correlate", a, v)
    # NumPy correlates the longer with the shorter, and turns the result round
    return flip(_slide("correlate", v, flip(a), mode)) if _is_shorter(a, v) else _slide("correlate", a, flip(v), mode)


def _check_vectors(what: str, a: Node, v: Node) -> None:
    if a.ndim != 1 or v.ndim != 1 or 0 in (a.shape[0], v.shape[0]):
        raise ShapeError(f"{what} of shapes {show(a.shape)} and {show(v.shape)}; expected vectors with elements")


def _is_shorter(a: Node, v: Node) -> bool:
    return sign(v.shape[0] - a.shape[0] - 1) == 1


def _slide(what: str, a: Node, v: Node, mode: Any) -> Node:
    """Return the convolution of ``a`` with ``v``, which is not longer than ``a``."""
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{what} with mode={shown(mode)}; expected 'full', 'same' or 'valid'")
    a, v = to_real(a), to_real(v)
    n, m = a.shape[0], v.shape[0]
    full = _slide_whole(a, v)
    if mode == "full":
        return full
    if not (sign(n - m) == 1 or is_room(n - m)) or (mode == "same" and not isinstance(m, int)):
        raise UnsupportedError(
            f"{what} of sizes {n} and {m} with mode={mode!r}; expected sizes of which the longer is known, or 'full'"
        )
    if mode == "valid":
        return slicing(full, ((m - 1, 1, n - m + 1),))
    assert isinstance(m, int)
    first = (m - 1) // 2
    if isinstance(n, int):
        return slicing(full, ((first, 1, n),))
    # the second part has a length that is refused in a call where ``a`` is the shorter one
    return join([slicing(full, ((first, 1, m),)), slicing(full, ((first + m, 1, n - m),))])


def _slide_whole(a: Node, v: Node) -> Node:
    """Return all of a convolution."""
    n, m = a.shape[0], v.shape[0]
    if isinstance(m, int) and m <= _SHORT:
        parts = [pad(getitem(v, k) * a, ((k, 1, n),), (n + (m - 1),)) for k in range(m)]
        return reduce(partial(apply, "add"), parts)
    if not isinstance(m, int) or m < 2 * _BLOCK:
        return contract([v, _shifted(broadcast_to(a, (m, n)), 1)], [(0,), (0, 1)], (1,))
    rest = m % _BLOCK
    blocks = reshape(slicing(v, ((0, 1, m - rest),)), (m // _BLOCK, _BLOCK))
    # each block with all rows of a, and the results as far apart as the blocks are
    own = contract([blocks, _shifted(broadcast_to(a, (_BLOCK, n)), 1)], [(0, 1), (1, 2)], (0, 2))
    full = sum(_shifted(own, _BLOCK), 0)
    if not rest:
        return full
    last = _slide_whole(a, slicing(v, ((m - rest, 1, rest),)))
    parts = [pad(x, ((at, 1, x.shape[0]),), (n + (m - 1),)) for x, at in ((full, 0), (last, m - rest))]
    return parts[0] + parts[1]


def _shifted(rows: Node, by: int) -> Node:
    """Return rows in zeros, each as far behind the one before."""
    count, n = rows.shape
    padded = pad(rows, (whole(count), (0, 1, n)), (count, n + by * count))
    length = n + by * (count - 1)
    return reshape(slicing(ravel(padded), ((0, 1, count * length),)), (count, length))


# ---------------------------------------------------------------------------- running sums


def cumulative_sum(x: Node, axis: int | None = None, include_initial: bool = False) -> Node:
    """Return running sums along an axis, after a 0 if ``include_initial``, as ``numpy.cumulative_sum``."""
    return _cumulative("cumsum", x, axis, include_initial, 0.0)


def cumulative_prod(x: Node, axis: int | None = None, include_initial: bool = False) -> Node:
    """Return running products along an axis, after a 1 if ``include_initial``, as ``numpy.cumulative_prod``."""
    return _cumulative("cumprod", x, axis, include_initial, 1.0)


def _cumulative(op: str, x: Node, axis: int | None, initial: bool, first: float) -> Node:
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"{op} of an array of shape {show(x.shape)} without an axis; expected axis=0 or the like")
        axis = 0
    at = axis_of(x, axis)
    sums = accumulate(op, x, at)
    return join([broadcast_to(constant(first), (*x.shape[:at], 1, *x.shape[at + 1 :])), sums], at) if initial else sums


# ---------------------------------------------------------------------------- angles and grids


def unwrap(p: Node, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi) -> Node:
    """Add multiples of a period where neighbours jump by more than half of it, as ``numpy.unwrap``.

    The multiples are constant in pieces, so that the derivative is that of the elements.
    """
    p, at = to_real(p), axis_of(p, axis)
    step, half = diff(p, axis=at), period / 2
    turns = apply("floor", (step + half) / period)
    # a jump of exactly half a period upwards stays as it is
    jump = step - turns * period
    upwards = apply("logical_and", compare("equal", jump, -half), compare("less", 0.0, step))
    turns = where(upwards, turns - 1.0, turns)
    small = compare("less", apply("abs", step), half if discont is None else float(discont))
    turns = where(small, 0.0, turns)
    correction = cumulative("cumsum", turns, at) * -period
    return join([along(p, at, slice(0, 1)), along(p, at, slice(1, None)) + correction], at)


def linspace(
    start: Node, stop: Node, num: Any = 50, endpoint: bool = True, retstep: bool = False, axis: int = 0
) -> Node | tuple[Node, Node]:
    """Return equally spaced numbers between two, as ``numpy.linspace``; between arrays element by element.

    Parameters
    ----------
    start, stop : Node
        Numbers or arrays, which may be symbols.
    num : int
        How many.
    endpoint : bool
        Whether the last one is ``stop``.
    retstep : bool
        Whether the distance is returned as well.
    axis : int
        Where the new axis stands.
    """
    count = whole_number("num", num)
    if not 0 <= count <= limits().elements:
        raise LimitError(f"linspace of {count} numbers; expected 0 to {limits().elements}")
    intervals = count - 1 if endpoint else count
    gap = apply("subtract", stop, start)
    step = apply("divide", gap, float(intervals)) if intervals > 0 else apply("multiply", gap, math.nan)
    inner = count - 1 if endpoint and count > 1 else count
    order = reshape(constant(np.arange(inner, dtype=float)), (inner, *[1] * step.ndim))
    line = apply("add", start, apply("multiply", order, step if intervals > 0 else gap))
    if endpoint and count > 1:  # which the rounded steps may miss
        line = join([line, broadcast_to(stop, (1, *step.shape))])
    line = moveaxis(line, 0, axis)
    return (line, step) if retstep else line


def logspace(
    start: Node, stop: Node, num: Any = 50, endpoint: bool = True, base: Node | float = 10.0, axis: int = 0
) -> Node:
    """Return powers of ``base`` of equally spaced exponents, as ``numpy.logspace``; the base is a number."""
    if isinstance(base, Node) and base.ndim:
        raise ShapeError(f"logspace with a base of shape {show(base.shape)}; expected a number")
    exponents = linspace(start, stop, num, endpoint, False, axis)
    assert isinstance(exponents, Node)
    return apply("power", base, exponents)


def geomspace(start: Node, stop: Node, num: Any = 50, endpoint: bool = True, axis: int = 0) -> Node:
    """Return numbers of equal ratios between two of one sign, as ``numpy.geomspace``."""
    ratio = apply("log", apply("divide", stop, start))
    exponents = linspace(apply("multiply", 0.0, ratio), ratio, num, endpoint, False, axis)
    assert isinstance(exponents, Node)
    first = broadcast_to(start, ratio.shape)
    spread = moveaxis(reshape(first, (1, *first.shape)), 0, axis)
    return apply("multiply", spread, apply("exp", exponents))


def tri(n: Any, m: Any = None, k: int = 0) -> Node:
    """Return a matrix of ones on and below diagonal ``k``, and zeros above."""
    return triangle(broadcast_to(constant(1.0), parse_shape((n, n if m is None else m))), False, k)
