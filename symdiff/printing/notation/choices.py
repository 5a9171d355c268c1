"""Choices by their names: unit steps, products with them, and conditions of an interval."""

from __future__ import annotations

import math
from typing import NamedTuple

from .reader import Reader, ReadingRules
from .terms import Term, is_number

#: Rules for all formulas, and for derivatives alone.
RULES, DERIVED = ReadingRules(), ReadingRules()

# ---------------------------------------------------------------------------- steps


class _Stepped(NamedTuple):
    """A product with a unit step, and what else it multiplies."""

    term: Term
    others: list[Term]


@RULES.of("where")
def _step(reader: Reader, term: Term) -> Term | None:
    """Read where(x < y, 0, where(x == y, 1/2, 1)) as a unit step, and a product with one as that."""
    condition, nothing, rest = term.args
    column = condition.kind == "expand" and condition.data == (True, False)
    if column:
        (condition,) = condition.args
    if condition.kind != "compare" or condition.data != "less" or not is_number(nothing, 0.0):
        return None
    negative = rest.kind == "negative"
    sides = (condition.args[0], condition.args[1])
    found = _stepped(reader, rest.args[0] if negative else rest, sides, column)
    if found is None or found.term.shape != term.shape or not all(map(_is_finite, found.others)):
        return None
    return reader.negative(found.term) if negative else found.term


def _stepped(reader: Reader, core: Term, sides: tuple[Term, Term], column: bool, levels: int = 3) -> _Stepped | None:
    """Put a unit step in the place of where(x == y, 1/2, 1) in a product; ``column`` where that is one number a row."""
    if not column and _is_half_or_one(core, sides):
        step = _step_of(reader, *sides, core)
        return None if step is None else _Stepped(step, [])
    if levels == 0:
        return None
    if core.kind == "product" and not any(core.data):
        for place, factor in enumerate(core.args):
            found = _stepped(reader, factor, sides, column, levels - 1)
            if found is not None:
                rest = [*core.args[:place], *core.args[place + 1 :]]
                return _Stepped(reader.product([*rest, found.term], [], core.shape), [*rest, *found.others])
    if core.kind in (("outer", "rows") if column else ("columns",)):
        first, other = core.args
        found = _stepped(reader, first, sides, False, levels - 1)
        if found is not None:
            made = reader.make(core.kind, (found.term, other), core.data, core.shape)
            return _Stepped(made, [other, *found.others])
    return None


def _is_half_or_one(term: Term, sides: tuple[Term, Term]) -> bool:
    if term.kind != "where" or not is_number(term.args[1], 0.5) or not is_number(term.args[2], 1.0):
        return False
    condition = term.args[0]
    return condition.kind == "compare" and condition.data == "equal" and condition.args in (sides, sides[::-1])


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
    "reshape", "concatenate", "stack", "pad", "shift", "cross", "skew", "step", "triangle",
})


#: Functions that are finite wherever their arguments are.
_BOUNDED = frozenset({"abs", "arctan", "cos", "erf", "maximum", "minimum", "sech", "sigmoid", "sign", "sin", "tanh"})


def _is_count(value: float) -> bool:
    return value >= 0.0 and value.is_integer()


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
            or (part.kind == "power" and part.args[1].kind == "number" and _is_count(part.args[1].data))
        ):
            return False
        todo.extend(part.args)
    return True


@DERIVED.of("product")
def _step_of_maximum(reader: Reader, term: Term) -> Term | None:
    """Leave out the step of what is 0 below 0: step(z) max(z, 0) is max(z, 0)."""
    over, under = term.factors
    calls = [x for x in over if x.kind == "call" and x.data == "maximum"]
    ramps = {id(x.args[1 - k]) for x in calls for k in (0, 1) if is_number(x.args[k], 0.0)}
    for step in over:
        if step.kind == "step" and id(step.args[0]) in ramps:
            return reader.product([arg for arg in over if arg is not step], under, term.shape)
    return None


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


#: What a comparison that fails says of its sides the other way around, where neither is nan.
_TURNED = {"less": "less_equal", "less_equal": "less"}


def _is_no_nan(term: Term) -> bool:
    return term.kind == "number" and not math.isnan(term.data)
