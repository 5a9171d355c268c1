"""What formula text may call: the library, and the derivative operators.

A function is here because it was put here: formula text comes from strangers, and reaches
nothing but this table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ...graph.dump import record_text
from ...ground.stages import later
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

    def __repr__(self) -> str:
        return record_text(self)


def _of_entry(entry: Entry) -> TextFunction:
    def run(*args: Any, **kwargs: Any) -> Any:
        return call(entry, args, kwargs)

    return TextFunction(run, entry.least, entry.most, entry.keywords)


def _of_density(row: Any, function: str) -> TextFunction:
    def run(*args: Any, **kwargs: Any) -> Any:
        return later.stats.density(row, function, symbolic=True)(*args, **kwargs)

    names = [*row.shapes, *(name for name, _ in row.defaults)]
    return TextFunction(run, 1 + len(row.shapes), 1 + len(names), tuple(names))


#: Options of derivatives that text has: the others say where a formula comes from, or have another form there.
_OPTIONS = ("convention", "invertible")


def _of_derivative(function: Callable[..., Any]) -> TextFunction:
    count = sum(
        1 for p in inspect.signature(function).parameters.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    )
    options = tuple(name for name in _OPTIONS if name in inspect.signature(function).parameters)
    return TextFunction(function, min(count, 2) if function is derivatives.derivative else count, count, options)


DERIVATIVES: dict[str, Callable[..., Any]] = {
    name: getattr(derivatives, name) for name in ("gradient", "jacobian", "hessian", "jvp", "vjp", "hvp", "derivative")
}

TEXT_FUNCTIONS: dict[str, TextFunction] = {
    **{name: _of_entry(entry) for name, entry in LIBRARY.items() if entry.in_text},
    **{name: _of_derivative(function) for name, function in DERIVATIVES.items()},
}

#: What formula text may call: the functions above, and those of distributions, ``norm_logpdf``.
VOCABULARY: dict[str, TextFunction] = {
    **TEXT_FUNCTIONS,
    **{name: _of_density(row, function) for name, (row, function) in later.stats.named_functions().items()},
}
