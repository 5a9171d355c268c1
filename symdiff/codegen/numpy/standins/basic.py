"""Sigmoids, the functions of Python's ``math``, and how functions of numbers go over arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["each", "erf", "erfc", "expit", "gamma", "gammaln", "log_expit", "product_error", "sinc", "xlogy"]


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def log_expit(x: Any) -> Any:
    """Return log(expit(x)) without overflow."""
    return -np.logaddexp(0.0, -x)


def xlogy(x: Any, y: Any) -> Any:
    """Return x log(y), and 0 where x is 0."""
    return np.where((x == 0) & ~np.isnan(y), 0.0, x * np.log(y))


def sinc(x: Any) -> Any:
    """Return sin(pi x) / (pi x), its limits 1 at 0 and 0 at infinity included."""
    return np.where(np.abs(x) > 1e300, 0.0, np.sinc(x))


def each(function: Any, *arguments: Any) -> Any:
    """Apply a function of numbers to each element of arrays that broadcast."""
    arrays = np.broadcast_arrays(*[np.asarray(one, np.float64) for one in arguments])
    results = map(function, *[one.ravel().tolist() for one in arrays])
    return np.fromiter(results, np.float64, arrays[0].size).reshape(arrays[0].shape)


def product_error(a: float, b: float) -> float:
    """Return what rounding takes from a product: a b - fl(a b), for numbers below 1e150 (Dekker)."""
    split = 134217729.0
    p, u, v = a * b, split * a, split * b
    high, top = u - (u - a), v - (v - b)
    low, rest = a - high, b - top
    return ((high * top - p) + high * rest + low * top) + low * rest


def erf(x: Any) -> Any:
    """Return the error function."""
    return each(math.erf, x)


def erfc(x: Any) -> Any:
    """Return 1 - erf(x) with full accuracy."""
    return each(math.erfc, x)


def gamma_of_number(x: float) -> float:
    """Return gamma(x): inf where it overflows, nan at its poles below 0."""
    if x == 0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf if x > 0 or math.floor(x) % 2 == 0 else -math.inf
    except ValueError:
        return math.nan


def gamma(x: Any) -> Any:
    """Return the gamma function."""
    return each(gamma_of_number, x)


def lgamma_of_number(x: float) -> float:
    """Return log(abs(gamma(x))), inf at the poles."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def gammaln(x: Any) -> Any:
    """Return log(abs(gamma(x)))."""
    return each(lgamma_of_number, x)
