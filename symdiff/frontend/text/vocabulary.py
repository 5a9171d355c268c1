"""Functions that formula text may call: the library, the derivative operators, and those that the caller gives.

A function is here because it was put here: formula text comes from strangers, and reaches nothing but this table. The
functions of ``functions={"mm": mm}`` are called once, and their results are parts of the formula.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...errors import ArgumentError
from ...graph.dump import record_text
from ...ground.guard import is_function, users
from ...ground.names import is_name
from ...ground.stages import later
from .. import array_derivatives as derivatives
from ..array import Array, asarray, call
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

#: Functions that formula text may call: those above, and those of distributions, ``norm_logpdf``.
VOCABULARY: dict[str, TextFunction] = {
    **TEXT_FUNCTIONS,
    **{name: _of_density(row, function) for name, (row, function) in later.stats.named_functions().items()},
}


def with_functions(given: Mapping[str, Callable[..., Any]] | None) -> Mapping[str, TextFunction]:
    """Return the functions that a text may call: those of the language, and those given.

    Raises
    ------
    ArgumentError
        If a name is none, or is that of another function, or something is no function.
    """
    if given is None:
        return VOCABULARY
    if not isinstance(given, Mapping):
        raise ArgumentError(f"functions= is a {type(given).__name__}; expected a dict of functions by their names")
    for name, function in given.items():
        if not isinstance(name, str) or not is_name(name):
            raise ArgumentError(f"functions= holds {name!r:.60}; expected a name that a formula can mention")
        if name in VOCABULARY:
            raise ArgumentError(f"functions= holds {name!r}, which is a function of formulas; expected another name")
        if not is_function(function):
            kind = type(function).__name__
            raise ArgumentError(f"functions= has a {kind} for {name!r}; expected a function of symbols and numbers")
    return {**VOCABULARY, **{name: _text_function(name, function) for name, function in given.items()}}


def _text_function(name: str, function: Callable[..., Any]) -> TextFunction:
    called = users(function)

    def run(*args: Any, **options: Any) -> Array:
        value = called(*args, **options)
        if value is None or isinstance(value, str | Mapping):
            raise ArgumentError(f"{name} gave {type(value).__name__}; expected an array of symbols or numbers")
        return asarray(value)

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return TextFunction(run, 1, None)
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
    most = None if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(plain)
    return TextFunction(run, sum(p.default is p.empty for p in plain), most, keywords)
