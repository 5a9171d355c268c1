"""Densities of vectors and matrices, and probabilities of counts.

A normal density is written with ``solve`` and ``logdet`` of the covariance, as books have it and its derivatives; both
are taken from one Cholesky factor where a kernel meets a matrix that is symmetric or declared positive definite.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...errors import ShapeError
from ...graph import (
    INT,
    Node,
    constant,
    contract,
    extent,
    matrix,
    number,
    reduce,
    reshape,
    stop_gradient,
    sum_axes,
    swap,
    take,
)
from ...graph.scalars.functions import apply, compare, where
from ...graph.sizes import Dim, show
from .table import BELOW, any_of, log, standard, unless_nan

__all__ = ["formula"]

LOG_TWO_PI = math.log(2.0 * math.pi)


def formula(name: str, function: str) -> Callable[..., Node]:
    """Return a function of a distribution."""
    logarithm = _LOGARITHMS[name]

    def run(*args: Node) -> Node:
        value = logarithm(*args)
        return value if function.startswith("log") else apply("exp", value)

    return run


def _last(x: Node) -> tuple[int, ...]:
    return (x.ndim - 1,)


def _trace(x: Node) -> Node:
    axes = tuple(range(x.ndim - 2))
    return contract([x], [(*axes, x.ndim, x.ndim)], axes)


def _size(x: Node, what: str) -> Dim:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{what} of shape {show(x.shape)}; expected a square matrix, or a stack of them")
    n: Dim = x.shape[-1]
    return n


# ---------------------------------------------------------------------------- normal


def _multivariate_normal(x: Node, mean: Node | None, cov: Node) -> Node:
    """Kotz, Balakrishnan and Johnson 45.1: points along the last axis of x; a vector of variances is a diagonal."""
    if mean is not None and number(mean) == 0:
        mean = None
    if x.ndim == 0 or (x.ndim == 1 and cov.ndim == 0 and (mean is None or mean.ndim == 0)):
        x = reshape(x, (*x.shape, 1))  # numbers, each a point of one dimension
    gap = x if mean is None else standard(x, mean)
    n = gap.shape[-1]
    if cov.ndim > 2 or any(size != n for size in cov.shape):
        raise ShapeError(
            f"multivariate_normal of points of shape {show(x.shape)} with cov of shape {show(cov.shape)}; expected cov "
            f"of shape {show((n, n))}, a vector of {n} variances, or one variance"
        )
    count = extent(n)
    if cov.ndim < 2:
        square = sum_axes(apply("power", gap, 2.0) / cov, _last(gap))
        spread = sum_axes(log(cov), (0,)) if cov.ndim else count * log(cov)
    else:
        square = _mahalanobis(gap, cov)
        spread = matrix("logdet", cov)
    return -0.5 * square - 0.5 * spread - (0.5 * LOG_TWO_PI) * count


def _mahalanobis(gap: Node, cov: Node) -> Node:
    if gap.ndim == 1:
        solved = reshape(matrix("solve", cov, reshape(gap, (gap.shape[0], 1))), gap.shape)
        return contract([gap, solved], [(0,), (0,)], ())
    flat = gap
    if gap.ndim > 2:
        rows: Dim = 1
        for size in gap.shape[:-1]:
            rows = rows * size
        flat = reshape(gap, (rows, gap.shape[-1]))
    solved = matrix("solve", cov, swap(flat))
    square = contract([flat, solved], [(0, 1), (1, 0)], (0,))
    return square if gap.ndim == 2 else reshape(square, gap.shape[:-1])


# ---------------------------------------------------------------------------- Dirichlet, Wishart


def _dirichlet(x: Node, alpha: Node) -> Node:
    """Kotz, Balakrishnan and Johnson 49.1: as in SciPy, x has its parts along the first axis, which sum to 1."""
    if alpha.ndim != 1 or x.ndim == 0 or x.shape[0] != alpha.shape[0]:
        raise ShapeError(
            f"dirichlet of shape {show(x.shape)} with alpha of shape {show(alpha.shape)}; expected as many parts along "
            "the first axis of x as there are numbers in alpha"
        )
    powers = alpha if x.ndim == 1 else reshape(alpha, (alpha.shape[0], *(1,) * (x.ndim - 1)))
    constant_part = sum_axes(apply("lgamma", alpha), (0,)) - apply("lgamma", sum_axes(alpha, (0,)))
    value = sum_axes((powers - 1.0) * log(x), (0,)) - constant_part
    at_ends = stop_gradient(sum_axes(apply("xlogy", powers - 1.0, x), (0,)) - constant_part)
    beyond = where(_some(compare("less", x, 0.0), 0), BELOW["logpdf"], at_ends)
    return where(_some(compare("less_equal", x, 0.0), 0), beyond, value)


def _some(condition: Node, axis: int) -> Node:
    return compare("not_equal", reduce("max", where(condition, 1.0, 0.0), (axis,)), 0.0)


def _wishart(x: Node, df: Node, scale: Node) -> Node:
    """Gupta and Nagar 3.2.1: x and scale are positive definite, and df is above their size less 1."""
    n = _size(scale, "the scale of wishart")
    if _size(x, "wishart") != n:
        raise ShapeError(f"wishart of shape {show(x.shape)} with scale of shape {show(scale.shape)}; expected one size")
    p = extent(n)
    half = 0.5 * df
    return (
        (half - 0.5 * (p + 1.0)) * matrix("logdet", x)
        - 0.5 * _trace(matrix("solve", scale, x))
        - half * (math.log(2.0) * p + matrix("logdet", scale))
        - _multigammaln(half, n)
    )


def _multigammaln(a: Node, n: Dim) -> Node:
    """Gupta and Nagar 1.4.5, for a known size."""
    if not isinstance(n, int):
        raise ShapeError(f"wishart of {n}×{n} matrices; expected a size that is a number")
    steps = constant([-0.5 * i for i in range(n)])
    one = reshape(a, (*a.shape, 1))
    return sum_axes(apply("lgamma", one + steps), (a.ndim,)) + 0.25 * math.log(math.pi) * n * (n - 1)


# ---------------------------------------------------------------------------- counts


def _multinomial(x: Node, n: Node, p: Node) -> Node:
    """Johnson, Kotz and Balakrishnan 35.1: counts and probabilities along the last axis."""
    if x.ndim == 0 or p.ndim == 0 or x.shape[-1] != p.shape[-1]:
        raise ShapeError(
            f"multinomial of shape {show(x.shape)} with p of shape {show(p.shape)}; expected as many counts along the "
            "last axis as there are probabilities"
        )
    wrong = any_of(compare("less", x, 0.0), compare("less", apply("floor", x), x))
    total = sum_axes(x, _last(x))
    gone = any_of(_some(wrong, x.ndim - 1), compare("less", total, n), compare("less", n, total))
    each = apply("xlogy", x, p) - apply("lgamma", x + 1.0)
    return where(gone, BELOW["logpmf"], apply("lgamma", n + 1.0) + sum_axes(each, _last(each)))


def _categorical(k: Node, p: Node) -> Node:
    """Return the logarithm of the probability at a position: an integer input, or whole numbers."""
    if p.ndim == 0:
        raise ShapeError("categorical with one probability; expected a vector of them, along the last axis")
    n = p.shape[-1]
    if k.dtype is INT:
        if p.ndim != 1:
            raise ShapeError(f"categorical at positions, with p of shape {show(p.shape)}; expected a vector")
        return take(log(p), k, 0, 0)
    if not isinstance(n, int):
        raise ShapeError(f"categorical of numbers with {n} classes; expected a number of them, or an integer input")
    places = constant([float(i) for i in range(n)])
    chosen = compare("equal", reshape(k, (*k.shape, 1)), places)
    picked = where(chosen, log(p), 0.0)
    inside = compare("not_equal", sum_axes(where(chosen, 1.0, 0.0), (k.ndim,)), 0.0)
    return where(inside, sum_axes(picked, _last(picked)), unless_nan(k, BELOW["logpmf"]))


_LOGARITHMS: dict[str, Callable[..., Node]] = {
    "multivariate_normal": _multivariate_normal,
    "dirichlet": _dirichlet,
    "wishart": _wishart,
    "multinomial": _multinomial,
    "categorical": _categorical,
}
