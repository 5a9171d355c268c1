"""Reductions over axes with NumPy's meaning: sums, means, norms, softmax, cumulative sums.

Every function takes and returns nodes; axes follow NumPy's conventions (negative axes, ``keepdims``).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from ...errors import ShapeError
from ...graph import BOOL, Node, broadcast_to, cumulative, extent, normalize, reduce, reshape, stop_gradient, sum_axes
from ...graph.nodes import broadcast_shapes
from ...graph.scalars.functions import apply, compare, to_real, where
from ...graph.sizes import product, show
from .indexing import getitem
from .shaping import Axis, axes_of, axis_of, ravel

#: An exponent whose exponential is far from infinite.
_FAR = 700.0


def _kept(x: Node, result: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    if not keepdims:
        return result
    return reshape(result, tuple(1 if a in axes else n for a, n in enumerate(x.shape)))


def sum(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Sum over axes."""
    axes = axes_of(x, axis)
    return _kept(x, sum_axes(to_real(x), axes), axes, keepdims)


def count(x: Node, axes: tuple[int, ...]) -> Node:
    """Return how many elements a reduction over ``axes`` takes together, as a number."""
    return extent(product(x.shape[a] for a in axes))


def mean(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the mean over axes."""
    return apply("divide", sum(x, axis, keepdims), count(x, axes_of(x, axis)))


def var(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Node:
    """Take the variance over axes, divided by the count less ``ddof``."""
    gap = apply("subtract", x, mean(x, axis, keepdims=True))
    total = sum(apply("power", gap, 2.0), axis, keepdims)
    n = count(x, axes_of(x, axis))
    return apply("divide", total, apply("subtract", n, float(ddof)) if ddof else n)


def std(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Node:
    """Take the standard deviation over axes."""
    gap = apply("subtract", x, mean(x, axis, keepdims=True))
    n = count(x, axes_of(x, axis))
    degrees = apply("subtract", n, float(ddof)) if ddof else n
    return apply("divide", euclid(gap, axis, keepdims), apply("sqrt", degrees))


def _reduction(op: str) -> Callable[..., Node]:
    def call(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
        axes = axes_of(x, axis)
        return _kept(x, reduce(op, to_real(x), axes), axes, keepdims)

    call.__name__, call.__doc__ = op, f"Take the {op} over axes."
    return call


max, min, prod, logsumexp = _reduction("max"), _reduction("min"), _reduction("prod"), _reduction("logsumexp")
euclid = _reduction("norm")


def weighed_logsumexp(x: Node, axis: Axis = None, b: Node | None = None, keepdims: bool = False) -> Node:
    """Take the logarithm of the sum over axes of exponentials, times weights ``b``; nan where the sum is negative.

    The largest exponent with a weight is taken out. A weight of 0 has a derivative all the same, up to 1e304.
    """
    if b is None:
        return logsumexp(x, axis, keepdims)
    shape = broadcast_shapes([x.shape, b.shape], "logsumexp")
    x, b = broadcast_to(to_real(x), shape), broadcast_to(to_real(b), shape)
    top = stop_gradient(max(where(compare("equal", b, 0.0), -inf, x), axis, keepdims=True))
    top = where(compare("less", apply("abs", top), inf), top, 0.0)
    # of a weight of 0 the exponent may be larger
    gap = apply("minimum", apply("subtract", x, top), _FAR)
    total = apply("log", sum(apply("multiply", b, apply("exp", gap)), axis, keepdims=True))
    found = apply("add", total, top)
    return found if keepdims else reshape(found, tuple([n for k, n in enumerate(shape) if k not in axes_of(x, axis)]))


def any(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Tell whether a condition holds anywhere over axes."""
    # by a count, which an axis without elements has, rather than by a maximum
    return compare("greater", sum(_nonzero(x), axis, keepdims), 0.0)


def all(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Tell whether a condition holds everywhere over axes."""
    return compare("equal", sum(apply("logical_not", _nonzero(x)), axis, keepdims), 0.0)


def _nonzero(x: Node) -> Node:
    return x if x.dtype is BOOL else compare("not_equal", x, 0.0)


def ptp(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the largest element less the smallest over axes."""
    return apply("subtract", max(x, axis, keepdims), min(x, axis, keepdims))


def average(x: Node, axis: Axis = None, weights: Node | None = None) -> Node:
    """Take the mean over axes, weighted if weights are given (of the shape of ``x``, or along one axis)."""
    if weights is None:
        return mean(x, axis)
    axes = axes_of(x, axis)
    if weights.shape != x.shape:
        if weights.ndim != 1 or len(axes) != 1 or weights.shape[0] != x.shape[axes[0]]:
            raise ShapeError(
                f"average of shape {show(x.shape)} with weights of shape {show(weights.shape)}; expected equal shapes, "
                "or a vector of weights along the one axis given"
            )
        weights = reshape(weights, tuple(n if a == axes[0] else 1 for a, n in enumerate(x.shape)))
        weights = broadcast_to(weights, x.shape)
    return apply("divide", sum(apply("multiply", x, weights), axis), sum(weights, axis))


def softmax(x: Node, axis: Axis = -1) -> Node:
    """Exponentials that sum to 1 over an axis (the last one), shifted so as not to overflow."""
    return _over("softmax", x, axis)


def log_softmax(x: Node, axis: Axis = -1) -> Node:
    """Logarithm of the softmax over an axis (the last one)."""
    return _over("log_softmax", x, axis)


def logmeanexp(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the logarithm of the mean of exponentials over axes."""
    return apply("subtract", logsumexp(x, axis, keepdims), apply("log", count(x, axes_of(x, axis))))


def standardize(x: Node, axis: Axis = -1, epsilon: Node | float = 1e-5) -> Node:
    """Subtract the mean over axes (the last one), and divide by the root of the variance and ``epsilon``."""
    gap = apply("subtract", x, mean(x, axis, keepdims=True))
    spread = apply("sqrt", apply("add", mean(apply("power", gap, 2.0), axis, keepdims=True), epsilon))
    return apply("divide", gap, spread)


def glu(x: Node, axis: int = -1) -> Node:
    """Return the first half along an axis (the last one) times the sigmoid of the second half.

    Dauphin, Fan, Auli and Grangier, "Language modeling with gated convolutional networks" (2017), section 2.
    """
    place = axis_of(x, axis)
    n = x.shape[place]
    if not isinstance(n, int) or n % 2:
        raise ShapeError(f"glu over an axis of size {n} of shape {show(x.shape)}; expected a known, even size")
    first, second = (tuple([slice(None)] * place + [half]) for half in (slice(n // 2), slice(n // 2, None)))
    return apply("multiply", getitem(x, first), apply("sigmoid", getitem(x, second)))


def unit(x: Node, axis: Axis = None) -> Node:
    """Divide by the norm over all elements, or over axes; 0 where that is 0."""
    return _over("unit", x, axis)


def _over(op: str, x: Node, axis: Axis) -> Node:
    if x.ndim == 0:
        raise ShapeError(f"{op} of a scalar; expected an array with at least one axis")
    return normalize(op, to_real(x), axes_of(x, axis))


def accumulate(op: str, x: Node, axis: int | None = None) -> Node:
    """Take the cumsum or its like along an axis, or over all elements in C order."""
    if axis is None:
        x = ravel(x)
        axis = 0
    return cumulative(op, to_real(x), axis_of(x, axis))
