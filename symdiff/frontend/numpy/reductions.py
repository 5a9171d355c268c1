"""Reductions over axes with NumPy's meaning: sums, means, extremes, norms, softmax, cumulative sums.

Every function takes and returns nodes; axes follow NumPy's conventions (negative axes, ``keepdims``). Elements
that ``where=`` leaves out, and nan in functions that skip it, are replaced before anything is computed of them: they
may be infinite, and their derivatives are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from ...errors import ArgumentError, DtypeError, ShapeError
from ...graph import (
    BOOL,
    Node,
    broadcast_to,
    concatenate,
    constant,
    cumulative,
    elementwise,
    extent,
    normalize,
    reduce,
    reshape,
    stop_gradient,
    sum_axes,
)
from ...graph.nodes import broadcast_shapes
from ...graph.scalars.functions import apply, compare, to_real
from ...graph.scalars.functions import where as pick
from ...graph.sizes import product, show
from .indexing import getitem
from .shaping import Axis, axes_of, axis_of, ravel

#: An exponent whose exponential is far from infinite.
_FAR = 700.0


def choose(condition: Node, a: Node, b: Node) -> Node:
    """Choose element by element, as ``numpy.where`` with three arguments."""
    if condition.dtype is not BOOL:
        condition = compare("not_equal", condition, 0.0)
    if a.dtype is BOOL and b.dtype is BOOL:
        yes = elementwise("logical_and", (condition, a), BOOL)
        no = elementwise("logical_and", (elementwise("logical_not", (condition,), BOOL), b), BOOL)
        return elementwise("logical_or", (yes, no), BOOL)
    return pick(condition, to_real(a), to_real(b))


def _mask_of(what: str, x: Node, where: Node) -> Node:
    """Return the conditions that choose elements, in the shape of the array."""
    if where.dtype is not BOOL:
        raise DtypeError(f"{what} with numbers for where=; expected conditions such as x > 0")
    return broadcast_to(where, x.shape)


def _initial(what: str, initial: Node) -> Node:
    if initial.ndim:
        raise ShapeError(f"{what} with initial= of shape {show(initial.shape)}; expected a number")
    return to_real(initial)


# ---------------------------------------------------------------------------- sums, products, extremes


def over_axes(op: str, x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Return a fold of the table of primitives, or the sum, over some axes."""
    axes = axes_of(x, axis)
    x = to_real(x)
    result = sum_axes(x, axes) if op == "sum" else reduce(op, x, axes)
    return reshape(result, tuple(1 if a in axes else n for a, n in enumerate(x.shape))) if keepdims else result


def _sums(op: str, join: str, neutral: float) -> Callable[..., Node]:
    def call(
        x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
    ) -> Node:
        if where is not None:
            x = choose(_mask_of(op, x, where), to_real(x), constant(neutral))
        result = over_axes(op, x, axis, keepdims)
        return result if initial is None else apply(join, result, _initial(op, initial))

    call.__name__, call.__doc__ = op, f"Take the {op} of chosen elements over axes, from ``initial`` on."
    return call


def _extremes(op: str, join: str, neutral: float) -> Callable[..., Node]:
    def call(
        x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
    ) -> Node:
        if where is not None:
            if initial is None:
                raise ArgumentError(f"{op} with where= alone; expected initial=, the {op} of no elements, as well")
            x = choose(_mask_of(op, x, where), to_real(x), _initial(op, initial))
        if not x.ndim and isinstance(axis, int):
            raise ShapeError(f"{op} of a number along axis {axis}; of a number and {axis}, write {join}(x, {axis})")
        if initial is not None:  # an axis that may have no elements gets one that counts for nothing
            for a in axes_of(x, axis):
                if not (isinstance(x.shape[a], int) and x.shape[a]):
                    one = broadcast_to(constant(neutral), (*x.shape[:a], 1, *x.shape[a + 1 :]))
                    x = concatenate((to_real(x), one), a)
        result = over_axes(op, x, axis, keepdims)
        return result if initial is None else apply(join, result, _initial(op, initial))

    call.__name__, call.__doc__ = op, f"Take the {op} of chosen elements and of ``initial`` over axes."
    return call


sum, prod = _sums("sum", "add", 0.0), _sums("prod", "multiply", 1.0)
max, min = _extremes("max", "maximum", -inf), _extremes("min", "minimum", inf)


def logsumexp(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the logarithm of the sum of exponentials over axes."""
    return over_axes("logsumexp", x, axis, keepdims)


def euclid(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the Euclidean norm over axes."""
    return over_axes("norm", x, axis, keepdims)


def any(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
    """Tell whether a condition holds for any chosen element over axes."""
    # by a count, which an axis without elements has, rather than by a maximum
    return compare("greater", sum(_nonzero("any", x, where, False), axis, keepdims), 0.0)


def all(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
    """Tell whether a condition holds for all chosen elements over axes."""
    return compare("equal", sum(apply("logical_not", _nonzero("all", x, where, True)), axis, keepdims), 0.0)


def _nonzero(what: str, x: Node, where: Node | None, neutral: bool) -> Node:
    """Return conditions for an array, ``neutral`` for elements that are not chosen."""
    if where is not None:
        x = choose(_mask_of(what, x, where), x, constant(neutral if x.dtype is BOOL else float(neutral)))
    return x if x.dtype is BOOL else compare("not_equal", x, 0.0)


def ptp(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the largest element less the smallest over axes."""
    return over_axes("max", x, axis, keepdims) - over_axes("min", x, axis, keepdims)


# ---------------------------------------------------------------------------- means and variances


def count(x: Node, axes: tuple[int, ...]) -> Node:
    """Return how many elements a reduction over ``axes`` takes together, as a number."""
    return extent(product(x.shape[a] for a in axes))


def mean(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the mean of chosen elements over axes."""
    if where is None:
        return sum(x, axis, keepdims) / count(x, axes_of(x, axis))
    mask = _mask_of("mean", x, where)
    return sum(x, axis, keepdims, where=mask) / sum(mask, axis, keepdims)


def _spread(what: str, x: Node, axis: Axis, ddof: float, keepdims: bool, where: Node | None) -> tuple[Node, Node]:
    """Return chosen elements less their mean, 0 for the others, and their count less ``ddof``."""
    if where is None:
        n = count(x, axes_of(x, axis))
        return to_real(x) - mean(x, axis, keepdims=True), n - float(ddof) if ddof else n
    mask = _mask_of(what, x, where)
    gap = choose(mask, to_real(x) - mean(x, axes_of(x, axis), True, mask), constant(0.0))
    n = sum(mask, axis, keepdims)
    return gap, apply("maximum", n - float(ddof), 0.0) if ddof else n


def var(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the variance of chosen elements over axes, divided by their count less ``ddof``."""
    gap, degrees = _spread("var", x, axis, ddof, keepdims, where)
    return sum(apply("power", gap, 2.0), axis, keepdims) / degrees


def std(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the standard deviation of chosen elements over axes."""
    gap, degrees = _spread("std", x, axis, ddof, keepdims, where)
    return euclid(gap, axis, keepdims) / apply("sqrt", degrees)


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
    return sum(to_real(x) * to_real(weights), axis) / sum(weights, axis)


# ---------------------------------------------------------------------------- exponentials, norms, running sums


def weighed_logsumexp(x: Node, axis: Axis = None, b: Node | None = None, keepdims: bool = False) -> Node:
    """Take the logarithm of the sum over axes of exponentials, times weights ``b``; nan where the sum is negative.

    The largest exponent with a weight is taken out. A weight of 0 has a derivative all the same, up to 1e304.
    """
    if b is None:
        return logsumexp(x, axis, keepdims)
    shape = broadcast_shapes([x.shape, b.shape], "logsumexp")
    x, b = broadcast_to(to_real(x), shape), broadcast_to(to_real(b), shape)
    top = stop_gradient(max(pick(compare("equal", b, 0.0), -inf, x), axis, keepdims=True))
    top = pick(compare("less", apply("abs", top), inf), top, 0.0)
    # of a weight of 0 the exponent may be larger
    gap = apply("minimum", x - top, _FAR)
    total = apply("log", sum(b * apply("exp", gap), axis, keepdims=True))
    found = total + top
    return found if keepdims else reshape(found, tuple([n for k, n in enumerate(shape) if k not in axes_of(x, axis)]))


def softmax(x: Node, axis: Axis = -1) -> Node:
    """Return exponentials that sum to 1 over an axis (the last one), shifted so as not to overflow."""
    return _over("softmax", x, axis)


def log_softmax(x: Node, axis: Axis = -1) -> Node:
    """Return the logarithm of the softmax over an axis (the last one)."""
    return _over("log_softmax", x, axis)


def logmeanexp(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Take the logarithm of the mean of exponentials over axes."""
    return logsumexp(x, axis, keepdims) - apply("log", count(x, axes_of(x, axis)))


def standardize(x: Node, axis: Axis = -1, epsilon: Node | float = 1e-5) -> Node:
    """Subtract the mean over axes (the last one), and divide by the root of the variance and ``epsilon``."""
    gap = to_real(x) - mean(x, axis, keepdims=True)
    variance = mean(apply("power", gap, 2.0), axis, keepdims=True)
    return gap / apply("sqrt", apply("add", variance, epsilon))


def glu(x: Node, axis: int = -1) -> Node:
    """Return the first half along an axis (the last one) times the sigmoid of the second half.

    Dauphin, Fan, Auli and Grangier, "Language modeling with gated convolutional networks" (2017), section 2.
    """
    place = axis_of(x, axis)
    n = x.shape[place]
    if not isinstance(n, int) or n % 2:
        raise ShapeError(f"glu over an axis of size {n} of shape {show(x.shape)}; expected a known, even size")
    first, second = (tuple([slice(None)] * place + [half]) for half in (slice(n // 2), slice(n // 2, None)))
    return to_real(getitem(x, first)) * apply("sigmoid", getitem(x, second))


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


# ---------------------------------------------------------------------------- without nan


def _unknown(x: Node) -> Node:
    return compare("not_equal", x, x)


def without_nan(x: Node, value: float) -> Node:
    """Return ``x`` with a number in place of nan."""
    return pick(_unknown(x), value, to_real(x))


def known(x: Node, axis: Axis, keepdims: bool = False) -> Node:
    """Return how many elements over axes are no nan."""
    return sum(pick(_unknown(x), 0.0, broadcast_to(constant(1.0), x.shape)), axis, keepdims)


def nansum(
    x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
) -> Node:
    """Sum over axes, nan left out, from ``initial`` on."""
    return sum(without_nan(x, 0.0), axis, keepdims, initial, where)


def nanprod(
    x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
) -> Node:
    """Multiply over axes, nan left out, from ``initial`` on."""
    return prod(without_nan(x, 1.0), axis, keepdims, initial, where)


def nancumsum(x: Node, axis: int | None = None) -> Node:
    """Take running sums along an axis, nan left out."""
    return accumulate("cumsum", without_nan(x, 0.0), axis)


def nancumprod(x: Node, axis: int | None = None) -> Node:
    """Take running products along an axis, nan left out."""
    return accumulate("cumprod", without_nan(x, 1.0), axis)


def nanmean(x: Node, axis: Axis = None, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the mean over axes of what is no nan; nan where all are."""
    x = _of_chosen("nanmean", x, where)
    return nansum(x, axis, keepdims) / known(x, axis, keepdims)


def _known_extremes(op: str, extreme: Callable[..., Node], neutral: float) -> Callable[..., Node]:
    def call(
        x: Node, axis: Axis = None, keepdims: bool = False, initial: Node | None = None, where: Node | None = None
    ) -> Node:
        found = extreme(without_nan(x, neutral), axis, keepdims, initial, where)
        return found if initial is not None else pick(compare("equal", known(x, axis, keepdims), 0.0), nan, found)

    call.__name__ = op
    call.__doc__ = f"Take the {op[3:]} of ``initial`` and what is no nan over axes; without ``initial`` nan if all are."
    return call


nanmax, nanmin = _known_extremes("nanmax", max, -inf), _known_extremes("nanmin", min, inf)


def nanvar(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the variance over axes of what is no nan, divided by its count less ``ddof``."""
    x = _of_chosen("nanvar", x, where)
    return sum(apply("power", _gap(x, axis), 2.0), axis, keepdims) / _degrees(x, axis, ddof, keepdims)


def nanstd(x: Node, axis: Axis = None, ddof: float = 0, keepdims: bool = False, where: Node | None = None) -> Node:
    """Take the standard deviation over axes of what is no nan; nan where there are not more than ``ddof``."""
    x = _of_chosen("nanstd", x, where)
    return euclid(_gap(x, axis), axis, keepdims) / apply("sqrt", _degrees(x, axis, ddof, keepdims))


def _of_chosen(what: str, x: Node, mask: Node | None) -> Node:
    """Return an array with nan where it is not chosen."""
    return x if mask is None else pick(_mask_of(what, x, mask), to_real(x), nan)


def _gap(x: Node, axis: Axis) -> Node:
    return pick(_unknown(x), 0.0, to_real(x) - nanmean(x, axis, keepdims=True))


def _degrees(x: Node, axis: Axis, ddof: float, keepdims: bool) -> Node:
    """Return how many elements are no nan, less ``ddof``; nan where there are no more."""
    degrees = known(x, axis, keepdims) - float(ddof)
    return pick(compare("less", 0.0, degrees), degrees, nan)


def nan_to_num(x: Node, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Node:
    """Return numbers in place of nan and infinities: 0 and the largest numbers, if none are given."""
    most = 1.7976931348623157e308
    finite = pick(compare("equal", x, inf), most if posinf is None else float(posinf), to_real(x))
    finite = pick(compare("equal", x, -inf), -most if neginf is None else float(neginf), finite)
    return pick(_unknown(x), float(nan), finite)
