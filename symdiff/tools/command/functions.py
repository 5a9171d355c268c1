"""Functions of Python's modules that a formula may call: ``--functions models:mm``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ...errors import ArgumentError
from ...ground.guard import users

__all__ = ["load_functions"]


def load_functions(given: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Import functions, from the current folder among others, by the names that formulas call them by.

    Parameters
    ----------
    given : sequence of str
        ``module:name``, or ``f=module:name`` for another name in formulas.

    Raises
    ------
    ArgumentError
        If one is not of this form, or there is no such module or function, or two have one name.

    Examples
    --------
    >>> load_functions(["root=math:sqrt"])["root"](4.0)
    2.0
    """
    found: dict[str, Callable[..., Any]] = {}
    if "" not in sys.path:
        sys.path.insert(0, "")
    for one in given:
        alias, _, place = one.rpartition("=")
        module, colon, attribute = place.partition(":")
        name = alias or attribute
        if not colon or not module or not attribute:
            raise ArgumentError(f"--functions {one[:80]}; expected MODULE:NAME, such as models:mm")
        if name in found:
            raise ArgumentError(f"--functions has {name!r} twice; give one of them another name, f={place[:80]}")
        try:
            found[name] = getattr(users(import_module)(module), attribute)
        except ImportError as error:
            raise ArgumentError(f"--functions {one[:80]}: {error}") from None
        except AttributeError:
            raise ArgumentError(f"--functions {one[:80]}: the module has no {attribute!r}") from None
    return found
