"""Divided differences: ``(f(x) - f(y)) / (x - y)``, which is f'(x) where both are equal, for smooth functions f.

As they are written they lose all digits where x and y are near, and their derivatives sooner. The derivative of orders
m by x and n by y is the mean of ``t**m (1 - t)**n f^(m + n + 1)(y + t (x - y))`` over t from 0 to 1 (Hermite and
Genocchi): where x and y are near, a sum over the nodes of Gauss, elsewhere what Leibniz's rule gives of the quotient.
Both orders are one number of the row, m + 16 n.

Source: de Boor, Divided differences (2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from .. import Node, as_node, constant, elementwise
from ..dump import record_text
from .functions import FUNCTIONS, Interval, compare, scalar_constant, where
from .making import ANY, NONE, POSITIVE, UNIT, order_of, row
from .remainders import DERIVATIVES, scalar

#: Gives the derivative of an order.
Derivative = Callable[[int, Node], Node]

#: Step of the order of a row for each derivative by its second place.
BY_SECOND = 16
#: x and y are near if their distance is less than this part of that to the nearest singularity.
_NEAR = 0.25
#: Nodes and weights of Gauss for the mean over [0, 1] (DLMF 3.5, table 3.5.2 gives them for [-1, 1]): at that distance
#: the eight have an error below 1e-15 in derivatives of the third order.
GAUSS = (
    (0.019855071751231884, 0.05061426814518813), (0.10166676129318664, 0.11119051722668724),
    (0.2372337950418355, 0.15685332293894363), (0.4082826787521751, 0.181341891689181),
    (0.591717321247825, 0.181341891689181), (0.7627662049581645, 0.15685332293894363),
    (0.8983332387068134, 0.11119051722668724), (0.9801449282487681, 0.05061426814518813),
)  # fmt: skip


class Difference(NamedTuple):
    """A function whose divided differences are a row.

    Parameters
    ----------
    function : str
        A row of the table of functions of one argument.
    derivative : callable
        Gives its derivatives.
    scale : callable
        Gives the distance of a number to the nearest singularity, 1 for functions without any that change by as much.
    domain : (float, float)
        Where tests draw its arguments from.
    """

    function: str
    derivative: Derivative
    scale: Callable[[Node], Node]
    domain: Interval

    def __repr__(self) -> str:
        return record_text(self)

    @property
    def name(self) -> str:
        """The row's name in the table of functions."""
        return f"{self.function}_difference"


def _one(x: Node) -> Node:
    return constant(1.0)


def _size(x: Node) -> Node:
    return scalar("abs", x)


def _beyond_minus_one(x: Node) -> Node:
    return scalar("abs", x + 1.0)


def _inside(x: Node) -> Node:
    return 1.0 - scalar("abs", x)


def _above_zero(x: Node) -> Node:
    return scalar("maximum", x, constant(0.0))


def _power_of(x: Node, n: float) -> Node:
    return x if n == 1.0 else scalar("power", x, constant(n))


def _log(n: int, x: Node) -> Node:
    return (-1.0) ** (n - 1) * math.factorial(n - 1) / _power_of(x, float(n)) if n else scalar("log", x)


def _sqrt(n: int, x: Node) -> Node:
    # x^(1/2 - n), by the root and whole powers
    c, root = math.prod(0.5 - k for k in range(n)), scalar("sqrt", x)
    return (c / root if n == 1 else c / (_power_of(x, n - 1.0) * root)) if n else root


def _sigmoid(n: int, x: Node) -> Node:
    # (1 + tanh(x / 2)) / 2
    return 0.5 ** (n + 1) * DERIVATIVES["tanh"](n, 0.5 * x) if n else scalar("sigmoid", x)


def _softplus(n: int, x: Node) -> Node:
    return _sigmoid(n - 1, x) if n else scalar("softplus", x)


def _ndtr(n: int, x: Node) -> Node:
    # (1 + erf(x / sqrt(2))) / 2
    root = math.sqrt(0.5)
    return 0.5 * root**n * DERIVATIVES["erf"](n, root * x) if n else scalar("ndtr", x)


def _erfc(n: int, x: Node) -> Node:
    return -DERIVATIVES["erf"](n, x) if n else scalar("erfc", x)


def _expm1(n: int, x: Node) -> Node:
    return scalar("exp" if n else "expm1", x)


def _polygamma(start: int, name: str, n: int, x: Node) -> Node:
    order = n + start
    if n == 0:
        return scalar(name, x)
    return scalar("digamma", x) if order == 0 else scalar("polygamma", constant(float(order)), x)


DIFFERENCES = (
    *(Difference(name, DERIVATIVES[name], _one, ANY) for name in ("exp", "sin", "cos", "sinh", "cosh", "tanh", "erf")),
    *(Difference(name, DERIVATIVES[name], _one, ANY) for name in ("arctan", "arcsinh")),
    Difference("arctanh", DERIVATIVES["arctanh"], _inside, UNIT),
    Difference("arcsin", DERIVATIVES["arcsin"], _inside, UNIT),
    Difference("log1p", DERIVATIVES["log1p"], _beyond_minus_one, (-0.9, 4.0)),
    Difference("expm1", _expm1, _one, ANY),
    Difference("log", _log, _size, POSITIVE),
    Difference("sqrt", _sqrt, _size, POSITIVE),
    Difference("sigmoid", _sigmoid, _one, ANY),
    Difference("softplus", _softplus, _one, ANY),
    Difference("ndtr", _ndtr, _one, ANY),
    Difference("erfc", _erfc, _one, ANY),
    Difference("lgamma", partial(_polygamma, -1, "lgamma"), _above_zero, POSITIVE),
    Difference("digamma", partial(_polygamma, 0, "digamma"), _above_zero, POSITIVE),
)
#: By the functions' names.
BY_FUNCTION = {each.function: each for each in DIFFERENCES}


def orders_of(order: Node) -> tuple[int, int]:
    """Return how often the quotient is differentiated by x and by y."""
    n, m = divmod(int(order_of(order)), BY_SECOND)
    return m, n


def _written(each: Difference, order: Node, x: Node, y: Node) -> Node:
    """Return the derivative of the quotient, by Leibniz's rule."""
    return _quotient(each, *orders_of(order), x, y)


def _quotient(each: Difference, m: int, n: int, x: Node, y: Node) -> Node:
    if m == n == 0:
        at_y = [value for place, value in FUNCTIONS[each.function].exact if place == scalar_constant(y)]
        top = each.derivative(0, x)
        if at_y != [0.0]:  # log(x) / (x - 1)
            top = top - (at_y[0] if at_y else each.derivative(0, y))
    elif n == 0:
        top = each.derivative(m, x) - float(m) * _quotient(each, m - 1, 0, x, y)
    elif m == 0:
        top = float(n) * _quotient(each, 0, n - 1, x, y) - each.derivative(n, y)
    else:
        top = float(n) * _quotient(each, m, n - 1, x, y) - float(m) * _quotient(each, m - 1, n, x, y)
    return top / (x - y)


def _computed(each: Difference, order: Node, x: Node, y: Node) -> Node:
    m, n = orders_of(order)
    distance = x - y
    mean: Node | None = None
    for t, w in GAUSS:
        term = (w * t**m * (1.0 - t) ** n) * each.derivative(m + n + 1, y + t * distance)
        mean = term if mean is None else mean + term
    assert mean is not None
    scale = scalar("minimum", as_node(each.scale(x)), as_node(each.scale(y)))
    near = compare("less", scalar("abs", distance), _NEAR * scale)
    return where(near, mean, _quotient(each, m, n, x, y))


def _next(name: str, more: int, order: Node, x: Node, y: Node, f: Node) -> Node:
    return elementwise(name, (constant(order_of(order) + more), x, y))


for _each in DIFFERENCES:
    row(_each.name, (NONE, partial(_next, _each.name, 1), partial(_next, _each.name, BY_SECOND)),
        ((0.0, 0.0), _each.domain, _each.domain), numpy="", source="3.3.34",
        expansion=partial(_computed, _each), written=partial(_written, _each), orders=255, singular=True)
