"""Differences of neighbours, x[1:] - x[:-1], as ``diff(x)``; second ones, and what both are derived to, as well."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import nan
from typing import NamedTuple

from ....graph.sizes import Dim, Shape
from ..common_factors import split_scalars
from ..named_forms import padded, shift_of
from ..reader import Reader, ReadingRules
from ..terms import Term

#: Rules for derivatives that are written with diff.
DIFFERENCES = ReadingRules()
#: Most terms of a sum that are compared.
_MOST = 16
#: What neighbours count in differences of first and second order, the first place first.
_WEIGHTS = {1: (-1.0, 1.0), 2: (1.0, -2.0, 1.0)}


class _Moved(NamedTuple):
    """A term as a number times an array from a place on: a part of it, or all of it with zeros around."""

    kind: str
    of: Term
    axis: int
    place: Dim
    room: Dim
    weight: float


@DIFFERENCES.of("sum")
def _differences(reader: Reader, term: Term) -> Term | None:
    """Write x[1:] - x[:-1] as diff(x), and what differences are derived to, x[:-1] - x[1:] with zeros around, too."""
    if len(term.args) > _MOST:
        return None
    for (i, one), (j, other) in combinations(enumerate(term.args), 2):
        turned = one.kind == other.kind == "pad" and _is_other_way(one.args[0], other.args[0])
        if one.kind != other.kind or (one.args != other.args and not turned):
            continue
        found = _difference(reader, one, other) if (term.data[i] == term.data[j]) is turned else None
        if found is not None:
            gap, minus = found
            parts = list(zip(term.args, term.data, strict=True))
            rest = [part for k, part in enumerate(parts) if k not in (i, j)]
            return reader.sum([(gap, minus != term.data[i]), *rest], term.shape)
    return None


@DIFFERENCES.of("sum")
def _second_differences(reader: Reader, term: Term) -> Term | None:
    """Write x[2:] - 2 x[1:-1] + x[:-2] as diff(x, 2), and what these are derived to as well."""
    if not 3 <= len(term.args) <= _MOST:
        return None
    moved = [_moved(reader, arg, minus) for arg, minus in zip(term.args, term.data, strict=True)]
    for first in moved:
        if first is None or first.place != 0 or first.room != 2:
            continue
        beside = {one.place: (j, one.weight) for j, one in enumerate(moved) if one and _is_beside(first, one)}
        weight = first.weight
        if len(beside) != 3 or any(beside.get(k, (0, nan))[1] != weight * c for k, c in enumerate(_WEIGHTS[2])):
            continue
        x = first.of if first.kind == "index" else padded(reader, first.of, first.axis, (2, 2))
        gap = _gap(reader, _gap(reader, x, first.axis), first.axis)
        gap = gap if abs(weight) == 1.0 else reader.product([reader.number(abs(weight)), gap], [], term.shape)
        used = [j for j, _ in beside.values()]
        rest = [part for j, part in enumerate(zip(term.args, term.data, strict=True)) if j not in used]
        return reader.sum([(gap, weight < 0.0), *rest], term.shape)
    return None


def _is_beside(one: _Moved, other: _Moved) -> bool:
    return one[:3] == other[:3] and one.room == other.room


def _moved(reader: Reader, term: Term, minus: bool) -> _Moved | None:
    """Read a term of a sum as a number times a part of an array, or times an array with zeros around."""
    negative, scalars, under, core = split_scalars(reader, term)
    if under or any(scalar.kind != "number" for scalar in scalars) or core.kind not in ("index", "pad"):
        return None
    weight = -1.0 if negative != minus else 1.0
    for scalar in scalars:
        weight *= scalar.data
    (x,) = core.args
    if core.kind == "pad":
        axes = [axis for axis, widths in enumerate(core.data) if widths != (0, 0)]
        if len(axes) != 1 or not weight:
            return None
        before, after = core.data[axes[0]]
        return _Moved("pad", x, axes[0], before, before + after, weight)
    if x.kind == "eye" or len(core.data) != x.ndim or core.ndim != x.ndim:
        return None
    axes = [axis for axis, (item, size) in enumerate(zip(core.data, x.shape, strict=True)) if item != (0, 1, size)]
    if len(axes) != 1 or not weight:
        return None
    start, step, length = core.data[axes[0]]
    return _Moved("index", x, axes[0], start, x.shape[axes[0]] - length, weight) if step == 1 else None


@DIFFERENCES.of("pad")
def _spread_out(reader: Reader, term: Term) -> Term | None:
    """Put zeros around the terms of a sum of arrays with zeros around, one by one, as second differences have them."""
    (x,) = term.args
    if x.kind != "sum" or len(x.args) > _MOST:
        return None
    axes = {axis for axis, widths in enumerate(term.data) if widths != (0, 0)}
    moved = [_moved(reader, arg, minus) for arg, minus in zip(x.args, x.data, strict=True)]
    if len(axes) != 1 or any(one is None or one.kind != "pad" or one.axis not in axes for one in moved):
        return None
    if len({id(one.of) for one in moved if one is not None}) != 1:
        return None
    (axis,) = axes
    parts = []
    for arg, minus in zip(x.args, x.data, strict=True):
        negative, scalars, _, core = split_scalars(reader, arg)
        part = padded(reader, core, axis, term.data[axis])
        parts.append((reader.product([*scalars, part], [], term.shape), negative != minus))
    return reader.sum(parts, term.shape)


@DIFFERENCES.of("sum")
def _of_identity(reader: Reader, term: Term) -> Term | None:
    """Write eye(n)[1:].T - eye(n)[:-1].T as diff(eye(n)), the matrix that takes differences, turned over."""
    if len(term.args) > _MOST or term.ndim != 2:
        return None
    rows, columns = term.shape
    order = next((k for k in _WEIGHTS if rows - k == columns or columns - k == rows), None)
    if order is None:
        return None
    n, ahead = (rows, -1) if rows - order == columns else (columns, 1)
    weights: dict[int, tuple[int, float]] = {}
    for k, (arg, minus) in enumerate(zip(term.args, term.data, strict=True)):
        negative, scalars, under, core = split_scalars(reader, arg)
        shift = shift_of(core)
        if shift is None or under or any(scalar.kind != "number" for scalar in scalars):
            continue
        place, weight = shift.start * ahead, -1.0 if negative != minus else 1.0
        for scalar in scalars:
            weight *= scalar.data
        if not isinstance(place, int) or not 0 <= place <= order or place in weights:
            return None
        weights[place] = k, weight
    if len(weights) != order + 1:
        return None
    first = weights[order][1]
    if any(weights[k][1] != first * _WEIGHTS[order][k] for k in range(order + 1)):
        return None
    gap = reader.make("eye", (), (0, 1), (n, n))
    for _ in range(order):
        gap = _gap(reader, gap, 1)
    if ahead == 1:
        gap = reader.make("transpose", (gap,), None, term.shape)
    if abs(first) != 1.0:
        gap = reader.product([reader.number(abs(first)), gap], [], term.shape)
    used = [k for k, _ in weights.values()]
    rest = [part for k, part in enumerate(zip(term.args, term.data, strict=True)) if k not in used]
    return reader.sum([(gap, first < 0.0), *rest], term.shape)


def _is_other_way(one: Term, other: Term) -> bool:
    """Tell whether one of two differences is the negative of the other."""
    if one.kind != other.kind or one.kind == "array" or one.data != other.data:
        return False
    if one.kind in ("columns", "rows"):
        (same, own), (its, turned) = (term.args[:: 1 if one.kind == "columns" else -1] for term in (one, other))
        return same is its and _is_other_way(own, turned)
    return one.kind == "sum" and one.data == (False, True) and one.args == other.args[::-1]


def _difference(reader: Reader, one: Term, other: Term) -> tuple[Term, bool] | None:
    """Return one - other as differences of neighbours along an axis, and whether they are subtracted."""
    if one.kind not in ("index", "pad") or len(one.data) != len(other.data):
        return None
    axes = [axis for axis, (a, b) in enumerate(zip(one.data, other.data, strict=True)) if a != b]
    (x,) = one.args
    if len(axes) != 1 or (one.kind == "index" and len(one.data) != x.ndim) or one.ndim != x.ndim:
        return None
    (axis,) = axes
    ahead, behind = one.data[axis], other.data[axis]
    if one.kind == "index":
        whole = all(item == (0, 1, size) for a, (item, size) in enumerate(zip(one.data, x.shape, strict=True))
                    if a != axis)  # fmt: skip
        parts = [(0, 1, x.shape[axis] - 1), (1, 1, x.shape[axis] - 1)]
        if not whole or x.kind == "eye" or [ahead, behind] not in (parts, parts[::-1]):
            return None
        return _gap(reader, x, axis), ahead == parts[0]
    (p, q), (r, s) = ahead, behind
    if any(widths != (0, 0) for a, widths in enumerate(one.data) if a != axis):
        return None
    if (p - r, q - s) not in ((1, -1), (-1, 1)):
        return None
    around = padded(reader, x, axis, (p, s) if p - r == 1 else (r, q))
    return _gap(reader, around, axis), p - r == 1


# ---------------------------------------------------------------------------- how they are written


def _gap(reader: Reader, x: Term, axis: int) -> Term:
    """Return differences along an axis: second ones of first ones, even with zeros put around these."""
    inside, widths = (x.args[0], x.data) if x.kind == "pad" else (x, None)
    known = _read(inside)
    if known is None or known[2] != axis:
        return _written(reader, x, 1, axis)
    of, order, _ = known
    if widths is not None:
        if of.kind != "pad" or any(_is_elsewhere(own, axis) for own in (widths, of.data)):
            return _written(reader, x, 1, axis)
        (a, b), (p, q) = of.data[axis], widths[axis]
        if not (isinstance(a, int) and isinstance(b, int) and min(a, b) >= order):
            return _written(reader, x, 1, axis)
        of = padded(reader, of.args[0], axis, (a + p, b + q))
    return _written(reader, of, order + 1, axis)


def _is_elsewhere(widths: Sequence[tuple[Dim, Dim]], axis: int) -> bool:
    return any(own != (0, 0) for a, own in enumerate(widths) if a != axis)


def _read(term: Term) -> tuple[Term, int, int] | None:
    """Return of what, of which order and along which axis differences are."""
    if term.kind != "function" or term.data != "diff":
        return None
    of, *rest = term.args
    order, axis = 1, term.ndim - 1
    for option in rest:
        if option.kind == "option":
            axis = int(option.args[0].data)
        else:
            order = int(option.data)
    return of, order, axis


def _written(reader: Reader, x: Term, order: int, axis: int) -> Term:
    shape: Shape = tuple(size - order if a == axis else size for a, size in enumerate(x.shape))
    args = [x] if order == 1 else [x, reader.number(float(order))]
    if axis != x.ndim - 1:
        args.append(reader.make("option", (reader.number(float(axis)),), "axis", ()))
    return reader.make("function", args, "diff", shape)
