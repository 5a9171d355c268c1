"""Loops as they are written: sums with a Σ, repeated functions, and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .notation import Loop, Term

__all__ = ["group", "parts_of_loop", "summand"]


def summand(term: Term) -> Term | None:
    """Return what a loop adds up in each step from 0 on, None for any other loop."""
    loop: Loop = term.data
    if loop.part != 0 or loop.carried != 1 or loop.rows:
        return None
    start, after = term.args[0], term.args[1]
    zero = (start.kind == "number" and start.data == 0.0) or (start.kind == "filled" and start.data == 0.0)
    if not zero or after.kind != "sum" or len(after.args) != 2 or any(after.data):
        return None
    carried = loop.letters[1]
    others = [arg for arg in after.args if not _is(arg, carried)]
    return others[0] if len(others) == 1 and not _holds(others[0], carried) else None


def _is(term: Term, letter: Term) -> bool:
    return term.kind == "name" and term.data == letter.data


def _holds(term: Term, letter: Term) -> bool:
    seen: set[int] = set()
    stack = [term]
    while stack:
        own = stack.pop()
        if _is(own, letter):
            return True
        if id(own) not in seen:
            seen.add(id(own))
            stack += own.args
    return False


def group(parts: Sequence[str], brackets: Callable[[str], str]) -> str:
    """Return several pieces in brackets, one without."""
    return parts[0] if len(parts) == 1 else brackets(", ".join(parts))


def parts_of_loop(term: Term) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
    """Return what a loop starts with, what it goes along, what it carries on, and what it writes."""
    loop: Loop = term.data
    first, second = loop.carried, loop.carried + loop.rows
    third = second + loop.carried
    return term.args[:first], term.args[first:second], term.args[second:third], term.args[third:]
