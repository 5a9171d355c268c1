"""How a function of the standard calls an operation of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...frontend.array import Array, asarray, call
from ...frontend.numpy.library import LIBRARY
from ...graph.scalars.functions import to_real
from ...ground.advice import REFUSED

__all__ = ["among", "of_numbers", "parts_of_numbers", "plain", "run", "run_parts"]

#: What the standard gives whole numbers of, which callers use as indices; NumPy's function gives numbers of a formula.
_OF_NUMBERS = {
    **{
        name: f"the position is not known before the call; np.{name}(x) gives it as a number, no index; use max or min"
        for name in ("argmax", "argmin")
    },
    "argsort": "the order of elements is not known before the call; np.argsort(x) gives it as numbers, and no index; "
    "write sd.arrange(y, x) for y in the order of x",
    "matrix_rank": "the rank is not known before the call; np.linalg.matrix_rank(x) gives it as a number",
}


def run(name: str, *args: Any, **options: Any) -> Array:
    """Call an operation of the library, which takes symbols and numbers; an option that is None is left out."""
    result: Array = run_parts(name, *args, **options)
    return result


def run_parts(name: str, *args: Any, **options: Any) -> Any:
    """Call an operation whose result is several arrays."""
    return call(LIBRARY[name], args, {key: value for key, value in options.items() if value is not None})


def among(x: Any, dtype: Any) -> Array:
    """Return an array in the dtype asked for; as numbers where none is, of conditions too."""
    array = asarray(x)
    return Array(to_real(array.node), array.provenance) if dtype is None else array.astype(dtype)


def plain(value: Any) -> Any:
    """Return positions as whole numbers of NumPy where they are known, and anything else as it is."""
    return value.position() if isinstance(value, Array) else value


def of_numbers(name: str, function: Callable[..., Any], x: Any, **options: Any) -> Array:
    """Compute what only numbers can tell, by NumPy's function, of an array made of numbers alone."""
    result: Array = parts_of_numbers(name, function, x, **options)
    return result


def parts_of_numbers(name: str, function: Callable[..., Any], x: Any, **options: Any) -> Any:
    """Compute what only numbers can tell, as one array or several.

    Raises
    ------
    UnsupportedError
        If it is made of symbols, with what to write instead.
    """
    numbers = asarray(x)._numbers()
    if numbers is None:
        raise UnsupportedError(f"xp.{name} of symbols: {_OF_NUMBERS.get(name) or REFUSED[name]}")
    result = function(numbers, **options)
    if isinstance(result, tuple):
        parts = [asarray(np.asarray(part)) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return asarray(np.asarray(result))
