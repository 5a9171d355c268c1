"""C text that generated code and the compiled package share: read from the package's own headers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ...errors import InternalError

__all__ = ["SCALAR", "kernel_text", "texts_with", "with_needs", "without_comments"]

#: Headers of functions of numbers that C's library lacks, or has otherwise.
SCALAR = ("scalar.h", "special.h", "error.h", "incomplete.h", "tails.h", "integrals.h", "hypergeometric.h")
#: Headers whose functions call those of another one.
_NEEDS = {"tails.h": ("special.h", "error.h", "incomplete.h")}

_DEFINED = re.compile(r"^(?:INLINE|SLOW) \w+ NAME\((\w+)\)\(", re.MULTILINE)
_CALLED = re.compile(r"NAME\((\w+)\)")
_COMMENT = re.compile(r"/\*.*?\*/\n?", re.DOTALL)


def kernel_text(header: str) -> str:
    """Return a header of functions from the compiled package."""
    return Path(__file__).parents[2].joinpath("_kernels", "functions", header).read_text(encoding="utf-8")


@cache
def texts_with(function: str) -> tuple[str, ...]:
    """Return the header that has a function of numbers, as the compiled package has it, behind those that it needs."""
    for header in SCALAR:
        if f" {function}(" in kernel_text(header):
            return tuple(kernel_text(each) for each in (*_NEEDS.get(header, ()), header))
    raise InternalError(f"no header has the text of {function}")


def without_comments(text: str) -> str:
    """Return C text without its comments, which the compiler would read again for every kernel."""
    return _COMMENT.sub("", text)


@cache
def _functions_of(header: str) -> dict[str, str]:
    """Return the functions of whole vectors that a header defines, a paragraph each, by name."""
    paragraphs = re.split(r"\n{2,}", without_comments(kernel_text(header)).strip())
    return {match[1]: text + "\n" for text in paragraphs if (match := _DEFINED.search(text))}


@cache
def with_needs(name: str, *headers: str) -> tuple[str, ...]:
    """Return the text of a function behind those of the functions that it calls, each once and in order.

    Examples
    --------
    >>> [text.split("(")[1].split(")")[0] for text in with_needs("do_floor", "vector.h")]
    ['do_pick', 'do_rint', 'do_floor']
    """
    known = {key: text for header in headers for key, text in _functions_of(header).items()}
    needed = {name}
    for other in reversed(known):
        if other in needed:
            needed.update(_CALLED.findall(known[other]))
    return tuple(text for key, text in known.items() if key in needed)
