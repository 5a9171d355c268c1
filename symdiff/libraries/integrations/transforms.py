"""What a variable is declared to be as a formula of free numbers, with the Jacobian, and back.

Each element is transformed first, and the free elements are then put into the array; a simplex, an ordered vector,
a positive definite matrix and a correlation have transforms of their own. A density with respect to free numbers is
that of the variable times the absolute Jacobian determinant, by which it integrates to one. Of a simplex that is
with respect to all elements but the last, and of a matrix to its free entries. Transforms are those of Stan's
reference manual, "Constraint transforms", but for the simplex, whose last free number is 0 and which is a softmax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ...frontend.array import Array
from ...frontend.shapes import words
from ...frontend.symbols import Operations
from ...graph.primitives import NOTHING_KNOWN, Assumptions
from .free_entries import free_positions, mirrored

__all__ = ["Transform", "transform_of"]

_sd = Operations()


class Transform(NamedTuple):
    """A variable as a formula of free numbers.

    Parameters
    ----------
    shape : tuple of int
        Of the free numbers.
    constrain : callable
        Return the variable, of free numbers.
    jacobian : callable
        Return the logarithm of the absolute Jacobian determinant, of free numbers; None where it is 0.
    unconstrain : callable
        Return the free numbers, of the variable.
    """

    shape: tuple[int, ...]
    constrain: Callable[[Array], Any]
    jacobian: Callable[[Array], Any] | None
    unconstrain: Callable[[Array], Any]


def transform_of(name: str, shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of a variable.

    Raises
    ------
    UnsupportedError
        If no transform is known for what is declared.
    """
    declared = {fact for fact, holds in facts._asdict().items() if holds}
    for own, (implied, make) in _OWN.items():
        if own in declared and declared <= {own, *implied}:
            return make(shape, facts)
    if declared & {"orthogonal", "ordered", "simplex", "correlation"} or (facts.definite and not facts.diagonal):
        raise UnsupportedError(
            f"{name} is declared {' and '.join(words(facts))}, for which no transform is offered; expected one of: "
            "positive, between, simplex, ordered, positive definite, correlation, or a symmetric, skew, diagonal or "
            "triangular matrix"
        )
    return _of_elements(shape, facts)


# ---------------------------------------------------------------------------- elements


def _of_elements(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of free entries each of which is transformed alone."""
    low, high = facts.between or ((0.0, math.inf) if facts.positive or facts.definite else (-math.inf, math.inf))
    if low > -math.inf and high < math.inf:
        width = high - low
        one = Transform(
            shape,
            lambda u: _moved(low, _sd.sigmoid(u) if width == 1.0 else width * _sd.sigmoid(u)),
            lambda u: _moved(math.log(width) * u.size, -np.sum(_sd.softplus(u) + _sd.softplus(-u))),
            lambda x: np.log(_moved(-low, x)) - np.log(high - x),
        )
    elif low > -math.inf:
        one = Transform(shape, lambda u: _moved(low, np.exp(u)), np.sum, lambda x: np.log(_moved(-low, x)))
    elif high < math.inf:
        one = Transform(shape, lambda u: high - np.exp(u), np.sum, lambda x: np.log(high - x))
    else:
        one = Transform(shape, lambda u: u, None, lambda x: x)
    if not facts.space:
        return one
    places = _Places(shape, facts)
    return Transform(
        places.free, lambda u: places.put(one.constrain(u)), one.jacobian, lambda x: one.unconstrain(places.take(x))
    )


def _moved(by: float, x: Any) -> Any:
    return by + x if by else x


# ---------------------------------------------------------------------------- last axes


def _of_simplex(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    free = (*shape[:-1], shape[-1] - 1)

    def full(u: Array) -> Any:
        return np.concatenate([u, np.zeros((*shape[:-1], 1))], axis=-1)

    return Transform(
        free,
        lambda u: _sd.softmax(full(u), axis=-1),
        lambda u: np.sum(_sd.log_softmax(full(u), axis=-1)),
        lambda x: np.log(x[..., :-1]) - np.log(x[..., -1:]),
    )


def _of_ordered(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    free = 0 if facts.positive else 1  # elements in front that are no exponentials
    return Transform(
        shape,
        lambda u: np.cumsum(np.concatenate([u[..., :free], np.exp(u[..., free:])], axis=-1), axis=-1),
        lambda u: np.sum(u[..., free:]),
        lambda x: np.concatenate([x[..., :free], np.log(x[..., free:1]), np.log(np.diff(x, axis=-1))], axis=-1),
    )


# ---------------------------------------------------------------------------- matrices


class _Places:
    """Free entries of matrices, and the places where they stand."""

    def __init__(self, shape: tuple[int, ...], facts: Assumptions, across: float | None = None) -> None:
        n = shape[-1]
        self.positions = free_positions(shape[-2:], facts)
        self.free = (*shape[:-2], len(self.positions))
        self.rows, self.columns = np.divmod(self.positions, n)
        self._lead = shape[:-2]
        self._flat = (*shape[:-2], n * n)
        #: For each element of a matrix the number of its free entry plus one, 0 of an element that is 0.
        self._from = np.zeros((n, n), np.int64)
        self._from[self.rows, self.columns] = np.arange(1, len(self.positions) + 1)
        self._sign = np.ones((n, n))
        if across is None:
            across = mirrored(facts)
        if across:
            self._sign[self.columns, self.rows] = across
            self._sign[self.rows, self.columns] = 1.0
            self._from[self.columns, self.rows] = self._from[self.rows, self.columns]

    def put(self, u: Any) -> Any:
        """Return matrices of their free entries."""
        whole = np.concatenate([np.zeros((*self._lead, 1)), u], axis=-1)[..., self._from]
        return whole if (self._sign == 1.0).all() else self._sign * whole

    def take(self, x: Any) -> Any:
        """Return the free entries of matrices."""
        return np.reshape(x, self._flat)[..., self.positions]


def _of_definite(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of S = L Lᵀ, where the diagonal of L is an exponential."""
    n, places = shape[-1], _Places(shape, _LOWER)
    on = places.rows == places.columns
    # S by L: 2ⁿ Π L_ii^(n - i), i from 0 on; L_ii by its logarithm: L_ii
    weights = np.where(on, n + 1.0 - places.rows, 0.0)
    count = math.prod(shape[:-2])

    def constrain(u: Array) -> Any:
        lower = places.put(np.where(on, np.exp(u), u))
        return lower @ np.swapaxes(lower, -1, -2)

    def unconstrain(x: Array) -> Any:
        entries = places.take(np.linalg.cholesky(x))
        return np.where(on, np.log(np.where(on, entries, 1.0)), entries)

    return Transform(places.free, constrain, lambda u: count * n * math.log(2.0) + np.sum(weights * u), unconstrain)


def _of_correlation(shape: tuple[int, ...], facts: Assumptions) -> Transform:
    """Return the transform of R = L Lᵀ, whose rows have length 1: partial correlations are hyperbolic tangents.

    Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009), equations 2 and 11.
    """
    n, places = shape[-1], _Places(shape, Assumptions(skew=True), across=0.0)
    # R by partial correlations z: Π (1 - z²)^((n - j - 2) / 2), j their column from 0 on; z by u: 1 - z² = 1 / cosh(u)²
    weights = n - places.columns.astype(float)

    def constrain(u: Array) -> Any:
        free = places.put(u)
        shrunk = _log_cosh(free)
        left = np.exp(shrunk - np.cumsum(shrunk, axis=-1))  # the length that elements before leave
        lower = (np.tanh(free) + np.eye(n)) * left
        return lower @ np.swapaxes(lower, -1, -2)

    def unconstrain(x: Array) -> Any:
        lower = np.linalg.cholesky(x)
        left = 1.0 + lower**2 - np.cumsum(lower**2, axis=-1)
        return np.arctanh(places.take(lower) / np.sqrt(places.take(left)))

    return Transform(places.free, constrain, lambda u: -np.sum(weights * _log_cosh(u)), unconstrain)


def _log_cosh(u: Any) -> Any:
    return np.logaddexp(u, -u) - math.log(2.0)


_LOWER = NOTHING_KNOWN._replace(lower=True)
#: Facts with a transform of their own, with the facts that follow from them.
_OWN: Mapping[str, tuple[tuple[str, ...], Callable[[tuple[int, ...], Assumptions], Transform]]] = {
    "simplex": (("positive",), _of_simplex),
    "ordered": (("positive",), _of_ordered),
    "correlation": (("symmetric", "definite"), _of_correlation),
    "definite": (("symmetric",), _of_definite),
}
