"""Differences of neighbours, x[1:] - x[:-1], as ``diff(x)``; second ones, and what both are derived to, as well."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ...graph.sizes import Dim, Shape
from .common_factors import split_scalars, without_sign
from .named_forms import padded, shift_of
from .reader import Reader, ReadingRules
from .terms import Term

#: Rules for derivatives that are written with diff.
DIFFERENCES = ReadingRules()
#: Most terms of a sum that are compared.
_MOST = 16
#: Weights of neighbours in differences of second and first order, the first place first.
_WEIGHTS = {2: (1.0, -2.0, 1.0), 1: (-1.0, 1.0)}


class _Moved(NamedTuple):
    """A term as a number times an array from a place on: a part of it, all of it with zeros around, or of the identity.

    ``room`` is how many places there are besides the first.
    """

    kind: str
    of: Term
    axis: int
    room: Dim
    place: Dim
    weight: float

    def alike(self) -> Hashable:
        """Return what neighbours have in common."""
        return self.kind, without_sign(self.of), self.axis, self.room


@DIFFERENCES.of("sum")
def _differences(reader: Reader, term: Term) -> Term | None:
    """Write x[1:] - x[:-1] as diff(x), and x[:-1] - x[1:] with zeros around, which it is derived to; second ones, too.

    Parts of the identity are the matrix that takes differences.
    """
    if len(term.args) > _MOST:
        return None
    parts = term.pairs
    rows: dict[Hashable, dict[Dim, tuple[int, _Moved]]] = {}
    for k, part in enumerate(parts):
        moved = _moved(reader, *part)
        if moved is not None:
            rows.setdefault(moved.alike(), {}).setdefault(moved.place, (k, moved))
    for row in rows.values():
        _, first = next(iter(row.values()))
        for order, weights in _WEIGHTS.items():
            for start in row if first.kind == "pad" else (0,) * (first.room == order):
                found = [row[start + k] for k in range(order + 1) if start + k in row]
                own = [one.weight if one.of is first.of else -one.weight for _, one in found]
                own = own[::-1] if first.kind == "pad" else own
                if len(own) <= order or any(a != own[-1] * b for a, b in zip(own, weights, strict=True)):
                    continue
                gap, used = _of_order(reader, first, order, start, term.shape), [k for k, _ in found]
                scaled = [] if abs(own[-1]) == 1.0 else [reader.number(abs(own[-1]))]
                rest = [part for k, part in enumerate(parts) if k not in used]
                return reader.sum([(reader.product([*scaled, gap], [], term.shape), own[-1] < 0.0), *rest], term.shape)
    return None


def _of_order(reader: Reader, one: _Moved, order: int, start: Dim, shape: Shape) -> Term:
    """Return the differences that neighbours make up, one of which is given."""
    gap = one.of if one.kind != "pad" else padded(reader, one.of, one.axis, (start + order, one.room - start))
    for _ in range(order):
        gap = _gap(reader, gap, one.axis)
    return gap if gap.shape == shape else reader.make("transpose", (gap,), None, shape)


def _moved(reader: Reader, term: Term, minus: bool) -> _Moved | None:
    """Read a term of a sum as a number times an array from a place on."""
    negative, scalars, under, core = split_scalars(reader, term)
    weight = -1.0 if negative != minus else 1.0
    for scalar in scalars:
        weight *= scalar.data if scalar.kind == "number" else 0.0
    if under or not weight:
        return None
    if (shift := shift_of(core)) is not None:
        more = shift.rows - shift.columns
        if not isinstance(more, int):
            return None
        n, place = (shift.rows, 0 - shift.start) if more > 0 else (shift.columns, shift.start)
        return _Moved("eye", reader.make("eye", (), (0, 1), (n, n)), 1, abs(more), place, weight)
    if core.kind not in ("index", "pad") or core.args[0].kind == "eye" or len(core.data) != core.ndim:
        return None
    (x,) = core.args
    whole = [(0, 0) if core.kind == "pad" else (0, 1, size) for size in x.shape]
    axes = [axis for axis, (own, full) in enumerate(zip(core.data, whole, strict=True)) if own != full]
    if len(axes) != 1:
        return None
    (axis,) = axes
    if core.kind == "pad":
        before, after = core.data[axis]
        return _Moved("pad", x, axis, before + after, before, weight)
    start, step, length = core.data[axis]
    return _Moved("index", x, axis, x.shape[axis] - length, start, weight) if step == 1 and length is not None else None


@DIFFERENCES.of("pad")
def _spread_out(reader: Reader, term: Term) -> Term | None:
    """Put zeros around the terms of a sum of arrays with zeros around, one by one, as second differences have them."""
    (x,) = term.args
    if x.kind != "sum" or len(x.args) > _MOST:
        return None
    axes = {axis for axis, widths in enumerate(term.data) if widths != (0, 0)}
    moved = [_moved(reader, arg, minus) for arg, minus in x.pairs]
    if len(axes) != 1 or any(one is None or one.kind != "pad" or one.axis not in axes for one in moved):
        return None
    if len({id(one.of) for one in moved if one is not None}) != 1:
        return None
    (axis,) = axes
    parts = []
    for arg, minus in x.pairs:
        negative, scalars, _, core = split_scalars(reader, arg)
        part = padded(reader, core, axis, term.data[axis])
        parts.append((reader.product([*scalars, part], [], term.shape), negative != minus))
    return reader.sum(parts, term.shape)


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
