"""Lines for people, on a terminal of any width, a terminal without colours, or no terminal at all."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from ..frontend.array import Array

__all__ = ["can_show", "readable", "say"]


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is: its brackets are no markup, and a formula is never broken to fit."""
    console.print(Text(line, style), soft_wrap=True)


def can_show(shown: str) -> bool:
    """Tell whether standard output has all the letters of ``shown``."""
    try:
        shown.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def readable(formula: Array) -> str:
    """Return a formula as a book prints it, or in NumPy's spelling where there is no ᵀ."""
    shown = formula.unicode()
    return shown if can_show(shown) else str(formula)
