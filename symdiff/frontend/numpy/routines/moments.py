"""Covariances and correlations of variables whose observations stand in rows or columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import ArgumentError, ShapeError
from ....graph import Node, constant, contract, reshape, transpose
from ....graph.scalars.functions import apply, to_real
from ....graph.sizes import show
from .. import reductions
from ..operations import diagonal
from ..shaping import join, shown


def cov(
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
    weights = aweights
    if weights is not None and weights.shape != (n,):
        raise ShapeError(f"cov of {n} observations with aweights of shape {show(weights.shape)}")
    if fweights is not None:
        counts = np.asarray(fweights) if isinstance(fweights, list | tuple | np.ndarray) else np.array(None)
        if counts.dtype.kind not in "iu" or counts.shape != (n,) or (counts < 0).any():
            raise ArgumentError(f"cov with fweights={shown(fweights)}; expected a constant count for each observation")
        often = constant(counts.astype(float))
        weights = often if weights is None else apply("multiply", often, weights)
    if weights is None:
        degrees = apply("subtract", reductions.count(x, (1,)), less) if less else reductions.count(x, (1,))
        gap = apply("subtract", x, reductions.mean(x, 1, keepdims=True))
        return apply("divide", contract([gap, gap], [(0, 1), (2, 1)], (0, 2)), degrees)
    total = reductions.sum(weights)
    mean = apply("divide", reductions.sum(apply("multiply", x, weights), 1, keepdims=True), total)
    gap = apply("subtract", x, mean)
    degrees = total
    if less:
        squares = reductions.sum(weights if aweights is None else apply("multiply", weights, aweights))
        degrees = apply("subtract", total, apply("divide", apply("multiply", less, squares), total))
    return apply("divide", contract([gap, weights, gap], [(0, 1), (1,), (2, 1)], (0, 2)), degrees)


def _variables(x: Node, rowvar: bool) -> Node:
    if not 1 <= x.ndim <= 2:
        raise ShapeError(f"cov of an array of shape {show(x.shape)}; expected a vector or a matrix")
    x = to_real(x)
    if x.ndim == 1:
        return reshape(x, (1, x.shape[0]))
    return x if rowvar or x.shape[0] == 1 else transpose(x)


def scalar_if_one(x: Node) -> Node:
    """Return a matrix of one element as a number, as ``numpy.cov`` does."""
    return reshape(x, ()) if x.shape == (1, 1) else x


def covariance(
    m: Node,
    y: Node | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Node | None = None,
) -> Node:
    """Return :func:`cov`, of one variable its variance as a number."""
    return scalar_if_one(cov(m, y, rowvar, bias, ddof, fweights, aweights))


def corrcoef(x: Node, y: Node | None = None, rowvar: bool = True) -> Node:
    """Return the correlation coefficients of variables, as ``numpy.corrcoef``, limited to -1 and 1.

    Where rounding would pass the limits NumPy cuts off; the derivative there is that of the formula.
    """
    c = cov(x, y, rowvar)
    if c.shape == (1, 1):
        return apply("divide", reshape(c, ()), reshape(c, ()))
    spread = apply("sqrt", diagonal(c))
    n = c.shape[0]
    return apply("divide", apply("divide", c, reshape(spread, (n, 1))), reshape(spread, (1, n)))
