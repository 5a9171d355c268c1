"""Probabilities of whole numbers, as logarithms; a place between whole numbers has the probability 0.

``xlogy`` and ``xlog1py`` are 0 where a count is 0, also for a probability of 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...graph import Node, as_node, number
from ...graph.scalars.functions import apply, compare, where
from .table import ABOVE, BELOW, PROBABILITY, TAILS, any_of, log, standard, unless_nan

__all__ = ["formula"]


def formula(name: str, function: str) -> Callable[..., Node]:
    """Return a function of a distribution, of k, its shapes and ``loc``."""
    if function not in PROBABILITY:
        return _distribution_function(name, function)

    def run(k: Node, *parameters: Node) -> Node:
        *shapes, loc = parameters
        at = standard(k, loc)
        low, high = _ENDS[name](*shapes)
        gone = [_is_less(at, low), *([] if high is None else [_is_less(high, at)]), _is_between(at)]
        value = _LOGARITHMS[name](at, *shapes)
        value = value if function == "logpmf" else apply("exp", value)
        if True in gone:
            return as_node(BELOW[function])
        conditions = [each for each in gone if isinstance(each, Node)]
        return where(any_of(*conditions), BELOW[function], value) if conditions else value

    return run


def _distribution_function(name: str, function: str) -> Callable[..., Node]:
    """Return the probability up to k or above it, or its logarithm; between whole numbers that of the lower one."""

    def run(k: Node, *parameters: Node) -> Node:
        *shapes, loc = parameters
        at = apply("floor", standard(k, loc))
        low, high = _ENDS[name](*shapes)
        value = _FUNCTIONS[name][TAILS.index(function)](at, *shapes)
        value = where(compare("less", at, math.inf if high is None else high), value, unless_nan(at, ABOVE[function]))
        return where(compare("less", at, low), BELOW[function], value)

    return run


def _log_below(small: Node, other: Node) -> Node:
    """Return the logarithm of ``1 - small``, by another form of it where ``small`` is not small."""
    return where(compare("less", small, 0.5), apply("log1p", -small), other)


def _of_beta(below: Callable[..., tuple[Node, Node, Node]]) -> tuple[Callable[..., Node], ...]:
    """Return the four functions of a distribution whose probability up to k is ``betainc(a, b, 1 - p)``."""

    def cdf(*args: Node) -> Node:
        a, b, p = below(*args)
        return apply("betainc", a, b, 1.0 - p)

    def sf(*args: Node) -> Node:
        a, b, p = below(*args)
        return apply("betainc", b, a, p)

    def logcdf(*args: Node) -> Node:
        a, b, p = below(*args)
        return _log_below(sf(*args), apply("log_betainc", a, b, 1.0 - p))

    def logsf(*args: Node) -> Node:
        a, b, p = below(*args)
        return _log_below(cdf(*args), apply("log_betainc", b, a, p))

    return cdf, sf, logcdf, logsf


def _log_binomial(n: Node, k: Node) -> Node:
    """Return the logarithm of n over k."""
    return _lgamma(n + 1.0) - _lgamma(k + 1.0) - _lgamma(n - k + 1.0)


def _is_less(a: Node, b: Node) -> Node | bool:
    """Tell whether a number is less than another one: a bool where both are constants, else a formula."""
    first, second = number(a), number(b)
    return compare("less", a, b) if first is None or second is None else first < second


def _is_between(k: Node) -> Node | bool:
    """Tell whether a number stands between two whole ones; nan does not."""
    known = number(k)
    return compare("less", apply("floor", k), k) if known is None else known % 1.0 > 0.0


def _lgamma(x: Node) -> Node:
    return apply("lgamma", x)


def _xlogy(x: Node, y: Node) -> Node:
    return apply("xlogy", x, y)


def _xlog1py(x: Node, y: Node) -> Node:
    return apply("xlog1py", x, y)


def _poisson(k: Node, mu: Node) -> Node:
    return _xlogy(k, mu) - mu - _lgamma(k + 1.0)


def _nbinom(k: Node, n: Node, p: Node) -> Node:
    return n * log(p) + _xlog1py(k, -p) + _lgamma(n + k) - _lgamma(k + 1.0) - _lgamma(n)


_LOGARITHMS: dict[str, Callable[..., Node]] = {
    "bernoulli": lambda k, p: _xlogy(k, p) + _xlog1py(1.0 - k, -p),
    "binom": lambda k, n, p: _xlogy(k, p) + _xlog1py(n - k, -p) + _log_binomial(n, k),
    "poisson": _poisson,
    "geom": lambda k, p: log(p) + _xlog1py(k - 1.0, -p),
    "nbinom": _nbinom,
    "betabinom": lambda k, n, a, b: _log_binomial(n, k) + apply("betaln", k + a, n - k + b) - apply("betaln", a, b),
}
#: The probability up to k, that above k, and their logarithms. Johnson, Kemp and Kotz (2005), 3.34, 4.87, 5.31
_FUNCTIONS: dict[str, tuple[Callable[..., Node], ...]] = {
    "bernoulli": (
        lambda k, p: 1.0 - p, lambda k, p: p, lambda k, p: apply("log1p", -p), lambda k, p: log(p)
    ),
    "binom": _of_beta(lambda k, n, p: (n - k, k + 1.0, p)),
    "poisson": tuple(
        lambda k, mu, name=name: apply(name, k + 1.0, mu)
        for name in ("gammaincc", "gammainc", "log_gammaincc", "log_gammainc")
    ),
    "geom": (
        lambda k, p: -apply("expm1", _xlog1py(k, -p)),
        lambda k, p: apply("exp", _xlog1py(k, -p)),
        lambda k, p: apply("log1mexp", -_xlog1py(k, -p)),
        lambda k, p: _xlog1py(k, -p),
    ),
    "nbinom": _of_beta(lambda k, n, p: (n, k + 1.0, 1.0 - p)),
}  # fmt: skip
#: The smallest and the largest number, by the shapes.
_ENDS: dict[str, Callable[..., tuple[Node, Node | None]]] = {
    "bernoulli": lambda p: (as_node(0.0), as_node(1.0)),
    "binom": lambda n, p: (as_node(0.0), n),
    "poisson": lambda mu: (as_node(0.0), None),
    "geom": lambda p: (as_node(1.0), None),
    "nbinom": lambda n, p: (as_node(0.0), None),
    "betabinom": lambda n, a, b: (as_node(0.0), n),
}
