"""Functions that the caller gives to a text, ``functions={"mm": mm}``: what they make of arrays is in the formula."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ArgumentError
from ...ground.guard import is_function, users
from ...ground.names import is_name
from ..array import Array, asarray
from .vocabulary import VOCABULARY, TextFunction

__all__ = ["with_functions"]


def with_functions(given: Mapping[str, Callable[..., Any]] | None) -> Mapping[str, TextFunction]:
    """Return what a text may call: the functions of the language, and those given.

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
