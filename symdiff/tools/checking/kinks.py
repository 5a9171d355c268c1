"""Points at which a formula is not smooth: kinks, jumps and ends of domains.

Derivatives follow a convention there (the mean of the one-sided ones; a ``where`` takes its branch), which is right
more often than not, and worth knowing about. Every scalar function is evaluated on both sides of its arguments;
reductions are searched for ties. A function of the table ends at 0, 1 or -1, or far out, if it, or its value beside the
point, is no finite number there; differences of its value tell if a composition ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import SingularMatrixError
from ...graph import BOOL, REAL, Node, dependents, inputs_of, postorder
from ...graph.reference.interpret import evaluate, find_function
from ...graph.reference.numeric import eigvalsh
from ...graph.scalars.functions import FUNCTIONS, Partial
from ...printing import text
from ...rewrite.matrices.functions import EQUAL
from .differences import Numbers, Tally, extrapolate
from .points import conform
from .ways import Ways

__all__ = ["End", "ends_of", "look_at_end", "look_far_out"]


Values: TypeAlias = npt.NDArray[Any]

_STEP = 1e-6


def find_kinks(roots: Sequence[Node], wrt: Sequence[Node], point: Mapping[Any, Values]) -> list[str]:
    """Return a sentence for each operation that is not smooth at a point.

    Parameters
    ----------
    roots : sequence of Node
        Without custom functions, named parts and barriers (see :func:`symdiff.rewrite.inline`).
    wrt : sequence of Node
        Variables of the derivative; parts that do not depend on them cannot disturb it.
    point : mapping
        An array for each input, by the input's name.
    """
    order = postorder(roots)
    active = dependents(order, set(wrt) & set(order))
    conditions = _below(node.args[0] for node in order if node.is_choice)
    asked = [n for n in order if n in active and n.args and (n.dtype is not BOOL or n in conditions)]
    args = list(dict.fromkeys(arg for node in asked for arg in node.args))
    inputs = [node for node in order if node.is_input]
    values = dict(zip(args, evaluate(args, point, inputs), strict=True))
    found = []
    for node in asked:
        spot = _look(node, [values[arg] for arg in node.args], [arg in active for arg in node.args])
        if spot is not None:
            found.append(f"{spot.what} of {_shown(node)}{_places(spot.mask)}: {spot.convention}")
    return found


def _below(roots: Iterator[Node]) -> set[Node]:
    return set(postorder(roots))


def _shown(node: Node) -> str:
    formula = text(node).rpartition("\n")[2]
    return formula if len(formula) <= 60 else formula[:57] + "..."


def _places(mask: Values) -> str:
    places = np.argwhere(mask)
    first = tuple(int(i) for i in places[0])
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f" at element {list(first)}{more}" if first else ""


class _Spot(NamedTuple):
    """A place that is not smooth, its kind, and the derivative that is taken there."""

    what: str
    mask: Values
    convention: str


def _look(node: Node, args: list[Values], active: list[bool]) -> _Spot | None:
    row = FUNCTIONS.get(node.op)
    if row is not None and row.is_comparison:
        spot = _Spot("boundary", np.equal(*args), "where takes its branch")
    elif node.op in ("max", "min"):
        best = getattr(np, node.op)(args[0], axis=node.payload.axes, keepdims=True)
        ties = (args[0] == best).sum(axis=node.payload.axes) > 1
        spot = _Spot("tie", ties, "equal elements share the derivative")
    elif node.op == "sort":
        ordered = np.sort(args[0], axis=node.payload.axis)
        ties = np.diff(ordered, axis=node.payload.axis) == 0
        spot = _Spot("tie", ties, "equal elements share the derivative")
    elif node.op in ("cummax", "cummin"):
        spot = _Spot("tie", _running_ties(node, args[0]), "equal elements share the derivative")
    elif node.op == "norm":
        spot = _Spot("kink", ~args[0].any(axis=node.payload.axes), "the derivative is taken as 0")
    elif node.op == "eigvalsh":
        x = eigvalsh(args[0])
        near = np.diff(x) <= EQUAL * np.abs(x).max(axis=-1, initial=0.0, keepdims=True)
        spot = _Spot("equal eigenvalues", near, "single ones have no derivative (nan); functions of all of them have")
    else:
        if row is None or not row.numpy or node.dtype is BOOL or node.op in ("where", "to_real"):
            return None
        return _from_both_sides(find_function(row.numpy), args, active)
    return spot if np.any(spot.mask) else None


def _running_ties(node: Node, x: Values) -> Values:
    """Tell where several of the elements so far are the largest, or smallest."""
    axis, reverse = node.payload
    line = np.moveaxis(np.flip(x, axis) if reverse else x, axis, -1)
    best = (np.maximum if node.op == "cummax" else np.minimum).accumulate(line, -1)
    n = line.shape[-1]
    ties = ((line[..., None, :] == best[..., :, None]) & np.tri(n, dtype=bool)).sum(axis=-1) > 1
    ties = np.moveaxis(ties, -1, axis)
    return np.flip(ties, axis) if reverse else ties


def _from_both_sides(function: Callable[..., Any], args: list[Values], active: list[bool]) -> _Spot | None:
    """Compare one-sided differences of a scalar function in each argument."""
    spread = [np.array(a, dtype=float) for a in np.broadcast_arrays(*args)]
    for i, moves in enumerate(active):
        if moves:
            with np.errstate(all="ignore"):
                for spot in _of_argument(function, spread, i):
                    if np.any(spot.mask):
                        return spot
    return None


def _of_argument(function: Callable[..., Any], args: list[Values], i: int) -> Iterator[_Spot]:
    here = function(*args)
    gaps, jumps = [], []
    for step in (_STEP, _STEP / 16):
        size = np.abs(args[i])  # a step never goes across 0: what is small is not yet at a kink there
        h = step * np.where(size > 0, np.minimum(size, 1.0), 1.0)
        right, left = (function(*args[:i], args[i] + s * h, *args[i + 1 :]) for s in (1, -1))
        gaps.append(np.abs((right - here) - (here - left)) / h)
        jumps.append(np.abs(right - left))
        slope = np.maximum(np.abs(right - here), np.abs(here - left)) / h
        rounding = 1e-14 * np.maximum(np.abs(right), np.abs(left))
    ends = np.isfinite(here) & (np.isfinite(right) != np.isfinite(left))
    jump = (jumps[0] > 1e-3) & (jumps[1] > 0.9 * jumps[0]) & (jumps[1] > 10 * rounding)
    # what curvature does to a difference shrinks with the step; what a kink does stays
    kink = (gaps[1] > 1e-3 * slope) & (gaps[1] > 0.7 * gaps[0]) & (gaps[1] * h > rounding)
    yield _Spot("end of the domain", ends, "the derivative may be infinite")
    yield _Spot("jump", jump, "the derivative is that of the pieces")
    yield _Spot("kink", kink, "the derivative is the mean of the one-sided ones")


#: Numbers that are the ends of some function's domain.
_CANDIDATES = (0.0, 1.0, -1.0)
_BESIDE = 1e-6
#: Numbers at which a function that has a limit is at it.
_FAR = (1e10, 1e13, 1e16)
#: Largest number that counts as a limit of 0.
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
