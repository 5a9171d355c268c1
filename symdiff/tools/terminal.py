"""Lines for people, on a terminal of any width, a terminal without colours, or no terminal at all.

Whatever the command line prints goes through here, or through an error of symdiff's, and holds no character that a
terminal obeys: names of columns, paths and the words of compilers come from anywhere.
"""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.text import Text

from ..errors import printable
from ..frontend.array import Array

__all__ = ["can_show", "echo", "readable", "say"]


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is: its brackets are no markup, and a formula is never broken to fit."""
    console.print(Text(printable(line), style), soft_wrap=True)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text as it is, without a style."""
    click.echo(printable(text), err=err, nl=nl)


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
