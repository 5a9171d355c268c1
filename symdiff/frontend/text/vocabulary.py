"""What formula text may call: the library, and the derivative operators.

A function is here because it was put here: formula text comes from strangers, and reaches
nothing but this table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import array_derivatives as derivatives
from ..array import call
from ..numpy.library import LIBRARY, Entry


class TextFunction(NamedTuple):
    """A function of formula text.

    Parameters
    ----------
    call : callable
        Takes arrays, numbers, and tuples of them; gives an array (or a tuple of them).
    min_args, max_args : int
        Number of positional arguments; a ``max_args`` of None means any number.
    keywords : tuple of str
        Keyword arguments understood.
    """

    call: Callable[..., Any]
    min_args: int
    max_args: int | None
    keywords: tuple[str, ...] = ()


def _of_entry(entry: Entry) -> TextFunction:
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(entry, args, kwargs)

    return TextFunction(run, entry.least, entry.most, entry.keywords)


def _of_derivative(function: Callable[..., Any]) -> TextFunction:
    count = sum(
        1 for p in inspect.signature(function).parameters.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    )
    return TextFunction(function, min(count, 2) if function is derivatives.derivative else count, count)


DERIVATIVES: dict[str, Callable[..., Any]] = {
    name: getattr(derivatives, name) for name in ("gradient", "jacobian", "hessian", "jvp", "vjp", "hvp", "derivative")
}

TEXT_FUNCTIONS: dict[str, TextFunction] = {
    **{name: _of_entry(entry) for name, entry in LIBRARY.items() if entry.in_text},
    **{name: _of_derivative(function) for name, function in DERIVATIVES.items()},
}
