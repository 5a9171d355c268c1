"""Expansions of functions that are mostly logarithms, which keep their digits: entropies, logit, log(1 - exp(-x))."""

from __future__ import annotations

import math

from .. import BOOL, Node, constant, elementwise
from .functions import compare, where


def _log(x: Node) -> Node:
    return elementwise("log", (x,))


def _abs(x: Node) -> Node:
    return elementwise("abs", (x,))


def xlog1py(x: Node, y: Node) -> Node:
    """Return ``x * log1p(y)``, and 0 where x is 0."""
    zero = elementwise("logical_and", (compare("equal", x, 0.0), compare("equal", y, y)), BOOL)
    return where(zero, 0.0, x * elementwise("log1p", (y,)))


def xlog_sigmoid(a: Node, x: Node) -> Node:
    """Return ``a * log(sigmoid(x))``, and 0 where a is 0."""
    zero = elementwise("logical_and", (compare("equal", a, 0.0), compare("equal", x, x)), BOOL)
    return where(zero, 0.0, a * elementwise("log_sigmoid", (x,)))


def part_of(x: Node, y: Node) -> Node:
    """Return ``x / y``, and 0 where both are 0: the slope of ``x * log(y)`` by y."""
    zero = elementwise("logical_and", (compare("equal", x, 0.0), compare("equal", y, 0.0)), BOOL)
    return where(zero, 0.0, x / y)


def logit(x: Node) -> Node:
    """Return ``log(x / (1 - x))`` with all digits at 1/2."""
    # both logarithms are near log(1/2) in the middle, where the difference is that of 2 x - 1 on its two sides
    gap = 2.0 * x - 1.0
    middle = elementwise("log1p", (gap,)) - elementwise("log1p", (-gap,))
    return where(compare("less", _abs(gap), 0.5), middle, _log(x) - elementwise("log1p", (-x,)))


def log1mexp(x: Node) -> Node:
    """Return ``log(1 - exp(-x))``."""
    near = compare("less", x, math.log(2.0))
    return where(near, _log(-elementwise("expm1", (-x,))), elementwise("log1p", (-elementwise("exp", (-x,)),)))


def log1mexp_of_exp(y: Node) -> Node:
    """Return ``log(1 - exp(-exp(y)))``, also where ``exp(y)`` is 0 or infinite in the arithmetic."""
    # with u = exp(y) and b = u / (exp(u) - 1), 1 - exp(-u) is u exp(-u) / b; beyond 6.56 it is 1 but for 1e-306
    u = elementwise("exp", (y,))
    low = y - u - _log(elementwise("bernoulli_quotient", (constant(0.0), u)))
    high = where(compare("less", 6.56, y), 0.0, elementwise("log1p", (-elementwise("exp", (-u,)),)))
    return where(compare("less", y, 0.0), low, high)


def entr(x: Node) -> Node:
    """Return ``-x * log(x)``, 0 at 0 and -inf below."""
    return where(compare("less", x, 0.0), -math.inf, -elementwise("xlogy", (x, x)))


def log_ratio(x: Node, y: Node) -> Node:
    """Return ``log(x / y)``."""
    # x / y may overflow where the logarithm is a number, and its rounding is all there is near 1
    ratio, gap = x / y, (x - y) / y
    ordinary = elementwise("logical_and", (compare("less", 1e-300, ratio), compare("less", ratio, 1e300)), BOOL)
    apart = _log(where(ordinary, ratio, x)) - _log(where(ordinary, 1.0, y))
    return where(compare("less", _abs(gap), 0.5), elementwise("log1p", (gap,)), apart)


def _outside(x: Node, y: Node) -> Node:
    negative = elementwise("logical_or", (compare("less", x, 0.0), compare("less", y, 0.0)), BOOL)
    empty = elementwise("logical_and", (compare("equal", y, 0.0), compare("greater", x, 0.0)), BOOL)
    return elementwise("logical_or", (negative, empty), BOOL)


def rel_entr(x: Node, y: Node) -> Node:
    """Return ``x * log(x / y)``, 0 for x = 0, and inf where a number is negative or y alone is 0."""
    # 0 times y is 0 for programs, which leave a written 0 out
    nothing = where(compare("equal", y, y), 0.0, y)
    value = where(compare("equal", x, 0.0), nothing, x * log_ratio(x, y))
    return where(_outside(x, y), math.inf, value)


def kl_div(x: Node, y: Node) -> Node:
    """Return ``x * log(x / y) - x + y``, inf where rel_entr is."""
    # near x = y, with d = (x - y) / y: y ((1 + d) log1p(d) - d) = y d^2 (1 + (1 + d) (log1p(d) - d) / d^2)
    gap = (x - y) / y
    series = elementwise("log1p_remainder_2", (constant(0.0), gap))
    near = y * (gap * gap) * (1.0 + (1.0 + gap) * series)
    far = where(compare("equal", x, 0.0), y, x * log_ratio(x, y) - (x - y))
    value = where(compare("less", _abs(gap), 0.5), near, far)
    return where(_outside(x, y), math.inf, value)
