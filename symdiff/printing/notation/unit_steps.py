"""Choices by their names: unit steps, products with them, and conditions of an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from .reader import Reader, ReadingRules
from .terms import Term, is_number

#: Rules for all formulas, and for derivatives alone.
RULES, DERIVED = ReadingRules(), ReadingRules()

# ---------------------------------------------------------------------------- steps


class _Found(NamedTuple):
    """A product with another factor in the place of one, and what else it multiplies."""

    term: Term
    others: list[Term]


class _ZeroBelow(NamedTuple):
    """where(x < y, 0, rest): the sides x and y, the rest, and whether the condition is one number a row."""

    sides: tuple[Term, Term]
    rest: Term
    column: bool


def _as_zero_below(term: Term) -> _ZeroBelow | None:
    condition, nothing, rest = term.args
    column = condition.kind == "expand" and condition.data == (True, False)
    if column:
        (condition,) = condition.args
    if condition.kind != "compare" or condition.data != "less" or not is_number(nothing, 0.0):
        return None
    return _ZeroBelow((condition.args[0], condition.args[1]), rest, column)


@RULES.of("where")
def _step(reader: Reader, term: Term) -> Term | None:
    """Read where(x < y, 0, where(x == y, 1/2, 1)) as a unit step, and a product with one as that."""
    choice = _as_zero_below(term)
    if choice is None:
        return None
    sides = choice.sides
    found = _exchanged(
        reader, choice.rest, lambda x: _step_of(reader, *sides, x) if _is_half_or_one(x, sides) else None, choice.column
    )
    return found.term if found is not None and _is_whole(found, term) else None


def _exchanged(
    reader: Reader, core: Term, put: Callable[[Term], Term | None], column: bool, levels: int = 4
) -> _Found | None:
    """Put what is given for it in the place of a factor of a product; ``column`` where that is one number a row."""
    new = None if column else put(core)
    if new is not None or levels == 0:
        return None if new is None else _Found(new, [])
    over, under = core.factors if core.kind in ("product", "negative") and core.data else (list(core.args), [])
    elementwise = core.kind in ("product", "negative") and all(arg.kind in ("number", "size") for arg in under)
    for place in range(len(over)) if elementwise else _places_of(core, column):
        found = _exchanged(reader, over[place], put, elementwise and column, levels - 1)
        if found is None:
            continue
        rest = [*over[:place], *over[place + 1 :]]
        if core.kind == "negative":
            made = reader.negative(found.term)
        elif elementwise:
            made = reader.product([*rest, found.term], under, core.shape)
        else:
            args = [found.term if arg is over[place] else arg for arg in core.args]
            made = reader.make(core.kind, args, core.data, core.shape)
        return _Found(made, [*rest, *found.others])
    return None


def _is_whole(found: _Found, term: Term) -> bool:
    """Tell whether a product may stand in the place of a choice of it or 0: 0 times what else it multiplies is 0."""
    return found.term.shape == term.shape and all(map(_is_finite, found.others))


def _places_of(core: Term, column: bool) -> tuple[int, ...]:
    """Return which operands of a product of a vector may hold what is one number a row, or what is not."""
    if core.kind in ("outer", "rows"):
        return (0,) if column else (1,) if core.kind == "rows" else ()
    return (0, 1) if core.kind == "columns" and not column else ()


#: The calls that are 0 on one side of 0.
_RAMPS = ("maximum", "minimum")


@DERIVED.of("where")
def _ramp(reader: Reader, term: Term) -> Term | None:
    """Leave out the choice of 0 where z < 0 around a product with max(z, 0), which is 0 there."""
    choice = _as_zero_below(term)
    if choice is None:
        return None
    sides, rest, column = choice
    found = _exchanged(reader, rest, lambda x: x if _is_ramp_of(reader, x, sides) else None, column)
    return rest if found is not None and _is_whole(found, term) else None


def _is_ramp_of(reader: Reader, term: Term, sides: tuple[Term, ...]) -> bool:
    """Tell whether a term is a maximum or minimum with 0 that is 0 where one side is less than the other."""
    low, high = sides
    if term.kind != "call" or term.data not in _RAMPS or not (is_number(high, 0.0) or is_number(low, 0.0)):
        return False
    if term.data == "maximum":
        z = low if is_number(high, 0.0) else reader.negative(high)
    else:
        z = high if is_number(low, 0.0) else reader.negative(low)
    return any(x is z and is_number(bound, 0.0) for x, bound in (term.args, term.args[::-1]))


@DERIVED.of("matmul")
def _chosen_twice(reader: Reader, term: Term) -> Term | None:
    """Leave out the choice of 0 for the rows of a matrix where the columns before it have the step of the same."""
    for place, (before, after) in enumerate(pairwise(term.args)):
        if after.kind != "where" or not is_number(after.args[1], 0.0) or after.args[2].shape != after.shape:
            continue
        condition = after.args[0]
        if after.ndim == 2 and condition.kind == "expand" and condition.data == (True, False):
            (condition,) = condition.args
        elif after.ndim != 1:
            continue
        steps = _steps_of_columns(before)
        if condition.kind != "compare" or condition.data != "less" or not _is_finite(after.args[2]):
            continue
        low, high = condition.args
        z = low if is_number(high, 0.0) else reader.negative(high) if is_number(low, 0.0) else None
        if z is not None and any(step.args[0] is z for step in steps):
            return reader.chain([*term.args[: place + 1], after.args[2], *term.args[place + 2 :]])
    return None


def _steps_of_columns(term: Term, levels: int = 3) -> list[Term]:
    """Return the unit steps that multiply the columns of a matrix."""
    if levels == 0:
        return []
    if term.kind == "columns":
        vector = term.args[1]
        over = vector.factors[0] if vector.kind == "product" else [vector]
        return [x for x in over if x.kind == "step"]
    if term.kind in ("product", "negative"):
        return [step for x in term.args if x.ndim == 2 for step in _steps_of_columns(x, levels - 1)]
    return []


def _is_half_or_one(term: Term, sides: tuple[Term, Term]) -> bool:
    if term.kind != "where" or not is_number(term.args[1], 0.5) or not is_number(term.args[2], 1.0):
        return False
    condition = term.args[0]
    if condition.kind != "compare" or condition.data != "equal":
        return False
    ways: list[tuple[Term, ...]] = [sides]
    if any(is_number(side, 0.0) for side in sides):  # -x is 0 where x is
        ways.append(tuple(side.signed[1] for side in sides))
    return any(condition.args in (way, way[::-1]) for way in ways)


def _step_of(reader: Reader, low: Term, high: Term, at: Term) -> Term | None:
    """Return the step of low - high, where it has the sign of the difference for all numbers."""
    if is_number(high, 0.0):
        return reader.make("step", (low,), None, low.shape)
    if is_number(low, 0.0):
        return reader.make("step", (reader.negative(high),), None, high.shape)
    for side, other in ((low, high), (high, low)):
        if side.kind == "number" and math.isfinite(side.data) and other.ndim:
            break
    else:
        return None
    return reader.make("step", (reader.sum([(low, False), (high, True)], at.shape),), None, at.shape)


#: Kinds of terms that are finite where their arguments are, but for numbers too large for a double.
_FINITE = frozenset({
    "name", "named", "eye", "onehot", "size", "sum", "negative", "matmul", "transpose", "permute", "outer", "dot",
    "trace", "diag", "diagonal", "total", "rows", "columns", "expand", "broadcast", "tensor", "index", "take",
    "reshape", "concatenate", "stack", "pad", "roll", "shift", "cross", "skew", "step", "triangle",
})


#: Functions that are finite wherever their arguments are.
_BOUNDED = frozenset({"abs", "arctan", "cos", "erf", "maximum", "minimum", "sech", "sigmoid", "sign", "sin", "tanh"})


#: Functions of whole axes that are.
_REDUCED = frozenset({"unit", "norm", "softmax", "logsumexp", "max", "min"})


#: Exponents with which powers are finite.
_COUNTS = range(65)


def _is_finite(term: Term) -> bool:
    """Tell whether a term is finite for finite inputs, so that 0 times it is 0."""
    todo, seen = [term], 0
    while todo:
        part = todo.pop()
        seen += 1
        if part.kind in ("number", "filled"):
            if not math.isfinite(part.data):
                return False
        elif seen > 64 or not (
            part.kind in _FINITE
            or (part.kind == "product" and not any(part.data))
            or (part.kind == "call" and part.data in _BOUNDED)
            or (part.kind == "reduce" and part.data[0] in _REDUCED)
            or (part.kind == "power" and part.args[1].kind == "number" and part.args[1].data in _COUNTS)
        ):
            return False
        todo.extend(part.args)
    return True


@DERIVED.of("product")
def _step_of_maximum(reader: Reader, term: Term) -> Term | None:
    """Leave out the step of what is 0 below 0, and the half at 0: step(z) max(z, 0) is max(z, 0)."""
    over, under = term.factors
    calls = [x for x in over if x.kind == "call" and x.data in _RAMPS]
    ramps = {id(x.args[1 - k]): x for x in calls for k in (0, 1) if is_number(x.args[k], 0.0)}
    for step in over:
        is_step = step.kind == "step" and id(step.args[0]) in ramps and ramps[id(step.args[0])].data == "maximum"
        if is_step or (step.kind == "where" and any(_is_half_or_one(step, sides) for sides in _zeros_of(calls))):
            return reader.product([arg for arg in over if arg is not step], under, term.shape)
    return None


@DERIVED.of("product", "negative")
def _nothing(reader: Reader, term: Term) -> Term | None:
    """Write 0 for a product with 0 whose other factors are finite."""
    if not any(_is_zero(arg) for arg in term.args) or (term.kind == "product" and any(term.data)):
        return None
    if not all(_is_zero(arg) or _is_finite(arg) for arg in term.args):
        kept = [arg for arg in term.args if arg.kind != "number" or _is_zero(arg)]
        return reader.product(kept, [], term.shape) if len(kept) < len(term.args) else None
    return reader.make("filled", (), 0.0, term.shape) if term.ndim else reader.number(0.0)


@DERIVED.of("sum")
def _without_nothing(reader: Reader, term: Term) -> Term | None:
    """Leave zeros out of a sum, and finite terms beside their negatives."""
    kept: list[tuple[Term, bool]] = []
    for arg, minus in term.pairs:
        if (arg, not minus) in kept and arg.shape == term.shape and _is_finite(arg):
            kept.remove((arg, not minus))
        elif not _is_zero(arg):
            kept.append((arg, minus))
    if not kept:
        return reader.make("filled", (), 0.0, term.shape) if term.ndim else reader.number(0.0)
    if len(kept) == len(term.args) or not any(arg.shape == term.shape for arg, _ in kept):
        return None
    return reader.sum(kept, term.shape)


def _is_zero(term: Term) -> bool:
    return term.kind in ("number", "filled") and term.data == 0.0


def _zeros_of(calls: Sequence[Term]) -> list[tuple[Term, Term]]:
    """Return z and 0 for maxima and minima of the two."""
    return [(x.args[1 - k], x.args[k]) for x in calls for k in (0, 1) if is_number(x.args[k], 0.0)]


# ---------------------------------------------------------------------------- conditions


@RULES.of("and")
def _interval(reader: Reader, term: Term) -> Term | None:
    """Write not x < 0 beside x < 1 as 0 <= x: what is nan fails the other condition."""
    for negated, other in (term.args, term.args[::-1]):
        inside = negated.args[0] if negated.kind == "not" else negated
        if inside is negated or inside.kind != "compare" or inside.data not in _TURNED:
            continue
        if other.kind != "compare" or other.data not in (*_TURNED, "equal"):
            continue
        if all(_is_no_nan(side) or side in other.args for side in inside.args):
            a, b = inside.args
            whole = reader.make("compare", (b, a), _TURNED[inside.data], inside.shape)
            first = a is other.args[0] or (b is not other.args[1] and negated is term.args[0])
            pair = (whole, other) if first else (other, whole)
            return reader.make("and", pair, None, term.shape)
    return None


#: The comparison of the sides in reverse that holds where the given one fails, if neither side is nan.
_TURNED = {"less": "less_equal", "less_equal": "less"}


def _is_no_nan(term: Term) -> bool:
    return term.kind == "number" and not math.isnan(term.data)
