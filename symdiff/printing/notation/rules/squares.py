"""Sums as a book has them: a common array in front, and squares of differences from a quotient that has a name."""

from __future__ import annotations

from ..common_factors import in_front
from ..matrix_words import split_scalars
from ..reader import Reader, ReadingRules
from ..terms import Term, is_number

RULES = ReadingRules()

#: Most terms of a sum that are looked into.
_MOST = 9


@RULES.of("sum")
def _common_array(reader: Reader, term: Term) -> Term | None:
    """Write x w - q w as (x - q) w."""
    return in_front(reader, term, lambda factor: factor.kind == "name" and factor.shape == term.shape != ())


@RULES.of("sum")
def _joined_behind_scalars(reader: Reader, term: Term) -> Term | None:
    """Read terms with the same numbers in front as one, where they are one without these."""
    if not 3 <= len(term.args) <= _MOST or term.ndim < 1:
        return None
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    parts = []
    for k, (arg, sign) in enumerate(zip(term.args, term.data, strict=True)):
        minus, scalars, under, core = split_scalars(reader, arg)
        parts.append((core, minus != sign, scalars, under))
        if scalars or under:
            groups.setdefault((tuple(map(id, scalars)), tuple(map(id, under))), []).append(k)
    for places in groups.values():
        if not 1 < len(places) < len(term.args):
            continue
        together = reader.sum([parts[k][:2] for k in places], term.shape)
        inner = together.args[0] if together.kind == "negative" else together
        if inner.kind == "sum" and len(inner.args) >= len(places):
            continue
        _, _, scalars, under = parts[places[0]]
        whole = reader.product([*scalars, inner], under, term.shape)
        kept = [pair for k, pair in enumerate(zip(term.args, term.data, strict=True)) if k not in places]
        return reader.sum([*kept, (whole, together.kind == "negative")], term.shape)
    return None


def _factors(term: Term) -> tuple[bool, list[Term], list[Term]]:
    """Return the sign, the factors and the divisors of a term."""
    minus = term.kind == "negative"
    core = term.args[0] if minus else term
    over, under = core.factors if core.kind == "product" else ([core], [])
    return minus, over, under


@RULES.of("sum")
def _completed_square(reader: Reader, term: Term) -> Term | None:
    """Write x**2 - 2 q x + 2 q**2, with a quotient q that has a name, as (x - q)**2 + q**2."""
    if not 3 <= len(term.args) <= _MOST or not term.ndim:
        return None
    parts = [(*_factors(arg), sign) for arg, sign in zip(term.args, term.data, strict=True)]
    for k, (minus, over, under, sign) in enumerate(parts):
        if len(over) != 3 or under or not is_number(over[0], 2.0):
            continue
        q, x = over[1:]
        if q.kind != "part" or x.ndim != term.ndim:
            continue
        places = [j for j, (other, own, below, its) in enumerate(parts)
                  if not below and len(own) == 1 and _is_square(own[0], x) and (other != its) != (minus != sign)]
        more = [(j, c) for j, part in enumerate(parts) if (c := _squares(part, q, minus != sign)) is not None]
        if len(places) != 1 or len(more) != 1:
            continue
        (own,), ((last, count),) = places, more
        gap = reader.sum([(x, False), (q, True)], x.shape)
        square = reader.make("power", (gap, reader.number(2.0)), None, term.shape)
        new = [(square, minus == sign)]
        if count > 1.0:
            left = reader.make("power", (q, reader.number(2.0)), None, ())
            scaled = left if count == 2.0 else reader.product([reader.number(count - 1.0), left], [], ())
            new.append((scaled, minus == sign))
        kept = [pair for j, pair in enumerate(zip(term.args, term.data, strict=True)) if j not in (k, own, last)]
        return reader.sum([*new, *kept], term.shape)
    return None


def _is_square(term: Term, x: Term) -> bool:
    return term.kind == "power" and term.args[0] is x and is_number(term.args[1], 2.0)


def _squares(part: tuple[bool, list[Term], list[Term], bool], q: Term, other: bool) -> float | None:
    """Return how often the square of ``q`` is added, at least once; None for another term."""
    minus, over, under, sign = part
    if (minus != sign) == other or len(over) > 2 or len(under) > 1:
        return None
    top, below = q.args[0].factors if q.args[0].kind == "product" else ([q], [])
    whole = [_is_square(over[-1], q), not under] if not under else [
        len(top) == len(below) == 1 and _is_square(over[-1], top[0]), _is_square(under[0], below[0])
    ]
    count = over[0].data if len(over) == 2 and over[0].kind == "number" else 1.0 if len(over) == 1 else 0.0
    return float(count) if all(whole) and count >= 1.0 else None
