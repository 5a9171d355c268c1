"""What densities share: location and scale, the support with its ends, sums over parts."""

from __future__ import annotations

import math

from ...graph import BOOL, Node, as_node, elementwise, number, stop_gradient
from ...graph.scalars.functions import apply, compare, where

__all__ = [
    "BELOW",
    "DENSITY",
    "QUANTILES",
    "all_of",
    "any_of",
    "log",
    "outside",
    "scaled",
    "standard",
    "unless_nan",
    "within",
]

DENSITY = ("logpdf", "pdf")
#: Functions of a probability: where it lies below, and above.
QUANTILES = ("ppf", "isf")

#: What stands below and above a support.
BELOW = {"logpdf": -math.inf, "pdf": 0.0, "logcdf": -math.inf, "cdf": 0.0, "logsf": 0.0, "sf": 1.0,
         "logpmf": -math.inf, "pmf": 0.0}  # fmt: skip
ABOVE = {**BELOW, "logcdf": 0.0, "cdf": 1.0, "logsf": -math.inf, "sf": 0.0}


def log(x: Node) -> Node:
    """Return the logarithm."""
    return apply("log", x)


def standard(x: Node, loc: Node, scale: Node | None = None) -> Node:
    """Return ``(x - loc) / scale``, without a ``loc`` of 0 or a ``scale`` of 1."""
    moved = x if number(loc) == 0 else x - loc
    return moved if scale is None or number(scale) == 1 else moved / scale


def scaled(function: str, value: Node, scale: Node) -> Node:
    """Return a density of ``x / scale`` as one of x; distribution functions are the same."""
    if number(scale) == 1 or function not in ("logpdf", "pdf"):
        return value
    return value - log(scale) if function == "logpdf" else value / scale


def all_of(*conditions: Node) -> Node:
    """Return where all conditions hold."""
    first, *rest = conditions
    for each in rest:
        first = elementwise("logical_and", (first, each), BOOL)
    return first


def any_of(*conditions: Node) -> Node:
    """Return where any of some conditions holds."""
    first, *rest = conditions
    for each in rest:
        first = elementwise("logical_or", (first, each), BOOL)
    return first


def unless_nan(z: Node, value: float) -> Node:
    """Return a number, and nan where ``z`` is."""
    return where(compare("equal", z, z), value, math.nan)


def outside(function: str, z: Node, low: Node | float, high: Node | float) -> Node:
    """Return what stands beyond a support."""
    below, above = BELOW[function], ABOVE[function]
    if below == above or (not isinstance(high, Node) and high == math.inf):
        return as_node(below)
    return where(compare("less_equal", z, low), below, above)


def within(
    function: str,
    z: Node,
    low: Node | float,
    high: Node | float,
    value: Node,
    closed: bool,
    end: Node | None = None,
) -> Node:
    """Return a value between two ends, and what stands beyond them.

    Parameters
    ----------
    function : str
    z : Node
    low, high : Node or float
        The ends; there may be one.
    value : Node
    closed : bool
        Whether the value holds at the ends as well.
    end : Node, optional
        What stands at the ends themselves, as a constant; without it that is what stands beyond them.
    """
    past = "less" if closed else "less_equal"
    has_low, has_high = (isinstance(one, Node) or math.isfinite(one) for one in (low, high))
    bounds = [low] * has_low + [high] * has_high
    # as what is outside and not as what is inside: of nan neither is true, and the value of it is nan
    gone = [compare(past, z, low)] * has_low + [compare(past, high, z)] * has_high
    beyond = outside(function, z, low, high)
    if end is not None:
        beyond = where(any_of(*[compare("equal", z, bound) for bound in bounds]), stop_gradient(end), beyond)
    return where(any_of(*gone), beyond, value)
