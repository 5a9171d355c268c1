"""Sizes in C, and what has to hold of them for a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...errors import UnsupportedError
from ...graph.sizes import Dim, Span
from ...lowering.plan.plan import Plan
from ...lowering.plan.steps import LoopStep, loops_of, nested

__all__ = ["conditions_of", "dim_text"]


def dim_text(size: Dim, letters: Mapping[str, str]) -> str:
    """Print a size as an expression of C, in brackets where it is a sum.

    Examples
    --------
    >>> from symdiff.graph.sizes import named
    >>> dim_text(named("n") * 2 - 1, {"n": "n"})
    '(2 * n - 1)'
    """
    if isinstance(size, int):
        return str(size) if size >= 0 else f"({size})"
    text = ""
    for names, coefficient in size.terms:
        factors = [letters[name] for name in names]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {' * '.join(factors)}" if text else f"{sign.strip('+')}{' * '.join(factors)}"
    return f"({text})" if len(size.terms) > 1 or " " in text or text.startswith("-") else text


def conditions_of(plan: Plan, spans: Sequence[Span], letters: Mapping[str, str]) -> Iterator[str]:
    """Give what has to hold of the sizes, as C; what holds of all is left out."""
    yield from (f"{name} >= {plan.least}" for name in letters.values())
    for start, step, length, size in (*((*check.item, check.size) for check in plan.checks), *spans):
        last = start if length is None else start + (length - 1) * step
        for index in (start, last):
            yield from _holds(index, 0, letters)
            yield from _holds(size, index + 1, letters)
        if length is not None:
            yield from _holds(length, 0, letters)
    for each in nested(plan.steps):
        for size in loops_of(each):
            yield from _holds(size, 1, letters)
        if isinstance(each, LoopStep):
            for node, place in zip(each.results, each.places, strict=True):
                for where, size in zip(place, node.shape, strict=True):
                    count = each.loops[where.loop] if where.loop is not None else where.length or 1
                    for index in (where.start, where.start + (count - 1) * where.step):
                        yield from _holds(index, 0, letters)
                        yield from _holds(size, index + 1, letters)


def _holds(larger: Dim, least: Dim, letters: Mapping[str, str]) -> Iterator[str]:
    difference = larger - least
    if isinstance(difference, int):
        if difference < 0:
            raise UnsupportedError("a part of it is out of range for any size")
        return
    if all(coefficient >= 0 for _, coefficient in difference.terms):
        return
    if not any(coefficient < 0 for names, coefficient in difference.terms if names):
        ones = sum(coefficient for _, coefficient in difference.terms)
        if ones >= 0:  # with 1 for each letter, of which it is an increasing function
            return
    yield f"{dim_text(difference, letters)} >= 0"
