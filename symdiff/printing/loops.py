"""Loops as they are written: repeated functions, and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .notation import Loop, Term

__all__ = ["group", "parts_of_loop"]


def group(parts: Sequence[str], brackets: Callable[[str], str]) -> str:
    """Return several pieces in brackets, one without."""
    return parts[0] if len(parts) == 1 else brackets(", ".join(parts))


def parts_of_loop(term: Term) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
    """Return what a loop starts with, what it goes along, what it carries on, and what it writes."""
    loop: Loop = term.data
    first, second = loop.carried, loop.carried + loop.rows
    third = second + loop.carried
    return term.args[:first], term.args[first:second], term.args[second:third], term.args[third:]
