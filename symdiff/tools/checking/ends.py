"""Derivatives at the ends of domains: an element of an input at 0, 1 or -1, where a function ends, or far out.

Which numbers are ends is told by the functions of the table: a function ends where it, or its value beside the
point, is no finite number. Whether a composition ends there, differences of its value tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ...errors import SingularMatrixError
from ...graph import REAL, Node, inputs_of, postorder
from ...graph.reference.interpret import find_function
from ...graph.scalars.functions import FUNCTIONS, Partial
from .declared import conform
from .differences import Numbers, Tally, extrapolate
from .kinks import find_kinks
from .ways import Ways

__all__ = ["End", "ends_of", "look_at_end", "look_far_out"]

#: Numbers that are the ends of some function's domain.
_CANDIDATES = (0.0, 1.0, -1.0)
_BESIDE = 1e-6
#: Numbers at which a function that has a limit is at it.
_FAR = (1e10, 1e13, 1e16)
#: What counts as a limit of 0.
_ZERO = 1e-15


class End(NamedTuple):
    """A point at which one element of an input is at an end.

    Parameters
    ----------
    title : str
        Such as ``x[0] = 1``.
    w : Node
        The input.
    place : tuple of int
        The element.
    number : float
    """

    title: str
    w: Node
    place: tuple[int, ...]
    number: float

    def of(self, point: Mapping[str, Numbers], number: float | None = None) -> dict[str, Numbers] | None:
        """Return a point moved to the end, or to another number; None where a declared input cannot be there."""
        name = str(self.w.name)
        moved = np.array(point[name], dtype=float)
        moved[self.place] = self.number if number is None else number
        if not np.array_equal(conform(self.w.assumptions, moved), moved):
            return None
        return {**point, name: moved}


def ends_of(outputs: Sequence[Node], drawn: Sequence[Node], point: Mapping[str, Numbers]) -> Iterator[End]:
    """Yield the ends to look at: of the functions in the formula, and far out on both sides.

    Parameters
    ----------
    outputs : sequence of Node
        Without names.
    drawn : sequence of Node
        The inputs whose numbers were drawn, which may have others.
    point : mapping of str to ndarray
    """
    functions = sorted({node.op for node in postorder(outputs) if node.dtype is REAL} & FUNCTIONS.keys())
    numbers = sorted({number for name in functions for number in _ends(name)})
    for w in drawn:
        if str(w.name) not in point:  # the formula does not depend on it
            continue
        shape = np.shape(point[str(w.name)])
        if 0 in shape or w.assumptions.definite or w.assumptions.orthogonal or w.assumptions.skew:
            continue
        place = (0,) * len(shape)
        name = f"{w.name}{list(place)}" if place else str(w.name)
        far = () if any(w.assumptions) else (np.inf, -np.inf)  # what is declared is finite
        for number in (*numbers, *far):
            yield End(f"{name} = {number:g}", w, place, number)


@cache
def _ends(name: str) -> tuple[float, ...]:
    """Return the numbers among the candidates at which a scalar function ends, in any of its arguments."""
    row = FUNCTIONS[name]
    if not row.numpy or name in ("where", "to_real"):
        return ()
    function, found = find_function(row.numpy), []
    with np.errstate(all="ignore"):
        for number in _CANDIDATES:
            for i, partial in enumerate(row.partials):
                if partial is Partial.NONE:  # an order, which is no number to move
                    continue
                args = [0.5 * (low + high) if np.isfinite(low + high) else 0.5 for low, high in row.domain]
                near = []
                for beside in (0.0, -_BESIDE, _BESIDE):
                    args[i] = number + beside
                    near.append(bool(np.all(np.isfinite(function(*args)))))
                if not all(near) and any(near):
                    found.append(number)
    return tuple(sorted(set(found)))


def look_at_end(end: End, plain: Sequence[Node], point: Mapping[str, Numbers], ways: Ways, tally: Tally) -> list[str]:
    """Compare both modes with differences at an end of a domain; return what is special about the point.

    Parameters
    ----------
    end : End
    plain : sequence of Node
        The simplified formulas.
    point : mapping of str to ndarray
        The point at the end.
    ways : Ways
        Of the input.
    tally : Tally
        Counts the comparison where the formula is smooth.
    """
    special = find_kinks(plain, inputs_of([end.w]), point)
    if special:
        return special
    row = np.zeros(np.shape(point[str(end.w.name)]))
    row[end.place] = 1.0
    slope, error = extrapolate(lambda steps: ways.moved(point, row.ravel(), steps))
    tally.add(ways.forward(point, row.ravel()), slope, error)
    seed = np.ones(ways.size)
    with np.errstate(invalid="ignore"):
        total, doubt = np.array([slope.sum()]), np.array([error.sum()])
        tally.add(np.array([ways.reverse(point, seed) @ row.ravel()]), total, doubt)
    return []


def look_far_out(
    end: End, point: Mapping[str, Numbers], value: Callable[[Mapping[str, Numbers]], Sequence[Numbers]], ways: Ways
) -> Iterator[str]:
    """Say where a value or a derivative at infinity is nan, though there is a limit."""
    row = np.zeros(np.shape(point[str(end.w.name)]))
    row[end.place] = 1.0

    def flat(at: Mapping[str, Numbers]) -> Numbers:
        return np.concatenate([np.ravel(result) for result in value(at)])

    for name, function in (("the value", flat), ("the derivative", lambda at: ways.forward(at, row.ravel()))):
        points = [end.of(point, np.copysign(far, end.number)) for far in _FAR]
        there = end.of(point)
        if there is None or None in points:
            return
        try:
            near = np.array([function(at) for at in points if at is not None], dtype=float)
            got = np.asarray(function(there), dtype=float)
        except SingularMatrixError:
            return
        with np.errstate(invalid="ignore"):
            settled = np.isfinite(near).all(axis=0) & (np.ptp(near, axis=0) <= 1e-9 * np.abs(near[-1]) + _ZERO)
        odd = np.flatnonzero(settled & np.isnan(got))
        if odd.size:
            limit = near[-1][odd[0]]
            yield f"{name} is nan, though its limit is {limit if abs(limit) > _ZERO else 0.0:.6g}"
