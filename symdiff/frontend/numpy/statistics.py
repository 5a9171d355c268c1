"""Statistics of several elements: covariances, sorting, medians and quantiles.

The derivative of a sorted element goes to the element that stands at its place; elements that tie share it equally, as
in a maximum: it is the mean over all orders of the tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ...graph import Node, constant, contract, cumulative, extent, reshape, transpose
from ...graph import arrange as put_in_order
from ...graph.scalars.functions import apply, compare, to_real, where
from ...graph.sizes import product, show
from . import reductions
from .indexing import getitem, iota
from .operations import diagonal
from .shaping import Axis, axes_of, axis_of, join, ravel, several, shown, stack

# ---------------------------------------------------------------------------- covariances


def cov(
    m: Node,
    y: Node | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Node | None = None,
) -> Node:
    """Return the covariance matrix of variables, of one variable its variance as a number: see :func:`_covariances`."""
    c = _covariances(m, y, rowvar, bias, ddof, fweights, aweights)
    return reshape(c, ()) if c.shape == (1, 1) else c


def _covariances(
    m: Node,
    y: Node | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Node | None = None,
) -> Node:
    """Return the covariance matrix of variables, as ``numpy.cov``.

    Parameters
    ----------
    m : Node, shape (variables, observations), or (observations, variables) for ``rowvar=False``
    y : Node, optional
        Further variables.
    rowvar, bias : bool
    ddof : float, optional
        What is taken from the number of observations: 1, or 0 for ``bias``.
    fweights : array of int, optional
        How often each observation came: constants.
    aweights : Node, optional
        The weight of each observation.
    """
    x = _variables(m, rowvar)
    if y is not None:
        x = join([x, _variables(y, rowvar)], 0)
    n = x.shape[1]
    less = (0.0 if bias else 1.0) if ddof is None else float(ddof)
    weights = None if aweights is None else to_real(aweights)
    if weights is not None and weights.shape != (n,):
        raise ShapeError(f"cov of {n} observations with aweights of shape {show(weights.shape)}")
    if fweights is not None:
        counts = np.asarray(fweights) if isinstance(fweights, list | tuple | np.ndarray) else np.array(None)
        if counts.dtype.kind not in "iu" or counts.shape != (n,) or (counts < 0).any():
            raise ArgumentError(f"cov with fweights={shown(fweights)}; expected a constant count for each observation")
        often = constant(counts.astype(float))
        weights = often if weights is None else often * weights
    if weights is None:
        count = reductions.count(x, (1,))
        gap = x - reductions.mean(x, 1, keepdims=True)
        return contract([gap, gap], [(0, 1), (2, 1)], (0, 2)) / (count - less if less else count)
    total = degrees = reductions.sum(weights)
    gap = x - reductions.sum(x * weights, 1, keepdims=True) / total
    if less:
        degrees = total - less * reductions.sum(weights if aweights is None else weights * to_real(aweights)) / total
    return contract([gap, weights, gap], [(0, 1), (1,), (2, 1)], (0, 2)) / degrees


def _variables(x: Node, rowvar: bool) -> Node:
    if not 1 <= x.ndim <= 2:
        raise ShapeError(f"cov of an array of shape {show(x.shape)}; expected a vector or a matrix")
    x = to_real(x)
    if x.ndim == 1:
        return reshape(x, (1, x.shape[0]))
    return x if rowvar or x.shape[0] == 1 else transpose(x)


def corrcoef(x: Node, y: Node | None = None, rowvar: bool = True) -> Node:
    """Return the correlation coefficients of variables, as ``numpy.corrcoef``, limited to -1 and 1.

    Where rounding would pass the limits NumPy cuts off; the derivative there is that of the formula.
    """
    c = _covariances(x, y, rowvar)
    if c.shape == (1, 1):
        return reshape(c, ()) / reshape(c, ())
    spread = apply("sqrt", diagonal(c))
    n = c.shape[0]
    return c / reshape(spread, (n, 1)) / reshape(spread, (1, n))


# ---------------------------------------------------------------------------- order

#: Places of a quantile q among n elements, counted from 0: Hyndman and Fan 1996, as NumPy names them.
_METHODS: dict[str, tuple[float, float]] = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1.0 / 3.0, 1.0 / 3.0),
    "normal_unbiased": (3.0 / 8.0, 3.0 / 8.0),
}
#: Methods that choose between the two neighbours of the linear one.
_NEIGHBOURS: dict[str, Callable[[Any], Any]] = {
    "lower": math.floor,
    "higher": math.ceil,
    "nearest": round,
    "midpoint": lambda place: (math.floor(place) + math.ceil(place)) / 2,
}


def sort(x: Node, axis: int | None = -1) -> Node:
    """Return the elements along an axis (of all in C order for None) in ascending order, nan last."""
    if axis is None:
        x, axis = ravel(x), 0
    return cumulative("sort", to_real(x), axis_of(x, axis))


def partition(x: Node, kth: Any, axis: int | None = -1) -> Node:
    """Return elements with those at the places ``kth`` where sorting puts them: here all of them are."""
    if axis is None:
        x, axis = ravel(x), 0
    size = x.shape[axis_of(x, axis)]
    for place in several(kth):
        if not isinstance(place, int | np.integer) or (isinstance(size, int) and not -size <= place < size):
            raise ShapeError(f"partition at {shown(kth)} of an axis of size {size}; expected places within")
    return sort(x, axis)


def arrange(x: Node, key: Node, axis: int = -1) -> Node:
    """Put elements into the ascending order of others; those at which these tie get their mean.

    Parameters
    ----------
    x : Node, shape (..., *K)
    key : Node, shape K
    axis : int
        An axis of ``key``, counted from the end in both.
    """
    return put_in_order(to_real(x), to_real(key), axis_of(key, axis))


def restore(x: Node, key: Node, axis: int = -1) -> Node:
    """Put elements back from the ascending order of others: the transpose of :func:`arrange`."""
    return put_in_order(to_real(x), to_real(key), axis_of(key, axis), True)


# ---------------------------------------------------------------------------- quantiles


def median(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Return the middle element over axes, or the mean of the two in the middle; nan where one is."""
    return quantile(x, 0.5, axis, keepdims=keepdims)


def percentile(x: Node, q: Any, axis: Axis = None, method: Any = "linear", keepdims: bool = False) -> Node:
    """Return percentiles, as ``numpy.percentile``: see :func:`quantile`."""
    return quantile(x, _shares("percentile", q) / 100.0, axis, method, keepdims)


def quantile(x: Node, q: Any, axis: Axis = None, method: Any = "linear", keepdims: bool = False) -> Node:
    """Return elements below which a share of all is, as ``numpy.quantile``.

    Parameters
    ----------
    x : Node
    q : float or array of them
        Constants from 0 to 1. Of an array, its axes stand first in the result.
    axis : int, sequence of int or None
    method : str
        One of NumPy's methods that interpolate between neighbours, or "lower", "higher", "nearest", "midpoint".
    keepdims : bool
    """
    return _quantiles("quantile", x, q, axis, method, keepdims, _of_line)


def nanmedian(x: Node, axis: Axis = None, keepdims: bool = False) -> Node:
    """Return the median over axes of what is no nan; nan where all are."""
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def nanpercentile(x: Node, q: Any, axis: Axis = None, method: Any = "linear", keepdims: bool = False) -> Node:
    """Return percentiles of the elements that are not nan: see :func:`quantile`."""
    return nanquantile(x, _shares("nanpercentile", q) / 100.0, axis, method, keepdims)


def nanquantile(x: Node, q: Any, axis: Axis = None, method: Any = "linear", keepdims: bool = False) -> Node:
    """Return quantiles over axes of what is no nan, nan where all are: see :func:`quantile`."""
    if not isinstance(method, str) or method not in _METHODS:
        raise UnsupportedError(f"nanquantile with method={shown(method)}; expected one of {', '.join(_METHODS)}")
    return _quantiles("nanquantile", x, q, axis, method, keepdims, _of_known)


def _shares(what: str, q: Any) -> np.ndarray[Any, Any]:
    try:
        found = np.asarray(q, dtype=float)
    except Exception:  # what a symbol raises
        found = np.array(math.nan)
    if not np.isfinite(found).all() or isinstance(q, str | bool):
        raise UnsupportedError(f"{what} with q={shown(q)}; expected constants, known when the formula is built")
    return found


def _quantiles(
    what: str, x: Node, q: Any, axis: Axis, method: Any, keepdims: bool, place: Callable[[Node, float, str], Node]
) -> Node:
    shares = _shares(what, q)
    if shares.size and not 0.0 <= shares.min() <= shares.max() <= 1.0:
        raise ArgumentError(f"{what} with q={shown(q)}; expected numbers from 0 to 1 (0 to 100 for percentile)")
    if not isinstance(method, str) or method not in (*_METHODS, *_NEIGHBOURS):
        known_ones = ", ".join((*_METHODS, *_NEIGHBOURS))
        raise UnsupportedError(f"{what} with method={shown(method)}; expected one of {known_ones}")
    axes = axes_of(x, axis)
    kept = [a for a in range(x.ndim) if a not in axes]
    shape = tuple(x.shape[a] for a in kept)
    line = reshape(transpose(to_real(x), (*kept, *axes)), (*shape, product(x.shape[a] for a in axes)))
    if line.shape[-1] == 0:
        raise ShapeError(f"{what} of an array of shape {show(x.shape)} has no value; expected at least one element")
    ordered = sort(line)
    parts = [place(ordered, float(share), method) for share in shares.ravel()]
    if keepdims:
        parts = [reshape(part, tuple(1 if a in axes else n for a, n in enumerate(x.shape))) for part in parts]
    if not shares.ndim:
        return parts[0]
    whole = stack(parts) if parts else None
    if whole is None:
        raise ShapeError(f"{what} of no shares; expected at least one")
    return reshape(whole, (*shares.shape, *parts[0].shape))


def _of_line(ordered: Node, share: float, method: str) -> Node:
    """Return a quantile of sorted lines, nan where one of a line is."""
    n = ordered.shape[-1]
    last = getitem(ordered, (..., -1))
    unknown = compare("not_equal", last, last)
    if isinstance(n, int):
        low, weight = _place(share, n, method)
        value = getitem(ordered, (..., low))
        if weight:
            value = _between(value, getitem(ordered, (..., min(low + 1, n - 1))), weight)
        return where(unknown, last, value)
    if method not in _METHODS:
        raise UnsupportedError(f"a quantile by method={method!r} of an axis of symbolic size {n}; expected 'linear'")
    return where(unknown, last, _interpolated(ordered, share, method, extent(n)))


def _place(share: float, n: int, method: str) -> tuple[int, float]:
    """Return the place of a quantile among ``n`` sorted elements: the whole part and the rest."""
    if method in _NEIGHBOURS:
        place = float(_NEIGHBOURS[method]((n - 1) * share))
    else:
        alpha, beta = _METHODS[method]
        place = (n - 1) * share if method == "linear" else n * share + (alpha + share * (1.0 - alpha - beta)) - 1.0
    place = min(max(place, 0.0), n - 1.0)
    return math.floor(place), place - math.floor(place)


def _between(low: Node, high: Node, weight: Node | float) -> Node:
    if weight == 0.5:  # as a mean, of which both may be infinite
        return 0.5 * low + 0.5 * high
    return low + (high - low) * weight


def _of_known(ordered: Node, share: float, method: str) -> Node:
    """Return a quantile of the numbers in front of each sorted line, nan where there are none."""
    count = reductions.known(ordered, -1)
    return where(compare("equal", count, 0.0), math.nan, _interpolated(ordered, share, method, count))


def _interpolated(ordered: Node, share: float, method: str, count: Node) -> Node:
    """Return a quantile of the first ``count`` elements of sorted lines, a number that is known at call time."""
    alpha, beta = _METHODS[method]
    start = count * share - (1.0 - (alpha + share * (1.0 - alpha - beta)))
    place = apply("minimum", apply("maximum", start, 0.0), count - 1.0)
    low = apply("floor", place)
    counted = iota(ordered.shape[-1])

    def element(at: Node) -> Node:
        here = compare("equal", counted, reshape(at, (*at.shape, 1)))
        return reductions.sum(where(here, ordered, 0.0), -1)

    high = apply("minimum", low + 1.0, count - 1.0)
    weight = place - low
    # what has no weight is not observed: it may be infinite
    is_middle = method == "linear" and share == 0.5
    between = _between(element(low), element(high), 0.5 if is_middle else weight)
    return where(compare("equal", weight, 0.0), element(low), between)
