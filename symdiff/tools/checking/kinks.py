"""Where a formula is not smooth: kinks, jumps and ends of domains that a point lies on.

Derivatives follow a convention there (the mean of the one-sided ones; a ``where`` takes its
branch), which is right more often than not, and worth knowing about. Every scalar function
is looked at from both sides of its arguments; reductions are looked at for ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...graph import BOOL, Node, dependents, postorder
from ...graph.reference.interpret import evaluate, find_function
from ...graph.reference.numeric import eigvalsh
from ...graph.scalars.functions import FUNCTIONS
from ...printing import text
from ...rewrite.matrices.functions import EQUAL

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
    """What is not smooth, where, and which derivative is taken there."""

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
