"""Derivatives from values alone, for comparing with the ones that rules give.

Central differences at halved steps are extrapolated to a step of zero (Richardson 1911;
Ridders, Advances in Engineering Software 4, 1982), each element at the step that suits it
best. What comes with them is an estimate of their own error, so that a comparison knows
what it is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...graph import REAL, Node
from .points import conform

Numbers: TypeAlias = npt.NDArray[np.floating[Any]]

STEPS = 16
#: Relative distance that a number may have from differences, beside their own error.
RELATIVE = 1e-6
#: The same in multiples of the change by rounding the point.
_NOISE = 100.0
#: By how much the point is moved for that.
_ROUNDED = 2.0**-49


def extrapolate(value: Callable[[Numbers], Numbers], first: float = 0.125) -> tuple[Numbers, Numbers]:
    """Return the derivative at 0 of a function of one variable, and an estimate of its error.

    Parameters
    ----------
    value : callable
        Takes an array of shape (N,), gives one of shape (N, ...).
    first : float
        Longest step.

    Returns
    -------
    derivative, error : ndarray
        Of the shape of one value. The error is inf where no two steps gave finite values.

    Examples
    --------
    >>> slope, error = extrapolate(np.exp)
    >>> bool(abs(slope - 1) < 1e-12)
    True
    """
    steps = first * 0.5 ** np.arange(STEPS)
    with np.errstate(all="ignore"):
        values = np.asarray(value(np.concatenate([steps, -steps])), dtype=float)
        ahead, behind = values[:STEPS], values[STEPS:]
        column = (ahead - behind) / (2 * steps).reshape(-1, *(1,) * (values.ndim - 1))
        best, error = column[-1].copy(), np.full(column.shape[1:], np.inf)
        # no difference is better than the rounding of the values, however well two steps agree
        largest = np.maximum(np.abs(ahead), np.abs(behind))
        rounding = np.finfo(float).eps * largest / (2 * steps).reshape(-1, *(1,) * (values.ndim - 1))
        factor = 1.0
        for _ in range(6):
            factor *= 4.0
            finer = (factor * column[1:] - column[:-1]) / (factor - 1.0)
            guess = np.maximum(np.abs(finer - column[1:]), np.abs(finer - column[:-1]))
            rounding = rounding[1:]
            guess = np.maximum(guess, rounding)
            guess[~np.isfinite(guess)] = np.inf
            at = np.argmin(guess, axis=0)[None]
            least = np.take_along_axis(guess, at, 0)[0]
            better = least < error
            best = np.where(better, np.take_along_axis(finer, at, 0)[0], best)
            error = np.where(better, least, error)
            column = finer
    return best, error


def nudged(point: Mapping[str, Numbers], inputs: Mapping[str, Node]) -> Iterator[dict[str, Numbers]]:
    """Give a few points that differ from one by rounding."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        yield {
            name: a
            if name not in inputs or inputs[name].dtype is not REAL
            else conform(inputs[name].assumptions, a * (1.0 + _ROUNDED * rng.normal(size=a.shape)))
            for name, a in point.items()
        }


class Tally:
    """Counts how many numbers agree with differences, and remembers the worst that does not.

    Parameters
    ----------
    title : str
        Whose numbers they are.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.compared = self.wrong = self.unsettled = 0
        self.worst = 0.0
        self.example = ""
        self._gap = 0.0

    def add(self, got: Numbers, slope: Numbers, error: Numbers, near: Sequence[Callable[[], Numbers]] = ()) -> None:
        """Compare numbers with differences that have an estimated error.

        ``near`` gives the numbers at points that differ by rounding: what changes there is noise, as in the
        determinant of a matrix of rank one.
        """
        with np.errstate(all="ignore"):
            scale = np.maximum(np.abs(slope), np.abs(got))
            scale = np.where(np.isfinite(scale), scale, np.abs(slope))
            settled = np.isfinite(slope) & (error <= 1e-3 * scale + 1e-12)
            gap = np.abs(got - slope)
            relative = np.where(np.isfinite(gap), gap / np.where(scale > 0, scale, 1.0), np.inf)
            wrong = settled & ~(gap <= RELATIVE * scale + 10 * error)
            for there in near if wrong.any() else ():
                noise = wrong & (gap <= _NOISE * np.abs(there() - got))
                wrong, relative = wrong & ~noise, np.where(noise, 0.0, relative)
        self.compared += int(settled.sum())
        self.unsettled += int((~settled).sum())
        self.wrong += int(wrong.sum())
        self.worst = max(self.worst, float(np.max(relative, initial=0.0, where=settled)))
        if wrong.any():
            at = int(np.argmax(np.where(wrong, relative, -1.0)))
            if relative[at] > self._gap:
                self._gap = float(relative[at])
                self.example = f"such as {got[at]:.6g} where {slope[at]:.6g} is expected"

    def judge(self, got: Numbers, wanted: Numbers, error: Numbers) -> None:
        """Compare numbers with exact ones, of which nan are not known, up to the errors that each may have."""
        with np.errstate(all="ignore"):
            known = ~np.isnan(wanted)
            gap = np.where(got == wanted, 0.0, np.abs(got - wanted))
            wrong = known & ~(gap <= error)
            relative = np.where(~(gap <= error), gap / np.where(wanted != 0, np.abs(wanted), 1.0), 0.0)
            relative = np.where(np.isnan(relative), np.inf, relative)
        self.compared += int(known.sum())
        self.wrong += int(wrong.sum())
        self.worst = max(self.worst, float(np.max(relative, initial=0.0, where=known)))
        if wrong.any():
            at = int(np.argmax(np.where(wrong, relative, -1.0)))
            if relative[at] > self._gap:
                self._gap = float(relative[at])
                near = f"{got[at]:.6g}" == f"{wanted[at]:.6g}"
                self.example = "such as {:{f}} where {:{f}} is expected".format(
                    got[at], wanted[at], f=".17g" if near else ".6g"
                )
