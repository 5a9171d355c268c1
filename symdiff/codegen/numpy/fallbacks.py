"""What symdiff takes from SciPy, written with NumPy and Python's ``math`` alone, for source that is to run anywhere.

The functions here are read as text, and put in front of the source that calls them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["erf", "erfc", "expit", "gamma", "gammaln", "log_expit", "sinc", "xlogy"]


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
    return np.where(np.isinf(x), 0.0, np.sinc(x))


def one_by_one(function: Any, x: Any) -> Any:
    """Apply a function of one number to each element."""
    x = np.asarray(x, dtype=np.float64)
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def erf(x: Any) -> Any:
    """Return the error function."""
    return one_by_one(math.erf, x)


def erfc(x: Any) -> Any:
    """Return 1 - erf(x) with full accuracy."""
    return one_by_one(math.erfc, x)


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
    return one_by_one(gamma_of_number, x)


def lgamma_of_number(x: float) -> float:
    """Return log(abs(gamma(x))), inf at the poles."""
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf


def gammaln(x: Any) -> Any:
    """Return log(abs(gamma(x)))."""
    return one_by_one(lgamma_of_number, x)
